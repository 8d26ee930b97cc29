"""Creation, device placement and compilation of the models to train, and of their teacher."""

import functools

import keras

from keras_bahdanau.models.losses import SentenceCrossentropy, TokenCrossentropy
from keras_bahdanau.models.metrics import Perplexity
from keras_bahdanau.models.precision import computing_in, replace_policy
from keras_bahdanau.optimizers.adam import Adam, AveragingAdam
from keras_bahdanau.optimizers.rounded_weights import rounding
from keras_bahdanau.optimizers.schedules import Cosine, Halving, InverseSquareRoot
from keras_bahdanau.training.fine_tuning import freeze, resized
from keras_bahdanau.training.presets.models import draw_initial_weights, model_of

_POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16"}
_LOSSES = {"tokens": TokenCrossentropy, "sentences": SentenceCrossentropy}
_OPTIMIZERS = {
    "adam": (Adam, {}),
    # as in Bahdanau et al. 2015, appendix B.2; the rate is 1 in Zeiler 2012
    "adadelta": (keras.optimizers.Adadelta, {"rho": 0.95, "epsilon": 1e-6}),
    "sgd": (keras.optimizers.SGD, {}),
}
_PARTS = {
    "encoder": lambda model: model.encoder,
    "decoder": lambda model: model.decoder,
    "attention": lambda model: model.decoder.cell.attention,
}
_METHODS = ("build", "call", "prepare", "attend")


def compiled_model(plan, rate, devices=None):
    """Create and compile the model to train. For `devices`, see `assign_devices`."""
    options = plan.options
    if devices and options.jit_compile:
        raise ValueError(
            f"XLA compiles for a single device. Received: devices={devices!r}, jit_compile=True. "
            "Leave one of them out."
        )
    model = _new_model(plan, _POLICIES[options.precision], devices)
    freeze(model, options.freeze)
    optimizer = _new_optimizer(plan, rate, model.trainable_variables)
    if options.quantization_aware:
        optimizer.round_weights_of(model, options.quantization)
    _compile(model, plan, optimizer=optimizer)
    model.optimizer.build(model.trainable_variables)  # otherwise the first step is traced twice
    return model


def validated_model(plan):
    """Create the same model in float32, for validating and saving the trained weights."""
    model = _new_model(plan, "float32")
    _compile(model, plan)
    return model


def _new_model(plan, policy, devices=None):
    options, config = plan.options, plan.initial_config
    with computing_in(policy):
        if config is None:
            model = model_of(plan.source, plan.target, options, plan.cached_steps)
        else:
            # a float32 config is kept: some of its layers may have another precision on purpose
            config = config if policy == "float32" else replace_policy(config, policy)
            config = {**config, "guided_alignment": options.guided_alignment}
            model = resized(config, plan.source, plan.target, plan.cached_steps)
        assign_devices(model, devices or {})
        model.build()
        if config is None:
            draw_initial_weights(model, options.preset)
    if options.l2:
        for variable in model.trainable_variables:
            variable.regularizer = keras.regularizers.L2(options.l2)
    return model


def _compile(model, plan, **settings):
    model.compile(
        loss=_LOSSES[plan.options.loss_mean](plan.options.label_smoothing),
        weighted_metrics=[Perplexity()],
        jit_compile=plan.options.jit_compile,
        **settings,
    )


def learning_rate(plan, steps):
    """Create the learning-rate schedule for a training run with `steps` batches per epoch."""
    options = plan.options
    highest, last = options.learning_rate, options.epochs * steps
    warmup = round(options.warmup * options.epochs * steps)
    if options.schedule == "cosine":
        return Cosine(highest, last, max(1, warmup))
    if options.schedule == "inverse-sqrt":
        return InverseSquareRoot(highest, max(1, warmup))
    constant = options.schedule == "constant"
    return Halving(
        highest, steps, options.epochs + 1 if constant else options.halving_after, warmup
    )


def _new_optimizer(plan, rate, variables):
    """Create an unbuilt optimizer. Embeddings, biases and gains have no weight decay."""
    options = plan.options
    kind, settings = _OPTIMIZERS[options.optimizer]
    settings = {**settings, "global_clipnorm": options.clip_norm}
    if options.weight_decay:
        settings["weight_decay"] = options.weight_decay
    if options.ema_momentum:
        kind, settings["ema_momentum"] = AveragingAdam, options.ema_momentum
    if options.quantization_aware:
        kind = rounding(kind)
    optimizer = kind(rate, **settings)
    optimizer.exclude_from_weight_decay([*filter(_is_exempt, variables)])
    return optimizer


def _is_exempt(variable):
    # the shape of the biases in Keras' GRU is (2, 3 * units)
    return len(variable.shape) < 2 or variable.path.endswith(("embeddings", "positions", "bias"))


def assign_devices(model, devices):
    """Place the weights and the computation of parts of an unbuilt model on devices.

    The loss is computed on the decoder's device. The gradient and the optimizer state of a weight
    are on the device of that weight. TensorFlow places the other parts.

    Args:
        model: `Seq2Seq` that has not been built yet.
        devices: Dictionary from "encoder", "decoder" or "attention" to a device, such as
            {"encoder": "GPU:0", "decoder": "GPU:1"}.
    """
    for name, device in devices.items():
        _check_device(name, device)
        part = _PARTS[name](model)
        for method in _METHODS:
            if hasattr(part, method):
                setattr(part, method, _on_device(device, getattr(part, method)))
    if "decoder" in devices:
        model.compute_loss = _on_device(devices["decoder"], model.compute_loss)


def _on_device(device, method):
    @functools.wraps(method)
    def on_device(*args, **kwargs):
        with keras.device(device):
            return method(*args, **kwargs)

    return on_device


def _check_device(name, device):
    import tensorflow as tf

    if name not in _PARTS:
        raise ValueError(
            f"A part to place on a device must be one of {', '.join(_PARTS)}. "
            f"Received: devices={{{name!r}: {device!r}}}. Choose one of these parts."
        )
    known = [each.name.partition("device:")[2] for each in tf.config.list_logical_devices()]
    if device not in known:
        raise ValueError(
            f"A device must be one of {', '.join(known)}. "
            f"Received: devices={{{name!r}: {device!r}}}. Choose one of these devices."
        )


def word_distillation(plan):
    """Create the `WordDistillation` for the plan's teacher or ensemble.

    The teacher computes in the student's precision.
    """
    from keras_bahdanau.models.losses import WordDistillation
    from keras_bahdanau.pipelines.tasks import ensemble, load_pipeline

    files, options = plan.data.teacher, plan.options
    pipelines = [load_pipeline(path, options.precision) for path in files]
    for path, pipeline in zip(files, pipelines, strict=True):
        if (pipeline.source, pipeline.target) != (plan.source, plan.target):
            raise ValueError(
                "In word-level distillation, the teacher must have the student's source and "
                f"target. Received: teacher={str(path)!r}, which has others. Train both models on "
                "the same pairs with the same vocabulary settings, start from a model that has the "
                "teacher's vocabularies (--from), or distill with vocabulary='teacher'."
            )
        if not pipeline.model.exportable:
            raise ValueError(
                "A teacher must not need given alignments. Received: "
                f"teacher={str(path)!r}, whose attention is 'forced'. Choose another teacher."
            )
    teacher = pipelines[0] if len(pipelines) == 1 else ensemble(pipelines)
    return WordDistillation(teacher.model, options.word_distillation)
