"""The same sentences to Keras and to the artefacts made from it: one `Parity` each."""

import dataclasses
import statistics
import time
from pathlib import Path

from keras_bahdanau.exporters.parity import Parity, differences, list_differences


class Comparison:
    """Answers of Keras to some sentences, which artefacts are compared with.

    Each input is a request of its own, and timed. Keras answers once, on as many
    threads as TensorFlow is set to; the artefacts run on one.

    Args:
        pipeline: A `Pipeline`.
        sentences: List of inputs, compared on beside the edge cases of the source.
        references: List of their texts, for the pipeline's own metrics, such as BLEU.
        say: Function of one string, which reports progress; None for none.

    Attributes:
        keras: `Parity` of Keras itself: its size, speed and quality.
        pipeline: The `Pipeline`.
        say: The function; one that does nothing for None.

    Raises:
        ValueError: If there are not as many references as sentences.
    """

    def __init__(self, pipeline, sentences=None, references=None, say=None):
        own = list(sentences or [])
        _check_references(own, references)
        self.pipeline = pipeline
        self._references = references and list(references)
        self._edge_cases = len(pipeline.source.edge_cases)
        self._sentences = [*pipeline.source.edge_cases, *own]
        self.say = say or (lambda line: None)
        self._begin("Keras")
        pipeline.decode(pipeline.source.edge_cases)  # the first call is slow
        self._answers, seconds = _timed(lambda one: pipeline.decode([one])[0], self._sentences)
        self.keras = Parity(
            artefact="Keras",
            sentences=len(self._sentences),
            megabytes=_megabytes(sum(w.numpy().nbytes for w in pipeline.model.weights)),
            **self._measured(dict(enumerate(self._answers)), dict(enumerate(seconds))),
        )

    def row(self, exporter, path):
        """The `Parity` of an artefact; sentences that are too long for it are counted.

        Args:
            exporter: `Exporter` of its format.
            path: Path of the artefact.
        """
        from keras_bahdanau.models.precision import precision_of

        self._begin(exporter.artefact)
        answers = exporter.answers(path, self.pipeline, self._sentences)
        asked = [row for row, received in enumerate(answers.received) if received]
        expected = self._within(answers)
        found = differences(
            [self._sentences[row] for row in asked],
            [expected[row] for row in asked],
            [answers.received[row] for row in asked],
        )
        return Parity(
            artefact=exporter.artefact,
            sentences=len(self._sentences),
            refused=len(self._sentences) - len(asked),
            exact=exporter.exact and precision_of(self.pipeline.model) == "float32",
            megabytes=_megabytes(_size(Path(path))),
            **self._with_lists(found, answers),
            **self._measured(
                {row: answers.received[row][0] for row in asked},  # the answer to it alone
                {row: answers.seconds[row] for row in asked},
            ),
        )

    def _begin(self, artefact):
        self.say(
            f"{artefact}: {len(self._sentences):,} inputs to {self.pipeline.verb}, "
            f"{self._edge_cases:,} of them edge cases"
        )

    def _with_lists(self, found, given):
        """The result of `differences`, with that of the lists of hypotheses, if there are any."""
        if not given.lists:
            return found
        prefixes = [one.prefix for one in given.lists]
        listed = self.pipeline.decode_nbest(
            [self._sentences[one.row] for one in given.lists],
            search=self._limited(given),
            prefixes=prefixes if any(prefixes) else None,
        )
        others = list_differences(listed, [one.hypotheses for one in given.lists])
        larger = {
            name: max(found[name] or 0.0, others[name] or 0.0)
            for name in ("score", "alignment", "tokens")
        }
        return {**found, **others, **larger}

    def _limited(self, given):
        """The `SearchOptions` of Keras under the limits of an artefact."""
        options = self.pipeline.search
        limits = {
            "max_length": min(given.longest or options.max_length, options.max_length),
            "max_source_length": given.longest_source or options.max_source_length,
        }
        return dataclasses.replace(options, **limits)

    def _within(self, given):
        """Answers of Keras under the limits of an artefact that gave these `Answers`."""
        options, within, answers = self.pipeline.search, self._limited(given), list(self._answers)
        longest = within.max_length
        _, _, cut = self.pipeline.source.cut(self._sentences, self.pipeline.longest(within))
        for row, (sentence, answer) in enumerate(zip(self._sentences, self._answers, strict=True)):
            source_time = len(answer.source_tokens)
            limit = source_time * options.max_length_ratio + options.max_length_offset
            shorter = max(limit, options.min_length) > longest < options.max_length
            if given.received[row] and (shorter or cut[row] or answer.truncated):
                (answers[row],) = self.pipeline.decode([sentence], search=within)
        return answers

    def _measured(self, answers, seconds):
        """Speed and quality, as fields of a `Parity`.

        On the user's sentences, or on the edge cases if there are none; a
        sentence that was refused counts as one with an empty translation.

        Args:
            answers: Dictionary of translations, by row.
            seconds: Dictionary of what they took, by row.
        """
        own = range(self._edge_cases, len(self._sentences)) or range(self._edge_cases)
        taken = [seconds[row] for row in own if row in seconds]
        measured = {"milliseconds": 1000 * statistics.median(taken) if taken else None}
        if self._references:
            from keras_bahdanau.evaluation.corpus_metrics import metrics_of  # which loads sacreBLEU

            texts = [answers[row].text if row in answers else "" for row in own]
            measured["quality"] = {}
            for metric in metrics_of(self.pipeline.metrics):
                if metric.nbest > 1:  # an answer is one text here
                    continue
                score = metric.corpus_score(texts, self._references)
                if metric.name in ("bleu", "chrf"):  # with fields of their own
                    measured[metric.name] = score
                else:
                    measured["quality"][metric.label] = score
        return measured


def _check_references(sentences, references):
    """Raise ValueError if there are references, but not one for each sentence."""
    if references is not None and len(references) != len(sentences):
        raise ValueError(
            "Each sentence must have one reference. "
            f"Received: {len(sentences)} sentences, {len(references)} references."
        )


def _timed(function, items):
    """Results of a function for each item, and the seconds that each took."""
    results, seconds = [], []
    for item in items:
        began = time.perf_counter()
        results.append(function(item))
        seconds.append(time.perf_counter() - began)
    return results, seconds


def _megabytes(count):
    return round(count / 1e6, 2)


def _size(path):
    """Number of bytes of a file, or of all files in a directory."""
    files = [path] if path.is_file() else [part for part in path.rglob("*") if part.is_file()]
    return sum(file.stat().st_size for file in files)
