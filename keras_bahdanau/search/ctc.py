"""CTC in a search: the probability of each prefix of a text, summed over CTC paths."""

from typing import Any, NamedTuple

from keras import ops

from keras_bahdanau.layers.distribution import as_distribution
from keras_bahdanau.layers.recurrence import scan
from keras_bahdanau.models.ctc_loss import LOG_ZERO, log_sum
from keras_bahdanau.search.result import take_beams
from keras_bahdanau.search.stepping import map_step, take_rows

LEAST = 1e-37  # lowest probability of a token relative to the largest; near float32's minimum
NONE = -1  # marks that there is no last token


class PrefixState(NamedTuple):
    """Probabilities of the paths up to each position t = 0, 1, ..., source_time for a prefix g."""

    # float32 (batch, [beam,] source_time + 1)
    log_n: Any  # log r_t^n(g): paths that end with g's last token
    log_b: Any  # log r_t^b(g): paths that end with a blank
    last: Any  # int32 (batch, [beam]), the last token of g; -1 before the first step


def add_ctc(step, state, log_probs, mask, weight, end):
    """Return (step, initial state) of a step function with CTC added to its scores with weight w.

    score(c | g) = (1 - w) log p(c | g) + w (log psi(g c) - log psi(g))

    This is the joint score of Watanabe et al. (2017). `log_probs`, float32
    `(batch, source_time, vocabulary)`, is log p_t(c), where c = 0 is the blank.
    """
    all_prefixes = CtcPrefixes(log_probs, mask, end)

    def joint(step, rows):
        prefixes = all_prefixes
        if rows is not None:
            prefixes = CtcPrefixes(*take_rows((log_probs, mask), rows), end)

        def joint_step(tokens, state):
            inner, prefix_state = state
            output, weights, inner = step(tokens, inner)
            log_probs = as_distribution(output).log_probs
            ctc_log_probs, prefix_state = prefixes.step(tokens, prefix_state)
            joint_log_probs = (1 - weight) * log_probs + weight * ctc_log_probs
            return joint_log_probs, weights, (inner, prefix_state)

        return joint_step

    return map_step(joint, step), (state, all_prefixes.initial_state())


def forced_log_probs(log_probs, mask, target_in, target_out, end):
    """Return the CTC log-probability of each target token, `(batch, target_time)`; 0 at padding."""
    prefixes = CtcPrefixes(log_probs, mask, end)

    def step(state, tokens):
        last, following = tokens
        log_probs, state = prefixes.step(last, state)
        chosen = ops.take_along_axis(log_probs, ops.expand_dims(following, axis=-1), axis=-1)
        return ops.squeeze(chosen, axis=-1), state  # -> (batch,)

    template = ops.zeros_like(target_out[:, 0], "float32")
    added = scan(step, prefixes.initial_state(), (target_in, target_out), template)
    return ops.where(ops.equal(target_out, 0), 0.0, added)


