"""Cutting long text at a number of bytes, checked by hand and against the graph."""

import random

import pytest
import tensorflow as tf

from keras_bahdanau.text.ids import WORD, byte_limit, cut_to_bytes, graph_cut_to_bytes


@pytest.mark.parametrize(
    ("text", "most", "expected"),
    [
        ("abcd", 4, "abcd"),
        ("abcde", 4, "abcd"),
        ("a☃☃", 4, "a☃"),  # 3 bytes each
        ("a☃☃", 5, "a☃"),
        ("a☃☃", 6, "a☃"),
        ("abc🙂", 6, "abc"),  # 4 bytes
        (b"abc\xf0\x9f\x99\x82d", 7, b"abc\xf0\x9f\x99\x82"),
        (b"\x80" * 9, 5, b"\x80" * 5),  # no position begins a character
    ],
)
def test_no_character_is_cut_in_two(text, most, expected):
    assert cut_to_bytes(text, most) == expected


def test_a_word_that_is_copied_has_room_in_any_limit():
    """A run of unknown characters is one token, which files for devices copy without a cut."""
    assert [byte_limit(tokens) for tokens in (1, 10, 16, 17)] == [WORD, WORD, 512, 544]


def test_a_text_that_is_short_enough_is_the_same_object():
    text = "☃" * 5
    assert cut_to_bytes(text, 15) is text


def test_any_bytes_are_cut_alike_in_a_graph():
    source = random.Random(0)
    kinds = (
        lambda size: source.randbytes(size),
        lambda size: "".join(source.choices("aé☃🙂", k=size)).encode(),
        lambda size: bytes(source.choices([0x80, 0xBF, 0xC0, 0xE2, 65], k=size)),
    )
    texts = [source.choice(kinds)(source.randrange(16)) for _ in range(1000)]
    for most in (4, 7, 9):
        found, longer = graph_cut_to_bytes(tf.constant(texts), most)
        assert found.numpy().tolist() == [cut_to_bytes(text, most) for text in texts]
        assert longer.numpy().tolist() == [len(text) > most for text in texts]
