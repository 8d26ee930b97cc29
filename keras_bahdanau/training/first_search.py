"""The search of a model as its training begins: it decodes for validation, and is saved."""

from keras_bahdanau.search import SearchOptions
from keras_bahdanau.text.copies import are_plain_characters
from keras_bahdanau.training.combinations import is_hard

# Behind the end of its source a hard alignment may repeat a symbol, and a mean over tokens then
# ranks such a text above other right ones. A sum alone favours texts that end too early.
HARD_EXPONENT = 0.5


def first_search(source, target, options, before=None, **found):
    """The search that follows from a training.

    Unknown tokens are replaced if the model learns to copy them: from pairs with unknown
    characters, or as a pointer-generator of characters, where every program can do it.

    Args:
        source: `Source`.
        target: `Subwords`.
        options: `TrainingOptions`, resolved.
        before: Dictionary, the search of the model that the training begins with; None for none.
        **found: Search options that follow from the model and the pairs, without one before.

    Returns:
        `SearchOptions`.
    """
    values = found if before is None else before
    if before is None and is_hard(options):
        values = {**values, "length_normalization": HARD_EXPONENT}
    copies = options.copy and are_plain_characters(source.subwords, target)
    if copies or options.unknown_rate:
        values = {**values, "replace_unknown": True}
    return SearchOptions(**values)
