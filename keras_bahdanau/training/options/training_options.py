"""Settings of a training: one field an option, with check, default and help."""

import argparse
import dataclasses
import functools
import json
from types import SimpleNamespace

from keras_bahdanau.settings.option import check_option, documented, one_of, option, optional, plain
from keras_bahdanau.settings.removed import drop_removed
from keras_bahdanau.training.combinations import AUTO, check_together
from keras_bahdanau.training.options.loss_options import LossOptions
from keras_bahdanau.training.options.model_options import ModelOptions
from keras_bahdanau.training.options.run_options import RunOptions
from keras_bahdanau.training.options.text_options import TextOptions
from keras_bahdanau.training.presets import PRESETS


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Preset:
    """The first option, on which all others depend."""

    preset: str | None = option(
        None,
        optional(one_of(*PRESETS)),
        "Source of the options left out: {choices}. That of the source if it is left out, too: "
        '"small" for text, "images", "ink" or "speech".',
        resolved="small",
    )


# a dataclass has the fields of its last base first
@documented
@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingOptions(RunOptions, LossOptions, ModelOptions, TextOptions, _Preset):
    """Settings of `train`, vocabulary and model included.

    An instance holds the options that were given: one that is left out is None, and
    `dataclasses.replace` changes it as the constructor would. `resolved()` fills in the
    rest, from the preset and from the options on which others depend.

    Raises:
        ValueError: If a value is out of range, or does not go with the others.
    """

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = plain(getattr(self, field.name))
            object.__setattr__(self, field.name, value)
            if value is not None or field.default is not None:
                check_option(field, value)
        if self.resolved() is self:
            check_together(self)

    @classmethod
    def from_config(cls, config):
        """The options that a file holds: `dataclasses.asdict` of them; see `settings.removed`."""
        return cls(**drop_removed(config))

    def resolved(self):
        """The same options with a value for each: as given, or of the preset, or the default."""
        return self._resolved

    def undecided(self):
        """Names of the options that follow from the pairs: those that are "auto", and defaults.

        Returns:
            List of strings.

        Example:
            >>> TrainingOptions(model_type="auto", target_model_type="char").undecided()
            ['model_type', 'source_model_type']
        """
        resolved = self.resolved()
        names = [field.name for field in dataclasses.fields(self)]
        found = [name for name in names if getattr(resolved, name) == AUTO]
        # what is off stays off: batches of sentences where there are batches of tokens
        preset = PRESETS[resolved.preset]
        several = preset.of_many_pairs.values()
        follow = dict.fromkeys(name for settings in several for name in settings)
        follow = [name for name in follow if getattr(resolved, name)]
        follow += preset.of_common_letters
        return found + [name for name in follow if getattr(self, name) is None]

    @functools.cached_property
    def _resolved(self):
        asked = {name: value for name, value in vars(self).items() if value is not None}
        fields = dataclasses.fields(self)
        if len(asked) == len(fields):
            return self
        defaults = {field.name: field.metadata.get("resolved") for field in fields}
        preset = PRESETS[asked.get("preset", defaults["preset"])]
        values = {**defaults, **preset.settings, **asked}
        follows = [name for name, value in values.items() if callable(value)]
        known = SimpleNamespace(**values)
        for name in follows:  # in the order of the fields, after all that follows nothing
            setattr(known, name, values[name](known))
        return TrainingOptions(**vars(known))


MODEL_OPTIONS = tuple(
    field.name for field in dataclasses.fields(TrainingOptions) if "of_model" in field.metadata
)


def training_option(text):
    """An option of a training from one string, such as `argparse` asks of a `type`.

    Args:
        text: String NAME=VALUE, the value in the spelling of JSON or Python, or a plain word.

    Returns:
        (name, value).

    Raises:
        argparse.ArgumentTypeError: If there is no such option; `argparse` prints its text.

    Example:
        >>> TrainingOptions(**dict(map(training_option, ["units=256", "cell=lstm"])))
    """
    name, equals, value = text.partition("=")
    if not equals or name not in TrainingOptions.__dataclass_fields__:
        raise argparse.ArgumentTypeError(
            f"An option must be NAME=VALUE, the name a field of TrainingOptions. Received: {text!r}"
        )
    plain = {"true": True, "false": False}.get(value.lower(), value)
    try:
        return name, json.loads(value) if plain is value else plain
    except ValueError:
        return name, value
