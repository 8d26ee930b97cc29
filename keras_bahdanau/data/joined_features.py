"""Features of a table that nothing splits, such as "N,DAT,SG": each cell is one as a whole."""

import os
import re

_OTHER_SEPARATOR = re.compile(r"\w[,+:/&]\w")


def tell_joined_features(path, symbols, say):
    """Report features of which most have a separator of another kind in them.

    Args:
        path: Path of the file.
        symbols: List of strings, its features, each once.
        say: Function of one string.
    """
    joined = [one for one in symbols if _OTHER_SEPARATOR.search(one)]
    if 4 * len(joined) > 3 * len(symbols):
        say(
            f"{len(joined):,} of {len(symbols):,} features of {os.fspath(path)!r} may be several "
            f"in one, such as {joined[0]!r:.80}: features are split at `;`, `|` and spaces alone"
        )
