"""A LiteRT file in place of a `Translator`: the methods that the commands call, without Keras."""

import contextlib

import numpy as np

from keras_bahdanau.exporters.litert.on_device import OnDeviceTranslator
from keras_bahdanau.pipelines.translation import Translation
from keras_bahdanau.text.byte_limit import text_limits
from keras_bahdanau.text.id_rows import cut_rows
from keras_bahdanau.text.subwords import Subwords


class LiteRTTranslator:
    """A .tflite file that `export_litert` wrote, with the methods of a `Translator`.

    The file translates one sentence at a time, by the search that it was exported with. A
    sentence that is too long for it is cut, its end token kept, and `truncated` says so.

    ```python
    translator = LiteRTTranslator("en-de.tflite")
    print(translator.translate(["A man in an orange hat."])[0].text)
    ```

    Args:
        path: Path of the file.

    Attributes:
        source: The side of the text, with the methods of a `Source` that need no model.
        target: `Subwords` of the target text.
        model: None: the file gives no probabilities of given texts.

    Raises:
        FileNotFoundError: If there is no such file.
        ImportError: If `ai-edge-litert` is not installed.
        ValueError: If the file is damaged, or holds no translator.
    """

    model = None
    verb = "translate"
    noun = "translation"
    plural = "sentences"
    metrics = ("bleu", "chrf")

    def __init__(self, path):
        self._path = path
        with _failing_in_one_line(path):
            self._runner = OnDeviceTranslator(path)
            self._runner.translate([""])  # so that a model that can't run fails now
        card, files = self._runner.card, self._runner.files
        self._longest = card["max_source_length"]
        source, target = (files[card["vocabularies"][side]] for side in ("source", "target"))
        self.source, self.target = _Text(Subwords(source)), Subwords(target)

    def longest(self, search=None):
        """Most tokens of a sentence, the end token included."""
        return self._longest

    def translate(self, sentences, batch_size=1, search=None, prefixes=None):
        """The best translation of each sentence.

        Args:
            sentences: List of strings. An empty one gives an empty translation.
            batch_size: Ignored: one sentence is translated at a time.
            search: None: the file has its own.
            prefixes: None.

        Returns:
            List of `Translation`, one a sentence.

        Raises:
            ValueError: If `search` or `prefixes` is given.
        """
        return [best for (best,) in self.translate_nbest(sentences, 1, 1, search, prefixes)]

    decode = translate

    def translate_nbest(self, sentences, nbest=1, batch_size=1, search=None, prefixes=None):
        """The same as lists of one `Translation`; `nbest` must be 1, all that the file gives.

        Raises:
            ValueError: If another one, `search` or `prefixes` is given.
        """
        check_fixed(nbest=None if nbest == 1 else nbest, search=search, prefixes=prefixes)
        with _failing_in_one_line(self._path):
            return [[self._translate(sentence)] for sentence in sentences]

    def words(self, sentences, longest=None):
        """The words that each token stands for: see `Subwords.words`."""
        return self.source.words(sentences, longest)

    def _translate(self, sentence):
        ids, truncated = self.source.cut(sentence, self._longest)
        labels = self.source.subwords.tokens(ids).tolist()
        translation = self._runner.decode({"source": ids}, labels)
        return Translation(**translation._asdict(), truncated=truncated)


class _Text:
    """The source side, as `TextSource` has it, which loads TensorFlow."""

    unit = "tokens"
    counted_in = "words"
    length_band = 5

    def __init__(self, subwords):
        self.subwords = subwords

    def cut(self, sentence, longest):
        """The ids of a sentence, at most `longest`, and True if it has more."""
        rows, (truncated,) = cut_rows(self.subwords, [sentence], longest, end_of_empty=False)
        (ids,) = rows.padded(np.arange(1), (1, int(rows.lengths[0])))
        return ids, bool(truncated)

    def limits(self, longest):
        """Dictionary: how long a sentence may be."""
        return text_limits(longest)

    def words(self, sentences, longest=None):
        """The words that each token stands for: see `Subwords.words`."""
        return self.subwords.words(sentences, end_of_empty=False, longest=longest)

    def sizes(self, sentences):
        """The lengths of sentences in words."""
        return [len(one.split()) for one in sentences]


def check_fixed(**options):
    """Check that nothing is asked of a .tflite file that its export has fixed.

    Args:
        **options: Values by name; None stands for what is not asked for.

    Raises:
        ValueError: If one is given.
    """
    asked = ", ".join(f"{name}={value!r}" for name, value in options.items() if value is not None)
    if asked:
        raise ValueError(
            "A .tflite file gives one translation of a sentence, by the search that it was "
            f"exported with. Received: {asked}. Leave it out, or give the .keras file."
        )


@contextlib.contextmanager
def _failing_in_one_line(path):
    """Give LiteRT's own errors, which have several lines, the form of this package's."""
    try:
        yield
    except (RuntimeError, ValueError) as error:
        if "Received: " in str(error):
            raise
        raise ValueError(
            "A .tflite file must be one that LiteRT can load and run. "
            f"Received: path={str(path)!r} ({' '.join(str(error).split())}). Export it again."
        ) from None
