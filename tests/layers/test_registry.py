"""The registry contains the names of all layers, and lets Keras find them."""

import importlib
import subprocess
import sys

import keras
import pytest

from keras_bahdanau import layers
from keras_bahdanau.layers import names, registry

PACKAGE = "keras_bahdanau>"


@pytest.mark.parametrize("name", names.MODULE_OF)
def test_each_class_is_in_its_module(name):
    assert getattr(layers, name).__module__ == f"keras_bahdanau.layers.{names.MODULE_OF[name]}"


def test_each_registered_class_is_in_the_table():
    for module in names.MODULES:
        importlib.import_module(f"keras_bahdanau.layers.{module}")
    classes = keras.saving.get_custom_objects()
    registered = {
        name.removeprefix(PACKAGE)
        for name, kind in classes.items()
        if name.startswith(PACKAGE) and kind.__module__.startswith("keras_bahdanau.layers.")
    }
    assert registered - set(names.MODULE_OF) == set()


def test_public_names_are_few_and_each_is_there():
    assert len(layers.__all__) <= 61
    assert all(hasattr(layers, name) for name in layers.__all__)


@pytest.mark.parametrize("table", [name for name in vars(registry) if name.isupper()])
def test_each_name_of_a_family_makes_a_class(table):
    family = getattr(registry, table)
    if isinstance(family, registry.Registry):
        assert all(callable(family[name]) for name in family)


@pytest.mark.slow
def test_one_attention_imports_few_modules():
    program = (
        "import sys, keras_bahdanau as kb; kb.layers.BahdanauAttention(8); "
        "print(sum(name.startswith('keras_bahdanau.') for name in sys.modules))"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert int(answer.stdout) <= 32, answer.stderr
