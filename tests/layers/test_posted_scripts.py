"""Attention scripts as people post them fail, and changing at most three lines repairs each."""

import re
import warnings

import keras
import numpy as np
import posted_scripts
import pytest
import tensorflow as tf

SCRIPTS = posted_scripts.SCRIPTS
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # from Keras, about old arguments
    pytest.mark.parametrize("name", SCRIPTS),
]


@pytest.fixture(autouse=True)
def eager(name):
    """Run functions eagerly unless the script uses `tf.function`: it is faster for one batch."""
    tf.config.run_functions_eagerly("tf.function" not in SCRIPTS[name].code)
    yield
    tf.config.run_functions_eagerly(False)


def run(code):
    """Run a script, and return its namespace."""
    keras.utils.set_random_seed(81)
    namespace = {**posted_scripts.data(), "__name__": "posted"}
    exec(compile(code, "posted", "exec"), namespace)
    return namespace


def test_a_posted_script_ends_in_an_error(name):
    script = SCRIPTS[name]
    with pytest.raises(Exception, match=script.fails):
        run(script.code)


def test_three_changed_lines_repair_it(name):
    script = SCRIPTS[name]
    assert len(script.changes) <= 3
    names = run(script.repaired())
    loss = names["history"].history["loss"][-1] if "history" in names else names["loss"]
    assert np.isfinite(loss)
    if not script.inputs:
        return
    model, inputs = names["model"], eval(script.inputs, names)
    alone = keras.tree.map_structure(lambda array: array[:1], inputs)
    outputs, output = (model(arrays, training=False) for arrays in (inputs, alone))
    np.testing.assert_allclose(outputs[:1], output, atol=1e-6)  # rows are independent


def test_a_mistake_is_told_in_a_line(name):
    script = SCRIPTS[name]
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="The values have no mask")
        with pytest.raises((ValueError, TypeError, UserWarning)) as error:
            run(script.mistaken())
    lines = str(error.value).splitlines()  # Keras adds lines in the call of a user's class
    assert any(re.search(script.told, line) for line in lines), error.value
