"""Options for the model: its layers, their widths, dropout and additional losses."""

import dataclasses
import functools

from keras_bahdanau.layers import names, rules
from keras_bahdanau.settings.limits import WIDTH
from keras_bahdanau.settings.option import (
    flag,
    integer,
    integers,
    number,
    one_of,
    or_registered,
    some_of,
)
from keras_bahdanau.training.options.text_options import RATE, WEIGHT, training_field
from keras_bahdanau.training.presets.preset import AUTO, is_hard, readout_units

_RECURRENT = ("bidirectional", "unidirectional", "pyramidal", "rows")  # encoders

model_field = functools.partial(training_field, heading="Model", is_model_option=True)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """Options for the architecture, and for regularization such as dropout."""

    share_embeddings: bool | None = model_field(
        flag(),
        "Use one embedding for both languages, which requires a joint vocabulary.",
        lambda options: options.joint,
    )
    embedding_units: int | None = model_field(WIDTH, "Width of the embeddings.")
    convolutions: str | None = model_field(
        integers(1, 4096, 12),
        "Widths of the source's convolutions, if it has any, such as 32,64,96 for images. By "
        "default, those of the preset or of the source.",
        "",
    )
    augmentation: float | None = model_field(
        number(0, 1),
        "Strength of random changes to the inputs in training, for sources such as images and "
        "speech; 0 for none.",
        0.0,
    )
    units: int | None = model_field(WIDTH, "Width of the decoder state.")
    encoder: str | None = model_field(
        one_of(*names.READERS),
        "Type of encoder: {choices}.",
        "bidirectional",
    )
    encoder_units: int | None = model_field(
        WIDTH,
        "Units per direction of the encoder. By default, `units` / 2, or `units` in the presets "
        "for papers.",
        lambda options: options.units,
    )
    encoder_cell: str | None = model_field(
        one_of(*names.CELLS),
        "Cell of the encoder: {choices}. By default, the decoder's cell if it is one of these, and "
        'otherwise "gru".',
        lambda options: options.cell if options.cell in names.CELLS else "gru",
    )
    cell: str | None = model_field(
        one_of(*names.CELLS, "self-attention"),
        'Cell of the decoder: {choices}. "self-attention" requires when=blocks.',
        "gru",
    )
    depth: int | None = model_field(integer(1, 100), "Number of encoder layers.", 1)
    decoder_depth: int | None = model_field(integer(1, 100), "Number of stacked decoder cells.", 1)
    residual: bool | None = model_field(
        flag(), "Use residual connections around all layers except the lowest.", False
    )
    attention: str | None = model_field(
        or_registered(one_of("bahdanau", *names.SCORES, "forced", "none")),
        'Type of attention, or its score: {choices}. "forced" uses the given alignments. For a '
        'custom score that is registered with Keras, give "package>Class": see --import.',
        "bahdanau",
    )
    attention_units: int | None = model_field(
        WIDTH,
        "Width of the attention's hidden layer, if it has one.",
        lambda options: options.units,
    )
    heads: int | None = model_field(
        integer(1, 128),
        "Number of heads in the attention, and in a self-attention encoder or decoder.",
        1,
    )
    feed_forward_units: int | None = model_field(
        integer(1, 40_000),
        "Inner width of the feed-forward networks in self-attention and decoder blocks.",
        lambda options: 4 * options.units,
    )
    window: str | None = model_field(
        one_of(*names.WINDOWS),
        "Source positions that the attention may use: {choices}.",
        "everywhere",
    )
    normalizer: str | None = model_field(
        one_of(*names.NORMALIZERS),
        "Function that turns scores into weights: {choices}.",
        "softmax",
    )
    coverage: str | None = model_field(
        one_of("none", *filter(None, names.COVERAGES)),
        'Memory of past attention: {choices}. "grid" convolves the sum of the past weights, over '
        "both axes if the source is a grid, such as an image.",
        "none",
    )
    past: int | None = model_field(
        integer(0, 1000),
        "Number of earlier decoder states that the decoder attends to; 0 for none.",
        0,
    )
    hard_alignment: str | None = model_field(
        one_of("none", "zeroth", "zeroth-monotonic", "first", "first-monotonic", AUTO),
        "Exact hard attention, in which each token comes from one source position and the loss "
        "sums over all alignments: {choices}. First-order alignments also score jumps between "
        'positions; "monotonic" alignments never go back. "auto" is "first-monotonic" from letters '
        'to space-separated symbols, such as phonemes, and otherwise "none". Use hard attention '
        "for characters and other small vocabularies.",
        "none",
    )
    when: str | None = model_field(
        one_of(*names.DECODER_CELLS),
        'When the decoder attends: "before" its cell, "after" it (input feeding), "between" two '
        'cells, "apart" (after the cell without input feeding, as hard alignments require), or in '
        '"blocks" of a cell, attention and a feed-forward network, as in a Transformer.',
        lambda options: "apart" if is_hard(options) else "before",
    )
    query: str | None = model_field(
        some_of(*names.QUERY_PARTS),
        "Parts of the query: one or more of {choices}, such as state,embedding.",
        "state",
    )
    # without "identity", which needs a summary exactly as wide as all decoder states
    bridge: str | None = model_field(
        one_of("mean", "backward", "last", "zeros"),
        "What the decoder's initial state is computed from: the \"mean\" of the encoder's values, "
        'the encoder\'s "backward" state at the first token, its "last" state, or "zeros".',
        lambda options: "zeros" if options.cell == "self-attention" else "mean",
    )
    readout: str | None = model_field(
        one_of(*names.READOUTS), "Type of readout: {choices}.", "tanh"
    )
    readout_units: int | None = model_field(WIDTH, "Width of the readout.", readout_units)
    readout_state: str | None = model_field(
        one_of("current", "previous"),
        'Decoder state that the readout uses: "current", or "previous", which requires '
        "when=before.",
        "current",
    )
    tie_embeddings: bool | None = model_field(
        flag(), "Use the target embedding as the output layer.", False
    )
    dropout: float | None = model_field(
        RATE,
        "Dropout rate of the encoder's values, the readout and self-attention blocks. The dropout "
        "rates below that you don't set are derived from it, as the preset defines.",
        0.0,
    )
    embedding_dropout: float | None = model_field(
        RATE, "Dropout rate of the embeddings.", lambda options: options.dropout
    )
    readout_dropout: float | None = model_field(
        RATE,
        "Dropout rate of the readout. By default, `dropout`.",
        lambda options: options.dropout,
    )
    recurrent_dropout: float | None = model_field(
        RATE, "Dropout rate of the recurrent states, with the same mask at all steps.", 0.0
    )
    context_dropout: float | None = model_field(
        RATE, "Dropout rate of the context, with the same mask at all steps.", 0.0
    )
    context_gate: bool | None = model_field(
        flag(), "Scale the context at each step with a learned gate.", False
    )
    copy: bool | None = model_field(
        flag(),
        "Copy source tokens to which the decoder attends, in addition to generating tokens (a "
        "pointer-generator). Requires soft attention, and text with common tokens on both sides, "
        "such as characters, or characters and space-separated symbols.",
        False,
    )
    word_dropout: float | None = model_field(RATE, "Dropout rate of whole token embeddings.", 0.0)
    guided_alignment: float | None = model_field(
        WEIGHT, "Weight of the loss that pulls the attention toward the given alignments.", 0.0
    )
    r_drop: float | None = model_field(
        WEIGHT,
        "Weight of the loss that makes two passes with different dropout masks agree, usually 1 to "
        "5. It doubles the time per step.",
        0.0,
    )

    ctc_weight: float | None = model_field(
        number(0, 1),
        "Weight of the encoder's CTC loss in the total loss: 0.2 to 0.5 for speech and other "
        "sources that are longer than their targets and in the same order; 0 for none. The saved "
        "search uses the same weight.",
        0.0,
    )


