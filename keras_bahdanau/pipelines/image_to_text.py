"""Images in, text out: a pipeline whose source is images."""

from keras_bahdanau.pipelines.pipeline import Pipeline
from keras_bahdanau.sources.image_source import ImageSource


class ImageToText(Pipeline):
    """A trained model that reads images, saved as one `.keras` file.

    ```python
    reader = keras_bahdanau.ImageToText.load("formulas.keras")
    print(reader.read([pathlib.Path("formula.png")])[0].text)
    ```

    Args:
        source: An `ImageSource`.
        model: A `Seq2Seq`, or an `Ensemble` of several.
        target: The `Subwords` of the text.
        search: `SearchOptions`; the defaults when left out.

    Raises:
        TypeError: If a part is none of these.
        ValueError: If the model was not trained with this source and target.
    """

    verb = "read"
    plural = "images"
    source_class = ImageSource
    metrics = ("exact", "wer")

    def read(self, images, batch_size=64, search=None, prefixes=None):
        """Find the best text for each image: see `Pipeline.decode`.

        Args:
            images: List of images: bytes of a PNG or JPEG, paths (`pathlib.Path`), or arrays
                `(height, width)` or `(height, width, 3)`. One that can't be read gives an empty
                text.
            batch_size: Positive integer. Images read at once.
            search: `SearchOptions` in place of the pipeline's own.
            prefixes: List of strings, one an image: the beginning of its text.

        Returns:
            List of `Translation`, one an image.
        """
        return self.decode(images, batch_size, search, prefixes)
