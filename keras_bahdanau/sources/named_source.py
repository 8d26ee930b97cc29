"""Creation of sources from names such as `image:height=64,width=640`, and from cards."""

import inspect

from keras_bahdanau import sources
from keras_bahdanau.files.integrity import Damage
from keras_bahdanau.settings.guesses import nearest

NAMES = ("text", *sources.NAMED)


def parsed_source(text):
    """Parse a source such as `image:height=64,width=640` into (name, settings).

    Raises ValueError if the name is unknown or the settings are malformed.
    """
    name, _, listed = text.partition(":")
    pairs = [_setting(text, setting) for setting in listed.split(",")] if listed else []
    settings = dict(pairs)
    if len(settings) < len(pairs):
        raise ValueError(
            "Each setting of a source may appear only once. "
            f"Received: source={text!r}, which repeats one. Remove the repetition."
        )
    if name not in NAMES or (settings and name == "text"):
        raise ValueError(
            f"A source must be one of {', '.join(NAMES)}; {' and '.join(sources.NAMED)} accept "
            f"settings after a colon, such as image:height=64. Received: source={text!r}"
            f"{nearest(name, NAMES)}"
        )
    return name, settings


def inputs_by_name(text):
    """Return `Source.inputs_are` for a named source. Raises the same errors as `parsed_source`."""
    name, _ = parsed_source(text)
    return "lines" if name == "text" else "files"


def preset_by_name(text):
    """Return `Source.preset` for a named source. Raises the same errors as `parsed_source`."""
    name, _ = parsed_source(text)
    return "small" if name == "text" else sources.NAMED[name][1]


def source_by_name(text):
    """Return the `Source` that a string describes.

    Returns None for "text", because its vocabulary is learned from the pairs. Raises the same
    errors as `parsed_source`, and ValueError for an unknown setting.
    """
    name, settings = parsed_source(text)
    if name == "text":
        return None
    kind = getattr(sources, sources.NAMED[name][0])
    names = inspect.signature(kind).parameters
    for setting in settings:
        if setting not in names:
            raise ValueError(
                f"The settings of {name} must be {', '.join(names)}. "
                f"Received: source={text!r}, with {setting}{nearest(setting, names)}"
            )
    return kind(**settings)


def _setting(text, setting):
    name, equals, value = setting.partition("=")
    if not name.isidentifier() or not equals or not value:
        raise ValueError(
            "A setting of a source must have the form name=value. "
            f"Received: source={text!r}, with {setting!r}."
        )
    for kind in (int, float):
        try:
            return name, kind(value)
        except ValueError:
            continue
    return name, value


def serialized_sides(source, target):
    """Return a JSON dictionary of a `Source` and the target's `Subwords`, for `read_sides`."""
    import keras  # slow to import

    return {
        "source": keras.saving.serialize_keras_object(source),
        "target": target.get_config(),
    }


def read_sides(card):
    """Return (source, target) from a dictionary of `serialized_sides`.

    Raises `Damage` if it is invalid.
    """
    import keras

    from keras_bahdanau.text.subwords import Subwords

    for name in sources.__all__:  # Keras finds a class only once its module is imported
        getattr(sources, name)
    try:
        source = keras.saving.deserialize_keras_object(card["source"])
        target = Subwords.from_config(card["target"])
    except (AttributeError, ImportError, KeyError, TypeError, ValueError) as error:
        # the next lines of Keras' message say how to disable safe mode
        raise Damage(str(error).partition("\n")[0].partition(". ")[0]) from None
    if not isinstance(source, sources.Source):
        raise Damage("its source is not a Source")
    return source, target
