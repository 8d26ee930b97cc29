"""Speech in, text out: a pipeline whose source is recordings."""

from keras_bahdanau.pipelines.pipeline import Pipeline
from keras_bahdanau.sources.audio_source import AudioSource


class SpeechToText(Pipeline):
    """A trained model that transcribes speech, saved as one `.keras` file.

    ```python
    speech = keras_bahdanau.SpeechToText.load("an4.keras")
    print(speech.transcribe([pathlib.Path("hello.wav")])[0].text)
    ```

    Args:
        source: An `AudioSource`.
        model: A `Seq2Seq`, or an `Ensemble` of several.
        target: The `Subwords` of the text.
        search: `SearchOptions`; the defaults when left out.

    Raises:
        TypeError: If a part is none of these.
        ValueError: If the model was not trained with this source and target.
    """

    verb = "transcribe"
    plural = "recordings"
    source_class = AudioSource
    metrics = ("wer", "cer")

    def transcribe(self, recordings, batch_size=64, search=None, prefixes=None):
        """Find the best text for each recording: see `Pipeline.decode`.

        Args:
            recordings: List of recordings: bytes of a WAV or FLAC file, paths
                (`pathlib.Path`), or pairs (samples, rate). One that can't be read, or has no
                sample, gives an empty text.
            batch_size: Positive integer. Recordings transcribed at once.
            search: `SearchOptions` in place of the pipeline's own.
            prefixes: List of strings, one a recording: the beginning of its text.

        Returns:
            List of `Translation`, one a recording.
        """
        return self.decode(recordings, batch_size, search, prefixes)
