"""Report of an evaluation, for people and for programs."""

import dataclasses


@dataclasses.dataclass(frozen=True, kw_only=True)
class Evaluation:
    """Figures that `evaluate` measured.

    Attributes:
        bleu: Float, sacreBLEU's BLEU of the corpus, from 0 to 100.
        bleu_signature: What sacreBLEU says of how it was computed.
        chrf: Float, sacreBLEU's chrF of the corpus, from 0 to 100.
        chrf_signature: What sacreBLEU says of how it was computed.
        perplexity: Float, of a token of the references, end tokens included.
        word_perplexity: Float, of a word of the references; the end of each sentence counts
            as one.
        token_accuracy: Float, the share of the references' tokens that the model held for
            the most probable, each after the true ones before it.
        attention_entropy: Float, nats, in the mean over the tokens of the translations; None
            where nothing is attended to. See `attention_entropy`.
        attention_entropy_share: Float, the same as a share of the log of the source's length.
        alignment_error_rate: Float from 0 to 1, or None without known alignments.
        by_length: List of `Band`, BLEU by the length of the source.
        sentences: Integer. All pairs, those with an empty side included.
        skipped: Integer. Pairs with an empty side: perplexities and accuracy leave them
            out; their translations count.
        cut: Float, the share of translations that had not ended at the longest length.
        seconds: Float, the time that the translations took.
        translations: List of `Translation`, one a pair.
    """

    bleu: float
    bleu_signature: str
    chrf: float
    chrf_signature: str
    perplexity: float
    word_perplexity: float
    token_accuracy: float
    attention_entropy: float | None
    attention_entropy_share: float | None
    alignment_error_rate: float | None
    by_length: list
    sentences: int
    skipped: int
    cut: float
    seconds: float
    translations: list = dataclasses.field(repr=False)

    @property
    def sentences_per_second(self):
        """Speed of translation."""
        return self.sentences / self.seconds

    def scores(self):
        """Everything but the translations as a dictionary that JSON holds."""
        names = [field.name for field in dataclasses.fields(self) if field.name != "translations"]
        scores = {name: getattr(self, name) for name in [*names, "sentences_per_second"]}
        return {**scores, "by_length": [band._asdict() for band in self.by_length]}

    def __str__(self):
        left_out = f", {self.skipped:,} with an empty side" if self.skipped else ""
        lines = [
            f"BLEU        {self.bleu:.2f}   {self.bleu_signature}",
            f"chrF        {self.chrf:.2f}   {self.chrf_signature}",
            f"perplexity  {self.perplexity:.3f} a token, {self.word_perplexity:.3f} a word",
            f"accuracy    {self.token_accuracy:.2%} of the references' tokens",
        ]
        if self.attention_entropy is not None:
            share = self.attention_entropy_share
            of_length = "" if share is None else f", {share:.1%} of the log of the source's length"
            lines.append(f"attention   {self.attention_entropy:.3f} nats{of_length}")
        if self.alignment_error_rate is not None:
            lines.append(f"alignment   {self.alignment_error_rate:.2%} error rate")
        lines += [
            f"sentences   {self.sentences:,}{left_out}",
            f"cut         {self.cut:.2%} of the translations at the longest length",
            f"speed       {self.sentences_per_second:.1f} sentences a second, "
            f"{self.seconds:.1f} s in all",
        ]
        if self.by_length:
            lines += ["", f"{'source words':>12}  {'sentences':>9}  {'BLEU':>6}"]
            lines += [
                f"{label:>12}  {count:>9,}  {bleu:>6.2f}" for label, count, bleu in self.by_length
            ]
        return "\n".join(lines)
