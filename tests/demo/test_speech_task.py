"""Tones in the speech demo: their frequencies, their times, and a note that they aren't speech."""

import json
import os
import sys
import wave
from shutil import which

import numpy as np
import pytest

from keras_bahdanau.data.readers.manifest import read_manifest
from keras_bahdanau.demo import speech_task


@pytest.fixture(autouse=True)
def whistled(monkeypatch):
    """A machine without espeak-ng."""
    monkeypatch.setattr(speech_task.shutil, "which", lambda name: None)


@pytest.fixture(scope="module")
def utterances():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(speech_task.shutil, "which", lambda name: None)
        return speech_task.split(train=30, valid=5, test=10)


# A stand-in for espeak-ng. It writes no voice, but its file is like one from espeak-ng: 22,050 Hz,
# with a header that doesn't contain its size. Each word lasts a quarter of a second, at 400 Hz plus
# 1 Hz for each unit of --pitch.
SPEAKER = """#!{python}
import array, io, json, math, sys, wave
asked = sys.argv[1:]
with open({log!r}, "a") as log:
    log.write(json.dumps(asked) + "\\n")
pitch, words = int(asked[asked.index("-p") + 1]), len(asked[-1].split())
turn = 2 * math.pi * (400 + pitch) / 22050
sound = array.array("h", (int(16384 * math.sin(turn * n)) for n in range(22050 * words // 4)))
file = io.BytesIO()
with wave.open(file, "wb") as writer:
    writer.setparams((1, 2, 22050, 0, "NONE", ""))
    writer.writeframes(sound.tobytes())
content = bytearray(file.getvalue())
content[4:8], content[40:44] = bytes.fromhex("24f0ff7f"), bytes.fromhex("00f0ff7f")
sys.stdout.buffer.write(content)
"""


def test_utterances_are_spoken_by_espeak_ng_where_it_is_installed(tmp_path, monkeypatch):
    """A stand-in on PATH is used: no test machine has espeak-ng, and its voice doesn't matter.

    The test checks which program is called, with which arguments, and that its file is read as
    samples at 16 kHz.
    """
    program, log = tmp_path / "espeak-ng", tmp_path / "log"
    program.write_text(SPEAKER.format(python=sys.executable, log=str(log)))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(speech_task.shutil, "which", which)
    assert speech_task.synthesizer() == "espeak-ng"
    utterances = [one for part in speech_task.split(train=1, valid=1, test=1) for one in part]
    calls = [json.loads(line) for line in log.read_text().splitlines()]
    for one, (v, voice, s, speed, p, pitch, stdout, text) in zip(utterances, calls, strict=True):
        assert (v, s, p, stdout, text) == ("-v", "-s", "-p", "--stdout", one.text)
        assert voice in speech_task.VOICES and 130 <= int(speed) <= 200 and 20 <= int(pitch) <= 80
        seconds = len(one.samples) / speech_task.RATE
        assert seconds == pytest.approx(len(one.text.split()) / 4, abs=0.011)  # in whole frames
        assert loudest(one.samples) == pytest.approx(400 + int(pitch), abs=1)
        assert np.abs(one.samples).max() == pytest.approx(0.5, abs=0.02)
        assert one.samples.dtype == np.float32 and one.seconds == ()


def loudest(samples):
    """Return the strongest frequency of a sound, within a hertz."""
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples)), speech_task.RATE))
    return float(spectrum.argmax())


