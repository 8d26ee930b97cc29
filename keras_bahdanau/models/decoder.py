"""From the teacher's tokens, or one token at a time, to logits."""

import keras
from keras import ops

from keras_bahdanau.layers.attention.by_name import ATTENTIONS
from keras_bahdanau.layers.decoder_cells.decoder_cell import DecoderCellBase
from keras_bahdanau.layers.distribution import Copying, PointerGenerator, log_mixture
from keras_bahdanau.layers.front_ends.token_embedding import token_embedding
from keras_bahdanau.layers.memory import Memory
from keras_bahdanau.layers.registry import DECODER_CELLS, READOUTS, from_config, untrack_sublayer
from keras_bahdanau.layers.sublayers import WordDropout
from keras_bahdanau.settings import checks
from keras_bahdanau.settings.removed import drop_removed


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class Decoder(keras.Model):
    """Attention decoder: whole target sentences in training, one step in search.

    ```python
    decoder = keras_bahdanau.Decoder(
        vocabulary_size=6000, embedding_units=256, units=512,
        attention=keras_bahdanau.layers.BahdanauAttention(256),
    )
    logits = decoder(target_in, memory)
    ```

    The decoder cell, one target step, can be given whole:

    ```python
    attention = keras_bahdanau.layers.BahdanauAttention(256)
    cell = keras_bahdanau.layers.InputFeedingCell(512, attention, input_feeding=False)
    decoder = keras_bahdanau.Decoder(vocabulary_size=6000, embedding_units=256, cell=cell)
    ```

    Otherwise these arguments make it: `cell` by name, `units`, `attention`, `depth`,
    `residual`, `when`, `query`, `bridge`, `readout_state`, `recurrent_dropout`,
    `context_dropout`, `context_gate` and `feed_forward_units`.

    Args:
        vocabulary_size: Positive integer. Number of target tokens; id 0 is padding.
        embedding_units: Positive integer. Width of a token's embedding.
        units: Positive integer. Width of the decoder state; left out with a decoder cell.
        attention: An attention layer, or what `layers.ATTENTIONS` takes: "bahdanau", a
            score or its name, "forced"; None for the fixed context of an encoder-decoder
            without attention.
        cell: "gru" or another of `layers.CELLS`, or a Keras cell such as
            `keras.layers.GRUCell(512)`; or a whole decoder cell: a layer of
            `layers.DECODER_CELLS`.
        depth: Positive integer. Cells on top of each other.
        residual: Bool. True if each cell but the lowest adds its input to its output.
        when: Time of attention: "before" the cell moves (Bahdanau), "after" it with input
            feeding (Luong), "between" two cells (the conditional GRU), "apart": after it,
            without feeding; or in "blocks" of cell, attention and a feed-forward network
            (`layers.BlockCell`), where `depth` is the number of blocks.
        feed_forward_units: Positive integer. Inner width of those networks; four times `units`
            if left out.
        query: Tuple of the parts of the query, any of "state", "embedding", "context", "task".
        bridge: "summary", made of the encoder's summary, "zeros", or "identity", the summary
            itself.
        readout: "tanh", "maxout" (Bahdanau), "attentional" (Luong), or "plain": the
            output of the cell.
        readout_units: Positive integer. Width of the readout; that of an embedding when left
            out, or that of the state for a plain readout.
        readout_state: With `when="before"`: state that the readout reads, "current" or
            "previous" as the paper's appendix has it.
        dropout: Float in [0, 1). Dropout rate of embeddings and readout.
        embedding_dropout: Float in [0, 1). Rate of embeddings alone; that of `dropout` if None.
        readout_dropout: Float in [0, 1). Rate of the readout alone; that of `dropout` if None.
        recurrent_dropout: Float in [0, 1). Dropout rate of the state, with one mask for all
            steps.
        context_dropout: Float in [0, 1). Dropout rate of the context, likewise.
        word_dropout: Float in [0, 1). Rate of the tokens whose embedding is dropped whole.
        tie_embeddings: Bool. True if the output layer is the embedding, transposed.
        context_gate: Bool. True if a gate, learned from the state, scales the context of each
            step (beta of Xu et al. 2015), for words that need little of the source.
        copy: Bool. True to copy tokens of the source beside generating them (See et al. 2017):
            see `log_mixture`. It takes an `Encoder` with `symbols`.

    Call arguments:
        target_in: Int tensor `(batch, target_time)`: the start token and the
            teacher's tokens, right-padded with 0.
        memory: `Memory` from an `Encoder`.
        alignment: Float tensor `(batch, target_time, source_time)`, for
            `ForcedAlignment`, or ().
        return_attention_scores: Python bool. True if the weights come too.
        return_readout: Python bool. True if the input of the output layer comes in place
            of the logits.
        return_copying: Python bool. True if that comes too by which tokens are copied.
        training: Python bool.

    Output:
        Float32 logits `(batch, target_time, vocabulary)`, or with `return_readout` the
        readout `(batch, target_time, readout_units)`; with `return_attention_scores` the
        pair of it and the weights `(batch, target_time, source_time)`. With `return_copying` a
        `Copying` follows, or () of a decoder that does not copy. The logits of one that copies
        are log-probabilities.

    Raises:
        ValueError: If a size is not a positive integer, a rate not in [0, 1), or a
            name unknown; if a whole decoder cell comes with arguments that make one; if it is
            given a `HardAlignment`, which takes a `HardDecoder`; or if it copies without an
            attention, or from a memory without symbols.
    """

    readouts = READOUTS
    reads_context = True

    def __init__(
        self,
        vocabulary_size,
        embedding_units,
        units=None,
        attention="bahdanau",
        cell="gru",
        depth=1,
        residual=False,
        when="before",
        query=("state",),
        bridge="summary",
        readout="tanh",
        readout_units=None,
        readout_state="current",
        dropout=0.0,
        embedding_dropout=None,
        readout_dropout=None,
        recurrent_dropout=0.0,
        context_dropout=0.0,
        word_dropout=0.0,
        tie_embeddings=False,
        context_gate=False,
        copy=False,
        feed_forward_units=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.vocabulary_size = vocabulary_size
        self.embedding_units = embedding_units
        self.readout_name = checks.choice("readout", readout, self.readouts)
        _check_reads(readout, when, readout_state, query, copy)
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
        of_cell = {
            "units": units,
            "attention": attention,
            "depth": depth,
            "residual": residual,
            "when": when,
            "query": query,
            "bridge": bridge,
            "readout_state": readout_state,
            "recurrent_dropout": recurrent_dropout,
            "context_dropout": context_dropout,
            "context_gate": context_gate,
            "feed_forward_units": feed_forward_units,
        }
        whole = isinstance(cell, DecoderCellBase)
        self.cell = (
            checks.whole("cell", cell, of_cell, Decoder)
            if whole
            else self._new_cell(cell, **of_cell)
        )
        if self.reads_context:
            _check_soft(self.cell.attention)
        self.units = self.cell.units
        if readout_units is None:
            readout_units = self.units if readout == "plain" else embedding_units
        if tie_embeddings and readout_units != embedding_units:
            raise ValueError(
                "A tied output layer reads what is as wide as an embedding. "
                f"Received: readout_units={readout_units}, embedding_units={embedding_units}. "
                "Make them equal, or leave tying out."
            )
        self.readout = self.readouts[readout](
            readout_units, readout_dropout, name="readout", **policy
        )
        self.output_layer = None
        if not tie_embeddings:
            self.output_layer = keras.layers.Dense(vocabulary_size, name="output", **policy)
        self.pointer = None
        if copy:
            _check_attends(self.cell.attention)
            self.pointer = PointerGenerator(name="pointer", **policy)

    def _new_cell(
        self, cell, units, attention, when, readout_state, feed_forward_units, **settings
    ):
        """The decoder cell that the arguments of the constructor describe."""
        checks.positive_integer("units", "the width of the decoder state", units)
        checks.choice("when", when, DECODER_CELLS)
        if when != "before" and readout_state != "current":
            raise ValueError(
                "Only a decoder that attends before its cell moves can read out the previous "
                f"state. Received: readout_state={readout_state!r}, when={when!r}. "
                "Give 'current', or when='before'."
            )
        if when != "blocks" and feed_forward_units is not None:
            raise ValueError(
                "Only blocks have feed-forward networks. Received: "
                f"feed_forward_units={feed_forward_units!r}, when={when!r}. Leave it out, or give "
                "when='blocks'."
            )
        if when == "before":
            settings["readout_state"] = readout_state
        if when == "blocks":
            settings |= {"feed_forward_units": feed_forward_units, "dropout": self.dropout}
        policy = {"dtype": self.dtype_policy}
        attention = ATTENTIONS.get(attention, units=units, name="attention", **policy)
        return DECODER_CELLS[when](units, attention, cell=cell, name="cell", **settings, **policy)

    def build(self, target_in_shape, memory_shape):
        memory_shape = Memory(*memory_shape)  # a saved model has it as a plain list
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
        self.built = True

    def use_embedding(self, embedding):
        """Take another model's embedding layer in place of its own, before it is built."""
        if self.built:
            raise ValueError(
                "Embeddings must be shared before the decoder is built. Received: a built "
                f"decoder, name={self.name!r}. Make a new one."
            )
        untrack_sublayer(self, self.embedding)
        del self.embedding  # or Keras would go on saving the replaced layer
        self.embedding = embedding

    def prepare(self, memory, alignment=(), training=None):
        """Project the memory, once per sentence, for all steps: `ProjectedMemory`."""
        # a search calls no layer that would cast what an encoder of another precision gave
        of_floats = ("values", "summary", "last", "task")
        cast = {name: ops.cast(getattr(memory, name), self.compute_dtype) for name in of_floats}
        return self.cell.prepare(memory._replace(**cast), alignment, training=training)

    def initial_state(self, prepared):
        """The `DecoderState` before the first token."""
        return self.cell.initial_state(prepared)

    def shortened(self, state, steps):
        """A first state for so many steps at most, with less to carry from one to the next."""
        return self.cell.shortened(state, steps)

    def embed(self, tokens, training=None):
        """Embeddings `(..., embedding_units)` of token ids."""
        embedded = self.word_dropout(self.embedding(tokens), training=training)
        return self.embedding_dropout(embedded, training=training)

    @property
    def output_weights(self):
        """(kernel, bias or None, whether the kernel is an embedding, to be transposed).

        None for a decoder whose logits are not one product of its readout.
        """
        if self.output_layer is None:
            return self.embedding.embeddings, None, True
        return self.output_layer.kernel, self.output_layer.bias, False

    def hypothesis_numbers(self, source_time):
        """Count the numbers that a step holds for one hypothesis, beside logits and weights.

        Self-attention counts with its whole window, of which a search of fewer steps has a part.
        """
        of_cells = sum(keras.tree.flatten(self.cell.stack.state_sizes))
        return of_cells + self.cell.hypothesis_numbers(source_time)

    @property
    def copies(self):
        """True for a decoder with `copy`."""
        return self.pointer is not None

    def copying(self, steps, embedded, memory):
        """That by which tokens are copied: `Copying`, or () of a decoder that does not copy.

        Args:
            steps: `Step`.
            embedded: Float tensor `(..., embedding_units)`, the tokens that the steps read.
            memory: `Memory`.
        """
        if self.pointer is None:
            return ()
        generation = self.pointer(steps.output, steps.context, embedded)
        return Copying(generation, steps.weights, memory.symbols)

    def logits(self, readout, copying=()):
        """Float32 logits `(..., vocabulary)` from a readout; log-probabilities with `Copying`."""
        if self.output_layer is None:
            # (..., embedding_units) x (embedding_units, vocabulary)
            logits = self.embedding(readout, reverse=True)
        else:
            logits = self._output_logits(readout)
        logits = ops.cast(logits, "float32")
        return log_mixture(logits, copying) if copying else logits

    def _output_logits(self, readout):
        """The output layer as one product of a matrix, to which TensorFlow can add the bias."""
        rows = ops.reshape(readout, (-1, readout.shape[-1]))  # (..., units) -> (n, units)
        logits = self.output_layer(rows)
        return ops.reshape(logits, (*ops.shape(readout)[:-1], self.vocabulary_size))

    def step(self, tokens, state, prepared):
        """One step of a search.

        Args:
            tokens: Int tensor `(batch,)` or `(batch, beam)`, the tokens chosen last.
            state: `DecoderState` with the same leading axes.
            prepared: From `prepare`.

        Returns:
            (logits `(batch, [beam,] vocabulary)`, `Step`, the next state).
        """
        embedded = self.embed(tokens)
        shown, state = self.cell(embedded, state, prepared)
        readout = self.readout(shown.output, shown.context, embedded)
        copying = self.copying(shown, embedded, prepared.memory)
        return self.logits(readout, copying), shown, state

    def call(
        self,
        target_in,
        memory,
        alignment=(),
        return_attention_scores=False,
        return_readout=False,
        return_copying=False,
        training=None,
    ):
        memory = Memory(*memory)  # a functional model of Keras has it as a plain list
        prepared = self.prepare(memory, alignment, training=training)
        readout, weights, copying = self._read(
            target_in, prepared, return_attention_scores, training
        )
        output = readout if return_readout else self.logits(readout, copying)
        others = [weights] if return_attention_scores else []
        others += [copying] if return_copying else []
        return (output, *others) if others else output

    def _read(self, target_in, prepared, with_weights, training):
        """(readout, weights or (), `Copying` or ()) of all steps."""
        # -> (batch, target_time, embedding_units)
        embedded = self.embed(target_in, training=training)
        steps = self.cell.teacher_forced(
            embedded, prepared, with_weights or self.copies, training=training
        )
        # t_i: (batch, target_time, readout_units)
        readout = self.readout(steps.output, steps.context, embedded, training=training)
        return readout, steps.weights, self.copying(steps, embedded, prepared.memory)

    def get_config(self):
        cell = keras.saving.serialize_keras_object(self.cell)
        cell.pop("build_config", None)  # the decoder builds it
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
        parts = {
            name: from_config(config[name])
            for name in ("attention", "cell")
            if isinstance(config.get(name), dict)
        }
        return cls(**{**drop_removed(config), **parts})


def _check_reads(readout, when, readout_state, query, copy):
    """Raise ValueError if a readout sees no part of the last token, or nothing of the source."""
    blind = readout == "plain" or (readout == "attentional" and "embedding" not in query)
    if readout_state == "previous" and blind:
        raise ValueError(
            "The previous state has not read the last token, so the readout must. Received: "
            f"readout={readout!r}, readout_state='previous'. Give readout='tanh', or "
            "readout_state='current'."
        )
    if when == "apart" and readout == "plain" and not copy:
        raise ValueError(
            "A cell that moves apart from its attention leaves the context to the readout. "
            "Received: readout='plain', when='apart'. Give another readout."
        )


def _check_soft(attention):
    """Raise ValueError if an attention is trained by the sum over its places, not by a context."""
    if attention.sums_up:
        raise ValueError(
            "A Decoder reads a context, and does not sum up the places of a HardAlignment. "
            f"Received: attention={type(attention).__name__}(...). "
            "Give the HardAlignment itself to a HardDecoder, or another attention to the Decoder."
        )


def _check_attends(attention):
    """Raise ValueError if an attention points at no position that could be copied."""
    if not attention.attends:
        raise ValueError(
            "A decoder copies what it attends to. Received: copy=True with a decoder without "
            "attention. Give it an attention, or leave copying out."
        )


def _check_symbols(memory_shape):
    """Raise ValueError if a memory has nothing to copy."""
    if not memory_shape.symbols:
        raise ValueError(
            "A decoder copies the symbols of a memory. Received: copy=True with a memory without "
            "symbols. Give the encoder `symbols`, those of `Source.symbols`, or leave copying out."
        )
