"""Small models with every mechanism of the package, alone and combined."""

import itertools
from collections.abc import Mapping
from typing import Any, NamedTuple

import keras
from decoders import new_decoder, new_hard_decoder

from keras_bahdanau import Encoder, Seq2Seq, layers, presets, text
from keras_bahdanau.layers.names import QUERY_PARTS

EMBEDDING_UNITS, UNITS = 4, 8
SYMBOLS = (-1, *range(1, 10))  # a shared vocabulary: each id but padding is copied as itself
NOTHING: Mapping = {}


class Option(NamedTuple):
    """How a model differs from a plain one.

    Attributes:
        encoder: Arguments of `Encoder`.
        decoder: Arguments of `decoders.new_decoder`, without the attention.
        attention: Arguments of `layers.ATTENTIONS`.
        hard: Arguments of `layers.HardAlignment`, which a `HardDecoder` uses as its attention.
        model: Arguments of `Seq2Seq`.
        loss: Arguments of `losses.TokenCrossentropy`.
        search: Arguments of `SearchOptions`.
        preset: Name in `presets.PRESETS`; the decoder's arguments then override the preset.
        aligned: Whether alignments are the model's third input.
        same_inference: Whether it differs from a plain model only in training.
    """

    encoder: Mapping = NOTHING
    decoder: Mapping = NOTHING
    attention: Mapping = NOTHING
    hard: Any = None
    model: Mapping = NOTHING
    loss: Mapping = NOTHING
    search: Mapping = NOTHING
    preset: Any = None
    aligned: bool = False
    same_inference: bool = False


def new_subwords():
    """Return a vocabulary of six words for source and target."""
    return text.Subwords.train(["a b c", "x y z"], vocabulary_size=10, model_type="word")


def new_model(option, subwords):
    """Return an untrained `Seq2Seq` whose source and target share a vocabulary."""
    if option.preset:
        sizes = {"embedding_units": EMBEDDING_UNITS, "units": UNITS, **option.decoder}
        return presets.new_model(option.preset, subwords, subwords, **sizes)
    attention = {"kind": "bahdanau", "units": 6, "name": "attention", **option.attention}
    attention = layers.ATTENTIONS.get(attention.pop("kind"), **attention)
    if option.hard is not None:
        attention = layers.HardAlignment(units=6, name="attention", **option.hard)
    encoder = {"units": UNITS, "kind": "unidirectional", "cell": "simple", **option.encoder}
    return Seq2Seq(
        Encoder(subwords.vocabulary_size, EMBEDDING_UNITS, **encoder),
        (new_decoder if option.hard is None else new_hard_decoder)(
            subwords.vocabulary_size, EMBEDDING_UNITS, UNITS, attention, **option.decoder
        ),
        **option.model,
    )


def both(**arguments):
    return Option(arguments, arguments)


def attending(**arguments):
    return Option(attention=arguments)


def decoding(**arguments):
    return Option(decoder=arguments)


def encoding(**arguments):
    return Option(arguments)


def queries():
    """Return an option for each combination of parts in a query."""
    return {
        f"query {'+'.join(parts)}": decoding(query=parts)
        for size in range(1, len(QUERY_PARTS) + 1)
        for parts in itertools.combinations(QUERY_PARTS, size)
    }


