"""The query of an attention, made of one or more vectors."""

import keras
from keras import ops

from keras_bahdanau.settings import checks

PARTS = ("state", "embedding", "context", "task")


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class Query(keras.layers.Layer):
    """The query: any subset of four vectors, side by side.

    "state"      the decoder's state (Bahdanau et al. 2015: s_{i-1})
    "embedding"  of the token that the step reads, y_{i-1}
    "context"    of the step before, c_{i-1}
    "task"       the embedding of the first source token, a language or task token

    Args:
        parts: Tuple of those names.

    Call arguments:
        state: Float tensor `(batch, [n,] units)`.
        embedding: Float tensor `(batch, [n,] embedding_units)`.
        context: Float tensor `(batch, [n,] context_units)`, or () where it is no part.
        task: Float tensor `(batch, task_units)`, or () where it is no part.

    Output:
        Float tensor `(batch, [n,] query_units)`.

    Raises:
        ValueError: If a part is unknown, stands twice, or there is none.
    """

    def __init__(self, parts=("state",), **kwargs):
        super().__init__(**kwargs)
        self.parts = tuple(parts)
        for name in self.parts:
            checks.choice("query", name, PARTS)
        if not self.parts or len(set(self.parts)) < len(self.parts):
            raise ValueError(
                f"`query` must name each of its parts once. Received: query={self.parts!r}. "
                f"Choose from {', '.join(PARTS)}."
            )

    def build(self, *shapes):
        pass

    def units(self, **widths):
        """Width of the query, from the widths of all four vectors."""
        return sum(widths[name] for name in self.parts)

    def call(self, state, embedding=(), context=(), task=()):
        if "task" in self.parts and len(state.shape) == 3:
            # -> (batch, n, task_units)
            task = ops.repeat(ops.expand_dims(task, axis=1), ops.shape(state)[1], axis=1)
        vectors = {"state": state, "embedding": embedding, "context": context, "task": task}
        chosen = [vectors[name] for name in self.parts]
        return ops.concatenate(chosen, axis=-1) if len(chosen) > 1 else chosen[0]

    def get_config(self):
        return {**super().get_config(), "parts": self.parts}
