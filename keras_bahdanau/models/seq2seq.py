"""Encoder and decoder as one model: `fit` for training, two functions for search."""

from typing import Any, NamedTuple

import keras
from keras import ops, tree

from keras_bahdanau import checks
from keras_bahdanau.layers.registry import unbuilt
from keras_bahdanau.losses import (
    TokenCrossentropy,
    divergence,
    guided_alignment,
    sums_tokens,
)
from keras_bahdanau.models.output_loss import output_loss


class _Traced(NamedTuple):
    """What the loss needs of the call before it, in the step that is being traced.

    Attributes:
        logits: What the call gave.
        others: The logits of R-Drop's second pass, or None.
        readout: What the output layer read, of both passes, or None.
    """

    logits: Any = None
    others: Any = None
    readout: Any = None


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class Seq2Seq(keras.Model):
    """An attention encoder-decoder that Keras trains as it is.

    ```python
    model = keras_bahdanau.Seq2Seq(encoder, decoder)
    model.compile(optimizer="adam", loss=keras_bahdanau.losses.TokenCrossentropy())
    model.fit(keras_bahdanau.data.batches(pairs, tokenizer), epochs=20, shuffle=False)
    ```

    Args:
        encoder: An `Encoder`.
        decoder: A `Decoder`.
        share_embeddings: Bool. Whether both languages, which then have one
            vocabulary, share one embedding. With the decoder's
            `tie_embeddings` the output layer is the third to share it.
        guided_alignment: Float. Weight of a loss that pulls the attention towards the
            alignments given as the third input: see `losses.guided_alignment`.
        r_drop: Float. Weight of a loss that makes two passes with different dropout agree
            (R-Drop, Wu et al. 2021), reduced as the loss is. The paper's alpha, 1 to 5. In
            training a call of the compiled model then runs the batch twice, as one batch of
            twice the size, and gives the first half; `compute_loss` reads both.

    Call arguments:
        inputs: (source, target_in), int tensors `(batch, source_time)` and
            `(batch, target_time)`, right-padded with 0; or
            (source, target_in, alignment) with a float tensor
            `(batch, target_time, source_time)`.
        return_attention_scores: Python bool. Whether the weights come too.
        training: Python bool.

    Output:
        What the decoder gives: float32 logits `(batch, target_time, vocabulary)`,
        or the pair (logits, weights `(batch, target_time, source_time)`).

    Raises:
        ValueError: If embeddings of different shapes are to be shared, or
            `guided_alignment` is below 0.
    """

    def __init__(
        self,
        encoder,
        decoder,
        share_embeddings=False,
        guided_alignment=0.0,
        r_drop=0.0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self._traced, self._token_losses = _Traced(), (None, None)
        self.encoder = encoder
        self.decoder = decoder
        self.share_embeddings = share_embeddings
        self.guided_alignment = checks.not_negative(
            "guided_alignment", "the weight of a loss", guided_alignment
        )
        self.r_drop = checks.not_negative("r_drop", "the weight of a loss", r_drop)
        if share_embeddings:
            _check_shareable(encoder, decoder)
            decoder.use_embedding(encoder.embedding)

    @property
    def source_vocabulary_size(self):
        """Number of source ids."""
        return self.encoder.vocabulary_size

    @property
    def target_vocabulary_size(self):
        """Number of target ids."""
        return self.decoder.vocabulary_size

    @property
    def exportable(self):
        """Whether translation needs nothing but the source sentence."""
        return self.decoder.cell.attention.exportable

    def build(self, inputs_shape=None):
        if not self.encoder.built:
            self.encoder.build((None, None))
        if not self.decoder.built:
            self.decoder.build((None, None), self.encoder.memory_shape)
        self.built = True

    def encode(self, source, alignment=(), training=None):
        """`ProjectedMemory` of the source ids `(batch, source_time)`, for `decode_step`."""
        if not self.built:
            self.build()
        return self.decoder.prepare(self.encoder(source, training=training), alignment)

    def initial_state(self, prepared):
        """The decoder's state before the first token."""
        return self.decoder.initial_state(prepared)

    def decode_step(self, tokens, state, prepared):
        """Log-probabilities of the next token, in float32.

        Args:
            tokens: Int tensor `(batch,)` or `(batch, beam)`, the tokens chosen last.
            state: `DecoderState` with the same leading axes.
            prepared: From `encode`; it has no beam axis.

        Returns:
            (log_probs `(batch, [beam,] vocabulary)`, weights `(batch, [beam,] source_time)`,
            the next state).
        """
        logits, shown, state = self.decoder.step(tokens, state, prepared)
        return ops.log_softmax(logits, axis=-1), shown.weights, state

    def call(self, inputs, return_attention_scores=False, training=None):
        learns = bool(training and self.compiled)  # `compute_loss` will ask
        twice = bool(learns and self.r_drop)
        source, target_in, *alignment = _doubled(inputs) if twice else inputs
        alignment = alignment[0] if alignment else ()
        guided = self.guided_alignment > 0 and not isinstance(alignment, tuple)
        memory = self.encoder(source, training=training)
        *found, readout = self.decoder(
            target_in,
            memory,
            alignment,
            return_attention_scores=bool(return_attention_scores or guided),
            return_readout=True,
            training=training,
        )
        if guided:
            self.add_loss(self.guided_alignment * guided_alignment(alignment, found[1]))
        halves = [ops.split(one, 2) if twice else (one, None) for one in found]
        logits, *weights = [first for first, _ in halves]
        if learns:
            read = readout if sums_tokens(self.loss) else None
            self._traced = _Traced(logits, halves[0][1], read)
        return (logits, *weights) if return_attention_scores else logits

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        """The loss, in training from the readout instead of the logits.

        Nobody then asks for the logits `(batch, target_time, vocabulary)`, and a compiled
        step leaves them out: see `models.output_loss`.
        """
        logits, others, readout = self._traced
        self._traced, self._token_losses = _Traced(), (None, None)
        if not training or logits is None or y_pred is not logits:
            _check_not_lost(others, training)
            return super().compute_loss(x, y, y_pred, sample_weight, training)
        if sample_weight is None and (others is not None or readout is not None):
            sample_weight = ops.ones(ops.shape(y))
        if readout is None:
            return self._loss_from_logits(x, y, logits, others, sample_weight)
        found = output_loss(
            readout,
            *self.decoder.output_weights,
            y,
            sample_weight,
            label_smoothing=self.loss.label_smoothing,
            r_drop=self.r_drop,
        )
        self._token_losses = logits, found.negative_log_probs
        losses = [self.loss.of_total(found.total, sample_weight), *map(ops.sum, self.losses)]
        return ops.sum(ops.stack(losses))

    def _loss_from_logits(self, x, y, logits, others, sample_weight):
        """Any other loss; with R-Drop the mean of two passes, and how far they are apart.

        Half of eq. 3 of Wu et al. 2021, so that it is as large as the loss of one pass.
        """
        passes = [one for one in (logits, others) if one is not None]
        losses = [super(Seq2Seq, self).compute_loss(x, y, one, sample_weight) for one in passes]
        if others is not None:
            reducing = (
                self.loss if isinstance(self.loss, TokenCrossentropy) else TokenCrossentropy()
            )
            total = ops.sum(ops.cast(sample_weight, "float32") * divergence(logits, others))
            losses.append(self.r_drop * reducing.of_total(total, sample_weight))
        return ops.sum(ops.stack(losses)) / len(passes)

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        """The metrics, from the losses of the tokens where these are all that they need."""
        logits, losses = self._token_losses
        self._token_losses = None, None
        group = self._compile_metrics
        if losses is None or y_pred is not logits or group is None:
            return super().compute_metrics(x, y, y_pred, sample_weight)
        if not group.built:
            group.build(y, y_pred)
        if not all(hasattr(metric, "update_from_losses") for metric in group.metrics):
            return super().compute_metrics(x, y, y_pred, sample_weight)
        for metric in group.metrics:
            metric.update_from_losses(losses, sample_weight)
        return self.get_metrics_result()

    def get_config(self):
        return {
            **super().get_config(),
            "encoder": keras.saving.serialize_keras_object(self.encoder),
            "decoder": keras.saving.serialize_keras_object(self.decoder),
            "share_embeddings": self.share_embeddings,
            "guided_alignment": self.guided_alignment,
            "r_drop": self.r_drop,
        }

    @classmethod
    def from_config(cls, config):
        parts = {part: unbuilt(config[part]) for part in ("encoder", "decoder")}
        return cls(**{**config, **parts})


def _doubled(inputs):
    """Each sentence twice: all of them, and all of them again."""
    return tree.map_structure(lambda one: ops.concatenate([one, one], axis=0), tuple(inputs))


def _check_not_lost(others, training):
    if training and others is not None:
        raise ValueError(
            "R-Drop compares two passes, of which the loss must get the first one's logits as the "
            "model gave them. Received: other values for `y_pred`. Hand over what the call gave, "
            "or use r_drop=0."
        )


def _check_shareable(encoder, decoder):
    source = (encoder.vocabulary_size, encoder.embedding_units)
    target = (decoder.vocabulary_size, decoder.embedding_units)
    if source != target:
        raise ValueError(
            "`share_embeddings=True` needs one vocabulary and one embedding width on both "
            f"sides. Received: encoder (vocabulary_size, embedding_units)={source}, "
            f"decoder={target}. Train a joint vocabulary, or leave sharing out."
        )
