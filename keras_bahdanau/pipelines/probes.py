"""Probes: the output of a model without some positions, or with other attention weights."""

import abc

import keras
import numpy as np
from keras import ops, tree

from keras_bahdanau.models.inspection import attention_layers, attention_weights
from keras_bahdanau.models.seq2seq import Seq2Seq
from keras_bahdanau.models.step_model import step_log_probs
from keras_bahdanau.pipelines.interventions import (
    attentions_inside,
    changed_outputs,
    intervening,
    recording_masks,
)

LEAST_PROBABILITY = 1e-12


class Probe(abc.ABC):
    """Rows of attention weights, and the model's output after a change.

    A row belongs to one output: a target token, or the class of an input. The methods that change
    something get the int array `(requests,)` of the rows, and one change for each. They return two
    float arrays `(requests,)`: log p of the model's own output, in nats, and the total variation
    distance from its own distribution, from 0 to 1.

    `weights` and bool `mask` are `(rows, positions)`; `inputs`, the number of the input, and
    `log_probs`, of the unchanged model, `(rows,)`. `reads_vectors` is True if the vectors of the
    input can be replaced, `weighs_rows` if weights can be replaced for one row alone.
    """

    reduction, reads_vectors, weighs_rows, unit = 1, True, True, "positions"

    def _set_outputs(self, log_probs, outputs):
        """Set log-probabilities `(rows, steps, classes)` and outputs of the unchanged model."""
        self._outputs, self._probabilities = outputs, np.exp(log_probs)
        self.log_probs = _output_log_probs(log_probs, outputs)

    def hide(self, rows, visible):
        """Hide values from the attention where bool `visible` `(requests, positions)` is False."""
        return self._changed(rows, visible, self._run)

    def replace(self, rows, visible):
        """Replace the input by its mean vector where `visible` is False."""

        def run(rows, visible):
            def change(vectors):
                real = _spread(ops.repeat(visible, self.reduction, axis=1), vectors)
                return ops.where(real, vectors, ops.cast(self._mean_vector, vectors.dtype))

            return self._run(rows, visible, change=change)

        return self._changed(rows, visible, run)

    def permute(self, rows, order):
        """Give position j the weight of position `order[:, j]`, in each head."""

        def run(rows, order):
            def reweigh(weights):
                return ops.take_along_axis(weights, _expanded(order, weights), axis=-1)

            return self._run(rows, reweigh=reweigh)

        return self._changed(rows, order, run)

    def reweigh(self, rows, weights):
        """Replace the weights, of each head, by float `weights` `(requests, positions)`."""

        def run(rows, weights):
            return self._run(rows, reweigh=lambda previous: _expanded(weights, previous))

        return self._changed(rows, np.asarray(weights, np.float32), run)

    def gradients(self):
        """Gradient x input `(rows, positions)`: sum_u x_ju d log p / d x_ju of input vectors x."""
        gradients = np.zeros(self.mask.shape, np.float32)
        for part in self._parts(np.arange(len(self.mask))):

            def log_prob(factors, part=part):
                def change(vectors):
                    return vectors * ops.cast(_spread(factors, vectors), vectors.dtype)

                log_probs = self._run(part, change=change)
                return ops.take_along_axis(log_probs, self._outputs[part][..., np.newaxis], axis=-1)

            ones = np.ones((len(part), self.mask.shape[1] * self.reduction), np.float32)
            by_vector = _gradient(log_prob, ones).reshape(len(part), -1, self.reduction)
            gradients[part] = by_vector.sum(axis=-1)
        return gradients

    def _batches(self, count):
        """Slices of so many inputs."""
        size = self.batch_size
        return [slice(start, start + size) for start in range(0, count, size)]

    def _parts(self, rows):
        """Parts of requests of similar cost, at most a batch each."""
        order = np.argsort(self.steps[rows], kind="stable")
        return np.split(order, range(self.batch_size, len(order), self.batch_size))

    def _changed(self, rows, changes, run):
        log_probs, distances = np.zeros(len(rows)), np.zeros(len(rows))
        for part in self._parts(rows):
            changed = run(rows[part], ops.convert_to_tensor(changes[part]))
            changed = ops.convert_to_numpy(changed)  # (requests, steps, classes)
            log_probs[part] = _output_log_probs(changed, self._outputs[rows[part]])
            change = np.abs(np.exp(changed) - self._probabilities[rows[part]])
            distances[part] = change.sum(axis=-1).mean(axis=-1) / 2
        return log_probs, distances

    @abc.abstractmethod
    def _run(self, rows, visible=None, reweigh=None, change=None):
        """Float32 log-probabilities `(requests, steps, classes)` of a changed model.

        `visible` and `reweigh` as in `intervening`; or `change`, a function of the input vectors
        `(requests, time, units)`, which are `visible` where they stay unchanged.
        """


