"""Captions of digits: what they say is what the canvas has."""

import re

import numpy as np
import pytest

pytest.importorskip("sklearn")

from keras_bahdanau.demo import digits  # noqa: E402


@pytest.fixture(scope="module")
def parts():
    return digits.split(train=60, valid=20, test=40)


def rows_of(caption):
    """Names of each row of a text."""
    return [re.findall("|".join(digits.NAMES), row) for row in caption.text.split(" above ")]


def test_a_caption_names_the_digits_in_the_order_of_reading(parts):
    for caption in [one for part in parts for one in part]:
        names = rows_of(caption)
        assert len(caption.boxes) == sum(map(len, names))
        boxes = iter(caption.boxes)
        rows = [[next(boxes) for _ in row] for row in names]
        for row in rows:
            assert all(one[2] <= other[0] for one, other in zip(row, row[1:], strict=False))
            tops = [box[1] for box in row]
            assert max(tops) - min(tops) <= digits.HEIGHT // 2 - digits.SMALLEST
        if len(rows) == 2:
            upper, lower = (
                max(box[side] for box in row) for side, row in ((3, rows[0]), (1, rows[1]))
            )
            assert upper <= min(box[1] for box in rows[1]) <= lower
        assert "a eight" not in caption.text and not re.search(r"\ban (?!eight)", caption.text)


def test_there_is_ink_in_the_boxes_alone(parts):
    for caption in parts[2]:
        paper = np.ones(caption.image.shape, bool)
        for left, top, right, bottom in caption.boxes:
            assert caption.image[top:bottom, left:right].min() < 100
            paper[top:bottom, left:right] = False
        assert caption.image.shape == (digits.HEIGHT, digits.WIDTH)
        assert (caption.image[paper] == 255).all()


def test_the_test_has_compositions_of_its_own(parts):
    texts = [{one.text for one in part} for part in digits.split(2000, 200, 400)]
    assert not texts[2] & (texts[0] | texts[1])
    assert [one.known for one in parts[2]] == [True] * 20 + [False] * 20


def test_the_same_seed_gives_the_same_captions(parts):
    again = digits.split(train=60, valid=20, test=40)
    for one, other in zip(parts[0], again[0], strict=True):
        assert one.text == other.text
        np.testing.assert_array_equal(one.image, other.image)
