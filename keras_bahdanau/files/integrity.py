"""Checks that archives, cards and weights are complete, bounded in size and unmodified.

A file may be damaged, edited by hand, or malicious. Each fault is a `Damage` with a short reason;
the caller adds the name of the file. A sealed file ends with the SHA-256 of all preceding bytes,
written as 64 hexadecimal digits: in "seal", the last field of a JSON file, or in the comment of a
zip archive.
"""

import contextlib
import hashlib
import io
import json
import math
import struct
import zipfile
import zlib

from keras_bahdanau.files.whole_file import json_values, open_regular, write_text

LONGEST_CARD = 2**27  # bytes of JSON: two vocabularies of a million words take 50 to 80 MB
UNFOLDED, SPARE = 10, 2**26  # largest unpacked archive: ten times its size, plus 64 MiB
SEAL = 64  # length of a seal in bytes
_JSON_END = b'"\n}'  # the bytes after the seal
_ARCHIVE_END = 22  # length of the record that ends a zip archive without a comment
_CHUNK = 2**20

# All exceptions that `zipfile` raises for invalid headers.
_UNREADABLE = (
    *(EOFError, IndexError, NotImplementedError, OSError, OverflowError, RuntimeError),
    *(ValueError, struct.error, zipfile.BadZipFile, zlib.error),
)


class Damage(ValueError):
    """Error for a damaged file: its message is a short reason."""


@contextlib.contextmanager
def opened(file):
    """Open a zip archive, after checking its unpacked size.

    Yields the `zipfile.ZipFile` of a seekable binary file. Raises `Damage` if the archive is broken
    (even if that shows only while the `with` block reads it), if it unpacks to more than `UNFOLDED`
    times its size plus `SPARE` bytes, or if a card is longer than `LONGEST_CARD`.
    """
    try:
        size = file.seek(0, io.SEEK_END)
        with zipfile.ZipFile(file) as archive:
            _check_sizes(archive.infolist(), size)
            yield archive
    except Damage:
        raise
    except _UNREADABLE as error:
        raise Damage(f"{error}" or type(error).__name__) from None


def _check_sizes(entries, size):
    names = [entry.filename for entry in entries]
    if len(set(names)) < len(names):
        raise Damage("it contains two files with the same name")
    # `zipfile` never reads more of an entry than the size in its header
    unfolded, most = sum(entry.file_size for entry in entries), UNFOLDED * size + SPARE
    if unfolded > most:
        raise Damage(f"it unpacks to {unfolded:,} bytes; {most:,} are allowed")
    for entry in entries:
        if entry.filename.endswith(".json") and entry.file_size > LONGEST_CARD:
            raise Damage(
                f"{entry.filename!r} unpacks to {entry.file_size:,} bytes; "
                f"{LONGEST_CARD:,} are allowed"
            )


def parse_card(content):
    """Parse the JSON object of a card, or raise `Damage`."""
    if len(content) > LONGEST_CARD:
        raise Damage(f"it has {len(content):,} bytes; {LONGEST_CARD:,} are allowed")
    try:
        card = json.loads(content, parse_constant=_refuse)
    except RecursionError:
        raise Damage("its JSON is nested too deeply") from None
    except ValueError as error:
        raise Damage(f"it is not valid JSON: {error}") from None
    if not isinstance(card, dict):
        raise Damage("its JSON is not an object")
    return card


def _refuse(constant):
    raise ValueError(f"{constant} is not a number")


def check_fields(card, forms):
    """Raise `Damage` if a field of a card is missing or has the wrong type.

    `forms` maps the name of each field to the type of its value: a class, `[form]` for a list, or
    `{str: form}` for an object.
    """
    for name, form in forms.items():
        if name not in card:
            raise Damage(f"it has no {name!r}")
        if not _has_form(card[name], form):
            raise Damage(f"its {name!r} has the wrong type")


