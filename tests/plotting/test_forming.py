"""Animations and pages that show how an alignment forms."""

import json
import math
import re
from types import SimpleNamespace

import numpy as np
import PIL.Image
import PIL.ImageSequence
import pytest

import keras_bahdanau as kb
from keras_bahdanau.callbacks import RecordedAlignment
from keras_bahdanau.plotting import animate_alignment, write_training_page
from keras_bahdanau.plotting.forming import _record_at
from keras_bahdanau.plotting.trace_data import unpacked


def new_history(steps=(0, 1, 10), inputs=2):
    """Return a history in which the alignment changes from uniform weights to the diagonal."""
    shares = np.linspace(0, 1, len(steps))
    alignments = [
        [
            RecordedAlignment(
                ["▁a", "b", "</s>"], ["x", "y", "z"], share * np.eye(3) + (1 - share) / 3, None
            )
            for _ in range(inputs)
        ]
        for share in shares
    ]
    losses = [math.nan, *np.linspace(3, 1, len(steps) - 1)]
    entropies = [*np.linspace(math.log(3), 0, len(steps))]
    return SimpleNamespace(
        steps=[*steps], alignments=alignments, losses=losses, entropies=entropies
    )


def frames_of(path):
    with PIL.Image.open(path) as image:
        frames = PIL.ImageSequence.Iterator(image)
        return [(np.asarray(one.convert("L"), int), one.info["duration"]) for one in frames]


def test_an_animation_has_a_frame_of_each_step_and_stays_at_the_last(tmp_path):
    still = animate_alignment(new_history(), tmp_path / "forming.gif", seconds=0.2)
    frames, durations = zip(*frames_of(tmp_path / "forming.gif"), strict=True)
    assert durations == (200, 200, 2500) and len({frame.shape for frame in frames}) == 1
    still.savefig(tmp_path / "still.png")
    last = np.asarray(PIL.Image.open(tmp_path / "still.png").convert("L"), int)
    assert abs(last - frames[-1]).mean() < 2 < abs(last - frames[0]).mean()
    size = (tmp_path / "forming.gif").stat().st_size
    assert size < 60_000


def test_histories_side_by_side_are_at_their_last_record_up_to_a_step(tmp_path):
    histories = {"soft": new_history((0, 1, 10)), "hard": new_history((0, 5))}
    animate_alignment(histories, tmp_path / "forming.gif", input=1)
    assert len(frames_of(tmp_path / "forming.gif")) == 4  # for steps 0, 1, 5 and 10
    assert [_record_at(histories["hard"], step) for step in (0, 1, 5, 10)] == [0, 0, 1, 1]


def test_a_page_has_the_weights_of_each_step_and_asks_no_host(tmp_path):
    history = new_history()
    write_training_page({"soft": history}, tmp_path / "forming.html", title="1 < 2")
    text = (tmp_path / "forming.html").read_text(encoding="utf-8")
    assert "<h1>1 &lt; 2</h1>" in text and "default-src 'none'" in text
    assert {*re.findall(r'https?://[^"]*', text)} == {"http://www.w3.org/2000/svg"}
    assert text.count('id="player"') == 1 and "{{" not in text
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])
    assert (data[0]["name"], data[0]["steps"], data[0]["losses"][0]) == ("soft", [0, 1, 10], None)
    first = data[0]["inputs"][0]
    assert first["source"] == ["a", "b", "</s>"] and first["target"] == ["x", "y", "z"]
    expected = [one[0].alignment.ravel() for one in history.alignments]
    np.testing.assert_allclose(unpacked(first["weights"]), expected, atol=0.005)


@pytest.mark.parametrize(
    ("history", "error", "message"),
    [
        ([1], TypeError, "must be an AlignmentHistory"),
        ({}, ValueError, "Received: history={}"),
        (kb.callbacks.AlignmentHistory([]), ValueError, "must have at least one record"),
    ],
)
def test_a_history_without_records_is_refused(history, error, message, tmp_path):
    with pytest.raises(error, match=message):
        animate_alignment(history, tmp_path / "forming.gif")
    with pytest.raises(error, match=message):
        write_training_page(history, tmp_path / "forming.html")
    assert [*tmp_path.iterdir()] == []


def test_arguments_of_an_animation_are_checked(tmp_path):
    with pytest.raises(ValueError, match=r"`input` must be an integer in \[0, 1\]"):
        animate_alignment(new_history(), tmp_path / "forming.gif", input=2)
    with pytest.raises(ValueError, match="`seconds` must be a positive number"):
        animate_alignment(new_history(), tmp_path / "forming.gif", seconds=0)
    with pytest.raises(ValueError, match="must end in .gif"):
        animate_alignment(new_history(), tmp_path / "forming.png")
    with pytest.raises(ValueError, match="must end in .html"):
        write_training_page(new_history(), tmp_path / "forming.txt")
