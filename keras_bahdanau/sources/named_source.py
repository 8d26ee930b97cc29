"""Sources by name, with their settings in one string: `image:height=64,width=640`."""

import importlib

_CLASS_OF = {
    "image": ("image_source", "ImageSource"),
    "speech": ("audio_source", "AudioSource"),
}
_PRESET_OF = {"text": "small", "image": "images", "speech": "speech"}
NAMES = ("text", *_CLASS_OF)


def parsed_source(text):
    """The name and the settings of a source, read without TensorFlow.

    Args:
        text: String, a name of `NAMES`; behind a colon may stand settings with commas between.

    Returns:
        (name, dictionary of the settings).

    Raises:
        ValueError: If the name is unknown, or a setting is not of the form `name=value`.

    Example:
        >>> parsed_source("image:height=64,width=640")
        ('image', {'height': 64, 'width': 640})
    """
    name, _, rest = text.partition(":")
    given = [_setting(text, one) for one in rest.split(",")] if rest else []
    settings = dict(given)
    if len(settings) < len(given):
        raise ValueError(
            "Each setting of a source may come once. "
            f"Received: source={text!r}, which has one twice. Leave it out."
        )
    if name not in NAMES or (settings and name == "text"):
        raise ValueError(
            f"A source must be one of {', '.join(NAMES)}; behind the others may stand settings, "
            f"such as image:height=64. Received: source={text!r}"
        )
    return name, settings


def inputs_by_name(text):
    """The form in which a command gets the inputs of such a source: see `Source.inputs_are`.

    Args:
        text: String, as in `parsed_source`.

    Raises:
        ValueError: As there.
    """
    name, _ = parsed_source(text)
    return "lines" if name == "text" else "files"


def preset_by_name(text):
    """The name of the preset for such a source: see `Source.preset`.

    Args:
        text: String, as in `parsed_source`.

    Raises:
        ValueError: As there.
    """
    name, _ = parsed_source(text)
    return _PRESET_OF[name]


def source_by_name(text):
    """The `Source` of a string: see `parsed_source`.

    Args:
        text: String.

    Returns:
        `Source`; None for "text", whose vocabulary is learnt from the pairs.

    Raises:
        ValueError: If the name or a setting is unknown, or a value out of range.
    """
    name, settings = parsed_source(text)
    if name == "text":
        return None
    module, kind = _CLASS_OF[name]
    source_class = getattr(importlib.import_module(f"keras_bahdanau.sources.{module}"), kind)
    try:
        return source_class(**settings)
    except TypeError as error:
        raise ValueError(
            f"The settings of a source must be arguments of {kind}. "
            f"Received: source={text!r} ({error}). See its documentation."
        ) from None


def _setting(text, one):
    name, equals, value = one.partition("=")
    if not name.isidentifier() or not equals or not value:
        raise ValueError(
            "A setting of a source must have the form name=value. "
            f"Received: source={text!r}, with {one!r}."
        )
    for kind in (int, float):
        try:
            return name, kind(value)
        except ValueError:
            continue
    return name, value
