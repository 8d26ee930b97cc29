"""Options when training starts from another model: which are inherited, and which may change."""

import dataclasses
import os
from pathlib import Path
from typing import NamedTuple

from keras_bahdanau.pipelines.archive import find_translator, read_card
from keras_bahdanau.pipelines.file import read_source
from keras_bahdanau.training.infer import is_same_type, model_types_of_vocabularies, types_of
from keras_bahdanau.training.options import DEFAULTS, MODEL_OPTIONS, ResolvedOptions, fill, resolve
from keras_bahdanau.training.run import Run

# dropout rates that are derived from `dropout` if the user gives it
_RATES = ("embedding_dropout", "readout_dropout", "recurrent_dropout", "word_dropout")
_CHANGEABLE = {  # these change the training, but no weight or output of the model
    *("dropout", "context_dropout", "augmentation", *_RATES),
    *("guided_alignment", "r_drop"),
}
_LEARNING = (  # used only to learn a vocabulary
    *("vocabulary_size", "source_vocabulary_size", "target_vocabulary_size"),
    *("normalization", "source_normalization", "target_normalization"),
)
_TEXT_OPTIONS = (
    *_LEARNING,
    *("model_type", "source_model_type", "target_model_type", "joint"),
)
_SOFT = {"hard_alignment": "none"}  # otherwise it would be inferred from the pairs
_ADAPTATION_OPTIONS = ("freeze", "update_vocabulary", "appended_pieces")


class InitialModel(NamedTuple):
    """The model that training starts from, with the properties that can be read without Keras.

    Attributes:
        path: `Path` of its file.
        inputs: String, the form of its inputs: see `Source.inputs_are`.
        options: `ResolvedOptions` of its training; None for a file without its run directory.
        preset: String, the preset in the options; None for the preset of the model's source.
        resumed: True if the options are those of a run that is being resumed.
        record: Dictionary of the training options that the file records, or None.
    """

    path: Path
    inputs: str
    options: ResolvedOptions | None
    preset: str | None
    resumed: bool = False
    record: dict | None = None

    def inherited(self, requested):
        """Return the explicit options, completed by those of the model."""
        self.check(requested)
        check_appended(requested)
        preset = requested.preset or self.preset
        if preset is None:
            preset = read_source(read_card(self.path)["source"]).preset  # loads Keras
        explicit = {**requested.explicit(), "preset": preset}
        names = self._inherited_names(requested)
        if self.options is None:
            before = self._options_of_file(requested, names)
        else:
            before = {name: getattr(self.options, name) for name in names}
        following = {*_RATES} if "dropout" in explicit else set()
        if before.get("recurrent_dropout") == 0:
            following -= {"recurrent_dropout"}
        inherited = {name: value for name, value in before.items() if name not in following}
        values = {**self._unknown_rate(requested), **inherited, **explicit}
        self._check_recurrent_dropout(fill(values))
        return values

    def _unknown_rate(self, requested):
        """Return the model's `unknown_rate`, unless new vocabularies can't support it."""
        types = {requested.model_type, requested.source_model_type, requested.target_model_type}
        if requested.update_vocabulary == "replace" and types - {None, "char"}:
            return {}
        before = vars(self.options) if self.options else self.record or {}
        return {"unknown_rate": before.get("unknown_rate") or 0.0}

    def _check_recurrent_dropout(self, options):
        """Raise ValueError if turning recurrent dropout on or off changes the encoder's layers."""
        before = options if self.options is None else self.options
        if (before.recurrent_dropout == 0) != (options.recurrent_dropout == 0):
            remedy = "0" if before.recurrent_dropout == 0 else "a rate above 0"
            raise ValueError(
                "Fine-tuning can't turn recurrent dropout on or off: the model has "
                f"recurrent_dropout={before.recurrent_dropout!r}. Received: recurrent_dropout="
                f"{options.recurrent_dropout!r} with the model in {str(self.path)!r}. "
                f"Give {remedy}."
            )

    def _options_of_file(self, requested, names):
        """Return the options recorded in a file, which are needed only to replace vocabularies."""
        if requested.update_vocabulary != "replace" or self.record is None:
            return _SOFT
        recorded = {*names} & {*_TEXT_OPTIONS} & {*self.record}
        return _SOFT | {name: self.record[name] for name in recorded}

    def _inherited_names(self, requested):
        """Return the names of the options that are inherited from the model if left out.

        `guided_alignment` is not inherited, because it depends on the pairs. The option for one
        side is not inherited if the option for both sides is given, and `joint` is not inherited if
        an option for one side is given.
        """
        names = {*requested.explicit()}
        fixed = {f"{side}_{name}" for side in ("source", "target") for name in names}
        if names & {name for name in _TEXT_OPTIONS if name.startswith(("source_", "target_"))}:
            fixed.add("joint")  # which is derived from the sides
        if not self.resumed:
            fixed.add("guided_alignment")
        return [name for name in (*MODEL_OPTIONS, *_TEXT_OPTIONS) if name not in fixed]

    def check(self, requested):
        names = _names_of_model(requested.update_vocabulary)
        for name, value in requested.explicit().items():
            if name not in names:
                continue
            if self.options is None:
                # alignments depend on the training pairs
                if name != "guided_alignment" and value != _SOFT.get(name):
                    raise ValueError(
                        "Without the run.json of its training run, a model can't be changed. "
                        f"Received: {name}={value!r} with the model in {str(self.path)!r}. "
                        "Leave it out, or give the output directory of the run that trained the "
                        "model from scratch."
                    )
                continue
            before = getattr(self.options, name)
            if value != before and name not in _CHANGEABLE:
                raise ValueError(
                    f"A model that is fine-tuned keeps its options, {name}={before!r}. Received: "
                    f"{name}={value!r} with the model in {str(self.path)!r}. Leave it out, or "
                    "train a new model."
                )


