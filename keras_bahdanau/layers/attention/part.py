"""Base of the exchangeable parts of an attention."""

import keras


class AttentionPart(keras.layers.Layer):
    """Base of scores, windows, normalizers, coverage, and of the attentions made of them.

    A part that depends on the steps before it carries a state: `initial_state` gives the
    first one, and each step the next.

    Args:
        autocast: Bool. Whether Keras casts float inputs to the compute dtype. Scores, weights
            and positions are float32 under every dtype policy, so most parts take them as
            they are.
        **kwargs: As in `keras.layers.Layer`.
    """

    def __init__(self, autocast=False, **kwargs):
        super().__init__(autocast=autocast, **kwargs)

    def build(self, *shapes):
        pass

    def initial_state(self, memory):
        """State before the first step: a structure of tensors `(batch, ...)`; () for none."""
        return ()

    def get_config(self):
        return super().get_config()  # its presence marks the config as complete for Keras
