"""Search trees: all hypotheses of a beam search, including pruned ones."""

from typing import Any, NamedTuple

import numpy as np
from keras import ops

from keras_bahdanau.search.beam import IMPOSSIBLE
from keras_bahdanau.search.result import normalized

ROOT = -1


class SearchTree(NamedTuple):
    """Tree of the hypotheses of one input, with one node each, in the order of the search.

    A node is its parent's hypothesis with one more token. A branch without a `kept` node was
    pruned: better hypotheses pushed it out of the beam.

    Attributes:
        tokens: List of the last token of each node: an id or, in a `Trace`, a piece.
        parents: Int array `(nodes,)`, the number of an earlier node; -1 for the empty hypothesis.
        log_probs: Float array `(nodes,)`, log p of the whole hypothesis.
        scores: Float array `(nodes,)`, log p divided by the length penalty.
        finished: Bool array `(nodes,)`, True if the end token was reached.
        kept: Bool array `(nodes,)`, True for a hypothesis in the last beam, or the beginning of
            one.
    """

    tokens: Any
    parents: Any
    log_probs: Any
    scores: Any
    finished: Any
    kept: Any

    def path(self, tokens):
        """Return the numbers of the nodes along a hypothesis, a sequence of tokens.

        The list ends before the first token that has no node in the tree.
        """
        children = {
            key: node for node, key in enumerate(zip(self.parents, self.tokens, strict=True))
        }
        nodes, node = [], ROOT
        for token in tokens:
            node = children.get((node, token))
            if node is None:
                break
            nodes.append(node)
        return nodes


class TreeRecorder:
    """Callable for the `visit` argument of `beam_search`, which records a `SearchTree`.

    The search must have a single input.

    Example:
        >>> recorder = TreeRecorder(options)
        >>> result = search(step, state, limits, options, visit=recorder, **settings)
        >>> tree = recorder.tree()
    """

    def __init__(self, options):
        self.options = options
        self._nodes = []  # (token, parent, log p, score, finished)
        self._beam = [ROOT] * options.beam_width  # the node of each hypothesis

    def __call__(self, state):
        """Add the hypotheses that grew in a step."""
        scores = normalized(state.log_probs, state.lengths, self.options)
        t = int(state.t)
        # for the only row, each (beam,)
        parents, tokens, lengths, log_probs, scores, finished = (
            ops.convert_to_numpy(field)[0].tolist()
            for field in (
                *(state.parents[t - 1], state.tokens, state.lengths, state.log_probs),
                *(scores, state.finished),
            )
        )
        beam = []
        columns = zip(parents, tokens, lengths, log_probs, scores, finished, strict=True)
        for parent, token, length, log_prob, score, ended in columns:
            node = self._beam[parent]
            # a frozen hypothesis is shorter; an empty or forbidden one has no probability
            if length == t and log_prob > IMPOSSIBLE / 2:
                self._nodes.append((token, node, log_prob, score, ended))
                node = len(self._nodes) - 1
            beam.append(node)
        self._beam = beam

    def tree(self):
        """Return the `SearchTree` of all visited states."""
        kept = np.zeros(len(self._nodes), bool)
        for node in self._beam:
            while node != ROOT and not kept[node]:
                kept[node] = True
                node = self._nodes[node][1]
        columns = [[node[column] for node in self._nodes] for column in range(5)]
        tokens, parents, log_probs, scores, finished = columns
        return SearchTree(
            tokens=tokens,
            parents=np.array(parents, int),
            log_probs=np.array(log_probs),
            scores=np.array(scores),
            finished=np.array(finished, bool),
            kept=kept,
        )
