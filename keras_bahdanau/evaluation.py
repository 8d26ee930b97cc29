"""How good a translator is: BLEU, chrF, perplexity, speed."""

import dataclasses
import time

import tensorflow as tf
from sacrebleu.metrics import BLEU, CHRF

from keras_bahdanau.metrics import Perplexity
from keras_bahdanau.text import BatchedPairs

LONGEST = 2**30  # tokens: no pair is too long to be evaluated


@dataclasses.dataclass(frozen=True, kw_only=True)
class Evaluation:
    """What `evaluate` measured.

    Attributes:
        bleu: Float, sacreBLEU's BLEU of the corpus, from 0 to 100.
        bleu_signature: What sacreBLEU says of how it was computed.
        chrf: Float, sacreBLEU's chrF of the corpus, from 0 to 100.
        chrf_signature: What sacreBLEU says of how it was computed.
        perplexity: Float, of a token of the references, end tokens included.
        sentences: Integer. All pairs, those with an empty side included.
        skipped: Integer. Pairs with an empty side: the perplexity leaves them
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
        return {name: getattr(self, name) for name in [*names, "sentences_per_second"]}

    def __str__(self):
        left_out = f", {self.skipped:,} with an empty side" if self.skipped else ""
        return "\n".join(
            [
                f"BLEU        {self.bleu:.2f}   {self.bleu_signature}",
                f"chrF        {self.chrf:.2f}   {self.chrf_signature}",
                f"perplexity  {self.perplexity:.3f} a token",
                f"sentences   {self.sentences:,}{left_out}",
                f"cut         {self.cut:.2%} of the translations at the longest length",
                f"speed       {self.sentences_per_second:.1f} sentences a second, "
                f"{self.seconds:.1f} s in all",
            ]
        )


def evaluate(translator, pairs, batch_size=64, search=None):
    """Translates the sources of pairs and compares with their targets.

    Args:
        translator: A `Translator`.
        pairs: List of (source, target) strings. An empty source has an empty translation.
        batch_size: Positive integer. Sentences translated at once.
        search: `SearchOptions` in place of the translator's own.

    Returns:
        `Evaluation`.

    Raises:
        ValueError: If every pair has an empty side.

    Example:
        >>> print(evaluate(translator, read_pairs("test.en", "test.de")))
    """
    pairs = list(pairs)
    batches = BatchedPairs(pairs, translator.tokenizer, max_length=LONGEST, shuffle=False)
    began = time.perf_counter()
    translations = translator.translate([source for source, _ in pairs], batch_size, search)
    seconds = time.perf_counter() - began
    hypotheses = [translation.text for translation in translations]
    bleu, chrf = BLEU(), CHRF()
    references = [[target for _, target in pairs]]
    return Evaluation(
        bleu=bleu.corpus_score(hypotheses, references).score,
        chrf=chrf.corpus_score(hypotheses, references).score,
        bleu_signature=str(bleu.get_signature()),
        chrf_signature=str(chrf.get_signature()),
        perplexity=perplexity(translator.model, batches),
        sentences=len(pairs),
        skipped=batches.skipped.empty,
        cut=sum(not translation.finished for translation in translations) / len(pairs),
        seconds=seconds,
        translations=translations,
    )


def perplexity(model, batches):
    """exp(mean -log p) of the target tokens, each after the true ones before it.

    Args:
        model: A `Seq2Seq`.
        batches: `BatchedPairs`.

    Returns:
        Float.
    """
    metric = Perplexity()

    dataset = batches.epoch(0)

    @tf.function(input_signature=dataset.element_spec)
    def update(inputs, target_out, weight):
        metric.update_state(target_out, model(inputs, training=False), weight)

    for batch in dataset:
        update(*batch)
    return float(metric.result())
