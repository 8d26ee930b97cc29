"""Sequence-to-sequence model of an encoder and a decoder, trained with `fit`."""

import keras
from keras import ops, tree

from keras_bahdanau.layers.distribution import softmax_distribution
from keras_bahdanau.layers.recurrence import outside_graphs
from keras_bahdanau.layers.registry import CompositeLayer, from_config
from keras_bahdanau.layers.rules import check_weights
from keras_bahdanau.models.compile_checks import check_logits
from keras_bahdanau.models.decoder import Decoder
from keras_bahdanau.models.losses import layer_losses
from keras_bahdanau.models.metrics import build_compiled, update_compiled
from keras_bahdanau.models.output_loss import output_loss
from keras_bahdanau.models.r_drop import divergence, repeat_inputs, split_passes
from keras_bahdanau.models.step_model import Prepared, SourceLimits, StepModel
from keras_bahdanau.models.training_output import (
    TrainingOutput,
    add_training_losses,
    is_tensor,
    reduction_of,
    refuse_logits,
    token_weights,
    weight_of,
)
from keras_bahdanau.settings import checks
from keras_bahdanau.settings.removed import drop_removed


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class Seq2Seq(CompositeLayer, StepModel, keras.Model):
    """Attention encoder-decoder, trained with `fit`.

    ```python
    model = keras_bahdanau.Seq2Seq(encoder, decoder)
    model.compile(optimizer="adam", loss=keras_bahdanau.models.losses.TokenCrossentropy())
    data = keras_bahdanau.data.batches(pairs, source, target)
    model.fit(data, epochs=20, shuffle=False)
    ```

    Train it directly. To build a larger Keras model, use its `encoder` and `decoder`.

    Args:
        encoder: An `Encoder`.
        decoder: A `Decoder`.
        share_embeddings: Bool. True if both sides share one embedding, which requires a joint
            vocabulary. If the decoder has `tie_embeddings`, the output layer shares it too.
        guided_alignment: Float. Weight of a training loss that pulls the attention towards
            the alignments passed as the third input: see `losses.guided_alignment`.
        r_drop: Float. Weight of a training loss that makes two passes with different dropout agree
            (alpha in R-Drop, Wu et al. 2021, where it is from 1 to 5). In training, a call then
            runs the batch twice, as one batch of twice the size.
        ctc_weight: Float in [0, 1]. Weight w of a CTC loss on the encoder's values in training. The
            total loss is (1 - w) attention + w CTC (Watanabe et al. 2017). With 0, there is no CTC
            layer. CTC teaches the encoder a monotonic alignment, which attention by itself learns
            only slowly for long sources such as speech. Targets with more tokens than the memory
            has positions get no CTC loss. A search can use the CTC probabilities too:
            `SearchOptions(ctc_weight=)`.

    Call arguments:
        inputs: (features, target_in), or (features, target_in, alignment). `features` are the
            inputs of the encoder: for text, an int tensor `(batch, source_time)`. `target_in` is an
            int tensor `(batch, target_time)`, right-padded with 0. `alignment` is a float tensor
            `(batch, target_time, source_time)`. Other inputs raise TypeError.
        return_attention_scores: Python bool. True to also return the weights.
        training: Python bool. True to return a `TrainingOutput` for `compute_loss` and `logits`.

    Output:
        Float32 logits `(batch, target_time, vocabulary)`, or the pair
        (logits, weights `(batch, target_time, source_time)`).

    Raises ValueError if embeddings of different shapes are to be shared, if a weight is out of
    range, or if the decoder copies but the encoder has no symbols of the decoder's vocabulary.
    """

    def __init__(
        self,
        encoder,
        decoder,
        share_embeddings=False,
        guided_alignment=0.0,
        r_drop=0.0,
        ctc_weight=0.0,
        **kwargs,
    ):
        super().__init__(autocast=False, **kwargs)  # the front end casts its inputs itself
        self.encoder = encoder
        self.decoder = decoder
        self.share_embeddings = share_embeddings
        self.guided_alignment = checks.not_negative(
            "guided_alignment", "the weight of a loss", guided_alignment
        )
        self.r_drop = checks.not_negative("r_drop", "the weight of a loss", r_drop)
        self.ctc_weight = checks.fraction("ctc_weight", "the weight of the CTC loss", ctc_weight)
        self.ctc_layer = None
        self._word_distillation = None
        if ctc_weight:
            self.ctc_layer = keras.layers.Dense(
                decoder.vocabulary_size, name="ctc", dtype=self.dtype_policy
            )
        attention = decoder.cell.attention
        check_weights("guided_alignment", guided_alignment, attention, encoder.reduction)
        if decoder.copies:
            _check_symbols(encoder, decoder)
        if share_embeddings:
            _check_shareable(encoder, decoder)
            decoder.use_embedding(encoder.front_end.embedding)

    @property
    def word_distillation(self):
        """`WordDistillation` for the next `fit`, or None; not part of the config."""
        return self._word_distillation

    @word_distillation.setter
    def word_distillation(self, distillation):
        if distillation is not None:
            distillation.check(self)
        self._word_distillation = distillation
        self.train_function = None  # an earlier `fit` may have traced it without the teacher

    @property
    def source_limits(self):
        return SourceLimits(
            self.encoder.source_size, self.encoder.reduction, self.ctc_layer is not None
        )

    @property
    def target_vocabulary_size(self):
        """Number of target ids."""
        return self.decoder.vocabulary_size

    @property
    def exportable(self):
        """True if decoding needs only the source."""
        return self.decoder.cell.attention.exportable

    def build(self, inputs_shape=None):
        with outside_graphs():
            if not self.encoder.built:
                self.encoder.build()
            if not self.decoder.built:
                self.decoder.build((None, None), self.encoder.memory_shape)
            if self.ctc_layer is not None and not self.ctc_layer.built:
                self.ctc_layer.build(self.encoder.memory_shape.values)
        self.built = True

    def compile(
        self,
        optimizer="rmsprop",
        loss=None,
        loss_weights=None,
        metrics=None,
        weighted_metrics=None,
        **kwargs,
    ):
        """Configure training as in Keras.

        Raises ValueError for losses and metrics that expect probabilities.
        """
        check_logits(loss, metrics, weighted_metrics)
        super().compile(optimizer, loss, loss_weights, metrics, weighted_metrics, **kwargs)

    def compile_from_config(self, config):
        """Compile a loaded model with its saved arguments, as Keras does."""
        super().compile(**keras.saving.deserialize_keras_object(config))
        if self.built:
            self.optimizer.build(self.trainable_variables)

    def encode(self, features, alignment=(), training=None):
        """Return the `Prepared` for features: the memory with the decoder's projections."""
        if not self.built:
            self.build()
        projected = self.decoder.prepare(self.encoder(features, training=training), alignment)
        log_probs = ()
        if self.ctc_layer is not None:
            logits = self.ctc_layer(projected.memory.values)
            log_probs = ops.log_softmax(ops.cast(logits, "float32"), axis=-1)
        return Prepared(projected, projected.memory.mask, log_probs)

    def initial_state(self, prepared, steps=None):
        return self.decoder.initial_state(prepared.projected, steps)

    def decode_step(self, tokens, state, prepared):
        """Predict the `Distribution` of the next token: see `StepModel`."""
        logits, step, state = self.decoder.step(tokens, state, prepared.projected)
        return softmax_distribution(logits), step.weights, state

    def call(self, inputs, return_attention_scores=False, training=None):
        passes = 2 if training and self.r_drop else 1
        features, target_in, alignment = repeat_inputs(_parts(inputs), passes)
        guided = bool(training and self.guided_alignment)
        if guided and not is_tensor(alignment):
            raise ValueError(
                "`guided_alignment` needs alignments as the third input. Received: "
                f"guided_alignment={self.guided_alignment} with two inputs. Pass alignments to "
                "`data.batches`, or use guided_alignment=0."
            )
        memory = self.encoder(features, training=training)
        output = self.decoder(
            target_in,
            memory,
            alignment,
            return_attention_scores=bool(return_attention_scores or guided),
            return_logits=not training,
            training=training,
        )
        if not training:
            return (output.logits, output.weights) if return_attention_scores else output.logits
        output = TrainingOutput(
            output.readout,
            weights=output.weights,
            alignment=alignment if guided else (),
            ctc_logits=self.ctc_layer(memory.values) if self.ctc_weight else (),
            mask=memory.mask if self.ctc_weight else (),
            copying=output.copying,
        )
        return split_passes(output, passes)  # (passes * batch, ...) -> (passes, batch, ...)

    def logits(self, output, index=0):
        """Return one pass's float32 logits `(batch, target_time, vocabulary)`."""
        copying = tree.map_structure(lambda passes: passes[index], output.copying)
        return self.decoder.logits(output.readout[index], copying)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        """Return the loss of a batch, including all training losses, as a float32 scalar.

        With a `TrainingOutput`, the losses of this package are computed without storing the logits
        `(batch, target_time, vocabulary)`: see `models.output_loss`. Logits are computed for any
        other loss, for a loss with `loss_weights`, and for a decoder that copies. Compiled metrics
        are updated here, since the token losses are known here, and `compute_metrics` has no access
        to the weights on JAX.

        `x` contains the inputs, which `word_distillation` needs. `y` is int `(batch, target_time)`.
        `y_pred` is a `TrainingOutput` or logits. `sample_weight` is float `(batch, target_time)`,
        with 0 at padding, or `(batch,)`. In training, raises ValueError if `y_pred` is logits but
        the loss needs more than logits.
        """
        sample_weight = token_weights(y, sample_weight)
        if not isinstance(y_pred, TrainingOutput):
            weights = self.r_drop, self.guided_alignment, self.ctc_weight
            if training and (any(weights) or self.word_distillation is not None):
                refuse_logits(y_pred)
            return super().compute_loss(x, y, y_pred, sample_weight, training)
        weighted = getattr(self._compile_loss, "_user_loss_weights", None)  # Keras applies these
        from_readout = self.decoder.output_weights and not y_pred.copying
        if from_readout and weighted is None and getattr(self.loss, "sums_tokens", False):
            loss = self._loss_from_readout(y, y_pred, sample_weight)
        else:
            loss = self._loss_from_logits(x, y, y_pred, sample_weight)
        return add_training_losses(self, loss, x, y, y_pred, sample_weight)

    def _loss_from_readout(self, y, output, sample_weight):
        """Compute a loss of this package, without storing all logits."""
        weight = weight_of(y, sample_weight)
        result = output_loss(
            output.readout,
            *self.decoder.output_weights,
            y,
            weight,
            label_smoothing=self.loss.label_smoothing,
            r_drop=self.r_drop,
        )
        self._update_metrics(
            y, sample_weight, lambda: self.logits(output), result.negative_log_probs
        )
        losses = [self.loss.loss_of_total(result.total, weight), *layer_losses(self)]
        return ops.sum(ops.stack(losses))

    def _loss_from_logits(self, x, y, output, sample_weight):
        """Compute the loss from logits; with R-Drop, half of eq. 3 of Wu et al. (2021)."""
        passes = output.readout.shape[0]
        # one tensor (batch, target_time, vocabulary) for each pass
        logits = [self.logits(output, index) for index in range(passes)]
        self._update_metrics(y, sample_weight, lambda: logits[0])
        losses = [
            super(Seq2Seq, self).compute_loss(x, y, y_pred, sample_weight) for y_pred in logits
        ]
        weight = weight_of(y, sample_weight)
        if self.r_drop:
            # sum_i w_i D_i, where D is (batch, target_time)
            total = ops.sum(ops.cast(weight, "float32") * divergence(*logits))
            losses.append(self.r_drop * reduction_of(self.loss).loss_of_total(total, weight))
        return ops.sum(ops.stack(losses)) / passes

    def build_metrics(self):
        """Create the variables of the compiled metrics, as `fit` does in its first batch."""
        if self._compile_metrics is not None:
            targets = keras.KerasTensor((None, None), "int32")
            build_compiled(self._compile_metrics, targets, self.target_vocabulary_size)

    def _update_metrics(self, y, sample_weight, logits, token_losses=None):
        if self._compile_metrics is not None:
            size = self.target_vocabulary_size
            update_compiled(self._compile_metrics, y, sample_weight, size, logits, token_losses)

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        """Return the metrics; for a `TrainingOutput`, `compute_loss` has already updated them."""
        if isinstance(y_pred, TrainingOutput):
            return self.get_metrics_result()
        return super().compute_metrics(x, y, y_pred, token_weights(y, sample_weight))

    quantize = Decoder.quantize

    def get_config(self):
        return {
            **super().get_config(),
            "encoder": keras.saving.serialize_keras_object(self.encoder),
            "decoder": keras.saving.serialize_keras_object(self.decoder),
            "share_embeddings": self.share_embeddings,
            "guided_alignment": self.guided_alignment,
            "r_drop": self.r_drop,
            "ctc_weight": self.ctc_weight,
        }

    @classmethod
    def from_config(cls, config):
        parts = {part: from_config(config[part]) for part in ("encoder", "decoder")}
        return cls(**{**drop_removed(config), **parts})


