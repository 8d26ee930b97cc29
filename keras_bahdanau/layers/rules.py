"""Rules for settings of a model that depend on each other, for layers and training options.

A rule is a tuple of four items: a sentence that says what must hold, whether it holds, the names of
the settings to show in the error, and the remedy. Settings are attributes with the names of the
training options. This file does not import Keras, so that invalid options are rejected early.
"""

from types import MappingProxyType, SimpleNamespace

from keras_bahdanau.layers.names import PARALLEL_CELLS

UNSCORED = ("none", "forced")  # attention layers without scores
UNDROPPED_CELLS = (*PARALLEL_CELLS, "self-attention")  # cells without a recurrent matrix product

UNSCORED_REQUIRES = {
    **{"window": "everywhere", "normalizer": "softmax", "coverage": "none", "heads": 1},
}
BLOCKS_REQUIRE = {
    **{"query": "state", "context_gate": False, "context_dropout": 0, "residual": False},
}
HARD_ALIGNMENT_REQUIRES = {
    **{"when": "apart", "readout": "tanh", "context_gate": False, "context_dropout": 0},
    **{"window": "everywhere", "normalizer": "softmax", "coverage": "none", "heads": 1, "past": 0},
    "copy": False,
}


def check_rules(rules, settings, shown=MappingProxyType({})):
    """Raise ValueError for the first rule that does not hold.

    `shown` is a dictionary from names of settings to the text that errors show for them, such as
    "cell=UnfedCell(...)" for `when`.
    """
    for demand, is_met, names, remedy in rules:
        if not is_met:
            received = ", ".join(
                shown.get(name, f"{name}={getattr(settings, name, None)!r}") for name in names
            )
            raise ValueError(f"{demand}. Received: {received}. {remedy}")


def check_layer(rules, settings, *args, **shown):
    """Check a layer's dictionary of settings with `rules(settings, *args)`: see `check_rules`."""
    settings = SimpleNamespace(**settings)
    check_rules(rules(settings, *args), settings, shown)


def unscored_rules(model, requires=MappingProxyType(UNSCORED_REQUIRES)):
    """Yield the rules for an attention layer without scores."""
    for name, plain in requires.items():
        yield (
            f"`{name}` needs an attention layer with scores",
            getattr(model, name) == plain,
            (name, "attention"),
            f"Set it to {plain!r}, or set `attention` to the name of a score.",
        )


def readout_rules(model):
    """Yield the rules for a readout, which must read the last token and the source.

    Its width must also match the output layer.
    """
    blind = model.readout == "plain" or (
        model.readout == "attentional" and "embedding" not in model.query
    )
    yield (
        "The readout must read the last token, which the previous state has not read",
        model.readout_state == "current" or not blind,
        ("readout", "readout_state"),
        "Use readout='tanh', or readout_state='current'.",
    )
    yield (
        "The readout must read the context, which a cell apart from its attention does not read",
        model.when != "apart" or model.readout != "plain" or model.copy,
        ("readout", "when"),
        "Use another readout.",
    )
    yield (
        "The input of a tied output layer must be as wide as an embedding",
        not model.tie_embeddings or model.readout_units == model.embedding_units,
        ("tie_embeddings", "readout_units", "embedding_units"),
        "Make the widths equal, or do not tie the weights.",
    )


def plain_readout_rules(model):
    """Yield the rule for a plain readout."""
    yield (
        "A plain readout must be as wide as the output of the decoder cell",
        model.readout_units == model.units,
        ("readout_units", "units"),
        "Make them equal, or use another readout.",
    )


def block_rules(model):
    """Yield the rules for a decoder made of blocks."""
    for name, plain in BLOCKS_REQUIRE.items():
        yield (
            f"Blocks need {name}={plain!r}",
            getattr(model, name) == plain,
            (name, "when"),
            "Use that value, or choose another decoder cell with `when`.",
        )


def self_attention_rules(model):
    """Yield the rules for a decoder with self-attention."""
    yield (
        "Self-attention works only in blocks, because its state can't be a query",
        model.when == "blocks",
        ("cell", "when"),
        "Use when='blocks'.",
    )
    yield (
        "Self-attention must start with zero states",
        model.bridge == "zeros",
        ("cell", "bridge"),
        "Use bridge='zeros'.",
    )


def head_rules(model, width, *names):
    """Yield the rule for self-attention with the width in the setting `width`."""
    yield (
        "`heads` must divide the width of self-attention",
        getattr(model, width) % model.heads == 0,
        ("heads", width, *names),
        f"Use a divisor of {width}.",
    )


def undropped_rules(model, *names):
    """Yield the rule for a cell in `UNDROPPED_CELLS`."""
    yield (
        "`recurrent_dropout` must be 0 for a cell without a recurrent matrix product",
        not model.recurrent_dropout,
        ("recurrent_dropout", *names),
        'Use `dropout`, or a cell such as "gru".',
    )


def weight_rules(model, name, unweighted=("none",)):
    """Yield the rules for a setting that needs attention weights for each source position."""
    yield (
        f"`{name}` needs an attention layer with learned weights",
        not (getattr(model, name) and model.attention in unweighted),
        (name, "attention"),
        f"Leave out {name}, or use another attention.",
    )
    yield (
        f"`{name}` needs a weight for each position of the source",
        not (getattr(model, name) and model.encoder == "pyramidal"),
        (name, "encoder"),
        f"Leave out {name}, or use another encoder.",
    )


def check_weights(name, value, attention, reduction=1):
    """Raise ValueError if a setting needs a weight per position, but the attention has none."""
    settings = {
        "attention": "" if attention.has_weights else "none",
        "encoder": "pyramidal" if reduction > 1 else "",
        name: value,
    }
    check_layer(
        *(weight_rules, settings, name),
        attention=f"attention={type(attention).__name__}(...)",
        encoder=f"an encoder of reduction={reduction}",
    )


def hard_rules(model):
    """Yield the rules for exact hard alignments."""
    for name, plain in HARD_ALIGNMENT_REQUIRES.items():
        yield (
            f"Hard alignments need {name}={plain!r}",
            getattr(model, name) == plain,
            (name, "hard_alignment"),
            "Use that value, or leave out hard alignments.",
        )
    yield (
        "Hard alignments need an attention layer with scores",
        model.attention not in UNSCORED,
        ("attention", "hard_alignment"),
        "Use the name of a score, or leave out hard alignments.",
    )
    yield (
        "Hard alignments need a query without the context",
        "context" not in model.query,
        ("query", "hard_alignment"),
        "Leave the context out of the query.",
    )
