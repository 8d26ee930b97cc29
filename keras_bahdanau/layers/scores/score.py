"""Base of the scores: one interface, one rule of shapes, one product."""

import keras
from keras import ops

from keras_bahdanau.layers.attention.part import AttentionPart


class Score(AttentionPart):
    """Base of the scores.

    A subclass writes `build`, which sets `key_units`, `project` and `compare`.
    The axis n below is the beam of a search, or target_time.

    Attributes:
        key_units: Integer. Width of the keys, known once the score is built.

    Call arguments:
        query: Float tensor `(batch, query_units)` or `(batch, n, query_units)`.
        values: Float tensor `(batch, source_time, values_units)`.

    Output:
        Scores in float32 under every dtype policy, `(batch, source_time)` or
        `(batch, n, source_time)`.
    """

    key_units = None

    def __init__(self, **kwargs):
        super().__init__(autocast=True, **kwargs)  # projections run in the compute dtype

    def project(self, values):
        """The part that no query changes, once a sentence: values -> keys.

        Args:
            values: Float tensor `(batch, source_time, values_units)`.

        Returns:
            Float tensor `(batch, source_time, key_units)`.
        """
        raise NotImplementedError

    def compare(self, query, keys):
        """Scores of one query, or of many, against keys.

        Args:
            query: Float tensor `(batch, query_units)` or `(batch, n, query_units)`.
            keys: Result of `project`; or `(batch, n, source_time, key_units)`,
                where they differ from query to query.

        Returns:
            Float32 tensor `(batch, source_time)` or `(batch, n, source_time)`.
        """
        raise NotImplementedError

    def call(self, query, values):
        return self.compare(query, self.project(values))

    def compute_output_shape(self, query_shape, values_shape):
        return (*query_shape[:-1], values_shape[-2])

    def compute_output_spec(self, query, values):
        shape = self.compute_output_shape(query.shape, values.shape)
        return keras.KerasTensor(shape, dtype="float32")


def keys_for(query, keys):
    """The keys, with an axis n of length 1 where only the query has that axis."""
    return ops.expand_dims(keys, axis=1) if len(query.shape) == len(keys.shape) else keys


def product(query, keys):
    """q^T k for every pair, in float32.

    Args:
        query: `(batch, units)` or `(batch, n, units)`.
        keys: `(batch, source_time, units)` or `(batch, n, source_time, units)`.

    Returns:
        `(batch, source_time)` or `(batch, n, source_time)`.
    """
    query, keys = ops.cast(query, "float32"), ops.cast(keys, "float32")
    if len(query.shape) == len(keys.shape):  # all queries meet the same keys: one product
        return ops.matmul(query, ops.swapaxes(keys, -2, -1))  # -> (batch, n, source_time)
    # (batch, [n,] source_time, units) x (batch, [n,] units, 1) -> (batch, [n,] source_time)
    return ops.squeeze(ops.matmul(keys, ops.expand_dims(query, axis=-1)), axis=-1)
