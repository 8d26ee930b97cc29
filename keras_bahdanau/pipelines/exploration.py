"""Beside one result: what its search dropped, and what follows from the second best token."""

import dataclasses

import numpy as np

from keras_bahdanau.search import TreeRecorder

MOST_ALTERNATIVES = 64  # steps with one
WIDEST = 12  # beam of a tree that is recorded


@dataclasses.dataclass(frozen=True)
class Alternative:
    """Translation that follows if one step takes another token.

    Attributes:
        step: Integer, the step, counted from 0.
        token: The piece that is forced there: the best one but the chosen.
        log_prob: log p of that piece.
        text: The best text that begins with the same tokens and that piece.
        score: Its score, as in `Translation`.
        target_tokens: List of its pieces.
    """

    step: int
    token: str
    log_prob: float
    text: str
    score: float
    target_tokens: list


def search_tree(pipeline, features, pieces, prefix=None):
    """`SearchTree` of one input, with pieces; None if the search draws at random.

    Args:
        pipeline: `Pipeline`.
        features: Features of the input, `(1, source_time, ...)`.
        pieces: List of strings, the piece of each id.
        prefix: String that the text begins with; or None.
    """
    options = pipeline.search
    if options.random:
        return None
    options = dataclasses.replace(options, beam_width=min(options.beam_width, WIDEST))
    recorder = TreeRecorder(options)
    ids = None if prefix is None else pipeline.prefix_ids([prefix], options.max_length)
    pipeline.search_features(features, options, prefix=ids, visit=recorder)
    found = recorder.tree()
    return found._replace(tokens=[pieces[token] for token in found.tokens])


def alternatives(pipeline, one, chosen, log_probs, pieces):
    """List of an `Alternative` for each of the first 64 steps.

    Args:
        pipeline: `Pipeline`.
        one: The input.
        chosen: Int array `(T,)`, the tokens of the result.
        log_probs: Float array `(T, vocabulary)`.
        pieces: List of strings, the piece of each id.
    """
    steps = range(min(len(chosen), MOST_ALTERNATIVES))
    others = np.array(log_probs)
    others[np.arange(len(chosen)), chosen] = -np.inf
    others[:, pipeline.unwritten()] = -np.inf
    if not pipeline.search.write_symbols:
        others[:, [*pipeline.target.symbol_ids]] = -np.inf
    second = others.argmax(axis=1)  # -> (T,)
    prefixes = [[*chosen[:step].tolist(), int(second[step])] for step in steps]
    options = dataclasses.replace(pipeline.search, temperature=None, top_k=None, top_p=None)
    results = pipeline.decode([one] * len(prefixes), search=options, prefixes=prefixes)
    return [
        Alternative(
            step=step,
            token=pieces[second[step]],
            log_prob=float(log_probs[step, second[step]]),
            text=result.text,
            score=result.score,
            target_tokens=result.target_tokens,
        )
        for step, result in zip(steps, results, strict=True)
    ]
