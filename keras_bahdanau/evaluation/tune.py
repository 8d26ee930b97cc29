"""Choice of search options by their BLEU on validation pairs."""

import dataclasses
import itertools
import time

from keras_bahdanau.search import SearchOptions
from keras_bahdanau.search.penalties import LENGTH_PENALTIES
from keras_bahdanau.text.corpus_metrics import metrics_of

BEAM_WIDTHS = (5, 10)
LENGTH_NORMALIZATIONS = (0.6, 0.8, 1.0, 1.2, 1.4)
TOLERANCE = 0.1  # of BLEU: on a thousand sentences less is chance


@dataclasses.dataclass(frozen=True)
class Trial:
    """Result of one set of search options.

    Attributes:
        search: `SearchOptions`.
        bleu: Float, from 0 to 100.
        length_ratio: Float, tokens of the translations over tokens of the references.
        seconds: Float, the time that the translations took, tracing included.
    """

    search: SearchOptions
    bleu: float
    length_ratio: float
    seconds: float


def candidates(
    search,
    beam_widths=BEAM_WIDTHS,
    length_normalizations=LENGTH_NORMALIZATIONS,
    length_penalties=LENGTH_PENALTIES,
):
    """The options to try: first those given, then each combination, the narrow beams first.

    Options that make no difference come once: a beam of 1 has nothing to rank, and with an
    exponent of 0 there is no penalty.

    Args:
        search: `SearchOptions`: what the candidates have in common.
        beam_widths: Iterable of positive integers.
        length_normalizations: Iterable of floats, exponents.
        length_penalties: Iterable of "power" and "gnmt".

    Returns:
        List of `SearchOptions`.

    Raises:
        ValueError: If a value is out of range, or the search draws at random.
    """
    if search.random:
        raise ValueError(
            "Tuning compares searches that give the same each time. Received: "
            f"temperature={search.temperature!r}, top_k={search.top_k!r}, top_p={search.top_p!r}. "
            "Give a translator whose SearchOptions have none of them."
        )
    grid = itertools.product(sorted(set(beam_widths)), length_penalties, length_normalizations)
    tried = {_effect(search): search}
    for width, penalty, exponent in grid:
        options = dataclasses.replace(
            search,
            beam_width=width,
            length_penalty=penalty,
            length_normalization=float(exponent),
        )
        tried.setdefault(_effect(options), options)
    return list(tried.values())


def tune(translator, pairs, searches, batch_size=64, tokenize=None, lowercase=False, tell=None):
    """Translate the pairs with each of the options.

    Args:
        translator: A `Translator`.
        pairs: List of (source, target) strings: validation pairs, never the test's.
        searches: Iterable of `SearchOptions`, such as `candidates` gives.
        batch_size: Positive integer. Sentences translated at once.
        tokenize: Name of sacreBLEU's tokenization; its own choice, 13a, when left out.
        lowercase: Bool. True if case counts for nothing.
        tell: Function of one `Trial`, called after each of them, or None.

    Returns:
        List of `Trial`, the highest BLEU first; among equals the narrower beam, then the
        one tried first.

    Raises:
        ValueError: If no pair has text on both sides, or there are no options to try.

    Example:
        >>> trials = tune(translator, valid_pairs, candidates(translator.search))
        >>> translator.search = simplest(trials).search
    """
    pairs, searches = list(pairs), list(searches)
    sources, references = ([pair[side] for pair in pairs] for side in (0, 1))
    sizes = translator.source.sizes(sources)
    usable = any(size and text.strip() for size, text in zip(sizes, references, strict=True))
    if not usable or not searches:
        raise ValueError(
            "Tuning needs pairs with content on both sides and options to try. "
            f"Received: {len(pairs)} pairs, {len(searches)} options. Give one of each at least."
        )
    (bleu,) = metrics_of(["bleu"], tokenize, lowercase)
    trials = []
    for search in searches:
        began = time.perf_counter()
        found = translator.decode(sources, batch_size, search)
        seconds = time.perf_counter() - began
        score = bleu.scorer.corpus_score([translation.text for translation in found], [references])
        trials.append(Trial(search, score.score, score.sys_len / score.ref_len, seconds))
        if tell is not None:
            tell(trials[-1])
    return sorted(trials, key=lambda trial: (-trial.bleu, trial.search.beam_width))


def simplest(trials, tolerance=TOLERANCE):
    """The trial to keep: almost the highest BLEU, with the least search.

    Of those at most `tolerance` below the highest it is the one with the narrowest beam, and
    then with the shortest translations: many options score alike, and among them a wide beam
    costs time, and a strong length normalization makes the longest translations that these
    sentences bear, which on other sentences may be too long.

    Args:
        trials: List of `Trial`, in any order.
        tolerance: Float, in BLEU; 0 for the highest alone.

    Returns:
        `Trial`.

    Raises:
        ValueError: If the tolerance is below 0.
    """
    if not tolerance >= 0:
        raise ValueError(f"`tolerance` must be at least 0. Received: tolerance={tolerance!r}")
    highest = max(trial.bleu for trial in trials)
    alike = [trial for trial in trials if trial.bleu >= highest - tolerance]
    return min(alike, key=lambda trial: (trial.search.beam_width, trial.length_ratio))


def _effect(options):
    """The options without what makes no difference."""
    plain = {}
    if options.beam_width == 1:
        plain["length_normalization"] = 0.0
    if options.beam_width == 1 or options.length_normalization == 0:
        plain["length_penalty"] = "power"
    return dataclasses.replace(options, **plain)
