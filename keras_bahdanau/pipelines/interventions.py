"""Interventions, which run a model with hidden values, other attention weights or vectors."""

import contextlib

from keras import ops

from keras_bahdanau.layers.attention.base import AttentionBase, masked, weighted_sum
from keras_bahdanau.layers.attention.composed import ComposedAttention
from keras_bahdanau.layers.attention.hard_alignment import safe_log
from keras_bahdanau.models.inspection import replaced_methods


def attentions_inside(layer):
    """Return a list of the attention layers in a layer that have weights, one per head or block."""
    parts = {id(part): part for part in layer._flatten_layers() if isinstance(part, AttentionBase)}
    return [
        part
        for part in parts.values()
        if part.has_weights and not isinstance(part, ComposedAttention)
    ]


@contextlib.contextmanager
def intervening(layer, visible=None, reweigh=None):
    """Hide values from the attention layers in a layer, or change their weights, in a `with` block.

    Inside the block, the `attend` method of each attention layer is replaced, so no other thread
    may use the layer. Functions that were compiled earlier are not affected.

    `visible` is a bool tensor `(batch, source_time)`, False for values that are hidden from every
    attention layer. `reweigh` is a function from float32 weights
    `(batch, [target_time,] source_time)` to the weights that are used for the context. The state of
    an attention layer is still computed from its original weights, except in a `HardAlignment`, in
    which the weights are the state. If an argument is None, nothing is changed.
    """

    def changed(attention):
        attend = attention.attend

        def attend_changed(query, prepared, state, training=None):
            if visible is not None:
                mask = prepared.memory.mask
                seen = ops.expand_dims(visible, axis=1) if len(mask.shape) == 3 else visible
                prepared = masked(prepared, ops.logical_and(mask, seen))
            attended = attend(query, prepared, state, training=training)
            if reweigh is None:
                return attended
            weights = reweigh(attended.weights)
            if attention.marginal:
                attended = attended._replace(state=safe_log(weights))
            context = weighted_sum(weights, prepared.memory.values)
            return attended._replace(context=context, weights=weights)

        return attend_changed

    attentions = attentions_inside(layer)
    with replaced_methods("attend", [(attention, changed(attention)) for attention in attentions]):
        yield


@contextlib.contextmanager
def recording_masks(layer):
    """Yield a list that collects the mask `(batch, source_time)` of each attended source."""
    masks = []

    def recorded(prepare):
        def prepare_recorded(memory):
            masks.append(memory.mask)
            return prepare(memory)

        return prepare_recorded

    attentions = attentions_inside(layer)
    functions = [(attention, recorded(attention.prepare)) for attention in attentions]
    with replaced_methods("prepare", functions):
        yield masks


@contextlib.contextmanager
def changed_outputs(layers, change):
    """Replace the outputs of layers with `change(layer, inputs, outputs)` in a `with` block."""

    def changed(layer, call):
        def call_changed(inputs, *args, **kwargs):
            return change(layer, inputs, call(inputs, *args, **kwargs))

        return call_changed

    with replaced_methods("call", [(layer, changed(layer, layer.call)) for layer in layers]):
        yield
