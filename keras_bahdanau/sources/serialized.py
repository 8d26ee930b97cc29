"""A source and its target text in a card of JSON: of a training run, or of shards on disk."""

from keras_bahdanau.files.integrity import Damage


def serialized_sides(source, target):
    """Dictionary of both sides, which JSON holds.

    Args:
        source: `Source`.
        target: `Subwords` of the target text.

    Example:
        >>> read_sides(serialized_sides(source, target)) == (source, target)
        True
    """
    import keras  # which takes its time

    return {
        "source": keras.saving.serialize_keras_object(source),
        "target": target.get_config(),
    }


def read_sides(card):
    """(source, target) of a card, as `serialized_sides` wrote them.

    Args:
        card: Dictionary, as JSON gives it.

    Raises:
        Damage: If they are not as they were written, or of a class that is not imported.
    """
    import keras

    from keras_bahdanau import sources
    from keras_bahdanau.text.subwords import Subwords

    for name in sources.__all__:  # Keras finds a class once its module is imported
        getattr(sources, name)
    try:
        source = keras.saving.deserialize_keras_object(card["source"])
        target = Subwords.from_config(card["target"])
    except (AttributeError, ImportError, KeyError, TypeError, ValueError) as error:
        # Keras' next lines say how to switch its safety off
        raise Damage(str(error).partition("\n")[0].partition(". ")[0]) from None
    if not isinstance(source, sources.Source):
        raise Damage("its source is none")
    return source, target
