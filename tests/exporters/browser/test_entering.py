"""Sites for models that read images, sound or ink give the same answers as Python."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import keras
import node_packages
import pytest
import toy_sources
from device_files import image_file, sound_file

import keras_bahdanau as kb
from keras_bahdanau.exporters import BrowserExporter, LiteRTExporter, LiteRTPipeline, export

CHECKOUT = Path(__file__).parents[3]
PROGRAM = CHECKOUT / "tests" / "support" / "entering.mjs"
INK = CHECKOUT / "examples" / "formulas" / "models" / "ink.tflite"
SPEECH = CHECKOUT / "examples" / "an4" / "models" / "an4.tflite"
# The strokes drawn with the keyboard, on a canvas of 960 x 320 pixels.
PLUS = [
    [[240 + 8 * step, 160] for step in range(21)],
    [[320, 80 + 8 * step] for step in range(21)],
]
LACKING = node_packages.lacking("@litertjs/core", "@sparticuz/chromium", "puppeteer-core")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(LACKING), reason=f"needs {LACKING}"),
]


def visit(site, *files):
    """Return the results of a visit to the site; see `entering.mjs`."""
    folder = node_packages.directory_of("puppeteer-core")
    command = ["node", PROGRAM, sys.executable, site, *files]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", cwd=folder)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout.splitlines()[-1])
    assert (seen["errors"], seen["unnamed"], seen["wider"]) == ([], [], 0)
    return seen


def site_of(model, folder):
    """Export a site for an existing model file."""
    exporter = BrowserExporter(litert_js=node_packages.directory_of("@litertjs/core"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LiteRTExporter, "write", lambda self, _, path: shutil.copyfile(model, path))
        exporter.write(None, folder / "site")
    return folder / "site"


def assert_answer(found, expected):
    """Assert that a page shows an answer's text, score, tokens and strongest weights."""
    assert found["text"] == expected.text
    assert found["measures"].startswith(f"Score {expected.score:.2f}".replace("-0.00", "0.00"))
    assert len(found["names"]) == len(expected.target_tokens)
    strongest = [float(row.max()) for row in expected.alignment]
    # 8-bit products differ by processor: by 0.0035 between WebAssembly and one with AVX-512.
    assert found["weights"] == pytest.approx(strongest, abs=1e-2)
    assert all(place for place in found["places"])


def test_ink_that_is_drawn_by_keys_is_read_as_in_python(tmp_path):
    seen = visit(site_of(INK, tmp_path))
    assert seen["empty"] == {"nothing": "Nothing is drawn. Draw on the paper first."}
    assert seen["fields"] == ["paper-label", "paper", "paper-hint", "undo", "clear", "pen", "run"]
    assert seen["pen"] == "Pen up, 33% from the left, 75% from the top."
    assert_answer(seen["drawn"], LiteRTPipeline(INK).decode([PLUS])[0])
    assert "most at " in seen["drawn"]["places"][0]


def test_sound_of_a_file_and_of_a_microphone_is_heard(tmp_path):
    files = [tmp_path / f"{name}.wav" for name in ("tones", "slow", "none", "long")]
    toy_sources.write_wav(toy_sources.tones((0, 3, 1, 2) * 4), files[0])
    files[1].write_bytes(sound_file(8000, rate=8000, channels=2))
    files[2].write_bytes(b"no sound")
    files[3].write_bytes(sound_file(16_000 * 11))
    seen = visit(site_of(SPEECH, tmp_path), *files)
    assert seen["empty"] == {"nothing": "There is no sound. Choose a file, or record one."}
    assert {"sound", "record"} <= set(seen["fields"]) and "paper" not in seen["fields"]
    tones, slow, none, long = seen["files"]
    assert_answer(tones, LiteRTPipeline(SPEECH).decode([files[0]])[0])
    assert slow["places"][0] == "Sound of 1.00 seconds"  # played at 16 kHz
    assert none["problem"].startswith("The file is not a recording that this browser can read.")
    assert long["problem"].startswith(
        "The recording is too long: it has 11.0 s, but this page accepts at most 10 s"
    )
    assert seen["recorded"].startswith("Recorded ")
    assert "text" in seen["heard"]


def test_images_are_read_as_in_python_and_drawn_ones_too(tmp_path):
    keras.utils.set_random_seed(5)
    source = toy_sources.CASES["images"].source_of(None)
    texts = [toy_sources.text_of(numbers) for numbers in toy_sources.NUMBERS]
    target = kb.text.Subwords.train(texts, 8, model_type="word")
    sizes = {"embedding_units": 8, "units": 12, "attention_units": 8, "dropout": 0.0}
    search = kb.SearchOptions(beam_width=3, max_length=6)
    pipeline = kb.ImageToText(source, kb.presets.small(source, target, **sizes), target, search)
    exporter = BrowserExporter(
        litert_js=node_packages.directory_of("@litertjs/core"),
        **{"max_target_length": 8, "max_source_length": 8, "signatures": ()},
    )
    export(exporter, pipeline, tmp_path / "site", allow_differences=True)
    files = [tmp_path / f"{name}.png" for name in ("same", "other", "none", "wide")]
    files[0].write_bytes(image_file("RGB", 16, 29))
    files[1].write_bytes(image_file("RGBA", 60, 70))
    files[2].write_bytes(b"no image")
    files[3].write_bytes(image_file("L", 16, 48))
    seen = visit(tmp_path / "site", *files)
    assert seen["empty"] == {"nothing": "There is no image. Choose a file, or draw on the paper."}
    assert {"image", "paper", "undo", "clear"} <= set(seen["fields"])
    same, other, none, wide = seen["files"]
    expected = LiteRTPipeline(tmp_path / "site" / "model.tflite").decode(files[:2])
    assert_answer(same, expected[0])
    assert other["text"] == expected[1].text
    assert none["problem"].startswith("The file is not an image that this browser can read.")
    assert wide["problem"].startswith(
        "The image is too wide: with a height of 16 pixels it is 48 wide"
    )
    assert len(seen["drawn"]["weights"]) == len(seen["drawn"]["names"]) > 0
