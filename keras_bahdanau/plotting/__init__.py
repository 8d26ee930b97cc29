"""Plots of attention, decoding steps, training curves and scores, without pyplot.

`write_explorer` and `write_training_page` write a page for a browser, and `animate_alignment`
writes a GIF. `highlight_text` returns HTML. All other functions return a
`matplotlib.figure.Figure`.
"""

from keras_bahdanau.plotting.alignment import plot_alignment
from keras_bahdanau.plotting.attention_maps import plot_attention_maps
from keras_bahdanau.plotting.curves import (
    plot_faithfulness,
    plot_history,
    plot_lengths,
    plot_reliability,
)
from keras_bahdanau.plotting.explorer import AttentionSteps, write_explorer
from keras_bahdanau.plotting.forming import animate_alignment, write_training_page
from keras_bahdanau.plotting.steps import plot_trace
from keras_bahdanau.plotting.time_alignment import plot_time_alignment
from keras_bahdanau.plotting.weights import HighlightedText, highlight_text, plot_weights

__all__ = [
    "AttentionSteps",
    "HighlightedText",
    "animate_alignment",
    "highlight_text",
    "plot_alignment",
    "plot_attention_maps",
    "plot_faithfulness",
    "plot_history",
    "plot_lengths",
    "plot_reliability",
    "plot_time_alignment",
    "plot_trace",
    "plot_weights",
    "write_explorer",
    "write_training_page",
]
