"""The shortlist of a model, by its own attention on its training pairs: no external aligner."""

import dataclasses

import numpy as np
import tensorflow as tf

from keras_bahdanau.data.checked_pairs import check_pairs
from keras_bahdanau.models import Ensemble
from keras_bahdanau.pipelines.in_batches import in_batches
from keras_bahdanau.search.shortlist import SPECIAL, UNSEEN, Shortlist
from keras_bahdanau.settings.counted import counted
from keras_bahdanau.settings.limits import CANDIDATES, FREQUENT
from keras_bahdanau.settings.option import check_value
from keras_bahdanau.text.id_rows import cut_rows
from keras_bahdanau.text.vocabulary import START

_CHUNK = 4096  # pairs whose links are summed at once
_LEAST = 0.01  # of a weight that counts
MOST_LINKS = 2**24  # different ones that are held: 256 MB


def learn_shortlist(pipeline, pairs, candidates=50, frequent=100, batch_size=64, say=None):
    """Find the target tokens that each source token may become.

    count(s, t) = sum of alpha_ij over the training pairs, where x_j = s and y_i = t

    The weights are those of teacher forcing, below 0.01 left out. A source token gets the
    tokens with the highest counts that are not among the most frequent ones, since every list has
    these. What each step would find with alignments of words and a lexicon (Jean et al. 2015)
    the model has learnt itself.

    Args:
        pipeline: `Translator`, whose model attends.
        pairs: List of (source string, target string): the training pairs, or a part of them.
        candidates: Positive integer K, the most target tokens of a source token.
        frequent: Integer, the number of the most frequent target tokens that every list has.
        batch_size: Positive integer. Pairs read at once.
        say: Function of one string, which reports progress; None for none.

    Returns:
        `search.Shortlist`. Give it to the pipeline, and save it.

    Raises:
        TypeError: If `pairs` does not hold pairs of strings.
        ValueError: If the source is no text, the model does not attend or has an output layer
            that can't be listed, a number is out of range, all lists would have the whole target
            vocabulary, or there is no pair.

    Example:
        >>> translator.shortlist = learn_shortlist(translator, read_pairs("train.en", "train.de"))
        >>> search = dataclasses.replace(translator.search, shortlist=256)
        >>> translator.translate(["A man in an orange hat."], search=search)[0].text
        'Ein Mann mit orangefarbenem Hut.'
    """
    check_value("candidates", candidates, CANDIDATES)
    check_value("frequent", frequent, FREQUENT)
    _check_pipeline(pipeline)
    pairs = list(pairs)
    check_pairs(pairs)
    if not pairs:
        raise ValueError("A shortlist is learnt from pairs. Received: pairs=[]. Give some.")
    vocabulary = pipeline.target.vocabulary_size
    _check_vocabulary(vocabulary, frequent)
    most = max(min(16 * candidates, MOST_LINKS // pipeline.source.size), 1)
    links, uses = Links(vocabulary, most), np.zeros(vocabulary, np.int64)
    seen = np.zeros(pipeline.source.size, bool)
    weights = tf.function(
        lambda features, target_in: pipeline.model(
            (features, target_in), return_attention_scores=True
        )[1],
        input_signature=[pipeline.source.feature_spec, tf.TensorSpec((None, None), tf.int32)],
        autograph=False,
    )
    for first in range(0, len(pairs), _CHUNK):
        chunk = pairs[first : first + _CHUNK]
        for source, target, *linked in _aligned(pipeline, chunk, batch_size, weights):
            links.add(*linked)
            seen[source] = True
            uses += np.bincount(target, minlength=vocabulary)
        links.settle()
        if say is not None:
            done = f"{first + len(chunk):,} of {counted(len(pairs), 'pairs')}"
            say(f"{done}, {counted(len(links), 'links')}")
    # the special tokens first, then by frequency; ids decide between equals
    order = np.argsort(-uses[SPECIAL:], kind="stable") + SPECIAL
    order = np.concatenate([np.arange(SPECIAL), order])
    links.forget(order[: SPECIAL + frequent])
    table = links.table(len(seen), candidates)
    table[~seen] = UNSEEN
    table[0] = 0  # padding, which stands behind every source
    return Shortlist(table, order, frequent)


def _aligned(pipeline, pairs, batch_size, weights):
    """List of (source ids `(S,)`, target ids `(T,)`, `linked`) of the pairs."""
    sources, targets = ([pair[side] for pair in pairs] for side in (0, 1))
    pipeline.source.check(pipeline.plural, sources)
    options = dataclasses.replace(pipeline.search, beam_width=1)
    _, rows, _ = pipeline.source.cut(sources, pipeline.longest(options))
    target_rows, _ = cut_rows(pipeline.target, targets, options.max_length)
    reduction = pipeline.model.reduction

    def aligned(members, features):
        shape = (len(members), int(target_rows.lengths[members].max()))
        target_out = target_rows.padded(members, shape)
        target_in = np.pad(target_out[:, :-1], [(0, 0), (1, 0)], constant_values=START)
        alignments = weights(features, target_in).numpy()
        for member, *row in zip(members, features, target_out, alignments, strict=True):
            source, target = row[0][: rows.lengths[member]], row[1][: target_rows.lengths[member]]
            positions = np.arange(len(source)) // reduction
            yield source, target, *linked(source, target, row[2][: len(target), positions])

    return in_batches(rows, batch_size, aligned, options, *pipeline.sizes)


def linked(source, target, weights):
    """Links of a pair that count: source ids, target ids, and weights, all `(links,)`.

    Args:
        source: Int array `(S,)`.
        target: Int array `(T,)`.
        weights: Float array `(T, S)`.
    """
    rows, columns = np.nonzero(weights >= _LEAST)
    return source[columns], target[rows], weights[rows, columns]


class Links:
    """Sums of attention between pairs of a source and a target token.

    Args:
        vocabulary: Integer, number of target ids.
        most: Integer, the links of a source token that are kept where there are too many.
    """

    def __init__(self, vocabulary, most):
        self.vocabulary, self.most = vocabulary, most
        self._keys, self._sums = [np.zeros(0, np.int64)], [np.zeros(0)]

    def __len__(self):
        return sum(map(len, self._keys))

    def add(self, source, target, weights):
        """Add the weights of some links, as `linked` gives them."""
        self._keys.append(source.astype(np.int64) * self.vocabulary + target)
        self._sums.append(weights.astype(float))

    def settle(self):
        """Sum the weights of equal links; beyond the limit keep the best of each source token."""
        keys, places = np.unique(np.concatenate(self._keys), return_inverse=True)
        sums = np.bincount(places, np.concatenate(self._sums), len(keys))
        self._keys, self._sums = [keys], [sums]
        if len(keys) > MOST_LINKS:
            best, _ = self._best(self.most)
            self._keys, self._sums = [keys[best]], [sums[best]]

    def forget(self, targets):
        """Leave out the links of some target tokens."""
        (keys,), (sums,) = self._keys, self._sums
        kept = ~np.isin(keys % self.vocabulary, targets)
        self._keys, self._sums = [keys[kept]], [sums[kept]]

    def table(self, sources, most):
        """The target ids of the largest sums: int32 `(sources, most)`, 0 behind the last."""
        (keys,) = self._keys
        best, ranks = self._best(most)
        table = np.zeros((sources, most), np.int32)
        table[keys[best] // self.vocabulary, ranks] = keys[best] % self.vocabulary
        return table

    def _best(self, most):
        """(places of the `most` largest sums of each source token, their ranks among these)."""
        (keys,), (sums,) = self._keys, self._sums
        sources = keys // self.vocabulary
        order = np.lexsort((keys, -sums, sources))
        # (links,), the first place of each source token in that order
        firsts = np.searchsorted(sources[order], sources[order])
        ranks = np.arange(len(order)) - firsts
        return order[ranks < most], ranks[ranks < most]


def _check_pipeline(pipeline):
    """Raise ValueError unless the attention of a pipeline's model can say what becomes what."""
    if pipeline.source.subwords is None:
        raise ValueError(
            "A shortlist is one of the tokens of a source text. "
            f"Received: a pipeline of a {type(pipeline.source).__name__}. Give a Translator."
        )
    if not pipeline.model.lists_tokens:
        raise ValueError(
            "A shortlist needs an output layer that is one matrix product, without copying or "
            "hard attention. Received: a model of another one. Give another model."
        )
    members = pipeline.model.models if isinstance(pipeline.model, Ensemble) else [pipeline.model]
    attentions = [one.decoder.cell.attention for one in members]
    blind = [one for one in attentions if not one.attends or not one.exportable]
    if blind:
        raise ValueError(
            "A shortlist is learnt from attention. "
            f"Received: a model with a {type(blind[0]).__name__}. Give a model that attends."
        )


def _check_vocabulary(vocabulary, frequent):
    """Raise ValueError if all lists would have the whole vocabulary."""
    if SPECIAL + frequent >= vocabulary:
        raise ValueError(
            "A shortlist is for a vocabulary with more tokens than all lists have. Received: "
            f"frequent={frequent} and {SPECIAL} special tokens with {vocabulary} target tokens. "
            "Give fewer, or leave such a small vocabulary without a shortlist."
        )
