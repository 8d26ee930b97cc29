"""Decoder, which predicts logits for whole targets, or for one token at a time."""

from typing import Any, NamedTuple

import keras
from keras import ops

from keras_bahdanau.layers.decoder_cells.bahdanau import DecoderCell
from keras_bahdanau.layers.decoder_cells.decoder_cell import DecoderCellBase
from keras_bahdanau.layers.decoder_cells.luong import UnfedCell
from keras_bahdanau.layers.distribution import Copying, PointerGenerator, log_mixture
from keras_bahdanau.layers.front_ends.token_embedding import token_embedding
from keras_bahdanau.layers.memory import checked_memory
from keras_bahdanau.layers.recurrence import outside_graphs
from keras_bahdanau.layers.registry import READOUTS, CompositeLayer, from_config, untrack_sublayer
from keras_bahdanau.layers.rules import check_layer, check_weights, readout_rules
from keras_bahdanau.layers.sublayers import WordDropout
from keras_bahdanau.settings import checks
from keras_bahdanau.settings.guesses import check_passed_on
from keras_bahdanau.settings.removed import drop_removed


class DecoderOutput(NamedTuple):
    """Output of a `Decoder` for whole targets."""

    logits: Any  # float32 (batch, target_time, vocabulary), log p if the decoder copies; or ()
    weights: Any  # float32 (batch, target_time, source_time), attention weights; or ()
    readout: Any  # (batch, target_time, readout_units), the input of the output layer
    copying: Any  # `Copying`, or () for a decoder that does not copy


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class Decoder(CompositeLayer, keras.Model):
    """Attention decoder, which runs over whole targets in training, and step by step in search.

    ```python
    decoder = keras_bahdanau.Decoder(
        vocabulary_size=6000, embedding_units=256, cell=keras_bahdanau.layers.DecoderCell(512)
    )
    logits = decoder(target_in, memory).logits
    ```

    The cell defines how a target step is computed, including its attention:

    ```python
    attention = keras_bahdanau.layers.BahdanauAttention(256, coverage="sum")
    cell = keras_bahdanau.layers.InputFeedingCell(512, attention, cell="lstm", depth=2)
    ```

    Args:
        vocabulary_size: Positive integer. Number of target tokens; id 0 is padding.
        embedding_units: Positive integer. Width of a token's embedding.
        cell: A layer from `layers.DECODER_CELLS`: `DecoderCell` (Bahdanau), `InputFeedingCell`
            (Luong), `ConditionalCell`, `UnfedCell` or `BlockCell`; or None if `units` is given.
        readout: "tanh", "maxout" (Bahdanau), "attentional" (Luong), or "plain" to use the output of
            the cell.
        readout_units: Positive integer. Width of the readout. By default, it is the width of an
            embedding, or for a plain readout the width of the state.
        dropout: Float in [0, 1). Dropout rate of the embeddings and the readout.
        embedding_dropout: Dropout rate of the embeddings only; `dropout` if None.
        readout_dropout: Dropout rate of the readout only; `dropout` if None.
        word_dropout: Float in [0, 1). Rate at which whole embeddings of tokens are dropped.
        tie_embeddings: Bool. True if the output layer is the transposed embedding.
        copy: Bool. True to copy tokens from the source or generate them (See et al. 2017):
            see `log_mixture`. The `Encoder` needs `symbols`.
        **kwargs: `units`, a positive integer, and `attention`, to create a `DecoderCell` with this
            width and attention instead of passing `cell`.

    Call arguments:
        target_in: Int tensor `(batch, target_time)`: the start token, followed by the target
            tokens, right-padded with 0.
        memory: `Memory` from an `Encoder`.
        alignment: Float tensor `(batch, target_time, source_time)` for `ForcedAlignment`, or ().
        return_attention_scores: Python bool. True to compute the weights of the `DecoderOutput`.
        return_logits: Python bool. False to omit the logits.
        training: Python bool.

    Raises TypeError if `cell` is not a decoder cell. Raises ValueError for any other invalid
    argument, for a readout that ignores the last token, for a `HardAlignment`, which needs a
    `HardDecoder`, and for copying without attention or symbols.
    """

    readouts = READOUTS
    reads_context = True

    def __init__(
        self,
        vocabulary_size,
        embedding_units,
        cell=None,
        readout="tanh",
        readout_units=None,
        dropout=0.0,
        embedding_dropout=None,
        readout_dropout=None,
        word_dropout=0.0,
        tie_embeddings=False,
        copy=False,
        **kwargs,
    ):
        units, attention = kwargs.pop("units", None), kwargs.pop("attention", None)
        if cell is None and units is not None:
            cell = DecoderCell(units, **({} if attention is None else {"attention": attention}))
        elif units is not None or attention is not None:
            raise ValueError(
                "`units` and `attention` create a DecoderCell. Received: `cell` with them, or "
                "`attention` without `units`. Pass them to the cell."
            )
        check_passed_on(Decoder, kwargs)
        super().__init__(**kwargs)
        self.vocabulary_size = vocabulary_size
        self.embedding_units = embedding_units
        self.readout_name = checks.choice("readout", readout, self.readouts)
        self.dropout = checks.rate("dropout", "the dropout rate", dropout)
        embedding_dropout = checks.rate_or(
            dropout, "embedding_dropout", "the dropout rate of the embeddings", embedding_dropout
        )
        readout_dropout = checks.rate_or(
            dropout, "readout_dropout", "the dropout rate of the readout", readout_dropout
        )
        self.tie_embeddings = tie_embeddings
        policy = {"dtype": self.dtype_policy}
        self.embedding = token_embedding(vocabulary_size, embedding_units, self.dtype_policy)
        self.embedding_dropout = keras.layers.Dropout(embedding_dropout, **policy)
        self.word_dropout = WordDropout(word_dropout, **policy)
        self.cell = _checked_cell(cell)
        self._check_cell(copy)
        self.units = self.cell.units
        if readout_units is None:
            readout_units = self.units if readout == "plain" else embedding_units
        self._check_readout(readout_units, copy)
        self.readout = self.readouts[readout](
            readout_units, readout_dropout, name="readout", **policy
        )
        self.output_layer = None
        if not tie_embeddings:
            self.output_layer = keras.layers.Dense(vocabulary_size, name="output", **policy)
        self.pointer = PointerGenerator(name="pointer", **policy) if copy else None

    def _check_cell(self, copy):
        """Raise ValueError if the decoder can't use the attention or output of its cell."""
        attention = self.cell.attention
        if attention.marginal:
            raise ValueError(
                "A Decoder reads a context, and does not sum over the positions of a "
                f"HardAlignment. Received: attention={type(attention).__name__}(...). Pass the "
                "HardAlignment itself to a HardDecoder, or use another attention."
            )
        check_weights("copy", copy, attention)

    def _check_readout(self, readout_units, copy):
        """Raise ValueError if the readout is not compatible with its cell or the output layer."""
        settings = {
            "readout": self.readout_name,
            "readout_state": getattr(self.cell, "readout_state", "current"),
            "query": self.cell.query.parts,
            "when": "apart" if isinstance(self.cell, UnfedCell) else "",
            "copy": copy,
            "tie_embeddings": self.tie_embeddings,
            "readout_units": readout_units,
            "embedding_units": self.embedding_units,
        }
        check_layer(readout_rules, settings, when=f"cell={type(self.cell).__name__}(...)")

    def build(self, target_in_shape, memory_shape):
        memory_shape = checked_memory(target_in_shape, memory_shape)
        with outside_graphs():
            self._build(target_in_shape, memory_shape)
        self.built = True

    def _build(self, target_in_shape, memory_shape):
        embedded = (None, None, self.embedding_units)
        self.embedding.build(target_in_shape)
        self.cell.build(embedded, memory_shape=memory_shape)
        self.readout.build(
            (None, self.cell.output_units), (None, self.cell.context_units), embedded
        )
        if self.output_layer is not None:
            self.output_layer.build((None, self.readout.units))
        if self.pointer is not None:
            _check_symbols(memory_shape)
            self.pointer.build(
                (None, self.cell.output_units), (None, self.cell.context_units), embedded
            )

    def use_embedding(self, embedding):
        """Replace the embedding with another model's layer, before the decoder is built."""
        if self.built:
            raise ValueError(
                "Embeddings must be shared before the decoder is built. Received: a built "
                f"decoder, name={self.name!r}. Create a new decoder."
            )
        untrack_sublayer(self, self.embedding)
        del self.embedding  # otherwise Keras would still save the replaced layer
        self.embedding = embedding

    def prepare(self, memory, alignment=(), training=None):
        """Project the memory once per sentence, for all steps; return a `ProjectedMemory`."""
        # in a search, no layer casts the memory of an encoder that has another precision
        floats = {
            name: ops.cast(getattr(memory, name), self.compute_dtype)
            for name in ("values", "summary", "last", "task")
        }
        return self.cell.prepare(memory._replace(**floats), alignment, training=training)

    def initial_state(self, prepared, steps=None):
        """Return the `DecoderState` before the first token, with caches for `steps` steps."""
        state = self.cell.initial_state(prepared)
        return state if steps is None else self.cell.truncate_cache(state, steps)

    def embed(self, tokens, training=None):
        """Return the embeddings `(..., embedding_units)` of token ids."""
        embedded = self.word_dropout(self.embedding(tokens), training=training)
        return self.embedding_dropout(embedded, training=training)

    @property
    def output_weights(self):
        """Tuple (kernel, bias or None, True for an embedding to be transposed), or None."""
        layer = self.embedding if self.output_layer is None else self.output_layer
        if layer.quantization_mode is not None:
            self.quantize(layer.quantization_mode)
        if self.output_layer is None:
            return self.embedding.embeddings, None, True
        return self.output_layer.kernel, self.output_layer.bias, False

    def quantize(self, mode=None, **kwargs):
        """Raise ValueError, because losses and searches read the output layer's matrix."""
        raise ValueError(
            f"A {type(self).__name__} can't be quantized by Keras, which changes the matrices that "
            f"losses and searches read. Received: mode={mode!r}. Export the pipeline: "
            'export_litert(pipeline, path, quantization="int8").'
        )

    def newest(self, state):
        """Return s_i of a `DecoderState`, from the highest recurrent cell."""
        return self.cell.stack.cells[-1].newest(state.cell[-1])

    @property
    def copies(self):
        """True for a decoder with `copy`."""
        return self.pointer is not None

    def copying(self, steps, embedded, memory):
        """Return the `Copying` for `Step`s that read `embedded` `(..., embedding_units)`, or ()."""
        if self.pointer is None:
            return ()
        generation = self.pointer(steps.output, steps.context, embedded)
        return Copying(generation, steps.weights, memory.symbols)

    def logits(self, readout, copying=()):
        """Return float32 logits `(..., vocabulary)`, or log-probabilities with a `Copying`."""
        if self.output_layer is None:
            # (..., embedding_units) x (embedding_units, vocabulary)
            logits = self.embedding(readout, reverse=True)
        else:
            # one matrix product, into which TensorFlow can fuse the bias
            rows = ops.reshape(readout, (-1, readout.shape[-1]))  # (..., units) -> (n, units)
            shape = (*ops.shape(readout)[:-1], self.vocabulary_size)
            logits = ops.reshape(self.output_layer(rows), shape)
        logits = ops.cast(logits, "float32")
        return log_mixture(logits, copying) if copying else logits

    def step(self, tokens, state, prepared):
        """Run one step of a search; return (logits, `Step`, next state).

        The logits are float32 `(batch, [beam,] vocabulary)`.
        """
        embedded = self.embed(tokens)
        step, state = self.cell(embedded, state, prepared)
        readout = self.readout(step.output, step.context, embedded)
        copying = self.copying(step, embedded, prepared.memory)
        return self.logits(readout, copying), step, state

    def call(
        self,
        target_in,
        memory,
        alignment=(),
        return_attention_scores=False,
        return_logits=True,
        training=None,
    ):
        memory = checked_memory(target_in.shape, memory)
        prepared = self.prepare(memory, alignment, training=training)
        readout, weights, copying = self.read(
            target_in, prepared, return_attention_scores, training=training
        )
        return DecoderOutput(
            self.logits(readout, copying) if return_logits else (),
            weights if return_attention_scores else (),
            readout,
            copying,
        )

    def read(self, target_in, prepared, return_weights, training=None):
        """Run all steps of known targets; return (readout, weights or (), `Copying` or ())."""
        # -> (batch, target_time, embedding_units)
        embedded = self.embed(target_in, training=training)
        steps = self.cell.teacher_forced(
            embedded, prepared, return_weights or self.copies, training=training
        )
        # t_i: (batch, target_time, readout_units)
        readout = self.readout(steps.output, steps.context, embedded, training=training)
        return readout, steps.weights, self.copying(steps, embedded, prepared.memory)

    def get_config(self):
        cell = keras.saving.serialize_keras_object(self.cell)
        cell.pop("build_config", None)  # the decoder builds the cell
        return {
            **super().get_config(),
            "vocabulary_size": self.vocabulary_size,
            "embedding_units": self.embedding_units,
            "cell": cell,
            "readout": self.readout_name,
            "readout_units": self.readout.units,
            "dropout": self.dropout,
            "embedding_dropout": self.embedding_dropout.rate,
            "readout_dropout": self.readout.dropout,
            "word_dropout": self.word_dropout.rate,
            "tie_embeddings": self.tie_embeddings,
            "copy": self.copies,
        }

    @classmethod
    def from_config(cls, config):
        return cls(**{**drop_removed(config), "cell": from_config(config["cell"])})


def _checked_cell(cell):
    """Return the cell, or raise TypeError if it is not a decoder cell."""
    if not isinstance(cell, DecoderCellBase):
        raise TypeError(
            "`cell` must be a decoder cell, a layer from layers.DECODER_CELLS. "
            f"Received: cell={cell!r}. Pass, for example, layers.DecoderCell(512)."
        )
    return cell


def _check_symbols(memory_shape):
    """Raise ValueError if a memory has no symbols to copy."""
    if not memory_shape.symbols:
        raise ValueError(
            "A decoder copies the symbols of a memory. Received: copy=True with a memory without "
            "symbols. Set `symbols` of the encoder to `Source.symbols`, or use copy=False."
        )
