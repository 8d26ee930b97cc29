"""The protocol of a worker: one JSON object per line on standard input, one per line back.

    {"do": "prepare", "case": "training_step", "settings": {...}}
        -> {"parameters": n, "versions": {...}, "note": "..."}
    {"do": "run", "repeat": k}  -> {"seconds": s, "processor_seconds": p, "count": n}
    {"do": "peak"}              -> {"bytes": n, "kept_bytes": m}

`count` is the work of all k runs together, in target tokens, sentences or operations. If a request
fails, the answer is {"error": "one line"}. A worker needs only its toolkit and NumPy.
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
FIRST_TO_BE_KILLED = "1000"  # if memory runs out, the system kills a worker first


class Job:
    """The work that a case has prepared.

    Args:
        run: Function without arguments that does the work once, waits until it is done, and
            returns its count.
        parameters: Integer, the number of trainable parameters; None if there is no model.
        note: String for the results, which describes how the work is done.
        small: For rows about memory: function without arguments that does the work on a tiny
            batch, which loads libraries and creates the optimizer's slots.
        report: Dictionary of other information for the row.
    """

    def __init__(self, run, parameters=None, note="", small=None, report=None):
        self.run, self.parameters, self.note = run, parameters, note
        self.small = small
        self.report = report or {}


def in_turns(prepare, cases, **settings):
    """Return a `Job` that runs the cases in turn, one case per run.

    Args:
        prepare: Function `(**case, **settings) -> Job`.
        cases: List of dictionaries of arguments. `repeat` is how often one run of the `Job`
            repeats the case.
        **settings: Arguments that all cases have in common.

    Returns:
        `Job` with the `parameters` of each case in its report.
    """
    repeats = [case.pop("repeat") for case in cases]
    jobs = [prepare(**case, **settings) for case in cases]
    turns = itertools.cycle(zip(jobs, repeats, strict=True))

    def run():
        job, repeat = next(turns)
        return sum(job.run() for _ in range(repeat))

    return Job(run, note=jobs[0].note, report={"parameters": [job.parameters for job in jobs]})


def serve(cases, packages):
    """Answer requests until standard input ends.

    Args:
        cases: Dictionary from names to functions `(**settings) -> Job`.
        packages: Names of the installed packages that are reported with their versions.
    """
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # the output of libraries goes to standard error
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
        except Exception as error:  # any error is reported, and the row continues
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
    """Measure how far resident memory rises during a run above its level between two runs.

    A tiny run comes first, to load libraries and create optimizer slots and thread pools. A full
    run follows, which compiles. The second full run is measured. The memory that the first full
    run keeps for graphs and compiled code is reported separately as `kept_bytes`.
    """
    if job.small is not None:
        job.small()
    before = resident("VmRSS")
    job.run()
    between = resident("VmRSS")
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # resets the recorded peak
    job.run()
    return {"bytes": resident("VmHWM", trim=False) - between, "kept_bytes": between - before}


def resident(field, trim=True):
    """Return a memory field in bytes; `trim` first returns freed memory to the system."""
    gc.collect()
    if trim:
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith(field + ":"))
    return int(line.split()[1]) * 1024


def _one_line(error):
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:300]
