"""Partial reads of files, and atomic writes: if a write fails, the old file is unchanged."""

import contextlib
import errno
import gzip
import json
import math
import os
import stat


def open_regular(path):
    """Open a regular file for reading bytes.

    Raises OSError for a pipe or a device, which may never end.
    """
    file = open(path, "rb", opener=_open_at_once)
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise OSError(errno.EINVAL, "it is a pipe or a device, not a regular file", os.fspath(path))


def _open_at_once(path, flags):
    """Open a file without blocking, even if it is a pipe that has no writer."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def content_of(source, most):
    """Return the first `most` bytes of an input, which is bytes or the path of a file."""
    if isinstance(source, bytes):
        return source[:most]
    with open(source, "rb") as file:
        return file.read(most)


def ending_of(source, most):
    """Return the last `most` bytes of an input: bytes, or the path of a file at least as long."""
    if isinstance(source, bytes):
        return source[-most:]
    with open(source, "rb") as file:
        file.seek(-most, os.SEEK_END)
        return file.read()


def size_of(source):
    """Return the size in bytes of an input, which is bytes or the path of a file."""
    return len(source) if isinstance(source, bytes) else os.path.getsize(source)


def read_or(default, read, source):
    """Return `read(source)`, or `default` if the file can't be read.

    So an unreadable file is reported like a broken one, and the remaining inputs are still read.
    """
    try:
        return read(source)
    except OSError:
        return default


@contextlib.contextmanager
def replacing(path, unfinished):
    """Write a file under the name `unfinished`, and rename it when the `with` block succeeds.

    Yields `unfinished`. A file of that name is removed at the start, so that no link is followed,
    and again after a failure. An OSError contains the path.
    """
    try:
        with _explained(path):
            unfinished.unlink(missing_ok=True)
            yield unfinished
            with open(unfinished, "rb+") as file:
                os.fsync(file.fileno())
            os.replace(unfinished, path)
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)


@contextlib.contextmanager
def new_file(path):
    """Write a file that must not exist, even at the end of the `with` block.

    Yields the path of a draft, which is unique to this process. If the block fails, the draft is
    removed. If the file has appeared in the meantime, the draft is kept and FileExistsError raised.
    """
    draft = path.with_name(f".unfinished-{os.getpid()}-{path.name}")
    written = False
    try:
        with _explained(path):
            draft.unlink(missing_ok=True)
            yield draft
            with open(draft, "rb+") as file:
                os.fsync(file.fileno())
            written = True
            take_new_name(draft, path)
    finally:
        if not written:
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)


def take_new_name(draft, path):
    """Rename a draft to `path`. If `path` exists, keep the draft and raise FileExistsError."""
    try:
        os.link(draft, path)  # unlike a rename, never replaces a file
    except OSError:
        if path.exists():
            raise FileExistsError(
                f"An output must not exist yet. Received: path={str(path)!r}, which another "
                f"program created in the meantime. The output is in {str(draft)!r}: rename it."
            ) from None
        os.replace(draft, path)  # on a file system without links
    else:
        draft.unlink()


@contextlib.contextmanager
def _explained(path):
    """Add the path of the file to an OSError."""
    try:
        yield
    except OSError as error:
        if error.strerror is None:  # already a full message
            raise
        raise type(error)(
            f"A file must be written completely. Received: path={str(path)!r} "
            f"({error.strerror}). Free some space or choose another directory, and run it again: "
            "the previous file is unchanged."
        ) from None


def json_values(content):
    """Return `content` with NaN and infinity, which JSON lacks, replaced by None."""
    if isinstance(content, dict):
        return {name: json_values(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [json_values(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def write_json(path, content, new=False):
    """Write a JSON file atomically; NaN and infinity become null.

    If `new` is True, the file must not exist: see `new_file`.
    """
    write_text(path, json.dumps(json_values(content), indent=1, allow_nan=False), new)


def write_text(path, text, new=False):
    """Write a UTF-8 text file atomically, without changing line endings.

    The file is compressed if its name ends in `.gz`. `new` and errors are as in `write_json`.
    """
    content = text.encode("utf-8")
    if path.suffix == ".gz":
        content = gzip.compress(content, mtime=0)
    draft = path.with_name(f".unfinished-{path.name}")
    with new_file(path) if new else replacing(path, draft) as unfinished:
        unfinished.write_bytes(content)
