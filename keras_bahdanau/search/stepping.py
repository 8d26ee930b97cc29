"""The loop of a search, whose steps leave out the sentences that are over."""

from keras import ops, tree

TIME_MAJOR = ("ids", "parents", "alignment", "token_stats")  # fields (time, batch, ...) of a state
ALIVE_SHARE = 3, 4  # rows that have ended are left out once at most 3/4 of all are alive


class RowStep:
    """A step function that can be made for some rows of a batch.

    `for_rows` is a function from rows, int32 `(n,)` or None for all, to a step function
    `(tokens, state) -> (log_probs, weights, state)`.
    """

    def __init__(self, for_rows):
        self.for_rows = for_rows
        self._all_rows = for_rows(None)

    def __call__(self, tokens, state):
        return self._all_rows(tokens, state)


def for_rows(step, rows):
    """The step function for these rows, or for all where they are None."""
    return step if rows is None else step.for_rows(rows)


def map_step(change, step):
    """A step function after `change(step, rows)`; a `RowStep` stays one."""
    if not isinstance(step, RowStep):
        return change(step, None)
    return RowStep(lambda rows: change(step.for_rows(rows), rows))


def take_rows(structure, rows):
    """These rows of all tensors `(batch, ...)`, or all where they are None."""
    if rows is None:
        return structure
    return tree.map_structure(lambda leaf: ops.take(leaf, rows, axis=0), structure)


def run_steps(make_advance, first, time, step):
    """The last state of a search, one step after the other until no hypothesis is alive.

    In a graph for any batch size, a `RowStep` leaves out ended rows whenever a quarter has ended.
    `make_advance(rows)` gives a function from a state to the next; the last state's `model` is ()
    where rows have been left out.
    """
    if isinstance(step, RowStep) and first.alive.shape[0] is None:
        return _shrinking(make_advance, first, time)
    return _run(make_advance(None), first, time, lambda state: ops.any(state.alive))


def _run(advance, first, time, more):
    """The state after the steps that there is time for, while it wants more."""
    kind = type(first)

    def go_on(*fields):
        state = kind(*fields)
        return ops.logical_and(ops.less(state.t, time), more(state))

    last = ops.while_loop(
        go_on, lambda *fields: advance(kind(*fields)), tuple(first), maximum_iterations=time
    )
    return kind(*last)


def _shrinking(make_advance, first, time):
    """Loops of fewer and fewer rows; what they have found goes back to the rows of `whole`."""
    kind = type(first)

    def go_on(rows, state, whole):
        return ops.logical_and(ops.less(state.t, time), ops.any(state.alive))

    def body(rows, state, whole):
        state = _run(make_advance(rows), state, time, _mostly_alive)
        whole = _merge_rows(whole, state, rows)
        alive = _alive_rows(state.alive)
        return ops.take(rows, alive), _take_state(state, alive), whole

    rows = ops.arange(ops.shape(first.alive)[0], dtype="int32")
    whole = first._replace(model=())
    *_, last, whole = ops.while_loop(go_on, body, (rows, first, whole))
    return kind(*whole)._replace(t=kind(*last).t)


def _mostly_alive(state):
    """True while more than the share `ALIVE_SHARE` of the rows is alive."""
    alive = ops.cast(_any_alive(state.alive), "int32")
    share, parts = ALIVE_SHARE
    return ops.greater(parts * ops.sum(alive), share * ops.shape(alive)[0])


def _any_alive(alive):
    """Bool `(batch,)` of `(batch, [beam])`: has the row a hypothesis that goes on?"""
    return alive if len(alive.shape) == 1 else ops.any(alive, axis=1)


def _alive_rows(alive):
    """Int32 `(n,)`, the rows that are alive, in their order."""
    (rows,) = ops.nonzero(_any_alive(alive))
    return ops.cast(rows, "int32")


def _take_state(state, rows):
    """The state of these rows alone."""
    fields = {
        name: ops.take(field, rows, axis=1) if name in TIME_MAJOR else take_rows(field, rows)
        for name, field in state._asdict().items()
        if name != "t"
    }
    return state._replace(**fields)


def _merge_rows(whole, state, rows):
    """`whole` with the rows of `state` written at `rows`; `t` and `model` stay."""
    batch, count = ops.shape(whole.alive)[0], ops.shape(rows)[0]
    # index of each row among `rows`, from 1; 0 for none: (batch,)
    index = ops.segment_sum(ops.arange(1, count + 1, dtype="int32"), rows, num_segments=batch)
    among, index = ops.greater(index, 0), ops.maximum(index - 1, 0)
    return whole._replace(
        **{
            name: _put(getattr(state, name), old, index, among, int(name in TIME_MAJOR))
            for name, old in whole._asdict().items()
            if name not in ("t", "model")
        }
    )


def _put(new, old, index, among, axis):
    """Write `new` at `index` along the axis where `among` is true; keep `old` elsewhere."""
    shape = [1] * len(old.shape)
    shape[axis] = -1
    return ops.where(ops.reshape(among, shape), ops.take(new, index, axis=axis), old)
