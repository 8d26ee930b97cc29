"""The video example: sentences that match the movements, and a training run at toy size."""

import itertools
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("sklearn", reason="its handwritten digits move")

import keras_bahdanau as kb  # noqa: E402

FOLDER = Path(__file__).parents[2] / "examples" / "video"
TINY = ["convolutions=4,4", "epochs=1", "batch_sentences=8", "ema_momentum=0"]
TINY += [f"{name}=8" for name in ("embedding_units", "units", "encoder_units", "attention_units")]


@pytest.fixture
def digits(example):
    return example("moving_digits")


def test_each_pair_of_movements_is_in_one_part(digits):
    parts = [digits.pairs_of(part) for part in ("train", "dev", "test")]
    assert [len(part) for part in parts] == [1120, 160, 320]
    assert len(set.union(*parts)) == 40 * 40
    # Each movement occurs in training, both as the first and as the second of a pair.
    assert all({*column} == {*digits.MOVEMENTS} for column in zip(*parts[0], strict=True))


def test_a_sentence_says_which_digit_moves_where_and_when(digits):
    composition = [(7, "left"), (8, "up"), (3, "down")]
    expected = "a seven moves left, then an eight moves up, then a three moves down"
    assert digits.sentence(composition) == expected


@pytest.mark.slow
@pytest.mark.parametrize("part", ["train", "dev", "test"])
def test_the_named_digits_move_one_after_the_other_and_nothing_else(digits, part):
    for video in digits.videos(part, 20):
        frames = video.frames.reshape(-1, digits.SIDE, digits.SIDE).astype(int)
        movements = [(movement.digit, movement.direction) for movement in video.movements]
        assert video.text == digits.sentence(movements)
        assert digits.pairs_of(part).issuperset(itertools.combinations(movements, 2))
        assert len(frames) <= digits.MOST_FRAMES
        # No ink is hidden by other ink.
        assert len({*frames.sum(axis=(1, 2)).tolist()}) == 1
        changed = [
            step for step in range(1, len(frames)) if (frames[step] != frames[step - 1]).any()
        ]
        assert changed == [step for movement in video.movements for step in movement.frames]
        # The first moments of the ink, x and y, change by the digit's amount of ink at each step.
        moments = np.stack(
            [(frames * np.arange(digits.SIDE)).sum(axis=(1, 2))]
            + [(frames * np.arange(digits.SIDE)[:, np.newaxis]).sum(axis=(1, 2))]
        )
        for movement in video.movements:
            steps = [movement.frames[0] - 1, *movement.frames]
            x, y = np.diff(moments[:, steps])
            right, down = digits.DIRECTIONS[movement.direction]
            moving, still = (x * right, y) if right else (y * down, x)
            assert moving[0] > 0 and {*moving.tolist()} == {moving[0]} and not still.any()


@pytest.mark.slow
def test_videos_are_the_same_for_a_seed_and_half_of_a_test_has_new_handwriting(digits):
    first, again, other = (digits.videos("test", 4, seed) for seed in (1, 1, 2))
    assert [video.text for video in first] == [video.text for video in again]
    assert all((a.frames == b.frames).all() for a, b in zip(first, again, strict=True))
    assert [video.text for video in first] != [video.text for video in other]
    assert [video.known for video in first] == [True, True, False, False]
    numbers = [number for part in digits.IMAGES.values() for number in part]
    assert sorted(numbers) == [*range(10)]


