"""Checks and conversions for an attention layer's arguments, which follow Keras conventions."""

import functools
import math
import warnings

import keras
from keras import ops

MASKS = ("query_mask", "value_mask", "key_mask", "attention_mask")
FLAGS = ("return_attention_scores", "training", "use_causal_mask")


def keras_arguments(query, value, key, masks, mask, values):
    """Return ((query, value, key), masks by Keras' names) for any supported form of a call.

    `query` may be the list [query, value(, key)]; `mask` may be the list of their masks, or only
    the value mask. `values` is an alias of `value`. Raises ValueError if the arguments or their
    shapes are invalid.
    """
    if isinstance(query, list | tuple) and all(hasattr(tensor, "shape") for tensor in query):
        if len(query) not in (2, 3) or value is not None or values is not None:
            raise ValueError(
                "A list of inputs must be [query, value] or [query, value, key], with no other "
                "tensor argument. "
                f"Received: a list of {len(query)} tensors."
            )
        query, value, key = (*query, None)[:3] if len(query) == 2 else query
    if value is not None and values is not None:
        raise ValueError("`values` is an alias of `value`. Received: both. Pass only one of them.")
    value = values if value is None else value
    if value is None:
        raise ValueError(
            "An attention layer needs `query` and `value`. Received: one tensor. Call "
            "layer(query, value). In a Sequential model, use AttentionPooling, or "
            "keras.Model(steps, layer(steps, steps)) with steps = keras.Input(...)."
        )
    if key is not None and mask is None and "bool" in str(ensure_tensor(key).dtype):
        key, mask = None, key  # in older versions, the third argument was the mask
    masks = named(*masks)
    for name, item in _named_masks(mask).items():
        if name in masks:
            raise ValueError(
                f"`mask` contains `{name}`. Received: `mask` and `{name}`. Pass only one of them."
            )
        masks[name] = item
    query, value = ensure_tensor(query), ensure_tensor(value)
    key = None if key is None else ensure_tensor(key)
    _check_inputs(query, value, key)
    for name, tensor, names in (("query_mask", query, ()), ("value_mask", value, ("key_mask",))):
        lost = None if {name, *names} & {*masks} else lost_mask(tensor, name == "value_mask")
        if lost is not None:
            masks[name] = lost
    return (query, value, key), {name: ensure_tensor(mask) for name, mask in masks.items()}


def _named_masks(mask):
    """Return masks by name: from [query mask, value mask(, key mask)], or a single value mask."""
    if mask is None:
        return {}
    if isinstance(mask, list | tuple) and all(
        item is None or hasattr(item, "shape") for item in mask
    ):
        if len(mask) not in (2, 3):
            raise ValueError(
                "A list of masks must be [query_mask, value_mask] or [query_mask, value_mask, "
                f"key_mask]. Received: a list of {len(mask)}."
            )
        return {name: item for name, item in zip(MASKS, mask, strict=False) if item is not None}
    return {"value_mask": mask}


def ensure_tensor(array):
    """Return a tensor unchanged, and convert a list or a number to a tensor."""
    return array if hasattr(array, "shape") else ops.convert_to_tensor(array)


def _check_inputs(query, value, key):
    """Raise ValueError unless the shapes and dtypes of query, value and key are compatible."""
    for name, tensor in (("query", query), ("value", value), ("key", key)):
        if tensor is not None:
            _check_numbers(name, tensor)
    shapes = [tuple(tensor.shape) for tensor in (query, value)]
    received = f"Received: query.shape={shapes[0]}, value.shape={shapes[1]}."
    if len(shapes[1]) < 3:
        hint = " Query and value may be swapped." if len(shapes[0]) > 2 else ""
        raise ValueError(
            "`value` (`values`) must be (batch, source_time, units), or a grid (batch, height, "
            f"width, units). {received}{hint}"
        )
    if len(shapes[0]) not in (2, 3):
        raise ValueError(
            "`query` must be (batch, units) or (batch, target_time, units). "
            f"{received} Reshape a grid of queries to (batch, target_time, units)."
        )
    if None in (shapes[0][-1], shapes[1][-1]):
        raise ValueError(f"The last axis of `query` and `value` must have a known size. {received}")
    if not may_equal(shapes[0][0], shapes[1][0]):
        raise ValueError(f"`query` and `value` must have the same batch size. {received}")
    if shapes[1][0] is None and (shapes[0][0] or 1) > 1 and _is_constant(query, value):
        raise ValueError(
            "`query` must have the batch axis of `value`, which a constant does not have. "
            f"{received} Pass ops.repeat(query[None], ops.shape(value)[0], axis=0)."
        )
    if key is None:
        return
    key_shape = tuple(key.shape)
    if len(key_shape) != len(shapes[1]) or not all(map(may_equal, key_shape[:-1], shapes[1][:-1])):
        raise ValueError(
            "`key` must match `value` in all axes except the last. Received: "
            f"key.shape={key_shape}, value.shape={shapes[1]}. Pass a mask as value_mask=."
        )


