"""Captions of digits describe what is on the canvas."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("sklearn")

from keras_bahdanau.demo import images_task  # noqa: E402


@pytest.fixture(scope="module")
def parts():
    return images_task.split(train=60, valid=20, test=40)


def rows_of(caption):
    """Return the names of the digits in each row of a caption."""
    return [re.findall("|".join(images_task.NAMES), row) for row in caption.text.split(" above ")]


def test_a_caption_names_the_digits_in_the_order_of_reading(parts):
    for caption in [one for part in parts for one in part]:
        names = rows_of(caption)
        assert len(caption.boxes) == sum(map(len, names))
        boxes = iter(caption.boxes)
        rows = [[next(boxes) for _ in row] for row in names]
        for row in rows:
            assert all(one[2] <= other[0] for one, other in zip(row, row[1:], strict=False))
            tops = [box[1] for box in row]
            assert max(tops) - min(tops) <= images_task.HEIGHT // 2 - images_task.SMALLEST
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
        assert caption.image.shape == (images_task.HEIGHT, images_task.WIDTH)
        assert (caption.image[paper] == 255).all()


@pytest.mark.slow
def test_the_test_has_compositions_of_its_own(parts):
    texts = [{one.text for one in part} for part in images_task.split(2000, 200, 400)]
    assert not texts[2] & (texts[0] | texts[1])
    assert [one.known for one in parts[2]] == [True] * 20 + [False] * 20


def test_the_same_seed_gives_the_same_captions(parts):
    again = images_task.split(train=60, valid=20, test=40)
    for one, other in zip(parts[0], again[0], strict=True):
        assert one.text == other.text
        np.testing.assert_array_equal(one.image, other.image)


class Pointing:
    """A pipeline stand-in that attends to given cells `(column, row)` of 8 pixels."""

    source = SimpleNamespace(grid_height=8, cell=8)

    def __init__(self, *captions):
        self.results = [self.result(pieces) for pieces in captions]

    def result(self, pieces):
        """Return a result for pairs of a token and a dictionary from cells to weights."""
        alignment = np.zeros((len(pieces), 96))
        for weights, (_, cells) in zip(alignment, pieces, strict=True):
            for (column, row), weight in cells.items():
                weights[8 * column + row] = weight
        tokens = [token for token, _ in pieces]
        return SimpleNamespace(target_tokens=tokens, alignment=alignment)

    def align(self, pairs):
        assert len(pairs) == len(self.results)
        return self.results


def caption(text, *boxes):
    return images_task.CaptionedImage(np.zeros((64, 96), np.uint8), text, list(boxes))


def words(text, *cells):
    """Return the tokens of a text, whose digits attend to these cells in turn."""
    cells = iter(cells)
    tokens = text.split()
    return [
        *(
            (f"▁{one}", {next(cells) if one in images_task.NAMES else (11, 7): 1.0})
            for one in tokens
        ),
        ("</s>", {(0, 0): 1.0}),
    ]


def test_a_digit_is_pointed_at_if_the_cell_most_attended_to_is_in_its_box():
    text = "a two left of a one"
    boxes = (16, 8, 40, 32), (56, 0, 80, 24)  # columns 2 to 4 and 7 to 9, rows 1 to 3 and 0 to 2
    both = caption(text, *boxes)
    assert images_task.pointed(Pointing(words(text, (2, 1), (9, 2))), [both]) == [True, True]
    assert images_task.pointed(Pointing(words(text, (4, 3), (7, 0))), [both]) == [True, True]
    # One column too far to the left or right, and one row too far up or down.
    assert images_task.pointed(Pointing(words(text, (1, 1), (10, 2))), [both]) == [False, False]
    assert images_task.pointed(Pointing(words(text, (2, 0), (7, 3))), [both]) == [False, False]
    # Each digit attends to the other one's box.
    assert images_task.pointed(Pointing(words(text, (8, 1), (3, 2))), [both]) == [False, False]


def test_pointing_counts_the_digits_of_all_captions_in_the_order_of_their_texts():
    first, second = "an eight above a three", "a one above a two left of a six"
    boxes = (0, 0, 24, 24), (0, 32, 24, 56), (48, 32, 72, 56)
    found = images_task.pointed(
        Pointing(words(first, (1, 1), (5, 5)), words(second, (1, 2), (1, 5), (7, 5))),
        [caption(first, *boxes[:2]), caption(second, *boxes)],
    )
    assert found == [True, False, True, True, True]


def test_the_weights_of_a_digit_are_those_of_all_its_pieces():
    text = "a three above a one"
    boxes = (0, 0, 24, 24), (0, 32, 24, 56)
    pieces = [
        ("▁a", {(11, 7): 1.0}),
        ("▁th", {(1, 1): 0.4, (5, 5): 0.6}),  # by itself, it attends outside the box
        ("ree", {(1, 1): 0.8, (6, 6): 0.2}),  # together, 1.2 in the box
        ("▁above", {(11, 7): 1.0}),
        ("▁a", {(11, 7): 1.0}),
        ("▁o", {(1, 5): 0.3, (5, 5): 0.7}),
        ("ne", {(1, 5): 0.3, (6, 6): 0.7}),  # 0.6 in the box, and twice 0.7 outside it
        ("</s>", {(0, 0): 1.0}),
    ]
    assert images_task.pointed(Pointing(pieces), [caption(text, *boxes)]) == [True, False]
