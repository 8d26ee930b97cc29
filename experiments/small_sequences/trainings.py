"""Train, score, export and re-score our models with the command line, in separate processes."""

import itertools
import json
import os
import random
import subprocess
import sys
from pathlib import Path

from results import kept
from tasks import (
    FURTHER,
    HALLUCINATED,
    LINES_MADE,
    LINES_WEIGHED,
    LONGEST,
    NARROWED,
    OTHER_WORDS,
    SETTINGS,
    TEACHERS,
    quantization,
    signatures,
)

from keras_bahdanau.data.readers.lines import read_lines
from keras_bahdanau.files.whole_file import write_text
from keras_bahdanau.training import Run

REPOSITORY = Path(__file__).resolve().parents[2]
# runs `keras-bahdanau`; unlike `python -m`, it imports no modules from the current directory
PROGRAM = """
import sys
sys.path[:] = filter(None, sys.path)
from keras_bahdanau.cli import main
main()
"""


def environment(threads):
    """Return environment variables that limit the threads of TensorFlow and PyTorch."""
    # operations in parallel, each on one core, are fastest: benchmarks/README.md
    counts = {"TF_NUM_INTRAOP_THREADS": 1, "TF_NUM_INTEROP_THREADS": threads}
    counts |= {"OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads}
    return {**os.environ, **{name: str(count) for name, count in counts.items()}}


def processor_seconds():
    """Return the CPU time of all processes so far, which shows whether a core was shared."""
    used = os.times()
    return used.children_user + used.children_system


def logged(command, log, threads, stdin=None, stdout=None):
    """Run a command and write its output to a file, except to a given `stdout`.

    Raises:
        RuntimeError: If it fails. The message contains the last line of its output.
    """
    with open(log, "a", encoding="utf-8") as out:
        print("$", *command, file=out, flush=True)
        streams = {"stdin": stdin, "stdout": stdout or out, "stderr": out}
        done = subprocess.run([*map(str, command)], env=environment(threads), **streams)
    if done.returncode:
        last = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1]
        raise RuntimeError(f"exit code {done.returncode}: {last} (full output: {log})")


