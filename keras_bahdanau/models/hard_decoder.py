"""Decoder with exact hard attention, which sums over all alignments of a target."""

from typing import Any, NamedTuple

import keras
from keras import ops

from keras_bahdanau.layers.attention.hard_alignment import HardAlignment
from keras_bahdanau.layers.decoder_cells.luong import UnfedCell
from keras_bahdanau.layers.readout import Emission
from keras_bahdanau.layers.recurrence import scan
from keras_bahdanau.layers.rules import HARD_ALIGNMENT_REQUIRES, check_layer, hard_rules
from keras_bahdanau.models.decoder import Decoder
from keras_bahdanau.settings.limits import HARD_VOCABULARY_SIZE


class HardMemory(NamedTuple):
    """Memory of a `HardDecoder`, projected for the cell and for the readout."""

    projected: Any  # `ProjectedMemory` of the cell
    emission: Any  # (batch, source_time, units), the values projected for the readout

    @property
    def memory(self):
        return self.projected.memory


class HardState(NamedTuple):
    """State of a `HardDecoder`."""

    decoder: Any  # `DecoderState` of the cell
    emitted: Any = ()  # `Emitted` of the last step, for the token that was chosen; () if not needed


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class HardDecoder(Decoder):
    """Decoder in which each token comes from one source position, which is unknown in training.

    s_i = f(s_{i-1}, y_{i-1})
    p(y_i | y_<i, x) = sum_j f_i(j) p(y_i | s_i, h_j, y_{i-1})

    f_i comes from `HardAlignment`, of any order, monotonic or not, and p from `Emission`. The
    product over i is the exact likelihood of the target, summed over all alignments (Wu et al.
    2018; Wu and Cotterell 2019), so you train it like any other decoder. In a search, the position
    of a token is known one step later. Each step predicts the whole vocabulary from every position,
    so use it for characters, phonemes and other small vocabularies.

    ```python
    attention = keras_bahdanau.layers.HardAlignment("additive", 128, order=1, monotonic=True)
    cell = keras_bahdanau.layers.UnfedCell(128, attention)
    decoder = keras_bahdanau.HardDecoder(60, 64, cell, dropout=0.3)
    model = keras_bahdanau.Seq2Seq(encoder, decoder)
    ```

    `vocabulary_size` is at most 10,000. `cell` must be an `UnfedCell` with a `HardAlignment`, and
    must not use the context in the query, a context gate, or dropout of the context. Other
    arguments, except `copy`, and calls are as in `Decoder`. Logits and readout are both the
    log-probabilities `(batch, target_time, vocabulary)`, and the weights are f_i.
    """

    readouts = {"tanh": Emission}
    reads_context = False

    def _check_cell(self, copy):
        cell = self.cell
        if not isinstance(cell.attention, HardAlignment):
            raise ValueError(
                "The attention of a HardDecoder must be a layers.HardAlignment. Received: "
                f"attention={type(cell.attention).__name__}(...). Change it, or use a Decoder."
            )
        if self.vocabulary_size > HARD_VOCABULARY_SIZE:
            raise ValueError(
                "A HardDecoder predicts the vocabulary from each position of the source, so its "
                f"size must be at most {HARD_VOCABULARY_SIZE:,}. Received: "
                f"vocabulary_size={self.vocabulary_size}. Change it, or use a Decoder."
            )
        settings = {
            **{**HARD_ALIGNMENT_REQUIRES, "attention": "", "query": cell.query.parts},
            "when": "apart" if isinstance(cell, UnfedCell) else "",
            "context_gate": cell.context_gate is not None,
            "context_dropout": cell.context_dropout,
            "copy": copy,
        }
        check_layer(
            *(hard_rules, settings),
            when=f"cell={type(cell).__name__}(...)",
            hard_alignment="attention=HardAlignment(...)",
        )

    def logits(self, readout, copying=()):
        """Return the readout, since its log-probabilities are valid logits."""
        return readout

    @property
    def output_weights(self):
        """None, because the logits of a mixture are not a matrix product."""
        return None

    def prepare(self, memory, alignment=(), training=None):
        projected = super().prepare(memory, alignment, training=training)
        return HardMemory(projected, self.readout.project(projected.memory.values))

    def initial_state(self, prepared, steps=None):
        state = HardState(super().initial_state(prepared.projected, steps))
        if not self.cell.attention.remembers:
            return state
        return state._replace(emitted=self.readout.initial_state(prepared.emission))

    def newest(self, state):
        return super().newest(state.decoder)

    def step(self, tokens, state, prepared):
        embedded = self.embed(tokens)
        projected = self.cell.project(ops.cast(embedded, self.cell.compute_dtype))
        return self._step((tokens, embedded, projected, ()), state, prepared, self._output())

    def _output(self):
        """Return the output layer's tensors `(vocabulary, units)` and `(vocabulary,)`."""
        kernel, bias, tied = super().output_weights
        kernel = ops.cast(kernel, self.compute_dtype)
        bias = ops.zeros((self.vocabulary_size,)) if bias is None else bias
        return kernel if tied else ops.transpose(kernel), ops.cast(bias, "float32")

    def _step(self, inputs, state, prepared, output, training=None):
        """Compute one step of the class's equations; return (log p, `Step`, next state)."""
        tokens, embedded, projected, dropout_masks = inputs
        attention, (decoder_state, emitted) = self.cell.attention, state
        if attention.remembers:
            likelihoods = self.readout.token_log_likelihoods(
                tokens, emitted, prepared.emission, output
            )
            decoder_state = decoder_state._replace(
                attention=attention.observe(decoder_state.attention, likelihoods)
            )
        step, decoder_state = self.cell.step(
            projected, decoder_state, prepared.projected, training=training
        )
        log_probs, emitted = self.readout.mixture(
            decoder_state.attention,  # log f_i
            self.readout.sums(step.output, embedded),
            prepared.emission,
            output,
            dropout_masks,
            training=training,
        )
        return log_probs, step, HardState(decoder_state, emitted if attention.remembers else ())

    def read(self, target_in, prepared, return_weights, training=None):
        embedded = self.embed(target_in, training=training)
        state, output = self.initial_state(prepared), self._output()
        dropout_masks = self._dropout_masks(embedded, training)
        if dropout_masks and self.cell.attention.remembers:
            first = tuple(mask[:, 0] for mask in dropout_masks)  # also unused
            state = state._replace(emitted=state.emitted._replace(dropout_masks=first))

        def step(state, inputs):
            log_probs, step, state = self._step(inputs, state, prepared, output, training)
            return (log_probs, step.weights if return_weights else ()), state

        weights = self.cell.step_template(prepared.projected).weights
        # (batch, vocabulary)
        log_probs = ops.zeros((ops.shape(weights)[0], self.vocabulary_size), "float32")
        inputs = (target_in, embedded, self.cell.project(embedded), dropout_masks)
        template = (log_probs, weights if return_weights else ())
        # -> (batch, target_time, vocabulary), (batch, target_time, source_time)
        log_probs, weights = scan(step, state, inputs, template)
        return log_probs, weights, ()

    def _dropout_masks(self, embedded, training):
        """Return a tuple with the readout's mask for each step, shared by positions, or ()."""
        if not (training and self.readout.dropout):
            return ()
        ones = ops.ones((*ops.shape(embedded)[:2], self.readout.units), embedded.dtype)
        return (self.readout.output_dropout(ones, training=True),)
