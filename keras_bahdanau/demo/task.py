"""Tasks of the demo: their data, settings, results and pictures, and the directory."""

import abc
import importlib
from pathlib import Path

TASKS = {  # name (of the module NAME_task, with a class NameTask) -> help
    "text": "English to French",
    "images": "captions of handwritten digits, with scikit-learn",
    "speech": "synthetic",
}
MARK = ".demo"  # file that marks the directory of a demo


class Task(abc.ABC):
    """One task of the demo, run by `tour.run`; `verb`, such as "Translating", is for messages."""

    options = None
    verb = "Reading"

    def source(self):
        """The `Source`; None for text, whose vocabulary is learned."""
        return None

    @abc.abstractmethod
    def data(self):
        """Three lists of examples: training, validation and test."""

    @abc.abstractmethod
    def write(self, directory, name, examples):
        """Write the examples of a part to a directory, in files that the commands read."""

    @abc.abstractmethod
    def describe(self, training):
        """(string that describes the data, list of strings with one example)."""

    @abc.abstractmethod
    def pair(self, example):
        """(input, text) of an example."""

    @abc.abstractmethod
    def name_of(self, example):
        """String: the name of an example's input in the printed answers."""

    @abc.abstractmethod
    def measure(self, pipeline, test, results):
        """Dictionary of metrics of the test results."""

    def highlights(self, test):
        """Numbers of a few examples of the test to print."""
        return [0, 1, 2]

    @abc.abstractmethod
    def picture(self, pipeline, test, results):
        """Plot of the attention, a matplotlib figure."""

    @abc.abstractmethod
    def summary(self, report):
        """String: summary of the metrics."""

    @abc.abstractmethod
    def next_commands(self, out):
        """String: commands to try next, one per line."""


def task_of(name):
    """The `Task` with this name."""
    if name not in TASKS:
        raise ValueError(f"`task` must be one of {', '.join(TASKS)}. Received: task={name!r}")
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
    """Raise FileExistsError if a directory has other files, or a finished demo."""
    if (out / "report.json").exists():
        raise FileExistsError(
            f"This demo has already finished. Received: out={str(out)!r}. "
            "Remove the directory, or choose another one with --out."
        )
    if out.is_dir() and any(out.iterdir()):
        if not (out / MARK).exists() and not (out / "run" / "run.json").exists():
            raise FileExistsError(
                "A demo needs a new directory, or that of an unfinished demo. "
                f"Received: out={str(out)!r}, which holds other files. Choose another one with "
                "--out."
            )
