"""The archive of a pipeline's file: its card, compared with all else in it, without TensorFlow.

The card holds the sha256 of the source, of the target and of each member of the archive, so
that no part of another file is taken for its own. The search options have none: they may change.
"""

import copy
import dataclasses
import functools
import hashlib
import json
import os
import re

from keras_bahdanau import __version__
from keras_bahdanau.files.integrity import Damage, check_fields, opened, parse_card, sha256_of
from keras_bahdanau.search.search_options import SearchOptions
from keras_bahdanau.settings.removed import REMOVED

CARD = "pipeline.json"  # stands in the .keras archive beside Keras' own files


def read_verified(path):
    """Read the card of a pipeline's file, and compare each member of the archive with it.

    A file that has not changed since it was read last is not read again.

    Args:
        path: Path of a file.

    Returns:
        Dictionary.

    Raises:
        ValueError: If it is not a pipeline's file, a damaged one, one with a part of another
            file, or one with search options that this version does not know.
    """
    status = os.stat(path)
    return copy.deepcopy(_verified(path, status.st_ino, status.st_size, status.st_mtime_ns))


@functools.lru_cache(4)
def _verified(path, *of_this_state):
    """The card of a file in one state."""
    try:
        with open(path, "rb") as file, opened(file) as archive:
            card = parse_card(archive.read(CARD)) if CARD in archive.namelist() else None
            if card is not None:
                check_fields(card, {"source": dict, "target": dict, "search": dict})
                _check_metrics(card)
                check_fields({"training": {}, **card}, {"training": dict})
                _check_hashes(archive, card)
    except Damage as error:
        raise ValueError(
            "A translator's file must be a whole .keras archive, as it was saved. "
            f"Received: path={str(path)!r} ({error}). Save or copy it again."
        ) from None
    if card is None:
        raise ValueError(
            "A translator's file must hold its vocabularies. "
            f"Received: path={str(path)!r}, a Keras model without one. "
            "Save it with Translator.save, not with model.save."
        )
    from keras_bahdanau.pipelines.confidence import calibration_of  # NumPy, which takes time

    _check_search(path, card)
    calibration_of(card)
    return card


def hashes_of(archive, card):
    """Hash all that a card answers for.

    Args:
        archive: `zipfile.ZipFile` that the card is for.
        card: Dictionary, as JSON gives it.

    Returns:
        Dictionary from "source", "target" and the name of each member but the card to a sha256
        in hexadecimal digits.
    """
    hashes = {}
    for side in ("source", "target"):
        config = json.dumps(card[side], sort_keys=True).encode()
        hashes[side] = hashlib.sha256(config).hexdigest()
    for name in archive.namelist():
        if name != CARD:
            with archive.open(name) as member:
                hashes[name] = sha256_of(member)
    return hashes


def by_version(card):
    """The end of an error: the version that wrote a file, and the one to install."""
    version = card.get("keras_bahdanau")
    if not isinstance(version, str) or not re.fullmatch(r"[0-9a-z.+]{1,40}", version):
        return f"written by an unknown version; this is {__version__}. Save it again."
    if version == __version__:
        return f"written by this version, {version}. Save it again."
    return f"written by version {version}; this is {__version__}. Install keras-bahdanau {version}."


def _check_hashes(archive, card):
    found = hashes_of(archive, card)  # reads each member to its end, where its CRC is
    said = card.get("sha256", found)  # version 0.1.0 wrote none
    if not isinstance(said, dict):
        raise Damage("its 'sha256' has another form than Translator.save writes")
    changed = [name for name in {**found, **said} if found.get(name) != said.get(name)]
    if changed:
        raise Damage(f"not what was saved in it: {', '.join(map(repr, sorted(changed)))}")


def _check_metrics(card):
    names = card.get("metrics", ["bleu"])  # absent, where they are those of the class
    if not isinstance(names, list) or not names or not all(isinstance(one, str) for one in names):
        raise Damage("its 'metrics' are no list of names")


def _check_search(path, card):
    """Raise ValueError if this version cannot search with the options of a card."""
    known = {field.name for field in dataclasses.fields(SearchOptions)} | {*REMOVED}
    unknown = {*card["search"]} - known
    if unknown:
        raise ValueError(
            "A translator's file must hold search options that this version knows. "
            f"Received: path={str(path)!r} with {', '.join(map(repr, sorted(unknown)))}, "
            f"{by_version(card)}"
        )
    try:
        SearchOptions.from_config(card["search"])
    except ValueError as error:
        raise ValueError(f"Search options of path={str(path)!r}: {error}") from None
