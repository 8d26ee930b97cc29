"""The part of a demo that depends on its task: data, settings, figures, pictures."""

import abc
import importlib
from pathlib import Path

CLASS_OF = {
    "text": ("text_task", "TextTask"),
    "images": ("digits_task", "DigitsTask"),
    "speech": ("tones_task", "TonesTask"),
}


class Task(abc.ABC):
    """One task of the demo, whose steps `tour.run` takes.

    Attributes:
        options: `TrainingOptions`.
        verb: String, such as "Translating": what is done with the test.
    """

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
        """Write the examples of a part to a directory, as commands read them."""

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
    def measured(self, pipeline, test, results):
        """Dictionary of figures: the results for the test against its texts."""

    def examples(self, test):
        """Numbers of a few examples of the test that are worth showing."""
        return [0, 1, 2]

    @abc.abstractmethod
    def picture(self, pipeline, test, results):
        """Figure of the attention."""

    @abc.abstractmethod
    def summary(self, report):
        """String: the figures in words."""

    @abc.abstractmethod
    def then(self, out):
        """String: commands to try next, a line each."""


def task_of(name):
    """The `Task` of that name.

    Raises:
        ValueError: If there is none.
    """
    if name not in CLASS_OF:
        raise ValueError(f"A demo must be of one of {', '.join(CLASS_OF)}. Received: task={name!r}")
    module, kind = CLASS_OF[name]
    return getattr(importlib.import_module(f"keras_bahdanau.demo.{module}"), kind)()


def write_manifest(directory, name, ending, files):
    """Write files, and NAME.tsv, their manifest.

    Args:
        directory: Path of a directory; made if absent.
        name: String, the folder of the files in it.
        ending: String, that of the names of the files.
        files: Iterable of (bytes, text).
    """
    directory = Path(directory)
    (directory / name).mkdir(parents=True, exist_ok=True)
    lines = []
    for number, (content, text) in enumerate(files):
        path = directory / name / f"{number:04}.{ending}"
        path.write_bytes(content)
        lines.append(f"{name}/{path.name}\t{text}\n")
    (directory / f"{name}.tsv").write_text("".join(lines), encoding="utf-8", newline="\n")
