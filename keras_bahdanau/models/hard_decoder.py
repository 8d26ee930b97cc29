"""Decoder with exact hard attention: each token comes from one place, all of them summed up."""

import keras
from keras import ops

from keras_bahdanau.layers import scan
from keras_bahdanau.layers.attention.hard_alignment import HardAlignment
from keras_bahdanau.layers.decoder_cells.decoder_cell import DecoderCellBase
from keras_bahdanau.layers.decoder_cells.unfed import UnfedCell
from keras_bahdanau.layers.readout import Emission
from keras_bahdanau.models.decoder import Decoder
from keras_bahdanau.settings.limits import HARD_VOCABULARY_SIZE


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class HardDecoder(Decoder):
    """Decoder whose tokens come from one place of the source each, which nobody has to name.

    s_i = f(s_{i-1}, y_{i-1})
    p(y_i | y_<i, x) = sum_j f_i(j) p(y_i | s_i, h_j, y_{i-1})

    f_i: `HardAlignment`, of any order, monotonic or not; p: `Emission`. The product over i is
    the exact likelihood of the target, of all alignments together (Wu et al. 2018; Wu and
    Cotterell 2019), so nothing is drawn, and training is that of any other decoder. What the
    other decoder has as logits are log-probabilities here. In a search the place of a token is
    learnt when it is chosen, in the step after.

    A step predicts the vocabulary from each place: it is for characters, phonemes and other
    small vocabularies.

    ```python
    attention = keras_bahdanau.layers.HardAlignment("additive", 128, order=1, monotonic=True)
    decoder = keras_bahdanau.HardDecoder(60, 64, 128, attention, dropout=0.3)
    model = keras_bahdanau.Seq2Seq(encoder, decoder)
    ```

    Args:
        vocabulary_size: Positive integer, at most 10,000. Number of target tokens.
        embedding_units: As in `Decoder`.
        units: As in `Decoder`.
        attention: A `HardAlignment`.
        **kwargs: Further arguments of `Decoder`: `cell` (also a whole `UnfedCell`), `depth`,
            `residual`, `query`, `bridge`, `readout_units`, `tie_embeddings` and rates of
            dropout. Nothing of the source is fed to the cell, so `when` is "apart", and there
            is no `copy`, no gate or dropout of the context, and no query
            made of it.

    Call arguments and output: as in `Decoder`; the logits, and also what `return_readout` gives,
    are log-probabilities `(batch, target_time, vocabulary)`, the weights f_i.

    Raises:
        ValueError: As in `Decoder`, or if an argument does not go with hard attention.
    """

    readouts = {"tanh": Emission}
    reads_context = False

    def __init__(self, vocabulary_size, embedding_units, units=None, attention=None, **kwargs):
        if not isinstance(kwargs.get("cell"), DecoderCellBase):
            kwargs = {"when": "apart", **kwargs, "attention": attention}
        elif attention is not None:  # which is refused
            kwargs = {**kwargs, "attention": attention}
        super().__init__(vocabulary_size, embedding_units, units, **kwargs)
        _check(self)

    def logits(self, readout, copying=()):
        """Log-probabilities, which are logits, as they are."""
        return readout

    @property
    def output_weights(self):
        """None: the logits of a mixture are no product."""
        return None

    def hypothesis_numbers(self, source_time):
        """Count the numbers that a step holds for one hypothesis, of the largest tensors."""
        of_places = source_time if self.cell.attention.remembers else 0
        return source_time * (self.vocabulary_size + self.readout.units + of_places)

    def prepare(self, memory, alignment=(), training=None):
        prepared = super().prepare(memory, alignment, training=training)
        return prepared._replace(emission=self.readout.project(prepared.memory.values))

    def initial_state(self, prepared):
        state = super().initial_state(prepared)
        if not self.cell.attention.remembers:
            return state
        return state._replace(emitted=self.readout.initial_state(prepared.emission))

    def step(self, tokens, state, prepared):
        embedded = self.embed(tokens)
        projected = self.cell.project(ops.cast(embedded, self.cell.compute_dtype))
        return self._step((tokens, embedded, projected, ()), state, prepared, self._output())

    def _output(self):
        """The output layer: tensors `(vocabulary, units)` and `(vocabulary,)`."""
        kernel, bias, tied = super().output_weights
        kernel = ops.cast(kernel, self.compute_dtype)
        bias = ops.zeros((self.vocabulary_size,)) if bias is None else bias
        return kernel if tied else ops.transpose(kernel), ops.cast(bias, "float32")

    def _step(self, inputs, state, prepared, output, training=None):
        """(log-probabilities, `Step`, the next state): the only place of the mathematics."""
        tokens, embedded, projected, dropout_masks = inputs
        attention, keys = self.cell.attention, prepared.emission
        if attention.remembers:
            known = self.readout.token_log_likelihoods(tokens, state.emitted, keys, output)
            state = state._replace(attention=attention.observe(state.attention, known))
        shown, state = self.cell.step(projected, state, prepared, training=training)
        log_probs, emitted = self.readout.mixture(
            state.attention,  # log f_i
            self.readout.sums(shown.output, embedded),
            keys,
            output,
            dropout_masks,
            training=training,
        )
        if attention.remembers:
            state = state._replace(emitted=emitted)
        return log_probs, shown, state

    def _read(self, target_in, prepared, with_weights, training):
        embedded = self.embed(target_in, training=training)
        state, output = self.initial_state(prepared), self._output()
        dropout_masks = self._dropout_masks(embedded, training)
        if dropout_masks and self.cell.attention.remembers:
            first = tuple(mask[:, 0] for mask in dropout_masks)  # which nothing is read of, either
            state = state._replace(emitted=state.emitted._replace(dropout_masks=first))

        def step(state, inputs):
            log_probs, shown, state = self._step(inputs, state, prepared, output, training)
            return (log_probs, shown.weights if with_weights else ()), state

        weights = self.cell.like(prepared).weights
        # (batch, vocabulary)
        log_probs = ops.zeros((ops.shape(weights)[0], self.vocabulary_size), "float32")
        inputs = (target_in, embedded, self.cell.project(embedded), dropout_masks)
        like = (log_probs, weights if with_weights else ())
        # -> (batch, target_time, vocabulary), (batch, target_time, source_time)
        log_probs, weights = scan(step, state, inputs, like)
        return log_probs, weights, ()

    def _dropout_masks(self, embedded, training):
        """A tuple of the readout's mask for all steps, the same for all places; () for none."""
        if not (training and self.readout.dropout):
            return ()
        ones = ops.ones((*ops.shape(embedded)[:2], self.readout.units), embedded.dtype)
        return (self.readout.output_dropout(ones, training=True),)


def _check(decoder):
    """Raise ValueError if a decoder has what does not go with hard attention."""
    cell = decoder.cell
    demands = {
        "an attention of layers.HardAlignment": isinstance(cell.attention, HardAlignment),
        'when="apart"': isinstance(cell, UnfedCell),
        "no query made of the context": "context" not in cell.query.parts,
        "context_gate=False": cell.context_gate is None,
        "context_dropout=0": not cell.context_dropout,
        "copy=False": not decoder.copies,
        f"a vocabulary_size of at most {HARD_VOCABULARY_SIZE:,}, as each step predicts it from "
        "each position of the source": decoder.vocabulary_size <= HARD_VOCABULARY_SIZE,
    }
    for demand, fulfilled in demands.items():
        if not fulfilled:
            raise ValueError(
                f"A HardDecoder must have {demand}. Received: {type(cell.attention).__name__}(...) "
                f"in {type(cell).__name__}(...), vocabulary_size={decoder.vocabulary_size}. "
                "Change it, or take a Decoder."
            )
