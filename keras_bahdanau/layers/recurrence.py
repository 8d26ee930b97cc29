"""The loop over time, its random numbers and its hand-written gradients, on each backend."""

import contextlib

import keras
from keras import ops, tree

from keras_bahdanau.settings import checks

SECOND_DRAW = 1_000_003  # distance between the seeds of two draws in one step

_OPEN_LOOPS = []


class StepSeedGenerator(keras.random.SeedGenerator):
    """Seed generator for `recurrence.loop`: on JAX the state plus the step, advanced later."""

    def next(self, ordered=True):
        """The seed of the next draw."""
        if not _OPEN_LOOPS:
            return super().next(ordered)
        return _OPEN_LOOPS[-1].seed_of(self)


class LoopDraws:
    """Seeds of the draws inside one loop."""

    def __init__(self):
        self.step = None
        self.draws = {}  # id of a generator -> (generator, number of its draws in this step)

    @contextlib.contextmanager
    def at(self, step):
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
        """Advance the generators after the loop."""
        for generator, _ in self.draws.values():
            moved = ops.cast(ops.convert_to_tensor([0, steps]), generator.state.dtype)
            generator.state.assign(generator.state.value + moved)


class StepDropout(keras.layers.Layer):
    """Dropout that also works inside the loop over time; `rate` is in [0, 1), or ValueError."""

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


@contextlib.contextmanager
def outside_graphs():
    """Create variables outside the graph of a `tf.function`, where a failed trace would spoil them.

    A variable made in a trace gets its first value only when the trace succeeds.
    """
    if keras.backend.backend() != "tensorflow":
        yield
        return
    import tensorflow as tf

    with tf.init_scope():
        yield


_UNKNOWN_SHAPES = []  # of blocks of `convertible_loops`


@contextlib.contextmanager
def convertible_loops():
    """Loops inside the block keep outputs of unknown shape in tensors.

    LiteRT's converter refuses a `TensorArray` whose elements have an unknown shape, such as weights
    over a source of any length. A step then writes its row of the whole tensor.
    """
    _UNKNOWN_SHAPES.append(True)
    try:
        yield
    finally:
        _UNKNOWN_SHAPES.pop()


_WITHOUT_GRADIENT = []  # of blocks of `loops_without_gradient`


@contextlib.contextmanager
def loops_without_gradient():
    """Loops inside the block keep nothing for gradients."""
    _WITHOUT_GRADIENT.append(True)
    try:
        yield
    finally:
        _WITHOUT_GRADIENT.pop()


STEPS_AT_ONCE = 4  # steps unrolled in a loop on a GPU, where each pass has a launch cost


def scan(step, state, inputs, template, steps=None, return_state=False):
    """Run `step` along time and keep the output of each step, `(batch, time, ...)`.

    `step` is a function `(state, input) -> (output, state)`, the state always of the same
    structure, shapes and dtypes; `inputs` are tensors `(batch, time, ...)`, one slice a step;
    `template` has the structure, dtype and shape `(batch, ...)` of one step's output. After
    `steps`, an int32 scalar, the loop may end, and outputs mean nothing; None for all. With
    `return_state` the pair (outputs, last state) is returned.
    """
    inputs = tree.map_structure(_swap, inputs)
    results = _replayed(step, state, inputs, template, steps)
    outputs, state = results or loop(step, state, inputs, template, steps)
    outputs = tree.map_structure(_swap, outputs)
    return (outputs, state) if return_state else outputs


def _replayed(step, state, inputs, template, steps):
    """(outputs, state) of a loop on TensorFlow that needs a gradient; None for any other."""
    if keras.backend.backend() != "tensorflow" or _WITHOUT_GRADIENT:
        return None
    from keras_bahdanau.layers.replayed_loop import is_recorded, replayed_loop

    return replayed_loop(step, state, inputs, template, steps) if is_recorded() else None


def _swap(tensor):
    """`(batch, time, ...)` <-> `(time, batch, ...)`."""
    return ops.transpose(tensor, (1, 0, *range(2, len(tensor.shape))))


