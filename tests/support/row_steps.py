"""A toy language as a `RowStep`, which doesn't read the rows from its state."""

from keras import ops

from keras_bahdanau.search.stepping import RowStep, take_rows


def by_rows(language, row, seen=lambda tokens: tokens):
    """Return the `RowStep` of a toy language.

    Args:
        language: A `Language` or `Chain`. Its state has the row of each hypothesis as "row".
        row: Int32 tensor `(batch,)`. The row of the language for each row of the batch.
        seen: Function that is called with the tokens of each step and returns them.
    """

    def for_rows(chosen):
        own = take_rows(row, chosen)

        def step(tokens, state):
            tokens = seen(tokens)
            here = ops.expand_dims(own, axis=1) if len(tokens.shape) == 2 else own
            return language.step(tokens, {**state, "row": here + ops.zeros_like(tokens)})

        return step

    return RowStep(for_rows)
