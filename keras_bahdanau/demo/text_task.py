"""Text demo: a generated English-French corpus."""

from keras_bahdanau.demo.corpus import split, write
from keras_bahdanau.demo.task import Task
from keras_bahdanau.text import alignments
from keras_bahdanau.training import TrainingOptions

OPTIONS = TrainingOptions(
    vocabulary_size=1200,
    embedding_units=96,
    units=192,
    attention_units=96,
    when="before",  # the step of the paper, which the README explains
    dropout=0.1,
    embedding_dropout=0.1,
    recurrent_dropout=0.0,
    word_dropout=0.0,
    label_smoothing=0.05,
    batch_tokens=1200,
    learning_rate=3e-3,
    ema_momentum=0.99,
    epochs=12,
    minutes=10,
)


class TextTask(Task):
    """The task of translating English to French, with gold word alignments."""

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

    def measure(self, pipeline, test, results):
        """Return BLEU and exact match of the translations, and the alignment error rate."""
        import sacrebleu

        texts = [result.text for result in results]
        references = [example.target for example in test]
        links = [
            alignments.word_links(pair.source_tokens, pair.target_tokens, pair.alignment)
            for pair in pipeline.align([self.pair(example) for example in test])
        ]
        error_rate = alignments.alignment_error_rate(
            links, [example.sure for example in test], [example.possible for example in test]
        )
        # the corpus is already tokenized
        bleu = sacrebleu.corpus_bleu(texts, [references], tokenize="none", force=True)
        exact = [text == reference for text, reference in zip(texts, references, strict=True)]
        return {
            "bleu": round(bleu.score, 2),
            "exact_match": sum(exact) / len(exact),
            "alignment_error_rate": round(error_rate, 4),
        }

    def highlights(self, test):
        """Return the indices of an elision, a negation, and a longer sentence with reordering."""

        def first(condition):
            return next(number for number, example in enumerate(test) if condition(example))

        return [
            first(lambda example: "l'" in example.target),
            first(lambda example: "n'" in example.target),
            first(_reorders),
        ]

    def picture(self, pipeline, test, results):
        from keras_bahdanau.plotting import plot_alignment

        return plot_alignment(results[self.highlights(test)[-1]], words=True)

    def summary(self, report):
        return (
            f"BLEU {report['bleu']:.1f}, {report['exact_match']:.1%} of the translations exact, "
            f"alignment error rate {report['alignment_error_rate']:.3f}"
        )

    def next_commands(self, out):
        model, test = out / "translator.keras", out / "data" / "test.en"
        return f"""\
  keras-bahdanau translate --model {model} {test}
  keras-bahdanau align --model {model} "the old woman does not see \
my red car ." --plot picture.png
  keras-bahdanau train YOUR.source YOUR.target --out runs/mine"""


def _reorders(example):
    """Return True for a sentence of twelve words with a negation and crossing links."""
    twelve = len(example.target.split()) == 12
    links = sorted(example.sure)
    crosses = any(i < k and j > m for i, j in links for k, m in links)
    return twelve and " pas " in example.target and crosses
