"""Attention by name."""

from keras_bahdanau import checks
from keras_bahdanau.layers.attention.attention import Attention, BahdanauAttention
from keras_bahdanau.layers.attention.fixed import FixedContext, ForcedAlignment
from keras_bahdanau.layers.attention.multi_head import MultiHeadAttention
from keras_bahdanau.layers.attention.past import PastAttention
from keras_bahdanau.layers.scores import SCORES


def new_attention(kind, units=256, heads=1, past=0, **kwargs):
    """The attention of that name.

    ```python
    attention = keras_bahdanau.layers.new_attention("general", window="local-p")
    attention = keras_bahdanau.layers.new_attention("additive", units=256, heads=4)
    ```

    Args:
        kind: None for the fixed context, "bahdanau", "forced" for known alignments, or a
            score: a name of `layers.SCORES`.
        units: Positive integer. Width of the score, where it has one; each head's is
            a share of it.
        heads: Positive integer. See `MultiHeadAttention`.
        past: Integer. How many of the decoder's own earlier states are looked at too:
            see `PastAttention`.
        **kwargs: `window`, `normalizer`, `coverage`, `dropout` of `Attention`; `name`, `dtype`.

    Raises:
        ValueError: If the name is unknown, or several heads are asked for without a score.
    """
    if heads > 1 and kind in (None, "forced"):
        raise ValueError(
            "Several heads are for an attention that scores. "
            f"Received: heads={heads}, kind={kind!r}. Give the name of a score, or leave them out."
        )
    outer = {name: kwargs[name] for name in ("name", "dtype") if name in kwargs}
    if kind is None:
        attention = FixedContext(**outer)
    elif kind == "forced":
        attention = ForcedAlignment(**outer)
    else:
        checks.choice("attention", kind, (None, "bahdanau", "forced", *SCORES))
        share = max(1, units // heads)
        if kind == "bahdanau":
            attention = BahdanauAttention(share, **kwargs)
        else:
            attention = Attention(kind, units=share, **kwargs)
    if heads > 1:
        attention = MultiHeadAttention(attention, heads, **outer)
    if past:
        attention = PastAttention(attention, past, **outer)
    return attention
