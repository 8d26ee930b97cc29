"""Random numbers that are drawn anew at each step of the loop over time."""

import contextlib

import keras
from keras import ops

from keras_bahdanau.settings import checks

SECOND_DRAW = 1_000_003  # distance between the seeds of two draws in one step

_OPEN_LOOPS = []


class StepSeedGenerator(keras.random.SeedGenerator):
    """Seed generator that may be used inside of `recurrence.loop`.

    JAX runs a loop without side effects, so a generator cannot move on in it. There the
    seed of a step is the generator's state plus the number of the step, and the generator
    moves on by the number of steps when the loop has ended.
    """

    def next(self, ordered=True):
        """The seed of the next draw."""
        if not _OPEN_LOOPS:
            return super().next(ordered)
        return _OPEN_LOOPS[-1].seed_of(self)


class LoopDraws:
    """The seeds of the draws inside of one loop."""

    def __init__(self):
        self.step = None
        self.draws = {}  # id of a generator -> (generator, number of its draws in this step)

    @contextlib.contextmanager
    def at(self, step):
        """Run one step of the loop, or trace it."""
        self.step, self.draws = step, {}
        _OPEN_LOOPS.append(self)
        try:
            yield
        finally:
            _OPEN_LOOPS.pop()

    def seed_of(self, generator):
        """Seed of a generator's next draw: its state, and the number of the step."""
        _, draws = self.draws.get(id(generator), (generator, 0))
        self.draws[id(generator)] = generator, draws + 1
        state = generator.state.value
        # -> (2,), as a generator's state
        moved = ops.stack([ops.zeros_like(self.step) + draws * SECOND_DRAW, self.step])
        return state + ops.cast(moved, generator.state.dtype)

    def end(self, steps):
        """Move the generators on, behind the loop."""
        for generator, _ in self.draws.values():
            moved = ops.cast(ops.convert_to_tensor([0, steps]), generator.state.dtype)
            generator.state.assign(generator.state.value + moved)


class StepDropout(keras.layers.Layer):
    """Dropout that may stand inside of the loop over time.

    Args:
        rate: Float in [0, 1). Rate at which training drops inputs.

    Call arguments:
        inputs: Float tensor.
        training: Python bool.

    Output:
        Tensor of the shape of `inputs`.

    Raises:
        ValueError: If `rate` is not in [0, 1).
    """

    def __init__(self, rate, **kwargs):
        super().__init__(**kwargs)
        self.rate = checks.rate("rate", "the dropout rate", rate)
        if rate:
            self.seed_generator = StepSeedGenerator()
        self.built = True

    def call(self, inputs, training=None):
        if not training or not self.rate:
            return inputs
        return keras.random.dropout(inputs, self.rate, seed=self.seed_generator)

    def compute_output_shape(self, inputs_shape):
        return inputs_shape

    def get_config(self):
        return {**super().get_config(), "rate": self.rate}
