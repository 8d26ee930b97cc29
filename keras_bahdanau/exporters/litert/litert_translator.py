"""A LiteRT file in place of a `Translator`: the methods that the commands call, without Keras."""

from keras_bahdanau.exporters.card import read_packed_card
from keras_bahdanau.exporters.litert.litert_pipeline import LiteRTPipeline
from keras_bahdanau.text.copies import are_characters
from keras_bahdanau.text.features import place_in_card
from keras_bahdanau.text.host_text import HostText
from keras_bahdanau.text.subwords import Subwords


class LiteRTTranslator(LiteRTPipeline):
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

    verb = "translate"
    noun = "translation"
    plural = "sentences"
    needs_tensorflow = False
    translate = LiteRTPipeline.decode
    translate_nbest = LiteRTPipeline.decode_nbest

    @property
    def copies_characters(self):
        """True if what is copied is a character, and not a whole word."""
        return are_characters(self.source.subwords, self.target)

    def _read_source(self, card, files):
        if "source" not in card["vocabularies"]:
            raise ValueError("it has no vocabulary of the source: it is no translator")
        return _Text(Subwords(files[card["vocabularies"]["source"]]), place_in_card(card))


def runner_of(path):
    """The class that runs a .tflite file: `LiteRTTranslator` of texts, else `LiteRTPipeline`.

    Args:
        path: Path of the file.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it holds no card.
    """
    return LiteRTPipeline if "source" in read_packed_card(path) else LiteRTTranslator


class _Text(HostText):
    """The source side, as `TextSource` has it, which loads TensorFlow."""

    examples = [""]

    def named(self, ids):
        """Dictionary from the name of the input to the ids."""
        return {"source": ids}
