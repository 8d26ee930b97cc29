"""The example of formulas: a model of ink goes on as one that reads what is around, too."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import keras_bahdanau as kb

FOLDER = Path(__file__).parents[2] / "examples" / "formulas"
PLUS = [[0, 50, 50, 0, 50, 0], [50, 0, 0, 100]]  # a line to the right, and one downwards
ONE = [[0, 0, 0, 100]]


@pytest.fixture
def data(tmp_path):
    """Files of formulas, as the example reads them."""
    lines = [{"latex": "1", "ink": ONE}, {"latex": "1 + 1", "ink": [*ONE, *PLUS, *ONE]}] * 4
    for name in ("train", "dev"):
        with gzip.open(tmp_path / f"{name}.jsonl.gz", "wt") as file:
            file.write("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path


@pytest.mark.slow
def test_it_begins_as_the_model_of_ink_is_trained_and_exported(example, data):
    pytest.importorskip("ai_edge_litert", reason="ai-edge-litert runs the file")
    train, surroundings = example("train"), example("surroundings")
    train.BEAM_WIDTHS, train.EXPONENTS = (2,), (0.0,)
    places = ["--data", str(data), "--epochs", "1"]
    train.main([*places, "--out", str(data / "ink")])
    surroundings.main(["--from", str(data / "ink"), "--out", str(data / "start")])
    inks = [strokes for strokes, _ in example("formulas").read(data / "dev.jsonl.gz")][:2]
    ink, start = (kb.load_pipeline(data / name) for name in ("ink", "start"))
    assert not ink.source.surroundings and start.source.surroundings
    pairs = [(one, "1 + 1") for one in inks]
    np.testing.assert_array_equal(ink.score(pairs), start.score(pairs))

    train.main([*places, "--from", str(data / "start"), "--out", str(data / "both")])
    both = kb.load_pipeline(data / "both" / "formulas.keras")
    kernel = both.model.encoder.front_end.context.output_layer.kernel
    kernel.assign(np.random.default_rng(0).normal(size=kernel.shape))  # one step is too short
    assert not np.allclose(both.score(pairs), ink.score(pairs))
    sizes = {"max_source_length": 64, "max_target_length": 8}
    kb.export_litert(both, data / "both.tflite", **sizes)
    kb.export_saved_model(both, data / "saved", sentences=inks)  # raises if it answers otherwise
    device = kb.exporters.LiteRTPipeline(data / "both.tflite")
    for one, result in zip(both.decode(inks), device.decode(inks), strict=True):
        assert result.text == one.text
        np.testing.assert_allclose(result.score, one.score, atol=1e-4)


def test_what_is_no_training_of_ink_is_refused(example, tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        example("surroundings").main(["--from", str(tmp_path / "none"), "--out", str(tmp_path)])
    assert ended.value.code == 2
    assert "must be the directory of a training. Received: " in capsys.readouterr().err