def _has_form(value, form):
    if isinstance(form, list):
        return isinstance(value, list) and all(_has_form(item, form[0]) for item in value)
    if isinstance(form, dict):
        return isinstance(value, dict) and all(_has_form(v, form[str]) for v in value.values())
    # in Python a bool is an int; in JSON it is not
    return isinstance(value, form) and isinstance(value, bool) == (form is bool)


def sha256_of(file, size=math.inf):
    """Return the SHA-256 of the next `size` bytes of a binary file, as 64 hexadecimal digits."""
    digest = hashlib.sha256()
    while chunk := file.read(min(_CHUNK, size)):
        digest.update(chunk)
        size -= len(chunk)
    return digest.hexdigest()


def seal_of(content):
    """Return the seal to write after these bytes."""
    return hashlib.sha256(content).hexdigest().encode()


def check_seal(file, end=b""):
    """Raise `Damage` unless a binary file ends with the seal of all preceding bytes, then `end`."""
    size = max(0, file.seek(0, io.SEEK_END) - SEAL - len(end))
    file.seek(size)
    seal = file.read()
    file.seek(0)
    # a sparse file of any size has zeros here: reject it before reading it all
    if not seal[:SEAL].isalnum() or sha256_of(file, size).encode() + end != seal:
        raise Damage("its seal does not match its content: it is damaged, or from an old version")
    file.seek(0)


def seal_archive(path):
    """Seal a zip archive: write the seal into its comment, at the end of the file."""
    with zipfile.ZipFile(path, "a") as archive:
        archive.comment = bytes(SEAL)  # the sealed bytes include the length of the comment
    with open(path, "r+b") as file:
        size = file.seek(-SEAL, io.SEEK_END)
        file.seek(0)
        seal = sha256_of(file, size)
        file.seek(size)
        file.write(seal.encode())


def check_archive_seal(file):
    """Raise `Damage` unless a zip archive ends with its seal or, if older, has no comment."""
    file.seek(-_ARCHIVE_END, io.SEEK_END)
    if file.read(4) != b"PK\5\6":
        check_seal(file)


def write_sealed_json(path, card):
    """Atomically write a JSON object with a seal; NaN and infinity become null."""
    fields = {name: value for name, value in json_values(card).items() if name != "seal"}
    text = json.dumps({**fields, "seal": ""}, indent=1, allow_nan=False)
    begin = text.removesuffix(_JSON_END.decode())
    write_text(path, f"{begin}{seal_of(begin.encode()).decode()}{_JSON_END.decode()}")


def parse_sealed_json(content):
    """Parse a sealed JSON file from its bytes and drop the seal, or raise `Damage`."""
    card = parse_card(content)
    check_seal(io.BytesIO(content), _JSON_END)
    card.pop("seal", None)
    return card


def read_sealed_json(path):
    """Read a sealed JSON file. Raises `Damage` if it is invalid, OSError for a pipe or device."""
    with open_regular(path) as file:
        return parse_sealed_json(file.read(LONGEST_CARD + 1))


def first_not_finite(arrays):
    """Return the name in the first (name, array) pair with a NaN or infinity, or None."""
    import numpy as np  # slow to import

    return next((name for name, array in arrays if not np.isfinite(array).all()), None)


def arrays_of(variables):
    """Yield (path, array) for Keras variables."""
    import keras

    for variable in variables:
        yield variable.path, keras.ops.convert_to_numpy(variable)


def require_finite_weights(model, received="a model"):
    """Raise ValueError if a built Keras model has NaN or infinite weights.

    `received` names the model in the error, such as "path='a.keras'".
    """
    name = first_not_finite(arrays_of(model.weights))
    if name is not None:
        raise ValueError(
            f"All weights of a model must be finite. Received: {received}, with NaN or infinity "
            f"in {name!r}, perhaps because training diverged. Use an earlier model, or train again "
            "with a lower learning rate."
        )
