"""A translator's file from outside: found, checked and read without TensorFlow."""

import json
import os
import shutil
import zipfile
import zlib
from pathlib import Path

CARD = "pipeline.json"  # stands in the .keras archive beside Keras' own files


def find_translator(path):
    """The translator's file that a user means.

    Args:
        path: Path of a `.keras` file, or of a run directory.

    Returns:
        Path of the file, which `read_card` has found whole.

    Raises:
        FileNotFoundError: If there is none.
        ValueError: If it is not a translator's file, or a damaged one.
    """
    path = Path(path)
    if path.is_dir():
        found = path / "translator.keras"
        if not found.is_file():
            raise FileNotFoundError(
                "A model is a .keras file, or the directory of a training that has ended an "
                f"epoch. Received: model={str(path)!r}, a directory without {found.name}. "
                "Give the --out of a training, or the path of the file."
            )
        path = found
    read_card(path)
    return path


def read_card(path):
    """Read what a translator's file holds beside the model: source, target and search options.

    Args:
        path: Path of a `.keras` file.

    Returns:
        Dictionary.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is not a translator's file, or a damaged one.
    """
    path = Path(path)
    if not path.is_file():
        kind = "a directory" if path.is_dir() else "no such file"
        raise FileNotFoundError(
            f"A translator is one .keras file. Received: path={str(path)!r}, {kind}."
        )
    if path.suffix != ".keras":
        raise ValueError(
            f"A translator's file name must end in .keras. Received: path={str(path)!r}"
        )
    try:
        with zipfile.ZipFile(path) as archive:
            damaged = archive.testzip()
            if damaged is not None:
                raise zipfile.BadZipFile(f"{damaged} is damaged")
            return json.loads(archive.read(CARD))
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise ValueError(
            f"A translator's file must be a whole .keras archive. Received: path={str(path)!r} "
            f"({error}). Save or copy it again."
        ) from None
    except KeyError:
        raise ValueError(
            "A translator's file must hold its vocabularies. "
            f"Received: path={str(path)!r}, a Keras model without one. "
            "Save it with Translator.save, not with model.save."
        ) from None


def write_search(path, search):
    """Gives the translator in a file other search options; all else in it stays as it is.

    The file is replaced as a whole, or, if anything fails, not at all.

    Args:
        path: Path of a `.keras` file that `Translator.save` wrote.
        search: Dictionary, the options as `dataclasses.asdict` gives them.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is not a translator's file, or a damaged one.
    """
    path = Path(path)
    card = {**read_card(path), "search": search}
    unfinished = path.with_name(f".{path.stem}.{os.getpid()}.keras")
    try:
        with zipfile.ZipFile(path) as old, zipfile.ZipFile(unfinished, "w") as new:
            for entry in old.infolist():
                if entry.filename != CARD:
                    new.writestr(entry, old.read(entry))
            new.writestr(CARD, json.dumps(card))
        shutil.copymode(path, unfinished)
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
