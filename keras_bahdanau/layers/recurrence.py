"""The loop over time for each backend, with its random numbers and custom gradients."""

import contextlib

import keras
from keras import ops, tree

from keras_bahdanau.settings import checks

SECOND_DRAW = 1_000_003  # difference between the seeds of two draws in one step

_OPEN_LOOPS = []


class StepSeedGenerator(keras.random.SeedGenerator):
    """Seed generator that also works in `recurrence.loop` on JAX.

    In a loop, the seed is the state plus the step number. The state is advanced after the loop.
    """

    def next(self, ordered=True):
        """Return the seed for the next draw."""
        if not _OPEN_LOOPS:
            return super().next(ordered)
        return _OPEN_LOOPS[-1].seed_of(self)


class LoopDraws:
    """Seeds for the random draws inside one loop."""

    def __init__(self):
        self.step = None
        self.draws = {}  # id of a generator -> (generator, number of draws in this step)

    @contextlib.contextmanager
    def at(self, step):
        self.step, self.draws = step, {}
        _OPEN_LOOPS.append(self)
        try:
            yield
        finally:
            _OPEN_LOOPS.pop()

    def seed_of(self, generator):
        """Return the seed for a generator's next draw, from its state and the step number."""
        _, draws = self.draws.get(id(generator), (generator, 0))
        self.draws[id(generator)] = generator, draws + 1
        state = generator.state.value
        # -> (2,), like a generator's state
        moved = ops.stack([ops.zeros_like(self.step) + draws * SECOND_DRAW, self.step])
        return state + ops.cast(moved, generator.state.dtype)

    def end(self, steps):
        """Advance the generators after the loop."""
        for generator, _ in self.draws.values():
            moved = ops.cast(ops.convert_to_tensor([0, steps]), generator.state.dtype)
            generator.state.assign(generator.state.value + moved)


class StepDropout(keras.layers.Layer):
    """Dropout that also works inside the loop over time.

    Raises ValueError unless `rate` is in [0, 1).
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


@contextlib.contextmanager
def outside_graphs():
    """Create variables of the block outside the graph of a `tf.function`.

    A variable created in a trace gets its initial value only if the trace succeeds, so a failed
    trace would make the variable unusable.
    """
    if keras.backend.backend() != "tensorflow":
        yield
        return
    import tensorflow as tf

    with tf.init_scope():
        yield


_UNKNOWN_SHAPES = []  # one item for each open block of `convertible_loops`


@contextlib.contextmanager
def convertible_loops():
    """Make loops inside the block store outputs of unknown shape in tensors.

    LiteRT's converter rejects a `TensorArray` whose elements have an unknown shape, such as weights
    over a source of any length. Inside the block, each step writes one row of a tensor instead.
    """
    _UNKNOWN_SHAPES.append(True)
    try:
        yield
    finally:
        _UNKNOWN_SHAPES.pop()


_WITHOUT_GRADIENT = []  # one item for each open block of `loops_without_gradient`


@contextlib.contextmanager
def loops_without_gradient():
    """Make loops inside the block store nothing for gradients."""
    _WITHOUT_GRADIENT.append(True)
    try:
        yield
    finally:
        _WITHOUT_GRADIENT.pop()


STEPS_AT_ONCE = 4  # number of unrolled steps in a loop on a GPU, where each pass has a launch cost


def scan(step, state, inputs, template, steps=None, return_state=False):
    """Run `step` along time and return the outputs of all steps, `(batch, time, ...)`.

    `step` is a function `(state, input) -> (output, state)`, which must not change the structure,
    shapes or dtypes of the state. `inputs` are tensors `(batch, time, ...)`; each step gets one
    slice. `template` has the structure, dtype and shape `(batch, ...)` of the output of one step.
    The loop may end after `steps` steps, an int32 scalar; later outputs are undefined. None means
    all steps. With `return_state`, returns the pair (outputs, last state).
    """
    inputs = tree.map_structure(_swap, inputs)
    results = _replayed(step, state, inputs, template, steps)
    outputs, state = results or loop(step, state, inputs, template, steps)
    outputs = tree.map_structure(_swap, outputs)
    return (outputs, state) if return_state else outputs


def _replayed(step, state, inputs, template, steps):
    """Return (outputs, state) of a loop on TensorFlow that needs a gradient, else None."""
    if keras.backend.backend() != "tensorflow" or _WITHOUT_GRADIENT:
        return None
    from keras_bahdanau.layers.replayed_loop import is_recorded, replayed_loop

    return replayed_loop(step, state, inputs, template, steps) if is_recorded() else None


def _swap(tensor):
    """Swap the first two axes: `(batch, time, ...)` <-> `(time, batch, ...)`."""
    return ops.transpose(tensor, (1, 0, *range(2, len(tensor.shape))))


def loop(step, state, inputs, template, steps=None):
    """Run like `scan`, but along the first axis; return (outputs, last state)."""
    if keras.backend.backend() == "tensorflow":
        return _loop_tensorflow(step, state, inputs, template, steps)
    return _loop_scan(step, state, inputs)


def _loop_tensorflow(step, state, inputs, template, steps):
    """Run a `tf.while_loop` over arrays, which unlike `keras.ops.scan` has a gradient under XLA."""
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
        maximum_iterations=time,  # XLA needs a bound to store values for the gradient
    )
    return tree.map_structure(lambda y: y.stack(), ys), state  # (time, ...)


def _loop_over_rows(step, state, inputs, template, steps):
    """Run like `_loop_tensorflow`, but over tensors: each step gathers a row and writes a row."""
    import tensorflow as tf

    time = tf.shape(tree.flatten(inputs)[0])[0]
    # zeros (time, batch, ...)
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
    """Run `_scan` with new random numbers at each step, also on JAX."""
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
    """Run `keras.ops.scan`, or on JAX a scan with a custom gradient."""
    if keras.backend.backend() != "jax":
        return ops.scan(step, state, inputs)
    from keras_bahdanau.layers import deferred_scan

    return deferred_scan.scan(step, state, inputs, unroll=_steps_at_once())


def _steps_at_once():
    """Return the number of steps in each pass of a loop on JAX."""
    import jax

    return STEPS_AT_ONCE if jax.default_backend() == "gpu" else 1


def custom_gradient(function):
    """Decorate `(*tensors) -> (outputs, gradient)`; on torch, use autograd's gradient instead."""
    if keras.backend.backend() != "torch":
        return ops.custom_gradient(function)

    def outputs_of(*tensors):
        outputs, _ = function(*tensors)
        return outputs

    return outputs_of
