"""`check` names every file in a SavedModel's version that differs from its card."""

import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from full_disk import full_disk
from functions_of_a_variable import Model, save, scaled

from keras_bahdanau.exporters import check, describe
from keras_bahdanau.exporters.saved_model.version import write_warmup
from keras_bahdanau.exporters.saved_model.version_card import find_damage
from keras_bahdanau.exporters.tracing import write_graph

EXTRA = Path("assets.extra")
CARD, SEAL = EXTRA / "card.json", EXTRA / "card.json.sha256"
GOLDEN = Path(__file__).parents[2] / "golden" / "0.1.0" / "saved_model.zip"


@pytest.fixture
def version(toy_saved_model, tmp_path):
    """A copy of the toy's version that a test may damage."""
    return shutil.copytree(toy_saved_model, tmp_path / "translator" / "1")


def files_of(version):
    return sorted(path.relative_to(version) for path in version.rglob("*") if path.is_file())


def named(findings):
    return [finding.part.strip("'") for finding in findings]


def rewrite(version, content):
    """Replace a version's card and write a matching seal."""
    (version / CARD).write_bytes(content)
    (version / SEAL).write_text(f"{hashlib.sha256(content).hexdigest()}  card.json\n")


def test_card_holds_the_hash_of_every_file(toy_saved_model):
    card = json.loads((toy_saved_model / CARD).read_bytes())
    expected = {
        path.as_posix(): hashlib.sha256((toy_saved_model / path).read_bytes()).hexdigest()
        for path in files_of(toy_saved_model)
        if path not in (CARD, SEAL)
    }
    assert card["sha256"] == expected
    assert {"saved_model.pb", "batching_params.pbtxt"} < expected.keys()
    assert (EXTRA / "tf_serving_warmup_requests").as_posix() in expected


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="needs sha256sum")
def test_card_can_be_verified_by_sha256sum(toy_saved_model):
    command = ["sha256sum", "-c", "card.json.sha256"]
    subprocess.run(command, cwd=toy_saved_model / EXTRA, check=True, capture_output=True)


def test_whole_version_has_no_damage(toy_saved_model, toy_ids_model):
    assert find_damage(toy_saved_model) == find_damage(toy_ids_model) == []


def test_changed_bit_in_any_file_is_found(version):
    rng = random.Random(0)
    for name in files_of(version):
        content = (version / name).read_bytes()
        for _ in range(4):
            flipped = bytearray(content)
            flipped[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
            (version / name).write_bytes(flipped)
            expected = CARD if name == SEAL else name
            assert expected.as_posix() in named(find_damage(version)), name
        (version / name).write_bytes(content)
    assert find_damage(version) == []


def test_missing_and_added_files_are_named(version):
    (version / "saved_model.pb").unlink()
    (version / "fingerprint.pb").unlink()
    os.mkfifo(version / "fingerprint.pb")
    (version / "more.txt").write_text("more")
    found = {finding.part: finding.why for finding in find_damage(version)}
    assert found.keys() == {"'fingerprint.pb'", "'more.txt'", "'saved_model.pb'"}
    assert "is not among the files of the export" in found["'more.txt'"]
    assert "is missing" in found["'saved_model.pb'"]
    assert "not a regular file" in found["'fingerprint.pb'"]


@pytest.mark.parametrize("lost", [CARD, SEAL])
def test_lost_card_or_seal_is_found(version, lost):
    (version / lost).unlink()
    assert named(find_damage(version)) == [CARD.as_posix()]


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b'{"a": NaN}', b"[" * 100_000, b"\xff", b" " * (2**25 + 1)],
    ids=lambda content: content[:9],
)
def test_card_that_is_none_is_found(version, content):
    rewrite(version, content)
    (finding,) = check(version)
    assert finding.part == CARD.as_posix() and "is not the card of a SavedModel" in finding.why
    assert "\n" not in str(finding)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("format", []), ("search", 3), ("parity", "x"), ("sha256", [])),
        *(("vocabulary_sha256", {"source": None}), ("signatures", {"serving_default": 3})),
        *(("max_rows", None), ("max_source_length", "a"), ("max_source_bytes", 1.5)),
        *(("max_target_length", []), ("max_batch_bytes", {}), ("max_rows", True)),
        ("max_batch_operations", "1e9"),
    ],
)
def test_field_of_another_form_is_found(version, name, value):
    card = json.loads((version / CARD).read_bytes())
    rewrite(version, json.dumps({**card, name: value}).encode())
    (finding,) = check(version)
    assert f"its '{name}' has the wrong type" in finding.why