class StepProbe(Probe):
    """Probe of a pipeline: a row is one step of the decoder, given the output before it.

    Values are hidden and weights replaced at that step alone, in the state that the model itself
    has reached. With other vectors, encoder and decoder run from the beginning.

    `outputs` are int arrays, the target ids of each of the `sources`; `rows` are (inputs, steps),
    int arrays `(rows,)` with a row of each input.
    """

    def __init__(self, pipeline, sources, outputs, rows, batch_size):
        self.model, self.batch_size = _attending_model(pipeline), batch_size
        self.inputs, self.steps = rows
        self.unit = f"source {pipeline.source.unit}"
        target = np.zeros((len(outputs), max(map(len, outputs))), np.int32)
        for row, ids in zip(target, outputs, strict=True):
            row[: len(ids)] = ids
        from keras_bahdanau.text.vocabulary import START  # of packages that no Keras model needs

        self._target_in = np.pad(target[:, :-1], ((0, 0), (1, 0)), constant_values=START)
        self._features = pipeline.source.batch(sources, pipeline.longest())
        front_end, vectors, parts = self.model.encoder.front_end, [], []
        self.reduction = self.model.encoder.reduction // getattr(front_end, "reduction", 1)

        def record(layer, inputs, outputs):
            vectors.append([ops.convert_to_numpy(ops.cast(part, "float32")) for part in outputs])
            return outputs

        with changed_outputs([front_end], record):
            for rows in self._batches(len(outputs)):
                parts += self._follow(np.arange(len(outputs))[rows])
        self._mean_vector = np.concatenate([part[mask > 0] for part, mask in vectors]).mean(axis=0)
        joined = tree.map_structure(
            lambda *each: ops.concatenate(each), *[part[1] for part in parts]
        )
        order = np.argsort(np.concatenate([part[0] for part in parts]))
        *self._before, log_probs, weights, mask = _take(joined, order)
        self.weights, self.mask = ops.convert_to_numpy(weights), ops.convert_to_numpy(mask)
        log_probs = ops.convert_to_numpy(log_probs)[:, np.newaxis]  # -> (rows, 1, vocabulary)
        self._set_outputs(log_probs, target[self.inputs, self.steps][:, np.newaxis])

    def _source(self, inputs):
        return tree.map_structure(
            lambda array: ops.convert_to_tensor(np.asarray(array)[inputs]), self._features
        )

    def _follow(self, members):
        """Run a batch of inputs: pairs (rows, what their step starts from and gives), by step."""
        prepared = self.model.encode(self._source(members))
        state, pairs = self.model.initial_state(prepared), []
        is_member = np.isin(self.inputs, members)
        for step in range(self.steps[is_member].max() + 1):
            rows = np.flatnonzero(is_member & (self.steps == step))
            tokens = ops.convert_to_tensor(self._target_in[members, step])
            distribution, weights, after = self.model.decode_step(tokens, state, prepared)
            values = prepared, state, step_log_probs(distribution), weights, prepared.mask
            if rows.size:
                pairs.append((rows, _take(values, self.inputs[rows] - members[0])))
            state = after
        return pairs

    def _run(self, rows, visible=None, reweigh=None, change=None):
        if change is not None:
            return self._read(rows, visible, change)
        tokens = ops.convert_to_tensor(self._target_in[self.inputs[rows], self.steps[rows]])
        prepared, state = _take(self._before, rows)
        with intervening(self.model.decoder, visible, reweigh):
            distribution, *_ = self.model.decode_step(tokens, state, prepared)
        return ops.expand_dims(step_log_probs(distribution), axis=1)

    def _read(self, rows, visible, change):
        decoder, steps = self.model.decoder, self.steps[rows]

        def change_vectors(layer, inputs, outputs):
            return change(outputs[0]), outputs[1]

        with changed_outputs([self.model.encoder.front_end], change_vectors):
            memory = self.model.encoder(self._source(self.inputs[rows]))
        if visible is not None and not isinstance(memory.symbols, tuple):
            symbols = ops.where(visible, memory.symbols, -1)  # nothing is copied from there
            memory = memory._replace(symbols=symbols)
        tokens = self._target_in[self.inputs[rows], : steps.max() + 1]
        output = decoder(ops.convert_to_tensor(tokens), memory, return_logits=False)

        def at_step(tensor):  # (requests, target_time, ...) -> (requests, 1, ...)
            tensor = ops.reshape(tensor, (-1, *tensor.shape[2:]))
            index = np.arange(len(steps)) * tokens.shape[1] + steps
            return ops.expand_dims(ops.take(tensor, index, axis=0), axis=1)

        copying = output.copying
        if copying:
            generation, weights = at_step(copying.generation), at_step(copying.weights)
            copying = copying._replace(generation=generation, weights=weights)
        return ops.log_softmax(decoder.logits(at_step(output.readout), copying), axis=-1)


