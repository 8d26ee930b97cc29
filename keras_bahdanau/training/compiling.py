"""From options to a model that is ready to be trained."""

import contextlib

import keras

from keras_bahdanau.callbacks import AveragingAdam
from keras_bahdanau.losses import SentenceCrossentropy, TokenCrossentropy
from keras_bahdanau.metrics import Perplexity
from keras_bahdanau.presets import PRESETS
from keras_bahdanau.recipe import MODEL_OPTIONS
from keras_bahdanau.training.schedules import learning_rate

_POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16"}
_LOSSES = {"tokens": TokenCrossentropy, "sentences": SentenceCrossentropy}


def compiled_model(tokenizer, options, steps):
    """The model of a training, compiled.

    Args:
        tokenizer: `Tokenizer`.
        options: `TrainingOptions`.
        steps: Integer, batches of an epoch.

    Returns:
        A `Seq2Seq`.
    """
    model = _new_model(tokenizer, options, _POLICIES[options.precision])
    _compile(model, options, optimizer=_optimizer(options, steps, model))
    model.optimizer.build(model.trainable_variables)  # or the first step is traced twice
    return model


def validated_model(tokenizer, options):
    """The same model in float32, to be validated and saved with the weights of the other.

    Args:
        tokenizer: `Tokenizer`.
        options: `TrainingOptions`.

    Returns:
        A `Seq2Seq` that can be evaluated.
    """
    model = _new_model(tokenizer, options, "float32")
    _compile(model, options)
    return model


def _new_model(tokenizer, options, policy):
    settings = {name: getattr(options, name) for name in MODEL_OPTIONS}
    with _computing_in(policy):
        model = PRESETS[options.preset].model(tokenizer, **settings)
        model.build()
    if options.l2:
        for variable in model.trainable_variables:
            variable.regularizer = keras.regularizers.L2(options.l2)
    return model


@contextlib.contextmanager
def _computing_in(policy):
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(policy)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)


def _compile(model, options, **settings):
    model.compile(
        loss=_LOSSES[options.loss_mean](options.label_smoothing),
        weighted_metrics=[Perplexity()],
        jit_compile=options.jit_compile,
        **settings,
    )


def _optimizer(options, steps, model):
    rate = learning_rate(options, steps)
    settings = {"global_clipnorm": options.clip_norm}
    if options.weight_decay:
        settings["weight_decay"] = options.weight_decay
    if options.ema_momentum:
        optimizer = AveragingAdam(rate, options.ema_momentum, **settings)
    else:
        optimizer = _OPTIMIZERS[options.optimizer](rate, **settings)
    optimizer.exclude_from_weight_decay([*filter(_stays, model.trainable_variables)])
    return optimizer


def _zeilers_adadelta(rate, **settings):
    """Adadelta as Bahdanau et al. 2015, appendix B.2, have it; Zeiler 2012 has rate 1."""
    return keras.optimizers.Adadelta(rate, rho=0.95, epsilon=1e-6, **settings)


_OPTIMIZERS = {
    "adam": keras.optimizers.Adam,
    "adadelta": _zeilers_adadelta,
    "sgd": keras.optimizers.SGD,
}


def _stays(variable):
    """Whether a weight is spared by weight decay: embeddings, biases, gains."""
    return len(variable.shape) < 2 or variable.path.endswith(("embeddings", "positions"))
