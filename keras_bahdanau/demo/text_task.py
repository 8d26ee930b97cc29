"""The demo of text: a generated English-French corpus."""

import sacrebleu

from keras_bahdanau.demo.corpus import split, write
from keras_bahdanau.demo.task import Task
from keras_bahdanau.plotting import plot_alignment
from keras_bahdanau.text import alignments
from keras_bahdanau.training import TrainingOptions

OPTIONS = TrainingOptions(
    vocabulary_size=1200,
    embedding_units=96,
    units=192,
    attention_units=96,
    when="before",  # the paper's own step: what the README's pictures explain
    dropout=0.1,
    embedding_dropout=0.1,
    recurrent_dropout=0.0,
    word_dropout=0.0,
    label_smoothing=0.05,
    batch_tokens=1200,
    learning_rate=3e-3,
    ema_momentum=0.99,
    epochs=12,
)


class TextTask(Task):
    """English to French, with gold word alignments."""

    options = OPTIONS
    verb = "Translating"

    def data(self):
        return split()

    def write(self, directory, name, examples):
        write(directory, name, examples)

    def describe(self, training):
        example = training[0]
        return f"{len(training):,} English-French pairs", (example.source, example.target)

    def pair(self, example):
        return example.source, example.target

    def name_of(self, example):
        return example.source

    def measured(self, pipeline, test, results):
        """BLEU and exact match of the translations, error rate of the alignments."""
        texts, references = (
            [result.text for result in results],
            [example.target for example in test],
        )
        read = pipeline.align([self.pair(example) for example in test])
        links = [
            alignments.word_links(pair.source_tokens, pair.target_tokens, pair.alignment)
            for pair in read
        ]
        error_rate = alignments.alignment_error_rate(
            links, [example.sure for example in test], [example.possible for example in test]
        )
        # the corpus comes tokenized, so that nothing is left for BLEU to tokenize
        bleu = sacrebleu.corpus_bleu(texts, [references], tokenize="none", force=True)
        exact = [text == reference for text, reference in zip(texts, references, strict=True)]
        return {
            "bleu": round(bleu.score, 2),
            "exact_match": sum(exact) / len(exact),
            "alignment_error_rate": round(error_rate, 4),
        }

    def examples(self, test):
        """An elision, a negation, and a longer sentence that reorders."""

        def first(wanted):
            return next(place for place, example in enumerate(test) if wanted(example))

        return [
            first(lambda example: "l'" in example.target),
            first(lambda example: "n'" in example.target),
            first(_reorders),
        ]

    def picture(self, pipeline, test, results):
        return plot_alignment(results[self.examples(test)[-1]], words=True)

    def summary(self, report):
        return (
            f"BLEU {report['bleu']:.1f}, {report['exact_match']:.1%} of the translations exact, "
            f"alignment error rate {report['alignment_error_rate']:.3f}"
        )

    def then(self, out):
        model, test = out / "translator.keras", out / "data" / "test.en"
        return f"""\
  keras-bahdanau translate --model {model} {test}
  keras-bahdanau align --model {model} "the old woman does not see \
my red car ." --plot picture.png
  keras-bahdanau train YOUR.source YOUR.target --out runs/mine"""


def _reorders(example):
    """Return True for twelve words with a negation, in which a word moved."""
    twelve = len(example.target.split()) == 12
    return twelve and " pas " in example.target and _crosses(example)


def _crosses(example):
    """Return True if a word moved to the other side of another one."""
    return any(
        source < other_source and target > other_target
        for source, target in example.sure
        for other_source, other_target in example.sure
    )
