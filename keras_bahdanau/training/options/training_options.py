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
    """The first option; the defaults of all others depend on it."""

    preset: str | None = option(
        None,
        optional(one_of(*PRESETS)),
        "Preset for options that are left out: {choices}. By default the preset of the source: "
        '"small" for text, "images", "ink" or "speech".',
        resolved="small",
    )


# the fields of the last base come first
@documented
@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingOptions(RunOptions, ModelOptions, TextOptions, _PresetOption):
    """Settings of `train`, including vocabulary and model.

    An instance represents the user's request: options that are left out are None, and
    `dataclasses.replace` checks changes like the constructor. `resolved()` returns a value for each
    option, from the preset and from the options on which others depend.

    Raises:
        ValueError: If a value is out of range, or does not go with the others.
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
        """The options in a file, as from `dataclasses.asdict`; see `settings.removed`."""
        return cls(**drop_removed(config))

    def explicit(self):
        """Dictionary of the given options."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def resolved(self):
        """`ResolvedOptions`: each option as given, from the preset, or the default."""
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
        "__doc__": "A value, never None, for each option of `TrainingOptions`, as used by a "
        "training.",
        "__module__": __name__,
    },
)


def fill(explicit):
    """`ResolvedOptions` from an unchecked dictionary; preset and defaults fill the rest."""
    defaults = {field.name: field.metadata["resolved"] for field in _FIELDS}
    preset = PRESETS[explicit.get("preset", defaults["preset"])]
    values = {**defaults, **preset.settings, **explicit}
    options = SimpleNamespace(**values)
    for (
        name,
        value,
    ) in values.items():  # in the order of the fields, independent ones first
        if callable(value):
            setattr(options, name, value(options))
    return ResolvedOptions(**vars(options))


def changed_options(before, after, explicit):
    """Names of the options that explain the differences between options `before` and `after`.

    These are the explicit options that differ; or, if none does, the omitted ones, without options
    that depend on them. The command line always gives a preset, which counts as omitted. All
    arguments are dictionaries.
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
    """`ResolvedOptions` from a dictionary of options.

    Raises:
        TypeError: If a name is not an option.
        ValueError: If a value is out of range, or does not go with the others.
    """
    return TrainingOptions(**explicit).resolved()


DEFAULTS = fill({})


def training_option(text):
    """Parse a training option from a string NAME=VALUE, as a `type` for `argparse`.

    The value is in JSON or Python syntax, or a plain word.

    Returns:
        (name, value).

    Raises:
        argparse.ArgumentTypeError: If the option does not exist.

    Example:
        >>> TrainingOptions(**dict(map(training_option, ["units=256", "cell=lstm"])))
    """
    name, equals, value = text.partition("=")
    if not equals or name not in TrainingOptions.__dataclass_fields__:
        raise argparse.ArgumentTypeError(
            f"An option must be NAME=VALUE, the name a field of TrainingOptions. Received: {text!r}"
        )
    word = {"true": True, "false": False}.get(value.lower(), value)
    try:
        return name, json.loads(value) if word is value else word
    except ValueError:
        return name, value
