"""The tasks of the demo: their data, settings, results and plots, and the output directory."""

import abc
import importlib
from pathlib import Path

TASKS = {  # name (of the module NAME_task, with a class NameTask) -> help
    "text": "English to French",
    "images": "captions for handwritten digits from scikit-learn",
    "speech": "synthetic speech",
}
MARK = ".demo"  # file that marks the directory of a demo


class Task(abc.ABC):
    """A task of the demo, which `tour.run` runs. `verb`, such as "Translating", is for messages."""

    options = None
    verb = "Reading"

    def source(self):
        """Return the `Source`, or None for text with a learned vocabulary."""
        return None

    @abc.abstractmethod
    def data(self):
        """Return three lists of examples, for training, validation and testing."""

    @abc.abstractmethod
    def write(self, directory, name, examples):
        """Write the examples of a part to a directory, in files that the commands can read."""

    @abc.abstractmethod
    def describe(self, training):
        """Return (description of the data, list of strings with one example)."""

    @abc.abstractmethod
    def pair(self, example):
        """Return (input, text) of an example."""

    @abc.abstractmethod
    def name_of(self, example):
        """Return the name of an example's input, for the printed answers."""

    @abc.abstractmethod
    def measure(self, pipeline, test, results):
        """Return a dictionary of metrics for the test results."""

    def highlights(self, test):
        """Return the indices of a few test examples to print."""
        return [0, 1, 2]

    @abc.abstractmethod
    def picture(self, pipeline, test, results):
        """Return a plot of the attention as a matplotlib figure."""

    @abc.abstractmethod
    def summary(self, report):
        """Return a summary of the metrics as a string."""

    @abc.abstractmethod
    def next_commands(self, out):
        """Return a string of commands to try next, one per line."""


def task_of(name):
    """Create the `Task` with a given name."""
    if name not in TASKS:
        raise ValueError(f"`task` must be one of {', '.join(TASKS)}. Received: task={name!r}")
    module = importlib.import_module(f"keras_bahdanau.demo.{name}_task")
    return getattr(module, f"{name.title()}Task")()


def write_manifest(directory, name, ending, files):
    """Write (bytes, text) pairs to files `name/0000.ending`, with a manifest `name.tsv`."""
    directory = Path(directory)
    (directory / name).mkdir(parents=True, exist_ok=True)
    lines = []
    for number, (content, text) in enumerate(files):
        path = directory / name / f"{number:04}.{ending}"
        path.write_bytes(content)
        lines.append(f"{name}/{path.name}\t{text}\n")
    (directory / f"{name}.tsv").write_text("".join(lines), encoding="utf-8", newline="\n")


def check_directory(out):
    """Raise FileExistsError if a directory contains a finished demo, or other files."""
    if (out / "report.json").exists():
        raise FileExistsError(
            f"This demo has already finished. Received: out={str(out)!r}. "
            "Remove the directory, or choose another one with --out."
        )
    if out.is_dir() and any(out.iterdir()):
        if not (out / MARK).exists() and not (out / "run" / "run.json").exists():
            raise FileExistsError(
                "A demo needs a new directory, or that of an unfinished demo. "
                f"Received: out={str(out)!r}, which contains other files. Choose another one with "
                "--out."
            )
