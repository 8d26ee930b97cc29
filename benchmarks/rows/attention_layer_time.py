"""Row 6, the attention layer in any model: speed with one query and with as many as values."""

import dataclasses

from harness import Lane, Measured, compared, rates

NUMBER = 6
NAME = "attention-layer-time"
GOAL = ">= 1"
ABOUT = "attention only, 64 to 4096 values, one query or as many: speed, ours / best peer"
BATCH, UNITS = 16, 64
LENGTHS = {64: (200, 20), 512: (30, 1), 4096: (4, 1)}  # passes per sample: one query, many
LONGEST = {"batch": 1, "units": 16}  # for 4096 queries: a tensor of all pairs has 1.1 GB
QUICK = {6: (1, 1), 24: (1, 1)}
WITHOUT = "keras_layers without projections"


def cases(quick):
    """Return a dictionary from names to shapes; `repeat` is the number of passes per sample."""
    found = {}
    for many in (False, True):
        for length, repeats in (QUICK if quick else LENGTHS).items():
            name = f"{length} values, {length if many else 'one'} quer{'ies' if many else 'y'}"
            found[name] = {
                "batch": BATCH,
                "units": UNITS,
                **(LONGEST if many and length == max(LENGTHS) else {}),
                "source_time": length,
                "target_time": length if many else None,
                "repeat": repeats[many],
            }
    return found


def systems():
    """Return (name, worker, settings) for every way to run our layer and the peers' layers."""
    return [
        ("ours jit=False", "ours", {"jit": False}),
        ("ours jit=True", "ours", {"jit": True}),
        ("keras_layers jit=False", "keras_layers", {"jit": False}),
        ("keras_layers jit=True", "keras_layers", {"jit": True}),
        (WITHOUT, "keras_layers", {"jit": False, "projections": False}),
        ("pytorch", "pytorch", {}),
        ("pytorch compiled", "pytorch", {"compiled": True}),
    ]


def measure(options):
    """Measure all cases in one process per system; the systems take turns.

    With one thread, times are processor times, which are less sensitive to other work.
    """
    shapes = cases(options.quick)
    every = {"cases": [*shapes.values()]}
    lanes = [
        Lane(name, worker, "attentions", {**every, **way}, ours=worker == "ours")
        for name, worker, way in systems()
    ]
    samples = rates(lanes, dataclasses.replace(options, rounds=options.rounds * len(shapes)))
    unit = "passes/s"
    if options.threads == 1:
        unit = "passes/s of processor time"
        for one in samples:
            one.samples = [said["count"] / said["processor_seconds"] for said in one.answers]
    by_case = {
        name: [_of_case(one, number, shape, len(shapes)) for one in samples]
        for number, (name, shape) in enumerate(shapes.items())
    }
    return of_all(GOAL, by_case, unit=unit)


def _of_case(measured, number, shape, count):
    """Return the `Measured` of one case from the samples of a lane that ran all cases in turn."""
    about = dict(measured.about)
    if "parameters" in about:
        about["parameters"] = about["parameters"][number]
    settings = {name: one for name, one in measured.lane.settings.items() if name != "cases"}
    lane = dataclasses.replace(measured.lane, settings={**shape, **settings})
    return Measured(lane, measured.samples[number::count], about, error=measured.error)


def of_all(goal, by_case, unit, say=print):
    """Return the result of the case with the worst ratio, with the results of all cases in `cases`.

    The layer without projections has fewer weights and less to compute. The result contains its
    samples, but it isn't a peer.
    """
    results = {}
    for name, measured in by_case.items():
        peers = [one for one in measured if one.lane.name != WITHOUT]
        (without,) = (one for one in measured if one.lane.name == WITHOUT)
        results[name] = compared(goal, peers, unit, without_projections=without.as_json())
        medians = {one.lane.name: one.median for one in measured}
        shown = ", ".join(f"{lane} {n:,.4g}" for lane, n in medians.items() if n is not None)
        say(f"  {name}: {results[name]['ratio'] or 0:.2f} ({shown})")
    worst = min if goal.startswith(">=") else max
    known = [name for name in results if results[name]["ratio"] is not None]
    if not known:
        return {**next(iter(results.values())), "cases": results}
    name = worst(known, key=lambda one: results[one]["ratio"])
    met = all(one["met"] for one in results.values())
    return {**results[name], "met": met, "case": name, "cases": results}
