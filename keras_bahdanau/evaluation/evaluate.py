"""Everything about a translator that pairs can tell."""

import time

from keras_bahdanau.data import BatchedPairs
from keras_bahdanau.evaluation.attention_quality import alignment_error, attention_entropy
from keras_bahdanau.evaluation.by_length import bleu_by_length
from keras_bahdanau.evaluation.likelihood import likelihood
from keras_bahdanau.evaluation.report import Evaluation
from keras_bahdanau.evaluation.significance import scorers

LONGEST = 2**30  # tokens: no pair is too long to be evaluated


def evaluate(
    translator,
    pairs,
    batch_size=64,
    search=None,
    alignments=None,
    tokenize=None,
    lowercase=False,
):
    """Translates the sources of pairs and compares with their targets.

    Args:
        translator: A `Translator`.
        pairs: List of (source, target) strings. An empty source has an empty translation.
        batch_size: Positive integer. Sentences translated at once.
        search: `SearchOptions` in place of the translator's own.
        alignments: (sure, possible) links between the words of the pairs, as
            `read_alignments` gives them, for the alignment error rate.
        tokenize: Name of sacreBLEU's tokenization for BLEU; its own choice, 13a, when left out.
        lowercase: Bool. Whether case counts for nothing.

    Returns:
        `Evaluation`.

    Raises:
        ValueError: If every pair has an empty side, or there are not as many alignments as
            pairs.

    Example:
        >>> print(evaluate(translator, read_pairs("test.en", "test.de")))
    """
    pairs = list(pairs)
    sources, references = ([pair[side] for pair in pairs] for side in (0, 1))
    batches = BatchedPairs(
        pairs, translator.source, translator.target, max_length=LONGEST, shuffle=False
    )
    error = None
    if alignments is not None:
        error = alignment_error(translator, pairs, *alignments, batch_size)
    began = time.perf_counter()
    translations = translator.decode(sources, batch_size, search)
    seconds = time.perf_counter() - began
    hypotheses = [translation.text for translation in translations]
    bleu, chrf = scorers(tokenize, lowercase)
    read = likelihood(translator.model, batches)
    entropy, share = attention_entropy(translations)
    words = sum(len(references[pair].split()) + 1 for pair in batches.kept)
    return Evaluation(
        bleu=bleu.corpus_score(hypotheses, [references]).score,
        chrf=chrf.corpus_score(hypotheses, [references]).score,
        bleu_signature=str(bleu.get_signature()),
        chrf_signature=str(chrf.get_signature()),
        perplexity=read.perplexity,
        word_perplexity=read.perplexity_of(words),
        token_accuracy=read.accuracy,
        attention_entropy=entropy,
        attention_entropy_share=share,
        alignment_error_rate=error,
        by_length=bleu_by_length(sources, hypotheses, references, bleu),
        sentences=len(pairs),
        skipped=batches.skipped.empty,
        cut=sum(not translation.finished for translation in translations) / len(pairs),
        seconds=seconds,
        translations=translations,
    )
