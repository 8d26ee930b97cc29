"""Row 9: the time from process start to the first answer."""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from environments import Unavailable, python_of
from harness import HERE
from rows.serving import found_or_made, sentences_for

NAME = "start"
NUMBER = 9
ABOUT = "seconds from process start: first translation with a .tflite file, the command, --help"
GOAL = {"translate": "<= 0.5", "command": "<= 1", "help": "<= 0.3"}
RUNS = 4  # processes of each kind per round
FROM_CHECKOUT = ("-c", "from keras_bahdanau.cli import main; main()")  # like the installed script
RUNNER = HERE.parent / "export" / "on_device" / "translate.py"


def measure(options):
    """Measure the time of whole processes, including Python's own start; the kinds take turns."""
    with tempfile.TemporaryDirectory() as scratch:
        artefacts = found_or_made(Path(scratch, "artefacts"))
        sentence = sentences_for(artefacts)[0]
        lines, model = Path(scratch, "sentence"), artefacts / "model.int8.tflite"
        lines.write_text(f"{sentence}\n", encoding="utf-8")
        try:
            on_device = python_of("on_device")
        except Unavailable as error:
            raise SystemExit(f"on_device: {error}") from None
        commands = {
            "python": [sys.executable, "-c", "pass"],
            "help": [*_program(), "--help"],
            "translate": [on_device, RUNNER, model, sentence],
            "command": [*_program(), "translate", "--model", model, lines],
        }
        runs = 1 if options.quick else RUNS
        seconds = {name: [] for name in commands}
        for _ in range(options.rounds * runs):
            for name, command in commands.items():
                seconds[name].append(_seconds(command))
    return _result(seconds)


def _program():
    """Return the `keras-bahdanau` script of this Python, or an equivalent command."""
    script = shutil.which("keras-bahdanau", path=Path(sys.executable).parent)
    return [script] if script else [sys.executable, *FROM_CHECKOUT]


def _seconds(command):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    start = time.perf_counter()
    done = subprocess.run(
        [*map(str, command)], cwd=HERE.parent, env=environment, capture_output=True, text=True
    )
    took = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(f"A process failed: {done.stderr.strip().splitlines()[-1]}")
    return took


def _result(seconds):
    """Return the result; `ratio` is the highest ratio of a median to its goal."""
    medians = {name: statistics.median(samples) for name, samples in seconds.items()}
    ratios = {name: medians[name] / float(goal.split()[1]) for name, goal in GOAL.items()}
    lanes = {
        name: {"lane": name, "median": medians[name], "samples": samples}
        for name, samples in seconds.items()
    }
    return {
        "goal": GOAL,
        "unit": "s",
        "ratio": max(ratios.values()),
        "ratios": ratios,
        "met": max(ratios.values()) <= 1,
        "ours": lanes["translate"],
        "ours_otherwise": [lanes["command"], lanes["help"]],
        "peers": {"python -c pass": lanes["python"]},
    }
