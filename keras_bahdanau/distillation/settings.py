"""Settings for a distillation: the teacher's search and the choice of hypotheses."""

import dataclasses
import functools

from keras_bahdanau.data.shards.preparation import Filters
from keras_bahdanau.settings.limits import BATCH_SIZE, BEAM_WIDTH, HYPOTHESES, PERCENT
from keras_bahdanau.settings.option import documented, flag, number, one_of, option, optional

hypotheses_field = functools.partial(option, heading="Hypotheses")


@documented
@dataclasses.dataclass(frozen=True, kw_only=True)
class Distillation(Filters):
    """Settings for `distill`: the teacher's search, the choice of its hypotheses, and filters.

    Raises:
        ValueError: If a value is out of range or inconsistent with another value.

    Example:
        >>> Distillation(n_best=8, closeness="bleu", drop_worst=0.05)
    """

    n_best: int = hypotheses_field(
        1, BEAM_WIDTH, "Number of the teacher's hypotheses per source, from which `choose` selects."
    )
    beam_width: int | None = hypotheses_field(
        None,
        optional(BEAM_WIDTH),
        "Beam width of the teacher, at least n_best. None uses the larger of n_best and the "
        "teacher's beam width.",
    )
    sample: bool = hypotheses_field(
        False,
        flag(),
        "Sample the teacher's hypotheses, with the seed of the training run, instead of searching "
        "for the best ones.",
        off="search",
    )
    batch_size: int = hypotheses_field(
        64, BATCH_SIZE, "Number of sources that the teacher decodes together."
    )
    choose: str = hypotheses_field(
        "closest",
        one_of("closest", "best", "all"),
        'Hypotheses to keep for each source: {choices}. "closest" is the one closest to the true '
        'target (Kim and Rush 2016, section 3.3), "best" the one with the highest teacher score.',
    )
    closeness: str = hypotheses_field(
        "chrf",
        one_of("chrf", "bleu"),
        "Measure of closeness to the true target: sentence-level {choices}.",
    )
    min_closeness: float = hypotheses_field(
        0.0,
        PERCENT,
        "Drop hypotheses whose closeness to the true target is below this value, in percent.",
    )
    min_score: float | None = hypotheses_field(
        None,
        optional(number(-1000, 0)),
        "Drop hypotheses whose score is below this value. The score is log p divided by the length "
        "penalty of the teacher's search, by default per token.",
    )
    drop_worst: float = hypotheses_field(
        0.0, number(0, 1, "[)"), "Fraction of the hypotheses to drop, lowest scores first."
    )
    mix: float = hypotheses_field(
        0.0,
        number(0, 1, "[)"),
        "Fraction of the batches that contain true targets; 0 to use only the teacher's texts.",
    )
    vocabulary: str = hypotheses_field(
        "own",
        one_of("own", "teacher"),
        'Vocabularies of the student: {choices}. Its "own" ones are learned from its pairs.',
    )

    def __post_init__(self):
        super().__post_init__()
        if self.n_best * self.batch_size > HYPOTHESES:
            raise ValueError(
                f"A teacher's batch must have at most {HYPOTHESES:,} hypotheses. Received: "
                f"n_best={self.n_best}, batch_size={self.batch_size}. Lower one of them."
            )
        if self.beam_width is not None and self.beam_width < self.n_best:
            raise ValueError(
                "`n_best` must be at most the beam width. Received: "
                f"n_best={self.n_best}, beam_width={self.beam_width}. Raise `beam_width`."
            )
        if self.sample and self.beam_width is not None:
            raise ValueError(
                "Sampling of hypotheses does not use a beam. "
                f"Received: sample=True, beam_width={self.beam_width}. Omit one of them; n_best is "
                "the number of samples."
            )

    @property
    def score_filters(self):
        """Dictionary of the settings that are enabled and need scores."""
        filters = {"min_score": self.min_score, "drop_worst": self.drop_worst or None}
        return {name: value for name, value in filters.items() if value is not None}

    def measures(self, most):
        """Return True if closeness is needed for at most `most` hypotheses per source."""
        return self.min_closeness > 0 or self.choose == "closest" and most > 1

    def search(self, options, seed):
        """Return the teacher's `SearchOptions`, based on the options in its file and a seed."""
        if self.sample:
            drawn = {"beam_width": self.n_best, "temperature": options.temperature or 1.0}
            return dataclasses.replace(options, ctc_weight=0.0, seed=seed, **drawn)
        width = self.beam_width or max(options.beam_width, self.n_best)
        plain = dict.fromkeys(("temperature", "top_k", "top_p"))
        return dataclasses.replace(options, beam_width=width, **plain)
