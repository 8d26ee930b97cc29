"""Requests of any bytes, values and shapes to SavedModels in TensorFlow's C++ loader."""

import pickle

import numpy as np

from fuzz.attack import Case, attack, judged, sample
from fuzz.outcomes import Outcome

NORMAL = [b"one two", b"three", b"five four one"]
RESIDENT = 3 * 2**29  # bytes, of which TensorFlow's library uses a third
EXTREMES = [-(2**31), -1, 0, 1, 2, 3, 47, 48, 10**6, 2**31 - 1]


def letters(size):
    """Return `size` letters of known words without spaces: unknown letters would be one token."""
    return (b"threefourone" * (size // 12 + 1))[:size]


def strings(rows):
    """Return an object array of bytes."""
    array = np.empty(len(rows), object)
    array[:] = rows
    return array


def asked(world, version, requests, seconds=20, memory=4 * 2**30):
    """Run requests in a child process; return its `Answer`, and a dictionary or error for each."""
    with world.scratch() as directory:
        (directory / "requests").write_bytes(pickle.dumps(requests))
        answer = world.light.call(
            *("fuzz.targets:served", str(version), "requests", "answers"),
            directory=directory,
            seconds=seconds,
            memory=memory,
        )
        path = directory / "answers"
        answers = pickle.loads(path.read_bytes()) if path.exists() else None
        over = answer.seconds > seconds or answer.memory > RESIDENT
        return answer._replace(left=[], stopped=answer.stopped or over), answers


def case_of(name, answer, answers, right):
    """Return the `Case` for requests, none of which may fail.

    A server merges requests of different clients, who would all get the error.

    Args:
        name: String.
        answer: `Answer` of the process.
        answers: List of dictionaries and errors, or None.
        right: Function that returns whether answers are correct.
    """
    failed = [one for one in answers or [] if isinstance(one, str)]
    if not failed:
        return judged(name, answer, lambda _: answers is not None and right(answers))
    outcome = Outcome.UNBOUNDED if "OOM" in failed[0] else Outcome.TRACEBACK
    if len(answers) == 1 and "Received:" in failed[0]:
        outcome = Outcome.REFUSED  # a single request, refused by a check in the graph
    return Case(name, outcome, answer.seconds, answer.memory, failed[0][:300])


def equal_rows(rows, alone):
    """Return whether each row of a batch has the same text and score as the row alone.

    Scores may differ in their last bits, since sums over more padding round differently.
    """
    return all(
        np.array_equal(rows[name][row : row + 1], one[name])
        if one[name].dtype.hasobject
        else np.allclose(rows[name][row], one[name][0], rtol=1e-4, atol=1e-4)
        for row, one in enumerate(alone)
        for name in ("translation", "text", "score")
        if name in one
    )


@attack(1, "a long row in a batch of ordinary ones", full=8)
def long_rows(world, count):
    """Ordinary rows get the same text as alone, and only a truncated row is marked."""
    long = [
        ("1,000 letters", letters(1000), 1),
        ("10,000 letters", letters(10_000), 1),
        ("10,000 letters in a batch of 64", letters(10_000), 62),
        ("100,000 letters", letters(100_000), 1),
    ]
    for model in ("saved_model", "words_model"):
        for name, row, others in long[: count // 2]:
            texts = [*(NORMAL[number % 3] for number in range(others)), b"three", row]
            requests = [("serving_default", {"text": strings([text])}) for text in NORMAL]
            requests += [("serving_default", {"text": strings(texts)})]
            answer, answers = asked(world, getattr(world, model), requests, seconds=12)

            def right(answers, texts=texts):
                *alone, batch = answers
                known = dict(zip(NORMAL, alone, strict=True))
                marks = batch.get("truncated")
                marked = marks is None or not marks[:-1].any()
                return marked and equal_rows(batch, [known[text] for text in texts[:-1]])

            yield case_of(f"{name}, {model}", answer, answers, right)


@attack(1, "a batch of rows that are all at the limit", full=3)
def worst_batches(world, count):
    for rows, size in ((64, 500), (64, 10_000), (1024, 60))[:count]:
        texts = [letters(size - row % 7) for row in range(rows)]
        requests = [("translate_nbest", {"text": strings(texts)})]
        answer, answers = asked(world, world.saved_model, requests, seconds=12)
        right = lambda found, rows=rows: len(found[0]["translations"]) == rows  # noqa: E731
        yield case_of(f"{rows} rows of {size} letters", answer, answers, right)


def random_text(random):
    """Return random text: any bytes, any characters, or words of the toy task and special ones."""
    words = [b"one", b"two", b" ", b"\0", "▁☃".encode(), b"</s>", b"<pad>", b"\xff", b"\n"]
    letters = "".join(chr(random.randrange(1, 0xD800)) for _ in range(random.randrange(12)))
    return random.choice(
        [
            random.randbytes(random.randrange(40)),
            b"".join(random.choices(words, k=random.randrange(12))),
            letters.encode(),
        ]
    )


@attack(10, "any bytes as text, in every signature of text", full=2000)
def any_bytes(world, count):
    random = world.random("bytes")
    texts = [random_text(random) for _ in range(count)]
    requests = [
        (TEXT_SIGNATURES[number % 3], {"text": strings([text])})
        for number, text in enumerate(texts)
    ]
    requests[3::4] = [
        ("score_pair", {"text": strings([text]), "target": strings([text[::-1]])})
        for text in texts[3::4]
    ]
    answer, answers = asked(world, world.saved_model, requests, seconds=300)
    for text, one in zip(texts, answers or [None] * count, strict=True):
        yield case_of(repr(text[:30]), answer, one and [one], _well_formed)._replace(seconds=0)


def _well_formed(answers):
    """Return whether texts are valid UTF-8 and scores are finite."""
    for answer in answers:
        for name, value in answer.items():
            if name.startswith("translation"):
                for text in value.ravel():
                    text.decode("utf-8")
            elif value.dtype.kind == "f" and not np.isfinite(value).all():
                return False
    return True


def random_ids(random):
    """Return arguments of `decode_ids`: any ids, and any length for each row."""
    rows, columns = random.randrange(1, 5), random.randrange(0, 9)
    ids = [[random.choice(EXTREMES) for _ in range(columns)] for _ in range(rows)]
    lengths = [random.choice([*EXTREMES, columns]) for _ in range(rows)]
    source = np.array(ids, np.int32).reshape(rows, columns)
    return {"source": source, "source_length": np.array(lengths, np.int32)}


@attack(10, "any numbers as ids and lengths", full=1000)
def any_ids(world, count):
    random = world.random("ids")
    requests = [("decode_ids", random_ids(random)) for _ in range(count)]
    answer, answers = asked(world, world.saved_model, requests, seconds=200)
    for request, one in zip(requests, answers or [None] * count, strict=True):
        name = str({key: value.tolist() for key, value in request[1].items()})
        yield case_of(name[:150], answer, one and [one], _well_formed)._replace(seconds=0)


@attack(10, "empty batches, and arguments of different lengths, in every signature", full=100)
def shapes(world, count):
    """Incomplete rows are refused or masked: no row gets values of another row."""
    text = [(name, {"text": strings([])}) for name in TEXT_SIGNATURES]
    for sources, targets in ((0, 0), (0, 1), (1, 2), (2, 1)):
        pair = {"text": strings([b"one"] * sources), "target": strings([b"eins"] * targets)}
        text.append(("score_pair", pair))
    text += [("decode_ids", ids_of(*shape)) for shape in SHAPES]
    ids = [(name, ids_of(*shape)) for name in IDS_SIGNATURES for shape in SHAPES]
    for shape in SHAPES:
        for target in SHAPES:
            pair = {**ids_of(*shape), **ids_of(*target, name="target")}
            ids.append(("score_ids", pair))
    for version, requests in ((world.saved_model, text), (world.ids_model, ids)):
        requests = sample(world.random("shapes"), requests, count)
        answer, answers = asked(world, version, requests, seconds=100)
        for request, found in zip(requests, answers or [None] * len(requests), strict=True):
            yield _shape_case(request, answer, found)


TEXT_SIGNATURES = ("serving_default", "translate_with_alignment", "translate_nbest")
IDS_SIGNATURES = ("serving_default", "decode_ids_with_alignment", "decode_ids_nbest")
SHAPES = [(0, 0, 0), (0, 3, 0), (2, 3, 2), (2, 3, 1), (1, 3, 2), (3, 0, 3), (3, 2, 0)]


def ids_of(rows, columns, lengths, name="source"):
    """Return arguments of a request: ids `(rows, columns)` and their lengths `(lengths,)`."""
    ids = np.full((rows, columns), 5, np.int32)
    return {name: ids, f"{name}_length": np.full(lengths, 2, np.int32)}


def _shape_case(request, answer, found):
    """Return the `Case` for a request: it gets one answer per row, or an error if rows differ."""
    signature, arguments = request
    sizes = {len(value) for value in arguments.values()}
    name = f"{signature} { ({key: value.shape for key, value in arguments.items()}) }"
    if isinstance(found, str) and len(sizes) > 1:
        lines = " ".join(found.split())
        return Case(name, Outcome.REFUSED, answer.seconds, answer.memory, lines)

    def whole(answers):
        rows = {len(value) for value in answers[0].values()}
        return len(sizes) == 1 and rows == sizes

    return case_of(name, answer, found and [found], whole)
