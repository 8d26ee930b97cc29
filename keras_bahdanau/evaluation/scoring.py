"""Evaluation of a pipeline on pairs: metrics, perplexity, attention and speed."""

import dataclasses
import math
import time

import numpy as np

from keras_bahdanau.data.pairs import answers_by_source
from keras_bahdanau.evaluation.attention_quality import alignment_error, attention_entropy
from keras_bahdanau.evaluation.corpus_metrics import metrics_of, report_blind
from keras_bahdanau.evaluation.report import Evaluation, Measured, band_starts, scores_by_length
from keras_bahdanau.evaluation.significance import interval
from keras_bahdanau.search.search_options import SearchOptions
from keras_bahdanau.settings.checks import counted
from keras_bahdanau.settings.guesses import check_keywords
from keras_bahdanau.text.features import is_blank, untagged


@dataclasses.dataclass(frozen=True)
class Likelihood:
    """Likelihood of the references, in which each token is conditioned on the true previous tokens.

    Attributes:
        loss: Float, the sum of -log p over the target tokens, including end tokens.
        tokens: Integer, number of tokens.
        correct: Integer, number of tokens that the model ranks first.
    """

    loss: float
    tokens: int
    correct: int

    @property
    def perplexity(self):
        """Perplexity per token: exp of the mean loss."""
        return self.perplexity_of(self.tokens)

    @property
    def accuracy(self):
        """Fraction of the tokens that the model ranks first, from 0 to 1."""
        return self.correct / self.tokens

    def perplexity_of(self, units):
        """Return the perplexity per unit, such as a word, given the number of `units`."""
        mean = self.loss / units
        return math.exp(mean) if mean < 700 else math.inf


def likelihood(model, batches):
    """Compute the `Likelihood` of `BatchedPairs`. Raises ValueError if no source can be read."""
    import tensorflow as tf

    dataset = batches.epoch(0)

    @tf.function(input_signature=dataset.element_spec, autograph=False)
    def read(inputs, target_out, weight):
        logits = model(inputs, training=False)  # (rows, target_time, vocabulary)
        # -> (rows, target_time)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(target_out, logits)
        right = tf.equal(tf.argmax(logits, axis=-1, output_type=tf.int32), target_out)
        sums = (losses * weight, tf.cast(right, tf.float32) * weight, weight)
        return tuple(map(tf.reduce_sum, sums))

    loss = correct = tokens = 0.0
    for batch in dataset:
        sums = [float(total) for total in read(*batch)]
        loss, correct, tokens = loss + sums[0], correct + sums[1], tokens + sums[2]
    batches.require_readable()
    return Likelihood(loss, round(tokens), round(correct))


def perplexity(model, batches):
    """Compute exp(mean -log p) of the target tokens (see `likelihood`)."""
    return likelihood(model, batches).perplexity


@check_keywords(search=SearchOptions)
def evaluate(
    translator,
    pairs,
    batch_size=64,
    search=None,
    alignments=None,
    tokenize=None,
    lowercase=False,
    metrics=None,
    tag=None,
    say=None,
):
    """Decode the sources of pairs and compare the results with the targets.

    A source that occurs in several pairs has several correct answers. It is decoded once, and rates
    such as `exact` and `cer` count it once, with the nearest answer. BLEU, chrF and TER count each
    pair.

    Args:
        translator: A `Translator` or other `Pipeline`, or the `LiteRTTranslator` of a .tflite file,
            for which no perplexity or token accuracy is available.
        pairs: List of (input of the source, target string). An empty source has an empty text, and
            a source longer than `max_source_length` of the search is cut.
        batch_size: Positive integer. Number of inputs that are decoded together.
        search: `SearchOptions` to use instead of the translator's own.
        alignments: (sure, possible) links between the words of the pairs, from
            `read_alignments`, for the alignment error rate.
        tokenize: Name of sacreBLEU's tokenization for BLEU. By default, 13a.
        lowercase: Bool. True to ignore case.
        metrics: Names of metrics, as in `metrics_of`. By default, those in `Pipeline.metrics`. The
            first one is used for the scores by length.
        tag: String, such as <2de>, that precedes each source and does not count toward its length,
            or None.
        say: Function of one string, which is called to report progress, or None.

    Returns:
        `Evaluation`.

    Raises:
        ValueError: If every pair has a side that is empty or too long, if the numbers of alignments
            and pairs differ, if a metric is unknown, or if the beam is too narrow for a metric such
            as `top5`. A side is too long if it exceeds `max_source_length`; the text of an image or
            a recording is too long only if it exceeds `max_length` as well.
    """
    pairs = list(pairs)
    source = translator.source
    metrics = metrics_of(translator.metrics if metrics is None else metrics, tokenize, lowercase)
    references = [text for _, text in pairs]
    answers = checked_answers(pairs, translator.target, metrics)
    batches = None if translator.model is None else _batches(translator, pairs, search)
    remarks = [report_blind(metric, references) for metric in metrics]
    if batches is not None:
        remarks.append(long_references_of(batches, pairs, translator, search))
    error = None
    if alignments is not None:
        if say is not None:
            say(f"aligning {counted(len(pairs), 'pairs')}")
        error = alignment_error(translator, pairs, *alignments, batch_size, search)
    began = time.perf_counter()
    nbest = max(metric.nbest for metric in metrics)
    nbest_lists = translator.decode_nbest(answers.sources, nbest, batch_size, search, say=say)
    seconds = time.perf_counter() - began
    if say is not None:
        say("computing scores")
    translations = [nbest_lists[number][0] for number in answers.numbers]
    texts = [[result.text for result in results] for results in nbest_lists]  # by source
    lines = {metric: answers.lines(texts, metric.by_source) for metric in metrics}
    first, sources = metrics[0], answers.sources
    if tag is not None:
        sources = [untagged(tag, line) for line in sources]
    sizes, _ = answers.lines(source.sizes(sources), first.by_source)
    entropy, share = attention_entropy(translations)
    return Evaluation(
        by_metric={metric.name: _measured(metric, *lines[metric]) for metric in metrics},
        **_read(translator.model, batches, references),
        attention_entropy=entropy,
        attention_entropy_share=share,
        alignment_error_rate=error,
        by_length=scores_by_length(
            sizes, *lines[first], first, starts=band_starts(source.length_band)
        ),
        inputs=translator.plural,
        texts=f"{translator.noun}s",
        counted_in=source.counted_in,
        sentences=len(pairs),
        sources=len(sources),
        cut=sum(not translation.finished for translation in translations) / len(pairs),
        seconds=seconds,
        translations=translations,
        remarks=[*filter(None, remarks)],
    )


