"""Everything on the page of names exists."""

import inspect
import re

import code_blocks
import keras
import pytest

import keras_bahdanau as kb

PAGE = (code_blocks.ROOT / "docs" / "names.md").read_text(encoding="utf-8")
PATHS = sorted({*re.findall(r"`kb\.([\w.]+)`", PAGE)})


@pytest.mark.parametrize("path", PATHS)
def test_names_of_this_package_are_public(path):
    value = kb
    for name in path.split("."):
        assert name in getattr(value, "__all__", dir(value)), path
        value = getattr(value, name)


def test_names_of_calls_are_arguments_here_and_in_keras():
    ours = inspect.signature(kb.layers.AttentionBase.call).parameters
    theirs = inspect.signature(keras.layers.MultiHeadAttention.call).parameters
    for name in ("query", "value", "key", "value_mask", "attention_mask"):
        assert f"`{name}`" in PAGE and name in ours and name in theirs


def test_options_in_the_page_have_these_names():
    assert kb.SearchOptions(length_penalty="gnmt").length_penalty == "gnmt"
    assert "attentional" in inspect.signature(kb.layers.InputFeedingCell).parameters
    for name in ("dot", "scaled-dot"):
        assert f'"{name}"' in PAGE and name in kb.layers.SCORES
    assert '"gru-reset-before"' in PAGE and "gru-reset-before" in kb.layers.CELLS
