"""Seals: one flipped bit anywhere in a file is refused by its reader."""

import io
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from sealing import flips, sealed_h5

from keras_bahdanau.callbacks.averaging import _WeightFiles
from keras_bahdanau.data.shards.block_work import _whole_entry
from keras_bahdanau.data.shards.shards import Shards, write_card, write_shard
from keras_bahdanau.exporters.browser.browser_exporter import SITE, _read_site
from keras_bahdanau.exporters.litert.on_device.packed_files import unpack
from keras_bahdanau.exporters.saved_model import version_card
from keras_bahdanau.files.integrity import (
    Damage,
    check_seal,
    parse_sealed_json,
    seal_of,
    write_sealed_json,
)
from keras_bahdanau.sources import ImageSource
from keras_bahdanau.sources.decoded_rows import FeatureCache
from keras_bahdanau.sources.text_source import TextSource
from keras_bahdanau.text.id_rows import IdRows
from keras_bahdanau.text.subwords import Subwords
from keras_bahdanau.training.progress import Progress
from keras_bahdanau.training.run import Run

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_a_sealed_json_object_is_one_that_any_program_reads(tmp_path):
    path = tmp_path / "card.json"
    write_sealed_json(path, {"seal": "old", "é": [1.5, float("nan")]})
    content = path.read_bytes()
    assert parse_sealed_json(content) == {"é": [1.5, None]}
    assert json.loads(content) == {"é": [1.5, None], "seal": content[-67:-3].decode()}
    assert content[-67:-3] == seal_of(content[:-67])
    for position in range(len(content)):
        with pytest.raises(Damage):
            parse_sealed_json(content[:position] + b"\x07" + content[position + 1 :])
    for damaged in (content[:-1], content + b"\n", b'{"format": 1}', b'"\n}', b""):
        with pytest.raises(Damage):
            parse_sealed_json(damaged)


def test_a_seal_covers_all_bytes_before_it():
    content = bytes(range(256)) * 5000
    sealed = content + seal_of(content)
    check_seal(io.BytesIO(sealed))
    for damaged in (sealed[1:], sealed[:-1], sealed + b"0", sealed[:-64], sealed[-64:], b""):
        with pytest.raises(Damage, match="not the sha256 of its bytes"):
            check_seal(io.BytesIO(damaged))


def _run(directory):
    run = Run(directory)
    directory.mkdir()
    write_sealed_json(run.card, {"options": {"epochs": 3}, "data": {"train": "a" * 64}})
    with sealed_h5(run.checkpoint) as file:
        file["progress"] = Progress(epoch=1).dumps()
        file["layers/dense/vars/0"] = np.ones((30, 30), np.float32)
    return {run.card: run.read_card, run.checkpoint: run.progress}


def _shards(directory):
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
        record: lambda: require(_whole_entry(directory, record)),
        **dict.fromkeys(arrays, lambda: Shards(directory).check()),
    }


def _epoch(directory):
    weights = _WeightFiles(directory)
    weights[7] = [np.ones((9, 9), np.float32), np.zeros(3, np.float32)]
    return {directory / "epoch-00007.npz": lambda: weights[7]}


def _cache(directory):
    cache = FeatureCache(ImageSource(16, 48), directory)
    cache.array(b"x", None, lambda: np.ones((16, 8, 1), np.uint8))
    (path,) = directory.iterdir()
    key = path.read_bytes()[8:40]
    return {path: lambda: require(cache._read(path, key, 2**20) is not None)}


def _artefacts(directory):
    version = directory / "1"
    (version / "assets.extra").mkdir(parents=True)
    (version / "saved_model.pb").write_bytes(bytes(range(200)))
    version_card.write_card(version, {"verb": "translate"})
    write_sealed_json(
        directory / SITE, {"bytes": {"a": 1}, "sha256": {"a": "0"}, "model": "m", "title": "t"}
    )
    model = directory / "model.tflite"
    shutil.copyfile(min(EXAMPLES.glob("*/models/*.tflite"), key=lambda p: p.stat().st_size), model)
    paths = "saved_model.pb", version_card.CARD_PATH, version_card.SEAL_PATH
    return {
        **{version / p: lambda: require(not version_card.find_damage(version)) for p in paths},
        directory / SITE: lambda: _read_site(directory),
        model: lambda: unpack(model),
    }


def require(whole):
    if not whole:
        raise ValueError("damaged")


@pytest.mark.slow
@pytest.mark.parametrize("files", [_run, _shards, _epoch, _cache, _artefacts])
def test_a_flipped_bit_is_refused_in_200_of_200_places_of_each_file(files, tmp_path):
    readers = files(tmp_path / "files")
    random = np.random.default_rng(0)
    for path, read in readers.items():
        read()
        for position in flips(path, 200, random):
            try:
                read()
            except ValueError:
                continue
            raise AssertionError(f"{path.name}: byte {position}")
