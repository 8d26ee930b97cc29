"""The arrays of a batch: sources, and targets as a decoder reads and writes them."""

import numpy as np

from keras_bahdanau.text.vocabulary import END, PAD, START


def padded_batch(sides, members, shape):
    """The arrays of one batch, without alignments.

    Args:
        sides: Pair of rows, as `Source.rows` gives them, of the sources and the targets.
        members: Int array, the rows that take part.
        shape: Integers (rows, source_time, target_time). There may be more rows than members.

    Returns:
        (features, target_in, target_out, weight), as `BatchedPairs` describes them.
    """
    rows, source_time, target_time = shape
    features = sides[0].padded(members, (rows, source_time))
    target_out = sides[1].padded(members, (rows, target_time))
    target_in = np.full_like(target_out, PAD)
    target_in[: len(members), 0] = START
    target_in[:, 1:] = np.where(target_out == END, PAD, target_out)[:, :-1]
    weight = (target_out != PAD).astype(np.float32)
    return features, target_in, target_out, weight
