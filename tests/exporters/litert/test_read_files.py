"""The kit's Python program for devices reads files into the same features as in training."""

import importlib
import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import toy_sources
from device_files import (
    card_of,
    clear_colour_of_16_bits,
    damaged,
    float_file,
    image_file,
    other_images,
    other_sounds,
    png_of,
    sound_file,
    wrong_sounds,
)

from keras_bahdanau.pipelines.tasks import load_pipeline
from keras_bahdanau.sources import AudioSource, FeatureSource, ImageSource

ROOT = Path(__file__).parents[3]
KIT = ROOT / "export" / "on_device"
KIT_FILES = ("translate", "file_features", "read_files")
RUNNER = ROOT / "keras_bahdanau" / "exporters" / "litert" / "on_device"
LACKING = """
import importlib.abc, runpy, sys

class Lacking(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"keras", "keras_bahdanau", "tensorflow", "tensorflow_text"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Lacking())
del sys.argv[0]
sys.path.insert(0, sys.argv[0].rpartition("/")[0])
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.fixture(scope="module")
def modules():
    """The program's modules by name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(KIT)
        yield {name: importlib.import_module(name) for name in KIT_FILES}
    for name in KIT_FILES:
        del sys.modules[name]


@pytest.fixture(scope="module")
def program(modules):
    """The module that computes features."""
    return modules["file_features"]


def assert_same_features(program, path, source, longest, rounding=0):
    """Assert equal features, up to `rounding` or that fraction of the largest magnitude."""
    found, labels = program.features_of(str(path), card_of(source, longest))
    expected = source.rows([path]).padded([0], (1, longest))
    named = source.named(expected)
    assert found.keys() == named.keys() and labels == source.labels(expected)[0]
    for name, array in named.items():
        one = np.asarray(found[name])
        if name == "samples":
            one = np.pad(one, (0, array.shape[1] - len(one)))
            assert one.dtype == array.dtype
        one, other = one.astype(float), array[0].astype(float)
        rounding = (
            rounding * max(1, np.abs(other).max(initial=0)) if name == "samples" else rounding
        )
        np.testing.assert_allclose(one, other, rtol=0, atol=rounding, err_msg=name)


@pytest.mark.few(1)
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("ink", ["dark", "light"])
def test_images_have_the_pixels_of_training(program, tmp_path, channels, ink):
    source = ImageSource(16, 48, channels=channels, ink=ink)
    path = tmp_path / "one.png"
    for mode in ("1", "L", "P", "RGB"):
        for wide in (1, 8, 37, 48):
            path.write_bytes(image_file(mode, 16, wide))
            assert_same_features(program, path, source, 12)


@pytest.mark.parametrize("samples", [1, 159, 160, 161, 4800])
def test_sounds_have_the_samples_of_training(program, tmp_path, samples):
    path = tmp_path / "one.wav"
    path.write_bytes(sound_file(samples))
    assert_same_features(program, path, AudioSource(20), 30)
    whole = sound_file(samples)
    if samples > 1:  # otherwise no sample would remain
        path.write_bytes(whole[: len(whole) - 1])  # cut off in the middle of a sample
        assert_same_features(program, path, AudioSource(20), 30)


def test_sounds_of_any_rate_width_and_channels_have_the_samples_of_training(program, tmp_path):
    path = tmp_path / "one.wav"
    for content in other_sounds():
        path.write_bytes(content)
        assert_same_features(program, path, AudioSource(20), 70, rounding=2e-6)


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize(("channels", "ink"), [(1, "dark"), (3, "light")])
def test_images_of_any_size_and_form_have_the_pixels_of_training_but_for_rounding(
    program, tmp_path, channels, ink
):
    source = ImageSource(16, 48, channels=channels, ink=ink)
    path, different = tmp_path / "one.png", []
    for content in other_images():
        path.write_bytes(content)
        assert_same_features(program, path, source, 12, rounding=1)
        found, _ = program.features_of(str(path), card_of(source, 12))
        different.append(np.mean(found["pixels"] != source.rows([path]).padded([0], (1, 12))[0][0]))
    assert max(different) < 1e-3


def test_a_reduced_memory_has_a_name_for_each_of_its_positions(program, tmp_path):
    path = tmp_path / "one.wav"
    path.write_bytes(sound_file(1600))
    _, labels = program.features_of(str(path), card_of(AudioSource(20), 30, reduction=4))
    assert labels == ["0.00", "0.04", "0.08"]


IMAGES, SOUNDS = ImageSource(16, 48), AudioSource(20)


