"""The model of a preset: from training options to encoder and decoder."""

from keras_bahdanau.layers import (
    ATTENTIONS,
    COVERAGES,
    HardAlignment,
    SelfAttentionCell,
    SelfAttentionReader,
)
from keras_bahdanau.models import Decoder, Encoder, HardDecoder, Seq2Seq
from keras_bahdanau.sources.source import as_source
from keras_bahdanau.text.vocabulary import END
from keras_bahdanau.training.combinations import is_hard
from keras_bahdanau.training.options import MODEL_OPTIONS, TrainingOptions

_NONE_IS_A_CHOICE = ("attention", "coverage")
_ONE_SENTENCE = {"batch_tokens": 0, "batch_sentences": 1}
_LEAST_WINDOW = 128  # steps that self-attention keeps at least


def new_model(source, target, preset, overrides):
    """The model of a preset.

    Args:
        source: A `Source`, or the `Subwords` of the source text. The embedding can only be
            shared if the target has the same.
        target: The `Subwords` of the target text.
        preset: A name of `PRESETS`.
        overrides: Dictionary of the options that differ, by the names of
            `training.MODEL_OPTIONS`, and "max_length": steps that a decoder of self-attention
            keeps, 128 at least. For `attention` and `coverage` None means "none".

    Returns:
        A `Seq2Seq`, not yet compiled.

    Raises:
        TypeError: If an override is no setting of a model.
        ValueError: If a value is out of range, or does not go with the others.
    """
    known = (*MODEL_OPTIONS, "max_length")
    unknown = sorted(set(overrides) - set(known))
    if unknown:
        raise TypeError(
            f"A preset's overrides must be among {', '.join(known)}. Received: {', '.join(unknown)}"
        )
    named = {
        name: "none" if value is None and name in _NONE_IS_A_CHOICE else value
        for name, value in overrides.items()
    }
    if named.get("share_embeddings"):
        named["joint"] = True  # whatever the preset has: the vocabularies are made, and looked at
    # the target's vocabulary as it is, and a small batch: the preset has others
    sizes = {"vocabulary_size": max(5, target.vocabulary_size), **_ONE_SENTENCE}
    options = TrainingOptions(preset=preset, **named, **sizes).resolved()
    source = as_source(source)
    return Seq2Seq(
        _encoder(source, target, options),
        _decoder(source, target, options),
        share_embeddings=options.share_embeddings and source.subwords == target,
        guided_alignment=options.guided_alignment,
        r_drop=options.r_drop,
        ctc_weight=options.ctc_weight,
        name="seq2seq",
    )


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
    """The arguments of an encoder that make its readers."""
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


def _decoder(source, target, options):
    hard = is_hard(options)
    return (HardDecoder if hard else Decoder)(
        target.vocabulary_size,
        options.embedding_units,
        options.units,
        attention=_hard_alignment(options) if hard else _attention(source, options),
        cell=_cell(options),
        depth=options.decoder_depth,
        residual=options.residual,
        when=options.when,
        feed_forward_units=options.feed_forward_units if options.when == "blocks" else None,
        query=tuple(options.query.split(",")),
        bridge="zeros" if options.bridge == "zeros" else "summary",
        readout=options.readout,
        readout_units=options.readout_units,
        readout_state=options.readout_state,
        dropout=options.dropout,
        embedding_dropout=options.embedding_dropout,
        readout_dropout=options.readout_dropout,
        recurrent_dropout=options.recurrent_dropout,
        context_dropout=options.context_dropout,
        context_gate=options.context_gate,
        copy=options.copy,
        word_dropout=options.word_dropout,
        tie_embeddings=options.tie_embeddings,
        name="decoder",
    )


def _cell(options):
    if options.cell != "self-attention":
        return options.cell
    # the longest target of the training; the buffers of a hypothesis are that long
    window = max(_LEAST_WINDOW, options.max_length)
    return SelfAttentionCell(options.units, heads=options.heads, length=window)


def _symbols(source, target):
    """The symbols that a model copies."""
    symbols = source.symbols(target)
    if symbols is None or max(symbols) <= END:
        raise ValueError(
            "A model copies tokens that source and target have in common. Received: copy=True with "
            f"a {type(source).__name__} and a target that have none. Leave copying out, or train "
            "vocabularies with common tokens, such as those of model_type='char'."
        )
    return symbols


def _attention(source, options):
    return ATTENTIONS.get(
        None if options.attention == "none" else options.attention,
        units=options.attention_units,
        heads=options.heads,
        past=options.past,
        window=options.window,
        normalizer=options.normalizer,
        coverage=_coverage(source, options.coverage),
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


def _coverage(source, name):
    if name == "grid":
        return COVERAGES.get(name, grid_height=source.grid_height, name="coverage")
    return None if name == "none" else name
