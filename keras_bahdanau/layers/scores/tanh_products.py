"""v^T tanh(q + k) for every pair of query and key, without keeping the pairs in memory."""

from keras import ops

from keras_bahdanau.layers.recurrence import custom_gradient, loop

AT_ONCE = 16  # largest number of queries whose pairs are in memory together: enough for a beam


def tanh_scores(query, keys, v):
    """Compute e_ij = v^T tanh(q_i + k_j), without storing the tanh for the gradient.

    Let h be tanh(q + k), and g the gradient of the scores. Then

    d(q + k) = g v (1 - h^2),   dq_i = sum_j d_ij,   dk_j = sum_i d_ij,   dv = sum_ij g_ij h_ij

    where h, which is `units` times as large as the scores, is recomputed. Many queries are
    processed one after another. With a query axis of length 1, h is stored, because no loop repeats
    it. The shapes are q `(batch, [n,] units)`, k `(batch, [n,] source_time, units)` and v
    `(units, 1)`.
    """
    many = len(query.shape) == 3
    if many and len(keys.shape) == 3 and not _few(query.shape[1]):
        return _query_by_query(query, keys, v)
    if many and len(keys.shape) == 3:
        keys = ops.expand_dims(keys, axis=1)  # -> (batch, 1, source_time, units)
    query = ops.expand_dims(query, axis=-2)
    if many and query.shape[1] == 1:  # no larger than the keys, and computed only once
        return _scores(ops.tanh(query + keys), v)
    # (batch, [n,] 1, units) with (batch, [n or 1,] source_time, units)
    return _together(query, keys, v)


def _few(count):
    return isinstance(count, int) and count <= AT_ONCE


def _together(query, keys, v):
    """Compute all pairs together; the queries have an axis of length 1 for the source."""

    @custom_gradient
    def compared(query, keys, v):
        def gradient(upstream, *_):
            # d_ij: (batch, [n,] source_time, units)
            slopes, v_gradient = _slopes(ops.tanh(query + keys), v, upstream)
            return _sum_to_shape(slopes, query), _sum_to_shape(slopes, keys), v_gradient

        return _scores(ops.tanh(query + keys), v), gradient

    return compared(query, keys, v)


def _query_by_query(query, keys, v):
    """Compute the pairs of one query at a time, for queries `(batch, target_time, units)`."""

    @custom_gradient
    def compared(query, keys, v):
        def score(_, query):
            # (batch, 1, units) + (batch, source_time, units) -> (batch, source_time)
            return _scores(ops.tanh(ops.expand_dims(query, axis=1) + keys), v), ()

        def gradient(upstream, *_):
            def slope(sums, inputs):
                query, upstream = inputs
                # h of one query: (batch, source_time, units)
                hidden = ops.tanh(ops.expand_dims(query, axis=1) + keys)
                slopes, v_gradient = _slopes(hidden, v, upstream)
                keys_gradient, v_sum = sums
                # dq_i: (batch, units)
                return ops.sum(slopes, axis=1), (
                    keys_gradient + ops.cast(slopes, "float32"),
                    v_sum + v_gradient,
                )

            query_gradient, (keys_gradient, v_gradient) = loop(
                slope,
                (ops.zeros_like(keys, dtype="float32"), ops.zeros_like(v)),
                # (target_time, batch, units), (target_time, batch, source_time)
                (_swap(query), _swap(upstream)),
                template=ops.zeros_like(query[:, 0]),
            )
            # dq: (batch, target_time, units), dk: (batch, source_time, units), dv: (units, 1)
            return _swap(query_gradient), ops.cast(keys_gradient, keys.dtype), v_gradient

        template = ops.zeros(ops.shape(keys)[:2], "float32")
        scores, _ = loop(score, (), _swap(query), template)  # -> (target_time, batch, source_time)
        return _swap(scores), gradient

    return compared(query, keys, v)


def _swap(tensor):
    return ops.transpose(tensor, (1, 0, 2))


def _scores(hidden, v):
    # flattened, since in a loop under XLA a product over more axes has no gradient
    # (pairs, units) x (units, 1) -> (pairs, 1)
    scores = ops.matmul(ops.reshape(ops.cast(hidden, "float32"), (-1, hidden.shape[-1])), v)
    return ops.reshape(scores, ops.shape(hidden)[:-1])  # -> (batch, [n,] source_time)


def _slopes(hidden, v, upstream):
    """Return (gradient of q + k for each pair, in its dtype; gradient of v)."""
    units = hidden.shape[-1]
    flat = ops.reshape(ops.cast(hidden, "float32"), (-1, units))  # h: (pairs, units)
    upstream = ops.reshape(ops.cast(upstream, "float32"), (-1, 1))  # g: (pairs, 1)
    slopes = ops.matmul(upstream, ops.transpose(v)) * (1 - ops.square(flat))  # g v (1 - h^2)
    v_gradient = ops.matmul(ops.transpose(flat), upstream)  # sum g h: (units, 1)
    return ops.cast(ops.reshape(slopes, ops.shape(hidden)), hidden.dtype), v_gradient


def _sum_to_shape(slopes, target):
    """Sum the gradients `slopes` over the axes along which `target` was broadcast."""
    axes = [
        axis
        for axis, (size, target_size) in enumerate(zip(slopes.shape, target.shape, strict=True))
        if target_size == 1 and size != 1
    ]
    return ops.sum(slopes, axis=axes, keepdims=True) if axes else slopes
