"""A toy language as a `RowStep`, which knows its rows from outside of its state."""

from keras import ops

from keras_bahdanau.search.stepping import RowStep, take_rows


def by_rows(language, row, seen=lambda tokens: tokens):
    """The steps of a `Language` or a `Chain`.

    Args:
        language: It, whose state has the row of each hypothesis as "row".
        row: Int32 tensor `(batch,)`, which row of the language each row of the batch is.
        seen: Function of the tokens of each step, which gives them back.
    """

    def for_rows(chosen):
        own = take_rows(row, chosen)

        def step(tokens, state):
            tokens = seen(tokens)
            here = ops.expand_dims(own, axis=1) if len(tokens.shape) == 2 else own
            return language.step(tokens, {**state, "row": here + ops.zeros_like(tokens)})

        return step

    return RowStep(for_rows)
