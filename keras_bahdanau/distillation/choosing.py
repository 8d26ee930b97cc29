"""Choice and filtering of a teacher's hypotheses, and files with the chosen pairs."""

import functools
import itertools
import os
from typing import NamedTuple

import numpy as np

from keras_bahdanau.data.filters import (
    FILTERS,
    KEPT,
    FilterReport,
    TextSide,
    counts_of,
    examples_of,
    verdicts_of,
)
from keras_bahdanau.data.pair_file import cell_of
from keras_bahdanau.data.shards.file_rows import FileSide
from keras_bahdanau.data.shards.ordered_work import WorkerPool, report_rate
from keras_bahdanau.distillation.hypotheses import CUT, UNFINISHED, WHOLE, Hypothesis
from keras_bahdanau.files.whole_file import replacing
from keras_bahdanau.text.vocabulary import NO_WORD

REASONS = (*FILTERS, CUT, UNFINISHED, "unknown", "score", "closeness", "worst")
BLOCK = 1000  # pairs that a process compares at a time
SOURCE, TARGET, MANIFEST = "source.txt", "target.txt", "manifest.tsv"
SCORES, ATTENTION = "scores.txt", "attention.txt"


class Choice(NamedTuple):
    """A hypothesis for the student, with the number of its pair.

    `closeness` is in percent, or NaN if no setting needs it.
    """

    pair: int
    hypothesis: Hypothesis
    closeness: float


