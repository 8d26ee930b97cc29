"""Quality of the attention: its entropy, and its error against known word alignments."""

import numpy as np

from keras_bahdanau.text.alignments import alignment_error_rate, check_links, span_links


def attention_entropy(translations):
    """Mean entropy of the attention over the target tokens of `Translation`s.

    A token that attends to one position has entropy 0, uniform attention to n positions log n.

    Returns:
        (nats, share): floats, -sum_j alpha_ij log alpha_ij, and its share of the maximum, the log
        of the number of positions, over sources of two positions and more. None without attention.
    """
    entropies, shares = [], []
    for translation in translations:
        weights = np.asarray(translation.alignment, np.float64)
        weights = weights[weights.sum(axis=-1) > 0]  # -> (rows, source_time), those that attend
        logs = np.log(weights, out=np.zeros_like(weights), where=weights > 0)
        entropy = -(weights * logs).sum(axis=-1)  # -> (rows,)
        entropies.extend(entropy)
        if weights.shape[-1] > 1:
            shares.extend(entropy / np.log(weights.shape[-1]))
    return tuple(float(np.mean(values)) if values else None for values in (entropies, shares))


def alignment_error(translator, pairs, sure, possible, batch_size=64, search=None):
    """Alignment error rate of the attention, read on given translations.

    `pairs` are (source, target) strings; `sure` and `possible` have a set of links between words
    for each (`read_alignments`). `search` replaces the translator's own, for its longest lengths.

    Returns:
        Float in [0, 1], less is better: see `alignments.alignment_error_rate`.

    Raises:
        ValueError: If there are not as many sets as pairs, or a link names a missing word.
    """
    sources, targets = ([pair[side] for pair in pairs] for side in (0, 1))
    words = [*zip(translator.source.words(sources), translator.target.words(targets), strict=True)]
    for links in (sure, possible):
        # `alignment_error_rate` checks that there are as many as pairs
        for number, (pair_links, spans) in enumerate(zip(links, words, strict=False)):
            check_links(pair_links, *spans, name=f"alignments[{number}]")
    results = translator.align(pairs, batch_size, search)
    words = zip(  # of the part of each text that was read
        translator.words(sources, translator.longest(search)),
        translator.target.words(targets, longest=(search or translator.search).max_length),
        strict=True,
    )
    predicted = [
        span_links(*spans, result.alignment) for spans, result in zip(words, results, strict=True)
    ]
    return alignment_error_rate(predicted, sure, possible)
