"""One judgement for all attacks: what became of a hostile input."""

import enum
from typing import NamedTuple

OUT_OF_MEMORY = ("MemoryError", "bad_alloc", "OOM when allocating", "Cannot allocate memory")

GREETINGS = ("I0000 ", "WARNING: All log messages before absl", "INFO: ")  # of TensorFlow, LiteRT


class Outcome(str, enum.Enum):
    SURVIVED = "survived"  # a right answer
    REFUSED = "refused"  # one line, an exit code that is not 0, nothing left behind
    SILENT = "silent"  # a wrong answer, or a changed file, without a word
    TRACEBACK = "traceback"  # or a crash, or a refusal of many lines
    UNBOUNDED = "unbounded"  # over the limit of time or memory


GOOD = (Outcome.SURVIVED, Outcome.REFUSED)


class Answer(NamedTuple):
    """The end of a process.

    Attributes:
        code: Integer, exit code; negative for the signal that ended it.
        out: Bytes of standard output.
        err: String, standard error.
        seconds: Float, processor time.
        memory: Integer, bytes of memory at the peak, beyond those before the call.
        stopped: True if a limit ended it.
        left: List of strings, names of files that it made or changed.
    """

    code: int
    out: bytes
    err: str
    seconds: float
    memory: int
    stopped: bool
    left: list


class Case(NamedTuple):
    """One hostile input and its outcome."""

    name: str
    outcome: Outcome
    seconds: float = 0.0
    memory: int = 0
    detail: str = ""


def judged(name, answer, right):
    """The `Case` of an answer.

    Args:
        name: String, the input in a few words.
        answer: `Answer`.
        right: Function of an answer with exit code 0: True if it is right.
    """
    lines = [line for line in answer.err.splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith(GREETINGS)]
    return Case(name, _outcome(answer, lines, right), answer.seconds, answer.memory, _last(lines))


def judged_call(name, answer, call, right, bound=5):
    """The `Case` of one of many calls that a child made; of the child, if it ended early.

    Args:
        name: String, the input in a few words.
        answer: `Answer` of the child.
        call: (kind, found, seconds) as in `targets.asked`; None if the child did not come to it.
        right: Function of a result: True if it is right.
        bound: Number, the limit of processor time of one call.
    """
    if call is None:
        return judged(name, answer, lambda _: False)
    kind, found, seconds = call
    if kind == "result":
        outcome, detail = Outcome.SURVIVED if right(found) else Outcome.SILENT, ""
    else:
        refused = kind == "ValueError" and _is_clear(found)
        outcome = Outcome.REFUSED if refused else Outcome.TRACEBACK
        detail = f"{kind}: {found:.250}"
    return Case(name, Outcome.UNBOUNDED if seconds > bound else outcome, seconds, detail=detail)


def _is_clear(text):
    """True for one line, short enough to be read, that says what came."""
    return len(text.splitlines()) == 1 and len(text) < 1000 and "Received: " in text


def _outcome(answer, lines, right):
    if answer.stopped or any(word in answer.err for word in OUT_OF_MEMORY):
        return Outcome.UNBOUNDED
    if answer.code < 0 or any(line.startswith("Traceback (most recent") for line in lines):
        return Outcome.TRACEBACK
    if answer.code == 0:
        return Outcome.SURVIVED if right(answer) else Outcome.SILENT
    if len(lines) != 1 and not _is_usage(lines):
        return Outcome.TRACEBACK
    return Outcome.SILENT if answer.left else Outcome.REFUSED


def _is_usage(lines):
    """True for a refusal by the parser of the command line: usage, hint, error."""
    return bool(lines) and lines[0].startswith(("Usage: ", "usage: ")) and "rror: " in lines[-1]


def _last(lines):
    return lines[-1][:300] if lines else ""


def tally(cases):
    """Dictionary: how many cases there are of each outcome, and the worst of time and memory."""
    counts = {outcome.value: 0 for outcome in Outcome}
    for case in cases:
        counts[case.outcome.value] += 1
    return {
        "tried": len(cases),
        **counts,
        "seconds": round(max((case.seconds for case in cases), default=0), 1),
        "megabytes": max((case.memory for case in cases), default=0) // 2**20,
    }