def choose_hypotheses(pairs, hypotheses, settings, source=None, workers=1, say=print):
    """Choose the hypotheses for the student.

    First, `settings.choose` selects one hypothesis per source, or all of them; only these stay in
    memory. Then the filters drop some of them. Returns a list of `Choice` and a `FilterReport`,
    which counts each dropped hypothesis under the first filter, in the order of `REASONS`, that
    applies.

    `pairs` is a list of (input, true target). `hypotheses` yields a list for each pair, with at
    most `n_best` items unless `hypotheses` is itself a list. `source` is the `Source` that reads
    the inputs, or None for text.
    """
    most = settings.n_best
    if isinstance(hypotheses, list):  # from a file, with any number per source
        most = max(map(len, hypotheses), default=0)
    measures = settings.measures(most)
    blocks = _blocks(pairs, hypotheses)
    workers = max(1, min(workers, len(pairs) // BLOCK)) if measures else 1
    with WorkerPool(workers) as processes:
        work = processes.results(functools.partial(_choices, settings, measures), blocks)
        if measures:
            work = report_rate(work, len, "compared", say, total=len(pairs))
        rows = [row for block in work for choices in block for row in choices]
    verdicts = _verdicts(pairs, rows, settings, source)
    report = FilterReport(REASONS, "hypotheses")
    texts = [row.hypothesis.text for row in rows]
    inputs = [pairs[row.pair][0] for row in rows]
    examples = {
        name: [(rows[row].pair + 1, *sides) for row, *sides in dropped]
        for name, dropped in examples_of(verdicts, 0, inputs, texts, REASONS).items()
    }
    report.add(len(rows), counts_of(verdicts, REASONS), examples)
    return [row for row, verdict in zip(rows, verdicts, strict=True) if verdict == KEPT], report


def sentence_closeness(name, texts, target):
    """Measure the closeness of texts to a target in percent, with sentence-level "chrf" or "bleu".

    The scores are computed by sacreBLEU. BLEU uses n-gram orders up to the length of the texts, and
    "exp" smoothing.

        >>> sentence_closeness("chrf", ["ein Mann", "zwei"], "ein Mann")
        [100.0, 12.447589098532493]
    """
    from sacrebleu.metrics import BLEU, CHRF  # slow to import

    references = [[target]]  # passed to the scorer, so that the n-grams are counted only once
    scorer = CHRF(references=references)
    if name == "bleu":
        scorer = BLEU(effective_order=True, references=references)
    return [scorer.corpus_score([text], None).score for text in texts]


def write_pairs(directory, pairs, rows, guides=False):
    """Write the chosen `pairs` line by line; `rows` are their `Choice` objects.

    `source.txt` and `target.txt`, or `manifest.tsv` for files, can be passed to `train`.
    `scores.txt` contains the teacher's scores, and with `guides`, `attention.txt` contains its
    weights between words. Sources that are arrays are not written.
    """
    files = {SCORES: (f"{row.hypothesis.score:.4f}" for row in rows)}
    files[TARGET] = (text for _, text in pairs)
    if all(isinstance(source, str) for source, _ in pairs):
        files[SOURCE] = (cell_of(source) for source, _ in pairs)
    elif all(isinstance(path, os.PathLike) for path, _ in pairs):
        del files[TARGET]
        files[MANIFEST] = (f"{os.path.relpath(path, directory)}\t{text}" for path, text in pairs)
    if guides:
        files[ATTENTION] = (row.hypothesis.weights for row in rows)
    for name, lines in files.items():
        path = directory / name
        with replacing(path, directory / f".unfinished-{name}") as unfinished:
            with open(unfinished, "w", encoding="utf-8", newline="") as file:
                file.writelines(f"{line}\n" for line in lines)


def _blocks(pairs, hypotheses):
    """Yield (number of the first pair, lists of hypotheses, true targets) for each block."""
    hypotheses = iter(hypotheses)
    blocks = iter(lambda: [*itertools.islice(hypotheses, BLOCK)], [])
    for first, block in zip(itertools.count(0, BLOCK), blocks):  # noqa: B905, count has no end
        yield first, block, [target for _, target in pairs[first : first + len(block)]]


def _choices(settings, measures, block):
    first, nbest_lists, targets = block
    choices = []
    for number, (nbest, target) in enumerate(zip(nbest_lists, targets, strict=True), start=first):
        percents = [float("nan")] * len(nbest)
        if measures:
            texts = [hypothesis.text for hypothesis in nbest]
            percents = sentence_closeness(settings.closeness, texts, target)
        ranks = _ranks(nbest, percents, settings.choose)
        choices.append([Choice(number, nbest[rank], percents[rank]) for rank in ranks])
    return choices


def _ranks(hypotheses, percents, choose):
    """Return the ranks of the chosen hypotheses of a source, in order."""
    if choose == "all" or len(hypotheses) < 2:
        return range(len(hypotheses))
    candidates = [
        rank
        for rank, hypothesis in enumerate(hypotheses)
        if hypothesis.state == WHOLE and hypothesis.text
    ]

    def value(rank):
        score = hypotheses[rank].score
        score = -np.inf if np.isnan(score) else score
        return (percents[rank] if choose == "closest" else 0.0, score)

    return [max(candidates or [0], key=value)]  # the first maximum; filters may drop rank 0


def _verdicts(pairs, rows, settings, source):
    """Return, for each row, `KEPT` or 1 + the index in `REASONS` of the filter that drops it.

    The result is uint8 `(rows,)`.
    """
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
    seen, repeated = set(), []
    for row in rows:
        source = pairs[row.pair][0]
        key = (source if isinstance(source, str) else row.pair, row.hypothesis.text)
        repeated.append(key in seen)
        seen.add(key)
    return repeated


def _side(source, inputs):
    """Return the source side for filters (see `filters.verdicts_of`)."""
    if source is None or source.inputs_are == "lines":
        return TextSide(inputs)
    return FileSide(source, inputs) if source.inputs_are == "files" else _NoText(len(inputs))


class _NoText:
    """Sources that are neither text nor files, which no filter drops."""

    def __init__(self, count):
        self.lines, self.lengths = [None] * count, np.zeros(count, np.int64)

    def blank(self):
        return np.zeros(len(self.lines), bool)

    broken = blank

    def count(self, pattern):
        return self.lengths