class Training:
    """One task, setting and seed in its own directory; existing results are kept.

    Args:
        task: `Task`.
        setting: String. A key of `SETTINGS`.
        seed: Integer.
        arguments: Namespace of the command line.
    """

    def __init__(self, task, setting, seed, arguments):
        self.task, self.setting, self.seed = task, setting, seed
        self.data, self.minutes, self.threads = arguments.data, arguments.minutes, arguments.threads
        self.folder = arguments.out / task.name / f"{setting}-{seed}"
        self.run = Run(self.folder / "run")
        self.quantization = quantization(task, setting)
        self.file = self.folder / f"model.{self.quantization}.tflite"

    def result(self):
        """Compute everything that is missing, and return the result."""
        self.folder.mkdir(parents=True, exist_ok=True)
        began = processor_seconds()
        self._train()
        trained = processor_seconds() - began  # in this process
        self._export()
        metrics = self.task.metrics
        progress = self.run.progress()
        return {
            **{"task": self.task.name, "system": self.setting, "seed": self.seed},
            **{"minutes": self.minutes, "threads": self.threads},
            **{"epochs": progress.epoch, "seconds": progress.seconds},
            "processor_seconds": trained,
            "dev": kept(self._evaluated("keras", self.run.translator), metrics),
            **self._of_file({"keras": self.run.translator.stat().st_size}),
        }

    def _of_file(self, sizes):
        """Return the parts of a result that concern the .tflite file."""
        return {
            "tflite": kept(self._evaluated("tflite", self.file), self.task.metrics),
            "bytes": {**sizes, "tflite": self.file.stat().st_size},
            "quantization": self.quantization,
        }

    def _train(self):
        if self.run.is_over():
            return
        limit = ("--minutes", self.minutes) if self.minutes else ()
        begin = ("--preset", "characters")
        if self.setting in FURTHER:
            begin = ("--from", self._narrowed(self._other(FURTHER[self.setting])))
        for name in TEACHERS.get(self.setting, ()):
            begin += ("--teacher", self._other(name))
        corpus = (self.data / self.task.train,)
        if self.setting == HALLUCINATED:
            corpus = self._with_invented_words(*corpus)
        if self.setting in OTHER_WORDS:
            corpus = self._with_other_words(*corpus)
        self._command(
            *("train", *corpus, "--valid-source", self.data / self.task.dev),
            *(*begin, *SETTINGS[self.setting], "--seed", self.seed, *limit),
            *("--out", self.run.directory),
        )

    def _with_invented_words(self, own):
        """Return options for training on real and invented forms, in half of the batches each."""
        made = self.folder / "made.tsv"
        if not made.is_file():
            given = ("--lines", LINES_MADE, "--seed", self.seed, "--out", made)
            self._program("examples/inflect/hallucinate.py", own, *given)
        return "--corpus", f"own={own}:0.5", "--corpus", f"made={made}:0.5"

    def _with_other_words(self, own):
        """Return options for training also on other words, with the output of the teachers."""
        words, made = self.folder / "words.txt", self.folder / "words.tsv"
        if not words.is_file():
            names = OTHER_WORDS[self.setting]
            texts = [path for name in names for path in sorted(self.data.glob(name))]
            self._program(
                *("experiments/small_sequences/other_words.py", *texts, "--train", own),
                *("--dev", self.data / self.task.dev, "--out", words),
            )
        if not made.is_file():
            made.with_name(f".unfinished-{made.name}").unlink(
                missing_ok=True
            )  # left by an interrupted run
            teachers = [("--model", self._other(name)) for name in TEACHERS[self.setting]]
            self._command("translate", words, *itertools.chain(*teachers), "--write-pairs", made)
        return "--corpus", f"own={own}", "--corpus", f"other={made}"

    def _narrowed(self, run):
        """Return the path of the initial model: a run, or a narrower model made from it."""
        if self.setting not in NARROWED:
            return run
        pairs, made = self.folder / "some.tsv", self.folder / "narrow.keras"
        if not made.is_file():
            lines = read_lines(self.data / self.task.train)
            some = random.Random(1).sample(lines, min(LINES_WEIGHED, len(lines)))
            write_text(pairs, "".join(f"{line}\n" for line in some))
            self._program(
                *(
                    "experiments/multi30k/narrow.py",
                    "--model",
                    Run(run).translator,
                    "--pairs",
                    pairs,
                ),
                *(*NARROWED[self.setting], "--out", made),
            )
        return made

    def _other(self, name):
        """Return the run directory of another setting and seed for the same task."""
        return self.folder.with_name(name) / "run"

    def _program(self, name, *arguments):
        """Run a program in the repository."""
        command = [sys.executable, REPOSITORY / name, *arguments]
        logged(command, self.folder / "log.txt", self.threads)

    def _export(self):
        if self.file.is_file():
            return
        lists, most = signatures(self.task.kind, self.setting)
        for names in lists:
            self.file.unlink(missing_ok=True)
            self._command(
                *("export", "--model", self.run.translator, "--format", "litert"),
                *("--quantization", self.quantization, "--out", self.file),
                *("--max-source-length", self.task.longest_source, "--max-target-length", LONGEST),
                *(part for name in names for part in ("--signatures", name)),
            )
            if self.file.stat().st_size <= most:
                return

    def _evaluated(self, name, model):
        """Return all dev scores of a model file."""
        return evaluated(self.task, self.data, [model], self.folder / f"{name}.json", self._command)

    def _command(self, *arguments):
        ours(arguments, self.folder / "log.txt", self.threads)


def ensemble(task, setting, seeds, arguments):
    """Return the result of the ensemble of all seeds' models."""
    models = [Training(task, setting, seed, arguments).run.translator for seed in seeds]
    folder = arguments.out / task.name / f"{setting}-ensemble"
    folder.mkdir(parents=True, exist_ok=True)

    def command(*words):
        ours(words, folder / "log.txt", arguments.threads)

    path = folder / f"keras-{'-'.join(map(str, seeds))}.json"
    scores = evaluated(task, arguments.data, models, path, command)
    return {
        **{"task": task.name, "system": setting, "seed": "ensemble", "seeds": seeds},
        **{"minutes": arguments.minutes, "threads": arguments.threads},
        "dev": kept(scores, task.metrics),
    }


def evaluated(task, data, models, path, command):
    """Return all dev scores of models, from a JSON file that `command` writes if it is missing."""
    if not path.is_file():
        given = [part for model in models for part in ("--model", model)]
        command(
            *("evaluate", data / task.dev, *given),
            *("--metrics", ",".join(task.metrics), "--json", path),
        )
    return json.loads(path.read_text(encoding="utf-8"))


def ours(arguments, log, threads):
    """Run `keras-bahdanau`."""
    logged([sys.executable, "-c", PROGRAM, *arguments], log, threads)
