"""Plot RESULTS/growth.json as RESULTS/growth.png.

    python benchmarks/charts.py [RESULTS]

There is one chart for each axis. It shows the microseconds per target token in training and in
decoding, with a point for every sample. Where growth should be linear, it also shows the line
through the medians.
"""

import argparse
import json
import pathlib
import sys

from matplotlib.figure import Figure

HERE = pathlib.Path(__file__).resolve().parent
COLORS = {"training": "#20639b", "decoding": "#c8553d"}
LABELS = {
    "source_time": "source tokens",
    "vocabulary": "target vocabulary",
    "batch": "sentences in a batch",
}
MICRO = 1e6


def growth_figure(result):
    """Return a matplotlib `Figure` with the charts.

    Args:
        result: Dictionary, the content of results/growth.json.
    """
    figure = Figure(figsize=(12, 3.6), layout="constrained")
    for place, (axis, label) in enumerate(LABELS.items(), start=1):
        chart = figure.add_subplot(1, len(LABELS), place)
        for work, charted in result["costs"].items():
            _draw(chart, work, charted[axis], fitted=f"{work} {axis}" in result["fits"])
        chart.set_xlabel(label)
        chart.set_ylim(bottom=0)
        chart.set_xlim(left=0)
        chart.grid(color="#dddddd")
        chart.set_axisbelow(True)
        chart.spines[["top", "right"]].set_visible(False)
        chart.legend(frameon=False, fontsize=8)
    figure.axes[0].set_ylabel("µs per target token")
    return figure


def _draw(chart, work, charted, fitted):
    values, color = charted["values"], COLORS[work]
    for value, samples in zip(values, charted["samples"], strict=True):
        costs = [MICRO * sample for sample in samples]
        chart.plot([value] * len(costs), costs, ".", color=color, alpha=0.35, markersize=4)
    if not fitted:
        medians = [MICRO * cost for cost in charted["seconds_a_token"]]
        chart.plot(values, medians, "o-", color=color, markersize=4, label=work)
        return
    ends = (0, values[-1])
    costs = [MICRO * (charted["intercept"] + charted["slope"] * value) for value in ends]
    label = f"{work}: {_line(charted)}, R² {charted['r_squared']:.3f}"
    chart.plot(ends, costs, "-", color=color, label=label)
    medians = [MICRO * cost for cost in charted["seconds_a_token"]]
    chart.plot(values, medians, "o", color=color, markersize=4)


def _line(charted):
    """Return a formula such as "120 + 0.34 x"; for large values, the slope is per thousand."""
    thousands = charted["values"][-1] > 10_000
    slope = MICRO * charted["slope"] * (1000 if thousands else 1)
    return f"{MICRO * charted['intercept']:.3g} + {slope:.3g} x{'/1000' if thousands else ''}"


def main(arguments=None):
    """Draw the charts; return exit code 0, or 2 if there are no results."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("results", nargs="?", type=pathlib.Path, default=HERE / "results")
    folder = parser.parse_args(arguments).results
    path = folder / "growth.json"
    if not path.is_file():
        print(f"{path} is missing. Run `python benchmarks/run.py growth` first.", file=sys.stderr)
        return 2
    growth_figure(json.loads(path.read_text())).savefig(path.with_suffix(".png"), dpi=130)
    print(path.with_suffix(".png"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
