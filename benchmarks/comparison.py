"""Compute a row's result from its samples: our ratio to each peer, and whether the goal is met."""

PARAMETER_SHARE = 0.02  # largest relative difference between the numbers of parameters


def fulfils(ratio, goal):
    """Return True if a ratio meets a goal such as ">= 1.5" or "<= 0.33"."""
    sign, number = goal.split()
    return ratio >= float(number) if sign == ">=" else ratio <= float(number)


def best(measured, goal):
    """Return the `Measured` with the best median, or None if none of them has samples."""
    known = [one for one in measured if one.median is not None]
    pick = max if goal.startswith(">=") else min
    return pick(known, key=lambda one: one.median) if known else None


def compared(goal, measured, unit, same_parameters=True, **extra):
    """Compare our lanes with the peers, and return the result of a row.

    Args:
        goal: String such as ">= 1.5", or a dictionary from peers' names to such strings.
        measured: List of `Measured`.
        unit: String, the unit of the samples.
        same_parameters: Whether all models must have about the same number of parameters. If
            False, the row explains why they may differ.
        **extra: Other entries for the result.

    Returns:
        Dictionary: `ratio` is ours / the best peer, `ratios` is ours / each peer (for peers with
        several lanes, the best one), `met` tells whether the goal is met, and `ours` and `peers`
        contain all samples. If there are no samples for our package or no samples for any peer,
        `ratio` is None.
    """
    one_goal = goal if isinstance(goal, str) else next(iter(goal.values()))
    own = [one for one in measured if one.lane.ours]
    ours = best(own, one_goal)
    if same_parameters and ours is not None:
        _refuse_other_sizes(ours, measured)
    by_worker = {}
    for one in measured:
        if not one.lane.ours:
            by_worker.setdefault(one.lane.worker, []).append(one)
    ratios = {
        worker: found.median and ours.median / found.median
        for worker, lanes in by_worker.items()
        if ours is not None and (found := best(lanes, one_goal)) is not None
    }
    worst = min if one_goal.startswith(">=") else max
    if isinstance(goal, str):
        met = bool(ratios) and fulfils(worst(ratios.values()), goal)
    else:
        met = all(name in ratios and fulfils(ratios[name], goal[name]) for name in goal)
    return {
        "goal": goal,
        "unit": unit,
        "ratio": worst(ratios.values()) if ratios else None,
        "ratios": ratios,
        "met": met,
        "ours": ours.as_json() if ours else {"error": own[0].error if own else "no lane"},
        "ours_otherwise": [one.as_json() for one in own if one is not ours],
        "peers": {one.lane.name: one.as_json() for one in measured if not one.lane.ours},
        **extra,
    }


def unmeasured(goal, unit, why):
    """Return the result of a row that could not be measured; `why` is the reason."""
    nothing = {"ratio": None, "ratios": {}, "met": False, "peers": {}}
    return {"goal": goal, "unit": unit, **nothing, "ours": {"error": why}}


def _refuse_other_sizes(ours, measured):
    """Give an error to each lane whose model differs from ours in size."""
    wanted = ours.about.get("parameters")
    for one in measured:
        found = one.about.get("parameters")
        if wanted is None or found is None or one.error:
            continue
        if abs(found - wanted) > PARAMETER_SHARE * wanted:
            one.error = f"different size: {found:,} parameters, ours has {wanted:,}"
