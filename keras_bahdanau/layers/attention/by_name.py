"""Attentions by name."""

from keras_bahdanau.layers import names
from keras_bahdanau.layers.attention.attention import Attention, BahdanauAttention
from keras_bahdanau.layers.attention.composed import MultiHeadAttention, PastAttention
from keras_bahdanau.layers.registry import Registry
from keras_bahdanau.layers.rules import UNSCORED_REQUIRES, check_layer, unscored_rules
from keras_bahdanau.layers.scores.score import Score
from keras_bahdanau.settings import checks


class AttentionRegistry(Registry):
    """The attentions by name, optionally with several heads and over the decoder's past.

    ```python
    attention = keras_bahdanau.layers.ATTENTIONS.get("general", window="local-p")
    attention = keras_bahdanau.layers.ATTENTIONS.get("additive", units=256, heads=4)
    attention = keras_bahdanau.layers.ATTENTIONS.get(keras_bahdanau.layers.AdditiveScore(256))
    ```
    """

    def get(self, identifier, /, *args, **kwargs):
        """Return the attention of an identifier: see `Registry`; a score makes an `Attention`."""
        layer = super().get(identifier, *args, **kwargs)
        return self.make(layer, *args, **kwargs) if isinstance(layer, Score) else layer

    def make(self, name, /, units=256, heads=1, past=0, **kwargs):
        """Make an attention by its name.

        `name` is None for the fixed context, "bahdanau", "forced", or a score: a name or a layer.
        Each of the `heads` has a score of `units`. `past` is the number of the decoder's earlier
        states to attend to. Unknown names, parts of scores without a score, and several heads
        without attention or with known alignments raise ValueError.
        """
        if name in (None, "forced"):
            _refuse_parts_of_scores(name, {"heads": heads, **kwargs})
        outer = {key: kwargs[key] for key in ("name", "dtype") if key in kwargs}
        checks.positive_integer("heads", "the number of heads", heads)
        kind, share = self.kind(name), max(1, units // heads)
        if kind is Attention:
            attention = Attention(name, units=share, **kwargs)
        elif kind is BahdanauAttention:
            attention = BahdanauAttention(share, **kwargs)
        else:  # it has no score, or is a custom class with its own parts
            _refuse_parts_of_scores(name, kwargs)
            attention = kind(**outer)
        if heads > 1:
            attention = MultiHeadAttention(attention, heads, **outer)
        if past:
            attention = PastAttention(attention, past, **outer)
        return attention

    def kind(self, name):
        """Class of a name: `Attention` for the name of a score, and for a score."""
        kind = type(name) if isinstance(name, Score) else super().kind(name)
        is_score = isinstance(kind, type) and issubclass(kind, Score)
        return Attention if is_score else kind


_SCORED_PARTS = {**UNSCORED_REQUIRES, "coverage": None, "dropout": 0.0}


def _refuse_parts_of_scores(name, arguments):
    """Raise ValueError if an attention without scores gets a part of one with scores."""
    settings = {**_SCORED_PARTS, **arguments, "attention": name}
    check_layer(unscored_rules, settings, _SCORED_PARTS)


ATTENTIONS = AttentionRegistry("attention", names.ATTENTIONS)
