"""Probe for a Keras model with an attention layer: measures log p of its most probable class."""

import keras
import numpy as np
from keras import ops, tree

from keras_bahdanau.models.inspection import attention_layers, attention_weights
from keras_bahdanau.pipelines.interventions import (
    attentions_inside,
    changed_outputs,
    intervening,
    recording_masks,
)
from keras_bahdanau.pipelines.probe import Probe, require_rows

LEAST_PROBABILITY = 1e-12


class ModelProbe(Probe):
    """Probe for a Keras model.

    A row is an input or, if both weights and outputs have steps, one step of an input. `name` is
    the name of an attention layer, or None if there is only one. If `from_logits` is None, it is
    inferred from the loss or the outputs. `random` is a generator that draws `steps` steps of each
    input.
    """

    def __init__(self, model, x, name, from_logits, steps, batch_size, random):
        self.model, self.batch_size, self._structure = model, batch_size, x
        self._arrays, self._embedding = [np.asarray(leaf) for leaf in tree.flatten(x)], None
        weights = attention_weights(model, x, batch_size)
        self._layer, weights = _chosen_layer(model, weights, name, len(self._arrays[0]))
        masks, outputs = [], []
        for rows in self._batches(len(weights)):
            with recording_masks(self._layer) as recorded:
                outputs.append(_checked_output(self._call(rows)))
            masks.append(ops.convert_to_numpy(recorded[0]))
        mask, outputs = np.concatenate(masks), np.concatenate(outputs)
        weights = weights.reshape(
            len(mask), -1, mask.shape[1]
        )  # -> (batch, target_time, source_time)
        self._logits = _are_logits(model, outputs) if from_logits is None else from_logits
        self.weighs_rows = outputs.ndim == 2 or weights.shape[1] != outputs.shape[1]
        self.inputs = np.flatnonzero(mask.sum(axis=1) > 1)
        require_rows(self.inputs)
        draws = [[0]] * len(self.inputs)
        if self.weighs_rows:
            weights = weights.mean(axis=1, keepdims=True)
        else:  # the weights of padding are zero
            real = (np.flatnonzero(weights[row].any(axis=1)) for row in self.inputs)
            draws = [random.permutation(row)[:steps] for row in real]
        self.inputs = np.repeat(self.inputs, [len(draw) for draw in draws])
        self.steps = np.concatenate([[], *draws]).astype(int)
        self.weights, self.mask = weights[self.inputs, self.steps], mask[self.inputs]
        self._find_vectors(mask)
        rows = np.arange(len(self.inputs))
        log_probs = ops.convert_to_numpy(self._row_log_probs(outputs[self.inputs], rows))
        self._set_outputs(log_probs, log_probs.argmax(axis=-1))

    def _find_vectors(self, mask):
        """Find the input that contains the attended positions, and the `Embedding` that reads it.

        An input of ids must be read by exactly one `Embedding`.
        """
        size = mask.shape[1]  # the positions of an image differ from those of its features
        fits = [array.ndim < 4 and array.shape[1:2] == (size,) for array in self._arrays]
        self.reads_vectors, self._index = any(fits), fits.index(True) if any(fits) else None
        if not self.reads_vectors:
            return
        vectors = self._arrays[self._index]
        if np.issubdtype(vectors.dtype, np.integer):
            embedded = self._embedded(vectors)
            self.reads_vectors = len(embedded) == 1
            if not self.reads_vectors:
                return
            ((self._embedding, parts),) = embedded.items()
            vectors = np.concatenate([*parts.values()])
        self._mean_vector = vectors[mask].mean(axis=0).astype(np.float32)

    def _embedded(self, ids):
        """Return a dictionary from each `Embedding` that reads the ids to its outputs by batch."""
        layers, embedded = self.model._flatten_layers(), {}
        layers = [layer for layer in layers if isinstance(layer, keras.layers.Embedding)]
        for rows in self._batches(len(ids)):

            def record(layer, inputs, outputs, rows=rows):
                if _equal(inputs, ids[rows]):
                    vectors = ops.convert_to_numpy(ops.cast(outputs, "float32"))
                    embedded.setdefault(layer, {})[rows.start] = vectors
                return outputs

            with changed_outputs(layers, record):
                self._call(rows)
        return embedded

    def _call(self, rows, change=None):
        """Return the outputs for `rows` of the inputs, with their vectors changed by `change`."""
        arrays = [array[rows] for array in self._arrays]
        ids = None if change is None else arrays[self._index]
        layers = [] if change is None or self._embedding is None else [self._embedding]
        if change is not None and not layers:
            arrays[self._index] = change(ops.convert_to_tensor(ids, "float32"))

        def change_vectors(layer, inputs, outputs):
            return change(outputs) if _equal(inputs, ids) else outputs

        with changed_outputs(layers, change_vectors):
            x = [ops.convert_to_tensor(array) for array in arrays]
            return self.model(tree.pack_sequence_as(self._structure, x), training=False)

    def _row_log_probs(self, outputs, rows):
        """Convert outputs `(rows, [steps,] classes)` to log p `(rows, steps, classes)`."""
        outputs = ops.cast(ops.convert_to_tensor(outputs), "float32")
        normalized = ops.log_softmax
        if outputs.shape[-1] == 1:  # binary: add the complement as a class
            normalized = ops.log_sigmoid
            outputs = ops.concatenate([-outputs if self._logits else 1 - outputs, outputs], axis=-1)
        if self._logits:
            log_probs = normalized(outputs)
        else:
            log_probs = ops.log(ops.maximum(outputs, LEAST_PROBABILITY))
        if len(log_probs.shape) == 2:
            return ops.expand_dims(log_probs, axis=1)
        if self.weighs_rows:
            return log_probs
        index = ops.reshape(ops.convert_to_tensor(self.steps[rows], "int32"), (-1, 1, 1))
        shape = (len(rows), 1, log_probs.shape[-1])
        return ops.take_along_axis(log_probs, ops.broadcast_to(index, shape), axis=1)

    def _run(self, rows, visible=None, reweigh=None, change=None):
        visible = visible if change is None else None
        with intervening(self._layer, visible, reweigh):
            return self._row_log_probs(self._call(self.inputs[rows], change), rows)


