"""Unknown target tokens become the source words that were attended to most."""

import numpy as np
import pytest
import tensorflow as tf

from keras_bahdanau.text import Tokenizer
from keras_bahdanau.text.replace_unknown import detokenize_copying
from keras_bahdanau.text.tokenizer import END, UNKNOWN

PAIRS = [("one two three", "eins zwei drei"), ("four five, six", "vier fünf, sechs")] * 5


@pytest.fixture(scope="module", params=["bpe", "word", "char"])
def tokenizer(request):
    size = {"bpe": 45, "word": 16, "char": 23}[request.param]
    return Tokenizer.train(PAIRS, size, model_type=request.param)


def copied(tokenizer, text, attended, ids):
    """The text of `ids`, of which token i attends to the source tokens `attended[i]` alike."""
    source = tokenizer.tokenize_source([text]).to_tensor()
    alignment = np.zeros((1, 1, len(ids), max(1, source.shape[1])), "float32")
    for row, places in zip(alignment[0, 0], attended, strict=True):
        row[places] = 1 / max(len(places), 1)
    function = tf.function(
        lambda *args: detokenize_copying(tokenizer, *args),
        input_signature=[
            tf.TensorSpec((None, None, None), tf.int32),
            tf.TensorSpec((None, None, None, None), tf.float32),
            tf.TensorSpec((None,), tf.string),
        ],
    )
    (((found,),),) = (function([[ids]], alignment, [text]).numpy().tolist(),)
    return found.decode()


def ids_of(tokenizer, text):
    return tokenizer.tokenize_target([text]).to_list()[0][:-1]


def places_of(tokenizer, text, word):
    """The source tokens that a word, or the end token, is made of."""
    _, begins, ends = tokenizer._source.tokenize_with_offsets([text])
    first = text.encode().index(word.encode())
    last = first + len(word.encode())
    spans = zip(begins.to_list()[0], ends.to_list()[0], strict=True)
    return [i for i, (begin, end) in enumerate(spans) if begin < last and end > first]


@pytest.mark.parametrize("word", ["Zorblax", "☃☃", "one", "X-12,"])
def test_a_whole_word_is_copied_between_those_around_it(tokenizer, word):
    text = f"two {word} three"
    ids = [*ids_of(tokenizer, "eins"), UNKNOWN, *ids_of(tokenizer, "drei"), END]
    places = places_of(tokenizer, text, word)
    for place in places:  # each of its pieces stands for all of them
        attended = [[place] if token == UNKNOWN else [0] for token in ids]
        assert copied(tokenizer, text, attended, ids) == f"eins {word} drei"


def test_the_pieces_of_a_word_have_their_weights_added():
    tokenizer = Tokenizer.train(PAIRS, 23, model_type="char")
    text = "one ☃x two"
    places = places_of(tokenizer, text, "☃x")
    alignment = np.zeros((1, 1, 1, tokenizer.tokenize_source([text]).to_tensor().shape[1]))
    alignment[0, 0, 0, places] = 0.6 / len(places)
    alignment[0, 0, 0, places_of(tokenizer, text, "two")[-1]] = 0.4
    found = detokenize_copying(
        tokenizer,
        tf.constant([[[UNKNOWN, END]]])[:, :, :1],
        tf.constant(alignment, tf.float32),
        tf.constant([text]),
    )
    assert found.numpy().tolist() == [["☃x".encode()]]


def test_a_run_of_unknown_words_is_copied_as_the_one_token_that_it_is():
    tokenizer = Tokenizer.train(PAIRS, 16, model_type="word")
    text = "one Zorblax\tQux two"
    assert copied(tokenizer, text, [[1], [0]], [UNKNOWN, END]) == "Zorblax Qux"


def test_the_end_token_and_no_attention_at_all_leave_the_unknown_sign(tokenizer):
    text = "one Zorblax"
    end = tokenizer.tokenize_source([text]).to_tensor().shape[1] - 1
    for attended in ([end], []):
        assert copied(tokenizer, text, [attended], [UNKNOWN]) == "⁇"
    assert copied(tokenizer, "", [[]], [UNKNOWN]) == "⁇"


def test_text_without_unknown_tokens_and_behind_the_end_is_as_ever(tokenizer):
    for text in ("eins zwei drei", "vier fünf, sechs", ""):
        ids = [*ids_of(tokenizer, text), END, UNKNOWN, 5, 0, 0]
        plain = tokenizer.detokenize_target([ids]).numpy()[0].decode()
        assert copied(tokenizer, "one two", [[0]] * len(ids), ids) == plain == text


def test_what_stands_around_a_copy_is_as_detokenized(tokenizer):
    """Without the copied word, the text is what `detokenize_target` gives."""
    for before, after in (("vier fünf,", "sechs"), ("", "eins"), ("drei", "")):
        ids = [*ids_of(tokenizer, before), UNKNOWN, *ids_of(tokenizer, after), END]
        found = copied(tokenizer, "☃", [[0]] * len(ids), ids)
        assert found == f"{before} ☃ {after}".strip()


def test_any_bytes_give_text(tokenizer):
    for text in (b"\xff\xfe one \xf0\x9f", "\u3000☃\u00a0x", "\0", " \n\r "):
        ids = tf.constant([[[UNKNOWN, 7, UNKNOWN, END]]])
        alignment = tf.fill((1, 1, 4, 9), 1 / 9)
        found = detokenize_copying(tokenizer, ids, alignment, tf.constant([text]))
        found.numpy()[0, 0].decode("utf-8")