@pytest.mark.slow
def test_the_front_end_convolves_each_frame_and_its_change_as_time_distributed_does(example):
    import keras

    keras.utils.set_random_seed(0)
    source = example("video_source").VideoSource(8, 12)
    front_end = source.front_end(5, (3, 4, 6))
    front_end.build()
    values = np.random.default_rng(0).integers(0, 256, (2, 7, 96)).astype("float32")
    frames = values.reshape(2, 7, 8, 12) / 255
    changes = np.diff(frames, axis=1, prepend=frames[:, :1])
    images = np.stack([frames, changes], axis=-1)
    by_frame = keras.Sequential([*front_end.convolutions, keras.layers.GlobalMaxPooling2D()])
    by_frame.build((None, 8, 12, 2))
    largest = keras.layers.TimeDistributed(by_frame)(images)
    expected = np.asarray(front_end.projection(largest))

    lengths = np.array([7, 4], "int32")
    vectors, mask = front_end(kb.layers.Frames(values, lengths))
    real = np.arange(7) < lengths[:, np.newaxis]
    np.testing.assert_array_equal(mask, real)
    np.testing.assert_allclose(np.asarray(vectors)[real], expected[real], atol=1e-5)
    # A shorter row by itself, and followed by NaN.
    values[1, 4:] = np.nan
    for padded in (values[1:, :4], values[1:]):
        vectors, _ = front_end(kb.layers.Frames(padded, lengths[1:]))
        np.testing.assert_allclose(np.asarray(vectors)[0, :4], expected[1, :4], atol=1e-5)
    with pytest.raises(ValueError, match="augmentation=0.3. Leave it out"):
        source.front_end(5, augmentation=0.3)


@pytest.mark.slow
def test_a_word_points_at_its_digit_where_the_largest_weight_is_in_its_movement(example, digits):
    movements = [digits.Movement(7, "left", range(1, 3)), digits.Movement(8, "up", range(4, 6))]
    video = digits.Video(
        np.zeros((8, 1)), "a seven moves left, then an eight moves up", movements, True
    )
    alignment = np.zeros((10, 8))
    alignment[1, [0, 1, 2]] = 0.2, 0.5, 0.3  # the word "seven"
    # The word "eight": its frames have most of the weight, but only together.
    alignment[6, [3, 4, 5]] = 0.4, 0.35, 0.25
    looks = example("video").looks(video, SimpleNamespace(alignment=alignment))
    np.testing.assert_allclose([*looks], [[1, 0.8, 0.25], [0, 0.6, 0.25]])


@pytest.mark.slow
def test_a_short_training_is_scored_drawn_and_exported(example, digits, tmp_path, capsys):
    video = example("video")
    run = tmp_path / "run"
    options = [argument for option in TINY for argument in ("--set", option)]
    video.main(["train", "--out", str(run), "--videos", "24", *options])
    path = run / "translator.keras"
    assert capsys.readouterr().out.splitlines()[-1] == str(path)

    file = tmp_path / "video.tflite"
    pipeline, frames = kb.load_pipeline(path), digits.videos("dev", 1)[0].frames
    sizes = {"max_source_length": digits.MOST_FRAMES, "max_target_length": 20}
    # The export requires the same answer as Keras.
    kb.export_litert(pipeline, file, sentences=[frames], **sizes)
    video.main(["score", str(path), str(file), "--count", "4"])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["file"] for row in rows] == ["translator.keras", "video.tflite"]
    assert all(row["exact, new handwriting"] == "0.0" for row in rows)
    assert all(row["pointing accuracy"] == "none is right" for row in rows)
    strip = pipeline.picture(frames)
    assert strip.pixels.shape == (digits.SIDE, digits.SIDE * len(frames))
    kb.plot_alignment(pipeline.decode([frames])[0], strip).savefig(tmp_path / "plot.png")

    with pytest.raises(SystemExit, match="nothing is drawn"):
        video.draw(path, tmp_path / "video.gif")
    right = [  # as if it had read them correctly
        (one, SimpleNamespace(text=one.text, alignment=np.eye(15, len(one.frames)) + 0.01))
        for one in digits.videos("dev", 60)
        if len(one.movements) == 3
    ]
    video.decoded = lambda path, videos: right
    video.draw(path, tmp_path / "video.gif")
    with Image.open(tmp_path / "video.gif") as moving, Image.open(tmp_path / "video.png") as still:
        assert moving.n_frames > 12 and moving.size == still.size