def _chosen_layer(model, weights, name, count):
    """Return (attention layer, its weights for `count` inputs), or raise ValueError."""
    layers = attention_layers(model)
    names = [layer for layer in weights if attentions_inside(layers[layer])]
    name = names[0] if len(names) == 1 and name is None else name
    if name not in names or isinstance(weights[name], list) or len(weights[name]) != count:
        raise ValueError(
            "`layer` must name an attention layer of this package that attends once to each input. "
            f"Received: layer={name!r}. Layers of the model: {', '.join(names) or 'none'}."
        )
    return layers[name], weights[name]


def _checked_output(output):
    """Return the output of a model as an array. Raises ValueError if it has another shape."""
    if len(getattr(output, "shape", ())) not in (2, 3):
        raise ValueError(
            "The model must have one output (batch, [time,] classes). Received: "
            f"{getattr(output, 'shape', type(output).__name__)}. Pass a model with one output."
        )
    return ops.convert_to_numpy(output)


def _are_logits(model, outputs):
    """Return True if outputs are logits, according to the compiled loss or to their values.

    Raises ValueError if the loss shows that the model does not classify.
    """
    loss = getattr(model, "loss", None)
    name = str(getattr(loss, "name", loss))
    if "error" in name or name in ("mse", "mae", "mape", "msle"):
        raise ValueError(
            "The model must be a classifier. Received: a model compiled with "
            f"loss={name!r}. Pass a model whose outputs are probabilities or logits of classes."
        )
    if getattr(loss, "from_logits", None) is not None:
        return loss.from_logits
    sums_to_one = outputs.shape[-1] == 1 or np.allclose(outputs.sum(axis=-1), 1, atol=1e-3)
    return not (outputs.min() >= 0 and outputs.max() <= 1 and sums_to_one)


def _equal(inputs, ids):
    return tuple(inputs.shape) == ids.shape and np.array_equal(ops.convert_to_numpy(inputs), ids)
