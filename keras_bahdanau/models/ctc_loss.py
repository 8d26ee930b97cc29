"""Connectionist temporal classification (CTC): the loss of a text over all of its alignments."""

from keras import ops

from keras_bahdanau.layers.recurrence import loop

LOG_ZERO = -1e6  # far below the log-probability of any path, but finite, for finite gradients


def ctc_loss(logits, mask, labels):
    """Return -log p(labels), where p sums over all paths through a source, as float32 `(batch,)`.

    A path has one symbol at each position: a label, or the blank, which is id 0. Removing first the
    repetitions and then the blanks gives the text. Let alpha_t(l_s) and beta_t(s) be the
    probabilities of all paths to position t that end with label s, or with the blank before it:

    alpha_t(l_s) = p_t(l_s)   (alpha_{t-1}(l_s) + beta_{t-1}(s)
                               + [l_s != l_{s-1}] alpha_{t-1}(l_{s-1}))
    beta_t(s)    = p_t(blank) (beta_{t-1}(s) + alpha_{t-1}(l_{s-1}))

    This is eq. 6 of Graves et al. (2006), with one recursion for the odd symbols and one for the
    even symbols. If there is no path for the labels, the loss is 0 and has no gradient, whereas
    `keras.ops.ctc_loss` returns infinity or values in the hundreds.

    `logits` is `(batch, source_time, vocabulary)`, `mask` is bool `(batch, source_time)`, and
    `labels` is int `(batch, target_time)`, right-padded with 0.
    """
    logits = ops.cast(logits, "float32")
    labels = ops.cast(labels, "int32")
    batch, _, vocabulary = ops.shape(logits)
    # log p_t(k), one row per symbol: (batch, vocabulary, source_time)
    log_probs = ops.transpose(ops.log_softmax(logits, axis=-1), (0, 2, 1))
    rows = ops.expand_dims(ops.arange(batch, dtype="int32") * vocabulary, axis=1) + labels
    flat = ops.reshape(log_probs, (batch * vocabulary, -1))
    emitted = ops.take(flat, rows, axis=0)  # log p_t(l_s): (batch, target_time, source_time)

    before = ops.pad(labels, [[0, 0], [1, 0]])[:, :-1]  # l_{s-1}, or 0 before the first label
    real = ops.not_equal(labels, 0)
    count = ops.sum(ops.cast(real, "int32"), axis=1)  # -> (batch,)
    repeats = ops.sum(ops.cast(real & ops.equal(labels, before), "int32"), axis=1)
    skips = ops.where(ops.equal(labels, before) | ops.equal(before, 0), LOG_ZERO, 0.0)

    def step(state, position):
        alpha, beta = state
        label_log_probs, blank_log_probs, is_real = position
        behind = ops.pad(alpha, [[0, 0], [1, 0]], constant_values=LOG_ZERO)  # alpha(l_{s-1})
        grown = label_log_probs + log_sum(alpha, beta[:, :-1], skips + behind[:, :-1])
        blanks = ops.expand_dims(blank_log_probs, axis=1) + log_sum(beta, behind)
        is_real = ops.expand_dims(is_real, axis=1)  # padding does not change the sums
        return (), (ops.where(is_real, grown, alpha), ops.where(is_real, blanks, beta))

    # for the empty text: (batch, target_time), (batch, target_time + 1)
    alpha = ops.zeros_like(labels, "float32") + LOG_ZERO
    beta = ops.pad(alpha, [[0, 0], [1, 0]])
    # time first: (source_time, batch, target_time), (source_time, batch), (source_time, batch)
    positions = (
        ops.transpose(emitted, (2, 0, 1)),
        ops.transpose(log_probs[:, 0]),
        ops.transpose(mask),
    )
    _, (alpha, beta) = loop(step, (alpha, beta), positions, template=())
    # all paths that end with the last label, or with a blank after it
    end = ops.expand_dims(count, axis=1)
    last = ops.where(ops.equal(ops.arange(1, ops.shape(labels)[1] + 1), end), alpha, 0.0)
    blank = ops.where(ops.equal(ops.arange(ops.shape(labels)[1] + 1), end), beta, 0.0)
    last = ops.where(ops.greater(count, 0), ops.sum(last, axis=1), LOG_ZERO)
    log_prob = log_sum(last, ops.sum(blank, axis=1))
    positions = ops.sum(ops.cast(mask, "int32"), axis=1)
    return ops.where(ops.less_equal(count + repeats, positions), -log_prob, 0.0)


def batch_ctc_loss(logits, mask, targets, weights):
    """Return the weighted sum of a batch's CTC losses, averaged over passes, as a float32 scalar.

    `logits` is `(passes, batch, source_time, vocabulary)`. `targets` is int `(batch, target_time)`;
    the end token is not a label. The weight of a target is the largest weight of its tokens.
    """
    passes, _, time, vocabulary = logits.shape[0], *ops.shape(logits)[1:]
    following = ops.pad(targets[:, 1:], [[0, 0], [0, 1]])
    labels = ops.where(ops.not_equal(following, 0), targets, 0)  # without the end token
    losses = ctc_loss(
        ops.reshape(logits, (-1, time, vocabulary)),
        ops.reshape(mask, (-1, time)),
        ops.concatenate([labels] * passes, axis=0),
    )
    weights = ops.cast(ops.max(weights, axis=1), "float32")  # -> (batch,)
    return ops.sum(ops.concatenate([weights] * passes, axis=0) * losses) / passes


def log_sum(*terms):
    """Return the elementwise log(sum_i exp(x_i)), using operations that every runtime has."""
    highest = terms[0]
    for term in terms[1:]:
        highest = ops.maximum(highest, term)
    highest = ops.stop_gradient(highest)
    return highest + ops.log(sum(ops.exp(term - highest) for term in terms))
