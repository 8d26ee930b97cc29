"""Comparison of artefacts with Keras on the same sentences: one `Parity` for each artefact."""

import dataclasses
import statistics
import time
from pathlib import Path

from keras_bahdanau.exporters.parity import (
    LISTED,
    Case,
    Parity,
    list_summary,
    require,
    summary,
    table,
)
from keras_bahdanau.exporters.rounding import add_roundings


class Comparison:
    """Keras' answers to edge cases of the source and to `sentences`, to compare artefacts with.

    Each input is a separate, timed request. Keras answers it once, with the number of threads that
    TensorFlow is configured for; the artefacts run on one thread. `keras` is the `Parity` of Keras
    itself.
    """

    table = staticmethod(table)
    require = staticmethod(require)

    def __init__(self, pipeline, sentences=None, references=None, say=None):
        sentences = list(sentences or [])
        _check_references(sentences, references)
        self.pipeline = pipeline
        self._references = references and list(references)
        self._edge_cases = len(pipeline.source.edge_cases)
        self._sentences = [*pipeline.source.edge_cases, *sentences]
        self.say = say or (lambda line: None)
        self._begin("Keras")
        pipeline.decode(pipeline.source.edge_cases)  # the first call is slow
        self._answers, seconds = _timed(
            lambda source: pipeline.decode([source])[0], self._sentences
        )
        self.keras = Parity(
            artefact="Keras",
            sentences=len(self._sentences),
            megabytes=_megabytes(sum(w.numpy().nbytes for w in pipeline.model.weights)),
            **self._measured(dict(enumerate(self._answers)), dict(enumerate(seconds))),
        )

    def row(self, exporter, path):
        """Compare an artefact: return its `Parity`, which also counts sentences too long for it."""
        from keras_bahdanau.models.precision import precision_of

        self._begin(exporter.artefact)
        answers = exporter.answers(path, self.pipeline, self._sentences)
        rows = [row for row, received in enumerate(answers.received) if received]
        exact = exporter.exact and precision_of(self.pipeline.model) == "float32"
        return Parity(
            artefact=exporter.artefact,
            sentences=len(self._sentences),
            refused=len(self._sentences) - len(rows),
            exact=exact,
            megabytes=_megabytes(_size(Path(path))),
            **self._agreement(answers, rows, exact),
            **self._measured(
                {row: answers.received[row][0] for row in rows},  # for the input alone
                {row: answers.seconds[row] for row in rows},
            ),
        )

    def _begin(self, artefact):
        self.say(
            f"{artefact}: {len(self._sentences):,} inputs to {self.pipeline.verb}, "
            f"{self._edge_cases:,} of them edge cases"
        )

    def _agreement(self, answers, rows, exact):
        """Return the `Parity` fields that compare answers, as a dictionary."""
        expected = self._within(answers)
        texts = [Case(self._sentences[r], [expected[r]], answers.received[r]) for r in rows]
        lists = self._list_cases(answers)
        if exact:
            cases = add_roundings([*texts, *lists], self.pipeline, self._limited(answers))
            texts, lists = cases[: len(texts)], cases[len(texts) :]
        fields = summary(texts)
        misses = [miss for case in [*texts, *lists] for miss in case.misses()] if exact else []
        if answers.lists:
            listed = list_summary(lists)
            for name in ("score", "alignment", "tokens"):
                listed[name] = max(fields[name] or 0.0, listed[name] or 0.0)
            fields |= listed
            share = list_summary([case for case in lists if case.is_steady()])["nbest"]
            if exact and share < LISTED:
                misses.append(f"only {share:.2%} of the hypotheses are among those of Keras")
        return {**fields, "misses": tuple(misses)}

    def _list_cases(self, answers):
        """Return a `Case` for each list of hypotheses from an artefact."""
        if not answers.lists:
            return []
        sources = [self._sentences[listed.row] for listed in answers.lists]
        prefixes = [listed.prefix for listed in answers.lists]
        expected = self.pipeline.decode_nbest(
            sources,
            search=self._limited(answers),
            prefixes=prefixes if any(prefixes) else None,
        )
        return [
            Case(source, hypotheses, listed.hypotheses, listed.prefix)
            for source, hypotheses, listed in zip(sources, expected, answers.lists, strict=True)
        ]

    def _limited(self, answers):
        """Return the `SearchOptions` of Keras, restricted to the limits of an artefact."""
        options = self.pipeline.search
        limits = {
            "max_length": min(answers.longest or options.max_length, options.max_length),
            "max_source_length": answers.longest_source or options.max_source_length,
        }
        return dataclasses.replace(options, **limits)

    def _within(self, answers):
        """Return Keras' answers under the limits of the artefact that gave these `Answers`."""
        options, within = self.pipeline.search, self._limited(answers)
        expected = list(self._answers)
        longest = within.max_length
        _, _, cut = self.pipeline.source.cut(self._sentences, self.pipeline.longest(within))
        for row, (sentence, answer) in enumerate(zip(self._sentences, self._answers, strict=True)):
            source_time = len(answer.source_tokens)
            limit = source_time * options.max_length_ratio + options.max_length_offset
            shorter = max(limit, options.min_length) > longest < options.max_length
            if answers.received[row] and (shorter or cut[row] or answer.truncated):
                (expected[row],) = self.pipeline.decode([sentence], search=within)
        return expected

    def _measured(self, answers, seconds):
        """Return the `Parity` fields of speed and quality; a refused sentence counts as empty."""
        rows = range(self._edge_cases, len(self._sentences)) or range(self._edge_cases)
        taken = [seconds[row] for row in rows if row in seconds]
        measured = {"milliseconds": 1000 * statistics.median(taken) if taken else None}
        if self._references:
            from keras_bahdanau.evaluation.corpus_metrics import metrics_of  # loads sacreBLEU

            spaced = self.pipeline.target.spaced
            texts = [spaced(answers[row].text) if row in answers else "" for row in rows]
            references = [*map(spaced, self._references)]
            measured["quality"] = {}
            for metric in metrics_of(self.pipeline.metrics):
                if metric.nbest > 1:  # there is only one text per answer
                    continue
                score = metric.corpus_score(texts, references)
                if metric.name in ("bleu", "chrf"):  # these two have their own fields
                    measured[metric.name] = score
                else:
                    measured["quality"][metric.label] = score
        return measured


def _check_references(sentences, references):
    """Raise ValueError unless there are no references, or one for each sentence."""
    if references is not None and len(references) != len(sentences):
        raise ValueError(
            "Each sentence must have one reference. "
            f"Received: {len(sentences)} sentences, {len(references)} references."
        )


def _timed(function, items):
    """Return the result of a function for each item, and the seconds that each call took."""
    results, seconds = [], []
    for item in items:
        began = time.perf_counter()
        results.append(function(item))
        seconds.append(time.perf_counter() - began)
    return results, seconds


def _megabytes(count):
    return round(count / 1e6, 2)


def _size(path):
    """Return the size in bytes of a file, or of all files in a directory together."""
    files = [path] if path.is_file() else [part for part in path.rglob("*") if part.is_file()]
    return sum(file.stat().st_size for file in files)
