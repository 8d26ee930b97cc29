"""Ensemble of several models, which choose each token together."""

import keras
from keras import ops

from keras_bahdanau.layers.distribution import as_distribution
from keras_bahdanau.layers.registry import CompositeLayer, from_config
from keras_bahdanau.models.seq2seq import Seq2Seq
from keras_bahdanau.models.step_model import Prepared, StepModel, step_log_probs
from keras_bahdanau.models.training_output import TrainingOutput, is_tensor


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class Ensemble(CompositeLayer, StepModel, keras.Model):
    """Several `Seq2Seq` models with the same vocabularies, which a search uses as one model.

    p(y_i | y_1 ... y_{i-1}, x) = 1/n sum_k p_k(y_i | y_1 ... y_{i-1}, x)
    alpha_ij                    = 1/n sum_k alpha_kij

    Probabilities are averaged, because with an average of logarithms a single member could veto a
    token. All members then read the chosen token (Sutskever et al. 2014, table 1; Sennrich et al.
    2016, the Edinburgh systems for WMT16). An ensemble is only for decoding: train its members
    separately.

    ```python
    ensemble = keras_bahdanau.Ensemble([first, second, third])
    translator = keras_bahdanau.Translator(source, ensemble, target)
    ```

    Calls are as in `Seq2Seq`, except that the output is float32 log-probabilities, which are also
    valid logits. Raises ValueError if there are no members, if a member is repeated, or if their
    vocabularies or memory lengths differ. Raises TypeError if a member is not a `Seq2Seq`.
    """

    def __init__(self, models, **kwargs):
        super().__init__(autocast=False, **kwargs)  # the front ends cast their inputs themselves
        self.models = list(models)
        _check_members(self.models)
        if all(model.built for model in self.models):
            self.build()  # otherwise Keras would save it without their weights

    @property
    def source_limits(self):
        has_ctc = all(model.source_limits.has_ctc for model in self.models)
        return self.models[0].source_limits._replace(has_ctc=has_ctc)

    @property
    def target_vocabulary_size(self):
        """Number of target ids."""
        return self.models[0].target_vocabulary_size

    @property
    def exportable(self):
        """True if decoding needs only the source."""
        return all(model.exportable for model in self.models)

    def build(self, inputs_shape=None):
        for model in self.models:
            if not model.built:
                model.build()
        self.built = True

    def encode(self, features, alignment=(), training=None):
        """Return a `Prepared` with those of all members and the mean of their CTC probabilities."""
        if not self.built:
            self.build()
        members = [model.encode(features, alignment, training=training) for model in self.models]
        ctc = [member.ctc_log_probs for member in members]
        return Prepared(
            tuple(member._replace(ctc_log_probs=()) for member in members),
            members[0].mask,
            log_mean_exp(ctc) if all(map(is_tensor, ctc)) else (),
        )

    def initial_state(self, prepared, steps=None):
        members = zip(self.models, prepared.projected, strict=True)
        return tuple(model.initial_state(member, steps) for model, member in members)

    def decode_step(self, tokens, state, prepared):
        """Compute the mean of the members' distributions, as log-probabilities: see `StepModel`."""
        members = zip(self.models, state, prepared.projected, strict=True)
        steps = [model.decode_step(tokens, *member) for model, *member in members]
        outputs, weights, states = zip(*steps, strict=True)
        log_probs = log_mean_exp(list(map(step_log_probs, outputs)))
        return as_distribution(log_probs), _mean(weights), states

    def call(self, inputs, return_attention_scores=False, training=None):
        predictions = [_prediction(model, inputs, training) for model in self.models]
        logits, weights = zip(*predictions, strict=True)
        log_probs = log_mean_exp([ops.log_softmax(member, axis=-1) for member in logits])
        return (log_probs, _mean(weights)) if return_attention_scores else log_probs

    quantize = Seq2Seq.quantize

    def get_config(self):
        return {**super().get_config(), "models": [_member_config(model) for model in self.models]}

    @classmethod
    def from_config(cls, config):
        return cls(**{**config, "models": [from_config(model) for model in config["models"]]})


def _prediction(model, inputs, training):
    """Return (logits, weights) of a member; in training, those of its first pass."""
    output = model(inputs, return_attention_scores=True, training=training)
    if isinstance(output, TrainingOutput):
        return model.logits(output), output.weights[0]
    return output


def log_mean_exp(log_probs):
    """Return the logarithm of the mean of probabilities, from a list of log-probabilities."""
    stacked = ops.stack(log_probs)  # -> (models, batch, [beam,] vocabulary)
    largest = ops.max(stacked, axis=0, keepdims=True)  # keeps `exp` from underflowing to 0
    mean = ops.mean(ops.exp(stacked - largest), axis=0)  # -> (batch, [beam,] vocabulary)
    return ops.log(mean) + ops.squeeze(largest, axis=0)


def _member_config(model):
    """Return the config of a member, without its optimizer."""
    config = keras.saving.serialize_keras_object(model)
    config.pop("compile_config", None)
    return config


def _mean(tensors):
    return ops.mean(ops.stack(tensors), axis=0)


def _check_members(models):
    if not models:
        raise ValueError("An ensemble must contain at least one model. Received: models=[]")
    wrong_types = [type(model).__name__ for model in models if not isinstance(model, Seq2Seq)]
    if wrong_types:
        raise TypeError(
            f"The members of an ensemble must be Seq2Seq models. Received: {', '.join(wrong_types)}"
        )
    if len({id(model) for model in models}) < len(models):
        raise ValueError(
            "The members of an ensemble must be different objects. Received: one model twice. "
            "Load it a second time, or leave one out."
        )
    sizes = [(model.source_limits.size, model.target_vocabulary_size) for model in models]
    if len(set(sizes)) > 1:
        raise ValueError(
            "The members of an ensemble must have the same vocabularies. "
            f"Received: models with the (source, target) sizes {sizes}. "
            "Train them on the same source and target."
        )
    reductions = [model.source_limits.reduction for model in models]
    if len(set(reductions)) > 1:
        raise ValueError(
            "The members of an ensemble must have the same reduction, because their attention is "
            f"averaged. Received: models with the reductions {reductions}. Leave some out."
        )