def _is_constant(query, value):
    """Return True if `query` is an array and `value` a tensor of a Functional model."""
    is_symbolic = [isinstance(tensor, keras.KerasTensor) for tensor in (query, value)]
    return is_symbolic == [False, True]


def _check_numbers(name, tensor):
    if hasattr(tensor, "row_splits") or getattr(tensor, "ragged", False):
        raise ValueError(
            f"`{name}` must be dense. Received: a ragged tensor. Pass {name}.to_tensor(), and "
            f"tf.sequence_mask({name}.row_lengths()) as its mask."
        )
    dtype = getattr(tensor.dtype, "name", str(tensor.dtype))
    if not any(kind in dtype for kind in ("float", "int", "bool")):
        raise ValueError(f"`{name}` must be numeric. Received: {name}.dtype={dtype}.")


def check_masks(query, value, masks, use_causal_mask=False):
    """Raise ValueError unless each mask, explicit or implicit, has a valid shape.

    `query` is None if there are only values.
    """
    source = tuple(value.shape[1:-1])
    batch, *steps = value.shape[:1] if query is None else query.shape[:-1]
    flat = {(None if None in source else math.prod(source),)}
    ends = {source, *flat}  # the mask of a grid may be two-dimensional or flat
    forms = {
        "query_mask": [((batch, *steps), {()})],
        "value_mask": [((batch,), ends)],
        "key_mask": [((batch,), ends)],
        "attention_mask": [((batch, *steps), ends), (steps, flat) if steps else ((batch, 1), ends)],
    }
    for name, mask in masks.items():
        shape = tuple(mask.shape)
        fits = any(_broadcasts(shape, lead, end) for lead, tails in forms[name] for end in tails)
        # an axis of unknown length is the batch axis if the number of queries is known
        is_of_values = name == "attention_mask" and len(shape) == 2 and steps and steps[0]
        if not fits or (is_of_values and shape[0] is None):
            raise ValueError(_wrong_mask(name, bool(steps), shape, query, value))
    if use_causal_mask and not steps:
        raise ValueError(
            "`use_causal_mask=True` needs queries (batch, target_time, units). Received: "
            f"query.shape={tuple(query.shape)}. Pass use_causal_mask=False."
        )


def _broadcasts(shape, lead, end):
    """Return True if a mask has axes of these sizes; its first axis may also have length 1."""
    sizes = (*lead, *end)
    return len(shape) == len(sizes) and all(
        may_equal(size, expected) or (size == 1 and axis < len(lead))
        for axis, (size, expected) in enumerate(zip(shape, sizes, strict=True))
    )


def _wrong_mask(name, has_steps, shape, query, value):
    """Return the error message for a mask with a wrong shape."""
    query_shape = "" if query is None else f"query.shape={tuple(query.shape)}, "
    received = f"Received: {name}.shape={shape} with {query_shape}value.shape={tuple(value.shape)}."
    target = ", target_time" if has_steps else ""
    if name == "query_mask":
        axes = f"(batch{target or ','})"
        return (
            f"`query_mask` must be {axes}, True where a query is real. {received} Pass a mask for "
            "the values as value_mask=."
        )
    if name == "attention_mask":
        return (
            f"`attention_mask` must be (batch{target}, source_time), True where a query may attend "
            f"to a value. {received} Pass a mask for the values as value_mask=."
        )
    advice = "Pass a separate mask for each query as attention_mask=."
    if len(shape) == 1:
        advice = "For lengths, pass ops.arange(source_time) < lengths[:, None]."
    elif shape[2:] == (1,):
        advice = "Pass mask[..., 0]."
    return f"`mask` must be (batch, source_time), True where a value is real. {received} {advice}"


