"""Pipelines for text, images and speech, loading of their files, and ensembles of pipelines."""

import dataclasses

from keras_bahdanau.models import Ensemble
from keras_bahdanau.pipelines.archive import PipelineFile, open_pipeline_file
from keras_bahdanau.pipelines.file import read_pipeline
from keras_bahdanau.pipelines.pipeline import Pipeline
from keras_bahdanau.search.search_options import SearchOptions
from keras_bahdanau.settings.guesses import check_keywords
from keras_bahdanau.sources.audio_source import AudioSource
from keras_bahdanau.sources.image_source import ImageSource
from keras_bahdanau.sources.text_source import TextSource


@check_keywords(search=SearchOptions)
class Translator(Pipeline):
    """A trained model with its source and target vocabularies, saved as one `.keras` file.

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
        search: `SearchOptions`, or None for the default options.

    Raises:
        TypeError: If a part has the wrong type.
        ValueError: If the model was not trained with vocabularies of these sizes.
    """

    verb = "translate"
    noun = "translation"
    plural = "sentences"
    source_class = TextSource

    def translate(self, sentences, batch_size=64, search=None, prefixes=None):
        """Find the best translation of each sentence, or draw one, depending on the options.

        `sentences` is a list of strings; an empty string gives an empty translation. `search`
        replaces the options of the translator. `prefixes` contains one string per sentence, the
        beginning of its translation, or "" for no prefix. Returns a list of `Translation`. Raises
        TypeError if `sentences` is not a list of strings, and ValueError if the numbers of prefixes
        and sentences differ.
        """
        return self.decode(sentences, batch_size, search, prefixes)

    def translate_nbest(self, sentences, nbest=None, batch_size=64, search=None, prefixes=None):
        """Find the best few translations of each sentence, best first.

        Returns a list of lists of `Translation`, like `Pipeline.decode_nbest`.
        """
        return self.decode_nbest(sentences, nbest, batch_size, search, prefixes)


@check_keywords(search=SearchOptions)
class ImageToText(Pipeline):
    """A trained model that reads images, saved as one `.keras` file.

    The source is an `ImageSource`. See `Pipeline` for the arguments.

    ```python
    reader = keras_bahdanau.ImageToText.load("formulas.keras")
    print(reader.read([pathlib.Path("formula.png")])[0].text)
    ```
    """

    verb = "read"
    plural = "images"
    source_class = ImageSource
    metrics = ("exact", "wer")

    def read(self, images, batch_size=64, search=None, prefixes=None):
        """Find the best text for each image, and return a list of `Translation`.

        An image is the bytes of a PNG or JPEG file, a path (`pathlib.Path`), or an array
        `(height, width)` or `(height, width, 3)`. An unreadable image gives an empty text. See
        `Pipeline.decode` for the other arguments.
        """
        return self.decode(images, batch_size, search, prefixes)


@check_keywords(search=SearchOptions)
class SpeechToText(Pipeline):
    """A trained model that transcribes speech, saved as one `.keras` file.

    The source is an `AudioSource`. See `Pipeline` for the arguments.

    ```python
    speech = keras_bahdanau.SpeechToText.load("an4.keras")
    print(speech.transcribe([pathlib.Path("hello.wav")])[0].text)
    ```
    """

    verb = "transcribe"
    plural = "recordings"
    source_class = AudioSource
    metrics = ("wer", "cer")

    def transcribe(self, recordings, batch_size=64, search=None, prefixes=None):
        """Find the best text for each recording, and return a list of `Translation`.

        A recording is the bytes of a WAV or FLAC file, a path (`pathlib.Path`), or a pair (samples,
        rate). An unreadable or empty recording gives an empty text. See `Pipeline.decode` for the
        other arguments.
        """
        return self.decode(recordings, batch_size, search, prefixes)


KINDS = (Translator, ImageToText, SpeechToText)


def kind_of(source):
    """Return the pipeline class for a source."""
    return next((kind for kind in KINDS if isinstance(source, kind.source_class)), Pipeline)


def pipeline_of(source, model, target, search=None, metrics=None):
    """Return a `Translator` for text, an `ImageToText` for images, and so on.

    See `Pipeline` for the arguments.
    """
    return kind_of(source)(source, model, target, search, metrics)


@check_keywords()
def load_pipeline(path, precision=None):
    """Load the pipeline in a `.keras` file, with any kind of source.

    Args:
        path: Path of the file, or of the directory of a training run, whose best model is loaded.
        precision: String, "float32" or "bfloat16": the precision of the model's weights and matrix
            products. None for the saved precision. bfloat16 needs half the memory, is faster on
            processors that support it, and changes some of the texts.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is damaged or does not contain a pipeline, or if the precision is
            unknown.

    Example:
        >>> pipeline = load_pipeline("runs/formulas")
    """
    file = path if isinstance(path, PipelineFile) else open_pipeline_file(path)
    return pipeline_of(*read_pipeline(file, precision)).set_record(file.card)


@check_keywords(search=SearchOptions)
def ensemble(translators, search=None):
    """Combine pipelines into one; their models choose each token together (`models.Ensemble`).

    `translators` is a list of `Pipeline` objects, or of paths of their files, that have the same
    source and target. `search` defaults to the options of the first one, but without CTC unless all
    models have a CTC layer. Returns a pipeline for their source, such as a `Translator`. Raises
    ValueError if the list is empty, if a translator occurs twice, or if the vocabularies differ,
    and FileNotFoundError if a file is missing.

    Example:
        >>> translator = ensemble(["seed-1/translator.keras", "seed-2/translator.keras"])
        >>> translator.save("both.keras")
    """
    translators = [
        item if isinstance(item, Pipeline) else load_pipeline(item) for item in translators
    ]
    if not translators:
        raise ValueError("An ensemble must have at least one translator. Received: translators=[]")
    first = translators[0]
    check_same_sides([(translator.source, translator.target) for translator in translators])
    model = Ensemble([translator.model for translator in translators])
    if search is None:
        search = first.search
        if not model.source_limits.has_ctc:
            search = dataclasses.replace(search, ctc_weight=0.0)
    parts = first.source, model, first.target, search
    return pipeline_of(*parts, vars(first).get("metrics"))


def check_same_sides(sides):
    """Raise ValueError unless all (`Source`, `Subwords`) pairs of an ensemble are equal."""
    for number, pair in enumerate(sides[1:], start=2):
        if pair != sides[0]:
            raise ValueError(
                "The translators of an ensemble must have the same source and target. "
                f"Received: translator {number} with {_difference(pair, sides[0])}."
            )


def _difference(pair, first):
    vocabularies = [(getattr(source, "subwords", None), target) for source, target in (pair, first)]
    if pair[0] != first[0] and vocabularies[0] == vocabularies[1]:
        return (
            f"other source settings, {pair[0].card} instead of {first[0].card}. Train one of them "
            "again, on pairs of the same form"
        )
    return (
        "vocabularies that differ from the first. Train both on the same pairs with the same "
        "vocabulary settings"
    )
