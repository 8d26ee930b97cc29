"""Loops and runtimes in which parts with a state must run."""

import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

from keras_bahdanau.layers.memory import Memory
from keras_bahdanau.layers.recurrence import scan


def memory(mask):
    """Return a `Memory` for parts that use only its mask."""
    mask = tf.convert_to_tensor(mask)
    return Memory((), mask, summary=(), last=(), task=())


def unrolled(step, state, inputs):
    """Return the outputs of a Python loop over steps, `(batch, time, ...)`."""
    outputs = []
    for t in range(inputs.shape[1]):
        output, state = step(state, inputs[:, t])
        outputs.append(output)
    return tf.stack(outputs, axis=1)


def looped(step, state, inputs):
    """Return the outputs of the library's loop over steps, whose length may be unknown."""
    return scan(step, state, inputs, template=step(state, inputs[:, 0])[0])


def gradients(loop, step, state, inputs, variables):
    """Return the outputs of a loop over steps, and the gradients of the sum of their squares."""
    inputs = tf.convert_to_tensor(inputs)
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        outputs = loop(step, state, inputs)
        loss = tf.reduce_sum(outputs**2)
    return outputs, tape.gradient(loss, [inputs, *variables])


def looped_by_xla(step, state, inputs, variables):
    """Return `gradients` of a loop compiled by XLA; the batch size and lengths are unknown."""

    def function(state, inputs):
        return gradients(looped, step, state, inputs, variables)

    unknown = tf.nest.map_structure(
        lambda leaf: tf.TensorSpec([None] * len(leaf.shape), leaf.dtype), state
    )
    like_inputs = tf.TensorSpec([None, None, inputs.shape[-1]], inputs.dtype)
    compiled = tf.function(
        function, jit_compile=True, autograph=False, input_signature=(unknown, like_inputs)
    )
    return compiled(state, inputs)


def litert(function, *args):
    """Call a function in LiteRT, using only built-in operations and fixed shapes."""
    args = tf.nest.map_structure(tf.convert_to_tensor, args)
    leaves = {f"x{i}": leaf for i, leaf in enumerate(tf.nest.flatten(args))}
    structure = None

    def flat(**leaves):
        nonlocal structure
        structure = function(*tf.nest.pack_sequence_as(args, list(leaves.values())))
        return {f"y{i}": tf.identity(leaf) for i, leaf in enumerate(tf.nest.flatten(structure))}

    specs = {name: tf.TensorSpec(leaf.shape, leaf.dtype, name) for name, leaf in leaves.items()}
    traced = tf.function(flat, autograph=False).get_concrete_function(**specs)
    owner = tf.Module()
    owner.all = traced.variables
    converter = tf.lite.TFLiteConverter.from_concrete_functions([traced], owner)
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
    runner = Interpreter(model_content=converter.convert()).get_signature_runner()
    found = runner(**{name: np.asarray(leaf) for name, leaf in leaves.items()})
    return tf.nest.pack_sequence_as(structure, [found[f"y{i}"] for i in range(len(found))])