def _parts(inputs):
    """Return (features, target_in, alignment or ()) from the inputs."""
    if not isinstance(inputs, (tuple, list)) or len(inputs) not in (2, 3):
        names = f", of {', '.join(map(str, inputs))}" if isinstance(inputs, dict) else ""
        raise TypeError(
            "The inputs must be (features, target_in), or (features, target_in, alignment). "
            f"Received: inputs of type {type(inputs).__name__}{names}. Use "
            "fit((source, target_in), target_out), or the output of `data.batches`."
        )
    return tuple(inputs) if len(inputs) == 3 else (*inputs, ())


def _check_shareable(encoder, decoder):
    front_end = encoder.front_end
    if not hasattr(front_end, "embedding"):
        raise ValueError(
            "`share_embeddings=True` needs an encoder that embeds tokens. Received: "
            f"front_end={type(front_end).__name__}(...). Use share_embeddings=False."
        )
    source = (front_end.vocabulary_size, front_end.units)
    target = (decoder.vocabulary_size, decoder.embedding_units)
    if source != target:
        raise ValueError(
            "`share_embeddings=True` needs the same vocabulary and embedding width on both "
            f"sides. Received: encoder (vocabulary_size, embedding_units)={source}, "
            f"decoder={target}. Train a joint vocabulary, or use share_embeddings=False."
        )


def _check_symbols(encoder, decoder):
    """Raise ValueError unless the encoder has symbols of the decoder's vocabulary."""
    highest = max(encoder.symbols, default=-1) if encoder.symbols else None
    if highest is None or highest >= decoder.vocabulary_size:
        raise ValueError(
            "The encoder's symbols must be in the decoder's vocabulary. Received: copy=True, "
            f"vocabulary_size={decoder.vocabulary_size}, and an encoder with the highest symbol "
            f"{highest}. Set `symbols` of the encoder to `Source.symbols`, or use copy=False."
        )
