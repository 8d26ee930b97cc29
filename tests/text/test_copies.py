"""Unknown target tokens are replaced by the most attended source words, on host and in graph."""

import numpy as np
import pytest
import tensorflow as tf

from keras_bahdanau.text import Subwords
from keras_bahdanau.text.alignments import word_spans
from keras_bahdanau.text.copies import (
    are_characters,
    attended_words,
    copied_tokens,
    decode_copying,
    graph_attended_words,
    graph_copied_from,
    graph_texts,
)
from keras_bahdanau.text.vocabulary import END, UNKNOWN

PAIRS = [("one two three", "eins zwei drei"), ("four five, six", "vier fünf, sechs")] * 5


@pytest.fixture(scope="module", params=["bpe", "word", "char"])
def subwords(request):
    size = {"bpe": 45, "word": 16, "char": 23}[request.param]
    return Subwords.train_pair(PAIRS, size, model_type=request.param)[0]


def on_host(subwords, text, alignment, ids, characters=False):
    copies = attended_words(subwords, text, alignment, characters)
    return decode_copying(subwords, np.array(ids), copies, characters)


def in_graph(subwords, text, alignment, ids, characters=False):
    @tf.function(
        input_signature=[
            tf.TensorSpec((None, None, None), tf.int32),
            tf.TensorSpec((None, None, None, None), tf.float32),
            tf.TensorSpec((None,), tf.string),
        ]
    )
    def copying(ids, alignment, text):
        copies = graph_attended_words(subwords.graph, text, alignment, characters)
        return graph_texts(subwords.graph, ids, copies, characters)

    return copying([[ids]], [[alignment]], [text]).numpy()[0, 0].decode()


@pytest.fixture(params=[on_host, in_graph], ids=["host", "graph"])
def replaced(request):
    """Function that decodes ids with copies, given `Subwords`, source text, alignment and ids."""
    return request.param


def weights(subwords, text, attended):
    """Return an alignment whose row i attends equally to the source tokens `attended[i]`."""
    length = len(subwords.encode([text], end_of_empty=False)[0])
    alignment = np.zeros((len(attended), max(1, length)), "float32")
    for row, places in zip(alignment, attended, strict=True):
        row[places] = 1 / max(len(places), 1)
    return alignment


def ids_of(subwords, text):
    return subwords.encode([text])[0].tolist()[:-1]


def places_of(subwords, text, word):
    """Return the positions of the source tokens that make up a word."""
    first = text.encode().index(word.encode())
    last = first + len(word.encode())
    pieces = enumerate(subwords.pieces(text))
    return [i for i, piece in pieces if piece.begin < last and piece.end > first]


@pytest.mark.few(3)
@pytest.mark.parametrize("word", ["Zorblax", "☃☃", "one", "X-12,"])
def test_a_whole_word_is_copied_between_those_around_it(replaced, subwords, word):
    text = f"two {word} three"
    ids = [*ids_of(subwords, "eins"), UNKNOWN, *ids_of(subwords, "drei"), END]
    places = places_of(subwords, text, word)
    for place in places:  # attention to any piece copies the whole word
        attended = [[place] if token == UNKNOWN else [0] for token in ids]
        alignment = weights(subwords, text, attended)
        assert replaced(subwords, text, alignment, ids) == f"eins {word} drei"


@pytest.mark.few(1)
def test_the_pieces_of_a_word_have_their_weights_added(replaced):
    subwords, _ = Subwords.train_pair(PAIRS, 23, model_type="char")
    text = "one ☃x two"
    places = places_of(subwords, text, "☃x")
    assert len(places) > 1  # so that each has less weight than the other word's 0.4
    alignment = weights(subwords, text, [[]])
    alignment[0, places] = 0.6 / len(places)
    alignment[0, places_of(subwords, text, "two")[-1]] = 0.4
    assert replaced(subwords, text, alignment, [UNKNOWN]) == "☃x"


