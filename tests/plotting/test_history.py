"""Training curves: panels, curves and scales."""

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from keras_bahdanau.plotting import plot_history


def curves(panel):
    return {
        line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in panel.lines
    }


def test_each_metric_has_a_panel_with_its_validation():
    history = {
        "perplexity": [20.0, 3.0],
        "loss": [3.0, 1.0],
        "val_loss": [3.5, 2.0],
        "val_perplexity": [33.0, 7.0],
    }
    loss, perplexity = plot_history(history).axes
    assert (loss.get_title(), perplexity.get_title()) == ("loss", "perplexity")
    assert curves(loss) == {"training": ([1, 2], [3.0, 1.0]), "validation": ([1, 2], [3.5, 2.0])}
    assert curves(perplexity)["validation"] == ([1, 2], [33.0, 7.0])
    assert (loss.get_yscale(), perplexity.get_yscale()) == ("linear", "log")


def test_epochs_without_a_value_are_left_out():
    (panel,) = plot_history({"loss": [3.0, 2.0, 1.0], "val_loss": [None, 2.5, float("nan")]}).axes
    assert curves(panel)["validation"] == ([2], [2.5])


def test_a_history_without_epochs_is_drawn():
    FigureCanvasAgg(plot_history({"loss": [], "val_loss": []})).draw()


def test_curves_can_share_a_figure():
    figure = Figure()
    top, bottom = figure.subplots(2, 1)
    assert plot_history({"loss": [1.0]}, ax=bottom) is figure
    assert bottom.lines and not top.lines


@pytest.mark.parametrize("history", [{}, {"loss": [1.0, 2.0], "val_loss": [1.0]}])
def test_a_ragged_or_empty_history_is_refused(history):
    with pytest.raises(ValueError, match="with one value for every epoch"):
        plot_history(history)


def test_too_few_axes_are_refused():
    with pytest.raises(ValueError, match=r"\['loss', 'accuracy'\]. Received: 1 axes"):
        plot_history({"loss": [1.0], "accuracy": [0.5]}, ax=Figure().subplots())
