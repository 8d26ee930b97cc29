"""The check of pairs: an input of a source, and the text that stands for it."""

import numpy as np

from keras_bahdanau.text.host_text import check_strings


def check_pairs(pairs):
    """Check that all are pairs of an input and a text.

    Args:
        pairs: List.

    Raises:
        TypeError: If one is no list, tuple or array of two, or its second part is no string.
        ValueError: If such a string has a surrogate, which no text in UTF-8 has.

    Example:
        >>> check_pairs((["a man", "a cat", "a dog"], ["ein Mann", "eine Katze", "ein Hund"]))
        TypeError: `pairs` must be (input, target). Received: ['a man', 'a cat', 'a dog']. ...
    """
    for pair in pairs:
        if not isinstance(pair, list | tuple | np.ndarray) or len(pair) != 2:
            raise TypeError(
                f"`pairs` must be (input, target). Received: {pair!r:.80}. Of two lists, "
                "zip(inputs, targets) makes pairs."
            )
    check_strings("targets", [target for _, target in pairs])
