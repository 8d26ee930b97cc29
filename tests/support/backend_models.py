"""The models that every backend runs: between them each cell, and the main attentions."""

from options import OPTIONS, TOGETHER

_MORE = (
    *("plain", "cell gru", "score general", "no attention, tied two-way"),
    *("r-drop", "guided alignment", "joint CTC", "all that makes training noisy"),
    *("when blocks", "blocks of self-attention", "cell sru", "cell min-gru", "cell min-lstm"),
)
MODELS = {**TOGETHER, **{name: OPTIONS[name] for name in _MORE}}
DRAWING = {  # in training, so that two backends have different losses
    *("monotonic with coverage", "normalized layers and maxout", "all that makes training noisy"),
}
