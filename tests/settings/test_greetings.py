"""Greetings of libraries do not reach the screen; their other messages do."""

import os
import threading

from keras_bahdanau.settings.greetings import GREETINGS, without_greetings
from keras_bahdanau.text.subwords import Subwords
from keras_bahdanau.text.vocabulary import drop_normalization


def test_what_libraries_say_is_held_back_but_for_their_greetings(capfd):
    with without_greetings():
        for line in (*GREETINGS, b"a warning", b"INFO: another"):
            os.write(2, line + b"\n")
    assert capfd.readouterr().err == "a warning\nINFO: another\n"


def test_a_block_within_a_block_and_in_other_threads_leaves_standard_error_as_it_was(capfd):
    def say(number):
        with without_greetings(), without_greetings():
            os.write(2, b"I0000 hello\n%d\n" % number)

    threads = [threading.Thread(target=say, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    os.write(2, b"end\n")
    assert sorted(capfd.readouterr().err.split()) == [*"01234567", "end"]


def test_a_vocabulary_without_normalization_says_nothing_in_a_graph(capfd):
    model = Subwords.train(["ab ba", "a b"], vocabulary_size=8).model
    graph = Subwords(drop_normalization(model)).graph
    assert graph.tokenize(["ab"]).shape[0] == 1
    assert "normalizer.cc" not in capfd.readouterr().err
