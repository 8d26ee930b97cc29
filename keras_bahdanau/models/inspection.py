"""Access to the attention weights inside a Keras model."""

import contextlib
import functools
import inspect

import keras
import numpy as np
from keras import ops, tree

from keras_bahdanau.layers.recurrence import convertible_loops  # noqa: F401, for exporters
from keras_bahdanau.models.decoder import Decoder
from keras_bahdanau.models.forecaster import Forecaster
from keras_bahdanau.models.step_model import StepModel
from keras_bahdanau.settings import checks

SCORES = "return_attention_scores"


def attention_weights(model, x, batch_size=32):
    """Return the weights of every attention layer inside a model for the given inputs.

    An attention layer is any layer with the argument `return_attention_scores` in its `call`:
    `BahdanauAttention`, `AttentionPooling` and the other attention layers of this package; Keras'
    `AdditiveAttention`, `Attention` and `MultiHeadAttention`; and custom layers. It may be in a
    Functional, Sequential or subclassed model, in a nested model, or in a wrapper such as
    `TimeDistributed`. If attention layers are nested, only the outer layer is included. `Seq2Seq`,
    `Decoder`, `Forecaster` and `Ensemble` count as one layer each, since they attend step by step.

    ```python
    weights = keras_bahdanau.attention_weights(model, ids)["attention_pooling"]
    keras_bahdanau.plot_weights(weights[0], words)
    ```

    The model runs eagerly and in inference mode. During the run, the `call` of each attention layer
    is replaced by a function that requests the weights, so no other thread may use the model.

    Args:
        model: `keras.Model`, trained or loaded.
        x: Inputs as in `model.predict`: an array `(batch, ...)`, or a list or dictionary of arrays.
        batch_size: Positive integer. Number of inputs in each call of the model.

    Returns:
        Dictionary from the name of each layer that was called ("model/layer" inside a nested model)
        to its weights. These are a float32 array in the shape that the layer returns, such as
        `(batch, [target_time,] source_time)`, or `(batch, heads, target_time, source_time)` for
        `keras.layers.MultiHeadAttention`. For a layer that is called several times, the value is a
        list of arrays in the order of the calls.

    Raises:
        TypeError: If `model` is not a Keras model, or `x` does not consist of numbers or text.
        ValueError: If the model has no attention layer or did not call it, if a layer returns no
            weights or runs inside a compiled function, or if `x` is empty.
    """
    if not isinstance(model, keras.Model):
        raise TypeError(
            f"`model` must be a keras.Model. Received: {type(model).__name__}. Pass the model "
            "itself. The weights of a Translation are its .alignment."
        )
    checks.positive_integer("batch_size", "the inputs of one call", batch_size)
    x = _arrays(x)
    examples = _count_examples(x)
    if not model.built:
        model(_rows(x, 0, 1), training=False)  # the first call may create layers
    layers = attention_layers(model)
    if not layers:
        names = (type(layer).__name__ for layer in _sublayers(model))
        kinds = ", ".join(dict.fromkeys(name for name in names if name != "InputLayer"))
        raise ValueError(
            f"`model` must have an attention layer, with `{SCORES}` in its call. Received: "
            f"{type(model).__name__} of {kinds or 'no layers'}. Add AttentionPooling, for example."
        )
    batches = []
    for start in range(0, examples, batch_size):
        with recording(layers, _numpy) as records:
            model(_rows(x, start, start + batch_size), training=False)
        batches.append({name: calls for name, calls in records.items() if calls})
    return _joined(batches, layers)


def _arrays(x):
    """Return the inputs with lists of numbers or strings converted to arrays."""
    if isinstance(x, dict):
        return {name: _arrays(array) for name, array in x.items()}
    if any(hasattr(leaf, "shape") for leaf in tree.flatten(x)):
        return x
    with contextlib.suppress(ValueError):  # raised for rows of different lengths
        array = np.asarray(x)
        if array.dtype != object:
            return array
    raise TypeError(
        "`x` must be an array (batch, ...), or a list or dictionary of arrays. Received: "
        f"{type(x).__name__}. Pad the rows to the same length; for a dataset, pass a batch."
    )


def _count_examples(x):
    """Return the length of the batch axis."""
    shapes = [tuple(array.shape) for array in tree.flatten(x) if array is not None]
    lengths = {shape[:1] for shape in shapes}
    if len(lengths) != 1 or not all(*lengths) or lengths == {()}:
        raise ValueError(
            "`x` must have a common batch axis with at least one example. Received: arrays of "
            f"shapes {shapes}."
        )
    return shapes[0][0]


