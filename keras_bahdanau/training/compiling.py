"""From options to a model that is ready to be trained."""

import keras

from keras_bahdanau.models.losses import SentenceCrossentropy, TokenCrossentropy
from keras_bahdanau.models.metrics import Perplexity
from keras_bahdanau.models.precision import computing_in, with_policy
from keras_bahdanau.optimizers.adam import new_optimizer
from keras_bahdanau.training.adaptation import freeze, resized
from keras_bahdanau.training.options import MODEL_OPTIONS
from keras_bahdanau.training.placement import place
from keras_bahdanau.training.presets import PRESETS

_POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16"}
_LOSSES = {"tokens": TokenCrossentropy, "sentences": SentenceCrossentropy}


def compiled_model(source, target, options, rate, config=None, devices=None, window=0):
    """The model of a training, compiled.

    Args:
        source: `Source`.
        target: `Subwords`.
        options: `TrainingOptions`.
        rate: Float or schedule, such as that of `schedules.learning_rate`.
        config: Dictionary of `Seq2Seq.get_config` in place of the options of the model, or None.
        devices: Dictionary from parts of the model to devices: see `placement.place`.
        window: Integer, the steps that a decoder of self-attention keeps at least, beside those
            of `max_length`: as many as that of the model that is trained further.

    Returns:
        A `Seq2Seq`.

    Raises:
        ValueError: If a part or a device is unknown, or if XLA shall compile for several devices.
    """
    options = options.resolved()
    if devices and options.jit_compile:
        raise ValueError(
            f"XLA compiles for one device. Received: devices={devices!r}, jit_compile=True. "
            "Leave one of them out."
        )
    policy = _POLICIES[options.precision]
    model = _new_model(source, target, options, policy, window, config, devices)
    freeze(model, options.freeze)
    optimizer = new_optimizer(options, rate, model.trainable_variables)
    if options.quantization_aware:
        optimizer.round_weights_of(model, options.quantization)
    _compile(model, options, optimizer=optimizer)
    model.optimizer.build(model.trainable_variables)  # or the first step is traced twice
    return model


def validated_model(source, target, options, config=None, window=0):
    """The same model in float32, to be validated and saved with the weights of the other.

    Args:
        source: `Source`.
        target: `Subwords`.
        options: `TrainingOptions`.
        config: As in `compiled_model`.
        window: Integer, likewise.

    Returns:
        A `Seq2Seq` that can be evaluated.
    """
    options = options.resolved()
    model = _new_model(source, target, options, "float32", window, config)
    _compile(model, options)
    return model


def _new_model(source, target, options, policy, window, config=None, devices=None):
    settings = {name: getattr(options, name) for name in MODEL_OPTIONS}
    steps = max(window, options.max_length)
    with computing_in(policy):
        if config is None:
            settings["max_length"] = steps  # which a decoder of self-attention keeps
            model = PRESETS[options.preset].model(source, target, **settings)
        else:
            # as it is in float32, where some layers may have another precision on purpose
            own = config if policy == "float32" else with_policy(config, policy)
            own = {**own, "guided_alignment": options.guided_alignment}
            model = resized(own, source, target, steps)
        place(model, devices or {})
        model.build()
    if options.l2:
        for variable in model.trainable_variables:
            variable.regularizer = keras.regularizers.L2(options.l2)
    return model


def _compile(model, options, **settings):
    model.compile(
        loss=_LOSSES[options.loss_mean](options.label_smoothing),
        weighted_metrics=[Perplexity()],
        jit_compile=options.jit_compile,
        **settings,
    )
