"""`TrainingPlan`, with all decisions made before training, and the function that makes them."""

from typing import Any, NamedTuple

from keras_bahdanau.training.data import (
    Sides,
    TrainingData,
    check_data,
    check_sides,
    training_batches,
)
from keras_bahdanau.training.infer import infer, inferred_names, model_types_of_vocabularies
from keras_bahdanau.training.inheritance import (
    check_no_adaptation,
    check_none_learned,
    check_vocabulary_pairs,
    initial_model,
)
from keras_bahdanau.training.options import ResolvedOptions, resolve

_MODEL_TYPES = ("source_model_type", "target_model_type")


class TrainingPlan(NamedTuple):
    """All decisions made before training.

    Attributes:
        options: `ResolvedOptions`: requested, inherited, inferred from the pairs, or defaults.
        source: `Source`; in a draft also `Subwords` or None.
        target: `Subwords`; in a draft also None.
        data: `TrainingData`.
        initial: Dictionary, the card of the initial model (see `Adaptation`); None for a new model.
        adaptation: `Adaptation` whose weights have not been copied yet, or None.
        symbols: Strings that a learned source keeps as single tokens.
    """

    options: ResolvedOptions
    source: Any = None
    target: Any = None
    data: TrainingData | None = None
    initial: dict | None = None
    adaptation: Any = None
    symbols: tuple | list = ()

    @property
    def initial_config(self):
        """Config of the initial model if it is used in place of the model options, or None."""
        return self.initial and self.initial["model"]

    @property
    def limits(self):
        """The limits of the run (epochs, patience, minutes): see `Progress.end`."""
        return self.options.epochs, self.options.patience, self.options.minutes

    @property
    def cached_steps(self):
        """Cached steps of a self-attention decoder, at least as many as in the initial model."""
        return max(self.options.max_length, (self.initial or {}).get("cached_steps", 0))

    def batches(self, workers):
        return training_batches(self, workers)

    def sides_card(self):
        from keras_bahdanau.sources.named_source import serialized_sides

        return {} if self.source is None else serialized_sides(self.source, self.target)


def plan_training(
    run, requested, data, sides, path=None, vocabulary_pairs=None, is_chief=True, cache=None,
    say=print, show=print,
):  # fmt: skip
    """Plan a training run that begins or resumes.

    The arguments are those of `train`. Only the chief reads the initial model from `path`.
    """
    from keras_bahdanau.layers.registry import is_registered_name, registered
    from keras_bahdanau.training.fine_tuning import Adaptation
    from keras_bahdanau.training.vocabularies import vocabularies

    check_vocabulary_pairs(requested, vocabulary_pairs, None not in (sides.source, sides.target))
    initial = initial_model(run, path)
    is_new = initial is None and not run.exists()
    if data.shards and is_new:
        check_none_learned(requested, sides.source, sides.target)
    decided = _decided(run, requested, data, initial, sides, say)
    options = resolve(infer(decided, data.facts(sides), say))
    draft = _draft(options, sides, data)
    if is_registered_name(options.attention):
        registered(options.attention)  # raises an error before the vocabularies are learned
    if is_new:
        check_sides(draft)
    old = None  # the weights may also come from a checkpoint or from the chief
    if initial is not None and is_chief and not run.checkpoint.is_file():
        old = Adaptation(initial)
    card = run.initial() if run.exists() else old and old.card
    show("making vocabularies")
    texts = data.pairs if vocabulary_pairs is None else vocabulary_pairs
    source, target = vocabularies(draft, run, old, texts, say)
    source = source if cache is None else source.cached(cache, say=say)
    return draft._replace(source=source, target=target, initial=card, adaptation=old)


def _draft(options, sides, data=None):
    return TrainingPlan(options, sides.source, sides.target, data, symbols=sides.symbols)


def check_start(run, requested, data, initial=None):
    """Check that training can start or resume, before TensorFlow is loaded."""
    _decided(run, requested, data, initial, Sides())


def new_options(requested, sides):
    """Return the explicit options of a new model, completed by the preset of its source.

    This can be called before the pairs are read.
    """
    check_no_adaptation(requested)
    decided = requested.explicit()
    if sides.source is not None:
        from keras_bahdanau.sources.text_source import source_of

        decided = {"preset": source_of(sides.source).preset, **decided}
    return decided


def check_new_model(requested, sides):
    """Raise ValueError unless a new model can be created. The pairs are not needed yet."""
    from keras_bahdanau.sources.text_source import source_of
    from keras_bahdanau.text.subwords import Subwords
    from keras_bahdanau.training.model import validated_model

    decided = new_options(requested, sides)
    types = model_types_of_vocabularies(decided, sides.source, sides.target)
    draft = _draft(resolve({**decided, **types.values}), sides)
    check_sides(draft)
    small = Subwords.train(["a b"], 10, model_type="char", exact=False)
    source, target = source_of(sides.source or small), sides.target or small
    validated_model(draft._replace(source=source, target=target))


def _decided(run, requested, data, initial, sides, say=None):
    """Return a dictionary of the options that can be decided before the pairs are read."""
    decided = new_options(requested, sides) if initial is None else initial.inherited(requested)
    if run.exists():
        decided = {**decided, **_decided_before(run, decided)}
    else:
        types = model_types_of_vocabularies(decided, sides.source, sides.target)
        decided = {**decided, **types.values}
        if types.report and say is not None:
            say(types.report)
    draft = _draft(resolve(decided), sides, data)
    check_data(draft)
    run.check_free()
    if run.exists():
        run.check_resumes(draft, requested)
    return decided


def _decided_before(run, decided):
    """Return the options that a run inferred from its pairs when it began."""
    before = run.options()
    names = inferred_names(decided, resolve(decided))
    if "model_type" not in decided:  # the types of vocabularies that the user gave
        names += [name for name in _MODEL_TYPES if name not in decided]
    values = {name: getattr(before, name) for name in names}
    # an option that was off, such as batch_sentences when batch_tokens is used, is inferred again
    return {name: value for name, value in values.items() if value or name == "unknown_rate"}
