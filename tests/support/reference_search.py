"""Reference searches with rules and penalties in plain Python, one sentence at a time.

A rule is a function of the tokens so far, a tuple, that returns the set of tokens
allowed next. A ranking is a function that returns the score to rank a hypothesis by.
"""

import itertools

import numpy as np
from reference import Hypothesis, children


def min_length(fewest, end, vocabulary):
    return lambda tokens: set(range(vocabulary)) - ({end} if len(tokens) + 1 < fewest else set())


def no_repeated_ngram(size, end, vocabulary):
    def rule(tokens):
        seen = {tokens[i : i + size] for i in range(len(tokens) - size + 1)}
        context = tokens[len(tokens) - size + 1 :] if size > 1 else ()
        return {t for t in range(vocabulary) if t == end or (*context, t) not in seen}

    return rule


def no_symbols(symbols, vocabulary):
    return lambda tokens: set(range(vocabulary)) - set(symbols)


def forced(prefix, vocabulary):
    """Return a rule that forces the tokens of a prefix; 0 forces nothing."""

    def rule(tokens):
        token = prefix[len(tokens)] if len(tokens) < len(prefix) else 0
        return {token} if token else set(range(vocabulary))

    return rule


def constrained(log_probs_after, rules):
    """Return the language with zero probability for tokens that a rule forbids."""

    def after(tokens):
        log_probs = np.array(log_probs_after(tokens))
        allowed = set(range(len(log_probs)))
        for rule in rules:
            allowed = allowed & rule(tokens) or allowed
        return [p if token in allowed else -np.inf for token, p in enumerate(log_probs)]

    return after


def normalized(exponent, kind="power"):
    def ranking(hypothesis):
        length = max(len(hypothesis.tokens), 1)
        penalty = {"power": length, "gnmt": (5 + length) / 6}[kind] ** exponent
        return hypothesis.log_prob / penalty

    return ranking


def coverage_penalty(alignment):
    """sum_j log(min(sum_i alpha_ij, 1)) for one hypothesis (Wu et al. 2016, eq. 14)."""
    return np.log(np.minimum(np.sum(alignment, axis=0), 1)).sum()


def ranked(hypotheses, ranking):
    """Sort the possible hypotheses: finished ones before truncated ones, then by ranking."""
    possible = [h for h in hypotheses if h.log_prob > -np.inf]
    return sorted(possible, key=lambda h: (not h.finished, -ranking(h)))


def greedy_search(log_probs_after, limit, end):
    found = Hypothesis((), 0.0, limit == 0)
    while len(found.tokens) < limit and not found.finished:
        found = max(children(found, log_probs_after, end), key=lambda child: child.log_prob)
    return found


def beam_search(log_probs_after, limit, end, width, ranking):
    beam = [Hypothesis((), 0.0, limit == 0)]
    for _ in range(limit):
        grown = [[h] if h.finished else children(h, log_probs_after, end) for h in beam]
        possible = [h for h in itertools.chain(*grown) if h.log_prob > -np.inf]
        beam = sorted(possible, key=lambda h: -ranking(h))[:width]
    return ranked(beam, ranking)


def every_hypothesis(log_probs_after, limit, end):
    """Return all possible hypotheses that end within the limit or are truncated there."""
    growing, done = [Hypothesis((), 0.0, limit == 0)], []
    for _ in range(limit):
        grown = [child for h in growing for child in children(h, log_probs_after, end)]
        grown = [h for h in grown if h.log_prob > -np.inf]
        done += [h for h in grown if h.finished]
        growing = [h for h in grown if not h.finished]
    return done + growing


def filtered(odds, temperature=1.0, top_k=None, top_p=None):
    """Return the distribution to sample from: without its tail, renormalized to sum to 1."""
    odds = np.asarray(odds, float) ** (1 / temperature)
    order = np.argsort(-odds, kind="stable")
    odds = odds[order] / odds.sum()
    if top_k is not None:
        odds[top_k:] = 0
        odds /= odds.sum()
    if top_p is not None:
        odds[int(np.argmax(np.cumsum(odds) >= top_p)) + 1 :] = 0
    result = np.zeros(len(odds))
    result[order] = odds / odds.sum()
    return result
