"""Time of a published file for a word: LiteRT, one thread, one word of dev after the other."""

import argparse
import contextlib
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import keras_bahdanau as kb
from keras_bahdanau.exporters import OnDeviceTranslator

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

import runtimes  # noqa: E402
from runtime_programs import Browser, Cplusplus, Node, OnDevicePython  # noqa: E402

WORDS = 200  # of dev, evenly spread
ROUNDS = 3  # of which the shortest counts
SUGGESTIONS = 5
PROGRAMS = {"Python": OnDevicePython, "C++": Cplusplus, "Node": Node, "browser": Browser}


def measured(task, path, data):
    """Median times in milliseconds.

    Args:
        task: `Task`.
        path: Path of its .tflite file.
        data: Path of the directory that has the data.

    Returns:
        Dictionary: "beam" is the best answer of the file's own search, and where there are
        signatures for them "greedy" the best one without a search, "suggestions" the best five.
    """
    translator = OnDeviceTranslator(path)
    words = _words(task, data, translator)
    ways = {"beam": translator.translate}
    if translator.most >= SUGGESTIONS:
        ways["suggestions"] = lambda one: translator.translate_nbest(one, SUGGESTIONS)
    try:
        ways["greedy"] = OnDeviceTranslator(path, greedy=True).translate
    except ValueError:  # a file without the signature
        pass
    return {name: round(_median(way, words), 3) for name, way in ways.items()}


@contextlib.contextmanager
def programs(node_modules):
    """The programs for devices, which build themselves when they are first used.

    Args:
        node_modules: Path of the directory where npm packages are installed, or None for no
            programs at all.

    Yields:
        Dictionary from a name to a `Runtime` of the benchmarks.
    """
    os.environ |= dict.fromkeys(runtimes.ONE_THREAD, "1")
    with tempfile.TemporaryDirectory() as folder:
        made = {name: kind(Path(folder), node_modules) for name, kind in PROGRAMS.items()}
        yield made if node_modules else {}


def of_programs(made, task, path, data):
    """Median times of the programs in milliseconds, pipes included but for the browser.

    Each word is timed in some rounds, of which all count.

    Args:
        made: What `programs` gives.
        task: As in `measured`.
        path: Likewise.
        data: Likewise.

    Returns:
        Dictionary from a program's name to one of "greedy", "suggestions" and "equal", how many
        lists of suggestions are those of Python; without what it or the file lacks.
    """
    words = _words(task, data, OnDeviceTranslator(path))
    models = {**dict.fromkeys(("float32", "saved_model", "saved_model_ids")), "int8": path}
    options = argparse.Namespace(timed=WORDS, rounds=ROUNDS)
    rows = runtimes.measured([*made.values()], models, words, ["suggestions", "greedy"], options)
    return {name: _times(row) for name, row in zip(made, rows, strict=True) if "error" not in row}


def _times(row):
    lanes = row["lanes"]["int8"]
    times = {way: one["p50_ms"] for way, one in lanes.items() if "p50_ms" in one}
    equal = lanes["suggestions"].get("equal")
    return times if equal is None else {**times, "equal": equal}


def _words(task, data, translator):
    pairs = _pairs(task, data)
    words = [*dict.fromkeys(source for source, _ in pairs)]
    return words[:: max(1, len(words) // WORDS)][:WORDS]


def _pairs(task, data):
    return kb.data.read_table(data / task.dev, task.columns).pairs


def _median(way, words):
    """The median over the words of the shortest of some rounds, in milliseconds."""
    way(words[:1])  # memory is allocated by the first call
    return 1e3 * statistics.median(
        min(_seconds(way, word) for _ in range(ROUNDS)) for word in words
    )


def _seconds(way, word):
    start = time.perf_counter()
    way([word])
    return time.perf_counter() - start