def _names_of_model(update_vocabulary):
    return (*MODEL_OPTIONS, *(() if update_vocabulary == "replace" else _TEXT_OPTIONS))


def record_of(options, initial):
    """Return a dictionary of the training options to record in a pipeline's file.

    If training started from a file without a run, the options of the model are those that this file
    recorded. `initial` is the card of `Adaptation`, or None.
    """
    record = dataclasses.asdict(options)
    if not initial or initial["model"] is None:
        return record
    names = {*_names_of_model(options.update_vocabulary), "preset"} - {"guided_alignment"}
    before = initial.get("training") or {}
    inherited = {name: value for name, value in before.items() if name in names}
    return {name: value for name, value in record.items() if name not in names} | inherited


def initial_model(run, path):
    """Return the `InitialModel` from the card of a run, or from a path; None for a new model."""
    if run.exists():
        card = run.initial()
        before = None if card is None else card["path"]
        if path is not None and os.path.abspath(path) not in (before, _directory(before)):
            raise ValueError(
                f"A run resumes with the model it began with, {before!r}. Received: another "
                f"model, {str(path)!r}. Leave it out, or choose another output directory."
            )
        if card is not None:
            options = run.options()
            return InitialModel(
                Path(before),
                card["inputs"],
                options if card["model"] is None else None,
                options.preset,
                resumed=True,
                record=card.get("training"),
            )
    elif path is not None:
        return _read(Path(path))
    return None


def _read(path):
    path = find_translator(path)
    card = read_card(path)
    run = Run(path.parent)
    inputs = card.get("inputs", "lines")  # version 0.1.0 had only text models
    if run.exists() and path == run.translator and not (run.initial() or {}).get("model"):
        options = run.options()
        return InitialModel(path, inputs, options, options.preset)
    return InitialModel(path, inputs, None, None, record=card.get("training"))


def _directory(path):
    return None if path is None else os.path.dirname(path)


def check_vocabulary_pairs(requested, pairs, are_known):
    """Raise ValueError if there is new text, but no vocabulary to update, as with shards."""
    if pairs is None:
        return
    if requested.update_vocabulary in (None, "none"):
        raise ValueError(
            "`vocabulary_pairs` are only for updating vocabularies. Received: "
            f"{len(pairs):,} vocabulary_pairs with update_vocabulary='none'. Use 'append' or "
            "'replace', or leave them out."
        )
    if are_known and requested.update_vocabulary == "replace":
        raise ValueError(
            "`vocabulary_pairs` are only for vocabularies that are learned. Received: "
            f"{len(pairs):,} vocabulary_pairs with existing vocabularies, such as those of shards. "
            "Leave them out."
        )


def check_appended(requested):
    """Raise ValueError if `appended_pieces` is given, but no pieces are appended."""
    pieces, update = requested.appended_pieces, requested.update_vocabulary or "none"
    if pieces not in (None, DEFAULTS.appended_pieces) and update != "append":
        raise ValueError(
            "`appended_pieces` needs update_vocabulary='append'. Received: "
            f"appended_pieces={pieces!r} with update_vocabulary={update!r}. Add "
            "update_vocabulary='append', or leave out appended_pieces."
        )


def check_none_learned(requested, source, target):
    """Raise ValueError if an option for learning vocabularies is given, but both already exist.

    A model type or a size that equals that of the vocabulary is accepted.
    """
    defaults = fill({} if requested.preset is None else {"preset": requested.preset})
    sizes = source.size, target.vocabulary_size
    explicit = requested.explicit()
    for name in _LEARNING:
        value = explicit.get(name)
        if value not in (None, getattr(defaults, name), *sizes):
            raise ValueError(
                f"`{name}` is only for vocabularies that are learned from the pairs. Received: "
                f"{name}={value!r} with the vocabularies of shards or of a teacher. Leave it out."
            )
    for side, actual in types_of(source, target).items():
        name = f"{side}_model_type"
        name = name if name in explicit else "model_type"
        if not is_same_type(explicit.get(name), actual):
            raise ValueError(
                f"`{name}` is only for vocabularies that are learned from the pairs. Received: "
                f"{name}={explicit[name]!r} with the vocabularies of shards or of a teacher, where "
                f"the model type of the {side} is {actual!r}. Leave it out."
            )
    # raises an error now if the types contradict other options
    resolve({**explicit, **model_types_of_vocabularies(explicit, source, target).values})


def check_no_adaptation(requested):
    """Raise ValueError if options that are only for fine-tuning are given."""
    for name in _ADAPTATION_OPTIONS:
        value = getattr(requested, name)
        if value not in (None, getattr(DEFAULTS, name)):
            raise ValueError(
                f"`{name}` is only for fine-tuning an existing model. Received: "
                f"{name}={value!r} without a model. Add `initial` (--from), or leave it out."
            )