TOGETHER = {  # mechanisms that must work together
    "Luong's local attention": Option(
        encoder={"kind": "bidirectional", "cell": "lstm"},
        decoder={"when": "after", "cell": "lstm", "readout": "plain"},
        attention={"kind": "general", "window": "local-p"},
        search={"coverage_penalty": 0.2, "length_penalty": "gnmt"},
    ),
    "monotonic with coverage": Option(
        encoder={"cell": "gru-reset-before", "summary": "last"},
        attention={"kind": "concat", "normalizer": "monotonic-hard", "coverage": "sum"},
        decoder={"cell": "gru-reset-before", "tie_embeddings": True},
        model={"share_embeddings": True},
        search={"beam_width": 1},
    ),
    "past and heads between deep LSTMs": Option(
        encoder={"kind": "bidirectional", "cell": "gru", "summary": "backward"},
        attention={"kind": "additive", "heads": 2, "past": 2},
        decoder={"when": "between", "cell": "lstm", "depth": 2, "residual": True},
        search={"no_repeat_ngram": 2},
    ),
    "convolutions and a task": Option(
        encoder={"kind": "convolutional", "depth": 2},
        attention={"kind": "cosine", "window": "local-m", "coverage": "convolution"},
        decoder={
            "query": ("state", "embedding", "context", "task"),
            "cell": keras.layers.GRUCell(UNITS),
            "bridge": "zeros",
        },
        search={"min_length": 3},
    ),
    "copying by heads with coverage": Option(
        encoder={"kind": "bidirectional", "symbols": SYMBOLS},
        attention={"kind": "general", "heads": 2, "coverage": "sum", "window": "local-p"},
        decoder={"copy": True, "when": "after", "readout": "plain"},
        model={"r_drop": 1.0, "ctc_weight": 0.2},
        loss={"label_smoothing": 0.1},
        search={"no_repeat_ngram": 2},
    ),
    "normalized layers and maxout": Option(
        encoder={"cell": "layer-norm-lstm", "depth": 2, "residual": True},
        attention={"kind": "pair-tanh", "normalizer": "monotonic"},
        decoder={"cell": "layer-norm-gru", "readout": "maxout", "readout_state": "previous"},
    ),
    "hard alignments, first order, monotonic": Option(
        encoder={"kind": "bidirectional"},
        decoder={"cell": "lstm", "depth": 2, "query": ("state", "task"), "tie_embeddings": True},
        hard={"score": "general", "order": 1, "monotonic": True, "reach": 1},
        model={"ctc_weight": 0.2},
        loss={"label_smoothing": 0.1},
        search={"ctc_weight": 0.1},
    ),
}

_DROPOUTS = {"word_dropout": 0.2, "recurrent_dropout": 0.2, "dropout": 0.2}
# presets for images, ink and speech are tested with their sources
TEXT_PRESETS = [
    name for name, preset in presets.PRESETS.items() if not preset.settings.get("augmentation")
]
ALONE = {  # other mechanisms, alone or with some that don't affect them
    "all that makes training noisy": Option(
        encoder=_DROPOUTS,
        attention={"dropout": 0.2},
        decoder={**_DROPOUTS, "context_dropout": 0.2},
        loss={"label_smoothing": 0.1},
        same_inference=True,
    ),
    "hard alignments, first order": Option(
        decoder={**_DROPOUTS}, hard={"order": 1}, model={"r_drop": 1.0}
    ),
    "r-drop": Option(model={"r_drop": 1.0}, same_inference=True),
    "guided alignment": Option(model={"guided_alignment": 0.5}, aligned=True, same_inference=True),
    "of heads, with its past": Option(
        attention={"kind": "additive", "heads": 2, "past": 2},
        decoder={"when": "after"},
        model={"r_drop": 1.0},
    ),
    "joint CTC": Option(model={"ctc_weight": 0.4}, search={"ctc_weight": 0.3}),
    "location-aware, within a window": Option(
        attention={
            "kind": "additive",
            "normalizer": "softmax-sharp",
            "window": "local-median",
            "coverage": "grid",
        }
    ),
    "when blocks": Option(  # SSRU blocks after a Transformer encoder
        encoder={"kind": "transformer", "depth": 2},
        attention={"kind": "scaled-dot", "heads": 2},
        decoder={"when": "blocks", "cell": "ssru", "depth": 2, "readout": "plain"},
        model={"guided_alignment": 0.5},
        aligned=True,
    ),
    "blocks of self-attention": decoding(
        when="blocks", cell=layers.SelfAttentionCell(UNITS, heads=2, length=4), bridge="zeros"
    ),
    "normalizer mocha-hard": attending(normalizer="mocha-hard"),
    "no attention, tied two-way": Option(
        attention={"kind": None}, decoder={"tie_embeddings": True}
    ),
    "location score, convolutions and Luong's readout": Option(
        encoder={"kind": "convolutional-tanh"},
        attention={"kind": "location"},
        decoder={"readout": "attentional"},
    ),
    **{f"score {kind}": attending(kind=kind) for kind in ("pair", "scaled-dot")},
    "heads, dot": attending(kind="dot", heads=2),
    "forced alignment": attending(kind="forced")._replace(aligned=True),
    **{f"preset {name}": Option(preset=name) for name in TEXT_PRESETS},
}
for _name in ("preset luong", "preset luong-local"):  # four layers by default
    ALONE[_name] = ALONE[_name]._replace(decoder={"depth": 2, "decoder_depth": 2})
