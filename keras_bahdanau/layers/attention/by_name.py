"""Registry of the attention layers by name."""

from keras_bahdanau.layers import names
from keras_bahdanau.layers.attention.attention import Attention, BahdanauAttention
from keras_bahdanau.layers.attention.composed import MultiHeadAttention, PastAttention
from keras_bahdanau.layers.registry import Registry
from keras_bahdanau.layers.rules import UNSCORED_REQUIRES, check_layer, unscored_rules
from keras_bahdanau.layers.scores.score import Score
from keras_bahdanau.settings import checks


class AttentionRegistry(Registry):
    """Registry of attention layers, which can have several heads and attend to the decoder's past.

    ```python
    attention = keras_bahdanau.layers.ATTENTIONS.get("general", window="local-p")
    attention = keras_bahdanau.layers.ATTENTIONS.get("additive", units=256, heads=4)
    attention = keras_bahdanau.layers.ATTENTIONS.get(keras_bahdanau.layers.AdditiveScore(256))
    ```
    """

    def get(self, identifier, /, *args, **kwargs):
        """Return the attention for an identifier (see `Registry`), which may also be a score."""
        layer = super().get(identifier, *args, **kwargs)
        return self.make(layer, *args, **kwargs) if isinstance(layer, Score) else layer

    def make(self, name, /, units=256, heads=1, past=0, **kwargs):
        """Return a new attention layer by its name.

        `name` is "bahdanau", "forced", a score (a name or a layer), or None for the fixed context.
        The score of each of the `heads` is `units // heads` wide. `past` is the number of the
        decoder's earlier states to attend to. Raises ValueError for an unknown name, for settings
        of a score if the attention has no score, and for several heads without attention or with
        known alignments.
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
        else:  # an attention layer without a score, or a custom class with its own parts
            _refuse_parts_of_scores(name, kwargs)
            attention = kind(**outer)
        if heads > 1:
            attention = MultiHeadAttention(attention, heads, **outer)
        if past:
            attention = PastAttention(attention, past, **outer)
        return attention

    def kind(self, name):
        """Return the class for a name; `Attention` for a score or the name of a score."""
        kind = type(name) if isinstance(name, Score) else super().kind(name)
        is_score = isinstance(kind, type) and issubclass(kind, Score)
        return Attention if is_score else kind


_SCORED_PARTS = {**UNSCORED_REQUIRES, "coverage": None, "dropout": 0.0}


def _refuse_parts_of_scores(name, arguments):
    """Raise ValueError if an attention layer without scores is given settings for scores."""
    settings = {**_SCORED_PARTS, **arguments, "attention": name}
    check_layer(unscored_rules, settings, _SCORED_PARTS)


ATTENTIONS = AttentionRegistry("attention", names.ATTENTIONS)