class ModelProbe(Probe):
    """Probe of a Keras model: a row is an input, or a step of it if weights and outputs have steps.

    `name` is that of an attention layer, None for the only one; `from_logits` is None for what the
    loss or the outputs say; `steps` is the number of steps that `random` draws of each input.
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
        else:  # weights of padding are zero
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
        """Find the input with the positions attended to, and the one `Embedding` that reads it."""
        size = mask.shape[1]  # an image has other positions than a grid of its features
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
        """Dictionary from each `Embedding` that reads the ids to its outputs, by batch."""
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
        """Outputs for rows of the inputs, whose vectors `change` changes."""
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
        """Log-probabilities `(rows, steps, classes)` of outputs `(rows, [steps,] classes)`."""
        outputs = ops.cast(ops.convert_to_tensor(outputs), "float32")
        normalized = ops.log_softmax
        if outputs.shape[-1] == 1:  # of a class against its complement
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


def require_rows(inputs):
    """Raise ValueError if there is no input to measure."""
    if not len(inputs):
        raise ValueError(
            "An input must have two real positions and an output at least. Received: none that "
            "has. Give other inputs."
        )


def _gradient(function, x):
    """Gradient of the sum of a function's tensor with respect to a float32 array."""
    backend = keras.backend.backend()
    if backend == "jax":
        import jax

        return np.asarray(jax.grad(lambda x: ops.sum(function(x)))(ops.convert_to_tensor(x)))
    x = ops.convert_to_tensor(x)
    if backend == "torch":
        x.requires_grad_()
        ops.sum(function(x)).backward()
        return ops.convert_to_numpy(x.grad)
    import tensorflow as tf

    with tf.GradientTape() as tape:
        tape.watch(x)
        total = ops.sum(function(x))
    return tape.gradient(total, x, unconnected_gradients="zero").numpy()


def _attending_model(pipeline):
    model = pipeline.model
    attends = isinstance(model, Seq2Seq) and model.decoder.cell.attention.has_weights
    if not attends or not model.exportable:
        raise ValueError(
            "The pipeline must have one model with attention weights. Received: a "
            f"{type(model).__name__}. Give another pipeline."
        )
    return model


def _chosen_layer(model, weights, name, count):
    """(attention layer, its weights of `count` inputs) of a model, or ValueError."""
    layers = attention_layers(model)
    names = [layer for layer in weights if attentions_inside(layers[layer])]
    name = names[0] if len(names) == 1 and name is None else name
    if name not in names or isinstance(weights[name], list) or len(weights[name]) != count:
        raise ValueError(
            "`layer` must name an attention layer of this package that attends once to each input. "
            f"Received: layer={name!r}. The model has {', '.join(names) or 'none'}."
        )
    return layers[name], weights[name]


def _checked_output(output):
    """The output of a model as an array, or ValueError."""
    if len(getattr(output, "shape", ())) not in (2, 3):
        raise ValueError(
            "The model must have one output (batch, [time,] classes). Received: "
            f"{getattr(output, 'shape', type(output).__name__)}. Make a model of one output."
        )
    return ops.convert_to_numpy(output)


def _are_logits(model, outputs):
    """True if outputs are no probabilities, by the loss that was compiled or by their values."""
    loss = getattr(model, "loss", None)
    name = str(getattr(loss, "name", loss))
    if "error" in name or name in ("mse", "mae", "mape", "msle"):
        raise ValueError(
            "The model must classify. Received: a model compiled with "
            f"loss={name!r}. Give a model whose output is a probability, or has classes."
        )
    if getattr(loss, "from_logits", None) is not None:
        return loss.from_logits
    sums_to_one = outputs.shape[-1] == 1 or np.allclose(outputs.sum(axis=-1), 1, atol=1e-3)
    return not (outputs.min() >= 0 and outputs.max() <= 1 and sums_to_one)


def _output_log_probs(log_probs, outputs):
    """Log p `(rows,)` of output ids `(rows, steps)`, from `(rows, steps, classes)`."""
    log_probs = np.take_along_axis(log_probs, outputs[..., np.newaxis], axis=-1)
    return log_probs[..., 0].sum(axis=-1, dtype=np.float64)


def _spread(positions, vectors):
    """`(batch, positions)` as `(batch, time, 1, ...)`, for vectors `(batch, time, ...)`."""
    positions = ops.convert_to_tensor(positions)[:, : vectors.shape[1]]
    return ops.reshape(positions, (*positions.shape, *[1] * (len(vectors.shape) - 2)))


def _expanded(array, weights):
    """An array `(batch, positions)` in the shape of weights `(batch, [target_time,] positions)`."""
    array = ops.expand_dims(array, axis=1) if len(weights.shape) == 3 else array
    return ops.broadcast_to(array, ops.shape(weights))


def _take(structure, rows):
    return tree.map_structure(lambda tensor: ops.take(tensor, rows, axis=0), structure)


def _equal(inputs, ids):
    return tuple(inputs.shape) == ids.shape and np.array_equal(ops.convert_to_numpy(inputs), ids)
