"""Row 8: translating one sentence at a time."""

import contextlib
import dataclasses
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import HERE, Failed, Lane, Measured, Unavailable, Worker, compared

NAME = "one-sentence"
NUMBER = 8
ABOUT = "one sentence at a time, beam 5, one thread: p50 in ms, LiteRT int8 / SavedModel"
GOAL = "<= 0.5"
SENTENCES, MOST_WORDS = 100, 40
RANDOM = "the demo's size, random weights"


def measure(options):
    """Measure the p50 of each artefact in turns, with every sentence alone, once per round.

    The model has the demo's size and random weights. All its translations have the same number of
    tokens, which is the mean for a trained model. To measure a trained model, set the environment
    variable BENCHMARK_ARTEFACTS to the directory that `keras-bahdanau export --format all` wrote,
    and BENCHMARK_SENTENCES to a file of sentences.
    """
    with tempfile.TemporaryDirectory() as scratch:
        artefacts = found_or_made(Path(scratch, "artefacts"))
        sentences = sentences_for(artefacts)[: 5 if options.quick else SENTENCES]
        lanes = [
            _lane("LiteRT int8", "litert", artefacts / "model.int8.tflite", sentences, ours=True),
            _lane("LiteRT float32", "litert", artefacts / "model.float32.tflite", sentences),
            _lane("SavedModel", "saved_model", artefacts / "1", sentences),
        ]
        measured = in_turns(lanes, dataclasses.replace(options, threads=1), len(sentences))
    int8, float32, served = measured
    result = compared(
        GOAL,
        [int8, served],
        unit="ms",
        ours_otherwise=[float32.as_json()],
        model=artefacts.name if "BENCHMARK_ARTEFACTS" in os.environ else RANDOM,
        sentences=len(sentences),
    )
    for lane in (result["ours"], *result["ours_otherwise"], *result["peers"].values()):
        del lane["settings"]  # a temporary path, and all sentences
    return result


def found_or_made(out):
    """Return the directory with the SavedModel and LiteRT files; if needed, write them to `out`."""
    if "BENCHMARK_ARTEFACTS" in os.environ:
        return Path(os.environ["BENCHMARK_ARTEFACTS"])
    paths = filter(None, [str(HERE.parent), os.environ.get("PYTHONPATH")])
    done = subprocess.run(
        [sys.executable, HERE / "workers" / "artefacts.py", out],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    if done.returncode:
        raise SystemExit(
            f"The artefacts could not be written: {done.stderr.strip().splitlines()[-1]}"
        )
    return out


def sentences_for(artefacts):
    """Return the lines that are neither empty nor too long for a LiteRT file."""
    path = Path(os.environ.get("BENCHMARK_SENTENCES", artefacts / "sentences.txt"))
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if 0 < len(line.split()) <= MOST_WORDS]


def in_turns(lanes, options, sentences):
    """Return a `Measured` for each lane; a sample is the p50 of a round, in milliseconds."""
    measured = [Measured(lane) for lane in lanes]
    with contextlib.ExitStack() as running:
        workers = []
        for one in measured:
            try:
                workers.append(Worker(one.lane, options.threads))
                running.callback(workers[-1].close)
                one.about = workers[-1].prepare()
            except (Failed, Unavailable) as error:
                raise SystemExit(f"{one.lane.name}: {error}") from None
        for _ in range(options.rounds):
            for one, worker in zip(measured, workers, strict=True):
                answers = [worker.ask("run", repeat=1) for _ in range(sentences)]
                seconds = [answer["seconds"] for answer in answers]
                one.samples.append(1000 * statistics.median(seconds))
    return measured


def _lane(name, case, path, sentences, ours=False):
    settings = {"path": str(path), "sentences": sentences}
    return Lane(name, "serving", case=case, settings=settings, environment="ours", ours=ours)
