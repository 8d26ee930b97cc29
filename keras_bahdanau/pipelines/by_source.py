"""The pipeline that goes with a source: its own class, with the methods that users expect."""

from keras_bahdanau.pipelines.file import find_translator, read_card, read_pipeline
from keras_bahdanau.pipelines.image_to_text import ImageToText
from keras_bahdanau.pipelines.pipeline import Pipeline
from keras_bahdanau.pipelines.speech_to_text import SpeechToText
from keras_bahdanau.pipelines.translator import Translator

KINDS = (Translator, ImageToText, SpeechToText)


def pipeline_of(source, model, target, search=None, metrics=None):
    """A pipeline of these parts: a `Translator` for text, an `ImageToText` for images, and so on.

    Args:
        source: A `Source`.
        model: A `Seq2Seq`, or an `Ensemble`.
        target: The `Subwords` of the target text.
        search: `SearchOptions`, or None.
        metrics: Tuple of names of metrics; None for those of the class.
    """
    return kind_of(source)(source, model, target, search, metrics)


def kind_of(source):
    """The class of `pipeline_of` for a source."""
    return next((kind for kind in KINDS if isinstance(source, kind.source_class)), Pipeline)


def load_pipeline(path, precision=None):
    """Load the pipeline of a `.keras` file, whatever its source is.

    Args:
        path: Path of the file, or of the directory of a training, whose best model is loaded.
        precision: String, "float32" or "bfloat16", of the model's weights and products; None
            for that in which it was saved. bfloat16 takes half of the memory, is faster where a
            processor has its products, and changes some of the texts.

    Raises:
        FileNotFoundError: If there is none.
        ValueError: If it is not a pipeline's file, or a damaged one; or if there is no such
            precision.

    Example:
        >>> pipeline = load_pipeline("runs/formulas")
    """
    path = find_translator(path)
    return pipeline_of(*read_pipeline(path, precision)).with_record(read_card(path))