def _measured(metric, *lines):
    score = metric.corpus_score(*lines)
    return Measured(metric.label, score, metric.signature, interval(metric, *lines))


def checked_answers(pairs, target, metrics):
    """Group targets by source, and check that the metrics support them (`answers_by_source`)."""
    return answers_by_source(pairs, target).checked(metrics)


def long_references(pairs, lengths, translator, search=None):
    """Return a line about targets that are longer than outputs can be; "" if there are none.

    `lengths` are two int arrays `(pairs,)`: the source positions and the target tokens.
    """
    from keras_bahdanau.search.constraints import (
        limits_of,
    )  # loads Keras

    search = search or translator.search
    positions = -(-lengths[0] // translator.model.source_limits.reduction)
    rows = np.flatnonzero(lengths[1] > np.array(limits_of(positions, search)))
    rows = rows[positions[rows] > 0]  # an empty source has no text
    if not rows.size:
        return ""
    source, target = pairs[rows[0]]
    example = f"{source!r:.40}: " if isinstance(source, str) else ""
    have = "has" if len(rows) == 1 else "have"
    return (
        f"{len(rows):,} of {counted(len(pairs), 'targets')} {have} more tokens than outputs can "
        f"have (max_length_ratio {search.max_length_ratio:g} * positions of the source + "
        f"max_length_offset {search.max_length_offset}, at most max_length {search.max_length}), "
        f"such as {example}{target!r:.60}. Longer outputs are cut: raise --max-length-ratio, "
        "or max_length_ratio in Python"
    )


def long_references_of(batches, pairs, translator, search=None):
    """Return the line of `long_references` for the pairs that `BatchedPairs` uses."""
    (lengths,) = batches.lengths()
    pairs = [*pairs]  # `Corpora` can't be indexed
    return long_references([pairs[row] for row in batches.used], lengths, translator, search)


def _batches(translator, pairs, search):
    from keras_bahdanau.data import BatchedPairs  # loads TensorFlow

    translator.source.check(translator.plural, [source for source, _ in pairs])
    longest = translator.longest(search)
    limits = {"max_length": longest, "max_source_length": longest}
    if not translator.source.positions_are_tokens:  # source positions don't limit target tokens
        limits["max_length"] = max(longest, (search or translator.search).max_length)
    try:
        return BatchedPairs(pairs, translator.source, translator.target, shuffle=False, **limits)
    except ValueError:  # no pair remains; the original message names a training option
        raise ValueError(
            "At least one pair must have content on both sides, of at most "
            f"max_source_length={longest} tokens or positions. Received: {len(pairs)} pairs, none "
            "of which does. Use other pairs, or a larger max_source_length."
        ) from None


def _read(model, batches, references):
    if model is None:
        unread = dict.fromkeys(("perplexity", "word_perplexity", "token_accuracy"))
        empty = sum(map(is_blank, references))
        return {**unread, "skipped": empty, "too_long": 0}
    read = likelihood(model, batches)
    pairs = np.setdiff1d(batches.used, batches.broken)  # `broken` is known only after reading
    words = sum(len(references[pair].split()) + 1 for pair in pairs)
    return {
        "perplexity": read.perplexity,
        "word_perplexity": read.perplexity_of(words),
        "token_accuracy": read.accuracy,
        "skipped": batches.skipped.empty + len(batches.broken),
        "too_long": batches.skipped.too_long,
    }
