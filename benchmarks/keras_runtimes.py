"""Compare the runtimes of exported Keras models, and write a Markdown table and JSON figures.

    taskset -c 1 python benchmarks/keras_runtimes.py --table keras_runtimes.md --json figures.json
    python benchmarks/keras_runtimes.py --models tagger --rounds 1 --calls 5

By default, five models are measured, with requests of one row on one thread. Our files are written
by `export_litert`, in float32 and in 8 bits, and by `export_onnx`; `ArrayModel` runs them in LiteRT
and ONNX Runtime. The peers are Keras' own exports: LiteRT files with Flex operations in
TensorFlow's interpreter, and ONNX files in ONNX Runtime. The package of TensorFlow 2.21 doesn't
contain Flex, so --flex-python must be the Python of an environment with an older one, such as 2.15.
Each lane is a process that loads nothing else. All processes are started first, and then answer in
turns. "First answer" is the time since the start of the process, "memory" is its peak at the end,
and "off by" is the largest difference from Keras. If a lane fails, the table gives the reason.
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
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import machine  # noqa: E402
from line_programs import Runner  # noqa: E402

MODELS = ("classifier", "tagger", "listener", "forecaster", "translator")
LANES = {  # name -> (file, runtime, whose)
    "ours, LiteRT": ("ours.tflite", "array_model", "ours"),
    "ours, LiteRT int8": ("ours.int8.tflite", "array_model", "ours in 8 bits"),
    "ours, ONNX Runtime": ("ours.onnx", "array_model", "ours"),
    "Keras, LiteRT with Flex in TensorFlow": ("keras.tflite", "tensorflow", "peer"),
    "Keras, ONNX Runtime": ("keras.onnx", "onnxruntime", "peer"),
}
ONE_THREAD = ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")
COLUMNS = {
    "p50, ms": ("p50_ms", ".3f"),
    "file, kB": ("file_bytes", ",.0f"),
    "memory, MiB": ("memory_mib", ".0f"),
    "first answer, s": ("start_seconds", ".2f"),
    "off by": ("difference", ".1e"),
}
COMPARED = "p50_ms", "file_bytes", "memory_mib"  # smaller is better


def main(arguments=None):
    """Run the program; return its exit code."""
    options = _parser().parse_args(arguments)
    os.environ |= {**dict.fromkeys(ONE_THREAD, "1"), "CUDA_VISIBLE_DEVICES": "-1"}
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    rows = {}
    with tempfile.TemporaryDirectory() as scratch:
        for name in options.models:
            rows[name] = measured(Path(scratch, name), name, options)
            print(*table_of(name, rows[name]), sep="\n", file=sys.stderr, flush=True)
    result = {
        "processor": machine.described(),
        "date": datetime.date.today().isoformat(),
        "rounds": options.rounds,
        "calls": options.calls,
        "models": rows,
    }
    text = "\n".join(table(result)) + "\n"
    print(text)
    if options.table:
        options.table.write_text(text, encoding="utf-8")
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


def _parser():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", nargs="+", choices=MODELS, default=[*MODELS])
    parser.add_argument("--rounds", type=int, default=7, help="number of turns for each lane")
    parser.add_argument("--calls", type=int, default=60, help="requests per turn")
    parser.add_argument(
        "--flex-python", default=sys.executable, help="Python that runs Keras' LiteRT files"
    )
    parser.add_argument("--table", type=Path, help="Markdown file to write")
    parser.add_argument("--json", type=Path, help="JSON file for all figures")
    return parser


def measured(folder, name, options):
    """Return a dictionary from each lane to its figures, or to {"error": reason}."""
    folder.mkdir()
    print(f"{name}: writing its files", file=sys.stderr, flush=True)
    command = [sys.executable, HERE / "workers" / "keras_models.py", name, folder]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True)
    if done.returncode:
        reason = " ".join(done.stderr.strip().splitlines()[-1:])
        return {lane: {"error": reason} for lane in LANES}
    errors = json.loads((folder / "errors.json").read_text())
    rows, runners = {}, {}
    with contextlib.ExitStack() as running:
        for lane, (file, runtime, _) in LANES.items():
            row = rows[lane] = {}
            if file in errors:
                row["error"] = errors[file]
                continue
            with _failing(row):
                began = time.perf_counter()
                worker = HERE / "workers" / "array_runtimes.py"
                python = options.flex_python if runtime == "tensorflow" else sys.executable
                runner = Runner([python, worker, runtime, folder / file, folder])
                running.push(runner)
                row |= json.loads(runner.ask("first"))
                row["start_seconds"] = time.perf_counter() - began
                row["file_bytes"] = (folder / file).stat().st_size / 1000
                runners[lane] = runner
        samples = {lane: [] for lane in runners}
        for number in range(1 + options.rounds):  # the first round is a warm-up
            for lane, runner in runners.items():
                if "error" not in rows[lane]:
                    with _failing(rows[lane]):
                        times = json.loads(runner.ask(options.calls))["milliseconds"]
                        samples[lane] += times if number else []
        for lane, runner in runners.items():
            if samples[lane] and "error" not in rows[lane]:
                rows[lane]["p50_ms"] = statistics.median(samples[lane])
                rows[lane]["memory_mib"] = runner.peak()
    return rows


@contextlib.contextmanager
def _failing(row):
    """Record the failure of a program in its row, so that the other lanes can continue."""
    try:
        yield
    except SystemExit as failure:
        row["error"] = str(failure).rpartition("]: ")[-1][:120] or "it ended"


def table(result):
    """Yield the lines of Markdown for the whole result."""
    processor = result["processor"]
    yield (
        f"{processor['processor']}, {processor['system']}, one thread, {result['date']}, load "
        f"before {processor['load_before']}; medians of {result['rounds']} rounds of "
        f"{result['calls']} requests."
    )
    for name, rows in result["models"].items():
        yield ""
        yield from table_of(name, rows)
    yield ""
    yield verdict(result["models"])


def table_of(name, rows):
    """Yield the lines of Markdown for one model."""
    yield f"| {name} | {' | '.join(COLUMNS)} |"
    yield "|---|" + "--:|" * len(COLUMNS)
    for lane, row in rows.items():
        if "error" in row:
            cells = [row["error"].replace("|", "\\|"), *[""] * (len(COLUMNS) - 1)]
        else:
            cells = [format(row[field], form) for field, form in COLUMNS.values()]
        yield f"| {lane} | {' | '.join(cells)} |"


def verdict(models):
    """Return a line with the number of models, per figure, for which ours is as good as peers."""
    parts = []
    for figure in COMPARED:
        pairs = [
            (_best(rows, "ours", figure), _best(rows, "peer", figure)) for rows in models.values()
        ]
        ahead = sum(None not in pair and pair[0] <= pair[1] for pair in pairs)
        parts.append(f"{figure} {ahead} of {len(pairs)}")
    return f"Models for which our float32 export is as good as Keras' best: {', '.join(parts)}."


def _best(rows, whose, figure):
    """Return the smallest figure among the lanes of one side, or None."""
    figures = [
        rows[lane][figure]
        for lane, (_, _, side) in LANES.items()
        if side == whose and figure in rows[lane] and "error" not in rows[lane]
    ]
    return min(figures, default=None)


if __name__ == "__main__":
    sys.exit(main())
