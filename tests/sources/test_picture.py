"""Pictures of inputs: pixels to display, and a cell for each position of a source."""

import numpy as np
import pytest

from keras_bahdanau.sources import AudioSource, FeatureSource, ImageSource, InkSource, Picture


@pytest.mark.few(3)
@pytest.mark.parametrize("longest", [None, 3])
def test_a_picture_shows_the_positions_that_are_read(source, inputs, longest):
    for one in inputs:
        (labels,) = source.labels(source.batch([one], longest))
        picture = source.picture(one, longest)
        if source.subwords is not None or not labels:
            assert picture is None
            continue
        assert picture.positions == len(labels)
        assert picture.cells is not None or picture.rows == source.grid_height
        assert picture.pixels.ndim == 2 or picture.pixels.shape[2:] == (3,)
        assert picture.pixels.size and 0 <= picture.pixels.min() <= picture.pixels.max() <= 1


def test_frames_are_columns_whose_first_value_is_at_the_bottom():
    frames = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 4.0]])
    picture = FeatureSource(2).picture(frames)
    assert (picture.columns, picture.rows, picture.axis, picture.scale) == (3, 1, "frames", 1.0)
    low, high = 0.05, 4.0  # the 1st and 99th percentiles of the six values
    expected = np.clip((np.array([[1, 3, 4], [0, 2, 4]]) - low) / (high - low), 0, 1)
    np.testing.assert_allclose(picture.pixels, expected)


@pytest.mark.parametrize("value", [0.0, -1e12, 7.0])
def test_frames_of_one_value_give_a_picture(value):
    np.testing.assert_array_equal(FeatureSource(2).picture(np.full((3, 2), value)).pixels, 0)


def test_one_far_value_leaves_the_others_in_sight():
    frames = np.linspace(0, 1, 1000).reshape(-1, 1)
    frames[500] = 1e12
    pixels = Picture.heat_map(frames, "frames").pixels
    assert np.ptp(pixels[0, :500]) > 0.4


def test_weights_lie_on_the_grid_column_by_column():
    picture = Picture(np.zeros((6, 9)), 6, rows=2)
    (map_,) = picture.maps([[1, 2, 3, 4, 5, 6]])
    np.testing.assert_array_equal(map_, [[1, 3, 5], [2, 4, 6]])


def test_a_weight_of_a_shorter_memory_stands_for_its_positions():
    maps = Picture(np.zeros((1, 7)), 7, reduction=3).maps([[1, 2, 3], [4, 5, 6]])
    np.testing.assert_array_equal(maps[:, 0], [[1, 1, 1, 2, 2, 2, 3], [4, 4, 4, 5, 5, 5, 6]])


@pytest.mark.parametrize("reduction", range(1, 9))
@pytest.mark.parametrize("positions", [1, 5, 7, 8, 9, 100])
def test_every_reduction_gives_each_position_a_weight(positions, reduction):
    vectors = -(-positions // reduction)
    picture = Picture(np.zeros((1, positions)), positions, reduction=reduction)
    ((map_,),) = picture.maps([np.arange(1, vectors + 1)])
    np.testing.assert_array_equal(map_, 1 + np.arange(positions) // reduction)


def test_cells_that_a_cut_leaves_out_have_no_weight():
    picture = Picture(np.zeros((4, 4)), 3, rows=2)
    assert picture.columns == 2
    np.testing.assert_array_equal(picture.maps([[1, 2, 3]]), [[[1, 3], [2, 0]]])


def test_positions_lie_in_cells_in_any_order():
    picture = Picture(np.zeros((4, 6)), 4, rows=2, cells=np.array([5, 0, 5, 3]))
    assert picture.columns == 3
    np.testing.assert_array_equal(picture.maps([[1, 2, 3, 4]]), [[[2, 0, 0], [0, 4, 3]]])
    pairs = picture._replace(reduction=2)
    np.testing.assert_array_equal(pairs.maps([[1, 2]]), [[[1, 0, 0], [0, 2, 2]]])


@pytest.mark.parametrize("vectors", [0, 5, 7, 11])
def test_a_picture_of_another_input_is_refused(vectors):
    with pytest.raises(ValueError, match="must show the input that was aligned"):
        Picture(np.zeros((1, 10)), 10).maps(np.ones((2, vectors)))


def test_an_image_is_seen_as_the_model_gets_it_without_padding():
    image = np.eye(16, 24)
    picture = ImageSource(16, 48).picture(image)
    assert (picture.columns, picture.rows, picture.axis) == (3, 2, "")
    np.testing.assert_array_equal(picture.pixels, image)
    light = ImageSource(16, 48, ink="light").picture(image)
    np.testing.assert_array_equal(light.pixels, 1 - image)
    red = np.eye(16)[..., np.newaxis] * [1, 0, 0]
    np.testing.assert_array_equal(ImageSource(16, 48, 3).picture(red).pixels, red)


def test_a_higher_tone_is_higher_in_the_picture_and_time_is_in_seconds():
    def loudest(frequency):
        wave = np.sin(2 * np.pi * frequency * np.arange(4000) / 8000)
        picture = AudioSource(40).picture((wave, 8000))
        assert picture.pixels.shape == (40, 50) and picture.axis == "seconds"
        assert picture.columns * picture.scale == pytest.approx(0.5)
        return picture.pixels[:, 25].argmax()

    assert loudest(3000) < loudest(1000) < loudest(200)


INK = [np.array([[0, 50], [100, 50]]), np.array([[50, 0], [50, 100]])]  # a plus


def test_ink_is_drawn_where_the_pen_stays_on_the_paper():
    picture = InkSource().picture(INK)
    height, width = picture.pixels.shape
    assert height == width and picture.rows == picture.columns
    assert not picture.pixels[height // 2, 10:-10].any()
    corner = height // 2 - 12  # the pen moves through the air from right to top
    assert picture.pixels[:corner, :corner].min() == picture.pixels[:corner, -corner:].min() == 1


def test_attention_to_a_stroke_lies_on_it():
    source = InkSource()
    picture = source.picture(INK)
    first = source.rows([INK[:1]]).lengths[0]
    (map_,) = picture.maps([np.arange(picture.positions) < first])
    rows, columns = np.nonzero(map_)
    assert len(set(rows)) == 1 and len(set(columns)) >= 6
    dark = picture.pixels.reshape(picture.rows, 8, picture.columns, 8).min(axis=(1, 3)) < 0.5
    (everywhere,) = picture.maps([np.ones(picture.positions)])
    assert dark[everywhere > 0].all()


@pytest.mark.parametrize(
    "strokes", [[[[3, 3]]], [[[0, 0], [9, 0]]], [[[0, 0], [0, 1e8]], [[5, 5]]]]
)
def test_ink_of_any_size_is_drawn(strokes):
    picture = InkSource().picture(strokes)
    assert picture.pixels.min() < 0.1 and max(picture.pixels.shape) < 2100
    assert picture.maps(np.ones((1, picture.positions))).max() == 1


def test_ink_is_drawn_as_far_as_it_is_read():
    source = InkSource()
    first = int(source.rows([INK[:1]]).lengths[0])
    short, alone = source.picture(INK, first), source.picture(INK[:1])
    assert short.positions == alone.positions == first
    np.testing.assert_array_equal(short.pixels, alone.pixels)
