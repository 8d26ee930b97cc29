"""Options of a training that begins with another model: what it keeps, and what may change."""

import dataclasses
import os
from pathlib import Path
from typing import NamedTuple

from keras_bahdanau.pipelines.file import find_translator, read_card, read_source
from keras_bahdanau.training.model_types import same_type, types_of, with_given_types
from keras_bahdanau.training.options import MODEL_OPTIONS, TrainingOptions
from keras_bahdanau.training.run import Run

# dropout rates that follow from `dropout` where that is given
_RATES = ("embedding_dropout", "readout_dropout", "recurrent_dropout", "word_dropout")
_CHANGEABLE = {  # they change the training, and no weight or sum of the model
    *("dropout", "context_dropout", "augmentation", *_RATES),
    *("guided_alignment", "r_drop"),
}
_LEARNT = (  # which nothing but the learning of a vocabulary reads
    *("vocabulary_size", "source_vocabulary_size", "target_vocabulary_size"),
    *("normalization", "source_normalization", "target_normalization"),
)
_OF_TEXT = (
    *_LEARNT,
    *("model_type", "source_model_type", "target_model_type", "joint"),
)
_AS_IT_IS = {"hard_alignment": "none"}  # or it would be found from the pairs
_OF_ADAPTATION = ("freeze", "update_vocabulary", "appended_pieces")


class InitialModel(NamedTuple):
    """The model that a training begins with, as far as it is known without Keras.

    Attributes:
        path: `Path` of its file.
        inputs: String, the form of its inputs: see `Source.inputs_are`.
        options: `TrainingOptions` of its own training, resolved; None for a file without a run
            around it, whose model is taken as it is.
        preset: String, the preset of the options; None for that of the model's source.
        resumed: Bool. True if the options are those of a run that goes on.
        record: Dictionary, the options that a file has of its training; None if it has none.
    """

    path: Path
    inputs: str
    options: TrainingOptions | None
    preset: str | None
    resumed: bool = False
    record: dict | None = None

    def inherited(self, options):
        """Options with those of the model where they are left out.

        Args:
            options: `TrainingOptions`.

        Raises:
            ValueError: If an option contradicts the model.
        """
        self.check(options)
        check_appended(options)
        preset = options.preset or self.preset
        if preset is None:
            preset = read_source(read_card(self.path)["source"]).preset  # which loads Keras
        given = {**_given(options), "preset": preset}
        names = self._inherited_names(options)
        as_it_is = self.options is None
        kept = self._as_it_is(options, names) if as_it_is else _kept(self.options, names)
        following = {*_RATES} if "dropout" in given else set()
        if kept.get("recurrent_dropout") == 0:
            following -= {"recurrent_dropout"}
        inherited = {name: kept[name] for name in kept if name not in following}
        found = TrainingOptions(**{**self._copying(options), **inherited, **given})
        self._check_recurrent_dropout(found.resolved())
        return found

    def _copying(self, options):
        """The rate of unknown characters, as before, unless new vocabularies have none."""
        types = {options.model_type, options.source_model_type, options.target_model_type}
        if options.update_vocabulary == "replace" and types - {None, "char"}:
            return {}
        before = vars(self.options) if self.options else self.record or {}
        return {"unknown_rate": before.get("unknown_rate") or 0.0}

    def _check_recurrent_dropout(self, options):
        """Raise ValueError if the encoder would be of another layer: Keras' own drops no states."""
        before = options if self.options is None else self.options
        if (before.recurrent_dropout == 0) != (options.recurrent_dropout == 0):
            mend = "0" if before.recurrent_dropout == 0 else "a rate above 0"
            raise ValueError(
                "A model that is adapted has recurrent dropout as before, or none as before, "
                f"recurrent_dropout={before.recurrent_dropout!r}. Received: recurrent_dropout="
                f"{options.recurrent_dropout!r} with the model of {str(self.path)!r}. Give {mend}."
            )

    def _as_it_is(self, options, names):
        """Options of a file's model; new vocabularies are made as those of its training were."""
        if options.update_vocabulary != "replace" or self.record is None:
            return _AS_IT_IS
        recorded = {*names} & {*_OF_TEXT} & {*self.record}
        return _AS_IT_IS | {name: self.record[name] for name in recorded}

    def _inherited_names(self, options):
        """Names of the options that are the model's where they are left out.

        Guided alignment is not among them: alignments belong to the pairs of a training. New
        vocabularies are made as the old ones were, but where an option for both sides, or for
        one, is given.
        """
        given = {*_given(options)}
        others = {f"{side}_{name}" for side in ("source", "target") for name in given}
        if given & {name for name in _OF_TEXT if name.startswith(("source_", "target_"))}:
            others.add("joint")  # it follows from the sides
        if not self.resumed:
            others.add("guided_alignment")
        return [name for name in (*MODEL_OPTIONS, *_OF_TEXT) if name not in others]

    def check(self, options):
        """Raise ValueError if an option contradicts the model.

        Args:
            options: `TrainingOptions`.
        """
        if self.options is None:
            self._check_as_it_is(options)
            return
        for name, value in _kept(options, _of_model(options)).items():
            before = getattr(self.options, name)
            if value not in (None, before) and name not in _CHANGEABLE:
                raise ValueError(
                    f"A model that is adapted keeps its options, {name}={before!r}. Received: "
                    f"{name}={value!r} with the model of {str(self.path)!r}. Leave it out, or "
                    "train a new model."
                )

    def _check_as_it_is(self, options):
        """Raise ValueError if an option is one of a model that is taken as it is."""
        for name, value in _given(options).items():
            # alignments belong to the pairs of a training
            kept = name in _of_model(options) and name != "guided_alignment"
            if kept and value != _AS_IT_IS.get(name):
                raise ValueError(
                    "The model of a file without the run.json of its training is taken as it is. "
                    f"Received: {name}={value!r} with the model of {str(self.path)!r}. Leave it "
                    "out, or give the directory of the training that began with new weights."
                )


