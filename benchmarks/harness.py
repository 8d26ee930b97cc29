"""Measure our package and its peers, each in its own process, and compare the samples.

A row creates a `Lane` for each competitor, measures the lanes with `rates` (work per second; more
is better) or `costs` (bytes; less is better), and returns `compared(...)`:

    lanes = [Lane("ours", "ours", case="training_step", settings={...}, ours=True),
             Lane("pytorch", "pytorch", case="training_step", settings={...})]
    return compared(GOAL, rates(lanes, options), unit="tokens/s")

The ratio is always ours / best peer, computed from medians. A goal such as ">= 1.5" applies to
rates, and one such as "<= 0.33" to costs. If several lanes are ours, the best one counts; the same
holds for the lanes of each peer.
"""

import concurrent.futures
import dataclasses
import json
import os
import pathlib
import statistics
import time

from comparison import compared, fulfils, unmeasured
from environments import Unavailable
from lane import HERE, Failed, Lane, Worker

__all__ = [
    "HERE",
    "Failed",
    "Lane",
    "Measured",
    "Options",
    "Unavailable",
    "Worker",
    "compared",
    "costs",
    "fulfils",
    "prepared",
    "rates",
    "results_of",
    "unmeasured",
    "write_result",
]
# TensorFlow with oneDNN keeps freed memory in a pool, which hides peaks. This disables the pool.
NO_POOL = {"TF_ONEDNN_USE_SYSTEM_ALLOCATOR": "1"}
PAUSE = 0.3  # seconds; the threads of the previous lane spin for a while before they sleep


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """Command-line settings for a row."""

    rounds: int = 5
    quick: bool = False
    threads: int = os.cpu_count()
    multi30k: pathlib.Path | None = None
    steps: int | None = None
    sentences: int | None = None
    tflite: pathlib.Path | None = None
    words: pathlib.Path | None = None
    model: str | None = None
    node_modules: pathlib.Path | None = None


def results_of(tiny):
    """Return the directory for results; results for `tiny` sizes aren't published."""
    return HERE.parent / "runs" / "benchmarks" if tiny else HERE / "results"


def write_result(path, result):
    """Write a result as JSON, atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".unfinished-{path.name}")
    unfinished.write_text(json.dumps(result, indent=1, default=str) + "\n", encoding="utf-8")
    unfinished.replace(path)


@dataclasses.dataclass
class Measured:
    """The samples of a lane.

    Attributes:
        lane: The `Lane`.
        samples: List of numbers, one per round.
        about: Dictionary that `prepare` returned: parameters, versions and a note.
        answers: List of the worker's answers, one per round.
        error: The reason why there are no samples, or None.
    """

    lane: Lane
    samples: list = dataclasses.field(default_factory=list)
    about: dict = dataclasses.field(default_factory=dict)
    answers: list = dataclasses.field(default_factory=list)
    error: str | None = None

    @property
    def median(self):
        """The median of the samples, or None if there are none."""
        return statistics.median(self.samples) if self.samples and not self.error else None

    def as_json(self):
        """Return a dictionary for the results file."""
        settings = {name: one for name, one in self.lane.settings.items() if name != "corpus"}
        shown = {"lane": self.lane.name, "settings": settings, **self.about}
        if self.error:
            return {**shown, "error": self.error}
        extra = {
            name: [answer[name] for answer in self.answers]
            for name in ("processor_seconds", "kept_bytes")
            if self.answers and name in self.answers[0]
        }
        return {**shown, "median": self.median, "samples": self.samples, **extra}


def rates(lanes, options, say=print, at_once=False):
    """Prepare all lanes, then measure in turns how much work each does per second.

    Args:
        lanes: List of `Lane`.
        options: `Options`.
        say: Function that receives each line of progress.
        at_once: Whether to prepare all lanes at the same time.

    Returns:
        List of `Measured`, one for each lane.
    """
    measured = [Measured(lane) for lane in lanes]
    with concurrent.futures.ThreadPoolExecutor(len(lanes) if at_once else 1) as threads:
        workers = [*threads.map(lambda one: _started(one, options, say), measured)]
    for number in range(options.rounds):
        for one, worker in zip(measured, workers, strict=True):
            if not one.error:
                time.sleep(PAUSE)
                _take(one, worker, "run", repeat=one.lane.repeat)
        say(f"  round {number + 1} of {options.rounds}: {_line(measured)}")
    for worker in filter(None, workers):
        worker.close()
    return measured


def costs(lanes, options, say=print):
    """Measure the peak memory of each lane's work in bytes, in a new process for each sample.

    Args:
        lanes: List of `Lane`.
        options: `Options`.
        say: Function that receives each line of progress.

    Returns:
        List of `Measured`, one for each lane.
    """
    measured = [Measured(lane) for lane in lanes]
    for number in range(options.rounds):
        for one in measured:
            if one.error:
                continue
            worker = _started(one, options, say, NO_POOL)
            if worker is not None:
                _take(one, worker, "peak")
                worker.close()
        say(f"  round {number + 1} of {options.rounds}: {_line(measured)}")
    return measured


def prepared(lanes, options, say=print):
    """Prepare the lanes one after another, and return their reports without measuring anything.

    Returns:
        List of `Measured` without samples.
    """
    measured = [Measured(lane) for lane in lanes]
    for one in measured:
        worker = _started(one, options, say)
        if worker is not None:
            worker.close()
    return measured


def _started(one, options, say, variables=None):
    """Start and prepare the lane's worker; if that fails, record the error and return None."""
    say(f"  {one.lane.name}: preparing")
    worker = None
    try:
        worker = Worker(one.lane, options.threads, variables)
        one.about = worker.prepare()
    except (Failed, Unavailable) as error:
        one.error = str(error)
        say(f"  {one.lane.name}: {error}")
        if worker is not None:
            worker.close()
        return None
    return worker


def _take(one, worker, do, **request):
    """Add one sample, or record the error."""
    try:
        answer = worker.ask(do, **request)
    except Failed as error:
        one.error = str(error)
        return
    one.answers.append(answer)
    if do == "peak":
        one.samples.append(answer["bytes"])
    else:
        one.samples.append(answer["count"] / answer["seconds"])


def _line(measured):
    return ", ".join(
        f"{one.lane.name} {'failed' if one.error else f'{one.samples[-1]:,.4g}'}"
        for one in measured
    )
