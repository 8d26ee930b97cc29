"""Loop over time for TensorFlow in which the gradient of each weight is one product at the end.

TensorFlow differentiates a loop step by step. For each weight, every step computes a product of a
few rows and adds a matrix as large as the weight. Here, a step is traced once, together with its
gradient. The forward loop also stores the vectors and random draws that the gradient needs. The
backward loop replays the rest of each step, and stores the gradients of the results of its matrix
products. After the loop, the gradient of a weight is a single product over all steps. (cuDNN does
the same for its own cells: Appleyard et al. 2016.)
"""

import tensorflow as tf
from keras import ops, tree

from keras_bahdanau.layers.step_graph import CannotReplayError, StepGraph, widest


def is_recorded():
    """Return True in a graph that a `tf.GradientTape` records."""
    if tf.executing_eagerly() or not hasattr(tf.compat.v1.get_default_graph(), "capture"):
        return False
    try:
        from tensorflow.python.eager.record import could_possibly_record
    except ImportError:
        return False
    return could_possibly_record()


def replayed_loop(step, state, inputs, template, steps=None):
    """Return (outputs, state) like `recurrence.loop`, or None if the step can't be replayed."""
    tensors = tree.map_structure(tf.convert_to_tensor, (state, inputs, template))
    state, inputs, template = tensors
    slices = tree.map_structure(lambda x: tf.TensorSpec(x.shape[1:], x.dtype), inputs)
    try:
        graph = StepGraph(step, state, slices, template)
    except CannotReplayError:
        return None
    results = _Loop(graph, inputs, template, steps).run(tree.flatten((state, inputs)))
    return tree.pack_sequence_as((template, state), results)


