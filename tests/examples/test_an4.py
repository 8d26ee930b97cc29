"""The speech example: recordings that are cut and rejoined."""

from pathlib import Path

import numpy as np
import pytest
from toy_sources import tones, write_wav

from keras_bahdanau import load_pipeline
from keras_bahdanau.cli import main

soundfile = pytest.importorskip("soundfile", reason="join.py reads FLAC with soundfile")

FOLDER = Path(__file__).parents[2] / "examples" / "an4"
RATE = 16_000


@pytest.fixture
def join(example):
    return example("join")


def tone(seconds, hertz=440.0):
    return np.sin(2 * np.pi * hertz * np.arange(round(seconds * RATE)) / RATE)


def silence(seconds):
    return np.zeros(round(seconds * RATE))


def test_a_place_to_cut_is_in_the_pause_between_two_words(join):
    # Words at 0.0 to 0.3, at 0.5 to 0.8 and, without a pause, at 0.8 to 1.1 seconds.
    samples = np.concatenate([tone(0.3), silence(0.2), tone(0.3), tone(0.3, 660)])
    middles = np.array([0.15, 0.65, 0.95]) * RATE
    ((before, place),) = join.places(samples, middles)
    assert before == 1
    assert 0.3 < place / RATE < 0.5


def test_words_that_are_heard_at_one_moment_are_not_cut(join):
    samples = np.concatenate([tone(0.2), silence(0.2), tone(0.2)])
    assert join.places(samples, [0.1 * RATE, 0.12 * RATE]) == []
    assert join.places(samples[:100], [50]) == []  # shorter than a frame


def test_a_place_has_all_words_before_it_on_its_left(join):
    """The third word is heard before the second, so only the first and fourth can be cut off."""
    samples = np.concatenate([tone(0.2), silence(0.2)] * 4)
    middles = np.array([0.1, 0.9, 0.5, 1.3]) * RATE
    assert [before for before, _ in join.places(samples, middles)] == [1, 3]
    places = [sample / RATE for _, sample in join.places(samples, middles)]
    assert 0.2 < places[0] < 0.4 and 1.0 < places[1] < 1.2
    assert join.places(samples, [0, 0]) == [], "nothing is between two words at the beginning"


def test_a_part_has_the_words_between_its_places(join):
    words = list("abcdef")
    samples = np.repeat(np.arange(6), 100)  # each word is 100 samples of its number
    cut_everywhere = join.Recording(words, samples, [(n, 100 * n) for n in range(1, 6)])
    whole = join.Recording(words, samples, [])
    random = np.random.default_rng(0)
    lengths = set()
    for _ in range(200):
        some, sound = join.part(cut_everywhere, random)
        assert some == [words[number] for number in sound[::100]]
        lengths.add(len(some))
    assert lengths == {1, 2, 3, 4}
    assert join.part(whole, random)[0] == words


def test_one_sound_goes_over_into_the_next(join):
    result = join.faded(np.full(300, 2.0), np.full(200, 4.0))
    assert len(result) == 500 - join.FADE
    np.testing.assert_array_equal(result[: 300 - join.FADE], 2)
    np.testing.assert_array_equal(result[300:], 4)
    np.testing.assert_allclose(result[300 - join.FADE : 300], np.linspace(2, 4, join.FADE))
    np.testing.assert_array_equal(join.faded(np.zeros(0), np.ones(3)), np.ones(3))


def test_a_faster_voice_is_shorter_and_higher(join):
    fast = join.at_speed(tone(1.0, 400), 1.1)
    assert len(fast) == pytest.approx(RATE / 1.1, abs=2)
    assert np.abs(np.fft.rfft(fast, RATE)).argmax() == pytest.approx(440, abs=1)  # in hertz


def test_a_new_recording_is_of_one_speaker_and_not_too_long(join):
    samples = {"her": tone(2.0), "him": tone(4.0, 300)}
    speakers = {
        name: [join.Recording([name] * 4, sound, [(2, len(sound) // 2)])]
        for name, sound in samples.items()
    }
    speakers["too long"] = [join.Recording(["x"], silence(10), [])]
    new = list(join.joined(speakers, 60))
    assert len(new) == 60
    assert {" ".join(sorted({*one.words})) for one in new} == {"her", "him"}
    assert all(len(one.samples) <= join.LONGEST * RATE for one in new)
    assert {len(one.words) for one in new} >= {4}
    again, other = join.joined(speakers, 60), join.joined(speakers, 60, seed=1)
    assert [one.words for one in again] == [one.words for one in new]
    assert [len(one.samples) for one in other] != [len(one.samples) for one in new]


@pytest.mark.parametrize("count", [0, 10**6])
def test_a_count_out_of_bounds_is_refused(join, count, capsys):
    with pytest.raises(SystemExit):
        join.main(f"train.tsv --model x.keras --out y --count {count}".split())
    assert f"Received: {count}" in capsys.readouterr().err


@pytest.mark.slow
def test_recordings_of_a_manifest_are_joined(join, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = []
    for number in range(16):
        digits = [number % 4, number // 4 % 4, number % 3]
        Path(f"speaker{number % 2}").mkdir(exist_ok=True)
        path = write_wav(tones(digits), Path(f"speaker{number % 2}/{number}"))
        rows.append(f"{path}\t{' '.join('abcd'[one] for one in digits)}\n")
    Path("train.tsv").write_text("".join(rows))
    options = "--embedding-units 8 --units 8 --epochs 1 --encoder-units 4 --attention-units 8"
    command = "train train.tsv --source speech --target-model-type word --vocabulary-size 12"
    run_command(f"{command} {options} --out run", main)
    join.main("train.tsv --model run/translator.keras --count 5 --out new/joined".split())
    assert capsys.readouterr().out.endswith("new/joined/train.tsv\n")
    lines = Path("new/joined/train.tsv").read_text().splitlines()
    pairs = [line.split("\t") for line in lines]
    assert [path for path, _ in pairs[:1]] == ["../../speaker0/0.wav"]
    assert [path for path, _ in pairs[16:]] == [f"{number}.wav" for number in range(5)]
    sounds = [(Path("new/joined") / path).read_bytes() for path, _ in pairs]
    texts = [text for _, text in pairs]
    aligned = load_pipeline("run/translator.keras").align(list(zip(sounds, texts, strict=True)))
    assert [one.text for one in aligned] == texts


def run_command(line, command):
    with pytest.raises(SystemExit) as ended:
        command(line.split())
    assert not ended.value.code