def may_equal(size, expected):
    """Return True if two sizes of an axis are equal, or if one of them is unknown in a graph."""
    return None in (size, expected) or size == expected


def lost_mask(tensor, warn=True):
    """Return the mask that a tensor of a Functional model has lost or will lose, or None.

    As of Keras 3.16, RNNs no longer propagate masks, and `keras.layers.MultiHeadAttention` deletes
    the masks of its inputs. The mask can be found only for a symbolic tensor, which records the
    layers before and after it. If `warn` is True, emits a warning when an operation that is not a
    layer has dropped the mask.
    """
    mask = getattr(tensor, "_keras_mask", None)
    if mask is not None:
        return mask if _mask_is_deleted(tensor) else None  # Keras passes this mask itself
    dropping = None
    while mask is None:
        operation, node_index, _ = getattr(tensor, "_keras_history", (None, 0, 0))
        recurrent = keras.layers.RNN | keras.layers.Bidirectional
        carries = isinstance(operation, recurrent) or getattr(operation, "supports_masking", False)
        if operation is None or (isinstance(operation, keras.layers.Layer) and not carries):
            return None  # Keras itself warns about a layer that drops a mask
        sources = operation._inbound_nodes[node_index].input_tensors
        if not sources or len(sources[0].shape) != 3 or len(tensor.shape) != 3:
            return None
        dropping = dropping if carries else operation
        masks = [getattr(source, "_keras_mask", None) for source in sources]
        if dropping is not None and any(mask is not None for mask in masks):
            if warn:
                _warn_of_dropped_mask(dropping)
            return None
        tensor, mask = sources[0], masks[0]
    return mask


def _warn_of_dropped_mask(operation):
    warnings.warn(
        f"The values have no mask: the operation {operation.name!r} drops the mask of its input, "
        "so padding gets weight. Pass mask=, such as embedding.compute_mask(ids).",
        stacklevel=5,
    )


def _mask_is_deleted(tensor):
    """Return True if a symbolic tensor is an input of a layer with a Keras `MultiHeadAttention`."""
    operation = getattr(tensor, "_keras_history", (None,))[0]
    readers = [
        node.operation
        for node in getattr(operation, "_outbound_nodes", ())
        if any(source is tensor for source in node.input_tensors)
    ]
    return any(
        isinstance(layer, keras.layers.MultiHeadAttention)
        for reader in readers
        if isinstance(reader, keras.layers.Layer)
        for layer in reader._flatten_layers()
    )


def flatten_grid(tensor):
    """Reshape a grid `(batch, height, width, units)` to a sequence; return a sequence unchanged."""
    if len(tensor.shape) == 3:
        return tensor
    batch, *sizes, units = ops.shape(tensor)
    return ops.reshape(tensor, (batch, math.prod(sizes), units))


def mask_of_source(*masks):
    """Return a bool mask `(batch or 1, source_time)`, True where all masks are True, or None."""
    masks = [bool_mask(mask) for mask in masks if mask is not None]
    if not masks:
        return None
    return functools.reduce(ops.logical_and, (_flatten_axes(mask, 1) for mask in masks))


def mask_of_queries(attention_mask, use_causal_mask, query, grid):
    """Return a mask per query, bool `(batch or 1, target_time or 1, source_time)`, or None."""
    mask = None
    if attention_mask is not None:
        mask = bool_mask(attention_mask)
        if len(mask.shape) == 2:
            mask = ops.expand_dims(mask, axis=0)
        mask = _flatten_axes(mask, 2)
    if use_causal_mask:
        target = ops.expand_dims(ops.arange(ops.shape(query)[1]), axis=1)
        # j <= i: (1, target_time, source_time)
        causal = ops.less_equal(ops.arange(math.prod(grid)), target)
        causal = ops.expand_dims(causal, axis=0)
        mask = causal if mask is None else ops.logical_and(mask, causal)
    return mask


def _flatten_axes(mask, first):
    """Return the mask with all axes from `first` on flattened into one."""
    if len(mask.shape) == first + 1:
        return mask
    shape = ops.shape(mask)
    return ops.reshape(mask, (*shape[:first], math.prod(shape[first:])))


def named(*masks):
    """Return the masks that are not None, by name."""
    return {name: mask for name, mask in zip(MASKS, masks, strict=True) if mask is not None}


def bool_mask(mask):
    """Return a mask of any dtype as bool."""
    return ops.cast(ops.convert_to_tensor(mask), "bool")
