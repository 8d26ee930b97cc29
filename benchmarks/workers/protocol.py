"""Protocol of a worker: a JSON object a line on standard input, one a line back.

    {"do": "prepare", "case": "training_step", "settings": {...}}
        -> {"parameters": n, "versions": {...}, "note": "..."}
    {"do": "run", "repeat": k}  -> {"seconds": s, "processor_seconds": p, "count": n}
    {"do": "peak"}              -> {"bytes": n, "kept_bytes": m}

`count` is what all k runs together did: target tokens, sentences, operations. What goes wrong
comes back as {"error": "one line"}. A worker needs nothing but its peer and NumPy.
"""

import ctypes
import gc
import importlib.metadata
import itertools
import json
import os
import platform
import sys
import time

OOM_SCORE = "/proc/self/oom_score_adj"
FIRST_TO_BE_KILLED = "1000"  # if the machine's memory ends, it is a worker that ends with it


class Job:
    """The things that a case prepares.

    Args:
        run: Function of nothing: does the work once, waits for its end, and returns how much
            it was.
        parameters: Integer, the model's trainable parameters; None where there is no model.
        note: String for the results, about how this was done.
        small: For rows about memory: function of nothing that does the same on a tiny batch,
            so that libraries have started and optimizers have their slots.
        report: Dictionary of what else the row wants to know.
    """

    def __init__(self, run, parameters=None, note="", small=None, report=None):
        self.run, self.parameters, self.note = run, parameters, note
        self.small = small
        self.report = report or {}


def in_turns(prepare, cases, **settings):
    """A `Job` each of whose runs is one case, the next in turn.

    Args:
        prepare: Function `(**case, **settings) -> Job`.
        cases: List of its arguments; a case's `repeat` is the runs of it in one of the `Job`.
        **settings: Arguments that all cases have.

    Returns:
        `Job` with `parameters` of each case in its report.
    """
    repeats = [case.pop("repeat") for case in cases]
    jobs = [prepare(**case, **settings) for case in cases]
    turns = itertools.cycle(zip(jobs, repeats, strict=True))

    def run():
        job, repeat = next(turns)
        return sum(job.run() for _ in range(repeat))

    return Job(run, note=jobs[0].note, report={"parameters": [job.parameters for job in jobs]})


def serve(cases, packages):
    """Answers until standard input ends.

    Args:
        cases: Dictionary of functions `(**settings) -> Job`.
        packages: Names of the installed packages whose versions matter.
    """
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what libraries print goes elsewhere
    if os.path.exists(OOM_SCORE):
        with open(OOM_SCORE, "w") as file:
            file.write(FIRST_TO_BE_KILLED)
    job = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request["do"] == "prepare":
                job = cases[request["case"]](**request["settings"])
                answer = _described(job, packages)
            else:
                answer = {"run": _timed, "peak": _peak}[request["do"]](job, request)
        except Exception as error:  # whatever it is, the row says so and goes on
            answer = {"error": _one_line(error)}
        answers.write(json.dumps(answer) + "\n")


def _described(job, packages):
    versions = {name: importlib.metadata.version(name) for name in packages}
    versions["python"] = platform.python_version()
    return {"parameters": job.parameters, "note": job.note, "versions": versions, **job.report}


def _timed(job, request):
    gc.collect()
    count = 0
    start, processor_start = time.perf_counter(), time.process_time()
    for _ in range(request["repeat"]):
        count += job.run()
    return {
        "seconds": time.perf_counter() - start,
        "processor_seconds": time.process_time() - processor_start,
        "count": count,
    }


def _peak(job, request):
    """The rise of the resident memory in one run above its level between two.

    A tiny run comes first, so that libraries, optimizer slots and thread pools are there; then a
    full one, which compiles; the second full one is measured. What the first leaves behind
    (`kept_bytes`: graphs, compiled code) is told apart.
    """
    if job.small is not None:
        job.small()
    before = resident("VmRSS")
    job.run()
    between = resident("VmRSS")
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the highest level so far is forgotten
    job.run()
    return {"bytes": resident("VmHWM", trim=False) - between, "kept_bytes": between - before}


def resident(field, trim=True):
    """Bytes; after `trim` without what was freed but not yet given back."""
    gc.collect()
    if trim:
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith(field + ":"))
    return int(line.split()[1]) * 1024


def _one_line(error):
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:300]
