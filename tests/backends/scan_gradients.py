"""Compare gradients of loops over time on JAX: `layers.deferred_scan` and JAX alone.

Run with the Python of the JAX environment: `python scan_gradients.py POLICY [NAMES]` prints as
JSON, for each decoder cell and reader, the largest differences of an output and of a gradient,
relative to the largest element of each array, and the number of products whose factors get their
gradients after a loop. `python scan_gradients.py second` prints the difference of a second
derivative.
"""

import contextlib
import functools
import json
import sys

import jax
import keras
import numpy as np
import step_cells
from jax import numpy as jnp
from keras import ops, tree

from keras_bahdanau.layers import deferred_scan
from keras_bahdanau.layers.names import PARALLEL_CELLS
from keras_bahdanau.layers.readers.reader import ScannedRNN

# Without cells that use Keras' own seeds, which no loop on JAX can advance.
CELLS = [name for name in step_cells.DECODER_CELLS if "draws" not in name]
READERS = [x for x in step_cells.READERS if "draws" not in x and x not in PARALLEL_CELLS]
READERS = [f"reader {name}" for name in READERS]


def new_function(name):
    """Return (training function of arrays, arrays, variables) for a decoder cell or a reader."""
    keras.utils.set_random_seed(1)
    dtype = keras.config.dtype_policy().compute_dtype
    values, inputs = (x.astype(dtype) for x in (step_cells.VALUES, step_cells.INPUTS))
    if name in step_cells.DECODER_CELLS:
        cell = step_cells.build(step_cells.DECODER_CELLS[name]())
        return step_cells.teacher_forced(cell), [values, inputs], cell.trainable_variables
    rnn = ScannedRNN(step_cells.READERS[name.removeprefix("reader ")]())
    rnn.build(inputs.shape)
    return functools.partial(rnn, training=True), [inputs], rnn.trainable_variables


@contextlib.contextmanager
def counted(is_deferred):
    """Yield a list that gets each loop's number of products, if `deferred_scan` is used."""
    scan, traced, counts = deferred_scan.scan, deferred_scan.StepJaxpr, []

    def trace(jaxpr):
        step = traced(jaxpr)
        counts.append(len(step.products))
        return step

    deferred_scan.StepJaxpr = trace
    if not is_deferred:
        deferred_scan.scan = jax.lax.scan
    try:
        yield counts
    finally:
        deferred_scan.scan, deferred_scan.StepJaxpr = scan, traced


def gradients(function, arrays, variables, is_deferred=True):
    """Return (outputs and gradients as arrays, number of products after the loops)."""

    def loss(arrays, values):
        with keras.StatelessScope(state_mapping=[*zip(variables, values, strict=True)]):
            outputs = tree.flatten(function(*arrays))
        outputs = [x for x in outputs if jnp.issubdtype(x.dtype, jnp.floating)]
        wide = [ops.cast(x, "float64" if x.dtype == "float64" else "float32") for x in outputs]
        return sum(jnp.sum(x * x * (1 + i)) for i, x in enumerate(wide)), wide

    with counted(is_deferred) as counts:
        slopes_of = jax.jit(jax.value_and_grad(loss, (0, 1), has_aux=True))
        (_, outputs), slopes = slopes_of(arrays, [variable.value for variable in variables])
    return *(
        [np.asarray(x, "float64") for x in jax.tree.leaves(xs)] for xs in (outputs, slopes)
    ), sum(counts)


def difference(arrays, targets):
    """Return the largest difference between arrays, relative to the largest element."""
    scales = [np.max(np.abs(target), initial=0.0) for target in targets]
    return max(
        np.max(np.abs(array - target)) / max(scale, 1e-2 * max(scales))
        for array, target, scale in zip(arrays, targets, scales, strict=True)
    )


def second_derivatives(scan):
    """Return the gradients of a scan's squared gradient for its kernel, inputs and first state."""
    random = np.random.default_rng(0)
    shapes = (16, 16), (5, 2, 16), (2, 16)
    arrays = [jnp.asarray(0.3 * random.normal(size=shape), "float32") for shape in shapes]

    def loss(kernel, inputs, h):
        def step(h, x):
            h = jnp.tanh(h @ kernel + x)
            return h, h

        return jnp.sum(scan(step, h, inputs)[1] ** 2)

    def penalty(*arrays):
        return sum(jnp.sum(slope**2) for slope in jax.grad(loss, (0, 1, 2))(*arrays))

    return jax.grad(penalty, (0, 1, 2))(*arrays)


def main(policy, names):
    keras.config.set_dtype_policy(policy)
    for name in names:
        settings = new_function(name)
        outputs, slopes, count = gradients(*settings)
        expected, expected_slopes, _ = gradients(*settings, is_deferred=False)
        assert all(np.all(np.isfinite(x)) for x in (*outputs, *slopes))
        pairs = (outputs, expected), (slopes, expected_slopes)
        yield name, (*(float(difference(*pair)) for pair in pairs), count)


if __name__ == "__main__":
    policy, *names = sys.argv[1:]
    if policy == "second":
        pair = map(second_derivatives, (deferred_scan.scan, jax.lax.scan))
        answers = {"second": (float(difference(*pair)), 0, 1)}
    else:
        answers = dict(main(policy, names or READERS + CELLS))
    sys.stdout.write(json.dumps(answers))
