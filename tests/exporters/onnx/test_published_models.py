"""Each model published as a .keras file gives the same answers in ONNX as in Keras."""

from pathlib import Path

import numpy as np
import pytest

import keras_bahdanau as kb
from keras_bahdanau.exporters.onnx.onnx_file import unpack

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests" / "golden" / "0.1.0" / "translator.keras"
# The other models are published only as .tflite.
MODELS = [GOLDEN, *sorted(ROOT.glob("examples/*/models/*.keras"))]
COUNT = 40


def drawn_inputs(pipeline, random):
    """Draw random inputs for a source: token sequences, boxes, or pure and fading tones."""
    source = pipeline.source
    if source.subwords is not None:
        tokens = [
            token.replace("▁", " ")
            for token in source.subwords.tokens(range(4, source.subwords.vocabulary_size))
        ]
        return ["".join(random.choice(tokens, random.integers(1, 14))) for _ in range(COUNT)]
    if source.unit == "frames":
        seconds = np.arange(16_000) / 16_000
        tones = 2 * np.pi * random.uniform(100, 2000, (COUNT // 8, 1)) * seconds
        pure = 0.5 * np.sin(tones)
        fading = pure * np.exp(-3 * seconds) + random.normal(0, 0.01, tones.shape)
        return [(wave.astype(np.float32), 16_000) for wave in (*pure, *fading)]
    images = np.full((COUNT // 8, 96, 128, 3), 255, np.uint8)
    for image in images:
        top, left = random.integers(5, 60, 2)
        image[top : top + 30, left : left + 40] = random.integers(0, 200, 3)
    return [*images]


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS, ids=lambda path: path.stem)
def test_a_published_model_gives_the_texts_of_keras(model, tmp_path):
    pipeline = kb.load_pipeline(model)
    inputs = drawn_inputs(pipeline, np.random.default_rng(0))
    path = kb.export_onnx(pipeline, tmp_path / "model.onnx", sentences=inputs)
    _, row = unpack(path.read_bytes()).card["parity"]
    assert row["sentences"] == len(inputs) + len(pipeline.source.edge_cases)
    assert row["misses"] == [] and row["refused"] == 0
    assert row["equal"] + row["ties"] / row["sentences"] >= 1
    assert row["score"] <= 1e-4 or row["ties"]
