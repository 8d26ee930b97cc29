"""Requests to the toy translator's SavedModel, answered by one process for several test files."""

import random

import numpy as np

LONGEST, LONGEST_TARGET = 512, 256  # defaults of TextSource and SearchOptions
SHORT = ["one two", "", "three four five", "five"]
LONG, CUT = "one " * 600, "one " * (LONGEST - 1)  # the end token is the 512th
OTHER_LONG = "two five " * 300
LONG_TARGET, CUT_TARGET = "eins " * 300, "eins " * (LONGEST_TARGET - 1)
BYTES = "one " + "☃" * 6000  # many bytes, but few tokens
SENTENCES = ["three one two", "", "five", "one one four four two", "  ", "qqq ☃", "a b", "two"]
COUNT, ALONE = 150, 20  # strings of arbitrary bytes, in batches and one at a time


def texts(*rows):
    return {"text": np.array(rows, dtype=object)}


OF_LIMITS = {
    "bytes": ("translate_with_alignment", texts(BYTES)),
    "beside long": ("translate_with_alignment", texts(*SHORT, LONG)),
    "beside others": ("translate_with_alignment", texts(SHORT[0], OTHER_LONG, SHORT[2], "two", "")),
    **{f"alone {row}": ("translate_with_alignment", texts(text)) for row, text in enumerate(SHORT)},
    "best": ("serving_default", texts("one", LONG)),
    "nbest": ("translate_nbest", texts("one", LONG)),
    "score": ("score_pair", {**texts("one", "one"), "target": np.array(["eins", LONG_TARGET])}),
    "cut score": ("score_pair", {**texts("one"), "target": np.array([CUT_TARGET])}),
    "score long": ("score_pair", {**texts(LONG), "target": np.array(["eins"])}),
    "score nothing": ("score_pair", {**texts(), "target": np.array([], dtype=object)}),
}


def padded_ids(translator):
    """Return ids of `SENTENCES`, `(8, width)`, padded as a server pads them, and row lengths."""
    rows = translator.source.rows(SENTENCES)
    ids = rows.padded(range(len(SENTENCES)), (len(SENTENCES), rows.lengths.max()))
    return np.where(ids == 0, ids[:, :1], ids), rows.lengths.astype(np.int32)


def requests_of_parity(translator, targets):
    """Return the requests to compare with Keras; `targets` are its translations of `SENTENCES`."""
    strange = np.array([b"\xff\xfe one", b"one\x00two"], dtype=object)
    ids, lengths = padded_ids(translator)
    return {
        "plain": ("serving_default", texts(*SENTENCES)),
        "aligned": ("translate_with_alignment", texts(*SENTENCES)),
        "only empty": ("serving_default", texts("")),
        "two of bytes": ("serving_default", texts(*strange)),
        "none": ("serving_default", texts()),
        "n-best": ("translate_nbest", texts(*SENTENCES)),
        "decoded": ("decode_ids", {"source": ids, "source_length": lengths}),
        "scored": ("score_pair", {**texts(*SENTENCES), "target": targets}),
    }


def random_bytes(count):
    """Return random strings: arbitrary bytes, ASCII, any characters, and words of the toy task."""
    source = random.Random(0)
    words = [b"one", b"two", b" ", b"\x00", "▁☃".encode(), b"</s>", b"<pad>"]
    kinds = (
        lambda: source.randbytes(source.randrange(40)),
        lambda: bytes(source.choices(range(32, 127), k=source.randrange(60))),
        lambda: b"".join(source.choices(words, k=source.randrange(12))),
        lambda: "".join(chr(source.randrange(1, 0xD800)) for _ in range(8)).encode(),
    )
    return [source.choice(kinds)() for _ in range(count)]


def byte_requests(count, alone):
    """Return requests for random strings in batches of 50, and for the first ones one at a time."""
    strings = random_bytes(count)
    batches = [strings[first : first + 50] for first in range(0, count, 50)]
    batches += [[string] for string in strings[:alone]]
    return [("serving_default", texts(*batch)) for batch in batches]


def requests_of(translator):
    """Return all requests by name."""
    targets = [result.text for result in translator.translate(SENTENCES)]
    named = {f"bytes {row}": one for row, one in enumerate(byte_requests(COUNT, ALONE))}
    return {**OF_LIMITS, **requests_of_parity(translator, targets), **named}