@pytest.mark.parametrize(
    ("source", "content", "message"),
    [
        (IMAGES, b"", "a whole PNG file"),
        (IMAGES, image_file("L", 16, 40)[:60], "a whole PNG file"),
        (IMAGES, png_of(40, 16), "a whole PNG file"),  # without pixel data
        (IMAGES, png_of(100_000, 100_000, (b"IDAT", b"")), "at most 16,777,216 pixels"),
        (ImageSource(16, 64), image_file("L", 16, 49), "at most 12 positions. Received: "),
        (IMAGES, clear_colour_of_16_bits(), "with 8 bits per channel"),
        (IMAGES, sound_file(99), "a whole PNG file"),
        (IMAGES, image_file("L", 16, 40) + bytes(2**24), "at most 16,777,216 bytes"),
        (SOUNDS, b"", "a WAV file of 1 to 192 kHz, PCM of 8 to 32 bits or floats"),
        (SOUNDS, sound_file(99)[:30], "a WAV file of 1 to 192 kHz"),
        *((SOUNDS, content, "a WAV file of 1 to 192 kHz") for content in wrong_sounds()[:2]),
        *((SOUNDS, content, "ends before its data does") for content in wrong_sounds()[2:5]),
        *((SOUNDS, content, "a WAV file of 1 to 192 kHz") for content in wrong_sounds()[5:]),
        (SOUNDS, sound_file(99, rate=999), "999 Hz, 16 bits, 1 channels"),
        (SOUNDS, sound_file(99, rate=192_001), "192,001 Hz, 16 bits, 1 channels"),
        (SOUNDS, sound_file(99, channels=65), "16,000 Hz, 16 bits, 65 channels"),
        (SOUNDS, float_file(np.zeros(9, "<f2")), "16,000 Hz, 16 bits, 1 channels"),
        (SOUNDS, sound_file(12 * 160 + 1), "at most 12 positions. Received: "),
        (SOUNDS, sound_file(12 * 441 + 1, rate=44_100), "at most 12 positions. Received: "),
        (FeatureSource(3), b"", "a model of FeatureSource"),
    ],
)
def test_another_file_is_refused(program, tmp_path, source, content, message):
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(program.InputError, match="Received: ") as refused:
        program.features_of(str(path), card_of(source, 12))
    assert message in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.slow
@pytest.mark.parametrize(("source", "longest"), [(IMAGES, 12), (SOUNDS, 30)])
def test_a_damaged_file_is_refused_or_has_the_features_of_training(
    program, tmp_path, source, longest
):
    files = {
        IMAGES: [image_file(mode, 16, 37) for mode in ("1", "L", "P", "RGB", "LA")],
        SOUNDS: [*(sound_file(samples) for samples in (1, 700, 2400)), *other_sounds()[:2]],
    }
    path, generator, read = tmp_path / "file", random.Random(0), 0
    for _ in range(400):
        path.write_bytes(damaged(generator.choice(files[source]), generator))
        try:
            program.features_of(str(path), card_of(source, longest))
        except program.InputError:
            continue
        assert_same_features(program, path, source, longest, rounding=2e-6)
        read += 1
    assert read < 400 and (read or source is IMAGES)  # checksums catch all damage to images


@pytest.mark.parametrize("name", ["missing.wav", "."])
def test_what_is_no_file_is_refused(program, tmp_path, name):
    with pytest.raises(program.InputError, match="A file must be readable"):
        program.features_of(str(tmp_path / name), card_of(SOUNDS, 12))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["images", "audio"])
def test_a_folder_and_files_read_others_as_keras_does_without_tensorflow(
    name, toy_source, toy_artefact, tmp_path
):
    for module in KIT_FILES:
        shutil.copy(KIT / f"{module}.py", tmp_path)
    shutil.copytree(RUNNER, tmp_path / RUNNER.name)
    case = toy_sources.CASES[name]
    files = [
        case.write(case.input_of(numbers), tmp_path / f"{number}")
        for number, numbers in enumerate([(0, 1), (3, 2), (1,), (2, 2, 1)])
    ]
    files += [case.write_other(row, tmp_path / f"other{row[0]}") for row in ((0, 1), (3, 2))]
    command = [sys.executable, "-c", LACKING, tmp_path / "read_files.py"]
    done = subprocess.run(
        [*command, toy_artefact(name, "litert"), *files], capture_output=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr.decode()
    expected = load_pipeline(toy_source(name)).decode(files)
    assert done.stdout.decode().splitlines() == [one.text for one in expected]
    assert expected[0].text == "eins zwei"


def test_a_wrong_file_is_refused_in_one_line(modules, toy_litert, tmp_path, capsys):
    assert modules["read_files"].main([str(toy_litert), "one.png"]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "Received: a model of text. Use translate.py for text, and translate.mjs for ink." in err