def loop(step, state, inputs, template, steps=None):
    """`scan` along the first axis; returns (outputs, last state)."""
    if keras.backend.backend() == "tensorflow":
        return _loop_tensorflow(step, state, inputs, template, steps)
    return _loop_scan(step, state, inputs)


def _loop_tensorflow(step, state, inputs, template, steps):
    """`tf.while_loop` over arrays: unlike `keras.ops.scan` it has a gradient under XLA."""
    import tensorflow as tf

    shapes = [leaf.shape for leaf in tree.flatten(template)]
    if _UNKNOWN_SHAPES and not all(shape.is_fully_defined() for shape in shapes):
        return _loop_over_rows(step, state, inputs, template, steps)
    time = ops.shape(tree.flatten(inputs)[0])[0]
    xs = tree.map_structure(
        lambda x: tf.TensorArray(x.dtype, time, element_shape=x.shape[1:]).unstack(x), inputs
    )
    ys = tree.map_structure(
        lambda leaf: tf.TensorArray(leaf.dtype, time, element_shape=leaf.shape), template
    )

    def body(t, state, ys):
        output, state = step(state, tree.map_structure(lambda x: x.read(t), xs))
        return t + 1, state, tree.map_structure(lambda y, leaf: y.write(t, leaf), ys, output)

    _, state, ys = tf.while_loop(
        lambda t, *_: t < (time if steps is None else steps),
        body,
        (tf.constant(0), state, ys),
        maximum_iterations=time,  # XLA needs a bound to keep what the gradient reads
    )
    return tree.map_structure(lambda y: y.stack(), ys), state  # (time, ...)


def _loop_over_rows(step, state, inputs, template, steps):
    """`_loop_tensorflow` over tensors: a step gathers its row, and writes its row of a result."""
    import tensorflow as tf

    time = tf.shape(tree.flatten(inputs)[0])[0]
    # (time, batch, ...), zero
    ys = tree.map_structure(
        lambda leaf: tf.zeros(tf.concat([[time], tf.shape(leaf)], axis=0), leaf.dtype), template
    )

    def body(t, state, ys):
        output, state = step(state, tree.map_structure(lambda x: tf.gather(x, t), inputs))

        def written(y, row):
            at_t = tf.reshape(tf.equal(tf.range(time), t), [-1] + [1] * len(row.shape))
            return tf.where(at_t, tf.expand_dims(row, 0), y)

        return t + 1, state, tree.map_structure(written, ys, output)

    _, state, ys = tf.while_loop(
        lambda t, *_: t < (time if steps is None else steps),
        body,
        (tf.constant(0), state, ys),
        shape_invariants=(
            tf.TensorShape([]),
            tree.map_structure(lambda tensor: tensor.shape, state),
            tree.map_structure(lambda leaf: tf.TensorShape([None, *leaf.shape]), template),
        ),
    )
    return ys, state


def _loop_scan(step, state, inputs):
    """`_scan`, with new random numbers at each step, on JAX as well."""
    draws = LoopDraws()

    def body(carry, x):
        t, state = carry
        with draws.at(t):
            output, state = step(state, x)
        return (t + 1, state), output

    # outputs: (time, ...)
    (_, state), outputs = _scan(body, (ops.zeros((), "int32"), state), inputs)
    draws.end(ops.shape(tree.flatten(inputs)[0])[0])
    return outputs, state


def _scan(step, state, inputs):
    """`keras.ops.scan`; on JAX with a gradient of its own."""
    if keras.backend.backend() != "jax":
        return ops.scan(step, state, inputs)
    from keras_bahdanau.layers import deferred_scan

    return deferred_scan.scan(step, state, inputs, unroll=_steps_at_once())


def _steps_at_once():
    """Number of steps in a pass of a loop on JAX."""
    import jax

    return STEPS_AT_ONCE if jax.default_backend() == "gpu" else 1


def custom_gradient(function):
    """`keras.ops.custom_gradient` of `(*tensors) -> (outputs, gradient)`; autograd's on torch."""
    if keras.backend.backend() != "torch":
        return ops.custom_gradient(function)

    def outputs_of(*tensors):
        outputs, _ = function(*tensors)
        return outputs

    return outputs_of