def check_model(settings):
    """Raise ValueError if model options contradict each other."""
    for model_rules in (_size_rules, _cell_rules, _weight_rules):
        rules.check_rules(model_rules(settings), settings)


def _size_rules(settings):
    layers = settings.depth + settings.decoder_depth
    widest = max(settings.units, settings.encoder_units, settings.embedding_units)
    yield (
        "The weights of all layers must fit in memory: depth * units^2 must be at most 4e8",
        layers * widest**2 <= 4e8,
        ("depth", "decoder_depth", "units", "encoder_units", "embedding_units"),
        "Lower one of them.",
    )
    fed_forward = settings.when == "blocks" or settings.encoder == "transformer"
    yield (
        "Feed-forward networks must also fit in memory: depth * units * feed_forward_units must be "
        "at most 4e8",
        not fed_forward or layers * widest * settings.feed_forward_units <= 4e8,
        ("feed_forward_units", "depth", "decoder_depth", "units", "encoder_units"),
        "Lower one of them.",
    )


def _cell_rules(settings):
    yield (
        "Only a decoder that attends before its cell can use the previous state in its readout",
        settings.when == "before" or settings.readout_state == "current",
        ("readout_state", "when"),
        "Set readout_state to 'current', or when to 'before'.",
    )
    yield from rules.readout_rules(settings)
    if settings.readout == "plain":
        yield from rules.plain_readout_rules(settings)
    if settings.attention in rules.UNSCORED:
        yield from rules.unscored_rules(settings)
    if settings.cell == "self-attention":
        yield from rules.self_attention_rules(settings)
        yield from rules.head_rules(settings, "units", "cell")
    if settings.encoder == "transformer":
        yield from rules.head_rules(settings, "encoder_units", "encoder")
    if settings.cell in rules.UNDROPPED_CELLS:
        yield from rules.undropped_rules(settings, "cell")
    if settings.encoder_cell in rules.UNDROPPED_CELLS and settings.encoder in _RECURRENT:
        yield from rules.undropped_rules(settings, "encoder_cell")
    if settings.when == "blocks":
        yield from rules.block_rules(settings)


def _weight_rules(settings):
    yield from rules.weight_rules(settings, "guided_alignment", rules.UNSCORED)
    yield from rules.weight_rules(settings, "copy")
    yield from rules.weight_rules(settings, "unknown_rate")
    yield (
        "Word alignments need a weight for each source token",
        settings.encoder != "pyramidal" or settings.attention != "forced",
        ("encoder", "attention"),
        "Choose another encoder, or another attention.",
    )
    if is_hard(settings):
        yield from rules.hard_rules(settings)
