"""The shortlist in a pipeline's file: numbers of 32 bits, one after the other."""

TABLES = "shortlist.int32"  # member of the archive
_FIELDS = "candidates", "frequent"
_NUMBER = "<i4"  # the type of NumPy, which takes time to load: not for `--help`


def described(shortlist):
    """The part of a card that says how to read the member: a dictionary."""
    return {"candidates": shortlist.candidates.shape[1], "frequent": shortlist.frequent}


def packed(shortlist):
    """The bytes of the member: the order of the target's ids, then the candidates by row."""
    import numpy as np

    numbers = np.concatenate([shortlist.order, shortlist.candidates.ravel()])
    return numbers.astype(_NUMBER).tobytes()


def unpacked(archive, card, source_size, target_size):
    """The `Shortlist` of a file.

    Args:
        archive: `zipfile.ZipFile`, which the card has been compared with.
        card: Dictionary with the field "shortlist".
        source_size: Integer, ids of the source.
        target_size: Integer, ids of the target.

    Raises:
        ValueError: If the member has not as many numbers, or they are no shortlist.
    """
    import numpy as np

    from keras_bahdanau.search import Shortlist  # which loads Keras

    candidates, frequent = (_number(card["shortlist"], name) for name in _FIELDS)
    content = archive.read(TABLES) if TABLES in archive.namelist() else b""
    if len(content) != np.dtype(_NUMBER).itemsize * (target_size + source_size * candidates):
        raise ValueError(
            "A file's shortlist must be one of its vocabularies. "
            f"Received: {TABLES!r} of {len(content):,} bytes. Save the file again."
        )
    numbers = np.frombuffer(content, _NUMBER)
    table = numbers[target_size:].reshape(source_size, candidates)
    return Shortlist(table, numbers[:target_size], frequent)


def _number(fields, name):
    number = fields.get(name) if isinstance(fields, dict) else None
    if type(number) is not int or number < 0:
        raise ValueError(
            "A file must say how to read its shortlist. "
            f"Received: shortlist={fields!r:.80}. Save the file again."
        )
    return number