@pytest.mark.parametrize("name", ["search", "parity", "signatures", "vocabulary_sha256", "keras"])
def test_card_that_lacks_a_field_gets_one_line(version, name):
    card = json.loads((version / CARD).read_bytes())
    del card[name]
    rewrite(version, json.dumps(card).encode())
    assert find_damage(version) == []
    with pytest.raises(ValueError, match=f"that an export writes. Received: path=.*'{name}'"):
        describe(version)


@pytest.mark.parametrize("name", ["max_batch_bytes", "max_batch_operations", "megabytes"])
def test_number_too_large_for_a_float_gets_one_line(version, name):
    card = json.loads((version / CARD).read_bytes())
    card = {**card, "parity": [{"artefact": "Keras", "sentences": 3}]}
    (card if name in card else card["parity"][0])[name] = 10**400
    rewrite(version, json.dumps(card).encode())
    with pytest.raises(ValueError, match="that an export writes. Received: path=") as error:
        describe(version)
    assert "\n" not in str(error.value)


def test_control_characters_of_a_card_are_printed_escaped(version):
    card = json.loads((version / CARD).read_bytes())
    rewrite(version, json.dumps({**card, "keras": "\x1b[2J"}).encode())
    assert r"Keras \x1b[2J" in describe(version)


def test_savedmodel_without_a_card_is_told_apart(tmp_path):
    save(tmp_path)
    assert check(tmp_path) == []
    assert describe(tmp_path) == "no card.json: nothing to compare the files with"


def test_card_of_the_first_version_has_no_hashes(tmp_path):
    shutil.unpack_archive(GOLDEN, tmp_path)
    assert find_damage(tmp_path / "1") == []
    assert "damage to them may not be found" in describe(tmp_path)


@pytest.mark.parametrize("bytes_left", [10, 2000])
def test_full_disk_gets_one_line(tmp_path, bytes_left):
    model = Model(scaled)
    functions = {"answer": model.answer.get_concrete_function()}
    with full_disk(bytes_left), pytest.raises(OSError, match="Received: .*File too large") as error:
        write_graph(model, tmp_path / "1", functions)
    assert "\n" not in str(error.value)


def test_disk_that_fills_at_the_warm_up_gets_one_line(tmp_path):
    requests = [("answer", {"text": np.array([b"x" * 5000], object)})]
    with full_disk(2000), pytest.raises(OSError, match="Received: .*File too large") as error:
        write_warmup(tmp_path / "requests", "model", requests)
    assert "\n" not in str(error.value)


def test_damage_is_told_without_tensorflow(version):
    (version / "batching_params.pbtxt").write_text("changed")
    program = (
        "import sys; from keras_bahdanau.cli import main\n"
        f"try: main(['check', {str(version)!r}])\n"
        "finally: print(*{'keras', 'tensorflow', 'ai_edge_litert'} & set(sys.modules))"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    line, loaded = answer.stdout.splitlines()
    assert (answer.returncode, loaded, answer.stderr) == (1, "", "")
    assert line.startswith("TensorFlow Serving: 'batching_params.pbtxt' is damaged")


def test_what_is_neither_file_nor_directory_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="must be a file or a directory. Received: path="):
        check(tmp_path / "pipe")
