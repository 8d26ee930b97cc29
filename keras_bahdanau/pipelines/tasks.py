"""Pipelines for text, images and speech, their files, and ensembles of pipelines."""

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
        TypeError: If a part has another type.
        ValueError: If the model was not trained with vocabularies of these sizes.
    """

    verb = "translate"
    noun = "translation"
    plural = "sentences"
    source_class = TextSource

    def translate(self, sentences, batch_size=64, search=None, prefixes=None):
        """Find the best translation of each sentence, or draw one if the options say so.

        `sentences` are strings; an empty one gives an empty translation. `search` replaces the
        translator's own options. `prefixes` are strings, one per sentence: the beginning of its
        translation, or "" for none. Returns a list of `Translation`. Raises TypeError if
        `sentences` is not a list of strings; ValueError if there are not as many
        prefixes as sentences.
        """
        return self.decode(sentences, batch_size, search, prefixes)

    def translate_nbest(self, sentences, nbest=None, batch_size=64, search=None, prefixes=None):
        """Find the best few translations of each sentence, best first: lists of `Translation`.

        As in `Pipeline.decode_nbest`.
        """
        return self.decode_nbest(sentences, nbest, batch_size, search, prefixes)


@check_keywords(search=SearchOptions)
class ImageToText(Pipeline):
    """A trained model that reads images, in one `.keras` file; arguments as in `Pipeline`.

    The source is an `ImageSource`.

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
        """Find the best text for each image: a list of `Translation`.

        An image is bytes of a PNG or JPEG, a path (`pathlib.Path`), or an array `(height, width)`
        or `(height, width, 3)`. An unreadable image gives an empty text. Other arguments: as in
        `Pipeline.decode`.
        """
        return self.decode(images, batch_size, search, prefixes)


@check_keywords(search=SearchOptions)
class SpeechToText(Pipeline):
    """A trained model that transcribes speech, in one `.keras` file; arguments as in `Pipeline`.

    The source is an `AudioSource`.

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
        """Find the best text for each recording: a list of `Translation`.

        A recording is bytes of a WAV or FLAC file, a path (`pathlib.Path`), or a pair (samples,
        rate). An unreadable or empty recording gives an empty text. Other arguments: as in
        `Pipeline.decode`.
        """
        return self.decode(recordings, batch_size, search, prefixes)


KINDS = (Translator, ImageToText, SpeechToText)


def kind_of(source):
    """The pipeline class for a source."""
    return next((kind for kind in KINDS if isinstance(source, kind.source_class)), Pipeline)


def pipeline_of(source, model, target, search=None, metrics=None):
    """A `Translator` for text, an `ImageToText` for images, ...; arguments as in `Pipeline`."""
    return kind_of(source)(source, model, target, search, metrics)


@check_keywords()
def load_pipeline(path, precision=None):
    """Load the pipeline of a `.keras` file, with any kind of source.

    Args:
        path: Path of the file, or of the directory of a training, whose best model is loaded.
        precision: String, "float32" or "bfloat16", of the model's weights and products; None
            for the saved precision. bfloat16 needs half the memory, is faster on processors that
            support it, and changes some of the texts.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is damaged or not that of a pipeline, or the precision is
            unknown.

    Example:
        >>> pipeline = load_pipeline("runs/formulas")
    """
    file = path if isinstance(path, PipelineFile) else open_pipeline_file(path)
    return pipeline_of(*read_pipeline(file, precision)).set_record(file.card)


@check_keywords(search=SearchOptions)
def ensemble(translators, search=None):
    """A pipeline whose models choose each token together: see `models.Ensemble`.

    `translators` are `Pipeline`s, or paths of their files, with the same source and target.
    `search` defaults to the options of the first one, without CTC unless all have a CTC layer.
    Returns a pipeline for their source, such as a `Translator`. Raises ValueError if
    there is no translator, one occurs twice, or the vocabularies differ; FileNotFoundError if a
    file is missing.

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
    """Raise ValueError unless all (`Source`, `Subwords`) of an ensemble are the same."""
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
            f"other settings of the source, {pair[0].card} and not {first[0].card}. Train one of "
            "them again, on pairs of the same form"
        )
    return (
        "other vocabularies than the first. Train them on the same pairs, with the same vocabulary "
        "settings"
    )
