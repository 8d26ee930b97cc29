"""The class `Preset`, and the default preset `SMALL`, on which other presets build."""

import dataclasses
from collections.abc import Mapping

from keras_bahdanau.layers.rules import UNDROPPED_CELLS

AUTO = "auto"  # value of an option that is inferred from the pairs
LETTERS, SYMBOLS = ("char", "grapheme"), "word"  # model types


@dataclasses.dataclass(frozen=True, kw_only=True)
class Preset:
    """Settings of a model and of its training, as plain data.

    Attributes:
        name: String, the name of the preset in `PRESETS`.
        equations: String, the documentation of the model.
        settings: Dictionary of the training options that differ from the defaults. A value may be
            a function of the other options.
        initial_weights: A name in `models.INITIAL_WEIGHTS`, or None for the layers' initializers.
        many_pairs: Dictionary from ascending numbers of pairs to the settings that apply to more
            pairs than that.
        common_letters: Dictionary of the settings that apply if the two sides have many letters in
            common.
    """

    name: str
    equations: str
    settings: Mapping
    initial_weights: str | None = None
    many_pairs: Mapping = dataclasses.field(default_factory=dict)
    common_letters: Mapping = dataclasses.field(default_factory=dict)


def is_hard(options):
    """Return True for exact hard alignments. Attention that is still "auto" counts as soft."""
    return options.hard_alignment not in ("none", AUTO)


def maps_letters_to_symbols(options):
    """Return True if letters are mapped to symbols separated by spaces, such as phonemes."""
    return options.source_model_type in LETTERS and options.target_model_type == SYMBOLS


def can_be_joint(options):
    """Return True if source and target can share one vocabulary."""
    return (
        options.source_model_type == options.target_model_type
        and options.source_normalization == options.target_normalization
        and options.source_vocabulary_size == options.target_vocabulary_size
    )


def readout_units(options):
    """Return the width of the readout: `units` if it is plain, otherwise `embedding_units`."""
    return options.units if options.readout == "plain" else options.embedding_units


def sentences(count):
    """Make a default for `batch_sentences` that is 0 if the user gives `batch_tokens`."""
    return lambda options: 0 if options.batch_tokens else count


def share_of_dropout(share):
    """Make a default for a dropout rate that is a fixed fraction of `dropout`."""
    return lambda options: round(share * options.dropout, 3)


def half_of_dropout(options):
    """Return half of `dropout`, a rate for images."""
    return options.dropout / 2


def half_of_units(options):
    """Return half of `units`: the width of one encoder direction, or of a maxout layer."""
    return max(1, options.units // 2)


def read_state(options):
    """Return the state that the readout of Bahdanau et al. 2015 uses."""
    return "previous" if options.when == "before" else "current"


def _time_of_attention(options):
    if is_hard(options):
        return "apart"
    return "before" if options.readout_state == "previous" else "between"


def _recurrent_dropout(options):
    if {options.cell, options.encoder_cell} & {*UNDROPPED_CELLS}:
        return 0.0
    return round(4 / 9 * options.dropout, 3)


SMALL = Preset(
    name="small",
    settings={
        "vocabulary_size": 6000,
        "embedding_units": 256,
        "units": 512,
        "encoder_units": half_of_units,
        "attention_units": 256,
        "when": _time_of_attention,
        "tie_embeddings": lambda options: options.readout_units == options.embedding_units,
        "dropout": 0.45,  # the other rates are derived from it: 0 turns all dropout off
        "embedding_dropout": share_of_dropout(2 / 3),
        "recurrent_dropout": _recurrent_dropout,
        "word_dropout": share_of_dropout(2 / 9),
        "label_smoothing": 0.1,
        "loss_mean": "tokens",
        "batch_tokens": lambda options: 0 if options.batch_sentences else 1500,
        "epochs": 54,  # one and a half hours for Multi30K on two cores
        "learning_rate": 2e-3,
        "schedule": "cosine",
        "warmup": 0.02,
        "ema_momentum": lambda options: 0.998 if options.optimizer == "adam" else 0.0,
    },
    equations="""Bahdanau's attention between two GRUs, for tens of thousands of sentence pairs.

    h_j  = [GRU(e(x_1) ... e(x_j)); GRU(e(x_n) ... e(x_j))]
    s_0  = tanh(W mean_j h_j + b)
    s'_i = GRU_1(s_{i-1}, e(y_{i-1}))
    c_i  = sum_j alpha_ij h_j,   alpha_i = softmax(v^T tanh(W_a s'_i + U_a h_j))
    s_i  = GRU_2(s'_i, c_i)
    p(y_i) = softmax(E tanh(W_t [s_i; c_i; e(y_{i-1})] + b_t))

    Differences from Bahdanau et al. 2015: the query depends on the previous token, too (Sennrich
    et al. 2017; `when="before"` selects the paper's step). The initial state is computed from the
    mean of the annotations. The readout is a tanh layer that uses s_i. The embedding E is also
    the output layer (Press and Wolf 2017). If source and target have a joint vocabulary, the
    source embedding is E, too. Training uses label smoothing, dropout, Adam, and a moving average
    of the weights. `experiments/multi30k/RESULTS.md` reports how the settings were chosen.""",
)
