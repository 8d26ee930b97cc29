"""Choice of search options according to a metric on validation pairs."""

import dataclasses
import itertools
import math
import time

from keras_bahdanau.evaluation.corpus_metrics import METRICS, metrics_of, report_blind
from keras_bahdanau.evaluation.scoring import checked_answers
from keras_bahdanau.search import SearchOptions
from keras_bahdanau.search.search_options import LENGTH_PENALTIES
from keras_bahdanau.settings.guesses import check_keywords

BEAM_WIDTHS = (5, 10)
LENGTH_NORMALIZATIONS = (0.6, 0.8, 1.0, 1.2, 1.4)
WITH_CTC = {  # the joint probability favours short texts that omit words
    "length_normalizations": (0.5, 1.0, 1.5, 2.0),
    "ctc_weights": (0.3, 0.4, 0.5),
}
TOLERANCE = 0.1  # percent; on a thousand sentences, smaller differences are due to chance


@dataclasses.dataclass(frozen=True)
class Trial:
    """Result of one set of search options.

    Attributes:
        search: `SearchOptions`.
        score: Float, score under `metric` in percent.
        length_ratio: Float, number of tokens in the texts divided by that in the references.
        seconds: Float, duration of decoding, including tracing.
        metric: String, a name in `METRICS`.
    """

    search: SearchOptions
    score: float
    length_ratio: float
    seconds: float
    metric: str = "bleu"

    @property
    def loss(self):
        """The score, negated if higher is better; infinity for NaN."""
        loss = -self.score if METRICS[self.metric].higher_is_better else self.score
        return math.inf if math.isnan(loss) else loss


@check_keywords()
def candidates(
    search,
    beam_widths=BEAM_WIDTHS,
    length_normalizations=LENGTH_NORMALIZATIONS,
    length_penalties=LENGTH_PENALTIES,
    ctc_weights=None,
):
    """Return the options to try: `search` itself, then each combination, narrow beams first.

    Equivalent options appear only once: a beam of 1 ranks nothing, and an exponent of 0 means no
    penalty. By default, only the `ctc_weight` of `search` is tried; `tuned_options` returns values
    that are suitable for a model. Raises ValueError if a value is out of range, or if the search
    draws at random.
    """
    if search.random:
        raise ValueError(
            "Tuning needs a deterministic search. Received: "
            f"temperature={search.temperature!r}, top_k={search.top_k!r}, top_p={search.top_p!r}. "
            "Use a translator whose SearchOptions set none of these."
        )
    shares = [search.ctc_weight] if ctc_weights is None else ctc_weights
    widths = sorted(set(beam_widths))
    tried = {_effect(search): search}
    for choice in itertools.product(widths, shares, length_penalties, length_normalizations):
        width, share, penalty, exponent = choice
        options = dataclasses.replace(
            search,
            beam_width=width,
            length_penalty=penalty,
            length_normalization=float(exponent),
            ctc_weight=float(share),
        )
        tried.setdefault(_effect(options), options)
    return list(tried.values())


def tuned_options(model):
    """Return a dictionary of `length_normalizations` and `ctc_weights` to pass to `candidates`."""
    if model.source_limits.has_ctc:
        return dict(WITH_CTC)
    return {"length_normalizations": LENGTH_NORMALIZATIONS, "ctc_weights": (0.0,)}


