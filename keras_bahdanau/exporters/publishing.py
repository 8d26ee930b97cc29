"""Write, check and publish exports: artefacts get their final names only after all checks."""

import contextlib
import errno
import json
import os
import secrets
import shutil
from pathlib import Path

from keras_bahdanau.exporters.card import table_of
from keras_bahdanau.files.integrity import sha256_of
from keras_bahdanau.files.ownership import existing, lock_of, owned


def require_pipeline(pipeline):
    """Raise TypeError unless it is a `Pipeline`: a path and a Keras model are common mistakes."""
    if isinstance(pipeline, str | os.PathLike):
        raise TypeError(
            f"`pipeline` must be a Pipeline. Received: pipeline={os.fspath(pipeline)!r}. "
            "Pass load_pipeline(path)."
        )
    if not hasattr(pipeline, "model"):
        raise TypeError(
            f"`pipeline` must be a Pipeline. Received: type {type(pipeline).__name__}. Export a "
            "Keras model with export_litert, export_onnx or export_saved_model."
        )


def export(
    exporter,
    pipeline,
    path,
    sentences=None,
    references=None,
    allow_differences=False,
    say=None,
):
    """Export a pipeline in one format, with all checks. Returns the path of the artefact.

    `path` is the path that the user passed. Other arguments are as in `export_litert`.
    """
    from keras_bahdanau.exporters.comparison import Comparison  # loads NumPy

    require_pipeline(pipeline)
    exporter.require(pipeline)
    target = exporter.destination(Path(path))
    with reserved({target: exporter}):
        comparison = Comparison(exporter.compared(pipeline), sentences, references, say)
        artefacts = {target: exporter}
        (named,) = export_together(artefacts, pipeline, comparison, target, allow_differences)
    return named


def export_together(artefacts, pipeline, comparison, draft, allow_differences, table_path=None):
    """Write several artefacts of one pipeline, check and compare them, then publish them together.

    `artefacts` maps the path of each artefact to its `Exporter`, in the order of the table; the
    first one is renamed last. `comparison` is a `Comparison` with Keras, and `table_path` the path
    of a JSON file for the table. Returns the final paths. Raises ValueError if a runtime would
    reject an artefact, or if an artefact answers differently and `allow_differences` is False.
    """
    with unfinished(draft) as directory:
        written = {
            path: directory / path.absolute().parent.name / path.name for path in artefacts
        }  # the last two parts of the path are final: they are the name of a SavedModel
        for path, exporter in artefacts.items():
            written[path].parent.mkdir(parents=True, exist_ok=True)
            exporter.write(pipeline, written[path])
            require_clean(exporter, written[path])
        rows = [
            comparison.keras,
            *(comparison.row(exporter, written[path]) for path, exporter in artefacts.items()),
        ]
        comparison.say(comparison.table(rows))
        for row in rows:
            comparison.require(row, allow_differences)
        for path, exporter in artefacts.items():
            exporter.add_parity(written[path], rows)
        if table_path is not None:
            content = json.dumps(table_of(rows), indent=1, ensure_ascii=False)
            (directory / table_path.name).write_text(content, encoding="utf-8")
            publish(directory / table_path.name, table_path)
        named = [
            exporter.publish(written[path], path) for path, exporter in reversed(artefacts.items())
        ][::-1]
    for path in named:
        if path.is_file():
            with open(path, "rb") as file:
                comparison.say(f"{sha256_of(file)}  {path}")
    return named


def require_clean(exporter, path):
    """Raise ValueError if the artefact at a path has faults."""
    findings = exporter.damage(path) or exporter.check(path)
    if findings:
        raise ValueError(
            "An artefact must contain only what its runtime accepts. Received: "
            + "; ".join(str(finding) for finding in findings)
        )


def publish(written, path):
    """Sync a file or directory to disk, then rename it to `path`; return `path`."""
    for part in [*written.rglob("*"), written]:
        if part.is_dir() and os.name == "nt":  # Windows can't open directories
            continue
        descriptor = os.open(part, os.O_RDONLY if part.is_dir() else os.O_RDWR)
        os.fsync(descriptor)
        os.close(descriptor)
    os.replace(written, path)
    return path


def publish_version(written, directory):
    """Sync a version to disk, and rename it to the next free number; return its path."""
    while True:
        target = _after_the_newest(directory)
        try:
            return publish(written, target)
        except OSError as error:  # the number has been taken; EACCES on Windows
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY) and not target.exists():
                raise


def require_absent(path):
    """Raise FileExistsError if a path exists."""
    if path.exists():
        raise FileExistsError(
            f"The output of an export must not exist yet. Received: path={str(path)!r}. "
            "Choose another name, or remove it."
        )


def next_version(directory):
    """Return the path of the version to write.

    Raises FileExistsError if the directory contains anything other than versions.
    """
    if not directory.exists():
        return directory / "1"
    names = [path.name for path in directory.iterdir()] if directory.is_dir() else [""]
    foreign = [name for name in names if not name.isdecimal() and not name.startswith(".")]
    if foreign:
        raise FileExistsError(
            "The directory of a SavedModel must be new, or contain only numbered versions. "
            f"Received: directory={str(directory)!r}, which holds other things. "
            "Choose another name."
        )
    return _after_the_newest(directory)


def _after_the_newest(directory):
    """Return the path of the version with the next number."""
    names = (path.name for path in directory.iterdir())
    newest = max((int(name) for name in names if name.isdecimal()), default=0)
    return directory / str(newest + 1)


def newest_version(directory):
    """Return the SavedModel directory that a server would load, or None."""
    if (directory / "saved_model.pb").is_file():
        return directory
    numbered = [path for path in directory.iterdir() if path.name.isdecimal()]
    newest = max(numbered, key=lambda path: int(path.name), default=None)
    return newest if newest and (newest / "saved_model.pb").is_file() else None


_DRAFT = "draft"  # the name in a draft directory that its process owns


@contextlib.contextmanager
def unfinished(path):
    """Create a draft directory to write to and to rename from; remove it after the block."""
    around = path.parent
    # hidden, and not a number: a server does not mistake it for a version
    draft = path.with_name(f".unfinished-{os.getpid()}-{secrets.token_hex(4)}-{path.name}")
    with existing(around), contextlib.ExitStack() as block:
        # only one process at a time creates a draft or looks for abandoned ones
        with owned(around / "unfinished", wait=True):
            _remove_abandoned(around)
            draft.mkdir()
            block.callback(shutil.rmtree, draft, ignore_errors=True)
            block.enter_context(owned(draft / _DRAFT))
        yield draft


def _remove_abandoned(directory):
    """Remove the drafts that killed exports left in a directory."""
    for draft in directory.glob(".unfinished-*"):
        if not lock_of(draft / _DRAFT).exists():
            continue  # not a draft of an export
        try:
            with owned(draft / _DRAFT) as locked:
                pass
        except OSError:  # it has an owner, or belongs to a different user
            continue
        if locked:
            shutil.rmtree(draft, ignore_errors=True)


@contextlib.contextmanager
def reserved(artefacts):
    """Own those artefacts that are files during a block.

    Raises BlockingIOError if another process owns one of them.
    """
    with contextlib.ExitStack() as block:
        for path, exporter in artefacts.items():
            if exporter.writes_file:
                block.enter_context(existing(path.parent))
                block.enter_context(owned(path))
        yield
