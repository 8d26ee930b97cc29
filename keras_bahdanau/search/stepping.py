"""The loop of a search, which can drop sentences that have ended."""

from keras import ops, tree

TIME_MAJOR = ("ids", "parents", "alignment", "token_stats")  # fields (time, batch, ...) of a state
ALIVE_SHARE = 3, 4  # rows that have ended are dropped once at most 3/4 of the rows are alive


class RowStep:
    """A step function that can be restricted to some rows of a batch.

    `for_rows` is a function from rows, int32 `(n,)`, or None for all rows, to a step function
    `(tokens, state) -> (log_probs, weights, state)`.
    """

    def __init__(self, for_rows):
        self.for_rows = for_rows
        self._all_rows = for_rows(None)

    def __call__(self, tokens, state):
        return self._all_rows(tokens, state)


def for_rows(step, rows):
    """Return the step function for `rows`, or for all rows if it is None."""
    return step if rows is None else step.for_rows(rows)


def map_step(change, step):
    """Apply `change(step, rows)` to a step function; a `RowStep` stays a `RowStep`."""
    if not isinstance(step, RowStep):
        return change(step, None)
    return RowStep(lambda rows: change(step.for_rows(rows), rows))


def take_rows(structure, rows):
    """Return `rows` of all tensors `(batch, ...)` in a structure, or all rows if it is None."""
    if rows is None:
        return structure
    return tree.map_structure(lambda leaf: ops.take(leaf, rows, axis=0), structure)


def run_steps(make_advance, first, time, step):
    """Run the steps of a search until no hypothesis is alive, and return the last state.

    `make_advance(rows)` returns a function from one state to the next. In a graph with a dynamic
    batch size, a `RowStep` drops ended rows whenever a quarter of the rows has ended; the last
    state's `model` is then ().
    """
    if isinstance(step, RowStep) and first.alive.shape[0] is None:
        return _shrinking(make_advance, first, time)
    return _run(make_advance(None), first, time, lambda state: ops.any(state.alive))


def _run(advance, first, time, more):
    """Run at most `time` steps while `more(state)` is true, and return the last state."""
    kind = type(first)

    def go_on(*fields):
        state = kind(*fields)
        return ops.logical_and(ops.less(state.t, time), more(state))

    last = ops.while_loop(
        go_on, lambda *fields: advance(kind(*fields)), tuple(first), maximum_iterations=time
    )
    return kind(*last)


def _shrinking(make_advance, first, time):
    """Run loops over fewer and fewer rows, and write their results to the rows of `whole`."""
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
    """Return True while more than the fraction `ALIVE_SHARE` of the rows is alive."""
    alive = ops.cast(_any_alive(state.alive), "int32")
    share, parts = ALIVE_SHARE
    return ops.greater(parts * ops.sum(alive), share * ops.shape(alive)[0])


def _any_alive(alive):
    """Return which rows of `(batch, [beam])` have a hypothesis that is alive: bool `(batch,)`."""
    return alive if len(alive.shape) == 1 else ops.any(alive, axis=1)


def _alive_rows(alive):
    """Return the rows that are alive, in order, as int32 `(n,)`."""
    (rows,) = ops.nonzero(_any_alive(alive))
    return ops.cast(rows, "int32")


def _take_state(state, rows):
    """Return the state restricted to `rows`."""
    fields = {
        name: ops.take(field, rows, axis=1) if name in TIME_MAJOR else take_rows(field, rows)
        for name, field in state._asdict().items()
        if name != "t"
    }
    return state._replace(**fields)


def _merge_rows(whole, state, rows):
    """Write the rows of `state` to `whole` at `rows`; `t` and `model` are unchanged."""
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
    """Take `new` at `index` along `axis` where `among` is True, and `old` elsewhere."""
    shape = [1] * len(old.shape)
    shape[axis] = -1
    return ops.where(ops.reshape(among, shape), ops.take(new, index, axis=axis), old)
