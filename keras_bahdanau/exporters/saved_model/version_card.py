"""The card of a SavedModel version, `assets.extra/card.json`, with the SHA-256 of all files."""

import json
from pathlib import Path

from keras_bahdanau.exporters.card import CARD, read_card, sha256
from keras_bahdanau.exporters.exporter import Finding
from keras_bahdanau.files.integrity import LONGEST_CARD, Damage, sha256_of

BATCH = 64  # maximum number of rows in a server's batch, with the settings of a version
CARD_PATH = Path("assets.extra", CARD)
SEAL_PATH = Path("assets.extra", f"{CARD}.sha256")
_SERVER = "TensorFlow Serving"
_COPY_AGAIN = "Copy the version again, or export the translator again."


def write_card(path, card):
    """Write the card of a version, after all of its other files."""
    card = {**card, "sha256": _hashes_of(path)}
    content = json.dumps(card, indent=1, ensure_ascii=False).encode()
    (path / CARD_PATH).write_bytes(content)
    (path / SEAL_PATH).write_bytes(_seal_of(content))


def load_card(path):
    """Return the card of a version, a dictionary; None if there is none.

    Raises `Damage` if it is invalid.
    """
    if not (path / CARD_PATH).is_file():
        return None
    return read_card(_head_of(path / CARD_PATH))


def find_damage(path):
    """Return a list of `Finding`: the files of a version that have changed since the export."""
    try:
        card = load_card(path)
    except Damage as error:
        why = f"is not the card of a SavedModel: {error}"
        return [Finding(_SERVER, str(CARD_PATH), why, _COPY_AGAIN)]
    findings = []
    if (path / SEAL_PATH).is_file() or "sha256" in (card or {}):
        findings += _card_findings(path)
    expected = (card or {}).get("sha256")
    hashes = {} if expected is None else _hashes_of(path)
    for name in sorted({*hashes, *(expected or {})}):
        if hashes.get(name) != expected.get(name):
            why = (
                "is missing, or is not a regular file"
                if not hashes.get(name)
                else "is not among the files of the export"
                if name not in expected
                else "is damaged or was modified: the card has a different sha256"
            )
            findings.append(Finding(_SERVER, repr(name), why, _COPY_AGAIN))
    return findings


def _card_findings(path):
    content, seal = (
        _head_of(path / part) if (path / part).is_file() else b"" for part in (CARD_PATH, SEAL_PATH)
    )
    if seal != _seal_of(content):
        why = f"is missing, damaged or modified: {SEAL_PATH.name} has a different sha256"
        yield Finding(_SERVER, str(CARD_PATH), why, _COPY_AGAIN)


def _hashes_of(path):
    """Return the SHA-256 of each file except card and seal, by path.

    It is "" for anything that is not a regular file.
    """
    hashes = {}
    for file in sorted(path.rglob("*")):
        name = file.relative_to(path)
        if not file.is_dir() and name not in (CARD_PATH, SEAL_PATH):
            hashes[name.as_posix()] = _hash_of(file)
    return hashes


def _hash_of(file):
    if not file.is_file():
        return ""
    with open(file, "rb") as opened:
        return sha256_of(opened)


def _seal_of(content):
    return f"{sha256(content)}  {CARD}\n".encode()


def _head_of(path):
    """Return the content of a file, up to the limit in `parse_card`."""
    with open(path, "rb") as file:
        return file.read(LONGEST_CARD + 1)
