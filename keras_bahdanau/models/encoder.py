"""Encoder, which turns the features of a source into the `Memory` that a decoder attends to."""

import math
from numbers import Integral

import keras
from keras import ops

from keras_bahdanau.layers.front_ends.token_embedding import TokenEmbedding
from keras_bahdanau.layers.memory import SUMMARIES, Memory, first_value
from keras_bahdanau.layers.recurrence import outside_graphs
from keras_bahdanau.layers.registry import READERS, CompositeLayer, from_config
from keras_bahdanau.layers.sublayers import WordDropout
from keras_bahdanau.settings import checks
from keras_bahdanau.settings.guesses import check_passed_on


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class Encoder(CompositeLayer, keras.Model):
    """Encoder made of a front end, readers and a summary, which returns the memory of a source.

    By default, it consists of a token embedding and a bidirectional RNN (Bahdanau et al. 2015,
    section 3.2):

    ```python
    encoder = keras_bahdanau.Encoder(vocabulary_size=6000, embedding_units=256, units=256)
    memory = encoder(source)          # .values (batch, source_time, 512), .mask, .summary
    ```

    You can also pass layers as front end and readers:

    ```python
    encoder = keras_bahdanau.Encoder(
        front_end=keras_bahdanau.layers.FrameProjection(frame_size=40, units=256),
        readers=[keras_bahdanau.layers.BidirectionalRNN(256)],
    )
    ```

    Otherwise, `vocabulary_size` and `embedding_units` define a `TokenEmbedding`, and `units`,
    `cell`, `depth`, `kind` and `recurrent_dropout` define the readers.

    Args:
        vocabulary_size: Positive integer. Number of source tokens; id 0 is padding.
        embedding_units: Positive integer. Width of a token's embedding.
        units: Positive integer. Width of each direction.
        cell: A name in `layers.CELLS` ("gru", "lstm", ...), or a Keras cell, which each direction
            copies. Convolutions and self-attention do not use it.
        depth: Positive integer. Number of stacked layers.
        dropout: Float in [0, 1). Dropout rate of the vectors, between layers, and of the values.
        embedding_dropout: Dropout rate of the vectors only; `dropout` if None.
        kind: "bidirectional", "unidirectional", "pyramidal" (each layer except the lowest halves
            the time axis), "rows" (for grids), "transformer" (self-attention, without a cell),
            "convolutional" (gated linear units) or "convolutional-tanh".
        summary: Vector from which the first decoder state is computed: "mean", the mean of the real
            values; "backward", the backward direction's state at the first token (as in the paper);
            or "last", the state at the end of each direction.
        residual: Bool. True to add the input of each recurrent layer, from the second layer up, to
            its output if both have the same length. Convolutions always do this.
        recurrent_dropout: Float in [0, 1). Dropout rate of the state: see
            `BidirectionalRNN`.
        word_dropout: Float in [0, 1). Rate at which whole vectors are dropped.
        front_end: A front end: see `layers.front_ends`.
        readers: List of readers, called one after another: see `layers.readers`.
        symbols: For a decoder that copies, the sequence `Source.symbols` of `vocabulary_size`
            integers: for each source id, the target id that copying writes, or -1. Otherwise None.

    The `reduction` of the encoder is the product of the reductions of the front end and the
    readers. Position j of the memory begins at position `reduction * j` of the source.

    A call takes the features of the source for the front end (for text, an int tensor
    `(batch, source_time)`, right-padded with 0) and returns a `Memory`, which is zero for an empty
    source.

    Raises ValueError if arguments are invalid or contradict each other, if there are symbols for a
    source without tokens, or if a reader reduces the time axis of tokens or of a grid.
    """

    def __init__(
        self,
        vocabulary_size=None,
        embedding_units=None,
        units=None,
        cell="gru",
        depth=1,
        dropout=0.0,
        kind="bidirectional",
        summary="mean",
        residual=False,
        recurrent_dropout=0.0,
        word_dropout=0.0,
        embedding_dropout=None,
        front_end=None,
        readers=None,
        symbols=None,
        **kwargs,
    ):
        check_passed_on(Encoder, kwargs)
        super().__init__(autocast=False, **kwargs)  # the front end casts its inputs itself
        self.dropout = checks.rate("dropout", "the dropout rate", dropout)
        self.summary_name = checks.choice("summary", summary, SUMMARIES)
        self.residual = residual
        embedding_dropout = checks.rate_or(
            dropout, "embedding_dropout", "the dropout rate of the embeddings", embedding_dropout
        )
        checks.rate("word_dropout", "the dropout rate of tokens", word_dropout)
        policy = {"dtype": self.dtype_policy}
        if front_end is None:
            self.front_end = TokenEmbedding(
                vocabulary_size, embedding_units, name="front_end", **policy
            )
        else:
            arguments = {"vocabulary_size": vocabulary_size, "embedding_units": embedding_units}
            self.front_end = checks.whole("front_end", front_end, arguments, Encoder)
        self.word_dropout = WordDropout(word_dropout, name="word_dropout", **policy)
        arguments = {"units": units, "cell": cell, "depth": depth, "kind": kind}
        arguments["recurrent_dropout"] = recurrent_dropout
        if readers is None:
            checks.positive_integer("depth", "the number of layers", depth)
            self.readers = READERS.get(
                kind, depth, units, cell, recurrent_dropout, dropout, **policy
            )
        else:
            self.readers = list(checks.whole("readers", readers, arguments, Encoder))
            if not self.readers:
                raise ValueError("`readers` must contain at least one layer. Received: readers=[]")
        for reader in self.readers:
            if getattr(reader, "grid_height", 0) is None:
                reader.grid_height = getattr(self.front_end, "grid_height", 1)
        self._check_reduction()
        rates = [embedding_dropout, *[dropout] * len(self.readers)]
        self.dropouts = [keras.layers.Dropout(rate, **policy) for rate in rates]
        self.summary_units = SUMMARIES[summary].units(self.readers[-1])
        self.symbols = None if symbols is None else self._checked_symbols(symbols)

    def _check_reduction(self):
        """Raise ValueError if tokens would be merged, or grid positions would be dropped."""
        if self.reduction > 1 and hasattr(self.front_end, "ids"):
            raise ValueError(
                "An encoder for text must not merge tokens. Received: "
                f"reduction={self.reduction} with front_end={type(self.front_end).__name__}(...). "
                'Leave out readers that reduce the source, such as those of kind="pyramidal".'
            )
        height = getattr(self.front_end, "grid_height", 1)
        if height > 1 < self.reduction:
            raise ValueError(
                "An encoder must not merge the positions of a grid. Received: "
                f"reduction={self.reduction} with a front end of grid_height={height}. Leave out "
                'readers that reduce the source, such as those of kind="pyramidal", or use larger '
                "cells for a coarser grid."
            )

    def _checked_symbols(self, symbols):
        """Return the symbols as a tuple; raise ValueError unless each source token has one."""
        if not hasattr(self.front_end, "ids"):
            raise ValueError(
                "`symbols` needs a source of tokens. Received: symbols with "
                f"front_end={type(self.front_end).__name__}(...). Use symbols=None."
            )
        symbols = tuple(symbols)
        wrong = [symbol for symbol in symbols if not isinstance(symbol, Integral) or symbol < -1]
        if wrong or len(symbols) != self.source_size:
            raise ValueError(
                "`symbols` must contain a target id, or -1, for each source id. "
                f"Received: {len(symbols)} symbols, {len(wrong)} of them invalid, with "
                f"vocabulary_size={self.source_size}. Use `Source.symbols`."
            )
        return tuple(map(int, symbols))

    @property
    def source_size(self):
        """Size of the source: number of ids in its vocabulary, or of values in a frame."""
        return self.front_end.source_size

    @property
    def reduction(self):
        """Number of source positions per position of the memory."""
        return math.prod(map(layer_reduction, [self.front_end, *self.readers]))

    @property
    def values_units(self):
        """Width of the values."""
        return self.readers[-1].output_units

    @property
    def memory_shape(self):
        """A `Memory` that contains shapes; batch and time are None."""
        return Memory(
            values=(None, None, self.values_units),
            mask=(None, None),
            summary=(None, self.summary_units),
            last=(None, self.values_units),
            task=(None, self.front_end.units),
            symbols=() if self.symbols is None else (None, None),
        )

    def build(self, features_shape=None):
        with outside_graphs():
            self.front_end.build()  # its output width does not depend on the input
            width = self.front_end.units
            for reader in self.readers:
                reader.build((None, None, width))
                width = reader.output_units
        self.built = True

    def _check_features(self, features):
        """Raise ValueError if features for text are not ids `(batch, source_time)`."""
        if hasattr(self.front_end, "ids") and hasattr(features, "shape"):
            shape = tuple(features.shape)
            dtype = getattr(features.dtype, "name", str(features.dtype))
            if len(shape) != 2 or not any(kind in dtype for kind in ("int", "float")):
                raise ValueError(
                    "The source of an Encoder must be token ids (batch, source_time). Received: "
                    f"source.shape={shape}, dtype={dtype}. Pass integer ids, with 0 at padding."
                )

    def __call__(self, features, *args, **kwargs):
        self._check_features(features)
        return super().__call__(features, *args, **kwargs)

    def call(self, features, training=None):
        # -> (batch, source_time, front_end.units), (batch, source_time)
        vectors, mask = self.front_end(features, training=training)
        # h_j: (batch, source_time, values_units)
        values, read_mask = self._read(vectors, mask, training)
        reader = self.readers[-1]
        return Memory(
            values,
            read_mask,
            summary=SUMMARIES[self.summary_name].make(reader, values, read_mask),
            last=reader.last(values, read_mask),
            task=first_value(vectors, mask),
            symbols=self._symbols_of(features),
        )

    def _symbols_of(self, features):
        """Return the symbols of a source, int32 `(batch, source_time)`, or ()."""
        if self.symbols is None:
            return ()
        symbols = ops.convert_to_tensor(self.symbols, "int32")  # (source_size,)
        return ops.take(symbols, self.front_end.ids(features), axis=0)

    def _read(self, vectors, mask, training):
        """Run the readers; return (values, mask), where values are zero at padding."""
        values = self.word_dropout(vectors, training=training)
        values = self.dropouts[0](values, training=training)
        for index, (reader, dropout) in enumerate(
            zip(self.readers, self.dropouts[1:], strict=True)
        ):
            lengths = ops.sum(ops.cast(mask, "int32"), axis=1)  # -> (batch,)
            outputs = dropout(reader(values, lengths, training=training), training=training)
            reduction = layer_reduction(reader)
            residual = self.residual and index > 0 and reduction == 1
            values = values + outputs if residual else outputs
            mask = mask[:, ::reduction]  # -> (batch, ceil(source_time / reduction))
        return ops.where(ops.expand_dims(mask, axis=-1), values, ops.zeros_like(values)), mask

    def get_config(self):
        return {
            **super().get_config(),
            "front_end": _part_config(self.front_end),
            "readers": [_part_config(reader) for reader in self.readers],
            "dropout": self.dropout,
            "summary": self.summary_name,
            "residual": self.residual,
            "word_dropout": self.word_dropout.rate,
            "embedding_dropout": self.dropouts[0].rate,
            "symbols": self.symbols,
        }

    @classmethod
    def from_config(cls, config):
        parts = {
            "front_end": from_config(config["front_end"]),
            "readers": [from_config(reader) for reader in config["readers"]],
        }
        return cls(**{**config, **parts})


def layer_reduction(layer):
    """Return the number of vectors that a front end or reader merges into one, 1 by default."""
    return getattr(layer, "reduction", 1)


def _part_config(layer):
    """Return the config of a part without its build config, since the encoder builds it."""
    config = keras.saving.serialize_keras_object(layer)
    config.pop("build_config", None)
    return config
