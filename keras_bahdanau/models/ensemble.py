"""Several models that choose each token together."""

import keras
from keras import ops

from keras_bahdanau.layers.distribution import distribution_of
from keras_bahdanau.layers.registry import from_config
from keras_bahdanau.models.seq2seq import Seq2Seq
from keras_bahdanau.models.training_output import TrainingOutput


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class Ensemble(keras.Model):
    """Several `Seq2Seq` of the same vocabularies, which a search takes for one.

    p(y_i | y_1 ... y_{i-1}, x) = 1/n sum_k p_k(y_i | y_1 ... y_{i-1}, x)
    alpha_ij                    = 1/n sum_k alpha_kij

    At each step the members' probabilities are averaged, not their logarithms (that would
    be their geometric mean, which some toolkits take, and which one sure member can veto).
    All members read the token that is then chosen. Ensembles of a few models, trained from
    different seeds or with different architectures, are how translation systems have been
    made better since Sutskever et al. 2014 (table 1) and Sennrich et al. 2016 (the Edinburgh
    systems for WMT16). They cost as many times the work.

    ```python
    ensemble = keras_bahdanau.Ensemble([first, second, third])
    translator = keras_bahdanau.Translator(source, ensemble, target)
    ```

    It is for decoding: train its members by themselves.

    Args:
        models: List of `Seq2Seq`, which may differ in everything but their vocabularies.

    Call arguments: as in `Seq2Seq`.

    Output:
        Float32 log-probabilities `(batch, target_time, vocabulary)`, which are logits too;
        or the pair (log-probabilities, weights `(batch, target_time, source_time)`).

    Raises:
        TypeError: If a member is no `Seq2Seq`.
        ValueError: If there is no member, if one comes twice, or if their vocabularies
            differ in size, or their memories in length.
    """

    def __init__(self, models, **kwargs):
        super().__init__(autocast=False, **kwargs)  # a source casts its numbers itself
        self.models = list(models)
        _check_members(self.models)
        if all(model.built for model in self.models):
            self.build()  # or Keras would save it without their weights

    @property
    def source_size(self):
        """Size of the source: ids of a vocabulary, or values of a frame."""
        return self.models[0].source_size

    @property
    def reduction(self):
        """Number of positions of the source for one of the memory."""
        return self.models[0].reduction

    @property
    def target_vocabulary_size(self):
        """Number of target ids."""
        return self.models[0].target_vocabulary_size

    def hypothesis_numbers(self, source_time):
        """Sum over all members: see `Seq2Seq`."""
        return sum(model.hypothesis_numbers(source_time) for model in self.models)

    def row_numbers(self, source_time):
        """Sum over all members: see `Seq2Seq`."""
        return sum(model.row_numbers(source_time) for model in self.models)

    @property
    def exportable(self):
        """True if decoding needs nothing but the source."""
        return all(model.exportable for model in self.models)

    def build(self, inputs_shape=None):
        for model in self.models:
            if not model.built:
                model.build()
        self.built = True

    def encode(self, features, alignment=(), training=None):
        """A tuple of what `Seq2Seq.encode` gives: one `ProjectedMemory` a member."""
        if not self.built:
            self.build()
        return tuple(model.encode(features, alignment, training=training) for model in self.models)

    def source_mask(self, prepared):
        """The mask of the members' memory: as in `Seq2Seq`."""
        return self.models[0].source_mask(prepared[0])

    @property
    def has_ctc(self):
        """True if all members have a CTC layer."""
        return all(model.has_ctc for model in self.models)

    def ctc_log_probs(self, prepared):
        """The logarithm of the mean of the members' CTC probabilities: as in `Seq2Seq`."""
        pairs = zip(self.models, prepared, strict=True)
        return log_mean_exp([model.ctc_log_probs(own) for model, own in pairs])

    def initial_state(self, prepared):
        """A tuple of the members' states before the first token."""
        pairs = zip(self.models, prepared, strict=True)
        return tuple(model.initial_state(own) for model, own in pairs)

    def shortened(self, state, steps):
        """First states of the members for so many steps at most."""
        pairs = zip(self.models, state, strict=True)
        return tuple(model.shortened(own, steps) for model, own in pairs)

    def decode_step(self, tokens, state, prepared):
        """Log-probabilities of the next token: as in `Seq2Seq`.

        Args:
            tokens: Int tensor `(batch,)` or `(batch, beam)`, the tokens chosen last.
            state: Tuple of the members' states.
            prepared: From `encode`.

        Returns:
            (log_probs `(batch, [beam,] vocabulary)`, weights `(batch, [beam,] source_time)`,
            the next states).
        """
        members = zip(self.models, state, prepared, strict=True)
        found = [model.decode_step(tokens, *own) for model, *own in members]
        log_probs, weights, states = zip(*found, strict=True)
        return log_mean_exp(log_probs), _mean(weights), states

    def decode_distribution(self, tokens, state, prepared):
        """The step of a search: as in `Seq2Seq`."""
        log_probs, weights, states = self.decode_step(tokens, state, prepared)
        return distribution_of(log_probs), weights, states

    def call(self, inputs, return_attention_scores=False, training=None):
        predictions = [_prediction(model, inputs, training) for model in self.models]
        logits, weights = zip(*predictions, strict=True)
        log_probs = log_mean_exp([ops.log_softmax(one, axis=-1) for one in logits])
        return (log_probs, _mean(weights)) if return_attention_scores else log_probs

    def get_config(self):
        return {**super().get_config(), "models": [_described(model) for model in self.models]}

    @classmethod
    def from_config(cls, config):
        return cls(**{**config, "models": [from_config(model) for model in config["models"]]})


