"""Report of an evaluation: scores, scores by length of the source, and a table of both."""

import dataclasses
from typing import NamedTuple


def band_starts(step):
    """Return the shortest length in each length band.

    There are four bands of width `step`, three bands of twice that width, and one for all longer
    inputs.

    >>> band_starts(5)
    (1, 6, 11, 16, 21, 31, 41, 51)
    """
    return tuple(1 + step * count for count in (0, 1, 2, 3, 4, 6, 8, 10))


STARTS = band_starts(5)  # for texts, in words or symbols


class Band(NamedTuple):
    """Inputs of similar length: a label such as "6-10", their number, and their score.

    The unit of the length is `Source.counted_in`.
    """

    label: str
    sentences: int
    score: float


def scores_by_length(lengths, hypotheses, references, metric, starts=STARTS):
    """Compute scores by length of the inputs.

    Returns a list of `Band`, shortest first, without empty bands. `lengths` are the lengths of the
    sources (see `Source.sizes`). For hypotheses and references, see
    `CorpusMetric.corpus_score`. `starts` are the shortest lengths of the bands; shorter inputs are
    in no band.
    """
    bands = []
    for start, next_start in zip(starts, [*starts[1:], None], strict=True):
        rows = [
            row
            for row, length in enumerate(lengths)
            if start <= length and (next_start is None or length < next_start)
        ]
        if rows:
            score = metric.corpus_score(
                [hypotheses[row] for row in rows], [references[row] for row in rows]
            )
            end = "" if next_start is None else next_start - 1
            bands.append(Band(f"{start}-{end}", len(rows), score))
    return bands


class Measured(NamedTuple):
    """Score of the corpus under one metric.

    Attributes:
        label: String, the metric's name in tables.
        score: Float, in percent.
        signature: String, the settings and version of the metric.
        interval: (low, high) in percent, or None (see `interval`).
    """

    label: str
    score: float
    signature: str
    interval: tuple | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Evaluation:
    """Results of `evaluate`.

    Each metric is also available as attributes: `evaluation.bleu` is the score,
    `evaluation.bleu_signature` is the signature, and `evaluation.bleu_interval` is the interval.

    Attributes:
        by_metric: Dictionary from the names of the metrics, in order, to `Measured`.
        perplexity: Float, per token of the references, including end tokens. Without a model,
            `perplexity`, `word_perplexity` and `token_accuracy` are None.
        word_perplexity: Float, per word of the references; the end of a sentence counts as a word.
        token_accuracy: Float, fraction of the references' tokens that the model ranks first.
        attention_entropy: Float, mean over the tokens of the translations in nats, or None.
        attention_entropy_share: Float, this mean as a fraction of the log of the source's length.
        alignment_error_rate: Float from 0 to 1, or None without known alignments.
        by_length: List of `Band`, scores under the first metric by the length of the source.
        inputs: String, the name of the inputs in the report, such as "sentences".
        texts: String, the name of the results, such as "translations".
        counted_in: String, the unit of a source's length, such as "words".
        sentences: Integer, number of all pairs.
        sources: Integer, number of distinct sources, each of which is decoded once.
        skipped: Integer, number of pairs with an empty side (for a `.tflite` file, with an empty
            reference). They are excluded from perplexities and accuracy. Metrics that count
            sources, such as "exact", exclude pairs whose sides are both empty.
        too_long: Integer, number of pairs with a side of more than `max_source_length` positions.
            They are also excluded; for decoding, their sources are cut.
        cut: Float, fraction of the texts that were cut at the maximum length.
        seconds: Float, duration of decoding.
        translations: List of `Translation`, one per pair.
        remarks: List of strings: remarks about metrics that are meaningless for these references,
            and about targets that are longer than outputs can be.
    """

    by_metric: dict
    perplexity: float | None
    word_perplexity: float | None
    token_accuracy: float | None
    attention_entropy: float | None
    attention_entropy_share: float | None
    alignment_error_rate: float | None
    by_length: list
    inputs: str = "sentences"
    texts: str = "translations"
    counted_in: str = "words"
    sentences: int
    sources: int
    skipped: int
    too_long: int
    cut: float
    seconds: float
    translations: list = dataclasses.field(repr=False)
    remarks: list = dataclasses.field(default_factory=list)

    def __getattr__(self, name):
        # `vars`, since the attribute may not exist yet while an evaluation is copied
        measured, (metric, _, field) = vars(self).get("by_metric", {}), name.partition("_")
        if metric not in measured or field not in ("", "signature", "interval"):
            raise AttributeError(
                f"An evaluation has only the requested metrics, {', '.join(measured)}. "
                f"Received: name={name!r}. Add the metric to `metrics` of `evaluate`."
            )
        return getattr(measured[metric], field or "score")

    @property
    def sentences_per_second(self):
        """Speed of decoding, in inputs per second."""
        return self.sources / self.seconds

    def scores(self):
        """Return everything except the translations, as a JSON dictionary."""
        scores = {}
        for name, (_, score, signature, ends) in self.by_metric.items():
            scores.update({name: score, f"{name}_signature": signature, f"{name}_interval": ends})
        first, *_ = self.by_metric
        keys = ("label", "sentences", first)
        lengths = [dict(zip(keys, band, strict=True)) for band in self.by_length]
        names = [field.name for field in dataclasses.fields(self)]
        left_out = ("by_metric", "inputs", "texts", "translations")
        names = [*(name for name in names if name not in left_out), "sentences_per_second"]
        scores.update({name: getattr(self, name) for name in names})
        return {**scores, "by_length": lengths}

    def __str__(self):
        left_out = "" if self.sources == self.sentences else f", {self.sources:,} different"
        left_out += f", {self.skipped:,} with an empty side" if self.skipped else ""
        left_out += f", {self.too_long:,} with one that is too long" if self.too_long else ""
        lines = [*map(_line, self.by_metric.values()), *self._likelihood()]
        if self.attention_entropy is not None:
            share = self.attention_entropy_share
            relative = "" if share is None else f", {share:.1%} of the log of the source's length"
            lines.append(f"attention   {self.attention_entropy:.3f} nats{relative}")
        if self.alignment_error_rate is not None:
            lines.append(f"alignment   {self.alignment_error_rate:.2%} error rate")
        lines += [
            f"{self.inputs:<12}{self.sentences:,}{left_out}",
            f"cut         {self.cut:.2%} of the {self.texts} at the longest length",
            f"speed       {self.sentences_per_second:.1f} {self.inputs} a second, "
            f"{self.seconds:.1f} s in all",
        ]
        return "\n".join([*lines, *self._lengths(), *self.remarks])

    def _lengths(self):
        if not self.by_length:
            return []
        first, *_ = self.by_metric.values()
        headings = f"source {self.counted_in}", f"{self.inputs:>9}", f"{first.label:>6}"
        widths = [max(12, len(headings[0])), *map(len, headings[1:])]
        rows = [(label, f"{count:,}", f"{score:.2f}") for label, count, score in self.by_length]
        lines = [
            "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True))
            for row in (headings, *rows)
        ]
        return ["", *lines]

    def _likelihood(self):
        if self.perplexity is None:
            return ["perplexity  unknown: needs the .keras file"]
        return [
            f"perplexity  {self.perplexity:.3f} a token, {self.word_perplexity:.3f} a word",
            f"accuracy    {self.token_accuracy:.2%} of the references' tokens",
        ]


def _line(measured):
    label, score, signature, ends = measured
    chance = "" if ends is None else f"   95% from {ends[0]:.2f} to {ends[1]:.2f}"
    return f"{label:<12}{score:.2f}{chance}   {signature}"
