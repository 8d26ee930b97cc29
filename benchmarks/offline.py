"""Compare the rows per second through Ray Data with those of the same number of plain processes.

    python benchmarks/offline.py                      # one process and one worker
    python benchmarks/offline.py --workers 2          # on a machine with two idle cores

Both lanes run `export/offline/ray_translate.py` on the same files, with the same pieces, workers
and output. The plain lane uses a `multiprocessing` pool instead of Ray. The time for startup, for
loading the models, and for each worker's first piece, which traces graphs, isn't counted. On an
idle machine, compare the rows per second of elapsed time. On a busy machine, compare the rows per
second of the workers' processor time, and the number of cores that the lane's other processes use.
Ray's own processes use about the same amount when they are idle. The model is that of
`examples/dates`.
"""

import argparse
import contextlib
import datetime
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

from machine import described

ROOT = Path(__file__).resolve().parents[1]
OFFLINE = ROOT / "export" / "offline"
MODEL = ROOT / "examples" / "dates" / "models" / "dates.keras"
LANES = ("plain", "ray")
WORKERS = (b"ray::MapWorker", b"spawn_main")  # names of the processes that translate
TICKS = os.sysconf("SC_CLK_TCK")
FORMS = ("%A, %d %B %Y", "%b %d %Y", "%d.%m.%Y", "%B %d, %Y", "%d %b %y", "%Y/%m/%d")


def write_corpus(folder, rows, parts):
    """Write dates in words and numbers, one per line, to `parts` files."""
    first = datetime.date(1950, 1, 1)
    for part in range(parts):
        days = (first + datetime.timedelta(7 * row) for row in range(part, rows, parts))
        lines = (day.strftime(FORMS[number % len(FORMS)]) for number, day in enumerate(days))
        (folder / f"{part}.txt").write_text("".join(f"{line}\n" for line in lines))


def pool_batches(pieces, translator, options):
    """Translate pieces in plain processes instead of Ray, for `ray_translate`; yield batches."""
    import multiprocessing

    os.environ["PYTHONSAFEPATH"] = "1"  # don't import from the current directory
    context = multiprocessing.get_context("spawn")
    with context.Pool(options.workers, prepare, [translator]) as pool:
        for batches in pool.imap(work, pieces):
            yield from batches


def prepare(translator):
    """Initialize a plain process."""
    import ray_translate

    global worker
    worker = ray_translate.PieceTranslator(translator)


def work(piece):
    """Return the batches of rows of a piece; runs in a plain process."""
    return [*worker({name: [value] for name, value in piece.items()})]


def run_lane(name, arguments):
    """Run the translation of a lane, and print the number of rows of each batch."""
    import ray_translate

    batches = pool_batches if name == "plain" else ray_translate._batches

    def told(*given):
        for batch in batches(*given):
            print(f"rows {len(batch['part'])}", flush=True)
            yield batch

    ray_translate._batches = told
    return ray_translate.main(arguments)


def measured(name, arguments, workers):
    """Measure a lane's rows per second after its start, and its processor time."""
    mark = uuid.uuid4().hex
    # by default, Ray's workers run with a lower priority
    variables = {"KERAS_BAHDANAU_BENCHMARK": mark, "RAY_worker_niceness": "0"}
    threads = dict.fromkeys(("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS"), "1")
    python_path = os.pathsep.join([str(ROOT), str(OFFLINE)])
    process = subprocess.Popen(
        [sys.executable, __file__, "--lane", name, *arguments],
        stdout=subprocess.PIPE,
        env={**os.environ, **variables, **threads, "PYTHONPATH": python_path},
        text=True,
    )
    events = []
    for line in process.stdout:
        if line.startswith("rows "):
            events.append((int(line.split()[1]), time.perf_counter(), processor_seconds(mark)))
    if process.wait() or len(events) <= workers:
        raise SystemExit(
            f"A lane must succeed, with more pieces than workers. Received: lane={name!r}."
        )
    (_, began, before), (_, ended, after) = events[workers - 1], events[-1]
    rows = sum(rows for rows, *_ in events[workers:])
    at_work, beside = (later - sooner for sooner, later in zip(before, after, strict=True))
    return {
        "rows_per_second": rows / (ended - began),
        "rows_per_worker_second": rows / at_work,
        "cores_of_others": beside / (ended - began),
    }


def processor_seconds(mark):
    """Return the processor time of the marked processes: [workers, others]."""
    seconds = [0, 0]
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark.encode() in (path / "environ").read_bytes():
                command = (path / "cmdline").read_bytes()
                fields = (path / "stat").read_text().rpartition(")")[2].split()
                other = not any(name in command for name in WORKERS)
                seconds[other] += (int(fields[11]) + int(fields[12])) / TICKS  # utime, stime
    return seconds


def main():
    if sys.argv[1:2] == ["--lane"]:
        return run_lane(sys.argv[2], sys.argv[3:])
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", type=Path, default=MODEL)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--piece-kib", type=int, default=16)
    options = parser.parse_args()
    samples = {lane: [] for lane in LANES}
    with tempfile.TemporaryDirectory() as scratch:
        corpus = Path(scratch, "corpus")
        corpus.mkdir()
        write_corpus(corpus, options.rows, options.workers)
        for number in range(options.rounds):
            for lane in LANES:
                arguments = [corpus, "--model", options.model, "--out", f"{scratch}/{lane}{number}"]
                arguments += ["--workers", options.workers, "--piece-kib", options.piece_kib]
                samples[lane].append(measured(lane, [*map(str, arguments)], options.workers))
    medians = {
        lane: {name: statistics.median(one[name] for one in taken) for name in taken[0]}
        for lane, taken in samples.items()
    }
    plain, ray = (medians[lane] for lane in LANES)
    ratios = {name: round(ray[name] / plain[name], 3) for name in plain if "rows" in name}
    about = {"workers": options.workers, "rows": options.rows, "machine": described()}
    print(json.dumps({**about, "ray / plain": ratios, "samples": samples}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