def _prediction(model, inputs, training):
    """(logits, weights) of a member, in training of its first pass."""
    output = model(inputs, return_attention_scores=True, training=training)
    if isinstance(output, TrainingOutput):
        return model.logits(output), output.weights[0]
    return output


def log_mean_exp(log_probs):
    """The logarithm of the mean of probabilities whose logarithms are given, one tensor each."""
    stacked = ops.stack(log_probs)  # -> (models, batch, [beam,] vocabulary)
    largest = ops.max(stacked, axis=0, keepdims=True)  # so that not all are exp(-1000) = 0
    mean = ops.mean(ops.exp(stacked - largest), axis=0)  # -> (batch, [beam,] vocabulary)
    return ops.log(mean) + ops.squeeze(largest, axis=0)


def _described(model):
    """The config of a member, without the optimizer that it was trained by."""
    config = keras.saving.serialize_keras_object(model)
    config.pop("compile_config", None)
    return config


def _mean(tensors):
    return ops.mean(ops.stack(tensors), axis=0)


def _check_members(models):
    if not models:
        raise ValueError("An ensemble must have at least one model. Received: models=[]")
    strangers = [type(model).__name__ for model in models if not isinstance(model, Seq2Seq)]
    if strangers:
        raise TypeError(
            f"The members of an ensemble must be Seq2Seq models. Received: {', '.join(strangers)}"
        )
    if len({id(model) for model in models}) < len(models):
        raise ValueError(
            "The members of an ensemble must be different objects. Received: one model twice. "
            "Load it a second time, or leave it out."
        )
    sizes = [(model.source_size, model.target_vocabulary_size) for model in models]
    if len(set(sizes)) > 1:
        raise ValueError(
            "The members of an ensemble must have the same vocabularies. "
            f"Received: models of the sizes (source, target) {sizes}. "
            "Train them on the same source and target."
        )
    reductions = [model.reduction for model in models]
    if len(set(reductions)) > 1:
        raise ValueError(
            "The members of an ensemble must reduce the source alike, since their attention is "
            f"averaged. Received: models with the reductions {reductions}. Leave some out."
        )
