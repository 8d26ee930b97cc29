"""Inputs for comparing an exported Keras model: the user's examples, or random ones."""

import keras
import numpy as np
import tensorflow as tf

from keras_bahdanau.exporters.keras_models.model_inputs import is_sequence

LENGTHS = (12, 5, 33, 1)  # lengths to use if a model accepts any
ROWS = 3
_FEW_NUMBERS = 4  # integers whose range is unknown are below this
_TEXTS = ("a b c", "", "The quick brown fox.", "\u00e9")


def drawn_batches(signature, rows=None):
    """Draw batches of random inputs for a signature: a list of dictionaries of arrays.

    `rows` is the batch size if it is fixed. Some rows of a sequence of ids end with zeros. Integers
    that no `Embedding` reads directly are below the size of the smallest `Embedding`.
    """
    random = np.random.default_rng(0)
    layers = signature.model._flatten_layers()
    sizes = [layer.input_dim for layer in layers if isinstance(layer, keras.layers.Embedding)]
    specs, lengths = signature.model_inputs.specs, getattr(signature, "lengths", {})
    is_open = any(None in spec.shape[1:] for spec in specs.values())
    batches, count = [], rows or ROWS
    for length in LENGTHS if is_open or lengths else LENGTHS[:2]:
        batch = {}
        for name, spec in specs.items():
            shape = (count, *(length if size is None else size for size in spec.shape[1:]))
            smallest = min(sizes, default=None) if spec.dtype.is_integer else None
            size = signature.model_inputs.ids.get(name, smallest)
            batch[name] = _drawn(random, spec, shape, size, len(batches))
        for name, length_name in lengths.items():
            longest, number = batch[name].shape[1], len(batches)
            shorter = (number + np.arange(count)) * longest // 3
            batch[length_name] = np.maximum(1, longest - shorter)
        batches.append(batch)
    return batches


def _drawn(random, spec, shape, size, number):
    """Draw random values for a spec in batch `number`; every third row of ids has padding."""
    if spec.dtype == tf.string:
        return np.array(_TEXTS, object)[random.integers(len(_TEXTS), size=shape)]
    if spec.dtype == tf.bool:
        return random.random(shape) < 0.5
    if size is None and not spec.dtype.is_integer:
        return random.standard_normal(shape).astype(np.float32)
    if size is None and spec.dtype == tf.uint8:
        size = 256
    values = random.integers(0, size or _FEW_NUMBERS, shape)
    if is_sequence(spec) and len(shape) == 2 and shape[1] > 1:
        values = np.maximum(values, 1) if (size or _FEW_NUMBERS) > 1 else values
        values[(1 - number) % 3 :: 3, shape[1] // 2 :] = 0
    return values.astype(spec.dtype.as_numpy_dtype)


def given_batches(signature, examples, rows=None):
    """Convert a user's `examples` to batches: see `export_litert`.

    Raises ValueError if they don't match the model's inputs.
    """
    specs = signature.model_inputs.specs
    groups = examples if isinstance(examples, list | tuple) else [examples]
    is_arrays = not any(isinstance(group, dict) for group in groups)
    if is_arrays and len(specs) > 1 and isinstance(examples, list | tuple):
        groups = [examples]  # the inputs of one batch, in the model's order
    return [_given_batch(signature, group, rows) for group in groups]


def _given_batch(signature, group, rows):
    specs, lengths = signature.model_inputs.specs, getattr(signature, "lengths", {})
    if not isinstance(group, dict):
        arrays = group if isinstance(group, list | tuple) else [group]
        group = dict(zip(specs, arrays, strict=False))
    batch = {n: np.asarray(group[n]) for n in [*specs, *lengths.values()] if n in group}
    shapes = {name: array.shape for name, array in batch.items()}
    if len({shape[:1] for shape in shapes.values()} - {(), (0,)}) != 1 or set(specs) - set(shapes):
        raise ValueError(
            f"`examples` must contain an array (batch, ...) for each of {', '.join(specs)}. "
            f"Received: shapes {shapes}. Correct them."
        )
    count = len(next(iter(batch.values())))
    for name, spec in specs.items():
        if name in lengths:
            batch.setdefault(lengths[name], np.full(count, batch[name].shape[1]))
        is_padded = name in lengths or name in signature.model_inputs.ids
        batch[name] = _fitted(name, batch[name], spec, is_padded)
    if rows is not None:  # fill a batch of fixed size by repeating the last row
        order = np.minimum(np.arange(rows), count - 1)
        batch = {name: array[order] for name, array in batch.items()}
    return batch


def _fitted(name, array, spec, is_padded):
    """Pad short sequences in an array with zeros to the shape of an input.

    Raises ValueError if the array does not have that shape then.
    """
    shape = spec.shape.as_list()
    if is_padded and array.ndim == len(shape) > 1 and shape[1] is not None:
        missing = max(0, shape[1] - array.shape[1])
        array = np.pad(array, [(0, missing if axis == 1 else 0) for axis in range(array.ndim)])
    if not spec.shape.is_compatible_with(array.shape):
        raise ValueError(
            f"`examples` must have the shape {tuple(shape)} for the input {name!r}. Received: "
            f"shape {array.shape}. Correct them."
        )
    return array


def known_ids(model, model_inputs, portable):
    """Return a dictionary from names of inputs to the sizes of the embeddings that read them.

    `portable` is the function `portable_layers`.
    """
    tensors, sizes = {}, {}

    def record(layer, inputs):
        for name, tensor in tensors.items():
            if inputs is tensor:
                sizes[name] = min(layer.input_dim, sizes.get(name, layer.input_dim))

    def run(**inputs):
        tensors.update(inputs)
        model_inputs.call(model, inputs)
        return tf.constant(0)

    with portable(model, record):
        tf.function(run, autograph=False).get_concrete_function(**model_inputs.in_batches(None))
    return sizes
