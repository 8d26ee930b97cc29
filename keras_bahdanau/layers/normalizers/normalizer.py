"""Base of the normalizers, and the marks that several of them make."""

from keras import ops

from keras_bahdanau.layers.attention.part import AttentionPart


class Normalizer(AttentionPart):
    """Base of the normalizers: weights alpha_ij from scores e_ij.

    A subclass writes `align`, and `initial_state` where it takes something along
    from step to step. The axis n below is the beam of a search, or absent.

    Call arguments:
        scores: Float32 tensor `(batch, [n,] source_time)`.
        allowed: Bool tensor that broadcasts to `scores`, True at positions that may be attended to.
        state: `initial_state(memory)`, or that of the step before, with the axis n.
        training: Python bool.

    Output:
        Pair of the weights, float32, of the shape of `scores`, exactly 0 where
        it is not allowed, and the state of the next step.
    """

    def align(self, scores, allowed, state, training=None):
        """See the class: what `call` does."""
        raise NotImplementedError

    def call(self, scores, allowed, state, training=None):
        return self.align(scores, allowed, state, training=training)


def first_marked(marked):
    """1 at the first place of each row that is marked, else 0."""
    marked = ops.cast(marked, "float32")
    # its count up to there is 1
    return marked * ops.cast(ops.less(ops.cumsum(marked, axis=-1), 1.5), "float32")
