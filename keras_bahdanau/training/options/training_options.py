"""`TrainingOptions`, the user's request, and `ResolvedOptions`, with all defaults filled in."""

import argparse
import dataclasses
import json
from types import SimpleNamespace

from keras_bahdanau.layers.rules import check_rules
from keras_bahdanau.settings.option import check_option, documented, one_of, option, optional, plain
from keras_bahdanau.settings.removed import drop_removed
from keras_bahdanau.training.options.model_options import ModelOptions, check_model
from keras_bahdanau.training.options.run_options import RunOptions, hard_memory_rules, run_rules
from keras_bahdanau.training.options.text_options import TextOptions, text_rules
from keras_bahdanau.training.presets import PRESETS
from keras_bahdanau.training.presets.preset import is_hard


@dataclasses.dataclass(frozen=True, kw_only=True)
class _PresetOption:
    """The first option, on which the defaults of all other options depend."""

    preset: str | None = option(
        None,
        optional(one_of(*PRESETS)),
        "Preset for the options that you don't give: {choices}. The default depends on the source: "
        '"small" for text, and "images", "ink" or "speech" for these sources.',
        resolved="small",
    )


# the fields of the last base come first
@documented
@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingOptions(RunOptions, ModelOptions, TextOptions, _PresetOption):
    """Options for `train`, including those for the vocabularies and the model.

    An instance represents the user's request: options that are not given are None.
    `dataclasses.replace` checks its changes in the same way as the constructor. `resolved()`
    returns a value for each option: the given value, or one that is derived from the preset or from
    other options.

    Raises:
        ValueError: If a value is out of range, or if options contradict each other.
    """

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = plain(getattr(self, field.name))
            object.__setattr__(self, field.name, value)
            if value is not None:
                check_option(field, value)
        _check_together(fill(self.explicit()))

    @classmethod
    def from_config(cls, config):
        """Create options from a dictionary, such as that of `dataclasses.asdict`.

        Removed options are dropped: see `settings.removed`.
        """
        return cls(**drop_removed(config))

    def explicit(self):
        """Return a dictionary of the options that are given."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def resolved(self):
        """Return `ResolvedOptions`, which fills in preset values and defaults."""
        return fill(self.explicit())


def _check_together(options):
    """Raise ValueError if training options contradict each other."""
    for rules in (run_rules, text_rules):
        check_rules(rules(options), options)
    check_model(options)
    if is_hard(options):
        check_rules(hard_memory_rules(options), options)


_FIELDS = dataclasses.fields(TrainingOptions)
MODEL_OPTIONS = tuple(field.name for field in _FIELDS if "is_model_option" in field.metadata)

ResolvedOptions = dataclasses.make_dataclass(
    "ResolvedOptions",
    [(field.name, field.type) for field in _FIELDS],
    frozen=True,
    kw_only=True,
    namespace={
        "__doc__": "The values of all options of `TrainingOptions` that a training run uses. No "
        "value is None.",
        "__module__": __name__,
    },
)


def fill(explicit):
    """Return `ResolvedOptions` for an unchecked dictionary, completed by preset and defaults."""
    defaults = {field.name: field.metadata["resolved"] for field in _FIELDS}
    preset = PRESETS[explicit.get("preset", defaults["preset"])]
    values = {**defaults, **preset.settings, **explicit}
    options = SimpleNamespace(**values)
    for (
        name,
        value,
    ) in values.items():  # in the order of the fields, independent fields first
        if callable(value):
            setattr(options, name, value(options))
    return ResolvedOptions(**vars(options))


def changed_options(before, after, explicit):
    """Return the names of the options that explain why `before` and `after` differ.

    These are the explicit options that differ. If there are none, they are the omitted options that
    differ, except those that depend on another of them. The command line always gives a preset,
    which therefore counts as omitted. All arguments are dictionaries.
    """
    names = [name for name, value in explicit.items() if before[name] != value]
    if names not in ([], ["preset"]):
        return [name for name in names if name != "preset"]
    explicit, names = {**explicit}, []
    for field in sorted(_FIELDS, key=lambda field: callable(field.metadata["resolved"])):
        if getattr(fill(explicit), field.name) != before[field.name]:
            explicit[field.name] = before[field.name]
            names.append(field.name)
    return [name for name in names if before[name] != after[name]]


def resolve(explicit):
    """Return the `ResolvedOptions` for a dictionary of options.

    Raises:
        TypeError: If a name is not an option.
        ValueError: If a value is out of range, or if options contradict each other.
    """
    return TrainingOptions(**explicit).resolved()


DEFAULTS = fill({})


def training_option(text):
    """Parse a training option NAME=VALUE. This function can be used as a `type` in `argparse`.

    The value is written as in JSON or Python, or as a plain word.

    Returns:
        (name, value).

    Raises:
        argparse.ArgumentTypeError: If there is no such option.

    Example:
        >>> TrainingOptions(**dict(map(training_option, ["units=256", "cell=lstm"])))
    """
    name, equals, value = text.partition("=")
    if not equals or name not in TrainingOptions.__dataclass_fields__:
        raise argparse.ArgumentTypeError(
            "An option must be NAME=VALUE, where NAME is a field of TrainingOptions. "
            f"Received: {text!r}"
        )
    word = {"true": True, "false": False}.get(value.lower(), value)
    try:
        return name, json.loads(value) if word is value else word
    except ValueError:
        return name, value
