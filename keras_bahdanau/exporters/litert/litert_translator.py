"""A LiteRT file in place of a `Translator`: the methods that the commands call, without Keras."""

import contextlib

from keras_bahdanau.exporters.litert.on_device import OnDeviceTranslator
from keras_bahdanau.pipelines.translation import Translation
from keras_bahdanau.text.subwords import Subwords
from keras_bahdanau.text.vocabulary import END


class LiteRTTranslator:
    """A .tflite file that `export_litert` wrote, with the methods of a `Translator`.

    The file translates one sentence at a time, by the search that it was exported with. A
    sentence with more tokens than `longest` is cut to so many, its end token kept:
    `too_long` names it.

    ```python
    translator = LiteRTTranslator("en-de.tflite")
    print(translator.translate(["A man in an orange hat."])[0].text)
    ```

    Args:
        path: Path of the file.

    Attributes:
        source: The words of sentences, as a `Source` of text gives them.
        target: `Subwords` of the target text.
        longest: Integer, most tokens of a sentence, the end token included.
        model: None: the file gives no probabilities of given texts.

    Raises:
        FileNotFoundError: If there is no such file.
        ImportError: If `ai-edge-litert` is not installed.
        ValueError: If the file is damaged, or holds no translator.
    """

    model = None

    def __init__(self, path):
        self._path = path
        with _failing_in_one_line(path):
            self._runner = OnDeviceTranslator(path)
            self._runner.translate([""])  # so that a model that can't run fails now
        card, files = self._runner.card, self._runner.files
        self.longest = card["max_source_length"]
        source, target = (files[card["vocabularies"][side]] for side in ("source", "target"))
        self._subwords, self.target = Subwords(source), Subwords(target)
        self.source = _Words(self._subwords, self.longest)

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
            return [[self._translate(ids)] for ids in self._encode(sentences)]

    def too_long(self, sentences):
        """The sentences that are cut: list of (index, number of tokens)."""
        counts = map(len, self._encode(sentences))
        return [(row, count) for row, count in enumerate(counts) if count > self.longest]

    def _encode(self, sentences):
        return self._subwords.encode(sentences, end_of_empty=False)

    def _translate(self, ids):
        if len(ids) > self.longest:
            ids = [*ids[: self.longest - 1], END]
        labels = self._subwords.tokens(ids).tolist()
        return Translation(**self._runner.decode({"source": ids}, labels)._asdict())


class _Words:
    """The words of a text on the source side, cut as the translator cuts it."""

    def __init__(self, subwords, longest):
        self._subwords, self._longest = subwords, longest

    def words(self, sentences):
        """The words that each token stands for: see `Subwords.words`."""
        kept = [*range(self._longest - 1), -1]  # the end token's row last
        spans = self._subwords.words(sentences, end_of_empty=False)
        return [each[kept] if len(each) > self._longest else each for each in spans]

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
