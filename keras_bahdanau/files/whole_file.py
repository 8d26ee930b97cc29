"""Files read in part, and written as a whole: a failure leaves the old file."""

import contextlib
import gzip
import json
import math
import os


def content_of(source, most):
    """The first bytes of an input: bytes, or the path of a file.

    Raises:
        OSError: If the system can't read the file.
    """
    if isinstance(source, bytes):
        return source[:most]
    with open(source, "rb") as file:
        return file.read(most)


def size_of(source):
    """Number of bytes of an input, for a file as the system states it.

    Raises:
        OSError: As in `content_of`.
    """
    return len(source) if isinstance(source, bytes) else os.path.getsize(source)


def read_or(default, read, source):
    """Result of a function of an input; `default` if the system can't read its file.

    A missing or unreadable file counts as an input without positions, as a broken one does: the
    other inputs are read, and the report names it.
    """
    try:
        return read(source)
    except OSError:
        return default


@contextlib.contextmanager
def replacing(path, unfinished):
    """Write a file under another name first, and rename it when the `with` block ends well.

    Args:
        path: `Path` of the file.
        unfinished: `Path` beside it to write to; it is removed if anything fails.

    Yields:
        `unfinished`.

    Raises:
        OSError: If the disk is full, or does not take the file for another reason.

    Example:
        >>> with replacing(Path("notes.txt"), Path(".notes.txt")) as file:
        ...     file.write_text("done")
    """
    try:
        with _explained(path):
            yield unfinished
            with open(unfinished, "rb+") as file:
                os.fsync(file.fileno())
            os.replace(unfinished, path)
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)


@contextlib.contextmanager
def new_file(path):
    """Write a file that must not exist, not even at the end of the `with` block.

    Args:
        path: `Path` of the file.

    Yields:
        The path of a draft beside it, of this process alone. It is removed if the block fails,
        and stays if the file has appeared in the meantime.

    Raises:
        FileExistsError: If it has.
        OSError: As in `replacing`.

    Example:
        >>> with new_file(Path("scores.txt")) as draft:
        ...     draft.write_text("31.4")
    """
    draft = path.with_name(f".unfinished-{os.getpid()}-{path.name}")
    written = False
    try:
        with _explained(path):
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
    """Give a whole file its name, unless another file has it.

    Args:
        draft: `Path` of the file.
        path: `Path` that it gets.

    Raises:
        FileExistsError: If a file of that name exists. The draft stays.
    """
    try:
        os.link(draft, path)  # which, unlike a rename, replaces nothing
    except OSError:
        if path.exists():
            raise FileExistsError(
                f"An output must not exist yet. Received: path={str(path)!r}, which another "
                f"program made in the meantime. All is in {str(draft)!r}: rename that."
            ) from None
        os.replace(draft, path)  # of a file system without links
    else:
        draft.unlink()


@contextlib.contextmanager
def _explained(path):
    """Add the path of the file to an error of the system."""
    try:
        yield
    except OSError as error:
        if error.strerror is None:  # it says all itself
            raise
        raise type(error)(
            f"A file must reach the disk as a whole. Received: path={str(path)!r} "
            f"({error.strerror}). Make room or choose another place, and run it again: what "
            "stood there before is as it was."
        ) from None


def json_values(content):
    """Content with None for NaN and infinity, which JSON does not have.

    Args:
        content: Dictionary, list, or a value in one.
    """
    if isinstance(content, dict):
        return {name: json_values(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [json_values(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def write_json(path, content, new=False):
    """Write a JSON file as a whole or not at all; NaN and infinity become null.

    Args:
        path: `Path` of the file.
        content: Dictionary or list of what JSON holds.
        new: True if no file of that name may exist: see `new_file`.

    Raises:
        OSError: As in `replacing`, or in `new_file`.

    Example:
        >>> write_json(Path("scores.json"), {"bleu": 31.4})
    """
    write_text(path, json.dumps(json_values(content), indent=1, allow_nan=False), new)


def write_text(path, text, new=False):
    r"""Write a text file in UTF-8 as a whole or not at all, its line ends as they are.

    Args:
        path: `Path` of the file, which is compressed if it is named `.gz`.
        text: String.
        new: As in `write_json`.

    Raises:
        OSError: As in `replacing`, or in `new_file`.

    Example:
        >>> write_text(Path("texts.txt"), "ein Mann\neine Katze\n")
    """
    content = text.encode("utf-8")
    if path.suffix == ".gz":
        content = gzip.compress(content, mtime=0)
    draft = path.with_name(f".unfinished-{path.name}")
    with new_file(path) if new else replacing(path, draft) as unfinished:
        unfinished.write_bytes(content)
