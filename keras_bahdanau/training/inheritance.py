"""Options of a training that starts from another model: which are inherited, which may change."""

import dataclasses
import os
from pathlib import Path
from typing import NamedTuple

from keras_bahdanau.pipelines.archive import find_translator, read_card
from keras_bahdanau.pipelines.file import read_source
from keras_bahdanau.training.infer import is_same_type, model_types_of_vocabularies, types_of
from keras_bahdanau.training.options import DEFAULTS, MODEL_OPTIONS, ResolvedOptions, fill, resolve
from keras_bahdanau.training.run import Run

# dropout rates that follow from `dropout` if the user gives that
_RATES = ("embedding_dropout", "readout_dropout", "recurrent_dropout", "word_dropout")
_CHANGEABLE = {  # they change the training, but no weight or output of the model
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
_SOFT = {"hard_alignment": "none"}  # or it would be inferred from the pairs
_ADAPTATION_OPTIONS = ("freeze", "update_vocabulary", "appended_pieces")


class InitialModel(NamedTuple):
    """The model that a training starts from, as far as known without loading Keras.

    Attributes:
        path: `Path` of its file.
        inputs: String, the kind of its inputs: see `Source.inputs_are`.
        options: `ResolvedOptions` of its training; None for a file without its run.
        preset: String, the preset of the options; None for that of the model's source.
        resumed: True if the options are those of a run that resumes.
        record: Dictionary, the options that a file records of its training, or None.
    """

    path: Path
    inputs: str
    options: ResolvedOptions | None
    preset: str | None
    resumed: bool = False
    record: dict | None = None

    def inherited(self, requested):
        """Explicit options, completed by those of the model."""
        self.check(requested)
        check_appended(requested)
        preset = requested.preset or self.preset
        if preset is None:
            preset = read_source(read_card(self.path)["source"]).preset  # which loads Keras
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
        """The model's rate of unknown characters, unless new vocabularies rule it out."""
        types = {requested.model_type, requested.source_model_type, requested.target_model_type}
        if requested.update_vocabulary == "replace" and types - {None, "char"}:
            return {}
        before = vars(self.options) if self.options else self.record or {}
        return {"unknown_rate": before.get("unknown_rate") or 0.0}

    def _check_recurrent_dropout(self, options):
        """Raise ValueError if the encoder's layer would change: Keras' own drops no states."""
        before = options if self.options is None else self.options
        if (before.recurrent_dropout == 0) != (options.recurrent_dropout == 0):
            remedy = "0" if before.recurrent_dropout == 0 else "a rate above 0"
            raise ValueError(
                "A model that is adapted has recurrent dropout as before, or none as before, "
                f"recurrent_dropout={before.recurrent_dropout!r}. Received: recurrent_dropout="
                f"{options.recurrent_dropout!r} with the model of {str(self.path)!r}. "
                f"Give {remedy}."
            )

    def _options_of_file(self, requested, names):
        """Options of a file's model; new vocabularies are made as in its training."""
        if requested.update_vocabulary != "replace" or self.record is None:
            return _SOFT
        recorded = {*names} & {*_TEXT_OPTIONS} & {*self.record}
        return _SOFT | {name: self.record[name] for name in recorded}

    def _inherited_names(self, requested):
        """Names of the options that are inherited from the model if left out.

        Guided alignment is not inherited, since it belongs to the pairs; nor is a side's option if
        the option of both sides is given, or `joint` with a side's option.
        """
        names = {*requested.explicit()}
        fixed = {f"{side}_{name}" for side in ("source", "target") for name in names}
        if names & {name for name in _TEXT_OPTIONS if name.startswith(("source_", "target_"))}:
            fixed.add("joint")  # it follows from the sides
        if not self.resumed:
            fixed.add("guided_alignment")
        return [name for name in (*MODEL_OPTIONS, *_TEXT_OPTIONS) if name not in fixed]

    def check(self, requested):
        names = _names_of_model(requested.update_vocabulary)
        for name, value in requested.explicit().items():
            if name not in names:
                continue
            if self.options is None:
                # alignments belong to the pairs of a training
                if name != "guided_alignment" and value != _SOFT.get(name):
                    raise ValueError(
                        "The model of a file without the run.json of its training is taken as it "
                        f"is. Received: {name}={value!r} with the model of {str(self.path)!r}. "
                        "Leave it out, or give the directory of the training that began with new "
                        "weights."
                    )
                continue
            before = getattr(self.options, name)
            if value != before and name not in _CHANGEABLE:
                raise ValueError(
                    f"A model that is adapted keeps its options, {name}={before!r}. Received: "
                    f"{name}={value!r} with the model of {str(self.path)!r}. Leave it out, or "
                    "train a new model."
                )


def _names_of_model(update_vocabulary):
    return (*MODEL_OPTIONS, *(() if update_vocabulary == "replace" else _TEXT_OPTIONS))


def record_of(options, initial):
    """The options by name that a pipeline's file records of its training.

    For an initial model without a run, the record of its file. `initial` is the card of
    `Adaptation`.
    """
    record = dataclasses.asdict(options)
    if not initial or initial["model"] is None:
        return record
    names = {*_names_of_model(options.update_vocabulary), "preset"} - {"guided_alignment"}
    before = initial.get("training") or {}
    inherited = {name: value for name, value in before.items() if name in names}
    return {name: value for name, value in record.items() if name not in names} | inherited


def initial_model(run, path):
    """The `InitialModel` of a training, from the card of its run or from a path; None for none."""
    if run.exists():
        card = run.initial()
        before = None if card is None else card["path"]
        if path is not None and os.path.abspath(path) not in (before, _directory(before)):
            raise ValueError(
                f"A run resumes with the model it began with, that of {before!r}. Received: that "
                f"of {str(path)!r}. Leave it out, or choose another output directory."
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
    inputs = card.get("inputs", "lines")  # files of version 0.1.0 are of text
    if run.exists() and path == run.translator and not (run.initial() or {}).get("model"):
        options = run.options()
        return InitialModel(path, inputs, options, options.preset)
    return InitialModel(path, inputs, None, None, record=card.get("training"))


def _directory(path):
    return None if path is None else os.path.dirname(path)


def check_vocabulary_pairs(requested, pairs, are_known):
    """Raise ValueError if there is new text but no vocabulary to update, as with shards."""
    if pairs is None:
        return
    if requested.update_vocabulary in (None, "none"):
        raise ValueError(
            "`vocabulary_pairs` are for a training that updates its vocabularies. Received: "
            f"{len(pairs):,} vocabulary_pairs with update_vocabulary='none'. Give 'append' or "
            "'replace', or leave them out."
        )
    if are_known and requested.update_vocabulary == "replace":
        raise ValueError(
            "`vocabulary_pairs` are for vocabularies that are learnt. Received: "
            f"{len(pairs):,} vocabulary_pairs with vocabularies that are there already, such as "
            "those of shards. Leave them out."
        )


def check_appended(requested):
    """Raise ValueError if a number of new pieces is given but none are appended."""
    pieces, update = requested.appended_pieces, requested.update_vocabulary or "none"
    if pieces not in (None, DEFAULTS.appended_pieces) and update != "append":
        raise ValueError(
            "`appended_pieces` is for update_vocabulary='append'. Received: "
            f"appended_pieces={pieces!r} with update_vocabulary={update!r}. Give that, or leave it "
            "out."
        )


def check_none_learned(requested, source, target):
    """Raise ValueError if an option for learning vocabularies is given with all vocabularies.

    A model type or size is accepted if it equals the vocabulary's.
    """
    defaults = fill({} if requested.preset is None else {"preset": requested.preset})
    sizes = source.size, target.vocabulary_size
    explicit = requested.explicit()
    for name in _LEARNING:
        value = explicit.get(name)
        if value not in (None, getattr(defaults, name), *sizes):
            raise ValueError(
                f"`{name}` is for vocabularies that are learnt from the pairs. Received: "
                f"{name}={value!r} with those of shards, or of a teacher. Leave it out."
            )
    for side, actual in types_of(source, target).items():
        name = f"{side}_model_type"
        name = name if name in explicit else "model_type"
        if not is_same_type(explicit.get(name), actual):
            raise ValueError(
                f"`{name}` is for vocabularies that are learnt from the pairs. Received: "
                f"{name}={explicit[name]!r} with those of shards, or of a teacher, whose "
                f"{side} is of {actual!r}. Leave it out."
            )
    # or report now that the types contradict other options
    resolve({**explicit, **model_types_of_vocabularies(explicit, source, target).values})


def check_no_adaptation(requested):
    """Raise ValueError if options that are only for an adaptation are given."""
    for name in _ADAPTATION_OPTIONS:
        value = getattr(requested, name)
        if value not in (None, getattr(DEFAULTS, name)):
            raise ValueError(
                f"`{name}` is for a training that starts from a model. Received: "
                f"{name}={value!r} without one. Give `initial` (--from), or leave it out."
            )