class CtcPrefixes:
    """CTC prefix probabilities for a batch of sources.

    psi(g c)   = sum_t phi_{t-1}(g, c) p_t(c)
    phi_t(g, c) = r_t^b(g) + [c != last token of g] r_t^n(g)
    r_t^n(g c) = p_t(c) (r_{t-1}^n(g c) + phi_{t-1}(g, c))
    r_t^b(g c) = p_t(blank) (r_{t-1}^b(g c) + r_{t-1}^n(g c))
    psi(g end) = r_T^n(g) + r_T^b(g)
                                        (Watanabe et al. 2017, algorithm 2)

    So psi for all tokens is a single matrix product. r is needed only for the chosen token, and is
    computed in the next step, as a logarithm. The product uses phi relative to its maximum m, and
    psi is at least 1e-37 m, so its logarithm is finite. Less probable tokens and the blank are
    never chosen.
    """

    def __init__(self, log_probs, mask, end):
        mask = ops.expand_dims(mask, axis=1)  # -> (batch, 1, source_time)
        vocabulary = log_probs.shape[-1]
        tokens = ops.expand_dims(ops.arange(vocabulary), axis=-1)
        self.end, self.vocabulary = end, vocabulary
        log_probs = ops.transpose(log_probs, (0, 2, 1))
        # at padding, no path is added and r stays the same: (batch, 1, source_time)
        self.log_blank = ops.where(mask, log_probs[:, :1], 0.0)
        self.mask = mask
        # log p_t(c): (batch, vocabulary, source_time)
        self.log_probs = ops.where(
            ops.logical_and(mask, ops.not_equal(tokens, 0)), log_probs, LOG_ZERO
        )
        self.probs = ops.transpose(ops.exp(self.log_probs), (0, 2, 1))

    def initial_state(self):
        """Return the `PrefixState` of the empty prefix, whose paths consist of blanks."""
        blanks = ops.cumsum(self.log_blank[:, 0], axis=-1)
        log_b = ops.pad(blanks, [[0, 0], [1, 0]])
        return PrefixState(
            ops.zeros_like(log_b) + LOG_ZERO, log_b, ops.zeros_like(log_b[:, 0], "int32") + NONE
        )

    def step(self, tokens, state):
        """Extend prefixes by `tokens` to g, and score each next token c.

        Returns (log psi(g c) - log psi(g) `(batch, [beam,] vocabulary)`, `PrefixState` of g).
        """
        beam = len(tokens.shape) > 1
        if not beam:  # a beam of one
            tokens = ops.expand_dims(tokens, axis=1)
            state = PrefixState(*(ops.expand_dims(leaf, axis=1) for leaf in state))
        log_psi, state = self._extended(ops.maximum(tokens, 0), state)
        log_probs = self._next_log_psi(state) - ops.expand_dims(log_psi, axis=-1)
        if not beam:
            log_probs = ops.squeeze(log_probs, axis=1)
            state = PrefixState(*(ops.squeeze(leaf, axis=1) for leaf in state))
        return log_probs, state

    def _extended(self, tokens, state):
        """Return (log psi(g c) `(batch, beam)`, state of g c) for the chosen tokens c."""
        # the start token is not a token c of the prefix
        empty = ops.expand_dims(ops.equal(state.last, NONE), axis=-1)
        repeated = ops.expand_dims(ops.equal(tokens, state.last), axis=-1)
        before = ops.where(repeated, LOG_ZERO, state.log_n)
        log_phi = self._before_frames(log_sum(state.log_b, before))
        emitted = take_beams(self.log_probs, tokens)  # log p_t(c)
        paths = self._before_frames(log_sum(state.log_b, state.log_n))
        highest = ops.max(paths, axis=-1, keepdims=True)
        psi = ops.sum(ops.exp(log_phi - highest) * ops.exp(emitted), axis=-1, keepdims=True)
        log_psi = highest + ops.log(ops.maximum(psi, LEAST))  # -> (batch, beam, 1)

        # recurrence over positions, with log r_0 = log 0: (batch, beam, source_time)
        log_n = summed_products(ops.where(self.mask, emitted, 0.0), emitted + log_phi)
        log_n = _pad_first(log_n)  # -> (batch, beam, source_time + 1)
        blank = ops.where(self.mask, self.log_blank + log_n[..., :-1], LOG_ZERO)
        log_b = _pad_first(summed_products(ops.zeros_like(blank) + self.log_blank, blank))
        return ops.squeeze(ops.where(empty, 0.0, log_psi), axis=-1), PrefixState(
            ops.where(empty, state.log_n, log_n), ops.where(empty, state.log_b, log_b), tokens
        )

    def _next_log_psi(self, state):
        """Return log psi(g c) for all c, `(batch, beam, vocabulary)`."""
        paths = log_sum(state.log_b, state.log_n)  # -> (batch, beam, source_time + 1)
        log_phi = self._before_frames(paths)
        highest = ops.max(log_phi, axis=-1, keepdims=True)
        # (batch, beam, source_time) x (batch, source_time, vocabulary)
        psi = ops.matmul(ops.exp(log_phi - highest), self.probs)
        # a repeated token needs a blank in between: (batch, beam, 1)
        probs = ops.exp(take_beams(self.log_probs, state.last))
        blanks = ops.exp(self._before_frames(state.log_b) - highest)
        again = ops.sum(blanks * probs, axis=-1, keepdims=True)
        tokens = ops.arange(self.vocabulary, dtype="int32")
        psi = ops.where(ops.equal(tokens, ops.expand_dims(state.last, axis=-1)), again, psi)
        log_psi = highest + ops.log(ops.maximum(psi, LEAST))
        return ops.where(ops.equal(tokens, self.end), paths[..., -1:], log_psi)

    def _before_frames(self, log_r):
        """Return the paths before each frame, `(batch, beam, source_time)`; log 0 at padding."""
        return ops.where(self.mask, log_r[..., :-1], LOG_ZERO)


def _pad_first(log_r):
    """Prepend log 0 for position 0."""
    return ops.pad(log_r, [[0, 0], [0, 0], [1, 0]], constant_values=LOG_ZERO)


def summed_products(log_a, log_b):
    """Return log x_t, where x_t = a_t x_{t-1} + b_t and x_{-1} = 0: float32 `(..., time)`.

    All t are computed together: x_t = sum_{k <= t} b_k prod_{k < l <= t} a_l is summed over 1, 2,
    4, ... terms (Hillis and Steele 1986).
    """
    time = ops.shape(log_b)[-1]
    rounds = (time - 1).bit_length() if isinstance(time, int) else 31
    index = ops.arange(time, dtype="int32")

    def shifted(tensor, terms, fill):
        moved = ops.take(tensor, ops.maximum(index - terms, 0), axis=-1)
        return ops.where(ops.less(index, terms), fill, moved)

    def body(terms, log_a, log_x):
        log_x = log_sum(log_x, log_a + shifted(log_x, terms, LOG_ZERO))
        return terms * 2, log_a + shifted(log_a, terms, 0.0), log_x

    first = (ops.ones((), "int32"), ops.zeros_like(log_b) + log_a, log_b)
    *_, log_x = ops.while_loop(
        lambda terms, *_: ops.less(terms, time), body, first, maximum_iterations=rounds
    )
    return log_x
