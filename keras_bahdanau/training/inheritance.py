"""Options of a training that begins with another model: what it keeps, and what may change."""

import dataclasses
import os
from pathlib import Path
from typing import NamedTuple

from keras_bahdanau.pipelines.file import find_translator, read_card, read_source
from keras_bahdanau.training.options import MODEL_OPTIONS, TrainingOptions
from keras_bahdanau.training.run import Run

# dropout rates that follow from `dropout` where that is given
_RATES = ("embedding_dropout", "readout_dropout", "recurrent_dropout", "word_dropout")
_CHANGEABLE = {  # they change the training, and no weight or sum of the model
    *("dropout", "context_dropout", "augmentation", *_RATES),
    *("guided_alignment", "doubly_stochastic", "r_drop"),
}
_OF_TEXT = (
    *("vocabulary_size", "source_vocabulary_size", "target_vocabulary_size", "normalization"),
    *("model_type", "source_model_type", "target_model_type", "joint"),
)
_OF_ADAPTATION = ("freeze", "update_vocabulary", "appended_pieces")


class InitialModel(NamedTuple):
    """The model that a training begins with, as far as it is known without Keras.

    Attributes:
        path: `Path` of its file.
        inputs: String, the form of its inputs: see `Source.inputs_are`.
        preset: String, the preset of options that are left out.
        options: `TrainingOptions` of its own training, resolved; None for a file without a run
            around it, whose model is taken as it is.
    """

    path: Path
    inputs: str
    preset: str
    options: TrainingOptions | None

    def inherited(self, options):
        """Options with those of the model where they are left out.

        Args:
            options: `TrainingOptions`.

        Raises:
            ValueError: If an option contradicts the model.
        """
        options = dataclasses.replace(options, preset=options.preset or self.preset)
        given = {name: value for name, value in vars(options).items() if value is not None}
        replaces = options.resolved().update_vocabulary == "replace"
        of_text = () if replaces else _OF_TEXT
        if self.options is None:
            return self._checked_as_it_is(options, given, of_text)
        kept = {name: getattr(self.options, name) for name in (*MODEL_OPTIONS, *of_text)}
        for name, value in given.items():
            if name in kept and name not in _CHANGEABLE and value != kept[name]:
                raise ValueError(
                    f"A model that is adapted keeps its options, {name}={kept[name]!r}. Received: "
                    f"{name}={value!r} with initial={str(self.path)!r}. Leave it out, or train "
                    "a new model."
                )
        following = _RATES if "dropout" in given else ()
        left_out = {name: kept[name] for name in kept if name not in {*given, *following}}
        return dataclasses.replace(options, **left_out)

    def _checked_as_it_is(self, options, given, of_text):
        """The same options, if none of them is one of the model."""
        for name, value in given.items():
            if name in (*MODEL_OPTIONS, *of_text) or (name, value) == ("precision", "bfloat16"):
                raise ValueError(
                    "The model of a file without the run.json of its training is taken as it is. "
                    f"Received: {name}={value!r} with initial={str(self.path)!r}. Leave it out, "
                    "or give the directory of the training."
                )
        return options


def initial_model(run, path, options):
    """The model that a training begins with, or began with.

    A run that has begun has it in its card, and needs no file of it.

    Args:
        run: `Run`.
        path: Path of a `.keras` file or of a run directory; None for none.
        options: `TrainingOptions`.

    Returns:
        `InitialModel`, or None.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is none, the run began with another one or with none, or there are
            options of an adaptation without a model.

    Example:
        >>> model = initial_model(Run("runs/medical"), "runs/en-de", options)
        >>> options = model.inherited(options)
    """
    if run.begun():
        begun = run.initial()
        before = None if begun is None else begun["path"]
        if path is not None and os.path.abspath(path) not in (before, _directory(before)):
            raise ValueError(
                f"A run resumes with the model it began with, initial={before!r}. Received: "
                f"initial={str(path)!r}. Leave it out, or choose another output directory."
            )
        if begun is not None:
            known = run.options(TrainingOptions) if begun["model"] is None else None
            preset = run.options(TrainingOptions).preset
            return InitialModel(Path(before), begun["inputs"], preset, known)
    elif path is not None:
        return _found(Path(path))
    _check_no_adaptation(options)
    return None


def _found(path):
    """The `InitialModel` of a path."""
    path = find_translator(path)
    card = read_card(path)
    run = Run(path.parent)
    inputs = card.get("inputs", "lines")  # files of version 0.1.0 are of text
    if run.begun() and path == run.translator and not (run.initial() or {}).get("model"):
        options = run.options(TrainingOptions)
        return InitialModel(path, inputs, options.preset, options)
    return InitialModel(path, inputs, read_source(card["source"]).preset, None)


def _directory(path):
    return None if path is None else os.path.dirname(path)


def _check_no_adaptation(options):
    defaults = TrainingOptions().resolved()
    for name in _OF_ADAPTATION:
        if getattr(options, name) not in (None, getattr(defaults, name)):
            raise ValueError(
                f"`{name}` is for a training that begins with a model. Received: "
                f"{name}={getattr(options, name)!r} without one. Give `initial` (--from), or leave "
                "it out."
            )
