"""The models that every backend runs; together they cover each cell and the main attentions."""

from options import OPTIONS, TOGETHER

_MORE = (
    *("plain", "cell gru", "score general", "no attention, tied two-way"),
    *("r-drop", "guided alignment", "joint CTC", "all that makes training noisy"),
    *("when blocks", "blocks of self-attention", "cell sru", "cell min-gru", "cell min-lstm"),
)
MODELS = {**TOGETHER, **{name: OPTIONS[name] for name in _MORE}}
DRAWING = {  # random numbers in training: the losses of two backends differ
    *("monotonic with coverage", "normalized layers and maxout", "all that makes training noisy"),
}
