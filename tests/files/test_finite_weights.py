"""A translator whose weights are not finite can't be saved, loaded or exported."""

import io
import json
import shutil
import zipfile

import h5py
import numpy as np
import pytest

import keras_bahdanau as kb


@pytest.fixture(params=[np.nan, np.inf])
def spoilt(request, toy_translator, once, tmp_path):
    """The file of the toy translator, with one weight that is not finite."""
    path = shutil.copy(once("toy.keras", None), tmp_path / "spoilt.keras")
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    weights = io.BytesIO(parts["model.weights.h5"])
    with h5py.File(weights, "a") as file:
        names = []
        file.visit(names.append)
        last = [name for name in names if isinstance(file[name], h5py.Dataset)][-1]
        file[last][..., -1] = request.param
    parts["model.weights.h5"] = weights.getvalue()
    card = json.loads(parts["pipeline.json"])
    del card["sha256"]  # as in a file of 0.1.0, whose weights have no other check
    parts["pipeline.json"] = json.dumps(card)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


@pytest.mark.few(1)
def test_it_is_not_loaded(spoilt):
    with pytest.raises(ValueError, match="must be finite. Received: path='.*spoilt.keras', with N"):
        kb.Translator.load(spoilt)


def test_it_is_neither_saved_nor_exported(toy_translator, tmp_path):
    model = kb.Seq2Seq.from_config(toy_translator.model.get_config())
    model.build()
    model.set_weights(toy_translator.model.get_weights())
    model.weights[0].assign(model.weights[0] * np.nan)
    translator = kb.Translator(toy_translator.source, model, toy_translator.target)
    for write in (
        lambda: translator.save(tmp_path / "spoilt.keras"),
        lambda: kb.export_saved_model(translator, tmp_path / "served"),
        lambda: kb.export_litert(translator, tmp_path / "spoilt.tflite"),
    ):
        with pytest.raises(ValueError, match=f"with NaN or infinity in '{model.weights[0].path}'"):
            write()
    assert not list(tmp_path.iterdir())
