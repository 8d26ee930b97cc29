"""Write each kind of sealed file that the package produces.

Each function writes files to a new directory and returns a dictionary from each path to a function
that reads the file and raises ValueError if it is damaged.
"""

import shutil
from pathlib import Path

import numpy as np
from sealing import sealed_h5

from keras_bahdanau.callbacks.averaging import _WeightFiles
from keras_bahdanau.data.shards.block_work import _whole_entry
from keras_bahdanau.data.shards.shards import Shards, write_card, write_shard
from keras_bahdanau.exporters.browser import browser_exporter
from keras_bahdanau.exporters.litert.on_device.packed_files import unpack
from keras_bahdanau.exporters.onnx.onnx_file import open_sealed, pack
from keras_bahdanau.exporters.saved_model import version_card
from keras_bahdanau.files.integrity import write_sealed_json
from keras_bahdanau.sources import ImageSource
from keras_bahdanau.sources.decoded_rows import FeatureCache
from keras_bahdanau.sources.text_source import TextSource
from keras_bahdanau.text.id_rows import IdRows
from keras_bahdanau.text.subwords import Subwords
from keras_bahdanau.training.progress import Progress
from keras_bahdanau.training.run import Run

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(directory):
    """Write `run.json` and a checkpoint."""
    directory.mkdir()
    files = Run(directory)
    write_sealed_json(files.card, {"options": {"epochs": 3}, "data": {"train": "a" * 64}})
    with sealed_h5(files.checkpoint) as file:
        file["progress"] = Progress(epoch=1).dumps()
        file["layers/dense/vars/0"] = np.ones((30, 30), np.float32)
    return {files.card: files.read_card, files.checkpoint: files.progress}


def shards(directory):
    """Write the card, the arrays and the record of a directory of shards."""
    sides = Subwords.train_pair([("abc", "xyz")], 8, joint=False, model_type="char")
    source, target = TextSource(sides[0]), sides[1]
    rows = source.rows(["ab", "c"] * 50), IdRows.encoded(target, ["x", "yz"] * 50)
    entry = write_shard(directory, 0, *rows)
    write_card(directory, [entry], source, target)
    record = directory.parent / "entry.json"
    write_sealed_json(record, entry)
    arrays = (directory / "00000").iterdir()
    return {
        directory / "card.json": lambda: Shards(directory),
        record: lambda: _require(_whole_entry(directory, record)),
        **dict.fromkeys(arrays, lambda: Shards(directory).check()),
    }


def epoch(directory):
    """Write the weights of an epoch."""
    weights = _WeightFiles(directory)
    weights[7] = [np.ones((9, 9), np.float32), np.zeros(3, np.float32)]
    return {directory / "epoch-00007.npz": lambda: weights[7]}


def cache(directory):
    """Write a cached image."""
    features = FeatureCache(ImageSource(16, 48), directory)
    features.array(b"x", None, lambda: np.ones((16, 8, 1), np.uint8))
    (path,) = directory.iterdir()
    key = path.read_bytes()[8:40]
    return {path: lambda: _require(features._read(path, key, 2**20) is not None)}


def version(directory):
    """Write a version directory that looks like a SavedModel."""
    (directory / "1" / "assets.extra").mkdir(parents=True)
    return saved_model(directory / "1", content=bytes(range(200)))


def saved_model(path, content=None):
    """Return the files of a SavedModel's version; if `content` is given, they are written first."""
    if content is not None:
        (path / "saved_model.pb").write_bytes(content)
        version_card.write_card(path, {"verb": "translate"})
    files = [file for file in path.rglob("*") if file.is_file()]
    return dict.fromkeys(files, lambda: _require(not version_card.find_damage(path)))


def litert(directory):
    """Write a .tflite file."""
    directory.mkdir()
    model = directory / "model.tflite"
    shutil.copyfile(_smallest_model(), model)
    return {model: lambda: unpack(model)}


def page(directory):
    """Write the files of a page, with one-line files in place of LiteRT.js."""
    directory.mkdir()
    shutil.copyfile(_smallest_model(), directory / browser_exporter.MODEL)
    for file in browser_exporter.MODULES.iterdir():
        shutil.copyfile(file, directory / file.name)
    for name, files in browser_exporter._LITERT.items():
        for file in files:
            copy = directory / "litert" / name / file
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(f"// {file}\n")
    browser_exporter._write_page(directory)
    exporter = browser_exporter.BrowserExporter()
    exporter._write_site(directory)
    files = [file for file in directory.rglob("*") if file.is_file()]
    return dict.fromkeys(files, lambda: _require(not exporter.damage(directory)))


def onnx(directory):
    """Write an .onnx file."""
    directory.mkdir()
    model = directory / "model.onnx"
    model.write_bytes(pack(bytes.fromhex("080a3a00"), {"target.spm": bytes(200)}, {"verb": "read"}))
    return {model: lambda: open_sealed(model)}


KINDS = (run, shards, epoch, cache, version, litert, page, onnx)


def _smallest_model():
    return min(EXAMPLES.glob("*/models/*.tflite"), key=lambda path: path.stat().st_size)


def _require(is_whole):
    if not is_whole:
        raise ValueError("It is damaged.")
