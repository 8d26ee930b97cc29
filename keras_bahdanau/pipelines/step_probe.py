"""Probe for a pipeline: measures log p of each target token, given the preceding tokens."""

import numpy as np
from keras import ops, tree

from keras_bahdanau.models.seq2seq import Seq2Seq
from keras_bahdanau.models.step_model import step_log_probs
from keras_bahdanau.pipelines.interventions import changed_outputs, intervening
from keras_bahdanau.pipelines.probe import Probe

BATCH_SIZE = 256  # requests per batch for one input
MEASURES = "leave-one-out, attention", "leave-one-out, input", "gradient x input"


class StepProbe(Probe):
    """Probe for a pipeline. A row is one step of the decoder, given the preceding output.

    Values are hidden and weights are replaced only at that step, from the state that the unchanged
    model reached. If input vectors are replaced, the encoder and decoder run from the beginning.

    `outputs` is a list of int arrays, the target ids of each source. `rows` is a pair
    (inputs, steps) of int arrays `(rows,)`, in which each input must occur.
    """

    def __init__(self, pipeline, sources, outputs, rows, batch_size):
        self.model, self.batch_size = _attending_model(pipeline), batch_size
        self.inputs, self.steps = rows
        self.unit = f"source {pipeline.source.unit}"
        target = np.zeros((len(outputs), max(map(len, outputs))), np.int32)
        for row, ids in zip(target, outputs, strict=True):
            row[: len(ids)] = ids
        # needs packages that a probe for Keras models does not need
        from keras_bahdanau.text.vocabulary import START

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
        """Run a batch of inputs step by step.

        Returns a list of pairs (rows, the inputs and outputs of their step).
        """
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
            symbols = ops.where(visible, memory.symbols, -1)  # copy nothing from hidden positions
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


def step_importance(pipeline, source, outputs, positions):
    """Compute the importance of each source position for each target token of one input, in nats.

    `outputs` is an int array `(target_time,)` of target ids. Returns a dictionary from the name of
    each measure to a float32 array `(target_time, positions)`.
    """
    steps = np.arange(len(outputs))
    if not (len(steps) and positions):
        _attending_model(pipeline)
        return dict.fromkeys(MEASURES, np.zeros((len(steps), positions), np.float32))
    probe = StepProbe(pipeline, [source], [outputs], (0 * steps, steps), BATCH_SIZE)
    effects = [probe.leave_one_out(remove) for remove in (probe.hide, probe.replace)]
    arrays = (part[:, :positions].astype(np.float32) for part in (*effects, probe.gradients()))
    return dict(zip(MEASURES, arrays, strict=True))


def _attending_model(pipeline):
    model = pipeline.model
    attends = isinstance(model, Seq2Seq) and model.decoder.cell.attention.has_weights
    if not attends or not model.exportable:
        raise ValueError(
            "The pipeline must have a single model with attention weights. Received: a "
            f"{type(model).__name__}. Use another pipeline."
        )
    return model


def _take(structure, rows):
    return tree.map_structure(lambda tensor: ops.take(tensor, rows, axis=0), structure)
