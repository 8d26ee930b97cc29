"""Use ONNX files like a `Pipeline` or `Translator`, but without a Keras model."""

from keras_bahdanau.exporters.litert.litert_pipeline import LiteRTPipeline, LiteRTTranslator
from keras_bahdanau.exporters.onnx.onnx_runner import OnnxRunner


class OnnxPipeline(LiteRTPipeline):
    """An .onnx file that `export_onnx` wrote, with the methods of a `Pipeline`.

    Arguments, attributes and errors are as in `LiteRTPipeline`, but ONNX Runtime runs the file.

    ```python
    reader = OnnxPipeline("formulas.onnx")
    print(reader.decode([pathlib.Path("formula.png")])[0].text)
    ```
    """

    opened = OnnxRunner

    @property
    def reads_target(self):
        """True, since the file contains the complete target vocabulary."""
        return True

    def _padded_length(self, rows):
        return max(1, int(rows.lengths[0]))  # a graph accepts any length


class OnnxTranslator(OnnxPipeline, LiteRTTranslator):
    """An .onnx file that `export_onnx` wrote, with the methods of a `Translator`.

    It needs ONNX Runtime, NumPy and SentencePiece, but not TensorFlow.

    ```python
    translator = OnnxTranslator("en-de.onnx")
    print(translator.translate(["A man in an orange hat."])[0].text)
    ```
    """


def open_onnx(path):
    """Open an .onnx file, which is read once, as an `OnnxTranslator` or `OnnxPipeline`."""
    runner = OnnxRunner(path)
    return onnx_runner_of(runner.card)(runner)


def onnx_runner_of(card):
    """Return the class that runs a file with this card: `OnnxTranslator` if it reads text."""
    return OnnxPipeline if "source" in card else OnnxTranslator
