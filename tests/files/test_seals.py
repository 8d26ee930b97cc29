"""Seals: a reader refuses a file if any bit in it is flipped."""

import io
import json
import shutil

import numpy as np
import pytest
import sealed_files
from sealing import flips

from keras_bahdanau.files.integrity import (
    Damage,
    check_seal,
    parse_sealed_json,
    seal_of,
    write_sealed_json,
)
from keras_bahdanau.pipelines.archive import read_card


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
        with pytest.raises(Damage, match="does not match its content"):
            check_seal(io.BytesIO(damaged))


def check_flips(readers, count):
    """Assert that each reader accepts its file, and refuses it with one of `count` bits flipped."""
    random = np.random.default_rng(0)
    for path, read in readers.items():
        read()
        for position in flips(path, count, random):
            try:
                read()
            except ValueError:
                continue
            raise AssertionError(f"{path.name}: byte {position}")
        read()


@pytest.mark.parametrize("kind", sealed_files.KINDS)
@pytest.mark.parametrize("count", [2, pytest.param(200, marks=pytest.mark.slow)])
def test_a_flipped_bit_is_refused_in_all_places_of_each_file(kind, count, tmp_path):
    readers = kind(tmp_path / "files")
    check_flips(readers, 1 + count // 10 if kind is sealed_files.page else count)


def test_a_flipped_bit_is_refused_in_200_of_200_places_of_a_keras_file(toy_translator, tmp_path):
    path = tmp_path / "translator.keras"
    toy_translator.save(path)
    check_flips({path: lambda: read_card(path)}, 200)


@pytest.mark.slow
def test_a_flipped_bit_is_refused_in_200_of_200_places_of_a_saved_model(toy_saved_model, tmp_path):
    path = shutil.copytree(toy_saved_model, tmp_path / "1")
    check_flips(sealed_files.saved_model(path), 200)
