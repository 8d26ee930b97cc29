"""The choice among a teacher's hypotheses, and the filters of what is chosen."""

import functools
import itertools
from typing import NamedTuple

import numpy as np

from keras_bahdanau.data.file_rows import FileSide
from keras_bahdanau.data.filters import (
    FILTERS,
    KEPT,
    FilterReport,
    TextSide,
    counts_of,
    examples_of,
    verdicts_of,
)
from keras_bahdanau.data.shards.ordered_work import Workers, with_rate
from keras_bahdanau.distillation.hypotheses import CUT, UNFINISHED, WHOLE, Hypothesis
from keras_bahdanau.text.vocabulary import NO_WORD

REASONS = (*FILTERS, CUT, UNFINISHED, "unknown", "score", "closeness", "worst")
BLOCK = 1000  # pairs that a process compares at once


class Chosen(NamedTuple):
    """A hypothesis that the student may learn from.

    Attributes:
        pair: Integer, number of its pair, from 0.
        hypothesis: `Hypothesis`.
        closeness: Float, in percent; NaN where nothing asks for it.
    """

    pair: int
    hypothesis: Hypothesis
    closeness: float


def chosen(pairs, hypotheses, settings, source=None, workers=1, say=print):
    """The hypotheses that a student learns from.

    First `settings.choose` takes one hypothesis of each source, or all: only these are kept in
    memory. Then the filters drop some of them: the first that does, in the order of `REASONS`,
    counts it.

    Args:
        pairs: List of (input, true target).
        hypotheses: Iterable of lists of `Hypothesis`, one list a pair, of at most `n_best` unless
            it is a list.
        settings: `Distillation`.
        source: `Source` that reads the inputs; None for text.
        workers: Positive integer, number of processes.
        say: Function of one string, which reports the progress.

    Returns:
        (list of `Chosen`, `FilterReport`).
    """
    given = isinstance(hypotheses, list)  # of a file, which has as many as it likes
    measures = settings.measures(max(map(len, hypotheses), default=0) if given else settings.n_best)
    blocks = _blocks(pairs, hypotheses)
    workers = max(1, min(workers, len(pairs) // BLOCK)) if measures else 1
    with Workers(workers) as processes:
        work = processes.in_order(functools.partial(_taken, settings, measures), blocks)
        if measures:
            work = with_rate(work, len, "compared", say, total=len(pairs))
        rows = [row for block in work for several in block for row in several]
    verdicts = _verdicts(pairs, rows, settings, source)
    report = FilterReport(REASONS, "hypotheses")
    texts = [row.hypothesis.text for row in rows]
    inputs = [pairs[row.pair][0] for row in rows]
    examples = {
        name: [(rows[place].pair + 1, *shown) for place, *shown in several]
        for name, several in examples_of(verdicts, 0, inputs, texts, REASONS).items()
    }
    report.add(len(rows), counts_of(verdicts, REASONS), examples)
    return [row for row, verdict in zip(rows, verdicts, strict=True) if verdict == KEPT], report


def sentence_closeness(name, texts, target):
    """Closeness of texts to a target, in percent: sacreBLEU's chrF or BLEU of a sentence.

    Args:
        name: String, "chrf" or "bleu". BLEU has the orders of n-grams that the texts have, and
            smoothing "exp".
        texts: List of strings.
        target: String.

    Returns:
        List of floats.

    Example:
        >>> sentence_closeness("chrf", ["ein Mann", "zwei"], "ein Mann")
        [100.0, 12.447589098532493]
    """
    scorer = _scorer(name)
    return [scorer.sentence_score(text, [target]).score for text in texts]


@functools.lru_cache(2)
def _scorer(name):
    from sacrebleu.metrics import BLEU, CHRF  # which take their time

    return CHRF() if name == "chrf" else BLEU(effective_order=True)


def _blocks(pairs, hypotheses):
    """Yield (number of the first pair, lists of hypotheses, true targets) of some pairs."""
    hypotheses = iter(hypotheses)
    blocks = iter(lambda: [*itertools.islice(hypotheses, BLOCK)], [])
    for first, found in zip(itertools.count(0, BLOCK), blocks):  # noqa: B905, one has no end
        yield first, found, [target for _, target in pairs[first : first + len(found)]]


def _taken(settings, measures, block):
    """Lists of `Chosen`, one list a pair."""
    first, found, targets = block
    taken = []
    for number, (several, target) in enumerate(zip(found, targets, strict=True), start=first):
        percents = [float("nan")] * len(several)
        if measures:
            texts = [one.text for one in several]
            percents = sentence_closeness(settings.closeness, texts, target)
        ranks = _ranks(several, percents, settings.choose)
        taken.append([Chosen(number, several[rank], percents[rank]) for rank in ranks])
    return taken


def _ranks(hypotheses, percents, choose):
    """Places of the hypotheses of a source that are kept, in their order."""
    if choose == "all" or len(hypotheses) < 2:
        return range(len(hypotheses))
    places = [rank for rank, one in enumerate(hypotheses) if one.state == WHOLE and one.text]
    places = places or [0]  # for a filter to drop

    def value(rank):
        score = hypotheses[rank].score
        score = -np.inf if np.isnan(score) else score
        return (percents[rank] if choose == "closest" else 0.0, score)

    return [max(places, key=value)]  # the first of several


def _verdicts(pairs, rows, settings, source):
    """Uint8 `(rows,)`: `KEPT`, or 1 and the place in `REASONS` of what drops a row."""
    inputs, texts = [pairs[row.pair][0] for row in rows], [row.hypothesis.text for row in rows]
    verdicts = verdicts_of(settings, inputs, texts, functools.partial(_side, source))

    def drop(name, dropped):
        verdicts[np.asarray(dropped, bool) & (verdicts == KEPT)] = REASONS.index(name) + 1

    if settings.drop_duplicates:
        drop("duplicate", _repeated(pairs, rows))
    states = np.array([row.hypothesis.state for row in rows], object)
    for state in (CUT, UNFINISHED):
        drop(state, states == state)
    both = zip(texts, (pairs[row.pair][1] for row in rows), strict=True)
    drop("unknown", [NO_WORD in text and NO_WORD not in target for text, target in both])
    scores = np.array([row.hypothesis.score for row in rows])
    if settings.min_score is not None:
        drop("score", scores < settings.min_score)
    if settings.min_closeness:
        drop("closeness", np.array([row.closeness for row in rows]) < settings.min_closeness)
    left = np.flatnonzero(verdicts == KEPT)
    order = left[np.argsort(scores[left], kind="stable")]
    drop("worst", np.isin(np.arange(len(rows)), order[: int(settings.drop_worst * len(left))]))
    return verdicts


def _repeated(pairs, rows):
    """List of bools: True for a text of a source that has come before with it."""
    seen, repeated = set(), []
    for row in rows:
        one = pairs[row.pair][0]
        key = (one if isinstance(one, str) else row.pair, row.hypothesis.text)
        repeated.append(key in seen)
        seen.add(key)
    return repeated


def _side(source, inputs):
    """The source side of pairs for filters: see `filters.verdicts_of`."""
    if source is None or source.inputs_are == "lines":
        return TextSide(inputs)
    return FileSide(source, inputs) if source.inputs_are == "files" else _NoText(len(inputs))


class _NoText:
    """The side of sources that are neither text nor files, which no filter drops."""

    def __init__(self, count):
        self.lines, self.lengths = [None] * count, np.zeros(count, np.int64)

    def blank(self):
        return np.zeros(len(self.lines), bool)

    broken = blank

    def count(self, pattern):
        return self.lengths