def melody_of(samples, begin, end):
    """Return the strongest frequencies of the three tones between two times, in hertz."""
    sound = samples[round(begin * speech_task.RATE) : round(end * speech_task.RATE)]
    third = len(sound) // 3
    middles = (sound[third * n + third // 5 : third * (n + 1) - third // 5] for n in range(3))
    return [loudest(middle) for middle in middles]


def test_a_tone_has_its_frequency_and_fades():
    tone = speech_task._tone(440.0, 0.5)
    assert len(tone) == 8000
    assert loudest(tone) == pytest.approx(440, abs=1)
    spectrum = np.abs(np.fft.rfft(tone * np.hanning(8000), speech_task.RATE))
    # The overtones have a quarter and a ninth of its amplitude.
    assert spectrum[880] / spectrum[440] == pytest.approx(1 / 4, rel=0.05)
    assert spectrum[1320] / spectrum[440] == pytest.approx(1 / 9, rel=0.05)
    # The tone fades in and out.
    assert np.abs(tone[:20]).max() < 0.1 * np.abs(tone).max() > np.abs(tone[-20:]).max()


def test_each_word_has_a_melody_of_its_own():
    own = {speech_task.MELODIES[2 * number + 1] for number in range(len(speech_task.WORDS))}
    assert len(own) == len(speech_task.WORDS)
    assert {frequency for melody in own for frequency in melody} <= {440.0, 660.0, 990.0}


def test_the_words_of_an_utterance_are_its_melodies_in_one_key(utterances):
    for one in utterances[0]:
        words = one.text.split()
        assert 2 <= len(words) <= 5 and len(one.seconds) == len(words)
        keys = []
        for word, (begin, end) in zip(words, one.seconds, strict=True):
            expected = speech_task.MELODIES[2 * speech_task.WORDS.index(word) + 1]
            heard = np.array(melody_of(one.samples, begin, end))
            keys += [*(heard / expected)]
        # One key for the whole utterance, at most 15% from the scale.
        assert np.ptp(keys) < 0.05 and 0.83 < np.mean(keys) < 1.17
        ends = [end for _, end in one.seconds]
        assert all(end < begin for end, (begin, _) in zip(ends, one.seconds[1:], strict=False))
        assert ends[-1] < len(one.samples) / speech_task.RATE < ends[-1] + 0.1
        assert one.samples.dtype == np.float32 and np.abs(one.samples).max() < 1


def test_there_is_noise_alone_between_the_words(utterances):
    for one in utterances[0]:
        begin, end = (round(second * speech_task.RATE) for second in one.seconds[0])
        before, word = one.samples[: begin - 1], one.samples[begin:end]
        assert 0 < before.std() <= 0.022
        assert word.std() > before.std()


def test_the_same_seed_gives_the_same_sounds(utterances):
    for part, other in zip(utterances, speech_task.split(train=30, valid=5, test=10), strict=True):
        for one, same in zip(part, other, strict=True):
            assert one.text == same.text
            np.testing.assert_array_equal(one.samples, same.samples)
    others = speech_task.split(train=30, valid=5, test=10, seed=1)
    assert [one.text for one in others[0]] != [one.text for one in utterances[0]]


def test_no_text_is_in_two_parts(utterances):
    texts = [one.text for part in utterances for one in part]
    assert [len(part) for part in utterances] == [30, 5, 10]
    assert len(set(texts)) == 45


def test_it_says_that_this_is_no_real_speech(utterances):
    what, (text,) = speech_task.SpeechTask().describe(utterances[0])
    assert what == "30 synthetic utterances (whistled tones), no real speech"
    assert text == utterances[0][0].text
    assert "synthetic speech" in speech_task.SpeechTask().summary({"wer": 1.0, "exact": 90.0})


def test_the_files_hold_the_sounds_in_16_bits(utterances, tmp_path):
    speech_task.SpeechTask().write(tmp_path, "test", utterances[2])
    pairs = read_manifest(tmp_path / "test.tsv")
    assert [text for _, text in pairs] == [one.text for one in utterances[2]]
    for (path, _), one in zip(pairs, utterances[2], strict=True):
        with wave.open(str(path)) as file:
            assert file.getparams()[:3] == (
                1,
                2,
                speech_task.RATE,
            )  # channels, bytes per sample, samples per second
            samples = np.frombuffer(file.readframes(file.getnframes()), "<i2") / 2**15
        np.testing.assert_allclose(samples, one.samples, atol=2**-15)