def _rows(x, start, stop):
    return tree.map_structure(lambda array: None if array is None else array[start:stop], x)


def _sublayers(layer):
    return layer._flatten_layers(include_self=False, recursive=False)


def attention_layers(model):
    """Return a dictionary from paths of attention layers, such as "model/layer", to the layers."""
    names, layers, visited = {}, {}, set()

    def visit(layer, prefix):
        if id(layer) in visited:
            return
        visited.add(id(layer))
        name = prefix + layer.name
        if _has_weights(layer):
            names[name] = names.get(name, 0) + 1
            layers[name if names[name] == 1 else f"{name}_{names[name]}"] = layer
            return
        for sublayer in _sublayers(layer):
            visit(sublayer, "" if layer is model else f"{name}/")

    visit(model, "")
    return layers


def _has_weights(layer):
    """Return True for an attention layer, but not for other models with the same argument."""
    if isinstance(layer, keras.Model) and not isinstance(layer, StepModel | Decoder | Forecaster):
        return False
    return SCORES in inspect.signature(layer.call).parameters


@contextlib.contextmanager
def recording(layers, read=lambda name, weights: ops.cast(weights, "float32")):
    """Record the weights of all calls of layers inside the block, and yield a dictionary of them.

    The dictionary maps the name of a layer to a list. `layers` is the result of `attention_layers`;
    the `call` of each is replaced. `read` is a function of (name of a layer, its weights) whose
    results are recorded.
    """
    records = {name: [] for name in layers}
    calls = [
        (layer, _recorded_call(name, layer, records[name], read)) for name, layer in layers.items()
    ]
    with replaced_methods("call", calls):
        yield records


@contextlib.contextmanager
def replaced_methods(method, functions):
    """Replace a method of layers inside the block; `functions` are pairs (layer, function)."""
    previous = [(layer, vars(layer).get(method)) for layer, _ in functions]
    try:
        for layer, function in functions:
            vars(layer)[method] = function
        yield
    finally:
        for layer, function in previous:
            vars(layer).pop(method, None)
            if function is not None:
                vars(layer)[method] = function


def _recorded_call(name, layer, record, read):
    """Return a `call` for a layer that also appends the weights to `record`."""
    call, signature = layer.call, inspect.signature(layer.call)

    @functools.wraps(call)
    def call_with_weights(*args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        default = signature.parameters[SCORES].default
        returns_weights = bound.arguments.get(SCORES, default)
        if returns_weights is None:  # the constructor decides
            returns_weights = getattr(layer, SCORES, False)
        bound.arguments[SCORES] = True
        outputs = call(*bound.args, **bound.kwargs)
        if not isinstance(outputs, tuple | list) or len(outputs) < 2:
            raise ValueError(
                f"A layer with `{SCORES}=True` must return (outputs, weights). Received: "
                f"{type(outputs).__name__} from the layer {name}."
            )
        record.append(read(name, getattr(outputs, "weights", outputs[-1])))
        if returns_weights or hasattr(outputs, "weights"):  # a `DecoderOutput`
            return outputs
        return outputs[0] if len(outputs) == 2 else tuple(outputs[:-1])

    return call_with_weights


def _numpy(name, weights):
    try:
        return ops.convert_to_numpy(ops.cast(weights, "float32"))
    except (NotImplementedError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(
            "Weights must have values, which are not available in a compiled function. Received: "
            f"{type(weights).__name__} from the layer {name}. Call the layer outside of "
            "tf.function and of compiled loops."
        ) from error


def _joined(batches, layers):
    """Join the weights of all batches: name -> array, or list of arrays for several calls."""
    counts = [{name: len(calls) for name, calls in batch.items()} for batch in batches]
    if not counts[0]:
        raise ValueError(
            "`model` must call an attention layer, outside of tf.function. Received: a model that "
            f"calls none of {', '.join(layers)}. Pass the model that calls them."
        )
    if any(count != counts[0] for count in counts):
        raise ValueError(
            "Each batch must call the same attention layers. Received: "
            f"{counts[0]} calls, and different calls in later batches. Use a larger batch_size."
        )
    weights = {}
    for name, count in counts[0].items():
        calls = [
            np.concatenate([batch[name][index] for batch in batches]) for index in range(count)
        ]
        weights[name] = calls[0] if count == 1 else calls
    return weights
