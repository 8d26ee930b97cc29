"""Prefixes in character tasks: spaces, marks, and out-of-vocabulary characters."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_bahdanau as kb
from keras_bahdanau.exporters.saved_model.served_signatures import _split_prefix
from keras_bahdanau.text import Subwords

ACUTE = "e\u0301"  # a letter and its mark: one grapheme, two characters
TEXTS = {
    "grapheme": ["New York", " in", "ten ", f"k{ACUTE}t{ACUTE}", "ete"],
    "char": ["New York", " in", "ten ", f"k{ACUTE}t{ACUTE}", "ete"],
    "word": ["R EH D", "t͡ʃʰ a k̚"],
}
# Prefixes and the tokens that the text then begins with; ☃ is in no vocabulary.
PREFIXES = {
    "grapheme": {
        "New Y": [*"New", "▁", "Y"],
        "ten ": [*"ten", "▁"],
        " in": ["▁", *"in"],
        "  ": ["▁", "▁"],
        f"k{ACUTE}": ["k", ACUTE],
        "ke": ["k", "e"],
        "k☃☃t": ["k", "<unk>", "t"],
    },
    "char": {
        "New Y": [*"New", "▁", "Y"],
        "ten ": [*"ten", "▁"],
        f"k{ACUTE}": ["k", "e", "\u0301"],
        "☃": ["<unk>"],
    },
    "word": {
        "R EH": ["▁R", "▁EH"],
        "R EH ": ["▁R", "▁EH"],
        "t͡ʃʰ a": ["▁t͡ʃʰ", "▁a"],
        "R E": ["▁R", "<unk>"],  # E alone is not a symbol
    },
}


def new_translator(model_type):
    keras.utils.set_random_seed(3)
    settings = {"model_type": model_type, "normalization": "none", "exact": False}
    target = Subwords.train(TEXTS[model_type], 100, **settings)
    sizes = {"embedding_units": 4, "units": 8, "attention_units": 4}
    model = kb.presets.characters(target, target, **sizes)
    search = kb.SearchOptions(beam_width=1, max_length=9)
    return kb.Translator(target, model, target, search)


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize("model_type", list(PREFIXES))
def test_a_text_begins_with_the_whole_tokens_of_its_prefix(model_type):
    translator, (source, *_) = new_translator(model_type), TEXTS[model_type]
    tokens = PREFIXES[model_type]
    results = translator.translate([source] * len(tokens), prefixes=[*tokens])
    for result, (prefix, expected) in zip(results, tokens.items(), strict=True):
        assert result.target_tokens[: len(expected)] == expected, prefix
        if "<unk>" not in expected:
            assert result.text.startswith(prefix.rstrip() if model_type == "word" else prefix)

    # Split the prefix as the signatures of a SavedModel do.
    ids, longer = _split_prefix(translator, tf.constant([*tokens]))
    expected = np.pad(translator.prefix_ids([*tokens], 9), [(0, 0), (0, 1)])  # for the end token
    np.testing.assert_array_equal(ids, expected)
    assert not np.any(longer)
