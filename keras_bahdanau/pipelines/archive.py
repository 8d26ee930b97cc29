"""The archive that a pipeline is saved in. Its card is read and changed without TensorFlow.

The card contains the sha256 of the source, of the target and of every other member of the archive;
its search options and calibration may change. The comment at the end of the archive is its seal.
"""

import copy
import dataclasses
import functools
import hashlib
import json
import os
import re
import shutil
import zipfile
from pathlib import Path
from typing import NamedTuple

from keras_bahdanau import __version__
from keras_bahdanau.files.integrity import (
    Damage,
    check_archive_seal,
    check_fields,
    opened,
    parse_card,
    seal_archive,
    sha256_of,
)
from keras_bahdanau.files.whole_file import replacing
from keras_bahdanau.search.search_options import SearchOptions
from keras_bahdanau.settings.removed import REMOVED

CARD = "pipeline.json"  # in the .keras archive, next to the files that Keras writes


class PipelineFile(NamedTuple):
    """A pipeline's file and its verified card."""

    path: Path
    card: dict


def open_pipeline_file(path):
    """Return the `PipelineFile` for a `.keras` file or a run directory.

    The file is checked without TensorFlow. Raises FileNotFoundError if there is no model, and the
    errors of `read_card`.
    """
    path = Path(path)
    if path.is_dir():
        file = path / "translator.keras"
        if not file.is_file():
            raise FileNotFoundError(
                "A model must be a .keras file, or the directory of a training run that has "
                "completed an epoch. "
                f"Received: model={str(path)!r}, a directory without {file.name}. "
                "Pass the --out directory of a training run, or the path of the file."
            )
        path = file
    if not path.exists():
        raise FileNotFoundError(
            f"No model at {str(path)!r}. Pass the directory of a training run, or a .keras file."
        )
    return PipelineFile(path, read_card(path))


def find_translator(path):
    """Return the path of the file that `open_pipeline_file` opens."""
    return open_pipeline_file(path).path


def read_card(path):
    """Return the card of a pipeline's file, which is read again only if the file has changed.

    Raises FileNotFoundError if there is no file, and ValueError if the file is of another kind, is
    damaged, contains parts of another file, or has unknown search options.
    """
    path = Path(path)
    if not path.is_file():
        kind = "a directory" if path.is_dir() else "no such file"
        raise FileNotFoundError(
            f"A translator must be a .keras file. Received: path={str(path)!r}, {kind}."
        )
    if path.suffix != ".keras":
        raise ValueError(
            f"A translator's file name must end in .keras. Received: path={str(path)!r}. Use the "
            ".keras file; a .tflite file is an export of it."
        )
    status = os.stat(path)
    return copy.deepcopy(_verified(path, status.st_ino, status.st_size, status.st_mtime_ns))


def read_search(path):
    """Return the `SearchOptions` in a pipeline's file. Raises the same errors as `read_card`."""
    return SearchOptions.from_config(read_card(path)["search"])


def write_search(path, search):
    """Atomically replace the search options, a dictionary, in a pipeline's file."""
    _rewrite_card(path, search=search)


def write_calibration(path, calibration):
    """Atomically replace the `Calibration` in a pipeline's file."""
    _rewrite_card(path, calibration=dataclasses.asdict(calibration))


def _rewrite_card(path, **fields):
    """Replace fields of the card that its hashes don't cover. Symbolic links are followed."""
    card = {**read_card(path), **fields}
    path = Path(os.path.realpath(path))
    with replacing(path, unfinished_path(path)) as unfinished:
        with zipfile.ZipFile(path) as old, zipfile.ZipFile(unfinished, "w") as new:
            for entry in old.infolist():
                if entry.filename != CARD:
                    new.writestr(entry, old.read(entry))
            new.writestr(CARD, json.dumps(card))
        seal_archive(unfinished)
        shutil.copymode(path, unfinished)


def unfinished_path(path):
    """Return the path under which a file is written before it is moved to `path`."""
    return path.with_name(f".{path.stem}.{os.getpid()}.keras")


@functools.lru_cache(4)
def _verified(path, *state):
    try:
        with open(path, "rb") as file, opened(file) as archive:
            check_archive_seal(file)
            card = parse_card(archive.read(CARD)) if CARD in archive.namelist() else None
            if card is not None:
                check_fields(card, {"source": dict, "target": dict, "search": dict})
                _check_metrics(card)
                check_fields({"training": {}, **card}, {"training": dict})
                _check_hashes(archive, card)
    except Damage as error:
        raise ValueError(
            "A translator's file must be an intact .keras archive. "
            f"Received: path={str(path)!r} ({error}). Save or copy it again."
        ) from None
    if card is None:
        raise ValueError(
            "A translator's file must contain its vocabularies. "
            f"Received: path={str(path)!r}, a Keras model without vocabularies. "
            "Save it with Translator.save, not with model.save."
        )
    from keras_bahdanau.pipelines.confidence import calibration_of  # imports NumPy, which is slow

    _check_search(path, card)
    calibration_of(card)
    return card


def hashes_of(archive, card):
    """Return the sha256 of "source", "target" and each archive member except the card, in hex."""
    hashes = {}
    for side in ("source", "target"):
        config = json.dumps(card[side], sort_keys=True).encode()
        hashes[side] = hashlib.sha256(config).hexdigest()
    for name in archive.namelist():
        if name != CARD:
            with archive.open(name) as member:
                hashes[name] = sha256_of(member)
    return hashes


def version_advice(card):
    """Return the end of an error: the version that wrote a file and the version to install."""
    version = card.get("keras_bahdanau")
    if not isinstance(version, str) or not re.fullmatch(r"[0-9a-z.+]{1,40}", version):
        return f"written by an unknown version; this is {__version__}. Save it again."
    if version == __version__:
        return f"written by this version, {version}. Save it again."
    return f"written by version {version}; this is {__version__}. Install keras-bahdanau {version}."


def _check_hashes(archive, card):
    hashes = hashes_of(archive, card)  # reads each member to its end, which checks its CRC
    saved = card.get("sha256", hashes)  # files of version 0.1.0 contain no hashes
    if not isinstance(saved, dict):
        raise Damage("its 'sha256' has the wrong type")
    changed = [name for name in {**hashes, **saved} if hashes.get(name) != saved.get(name)]
    if changed:
        raise Damage(f"changed since it was saved: {', '.join(map(repr, sorted(changed)))}")


def _check_metrics(card):
    names = card.get("metrics", ["bleu"])  # absent if the pipeline uses the defaults of its class
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise Damage("its 'metrics' is not a list of names")


def _check_search(path, card):
    options = {field.name for field in dataclasses.fields(SearchOptions)} | {*REMOVED}
    unknown = {*card["search"]} - options
    if unknown:
        raise ValueError(
            "A translator's file must contain only search options that this version supports. "
            f"Received: path={str(path)!r} with {', '.join(map(repr, sorted(unknown)))}, "
            f"{version_advice(card)}"
        )
    try:
        SearchOptions.from_config(card["search"])
    except ValueError as error:
        raise ValueError(f"Search options of path={str(path)!r}: {error}") from None