@check_keywords()
def tune(
    translator,
    pairs,
    searches,
    batch_size=64,
    tokenize=None,
    lowercase=False,
    tell=None,
    metric=None,
    say=None,
):
    """Decode the sources of pairs with each of several search options, and score the results.

    Pairs with the same source count as in `evaluate`.

    Args:
        translator: A `Translator`, or other `Pipeline`.
        pairs: List of (input of the source, target string): validation pairs, not test pairs.
        searches: Iterable of `SearchOptions`, such as the result of `candidates`.
        batch_size: Positive integer. Number of inputs that are decoded together.
        tokenize: Name of sacreBLEU's tokenization for BLEU and for the lengths. By default, 13a.
        lowercase: Bool. True to ignore case.
        tell: Function of one `Trial`, which is called after each trial, or None.
        metric: Name of a metric in `METRICS`. By default, the first of `Pipeline.metrics`.
        say: Function of one string, which is called to report progress, or None.

    Returns:
        List of `Trial`, best score first. Trials with equal scores are sorted by beam width, then
        by the order of `searches`.

    Raises:
        ValueError: If no pair has content on both sides, if there are no options to try, if the
            model does not support some options, or if the metric is unknown or meaningless for
            these pairs.

    Example:
        >>> searches = candidates(pipeline.search, **tuned_options(pipeline.model))
        >>> pipeline.search = simplest(tune(pipeline, valid_pairs, searches, metric="cer")).search
    """
    pairs, searches = list(pairs), list(searches)
    sources, references = ([pair[side] for pair in pairs] for side in (0, 1))
    sizes = translator.source.sizes(sources)
    usable = any(size and text.strip() for size, text in zip(sizes, references, strict=True))
    if not usable or not searches:
        raise ValueError(
            "Tuning needs pairs with content on both sides and options to try. "
            f"Received: {len(pairs)} pairs, {len(searches)} options. Pass at least one of each."
        )
    for search in searches:
        translator.check_options(search)
    name = translator.metrics[0] if metric is None else metric
    (measure,) = metrics_of([name], tokenize, lowercase)
    for search in searches:
        search.check_nbest(measure.nbest)
    if line := report_blind(measure, references):
        raise ValueError(
            "Tuning needs a metric that distinguishes correct texts from wrong ones. "
            f"Received: metric={name!r}. {line}."
        )
    (bleu,) = metrics_of(["bleu"], tokenize)
    length = _tokens(bleu, references)
    answers = checked_answers(pairs, translator.target, [measure])
    trials = []
    for search in searches:
        start = time.perf_counter()
        results = translator.decode_nbest(
            answers.sources, measure.nbest, batch_size, search, say=say
        )
        seconds = time.perf_counter() - start
        texts = [[result.text for result in nbest] for nbest in results]  # by source
        score = measure.corpus_score(*answers.lines(texts, measure.by_source))
        by_pair, _ = answers.lines([best for best, *_ in texts], by_source=False)
        ratio = _tokens(bleu, by_pair) / max(1, length)  # a reference such as <skipped> has none
        trials.append(Trial(search, score, ratio, seconds, measure.name))
        if tell is not None:
            tell(trials[-1])
    return sorted(trials, key=lambda trial: (trial.loss, trial.search.beam_width))


def simplest(trials, tolerance=TOLERANCE):
    """Return the cheapest trial whose score is almost the best.

    Among the trials that are at most `tolerance` percent worse than the best, it has the narrowest
    beam, then no CTC, then the shortest texts. A wide beam and CTC cost time, and a strong length
    normalization may make the texts of other inputs too long. Raises ValueError if the tolerance is
    below 0.
    """
    if not tolerance >= 0:
        raise ValueError(f"`tolerance` must be at least 0. Received: tolerance={tolerance!r}")
    least = min(trial.loss for trial in trials)
    return min((trial for trial in trials if trial.loss <= least + tolerance), key=_cost)


def _cost(trial):
    return trial.search.beam_width, trial.search.ctc_weight > 0, trial.length_ratio


def _effect(options):
    """Return the options, with fixed values for those that have no effect."""
    plain = {}
    if options.beam_width == 1:
        plain["length_normalization"] = 0.0
    if options.beam_width == 1 or options.length_normalization == 0:
        plain["length_penalty"] = "power"
    return dataclasses.replace(options, **plain)


def _tokens(bleu, texts):
    """Return the number of tokens in texts under BLEU's tokenization."""
    return sum(len(bleu.scorer.tokenizer(text.rstrip()).split()) for text in texts)