def _kept(options, names):
    """Dictionary of the options of these names."""
    return {name: getattr(options, name) for name in names}


def _given(options):
    """Dictionary of the options that are not left out."""
    names = [field.name for field in dataclasses.fields(options)]
    return {name: value for name, value in _kept(options, names).items() if value is not None}


def _of_model(options):
    """Names of the options that a model has already."""
    of_text = () if options.update_vocabulary == "replace" else _OF_TEXT
    return (*MODEL_OPTIONS, *of_text)


def record_of(options, initial):
    """The record of a training that a pipeline's file has: its options, by their names.

    Those of a model that was taken as it is are of the training before, of which its file told.

    Args:
        options: `TrainingOptions`, resolved.
        initial: The card of the model that the training began with: see `Adaptation`; or None.

    Returns:
        Dictionary; without the options of the model if nobody knows them.
    """
    record = dataclasses.asdict(options)
    if not initial or initial["model"] is None:
        return record
    of_model = {*_of_model(options), "preset"} - {"guided_alignment"}
    before = initial.get("training") or {}
    own = {name: value for name, value in before.items() if name in of_model}
    return {name: value for name, value in record.items() if name not in of_model} | own


def initial_model(run, path):
    """The model that a training begins with, or began with.

    A run that has begun has it in its card, and needs no file of it.

    Args:
        run: `Run`.
        path: Path of a `.keras` file or of a run directory; None for none.

    Returns:
        `InitialModel`, or None.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is none, or the run began with another one or with none.

    Example:
        >>> model = initial_model(Run("runs/medical"), "runs/en-de")
        >>> options = model.inherited(options)
    """
    if run.begun():
        begun = run.initial()
        before = None if begun is None else begun["path"]
        if path is not None and os.path.abspath(path) not in (before, _directory(before)):
            raise ValueError(
                f"A run resumes with the model it began with, that of {before!r}. Received: that "
                f"of {str(path)!r}. Leave it out, or choose another output directory."
            )
        if begun is not None:
            options = run.options(TrainingOptions)
            known = options if begun["model"] is None else None
            about = {"resumed": True, "record": begun.get("training")}
            return InitialModel(Path(before), begun["inputs"], known, options.preset, **about)
    elif path is not None:
        return _found(Path(path))
    return None


