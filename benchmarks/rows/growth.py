"""Row 10: how the cost per target token grows with the source length and the vocabulary."""

import statistics

import numpy as np
from harness import Failed, Lane, Unavailable, Worker

NAME = "growth"
NUMBER = 10
ABOUT = "seconds per target token against source length and vocabulary size: R^2 of a linear fit"
GOAL = ">= 0.98"

MODEL = {"embedding": 256, "units": 512, "attention": 256, "precision": "float32"}
TINY = {"embedding": 16, "units": 32, "attention": 16, "precision": "float32"}
BASE = {"batch": 16, "source_time": 16, "target_time": 16, "vocabulary": 8000}
AXES = {
    "source_time": [16, 32, 64, 128, 256, 512, 1024],
    "vocabulary": [4000, 8000, 16000, 32000, 64000],
    "batch": [4, 8, 16, 32, 64, 128],
}
QUICK = {"source_time": [8, 16, 64], "vocabulary": [500, 1000, 2000], "batch": [2, 4]}
WORKS = {"training": {"jit_compile": False}, "decoding": {"jit_compile": False, "beam": 5}}
LINEAR = ("source_time", "vocabulary")


def measure(options):
    """Measure every size on every axis in turns, `options.rounds` times; `ratio` is the lowest R^2.

    The batch size is only plotted, because the cost per token falls as it grows.
    """
    model, axes = (TINY, QUICK) if options.quick else (MODEL, AXES)
    base = {**BASE, **({"vocabulary": 500} if options.quick else {})}
    sizes = [{**base, axis: value} for axis, values in axes.items() for value in values]
    lanes, works = [], {}
    for work, settings in WORKS.items():
        given = {"work": work, "sizes": sizes, "model": model, **settings}
        lane = Lane(work, "growth", case="growth", settings=given, environment="ours", ours=True)
        samples, about = _samples(lane, len(sizes), options)
        works[work] = _charted(axes, samples)
        shown = {name: value for name, value in given.items() if name != "sizes"}
        lanes.append({"lane": work, "settings": {**shown, **base}, **about})
    fits = {
        f"{work} {axis}": {
            name: works[work][axis][name]
            for name in ("slope", "intercept", "r_squared", "last_doubling")
        }
        for work in works
        for axis in LINEAR
    }
    worst = min(fit["r_squared"] for fit in fits.values())
    for lane in lanes:
        lane["median"] = min(works[lane["lane"]][axis]["r_squared"] for axis in LINEAR)
    return {
        "goal": GOAL,
        "unit": "R^2",
        "ratio": worst,
        "met": worst >= float(GOAL.split()[1]),
        "ours": lanes[0],
        "ours_otherwise": lanes[1:],
        "peers": {},
        "fits": fits,
        "costs": works,
    }


def _samples(lane, sizes, options):
    """Return the seconds per target token `(rounds, sizes)`, and the worker's report."""
    try:
        worker = Worker(lane, options.threads)
        about = worker.prepare()
        found = [
            [_cost(worker.ask("run", repeat=1)) for _ in range(sizes)]
            for _ in range(options.rounds)
        ]
        worker.close()
    except (Failed, Unavailable) as error:
        raise SystemExit(f"{lane.name}: {error}") from None
    return np.array(found), about


def _cost(answer):
    return answer["seconds"] / answer["count"]


def _charted(axes, samples):
    """Return, for each axis, the values, samples, medians and the line through the medians."""
    charted, first = {}, 0
    for axis, values in axes.items():
        own = samples[:, first : first + len(values)].T
        first += len(values)
        medians = [statistics.median(row) for row in own]
        charted[axis] = {
            "values": values,
            "seconds_a_token": medians,
            "samples": own.tolist(),
            **line(values, medians),
        }
    return charted


def line(values, costs):
    """Fit a line to points.

    Args:
        values: List of numbers in increasing order.
        costs: List of numbers, one for each value.

    Returns:
        Dictionary: `slope`, `intercept`, `r_squared`, and `last_doubling`, the cost at the largest
        value divided by the cost at the second largest. If the value doubles there, linear growth
        gives at most 2.
    """
    slope, intercept = np.polyfit(values, costs, 1)
    residual = np.subtract(costs, np.polyval([slope, intercept], values))
    return {
        "slope": float(slope),
        "intercept": float(intercept),
        "r_squared": float(1 - residual.var() / np.var(costs)),
        "last_doubling": costs[-1] / costs[-2],
    }
