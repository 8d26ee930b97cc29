"""From samples to a row's result: ours over each peer, and whether the goal is met."""

PARAMETER_SHARE = 0.02  # by how much the peers' numbers of parameters may differ


def fulfils(ratio, goal):
    """True if a number is as a goal such as ">= 1.5" or "<= 0.33" has it."""
    sign, number = goal.split()
    return ratio >= float(number) if sign == ">=" else ratio <= float(number)


def best(measured, goal):
    """Of several `Measured` the best by median; None if none has one."""
    known = [one for one in measured if one.median is not None]
    pick = max if goal.startswith(">=") else min
    return pick(known, key=lambda one: one.median) if known else None


def compared(goal, measured, unit, same_parameters=True, **extra):
    """A row's result.

    Args:
        goal: String such as ">= 1.5", or a dictionary of them, one for each peer's name.
        measured: List of `Measured`.
        unit: String, what the samples are.
        same_parameters: Whether models must be of one size; if not, the row says why.
        **extra: What else belongs into the results.

    Returns:
        Dictionary: `ratio` is ours / the best peer, `ratios` ours / each peer (the best lane of
        those with one worker), `met` whether the goal is; `ours` and `peers` in full. Without
        any sample of ours or of a peer the ratio is None.
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
    """The result of a row that could not be measured at all."""
    nothing = {"ratio": None, "ratios": {}, "met": False, "peers": {}}
    return {"goal": goal, "unit": unit, **nothing, "ours": {"error": why}}


def _refuse_other_sizes(ours, measured):
    """Drops the lanes whose model is of another size."""
    wanted = ours.about.get("parameters")
    for one in measured:
        found = one.about.get("parameters")
        if wanted is None or found is None or one.error:
            continue
        if abs(found - wanted) > PARAMETER_SHARE * wanted:
            one.error = f"another size: {found:,} parameters, ours has {wanted:,}"
