"""Files that are replaced as a whole: after any failure, the old one stands as it was."""

import contextlib
import gzip
import json
import os

from keras_bahdanau.finite import as_json


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
        yield unfinished
        with open(unfinished, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except OSError as error:
        if error.strerror is None:  # it says all itself
            raise
        raise type(error)(
            f"A file must reach the disk as a whole. Received: path={str(path)!r} "
            f"({error.strerror}). Make room or choose another place, and run it again: what "
            "stood there before is as it was."
        ) from None
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)


def write_json(path, content):
    """Write a JSON file as a whole or not at all; NaN and infinity become null.

    Args:
        path: `Path` of the file.
        content: Dictionary or list of what JSON holds.

    Raises:
        OSError: As in `replacing`.

    Example:
        >>> write_json(Path("scores.json"), {"bleu": 31.4})
    """
    write_text(path, json.dumps(as_json(content), indent=1, allow_nan=False))


def write_text(path, text):
    r"""Write a text file in UTF-8 as a whole or not at all, its line ends as they are.

    Args:
        path: `Path` of the file, which is compressed if it is named `.gz`.
        text: String.

    Raises:
        OSError: As in `replacing`.

    Example:
        >>> write_text(Path("texts.txt"), "ein Mann\neine Katze\n")
    """
    content = text.encode("utf-8")
    if path.suffix == ".gz":
        content = gzip.compress(content, mtime=0)
    with replacing(path, path.with_name(f".unfinished-{path.name}")) as unfinished:
        unfinished.write_bytes(content)
