"""Creates the model of a preset from its options, with its initial weights."""

import dataclasses

import keras

from keras_bahdanau.layers import (
    ATTENTIONS,
    COVERAGES,
    DECODER_CELLS,
    HardAlignment,
    SelfAttentionCell,
    SelfAttentionReader,
)
from keras_bahdanau.layers.initializers import BlockOrthogonal
from keras_bahdanau.models import Decoder, Encoder, HardDecoder, Seq2Seq
from keras_bahdanau.settings.option import check_option, plain
from keras_bahdanau.sources.text_source import source_of
from keras_bahdanau.text.vocabulary import END
from keras_bahdanau.training.options import MODEL_OPTIONS, TrainingOptions, fill
from keras_bahdanau.training.options.model_options import check_model
from keras_bahdanau.training.presets import PRESETS
from keras_bahdanau.training.presets.preset import is_hard

_OVERRIDES = (*MODEL_OPTIONS, "max_length")
_NONE_IS_A_CHOICE = ("attention", "coverage")
_SHORTEST_CACHE = 128  # minimum number of steps in a self-attention cache
_RECURRENT = ("recurrent_kernel", "recurrent_projection/kernel", "candidate_projection/kernel")
_ALIGNMENT = ("score/query_projection/kernel", "score/key_projection/kernel")


def new_model(preset, source, target, seed=None, **overrides):
    """Create the untrained model of a preset.

    Args:
        preset: A name in `PRESETS`.
        source: A `Source`, or the `Subwords` of the source text. The embedding can be shared only
            if the target has the same `Subwords`.
        target: The `Subwords` of the target text.
        seed: Integer seed for the initial weights in the presets for Bahdanau et al. and Luong et
            al.; None to use Keras' global seed.
        **overrides: `training.MODEL_OPTIONS`, such as `units=256`, and `max_length`, the number of
            steps in the cache of a self-attention decoder, at least 128. For `attention` and
            `coverage`, None means "none".

    Returns:
        A `Seq2Seq` that is not compiled.

    Raises:
        TypeError: If an override is not a model option.
        ValueError: If a value is out of range, or if options contradict each other.
    """
    unknown = sorted(set(overrides) - set(_OVERRIDES))
    if unknown:
        raise TypeError(
            f"The options of a preset's model must be among {', '.join(_OVERRIDES)}. "
            f"Received: {', '.join(unknown)}"
        )
    for name in _NONE_IS_A_CHOICE:
        if name in overrides and overrides[name] is None:
            overrides[name] = "none"
    explicit = {name: plain(value) for name, value in overrides.items() if value is not None}
    for field in dataclasses.fields(TrainingOptions):
        if field.name in explicit:
            check_option(field, explicit[field.name])
    options = fill({"preset": preset, **explicit})
    check_model(options)
    model = model_of(source_of(source), target, options, options.max_length)
    return draw_initial_weights(model, preset, seed)