@pytest.mark.few(1)
def test_a_run_of_unknown_words_is_copied_as_the_one_token_that_it_is(replaced):
    subwords, _ = Subwords.train_pair(PAIRS, 16, model_type="word")
    text = "one Zorblax\tQux two"
    alignment = weights(subwords, text, [[1], [0]])
    assert replaced(subwords, text, alignment, [UNKNOWN, END]) == "Zorblax Qux"


@pytest.mark.few(3)
@pytest.mark.parametrize("normalization", ["none", "nmt_nfkc"])
# A run of unknown characters is one token.
@pytest.mark.parametrize("text", ["drÖei", "zw ☃Qi", "ei Ö"])
def test_a_character_is_copied_without_the_rest_of_its_word(replaced, normalization, text):
    settings = {"model_type": "char", "normalization": normalization, "exact": False}
    subwords = Subwords.train(["eins zwei drei"], 20, **settings)
    assert are_characters(subwords, subwords)
    ids = [*ids_of(subwords, text), *ids_of(subwords, "zns")[-2:], END]
    own = len(ids_of(subwords, text))
    alignment = weights(subwords, text, [[min(place, own)] for place in range(len(ids))])
    assert replaced(subwords, text, alignment, ids, characters=True) == f"{text}ns"
    unattended = weights(subwords, text, [[], []])
    assert replaced(subwords, text, unattended, [UNKNOWN, END], characters=True) == "⁇"


@pytest.mark.few(1)
def test_characters_that_the_vocabulary_has_are_copied_only_where_it_has_all(replaced):
    subwords = Subwords.train(["eins zwei"], 20, model_type="char", exact=False)
    for text, shares, copy in (
        ("eÄsÖ", [0.5, 0.1, 0.0, 0.3], "Ö"),
        ("eÄsÖ", [0.4, 0.3, 0.2, 0.1], "Ä"),
        ("eÄsÖ", [0.5, 0.0, 0.5, 0.0], "⁇"),
        ("eins", [0.1, 0.2, 0.4, 0.3], "n"),
    ):
        alignment = weights(subwords, text, [[]])
        for character, share in zip(text, shares, strict=True):
            alignment[0, places_of(subwords, text, character)] = share
        assert replaced(subwords, text, alignment, [UNKNOWN], characters=True) == copy


def test_tokens_with_copied_characters_are_one_word_where_the_text_has_one():
    subwords = Subwords.train(["eins zwei"], 20, model_type="char", exact=False)
    tokens = subwords.tokens(ids_of(subwords, "eÖs zÄi")).tolist()
    copies = ["Ö" if place < 4 else "Ä" for place in range(len(tokens))]
    assert "".join(copied_tokens(tokens, copies, characters=True)) == "▁eÖs▁zÄi"


@pytest.mark.parametrize("model_type", ["word", "bpe"])
def test_the_words_of_tokens_with_copies_are_those_of_the_text(model_type):
    """A copy may be several words, or one word together with the letters after it."""
    size = {"bpe": 45, "word": 16}[model_type]
    source, target = Subwords.train_pair(PAIRS, size, model_type=model_type)
    text = "one Zorblax Qux two"
    letters = (
        target.tokens(np.arange(size)).tolist().index("ch" if model_type == "bpe" else "▁drei")
    )
    ids = np.array([*ids_of(target, "eins"), UNKNOWN, letters, *ids_of(target, "zwei"), END])
    places = places_of(source, text, "Zorblax")
    copies = attended_words(source, text, weights(source, text, [places] * len(ids)))
    found = decode_copying(target, ids, copies)
    spans = word_spans(copied_tokens(target.tokens(ids).tolist(), copies)).tolist()
    expected = {"word": "eins Zorblax Qux drei zwei", "bpe": "eins Zorblaxch zwei"}[model_type]
    number = len(expected.split())
    assert found == expected and spans[-1] == [number, number]
    assert spans[-2] == [number - 1, number - 1]  # for "zwei"
    assert spans[ids.tolist().index(UNKNOWN)] == ([1, 2] if model_type == "word" else [1, 1])


