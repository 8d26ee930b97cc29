"""Text in, text out: a pipeline whose source is text."""

from keras_bahdanau.pipelines.pipeline import Pipeline
from keras_bahdanau.sources.text_source import TextSource


class Translator(Pipeline):
    """A trained model with the vocabularies of its texts, saved as one `.keras` file.

    ```python
    translator = keras_bahdanau.Translator(source, model, target)
    result = translator.translate(["A man in an orange hat."])[0]
    translator.save("en-de.keras")
    translator = keras_bahdanau.Translator.load("en-de.keras")
    ```

    Args:
        source: The `Subwords` of the source text, or a `TextSource`.
        model: A `Seq2Seq`, or an `Ensemble` of several.
        target: The `Subwords` of the target text.
        search: `SearchOptions`; the defaults when left out.

    Raises:
        TypeError: If a part is none of these.
        ValueError: If the model was not trained with vocabularies of these sizes.
    """

    verb = "translate"
    noun = "translation"
    plural = "sentences"
    source_class = TextSource

    def translate(self, sentences, batch_size=64, search=None, prefixes=None):
        """Find the best translation of each sentence, or draw one if the options say so.

        Args:
            sentences: List of strings, in any number and order; an empty one
                gives an empty translation.
            batch_size: Positive integer. Sentences translated at once.
            search: `SearchOptions` in place of the translator's own.
            prefixes: List of strings, one a sentence: the beginning of its translation; ""
                for a free one.

        Returns:
            List of `Translation`, one a sentence.

        Raises:
            TypeError: If `sentences` is one string, or holds something else.
            ValueError: If there are not as many prefixes as sentences.
        """
        return self.decode(sentences, batch_size, search, prefixes)

    def translate_nbest(self, sentences, nbest=None, batch_size=64, search=None, prefixes=None):
        """Find the best few translations of each sentence, best first.

        Draws at random come as they are drawn. They depend on the seed and
        the sentence alone: it has the same ones in any batch.

        Args:
            sentences: List of strings.
            nbest: Integer; at most, and by default, the beam width. An empty
                sentence has one translation, which is empty.
            batch_size: Positive integer. Sentences translated at once.
            search: `SearchOptions` in place of the translator's own.
            prefixes: List of strings, as in `translate`.

        Returns:
            List of lists of `Translation`.

        Raises:
            TypeError: If `sentences` is one string, or holds something else.
            ValueError: If `nbest` is larger than the beam, or there are not as
                many prefixes as sentences.
        """
        return self.decode_nbest(sentences, nbest, batch_size, search, prefixes)
