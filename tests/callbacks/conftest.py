"""A translator whose weights a test may change, and the epochs of a `fit` without its batches."""

import keras
import pytest

import keras_bahdanau as kb


@pytest.fixture(scope="session")
def own_translator(toy_translator):
    """The toy translator with a separate, untrained model."""
    model = kb.Seq2Seq.from_config(toy_translator.model.get_config())
    source, target = toy_translator.source, toy_translator.target
    return kb.Translator(source, model, target, kb.SearchOptions(beam_width=1))


@pytest.fixture
def translator(own_translator, toy_translator):
    """`own_translator` with the toy's trained weights and a new optimizer."""
    own_translator.model.set_weights(toy_translator.model.get_weights())
    own_translator.model.compile(keras.optimizers.SGD(), kb.losses.TokenCrossentropy())
    return own_translator


@pytest.fixture
def pass_epochs():
    """`pass_epochs(model, callbacks, number)`: run callbacks for some epochs and return logs."""

    def function(model, callbacks, number=1):
        callbacks = keras.callbacks.CallbackList(callbacks, add_history=True, model=model)
        callbacks.on_train_begin()
        for epoch in range(number):
            callbacks.on_epoch_begin(epoch)
            callbacks.on_epoch_end(epoch, {"loss": 0.0})
            if model.stop_training:
                break
        callbacks.on_train_end()
        return model.history.history

    return function
