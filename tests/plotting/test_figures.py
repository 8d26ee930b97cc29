"""Inputs that can't be plotted: the error says what to pass instead."""

import numpy as np
import pytest
from traces import RED_CAR, VOITURE, trace_of

from keras_bahdanau import plotting
from keras_bahdanau.pipelines import Translation

RESULT = Translation("x", -1.0, ["▁a"], ["▁x"], np.ones((1, 1), "float32"), True)
TRACE = trace_of(RED_CAR, VOITURE)


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (
            lambda: plotting.plot_alignment([RESULT]),
            "`result` must be one Translation. Received: a list. Pass result[0].",
        ),
        (
            lambda: plotting.plot_alignment("text"),
            "`result` must be one Translation. Received: a str. Pass "
            "translator.translate([text])[0].",
        ),
        (
            lambda: plotting.plot_alignment(RESULT, "a.png"),
            "`picture` must be a Picture. Received: a str. Pass pipeline.picture(one).",
        ),
        (
            lambda: plotting.plot_attention_maps(RESULT, None),
            "`picture` must be a Picture. Received: NoneType. Pass pipeline.picture(one).",
        ),
        (
            lambda: plotting.plot_time_alignment((RESULT,), None),
            "`result` must be one Translation. Received: a tuple. Pass result[0].",
        ),
        (
            lambda: plotting.plot_trace(RESULT),
            "`trace` must be a Trace. Received: Translation. Pass translator.trace(text).",
        ),
        (
            lambda: plotting.plot_trace([TRACE]),
            "`trace` must be one Trace. Received: a list. Pass trace[0].",
        ),
        (
            lambda: plotting.plot_history(RESULT),
            "`history` must be a dictionary of lists. Received: Translation. Pass history.history.",
        ),
        (
            lambda: plotting.plot_lengths(RESULT),
            "`bands` must be a sequence of (label, sentences, score). Received: Translation. "
            "Pass evaluation.by_length.",
        ),
        (
            lambda: plotting.write_explorer(RESULT, "page.html"),
            "`traces` must be a list of Traces. Received: Translation. "
            "Pass [translator.trace(text)].",
        ),
        (
            lambda: plotting.write_explorer(None, "page.html"),
            "`traces` must be a list of Traces. Received: NoneType. Pass [translator.trace(text)].",
        ),
    ],
)
def test_another_thing_is_refused_with_a_word_on_what_to_give(draw, message):
    with pytest.raises(TypeError) as refused:
        draw()
    assert str(refused.value) == message


def test_a_trace_has_an_alignment_too():
    assert plotting.plot_alignment(TRACE).axes
