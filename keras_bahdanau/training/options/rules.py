"""Rules that training options keep with each other."""

import itertools

from keras_bahdanau.settings.limits import HARD_VOCABULARY_SIZE
from keras_bahdanau.training.presets.preset import UNDROPPED_CELLS, is_hard

_HARD_ALIGNMENT_REQUIRES = {
    **{"when": "apart", "readout": "tanh", "context_gate": False, "context_dropout": 0},
    **{"window": "everywhere", "normalizer": "softmax", "coverage": "none", "heads": 1, "past": 0},
    "copy": False,
}
_BLOCKS_REQUIRE = {
    **{"query": "state", "context_gate": False, "context_dropout": 0, "residual": False},
}
_UNSCORED_REQUIRES = {
    "window": "everywhere",
    "normalizer": "softmax",
    "coverage": "none",
    "heads": 1,
}


def check_together(options):
    """Raise ValueError if options of a training do not go together."""
    _check(options, _batch_rules(options), _text_rules(options), _optimizer_rules(options))
    check_model(options)
    if is_hard(options):
        _check(options, _hard_memory_rules(options))


def check_model(options):
    """Raise ValueError if the options of a model do not go together, whatever its training."""
    _check(options, _size_rules(options), _decoder_rules(options), _block_rules(options))
    _check(options, _attention_rules(options), _hard_rules(options) if is_hard(options) else ())


def _check(options, *groups):
    """Raise the ValueError of the first rule (demand, bool: it is met, names, remedy) not met."""
    for demand, is_met, names, remedy in itertools.chain(*groups):
        if not is_met:
            received = ", ".join(f"{name}={getattr(options, name)!r}" for name in names)
            raise ValueError(f"{demand}. Received: {received}. {remedy}")


def _batch_rules(options):
    yield (
        "Batches are measured either in tokens or in sentences",
        (options.batch_tokens > 0) != (options.batch_sentences > 0),
        ("batch_tokens", "batch_sentences"),
        "Leave one of them out, or give 0 for it.",
    )


def _text_rules(options):
    yield (
        "A joint vocabulary has one model type, one normalization and one size",
        not options.joint
        or options.source_model_type == options.target_model_type
        and options.source_normalization == options.target_normalization
        and options.source_vocabulary_size == options.target_vocabulary_size,
        (
            *("joint", "source_model_type", "target_model_type"),
            *("source_normalization", "target_normalization"),
            *("source_vocabulary_size", "target_vocabulary_size"),
        ),
        "Leave joint out, or give both sides the same.",
    )
    yield (
        "Sharing embeddings takes one vocabulary",
        options.joint or not options.share_embeddings,
        ("share_embeddings", "joint"),
        "Leave one of them out.",
    )
    for name in ("source_model_type", "target_model_type"):
        yield (
            "Only the tokens of BPE and of unigram can be sampled",
            not options.subword_sampling or getattr(options, name) in ("bpe", "unigram"),
            ("subword_sampling", name),
            "Give 0 for it, or another model type.",
        )
    for name, aligned in {
        "guided_alignment": options.guided_alignment > 0,
        "attention": options.attention == "forced",
    }.items():
        yield (
            "Alignments go with words that are split in one way",
            not (options.subword_sampling and aligned),
            ("subword_sampling", name),
            "Leave one of them out.",
        )


def _optimizer_rules(options):
    yield (
        "Only Adam keeps a moving average of the weights",
        options.optimizer == "adam" or not options.ema_momentum,
        ("ema_momentum", "optimizer"),
        "Give 0 for it; `average_last` goes with all optimizers.",
    )
    yield (
        "Weights of 4 bits are those of a training with rounded weights",
        options.quantization_aware or options.quantization == "int8",
        ("quantization", "quantization_aware"),
        "Give quantization_aware, too, or leave quantization out.",
    )


def _size_rules(options):
    layers = options.depth + options.decoder_depth
    widest = max(options.units, options.encoder_units, options.embedding_units)
    yield (
        "The weights of all layers must fit in memory: depth * units^2 is at most 4e8",
        layers * widest**2 <= 4e8,
        ("depth", "decoder_depth", "units", "encoder_units", "embedding_units"),
        "Lower one of them.",
    )
    fed_forward = options.when == "blocks" or options.encoder == "transformer"
    yield (
        "Those of feed-forward networks must, too: depth * units * feed_forward_units is at most "
        "4e8",
        not fed_forward or layers * widest * options.feed_forward_units <= 4e8,
        ("feed_forward_units", "depth", "decoder_depth", "units", "encoder_units"),
        "Lower one of them.",
    )