@pytest.mark.slow
@pytest.mark.few(2)
def test_the_end_token_and_no_attention_at_all_leave_the_unknown_sign(replaced, subwords):
    text = "one Zorblax"
    end = len(subwords.encode([text])[0]) - 1
    for attended in ([end], []):
        assert replaced(subwords, text, weights(subwords, text, [attended]), [UNKNOWN]) == "⁇"
    assert replaced(subwords, "", weights(subwords, "", [[]]), [UNKNOWN]) == "⁇"


@pytest.mark.few(2)
def test_text_without_unknown_tokens_and_behind_the_end_is_as_ever(replaced, subwords):
    for text in ("eins zwei drei", "vier fünf, sechs", ""):
        ids = [*ids_of(subwords, text), END, UNKNOWN, 5, 0, 0]
        alignment = weights(subwords, "one two", [[0]] * len(ids))
        assert replaced(subwords, "one two", alignment, ids) == subwords.decode([ids])[0] == text


@pytest.mark.few(1)
def test_what_stands_around_a_copy_is_as_decoded(replaced, subwords):
    """Apart from the copied word, the text is that of `decode`."""
    for before, after in (("vier fünf,", "sechs"), ("", "eins"), ("drei", "")):
        ids = [*ids_of(subwords, before), UNKNOWN, *ids_of(subwords, after), END]
        alignment = weights(subwords, "☃", [[0]] * len(ids))
        assert replaced(subwords, "☃", alignment, ids) == f"{before} ☃ {after}".strip()


@pytest.mark.few(2)
def test_a_copy_keeps_its_control_characters(replaced, subwords):
    """NumPy strings would drop a NUL at the end."""
    alignment = weights(subwords, "☃\0", [[0], [0]])
    assert replaced(subwords, "☃\0", alignment, [UNKNOWN, END]) == "☃\0"


@pytest.mark.few(3)
@pytest.mark.parametrize("text", [b"\xff\xfe one \xf0\x9f", "\u3000☃\u00a0x", "\0", " \n\r "])
def test_any_bytes_give_text(replaced, subwords, text):
    ids, alignment = [UNKNOWN, 7, UNKNOWN, END], np.full((4, 9), 1 / 9, "float32")
    copy = replaced(subwords, text, alignment[:1], [UNKNOWN])
    whole = replaced(subwords, text, alignment, ids)
    copy.encode(), whole.encode()
    assert whole.startswith(copy) and whole.endswith(copy)


@pytest.mark.parametrize(
    ("source", "length", "ids", "weights", "position"),
    [
        ([7, 8, 3], 3, 1, [0.2, 0.5, 0.3], 1),
        ([7, 8, 3], 3, 1, [0.2, 0.1, 0.7], 0),  # not the end token
        ([7, 8, 3], 3, 1, [0.4, 0.4, 0.2], 0),  # the first of two equal weights
        # The unknown token, which the model can't write otherwise.
        ([7, 1, 3], 3, 1, [0.8, 0.1, 0.1], 1),
        ([7, 1, 3], 3, 1, [0.9, 0.0, 0.1], -1),
        ([7, 8, 3], 3, 7, [0.2, 0.5, 0.3], -1),  # a token of the vocabulary
        ([7, 3, 1], 2, 1, [0.1, 0.2, 0.7], 0),  # not padding, whatever its id
        ([3, 0, 0], 1, 1, [1.0, 0.0, 0.0], -1),
        ([0, 0, 0], 0, 1, [0.0, 0.0, 0.0], -1),
    ],
)
def test_an_unknown_character_copies_the_position_of_the_highest_weight(
    source, length, ids, weights, position
):
    one = tf.constant([ids]), tf.constant([weights])
    given = tf.constant([source]), tf.constant([length])
    found = graph_copied_from(one[0][None], one[1][None], *given)
    assert found.numpy().tolist() == [[position]]
    listed = graph_copied_from(one[0][None, None], one[1][None, None], *given)
    assert listed.numpy().tolist() == [[[position]]] and listed.dtype == "int32"
