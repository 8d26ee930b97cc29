"""Tasks of the demo: data, settings, figures and pictures of each, and its directory."""

import abc
import importlib
from pathlib import Path

TASKS = {  # name of the module NAME_task, with a class NameTask, to its help
    "text": "English to French",
    "images": "captions of handwritten digits, with scikit-learn",
    "speech": "synthetic",
}
MARK = ".demo"  # a file in the directory of a demo


class Task(abc.ABC):
    """One task of the demo, run by `tour.run`; `verb`, such as "Translating", is for the test."""

    options = None
    verb = "Reading"

    def source(self):
        """The `Source`; None for text, whose vocabulary is learnt."""
        return None

    @abc.abstractmethod
    def data(self):
        """Three lists of examples: training, validation and test."""

    @abc.abstractmethod
    def write(self, directory, name, examples):
        """Write the examples of a part to a directory, in the files of the commands."""

    @abc.abstractmethod
    def describe(self, training):
        """(string: the data in a few words, strings: one example)."""

    @abc.abstractmethod
    def pair(self, example):
        """(input, text) of an example."""

    @abc.abstractmethod
    def name_of(self, example):
        """String: the input of an example, in a list of answers."""

    @abc.abstractmethod
    def measure(self, pipeline, test, results):
        """Dictionary of figures: the results for the test against its texts."""

    def highlights(self, test):
        """Numbers of a few examples of the test to print."""
        return [0, 1, 2]

    @abc.abstractmethod
    def picture(self, pipeline, test, results):
        """Figure of the attention."""

    @abc.abstractmethod
    def summary(self, report):
        """String: the figures in words."""

    @abc.abstractmethod
    def next_commands(self, out):
        """String: commands to try next, a line each."""


def task_of(name):
    """The `Task` of a name."""
    if name not in TASKS:
        raise ValueError(f"A demo must be of one of {', '.join(TASKS)}. Received: task={name!r}")
    module = importlib.import_module(f"keras_bahdanau.demo.{name}_task")
    return getattr(module, f"{name.title()}Task")()


def write_manifest(directory, name, ending, files):
    """Write (bytes, text) pairs as files `name/0000.ending`, and their manifest NAME.tsv."""
    directory = Path(directory)
    (directory / name).mkdir(parents=True, exist_ok=True)
    lines = []
    for number, (content, text) in enumerate(files):
        path = directory / name / f"{number:04}.{ending}"
        path.write_bytes(content)
        lines.append(f"{name}/{path.name}\t{text}\n")
    (directory / f"{name}.tsv").write_text("".join(lines), encoding="utf-8", newline="\n")


def check_directory(out):
    """Raise FileExistsError for a directory of other files, or of a finished demo."""
    if (out / "report.json").exists():
        raise FileExistsError(
            f"This demo is done already. Received: out={str(out)!r}. "
            "Remove the directory, or choose another one with --out."
        )
    if out.is_dir() and any(out.iterdir()):
        if not (out / MARK).exists() and not (out / "run" / "run.json").exists():
            raise FileExistsError(
                "A demo needs a new directory, or one of an unfinished demo. "
                f"Received: out={str(out)!r}, which holds other files. Choose another one with "
                "--out."
            )
