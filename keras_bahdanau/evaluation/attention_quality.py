"""Quality of the attention: its entropy, and its error relative to known word alignments."""

import numpy as np

from keras_bahdanau.text.alignments import alignment_error_rate, check_links, span_links


def attention_entropy(translations):
    """Compute the mean entropy of the attention over all target tokens of `Translation` objects.

    Returns (mean in nats, mean as a fraction of the maximum). The entropy
    -sum_j alpha_ij log alpha_ij is 0 for a token that attends to a single position. Its maximum is
    log n, for sources of n >= 2 positions. Without attention, both means are None.
    """
    entropies, shares = [], []
    for translation in translations:
        weights = np.asarray(translation.alignment, np.float64)
        weights = weights[weights.sum(axis=-1) > 0]  # -> (rows, source_time), rows with attention
        entropy = row_entropies(weights)
        entropies.extend(entropy)
        if weights.shape[-1] > 1:
            shares.extend(entropy / np.log(weights.shape[-1]))
    return tuple(float(np.mean(values)) if values else None for values in (entropies, shares))


def row_entropies(weights):
    """Compute -sum_j alpha_ij log alpha_ij `(rows,)`, in nats, of float64 `(rows, source_time)`."""
    logs = np.log(weights, out=np.zeros_like(weights), where=weights > 0)
    return -(weights * logs).sum(axis=-1)


def alignment_error(translator, pairs, sure, possible, batch_size=64, search=None):
    """Compute the alignment error rate of the attention on known translations, in [0, 1].

    `pairs` are (source, target) strings. `sure` and `possible` contain a set of links between words
    for each pair (see `read_alignments`). `search` replaces the options of the translator, of which
    only the length limits matter. Raises ValueError if there is not one set of links per pair, or
    if a link refers to a missing word. See `alignments.alignment_error_rate`.
    """
    sources, targets = ([pair[side] for pair in pairs] for side in (0, 1))
    words = [*zip(translator.source.words(sources), translator.target.words(targets), strict=True)]
    for links in (sure, possible):
        # `alignment_error_rate` checks that there is one set of links per pair
        for number, (pair_links, spans) in enumerate(zip(links, words, strict=False)):
            check_links(pair_links, *spans, name=f"alignments[{number}]")
    results = translator.align(pairs, batch_size, search)
    words = zip(  # only for the part of each text that the model read
        translator.words(sources, translator.longest(search)),
        translator.target.words(targets, longest=(search or translator.search).max_length),
        strict=True,
    )
    predicted = [
        span_links(*spans, result.alignment) for spans, result in zip(words, results, strict=True)
    ]
    return alignment_error_rate(predicted, sure, possible)
