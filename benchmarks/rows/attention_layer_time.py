"""Row 6, the layer in anybody's model: speed with one query a row, and with one a value."""

import dataclasses

from harness import Lane, Measured, compared, rates

NUMBER = 6
NAME = "attention-layer-time"
GOAL = ">= 1"
ABOUT = "attention alone, 64 to 4096 values, one query or as many: speed, ours / best peer"
BATCH, UNITS = 16, 64
LENGTHS = {64: (200, 20), 512: (30, 1), 4096: (4, 1)}  # passes of a sample: of one query, of many
LONGEST = {"batch": 1, "units": 16}  # of 4096 queries: 1.1 GB a tensor of all pairs
QUICK = {6: (1, 1), 24: (1, 1)}
WITHOUT = "keras_layers without projections"


def cases(quick):
    """Shapes by name; `repeat` is how often each is computed for one sample."""
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
    """(name, worker, settings) of every way to run ours and the peers."""
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
    """Each system has one process, which takes its turn with each case.

    With one thread the time is that of the processor, which other work disturbs less.
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
        unit = "passes/s of the processor's time"
        for one in samples:
            one.samples = [said["count"] / said["processor_seconds"] for said in one.answers]
    by_case = {
        name: [_of_case(one, number, shape, len(shapes)) for one in samples]
        for number, (name, shape) in enumerate(shapes.items())
    }
    return of_all(GOAL, by_case, unit=unit)


def _of_case(measured, number, shape, count):
    """The `Measured` of one case among those that a lane went through in turns."""
    about = dict(measured.about)
    if "parameters" in about:
        about["parameters"] = about["parameters"][number]
    settings = {name: one for name, one in measured.lane.settings.items() if name != "cases"}
    lane = dataclasses.replace(measured.lane, settings={**shape, **settings})
    return Measured(lane, measured.samples[number::count], about, error=measured.error)


def of_all(goal, by_case, unit, say=print):
    """The row's result: that of the case with the worst ratio, and under `cases` all of them.

    The layer without projections has other weights and less to compute: it is told, and no peer.
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
