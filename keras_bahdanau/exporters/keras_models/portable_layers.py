"""Change layers while a model is traced for other runtimes; find the layers of an operation."""

import contextlib
import functools
import inspect
import re
import warnings

import keras
import tensorflow as tf

from keras_bahdanau.exporters.saved_model.graph_check import GUARD, calls, harm_of
from keras_bahdanau.exporters.tracing import portable, switched
from keras_bahdanau.models.inspection import convertible_loops, replaced_methods

_DROPOUT = "dropout", "recurrent_dropout"  # attributes of a cell
_SCOPE = "layer_number_"
_NUMBER = re.compile(rf"{_SCOPE}(\d+?)(?:_\d+)?")


@contextlib.contextmanager
def portable_layers(model, record=None):
    """Make traces inside the block run in any runtime, and accept any ids.

    The traces contain no cuDNN operations. Ids outside the range of an `Embedding` are clipped
    instead of raising an error. `record`, if given, is called with each `Embedding` and its ids.
    """

    def clamped(layer, call):
        def call_with_known_ids(inputs):
            if record is not None:
                record(layer, inputs)
            ids = keras.ops.clip(keras.ops.cast(inputs, "int32"), 0, layer.input_dim - 1)
            outputs = call(ids)
            masks = getattr(inputs, "_keras_mask", None), layer.compute_mask(ids)
            masks = [mask for mask in masks if mask is not None]
            if masks:  # an Embedding drops the mask of its inputs
                outputs._keras_mask = functools.reduce(keras.ops.logical_and, masks)
            return outputs

        return call_with_known_ids

    embeddings = [layer for layer in layers_of(model) if isinstance(layer, keras.layers.Embedding)]
    wrappers = [w for w in layers_of(model) if isinstance(w, keras.layers.TimeDistributed)]
    with portable(model), convertible_loops(), contextlib.ExitStack() as block:
        block.enter_context(replaced_calls(embeddings, clamped))
        block.enter_context(replaced_calls(wrappers, _folded))
        for cell in layers_of(model):  # a cell draws dropout masks even if it does not use them
            if vars(cell).keys() >= set(_DROPOUT):
                block.callback(vars(cell).update, {n: vars(cell)[n] for n in _DROPOUT})
                vars(cell).update(dict.fromkeys(_DROPOUT, 0.0))
        yield


def _folded(wrapper, call):
    """Make a `TimeDistributed` process all steps together as rows; Keras would map or unroll."""

    def call_on_rows(inputs, training=None, mask=None):
        arguments = inspect.signature(wrapper.layer.call).parameters
        keywords = {"training": training} if "training" in arguments else {}
        if mask is not None and "mask" in arguments:
            keywords["mask"] = _merged(mask)
        outputs = wrapper.layer.call(_merged(inputs), **keywords)
        shape = keras.ops.shape(inputs)[:2] + keras.ops.shape(outputs)[1:]
        return keras.ops.reshape(outputs, shape)

    return call_on_rows


def _merged(tensor):
    """Reshape (batch, time, ...) to (batch * time, ...)."""
    batch, time, *axes = keras.ops.shape(tensor)
    return keras.ops.reshape(tensor, (batch * time, *axes))


def replaced_calls(layers, replacement):
    """Replace the `call` of layers by `replacement(layer, call)` inside the block."""
    return replaced_methods("call", [(layer, replacement(layer, layer.call)) for layer in layers])


@contextlib.contextmanager
def without_advice():
    """Hide Keras' warnings about short sequences and lost masks, which only matter in training."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def stateless(model):
    """Inside the block, make recurrent layers ignore the state of earlier calls."""
    return switched(model, "stateful", False)


def layers_of(model):
    """Return all layers of a model once each, including nested layers."""
    return list({id(layer): layer for layer in model._flatten_layers()}.values())


def half_precisions(model):
    """Return the set of half-precision dtypes in which layers of a model compute."""
    return {layer.compute_dtype for layer in layers_of(model)} & {"float16", "bfloat16"}


def require_float32(model, rule):
    """Raise ValueError for a model in half precision. The message begins with `rule`."""
    if precisions := half_precisions(model):
        raise ValueError(
            f"{rule} Received: a model in {' and '.join(precisions)}. Build it with the dtype "
            "policy 'float32', and copy the weights."
        )


def resources_of(model):
    """Return the tables of lookup layers, which a SavedModel must contain."""
    return [
        value
        for layer in layers_of(model)
        for value in vars(layer).values()
        if isinstance(value, tf.saved_model.experimental.TrackableResource)
    ]


@contextlib.contextmanager
def named_scopes(model):
    """Add the number of its layer to the name of each node that is traced inside the block."""
    layers = layers_of(model)
    numbers = {id(layer): number for number, layer in enumerate(layers)}

    def scoped(layer, call):
        @functools.wraps(call)
        def call_in_scope(*args, **kwargs):
            with tf.name_scope(f"{_SCOPE}{numbers[id(layer)]}"):
                return call(*args, **kwargs)

        return call_in_scope

    with replaced_calls([layer for layer in layers if layer is not model], scoped):
        yield layers


def operations_by_layer(function, layers=()):
    """Return a dictionary from each operation in a concrete function to its layers' descriptions.

    `layers` are the layers that `named_scopes` yielded when the function was traced.
    """
    graph = function.graph.as_graph_def()
    library = {item.signature.name: item for item in graph.library.function}
    origins, visited = {}, set()
    waiting = [(node, ()) for node in graph.node]
    while waiting:
        node, outer = waiting.pop()
        scopes = (*outer, *node.name.split("/"))
        if GUARD in scopes:
            continue
        described = origins.setdefault(node.op, [])
        numbers = [_NUMBER.fullmatch(scope) for scope in scopes]
        inner = [layers[int(match[1])] for match in numbers if match]
        if inner and (text := f"{inner[-1].name!r} ({type(inner[-1]).__name__})") not in described:
            described.append(text)
        for name in calls(node) & library.keys():
            if (name, scopes) not in visited:
                visited.add((name, scopes))
                waiting += [(node, scopes) for node in library[name].node_def]
    return origins


def harms_of(functions):
    """Yield (signature, operation, `Harm`) for each operation that no runtime should run."""
    for name, function in functions.items():
        for operation in operations_by_layer(function):
            harm = harm_of(operation)
            if harm is not None:
                yield name, operation, harm


def made_by(layers):
    """Return the end of a phrase about an operation, with the layers that use it, if known."""
    return f" by the layer {' and '.join(layers)}" if layers else ""
