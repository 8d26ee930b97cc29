"""Rules between settings of a model, for layers and for training options.

A rule is a tuple: what must hold, whether it holds, the settings that the error shows, the remedy.
Settings are attributes with the names of the training options. This file imports no Keras, so that
options are refused early.
"""

from types import MappingProxyType, SimpleNamespace

from keras_bahdanau.layers.names import PARALLEL_CELLS

UNSCORED = ("none", "forced")  # attentions without scores
UNDROPPED_CELLS = (*PARALLEL_CELLS, "self-attention")  # no product has their state

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
    """Raise the ValueError of the first rule that does not hold.

    `shown` is a dictionary from names of settings to what errors show for them, such as
    "cell=UnfedCell(...)" for `when`.
    """
    for demand, is_met, names, remedy in rules:
        if not is_met:
            received = ", ".join(
                shown.get(name, f"{name}={getattr(settings, name, None)!r}") for name in names
            )
            raise ValueError(f"{demand}. Received: {received}. {remedy}")


def check_layer(rules, settings, *args, **shown):
    """Check a layer's dictionary of settings by `rules(settings, *args)`: see `check_rules`."""
    settings = SimpleNamespace(**settings)
    check_rules(rules(settings, *args), settings, shown)


def unscored_rules(model, requires=MappingProxyType(UNSCORED_REQUIRES)):
    """Rules of an attention without scores."""
    for name, plain in requires.items():
        yield (
            f"`{name}` is for an attention that scores",
            getattr(model, name) == plain,
            (name, "attention"),
            f"Give {plain!r} for it, or the name of a score for `attention`.",
        )


def readout_rules(model):
    """Rules of a readout: it reads the last token and the source, and is as wide as its layer."""
    blind = model.readout == "plain" or (
        model.readout == "attentional" and "embedding" not in model.query
    )
    yield (
        "The previous state has not read the last token, so the readout must",
        model.readout_state == "current" or not blind,
        ("readout", "readout_state"),
        "Give readout='tanh', or readout_state='current'.",
    )
    yield (
        "A cell apart from its attention leaves the context to the readout",
        model.when != "apart" or model.readout != "plain" or model.copy,
        ("readout", "when"),
        "Give another readout.",
    )
    yield (
        "A tied output layer reads what is as wide as an embedding",
        not model.tie_embeddings or model.readout_units == model.embedding_units,
        ("tie_embeddings", "readout_units", "embedding_units"),
        "Make the widths equal, or leave tying out.",
    )


def plain_readout_rules(model):
    """The rule of a plain readout."""
    yield (
        "A plain readout is as wide as the output of the decoder cell",
        model.readout_units == model.units,
        ("readout_units", "units"),
        "Make them equal, or take another readout.",
    )


def block_rules(model):
    """Rules of a decoder of blocks."""
    for name, plain in BLOCKS_REQUIRE.items():
        yield (
            f"Blocks take {name}={plain!r}",
            getattr(model, name) == plain,
            (name, "when"),
            "Give that, or another decoder cell (`when`).",
        )


def self_attention_rules(model):
    """Rules of a decoder of self-attention."""
    yield (
        "Self-attention works in blocks alone: its state is no query",
        model.when == "blocks",
        ("cell", "when"),
        "Give when='blocks'.",
    )
    yield (
        "Self-attention begins with nothing",
        model.bridge == "zeros",
        ("cell", "bridge"),
        "Give bridge='zeros'.",
    )


def head_rules(model, width, *names):
    """The rule of self-attention that is as wide as the setting `width`."""
    yield (
        "`heads` must divide the width of self-attention",
        getattr(model, width) % model.heads == 0,
        ("heads", width, *names),
        f"Give a divisor of {width}.",
    )


def undropped_rules(model, *names):
    """The rule of a cell in `UNDROPPED_CELLS`."""
    yield (
        "`recurrent_dropout` must be 0 for a cell whose state is in no product",
        not model.recurrent_dropout,
        ("recurrent_dropout", *names),
        'Take `dropout`, or a cell such as "gru".',
    )


def weight_rules(model, name, unweighted=("none",)):
    """Rules of a setting that needs a weight for each position; some attentions have none."""
    yield (
        f"`{name}` needs an attention that has weights, and learns them",
        not (getattr(model, name) and model.attention in unweighted),
        (name, "attention"),
        f"Leave {name} out, or give another attention.",
    )
    yield (
        f"`{name}` needs a weight for each position of the source",
        not (getattr(model, name) and model.encoder == "pyramidal"),
        (name, "encoder"),
        f"Leave {name} out, or give another encoder.",
    )


def check_weights(name, value, attention, reduction=1):
    """Raise ValueError if a setting needs a weight for each position and the attention has none."""
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
    """Rules of exact hard alignments."""
    for name, plain in HARD_ALIGNMENT_REQUIRES.items():
        yield (
            f"Hard alignments take {name}={plain!r}",
            getattr(model, name) == plain,
            (name, "hard_alignment"),
            "Give that, or leave hard alignments out.",
        )
    yield (
        "Hard alignments take an attention that scores",
        model.attention not in UNSCORED,
        ("attention", "hard_alignment"),
        "Give the name of a score, or leave hard alignments out.",
    )
    yield (
        "Hard alignments take a query that is not made of the context",
        "context" not in model.query,
        ("query", "hard_alignment"),
        "Leave it out of the query.",
    )