_DROPPED = {"small": 0.1, "conditional-gru": 0.1, "ssru-student": 0.0, "transformer-tiny": 0.0}
for _name, _rate in _DROPPED.items():  # two steps show nothing at high rates
    ALONE[f"preset {_name}"] = Option(preset=_name, decoder={"dropout": _rate})

ONE_BY_ONE = {  # mechanisms that a model above contains
    "plain": Option(),
    "no attention": attending(kind=None),
    **{
        f"score {kind}": attending(kind=kind)
        for kind in layers.SCORES
        if kind not in ("additive", "pair", "scaled-dot")
    },
    "heads, additive": attending(kind="additive", heads=2),
    **queries(),
    **{f"when {when}": decoding(when=when) for when in ("after", "between", "apart")},
    **{f"window {kind}": attending(window=kind) for kind in layers.WINDOWS if kind != "everywhere"},
    **{
        f"normalizer {kind}": attending(normalizer=kind)
        for kind in layers.NORMALIZERS
        if kind not in ("softmax", "mocha-hard")
    },
    **{f"coverage {kind}": attending(coverage=kind) for kind in layers.COVERAGES if kind},
    "hard alignments, zeroth order": Option(hard={}),
    "hard alignments, zeroth order, monotonic": Option(hard={"monotonic": True}),
    "context gate": decoding(context_gate=True),
    "copying": Option(encoder={"symbols": SYMBOLS}, decoder={"copy": True}),
    "copying by weights that sum to less than 1": Option(
        encoder={"symbols": SYMBOLS},
        attention={"kind": "additive", "normalizer": "monotonic"},
        decoder={"copy": True, "tie_embeddings": True},
    ),
    "past": attending(past=2),
    "first state zeros": decoding(bridge="zeros"),
    "first state identity": Option({"summary": "last"}, {"bridge": "identity"}),
    "first state last": encoding(summary="last"),
    "first state backward": encoding(summary="backward", kind="bidirectional"),
    **{f"cell {kind}": both(cell=kind) for kind in layers.CELLS},
    "cell of Keras": Option(
        {"cell": keras.layers.GRUCell(UNITS)}, {"cell": keras.layers.LSTMCell(UNITS)}
    ),
    "depth": both(depth=2),
    "residual": both(depth=2, residual=True),
    **{
        f"encoder {kind}": encoding(kind=kind)
        for kind in ("bidirectional", "rows", "transformer", "convolutional", "convolutional-tanh")
    },
    **{f"readout {kind}": decoding(readout=kind) for kind in ("attentional", "maxout", "plain")},
    "readout previous": decoding(readout_state="previous"),
    "tied two-way": decoding(tie_embeddings=True),
    "tied three-way": decoding(tie_embeddings=True)._replace(model={"share_embeddings": True}),
    "label smoothing": Option(loss={"label_smoothing": 0.1}, same_inference=True),
    "word dropout": both(word_dropout=0.2)._replace(same_inference=True),
    "variational dropout": Option(
        {"recurrent_dropout": 0.2},
        {"recurrent_dropout": 0.2, "context_dropout": 0.2},
        same_inference=True,
    ),
    "dropout": both(dropout=0.2)._replace(attention={"dropout": 0.2}, same_inference=True),
}

OPTIONS = {**TOGETHER, **ALONE, **ONE_BY_ONE}