class _Loop:
    """The forward and the backward loop of a `StepGraph`.

    In lists of leaves, the state precedes the slices. `ys` are the outputs of all steps.
    """

    def __init__(self, step, inputs, template, steps):
        self.step = step
        self.template = tree.flatten(template)
        self.time = ops.shape(tree.flatten(inputs)[0])[0]
        self.last = self.time if steps is None else tf.minimum(steps, self.time)

    def run(self, leaves):
        """Return the outputs of all steps and the leaves of the last state."""
        self.leaves = leaves
        self.floats = [i for i, leaf in enumerate(leaves) if leaf.dtype.is_floating]
        values = [self._value(source[0]) for source in self.step.sources]
        return tf.custom_gradient(self._forward)(*(leaves[i] for i in self.floats), *values)

    def _value(self, tensor):
        """Return the captured tensor, or the variable's value, that a step reads as `tensor`."""
        if tensor.op.type == "Placeholder":
            return tf.convert_to_tensor(self.step.captures[tensor.name])
        handle = self.step.captures[tensor.op.inputs[0].name]
        value = tf.raw_ops.ReadVariableOp(resource=handle, dtype=tensor.dtype)
        value.set_shape(tensor.shape)
        return value

    def _forward(self, *args):
        step, size = self.step, self.step.state_size
        leaves = [*self.leaves]
        for i, value in zip(self.floats, args, strict=False):
            leaves[i] = value
        values = {
            tensor.name: value
            for source, value in zip(step.sources, args[len(self.floats) :], strict=True)
            for tensor in source
        }
        hoisted = step.copy([*step.hoisted.values()], values)
        hoisted = dict(zip(step.hoisted, hoisted, strict=True))
        names = [leaf.name for leaf in step.leaves]
        xs = [self._array(x).unstack(x) for x in leaves[size:]]
        ys = [tensor.name for tensor in step.outputs[: len(self.template)]]
        kept = [tensor for tensor in step.kept if tensor.name not in ys]

        def body(t, state, arrays):
            feeds = dict(zip(names, [*state, *(x.read(t) for x in xs)], strict=True))
            results = step.copy([*step.outputs, *kept], {**hoisted, **feeds}, effects=True)
            before = [state[i] for i in step.read]
            written = results[: len(ys)] + results[len(step.outputs) :] + before
            return t + 1, results[len(ys) : len(step.outputs)], _write(arrays, t, written)

        shapes = [*self.template, *kept, *(step.leaves[i] for i in step.read)]
        _, state, arrays = tf.while_loop(
            lambda t, *_: t < self.last,
            body,
            (
                tf.constant(0),
                leaves[:size],
                [self._array(tensor, tensor.shape) for tensor in shapes],
            ),
            maximum_iterations=self.time,
        )
        read = [names[i] for i in step.read] + names[size:]
        arrays_of = dict(zip([*ys, *(x.name for x in kept), *read], arrays + xs, strict=True))

        def gradient(*upstream):
            slopes = self._gradient(upstream, values, hoisted, arrays_of)
            return _once_only(slopes, [*upstream, *args])

        return [*(y.stack() for y in arrays[: len(ys)]), *state], gradient

    def _gradient(self, upstream, values, hoisted, arrays_of):
        """Return the gradients of the arguments of `_forward`, from named arrays of all steps."""
        step = self.step
        upstream = [
            tf.convert_to_tensor(slope)
            for slope, tensor in zip(upstream, step.outputs, strict=True)
            if tensor.dtype.is_floating
        ]
        count = sum(tensor.dtype.is_floating for tensor in step.outputs[: len(self.template)])
        d_ys = [self._array(slope).unstack(slope) for slope in upstream[:count]]
        size = len(upstream) - count  # number of float leaves of a state
        read = {x.name for x in step.kept} | {leaf.name for leaf in step.leaves}
        read = {name: array for name, array in arrays_of.items() if name in read}
        start, end = len(step.leaf_slopes), len(step.leaf_slopes) + len(step.sums)
        # equal gradients share one array
        written = step.backward[size:start] + step.backward[end:]
        unique = {tensor.name: tensor for tensor in written}

        def body(t, d_state, sums, arrays):
            slopes = [*(d_y.read(t) for d_y in d_ys), *d_state]
            feeds = {name: array.read(t) for name, array in read.items()}
            feeds |= {x.name: slope for x, slope in zip(step.slopes, slopes, strict=True)}
            outputs = [*step.backward[:size], *step.backward[start:end], *unique.values()]
            results = step.copy(outputs, {**hoisted, **feeds})
            added, last = results[size : size + len(sums)], results[size + len(sums) :]
            sums = [x + tf.cast(y, x.dtype) for x, y in zip(sums, added, strict=True)]
            return t - 1, results[:size], sums, _write(arrays, t, last)

        _, d_state, sums, arrays = tf.while_loop(
            lambda t, *_: t >= 0,
            body,
            (
                self.last - 1,
                upstream[count:],
                [_zeros(hoisted[tensor.name]) for tensor, _ in step.sums],
                [self._array(tensor, tensor.shape) for tensor in unique.values()],
            ),
            maximum_iterations=self.time,
        )
        stacks = dict(zip(unique, (array.stack() for array in arrays), strict=True))
        slopes = [(tensor, total) for (tensor, _), total in zip(step.sums, sums, strict=True)]
        for product in step.products:
            entering, factor = arrays_of[product.entering.name].stack(), product.factor
            slope = product.slope(entering, stacks[product.leaving.name], hoisted[factor.name])
            slopes.append((factor, slope))
        d_xs = [stacks[tensor.name] for tensor in step.backward[size:start]]
        return [*d_state, *d_xs, *self._source_gradients(slopes, values)]

    def _source_gradients(self, slopes, values):
        """Return the gradients of the sources, from pairs of a hoisted tensor and its gradient."""
        step = self.step
        feeds = {**values}
        for target, placeholder in zip(step.targets, step.target_slopes, strict=True):
            parts = [
                tf.cast(slope, target.dtype)
                for tensor, slope in slopes
                if widest(tensor).name == target.name
            ]
            feeds[placeholder.name] = tf.add_n(parts)
        learned = [slope for slope in step.source_slopes if slope is not None]
        copies = iter(step.copy(learned, feeds))
        return [None if slope is None else next(copies) for slope in step.source_slopes]

    def _array(self, tensor, shape=None):
        shape = tensor.shape[1:] if shape is None else shape
        return tf.TensorArray(tensor.dtype, self.time, element_shape=shape)


def _write(arrays, t, values):
    """Return the arrays after writing a value to each at step t."""
    return [array.write(t, value) for array, value in zip(arrays, values, strict=True)]


def _once_only(slopes, sources):
    """Return the gradients, but raise NotImplementedError if they are differentiated again."""
    learned = [slope for slope in slopes if slope is not None]
    sources = [tensor for tensor in sources if tensor is not None and tensor.dtype.is_floating]

    @tf.custom_gradient
    def refusing(*tensors):
        def gradient(*_):
            raise NotImplementedError(
                "A loop over time must be differentiated only once in a `tf.function`. Received: "
                "the gradient of a gradient. Run the model eagerly: compile(run_eagerly=True)."
            )

        return [tf.identity(tensor) for tensor in tensors[: len(learned)]], gradient

    learned = iter(refusing(*learned, *sources))
    return [None if slope is None else next(learned) for slope in slopes]


def _zeros(tensor):
    """Return zeros in the shape of a tensor, at least float32, to accumulate sums."""
    dtype = tf.float32 if tensor.dtype.size < 4 else tensor.dtype
    return tf.zeros(tf.shape(tensor), dtype)