def model_of(source, target, options, cached_steps):
    """Create the uncompiled, unbuilt model for `ResolvedOptions`.

    Weights are initialized as their layers define. The cache of a self-attention decoder holds
    `cached_steps` steps, at least 128.
    """
    encoder = _encoder(source, target, options)
    # height of the encoder's output, where the cells of a column may be merged
    grid_height = max(1, source.grid_height // encoder.reduction)
    return Seq2Seq(
        encoder,
        _decoder(grid_height, target, options, cached_steps),
        share_embeddings=options.share_embeddings and source.subwords == target,
        guided_alignment=options.guided_alignment,
        r_drop=options.r_drop,
        ctc_weight=options.ctc_weight,
        name="seq2seq",
    )


def draw_initial_weights(model, preset, seed=None):
    """Draw the initial weights that a preset defines, if any. Return the model."""
    name = PRESETS[preset].initial_weights
    return INITIAL_WEIGHTS[name](model, seed) if name else model


def _encoder(source, target, options):
    convolutions = tuple(map(int, filter(None, options.convolutions.split(","))))
    return Encoder(
        front_end=source.front_end(
            options.embedding_units, convolutions or None, options.augmentation
        ),
        **_readers(options),
        summary="mean" if options.bridge == "zeros" else options.bridge,
        residual=options.residual,
        dropout=options.dropout,
        embedding_dropout=options.embedding_dropout,
        word_dropout=options.word_dropout,
        symbols=_symbols(source, target) if options.copy else None,
        name="encoder",
    )


def _readers(options):
    if options.encoder == "transformer":
        blocks = SelfAttentionReader(
            options.encoder_units,
            options.depth,
            heads=options.heads,
            feed_forward_units=options.feed_forward_units,
            dropout=options.dropout,
            name="self_attention",
        )
        return {"readers": [blocks]}
    recurrent = not options.encoder.startswith("convolutional")
    return {
        "units": options.encoder_units,
        "cell": options.encoder_cell,
        "depth": options.depth,
        "kind": options.encoder,
        "recurrent_dropout": options.recurrent_dropout if recurrent else 0.0,
    }


def _decoder(grid_height, target, options, cached_steps):
    return (HardDecoder if is_hard(options) else Decoder)(
        target.vocabulary_size,
        options.embedding_units,
        _decoder_cell(grid_height, options, cached_steps),
        readout=options.readout,
        readout_units=options.readout_units,
        dropout=options.dropout,
        embedding_dropout=options.embedding_dropout,
        readout_dropout=options.readout_dropout,
        word_dropout=options.word_dropout,
        tie_embeddings=options.tie_embeddings,
        copy=options.copy,
        name="decoder",
    )


def _decoder_cell(grid_height, options, cached_steps):
    settings = {}
    if options.when == "before":
        settings["readout_state"] = options.readout_state
    if options.when == "blocks":
        settings["feed_forward_units"] = options.feed_forward_units
        settings["dropout"] = options.dropout
    return DECODER_CELLS.get(
        options.when,
        options.units,
        _hard_alignment(options) if is_hard(options) else _attention(grid_height, options),
        cell=_cell(options, cached_steps),
        depth=options.decoder_depth,
        residual=options.residual,
        query=tuple(options.query.split(",")),
        bridge="zeros" if options.bridge == "zeros" else "summary",
        recurrent_dropout=options.recurrent_dropout,
        context_dropout=options.context_dropout,
        context_gate=options.context_gate,
        name="cell",
        **settings,
    )


def _cell(options, cached_steps):
    if options.cell != "self-attention":
        return options.cell
    # at least as long as the longest training target
    length = max(_SHORTEST_CACHE, cached_steps)
    return SelfAttentionCell(options.units, heads=options.heads, length=length)


def _symbols(source, target):
    symbols = source.symbols(target)
    if symbols is None or max(symbols) <= END:
        raise ValueError(
            "Copying needs tokens that source and target have in common. Received: copy=True with "
            f"a {type(source).__name__} and a target that have none. Leave out copy, or train "
            "vocabularies with common tokens, for example with model_type='char'."
        )
    return symbols


def _attention(grid_height, options):
    return ATTENTIONS.get(
        None if options.attention == "none" else options.attention,
        units=options.attention_units,
        heads=options.heads,
        past=options.past,
        window=options.window,
        normalizer=options.normalizer,
        coverage=_coverage(grid_height, options.coverage),
        name="attention",
    )


def _hard_alignment(options):
    order, _, monotonic = options.hard_alignment.partition("-")
    return HardAlignment(
        "additive" if options.attention == "bahdanau" else options.attention,
        units=options.attention_units,
        order=("zeroth", "first").index(order),
        monotonic=bool(monotonic),
        name="attention",
    )


def _coverage(grid_height, name):
    if name == "grid":
        return COVERAGES.get(name, grid_height=grid_height, name="coverage")
    return None if name == "none" else name


def draw_as_bahdanau(model, seed=None):
    """Draw all weights as in Bahdanau et al. 2015, appendix B.1, and return the model.

    The model is built first if necessary.

    Each gate's part of a recurrent matrix is a random orthogonal matrix. W_a and U_a are drawn from
    N(0, 0.001^2), and other matrices from N(0, 0.01^2). v_a and all biases are zero. Gains are
    unchanged. Weights are identified by their paths. Without `seed`, Keras' global seed is used.
    """
    return _draw(model, _bahdanau_initializer, seed)


def draw_as_luong(model, seed=None):
    """Draw all weights uniformly from [-0.1, 0.1], as in Luong et al. 2015, section 4.1."""
    return _draw(model, _luong_initializer, seed)


INITIAL_WEIGHTS = {"bahdanau": draw_as_bahdanau, "luong": draw_as_luong}


def _draw(model, choose_initializer, seed):
    if not model.built:
        model.build()
    for index, variable in enumerate(model.trainable_variables):
        initializer = choose_initializer(variable, None if seed is None else seed + index)
        if initializer is not None:
            variable.assign(initializer(variable.shape, dtype=variable.dtype))
    return model


def _bahdanau_initializer(variable, seed):
    path = variable.path
    if path.endswith(("bias", "score/v")):
        return keras.initializers.Zeros()
    if path.endswith(_RECURRENT):
        return BlockOrthogonal(seed)
    if len(variable.shape) < 2:
        return None
    deviation = 0.001 if path.endswith(_ALIGNMENT) else 0.01
    return keras.initializers.RandomNormal(stddev=deviation, seed=seed)


def _luong_initializer(variable, seed):
    if variable.path.endswith("gamma"):
        return None
    return keras.initializers.RandomUniform(-0.1, 0.1, seed=seed)


_CALL = """

    Args:
        source: A `Source`, or the `Subwords` of the source text.
        target: The `Subwords` of the target text.
        seed: As in `new_model`.
        **overrides: Model options to change, such as `units=256`: see `new_model`.

    Returns:
        A `Seq2Seq` that is not compiled.
    """


def _function_of(preset):
    """Return a function that creates the model of a preset, with its equations as docstring."""

    def new_model_of_preset(source, target, seed=None, **overrides):
        return new_model(preset.name, source, target, seed, **overrides)

    name = preset.name.replace("-", "_")
    new_model_of_preset.__name__ = new_model_of_preset.__qualname__ = name
    new_model_of_preset.__doc__ = preset.equations + _CALL
    return new_model_of_preset


small = _function_of(PRESETS["small"])
characters = _function_of(PRESETS["characters"])
rnnsearch = _function_of(PRESETS["rnnsearch"])
rnnencdec = _function_of(PRESETS["rnnencdec"])
luong = _function_of(PRESETS["luong"])
luong_local = _function_of(PRESETS["luong-local"])
conditional_gru = _function_of(PRESETS["conditional-gru"])
ssru_student = _function_of(PRESETS["ssru-student"])
transformer_tiny = _function_of(PRESETS["transformer-tiny"])
images = _function_of(PRESETS["images"])
ink = _function_of(PRESETS["ink"])
speech = _function_of(PRESETS["speech"])
