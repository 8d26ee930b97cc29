"""Quality of the attention: its entropy, and its error against known word alignments."""

import numpy as np

from keras_bahdanau.text.alignments import alignment_error_rate, check_links, span_links


def attention_entropy(translations):
    """Entropy of the attention over the source, in the mean over target tokens.

    A token that attends to one place has entropy 0, one that attends to n places alike log n.

    Args:
        translations: Iterable of `Translation`.

    Returns:
        (nats, share): floats, -sum_j alpha_ij log alpha_ij, and that as a share of the log of
        the number of places, its maximum, over sources of two places and more. None where
        nothing is attended to.
    """
    entropies, shares = [], []
    for translation in translations:
        weights = np.asarray(translation.alignment, np.float64)
        weights = weights[weights.sum(axis=-1) > 0]  # -> (rows, source_time), those that attend
        logs = np.log(weights, out=np.zeros_like(weights), where=weights > 0)
        found = -(weights * logs).sum(axis=-1)  # -> (rows,)
        entropies.extend(found)
        if weights.shape[-1] > 1:
            shares.extend(found / np.log(weights.shape[-1]))
    return tuple(float(np.mean(each)) if each else None for each in (entropies, shares))


def alignment_error(translator, pairs, sure, possible, batch_size=64, search=None):
    """The alignment error rate of what the model attends to when it reads given translations.

    Args:
        translator: A `Translator`.
        pairs: List of (source, target) strings.
        sure: List of sets of links between words, one for each pair: see `read_alignments`.
        possible: List of sets of links, one for each pair.
        batch_size: Positive integer. Pairs read at once.
        search: `SearchOptions` in place of the translator's own, for its longest lengths.

    Returns:
        Float in [0, 1], less is better: see `alignments.alignment_error_rate`.

    Raises:
        ValueError: If there are not as many sets as pairs, or a link is to a word that is not
            there.
    """
    sides = [[pair[side] for pair in pairs] for side in (0, 1)]
    words = [
        *zip(
            translator.source.words(sides[0]),
            translator.target.words(sides[1]),
            strict=True,
        )
    ]
    for links in (sure, possible):
        # of those that have a pair: `alignment_error_rate` counts them
        for number, (of_pair, spans) in enumerate(zip(links, words, strict=False)):
            check_links(of_pair, *spans, name=f"alignments[{number}]")
    read = translator.align(pairs, batch_size, search)
    words = zip(  # of what was read of each text
        translator.words(sides[0], translator.longest(search)),
        translator.target.words(sides[1], longest=(search or translator.search).max_length),
        strict=True,
    )
    predicted = [
        span_links(*spans, each.alignment) for spans, each in zip(words, read, strict=True)
    ]
    return alignment_error_rate(predicted, sure, possible)
