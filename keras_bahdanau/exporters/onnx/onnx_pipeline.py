"""ONNX files used as a `Pipeline` or `Translator`: the same methods, without a Keras model."""

from keras_bahdanau.exporters.litert.litert_pipeline import LiteRTPipeline, LiteRTTranslator
from keras_bahdanau.exporters.onnx.onnx_runner import OnnxRunner


class OnnxPipeline(LiteRTPipeline):
    """An .onnx file that `export_onnx` wrote, with the methods of a `Pipeline`.

    Arguments, attributes and errors: as in `LiteRTPipeline`, with ONNX Runtime instead.

    ```python
    reader = OnnxPipeline("formulas.onnx")
    print(reader.decode([pathlib.Path("formula.png")])[0].text)
    ```
    """

    opened = OnnxRunner

    @property
    def reads_target(self):
        """True: the vocabulary of the target is whole."""
        return True

    def _padded_length(self, rows):
        return max(1, int(rows.lengths[0]))  # a graph takes any length


class OnnxTranslator(OnnxPipeline, LiteRTTranslator):
    """An .onnx file that `export_onnx` wrote, with the methods of a `Translator`.

    The source needs no TensorFlow: ONNX Runtime, NumPy and SentencePiece are enough.

    ```python
    translator = OnnxTranslator("en-de.onnx")
    print(translator.translate(["A man in an orange hat."])[0].text)
    ```
    """


def open_onnx(path):
    """The `OnnxTranslator` or `OnnxPipeline` of an .onnx file, which is read once."""
    runner = OnnxRunner(path)
    return onnx_runner_of(runner.card)(runner)


def onnx_runner_of(card):
    """The class that runs a file, by its card: `OnnxTranslator` of texts, else the base."""
    return OnnxPipeline if "source" in card else OnnxTranslator
