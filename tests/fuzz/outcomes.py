"""Outcomes of hostile inputs, judged in the same way for all attacks."""

import enum
from typing import NamedTuple

OUT_OF_MEMORY = ("MemoryError", "bad_alloc", "OOM when allocating", "Cannot allocate memory")

GREETINGS = ("I0000 ", "WARNING: All log messages before absl", "INFO: ")  # TensorFlow, LiteRT


class Outcome(str, enum.Enum):
    SURVIVED = "survived"  # a correct answer
    REFUSED = "refused"  # one line, an exit code other than 0, no files left behind
    SILENT = "silent"  # a wrong answer or a changed file, without an error
    TRACEBACK = "traceback"  # or a crash, or an error of several lines
    UNBOUNDED = "unbounded"  # exceeds the limit of time or memory


GOOD = (Outcome.SURVIVED, Outcome.REFUSED)


class Answer(NamedTuple):
    """What a process returned and used.

    Attributes:
        code: Integer. The exit code; if a signal ended the process, the negative signal number.
        out: Bytes. Standard output.
        err: String. Standard error.
        seconds: Float. Processor time.
        memory: Integer. The increase of its peak memory over that before the call, in bytes.
        stopped: Boolean. Whether a limit ended the process.
        left: List of strings. Names of the files that it created, changed or deleted.
    """

    code: int
    out: bytes
    err: str
    seconds: float
    memory: int
    stopped: bool
    left: list


class Case(NamedTuple):
    """A hostile input and its outcome."""

    name: str
    outcome: Outcome
    seconds: float = 0.0
    memory: int = 0
    detail: str = ""


def judged(name, answer, right):
    """Return the `Case` for an answer.

    Args:
        name: String. A short description of the input.
        answer: `Answer`.
        right: Function that returns whether an answer with exit code 0 is correct.
    """
    lines = [line for line in answer.err.splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith(GREETINGS)]
    return Case(name, _outcome(answer, lines, right), answer.seconds, answer.memory, _last(lines))


def judged_call(name, answer, call, right, bound=5):
    """Return the `Case` for one of many calls in a child process, or for a child that ended early.

    Args:
        name: String. A short description of the input.
        answer: `Answer` of the child.
        call: (kind, found, seconds) as `targets.asked` returns them, or None if the child ended
            before this call.
        right: Function that returns whether a result is correct.
        bound: Float. The limit of processor time for a call, in seconds.
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
    """Return whether an error is one line of readable length that says what was received."""
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
    """Return whether lines are an error of the command-line parser: usage, hint, error."""
    return bool(lines) and lines[0].startswith(("Usage: ", "usage: ")) and "rror: " in lines[-1]


def _last(lines):
    return lines[-1][:300] if lines else ""


def tally(cases):
    """Return a dictionary with the number of cases per outcome, and the maximum time and memory."""
    counts = {outcome.value: 0 for outcome in Outcome}
    for case in cases:
        counts[case.outcome.value] += 1
    return {
        "tried": len(cases),
        **counts,
        "seconds": round(max((case.seconds for case in cases), default=0), 1),
        "megabytes": max((case.memory for case in cases), default=0) // 2**20,
    }
