"""Callback that plots the attention after each epoch."""

import io
from pathlib import Path

import keras

from keras_bahdanau.callbacks.metric import check_trained
from keras_bahdanau.optimizers.adam import averaged_weights


class AlignmentPlotCallback(keras.callbacks.Callback):
    """Callback that plots the attention for given translations after each epoch.

    The plots of all epochs show the same words. Inputs that can be drawn, such as images and
    speech, are shown with the attention over them. The files are named `epoch-001/1.png` and so on.
    With `tensorboard=True` (TensorFlow only), the callback instead writes an event file, which
    TensorBoard shows under "Images". Raises ValueError if the model in training is not the model of
    the translator.

    Args:
        translator: A `Translator` with the model to be trained.
        pairs: List of a few (input, target string) pairs.
        directory: Path of the output directory, which may already exist.
        words: Bool or None, as in `plot_alignment`.
        tensorboard: Bool. True to write an event file for TensorBoard.
    """

    def __init__(self, translator, pairs, directory, words=None, tensorboard=False):
        super().__init__()
        self.translator = translator
        self.pairs = list(pairs)
        self.directory = Path(directory)
        self.words = words
        self.tensorboard = tensorboard
        self._writer = None

    def on_train_begin(self, logs=None):
        check_trained(self.translator, self.model)

    def on_epoch_end(self, epoch, logs=None):
        with averaged_weights(self.translator.model):
            results = self.translator.align(self.pairs)
        pictures = [
            self._draw(result, self.translator.picture(source))
            for result, (source, _) in zip(results, self.pairs, strict=True)
        ]
        write = self._write_events if self.tensorboard else self._write_files
        write(epoch, pictures)

    def on_train_end(self, logs=None):
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _draw(self, result, picture):
        from keras_bahdanau.plotting import plot_alignment  # matplotlib is slow to import

        file = io.BytesIO()
        plot_alignment(result, picture, words=self.words).savefig(file, format="png")
        return file.getvalue()

    def _write_files(self, epoch, pictures):
        directory = self.directory / f"epoch-{epoch + 1:03d}"
        directory.mkdir(parents=True, exist_ok=True)
        for number, picture in enumerate(pictures, start=1):
            (directory / f"{number}.png").write_bytes(picture)

    def _write_events(self, epoch, pictures):
        import tensorflow as tf

        # as `tf.summary.image` does, which needs TensorBoard and arrays of pixels
        metadata = tf.compat.v1.SummaryMetadata(data_class="DATA_CLASS_BLOB_SEQUENCE")
        metadata.plugin_data.plugin_name = "images"
        self._writer = self._writer or tf.summary.create_file_writer(str(self.directory))
        with self._writer.as_default(step=epoch):
            for number, picture in enumerate(pictures, start=1):
                height, width, _ = tf.io.decode_png(picture).shape
                tensor = tf.constant([str(width), str(height), picture])
                tf.summary.write(f"alignment/{number}", tensor, metadata=metadata)
        self._writer.flush()
