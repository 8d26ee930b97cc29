"""Files that are read in part, and written atomically: a failure keeps the old file."""

import contextlib
import errno
import gzip
import json
import math
import os
import stat


def open_regular(path):
    """Open a regular file for reading bytes; OSError for a pipe or a device, which may not end."""
    file = open(path, "rb", opener=_open_at_once)
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise OSError(errno.EINVAL, "it is a pipe or a device, not a regular file", os.fspath(path))


def _open_at_once(path, flags):
    """Open a file without waiting, even a pipe without a writer."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def content_of(source, most):
    """First bytes of an input, which is bytes or the path of a file."""
    if isinstance(source, bytes):
        return source[:most]
    with open(source, "rb") as file:
        return file.read(most)


def ending_of(source, most):
    """Last bytes of an input, which is bytes or the path of a file, and not shorter."""
    if isinstance(source, bytes):
        return source[-most:]
    with open(source, "rb") as file:
        file.seek(-most, os.SEEK_END)
        return file.read()


def size_of(source):
    """Number of bytes of an input, bytes or the path of a file."""
    return len(source) if isinstance(source, bytes) else os.path.getsize(source)


def read_or(default, read, source):
    """Result of a function of an input; `default` if its file can't be read.

    An unreadable file is thus reported like a broken one, and the other inputs are still read.
    """
    try:
        return read(source)
    except OSError:
        return default


@contextlib.contextmanager
def replacing(path, unfinished):
    """Write a file to the path `unfinished`, and rename it when the `with` block succeeds.

    Yields `unfinished`. A file there is removed first, so that no link is followed, and also after
    a failure. An OSError names the path.
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

    Yields the path of a draft, unique to this process. It is removed if the block fails, but kept
    if the file has appeared in the meantime, which raises FileExistsError.
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
    """Rename a draft to `path`; raise FileExistsError and keep the draft if that exists."""
    try:
        os.link(draft, path)  # unlike a rename, never replaces a file
    except OSError:
        if path.exists():
            raise FileExistsError(
                f"An output must not exist yet. Received: path={str(path)!r}, which another "
                f"program created in the meantime. The output is in {str(draft)!r}: rename that."
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
            f"({error.strerror}). Make room or choose another place, and run it again: the "
            "previous file is unchanged."
        ) from None


def json_values(content):
    """Content with None for NaN and infinity, which JSON lacks."""
    if isinstance(content, dict):
        return {name: json_values(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [json_values(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def write_json(path, content, new=False):
    """Write a JSON file atomically; NaN and infinity become null.

    With `new` the file must not exist: see `new_file`.
    """
    write_text(path, json.dumps(json_values(content), indent=1, allow_nan=False), new)


def write_text(path, text, new=False):
    """Write a text file in UTF-8 atomically, with line ends unchanged.

    It is compressed if its name ends in `.gz`. `new` and errors: as in `write_json`.
    """
    content = text.encode("utf-8")
    if path.suffix == ".gz":
        content = gzip.compress(content, mtime=0)
    draft = path.with_name(f".unfinished-{path.name}")
    with new_file(path) if new else replacing(path, draft) as unfinished:
        unfinished.write_bytes(content)