def _decoder_rules(options):
    unscored = options.attention in ("none", "forced")
    yield (
        "Only a decoder that attends before its cell moves can read out the state before",
        options.when == "before" or options.readout_state == "current",
        ("readout_state", "when"),
        "Give 'current', or attend 'before'.",
    )
    yield (
        "The state before has not read the last token, so the readout must",
        options.readout_state == "current"
        or options.readout not in ("plain", "attentional")
        or (options.readout == "attentional" and "embedding" in options.query),
        ("readout", "readout_state"),
        "Give readout='tanh', or the current state.",
    )
    yield (
        "A cell that moves apart from its attention leaves the context to the readout",
        options.when != "apart" or options.readout != "plain" or options.copy,
        ("readout", "when"),
        "Give another readout.",
    )
    for name, plain in _UNSCORED_REQUIRES.items():
        yield (
            f"`{name}` is part of an attention that scores",
            not unscored or getattr(options, name) == plain,
            (name, "attention"),
            f"Give {plain!r} for it, or another attention.",
        )


def _block_rules(options):
    yield (
        "Self-attention stands in blocks, which begin with nothing",
        options.cell != "self-attention" or (options.when, options.bridge) == ("blocks", "zeros"),
        ("cell", "when", "bridge"),
        "Give when='blocks' and bridge='zeros'.",
    )
    split_widths = {
        "encoder_units": ("encoder", options.encoder == "transformer"),
        "units": ("cell", options.cell == "self-attention"),
    }
    for width, (name, is_split) in split_widths.items():
        yield (
            f"The heads of self-attention divide {width}",
            not is_split or getattr(options, width) % options.heads == 0,
            ("heads", width, name),
            "Give a divisor for heads.",
        )
    recurrent = options.encoder in ("bidirectional", "unidirectional", "pyramidal", "rows")
    for name, read in {"cell": True, "encoder_cell": recurrent}.items():
        yield (
            "Recurrent dropout is for cells with a product of the state",
            not (read and options.recurrent_dropout and getattr(options, name) in UNDROPPED_CELLS),
            ("recurrent_dropout", name),
            "Give 0 for it, and take `dropout`, or another cell.",
        )
    for name, plain in _BLOCKS_REQUIRE.items():
        yield (
            f"Blocks take {name}={plain!r}",
            options.when != "blocks" or getattr(options, name) == plain,
            (name, "when"),
            "Give that, or another `when`.",
        )


def _attention_rules(options):
    unscored = options.attention in ("none", "forced")
    yield (
        "Alignments guide an attention that learns where to look",
        not (unscored and options.guided_alignment),
        ("guided_alignment", "attention"),
        "Give 0 for it, or another attention.",
    )
    for name, aligned in {
        "guided_alignment": options.guided_alignment > 0,
        "attention": options.attention == "forced",
    }.items():
        yield (
            "Alignments of words need a weight for each token",
            not (options.encoder == "pyramidal" and aligned),
            ("encoder", name),
            "Give another encoder, or leave the alignments out.",
        )
    for name, positions in {
        "attention": options.attention != "none",
        "encoder": options.encoder != "pyramidal",
    }.items():
        for copying in ("copy", "unknown_rate"):
            yield (
                "Tokens are copied by an attention that has a weight for each of them",
                positions or not getattr(options, copying),
                (copying, name),
                f"Leave {copying} out, or give another {name}.",
            )


def _hard_rules(options):
    for name, plain in _HARD_ALIGNMENT_REQUIRES.items():
        yield (
            f"Hard alignments take {name}={plain!r}",
            getattr(options, name) == plain,
            (name, "hard_alignment"),
            "Give that, or leave hard alignments out.",
        )
    yield (
        "Hard alignments take an attention that scores",
        options.attention not in ("none", "forced"),
        ("attention", "hard_alignment"),
        "Give the name of a score, or leave hard alignments out.",
    )
    yield (
        "Hard alignments take a query that is not made of the context",
        "context" not in options.query.split(","),
        ("query", "hard_alignment"),
        "Leave it out of the query.",
    )


def _hard_memory_rules(options):
    longest = max(options.max_length, options.max_source_length)
    positions = options.batch_tokens or options.batch_sentences * longest
    yield (
        "Hard alignments predict the vocabulary from each position: its size is at most "
        f"{HARD_VOCABULARY_SIZE:,}, and times the positions of a batch at most 2^28",
        options.target_vocabulary_size <= HARD_VOCABULARY_SIZE
        and options.target_vocabulary_size * positions <= 2**28,
        ("target_vocabulary_size", "batch_tokens", "batch_sentences", "hard_alignment"),
        "Give a smaller vocabulary, such as target_model_type='char', or smaller batches.",
    )
    yield (
        "Hard alignments that remember their place take each pair of positions, in a batch at most "
        "2^28",
        options.hard_alignment == "zeroth" or positions * longest <= 2**28,
        ("max_length", "max_source_length", "batch_tokens", "batch_sentences", "hard_alignment"),
        "Give smaller lengths, smaller batches, or hard_alignment='zeroth'.",
    )