def _found(path):
    """The `InitialModel` of a path."""
    path = find_translator(path)
    card = read_card(path)
    run = Run(path.parent)
    inputs = card.get("inputs", "lines")  # files of version 0.1.0 are of text
    if run.begun() and path == run.translator and not (run.initial() or {}).get("model"):
        options = run.options(TrainingOptions)
        return InitialModel(path, inputs, options, options.preset)
    return InitialModel(path, inputs, None, None, record=card.get("training"))


def _directory(path):
    return None if path is None else os.path.dirname(path)


def check_vocabulary_pairs(options, pairs, given):
    """Raise ValueError if there is new text, and no vocabulary is updated by it.

    Args:
        options: `TrainingOptions`.
        pairs: List of pairs, or None.
        given: True if the vocabularies are given, as by shards, and none is learnt.
    """
    if pairs is None:
        return
    if options.update_vocabulary in (None, "none"):
        raise ValueError(
            "Pairs for the vocabularies are for a training that updates them. Received: "
            f"{len(pairs):,} vocabulary_pairs with update_vocabulary='none'. Give 'append' or "
            "'replace', or leave them out."
        )
    if given and options.update_vocabulary == "replace":
        raise ValueError(
            "Pairs for the vocabularies are for those that are learnt. Received: "
            f"{len(pairs):,} vocabulary_pairs with vocabularies that are there already, such as "
            "those of shards. Leave them out."
        )


def check_appended(options):
    """Raise ValueError if there is a number of new pieces, and none are appended."""
    usual = TrainingOptions().resolved().appended_pieces
    if options.appended_pieces not in (None, usual) and options.update_vocabulary != "append":
        raise ValueError(
            "`appended_pieces` is for update_vocabulary='append'. Received: "
            f"appended_pieces={options.appended_pieces!r} with update_vocabulary="
            f"{options.update_vocabulary or 'none'!r}. Give that, or leave it out."
        )


def check_none_learnt(options, source, target):
    """Raise ValueError if an option is of vocabularies that are learnt: none is.

    A model type may be said if it is that of the vocabulary.

    Args:
        options: `TrainingOptions`, not resolved, of a training that begins now.
        source: `Source` of shards, or of a teacher.
        target: Their `Subwords`.
    """
    usual = TrainingOptions(preset=options.preset).resolved()
    sizes = source.size, target.vocabulary_size  # which may be said
    for name in _LEARNT:
        value = getattr(options, name)
        if value not in (None, getattr(usual, name), *sizes):
            raise ValueError(
                f"`{name}` is for vocabularies that are learnt from the pairs. Received: "
                f"{name}={value!r} with those of shards, or of a teacher. Leave it out."
            )
    for side, own in types_of(source, target).items():
        name = f"{side}_model_type"
        name = "model_type" if getattr(options, name) is None else name
        if not same_type(getattr(options, name), own):
            raise ValueError(
                f"`{name}` is for vocabularies that are learnt from the pairs. Received: "
                f"{name}={getattr(options, name)!r} with those of shards, or of a teacher, whose "
                f"{side} is of {own!r}. Leave it out."
            )
    with_given_types(options, source, target)  # or say now that they do not go with others


def check_no_adaptation(options):
    """Raise ValueError if options are those of an adaptation.

    Args:
        options: `TrainingOptions` of a training that begins with no model.
    """
    defaults = TrainingOptions().resolved()
    for name in _OF_ADAPTATION:
        if getattr(options, name) not in (None, getattr(defaults, name)):
            raise ValueError(
                f"`{name}` is for a training that begins with a model. Received: "
                f"{name}={getattr(options, name)!r} without one. Give `initial` (--from), or leave "
                "it out."
            )
