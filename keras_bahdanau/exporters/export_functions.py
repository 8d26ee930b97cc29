"""Export functions for a `Pipeline` or a built Keras model, one for each format."""

import dataclasses
import os

from keras_bahdanau.exporters.keras_models.litert_model import LiteRTModelExporter
from keras_bahdanau.exporters.keras_models.model_exporter import export_keras_model
from keras_bahdanau.exporters.keras_models.onnx_model import OnnxModelExporter
from keras_bahdanau.exporters.keras_models.saved_model_model import KerasSavedModelExporter
from keras_bahdanau.exporters.litert.litert_exporter import LiteRTExporter
from keras_bahdanau.exporters.onnx.onnx_exporter import OnnxExporter
from keras_bahdanau.exporters.publishing import export
from keras_bahdanau.exporters.saved_model.saved_model_exporter import SavedModelExporter
from keras_bahdanau.settings.guesses import unknown_keyword
from keras_bahdanau.settings.lazy import missing_package

_COMPARED = "sentences", "references"  # settings of a pipeline's comparison


def export_litert(model, path, quantization=None, allow_differences=False, say=None, **settings):
    """Write a LiteRT file for phones that uses only built-in operations.

    A **Keras model** (Functional, Sequential or subclassed) keeps the names of its inputs and
    outputs in the signature `serving_default`; each tensor is float32, int32, uint8 or int8. Ids
    outside the range of an `Embedding` are clipped. The file is compared with Keras on `examples`
    or on random inputs. A float32 output may differ by at most 1e-5 of its largest value (or of 1,
    if that is larger), or by as much as Keras differs from itself with differently rounded weights.
    `keras_bahdanau.runners.ArrayModel` runs the file without TensorFlow.

    ```python
    export_litert(keras_model, "mine.tflite", quantization="int8", length=40)
    ```

    The main signature of a **Pipeline** is `decode`, or `translate` for a `Translator`. It maps the
    features of one input to the outputs of `device_signatures.decode_on_device`. The features of
    text are `source`, int32 `(1, max_source_length)`, right-padded with 0. All shapes are fixed,
    and every tensor is float32 or int32; `finished` and masks are 0 or 1. The SentencePiece models
    are appended to the file.

    Both kinds of file contain LiteRT's standard metadata. A zip archive after the model contains a
    card (`card.json`); `zipfile` and the LiteRT metadata libraries can read it.

    Args:
        model: A `Pipeline`, or a built `keras.Model`.
        path: Path of the file, which must not exist yet.
        quantization: None for float32, "float16" for 16-bit weights, "int8" for 8-bit weights
            and float32 activations (dynamic range): a matrix product rounds each row of its input
            to 8 bits, but a convolution does not. "int4" is like "int8", but with 4-bit matrices
            that have one scale per output: see `four_bits`. It changes some answers; these are
            fewer if a pipeline was trained with `quantization_aware` and `quantization="int4"`.
            Such files need TensorFlow Lite 2.17 or LiteRT.
        allow_differences: True to write a float32 file even if its answers differ from those of
            Keras. The answers of a quantized file are always allowed to differ.
        say: Function of one string that reports the comparison, or None for no report.
        **settings: Settings for the kind of model, listed below.

    Settings of a Keras model:
        batch_size: Positive integer, 1 by default; None for any number of rows, which recurrent
            layers do not support.
        length: Positive integer, the size of each axis that the model leaves open; or a dictionary
            from names of inputs to sizes. By default these axes stay open: then LiteRT's
            Interpreter runs the file, but its CompiledModel does not. The default for a subclassed
            model is the lengths in its first call; "dynamic" leaves them open.
        real_length: True to add an input `length`, int32 `(batch,)`. The steps after this length
            are padding, which does not affect the answer.
        signatures: Tuple of any of the following: "serving_default", the model; "step", one time
            step per call, with all states as inputs and outputs; "weights", the outputs and the
            attention weights; and "train", which adds `infer`, `train` and `initial_state` for
            `keras_bahdanau.runners.Learner`: some layers learn, and all others are frozen.
        trainable: List of the names of the layers that learn; the last `Dense` by default. They
            must come after the recurrent layers. Dropout is off, even in training.
        loss: As in `model.compile`. By default, the loss that the model was compiled with, or the
            crossentropy of its classes.
        optimizer: "sgd", "adam", or a plain `keras.optimizers.SGD` or `Adam`. By default, the
            optimizer that the model was compiled with, or SGD.
        learning_rate: Positive float. By default, the learning rate of the optimizer.
        labels: List of the names of the model's classes, which the card contains.
        examples: Inputs for the comparison, as in `model.predict`; or a list of dictionaries from
            names to arrays `(batch, ...)`, which may differ in length.

    Settings of a pipeline:
        max_source_length: Positive integer. Maximum number of source positions, including the end
            token of text. The default is the limit of the source, which is 64 tokens for text.
        max_target_length: Positive integer. Maximum number of target tokens, including the end
            token; 64 by default.
        sentences: List of inputs for the comparison, which also covers the source's edge cases.
        references: List of the translations of `sentences` (or their other target texts), for the
            pipeline's metrics.
        signatures: Tuple of additional signatures. "greedy" adds `translate_greedy`, which uses a
            beam of 1. "nbest" adds `translate_nbest`, the best few texts, and "prefix" adds
            `translate_prefix`, the best few texts that begin with a prefix: see
            `device_signatures.decode_nbest_on_device`. "steps" adds `encode` and `decode_step` for
            hosts that drive the loop themselves. Each of them adds only some 20 kB, since all share
            the weights, and one to two seconds of conversion.

    Returns:
        Path of the file.

    Raises:
        FileExistsError: If the file exists.
        ImportError: If `ai-edge-litert` is not installed.
        TypeError: If `model` is not a `Pipeline` or a Keras model, or does not have a setting.
        ValueError: If the path does not end in .tflite; if a setting is out of range; if the
            numbers of `references` and `sentences` differ; if the model can't be converted (the
            message names the layer responsible); if a phone would reject the file; or if the file
            answers differently and `allow_differences` is False.
    """
    kinds = LiteRTExporter, LiteRTModelExporter
    settings = {"quantization": quantization, **settings}
    return _export("export_litert", kinds, model, path, allow_differences, say, settings)


def export_onnx(model, path, quantization=None, allow_differences=False, say=None, **settings):
    """Write an ONNX file: one graph of standard ONNX operations, for any number of rows.

    A **Keras model** keeps the names of its inputs and outputs; an output with the name of an input
    gets the suffix `_out`. Dtypes and comparison are as in `export_litert`.
    `keras_bahdanau.runners.ArrayModel` runs the file without TensorFlow.

    ```python
    export_onnx(keras_model, "mine.onnx")
    ```

    The graph of a **Pipeline** contains the whole search. Its outputs are the best few texts with
    their scores, confidences and alignments; the first text is the answer. `pipeline_graph` lists
    all inputs and outputs. The metadata contains the SentencePiece models.

    The metadata of both kinds of file contains a card.

    Args:
        model: A `Pipeline`, whose search options are frozen in the graph; or a built `keras.Model`.
        path: Path of the file, which must not exist yet.
        quantization: None for float32, or "int8" for 8-bit weights in matrix products, by ONNX
            Runtime's dynamic quantizer: the products also round their inputs to 8 bits.
            Differences from Keras are reported, but do not stop the export.
        allow_differences: As in `export_litert`.
        say: As in `export_litert`.
        **settings: Settings for the kind of model, listed below.

    Settings of a Keras model:
        batch_size: Positive integer; any number of rows by default.
        length: As in `export_litert`.
        real_length: As in `export_litert`.
        signatures: One of "serving_default", "step" and "weights", as in `export_litert`.
        labels: As in `export_litert`.
        examples: As in `export_litert`.

    Settings of a pipeline:
        max_source_length: Integer from 1 to 100,000. Maximum number of source positions: the graph
            truncates longer rows. The default is the value in the pipeline's search options.
        sentences: As in `export_litert`.
        references: As in `export_litert`.
        signatures: ("prefix",) for a graph with two more inputs: the ids that each text must begin
            with, and how many of these count, 0 for an unconstrained text.
        greedy: True to choose the best token at each step instead of the pipeline's beam search.

    Returns:
        Path of the file.

    Raises:
        FileExistsError: If the file exists.
        ImportError: If `tf2onnx`, `onnx` or `onnxruntime` is not installed.
        TypeError: If `model` is not a `Pipeline` or a Keras model, or does not have a setting.
        ValueError: If the path does not end in .onnx; if a setting is out of range; if an operation
            can't be converted (the message names the layer responsible); or if the file answers
            differently and `allow_differences` is False.
    """
    kinds = OnnxExporter, OnnxModelExporter
    settings = {"quantization": quantization, **settings}
    return _export("export_onnx", kinds, model, path, allow_differences, say, settings)


def export_saved_model(model, directory, allow_differences=False, say=None, **settings):
    """Write the next version of a model for TensorFlow Serving, after checks.

    A **Keras model** keeps the names of its inputs and outputs in the signature `serving_default`,
    which accepts any batch size. If you pass a `source` and `labels`, the signature reads strings,
    images or recordings, and answers with the label and its probability. The comparison is as in
    `export_litert`.

    ```python
    export_saved_model(keras_model, "models/mood", source=source, labels=["bad", "good"])
    ```

    A **Pipeline** has the signatures listed in `served_signatures.served`, which accept up to 64
    rows at a time. A row that is too long is truncated without affecting other rows, and marked in
    the output `truncated`.

    The version is checked for anything that a server would reject. The server's C++ loader loads it
    in a clean process and replays its warm-up requests, and its answers are compared with Keras.
    Only then is it renamed to its version number.

    Args:
        model: A `Pipeline`, whose search options are frozen in the graph; or a built `keras.Model`.
        directory: Path of the model. It contains the versions "1", "2", ...
        allow_differences: True to publish a version even if its answers differ from Keras'.
        say: As in `export_litert`.
        **settings: Settings for the kind of model, listed below.

    Settings of a Keras model:
        length: As in `export_litert`.
        real_length: As in `export_litert`; it allows a server to pad requests.
        signatures: As in `export_litert`.
        source: A `Source` that computes the features for the model, which has either a single input
            or inputs with the names of the features. An input longer than the model's length (or
            else the source's `longest`) is truncated, and marked in the output `truncated`.
        labels: List of class names for the model's only output; two names if the output is a
            single number. The answer consists of `label`, `probability` and `probabilities`.
        from_logits: True if the output is logits. By default, this depends on the activation of
            the last layer.
        max_batch_size: Positive integer, 1024 by default. Maximum number of rows in a request.
        examples: As in `export_litert`; with a `source`, a list of raw inputs.

    Settings of a pipeline:
        max_source_length: Integer from 1 to 100,000. Maximum number of source positions, including
            the end token of text. The default is the value in the pipeline's search options. At
            most 32 bytes of text per position are read, or 512 bytes if that is more.
        sentences: As in `export_litert`.
        references: As in `export_litert`.
        signatures: Tuple of additional signatures. "prefix" adds `translate_prefix`, the best few
            texts that begin with a prefix. "alignments" adds `translate_nbest_with_alignment` and,
            with "prefix", `translate_prefix_with_alignment`, which also return tokens and
            alignments; their answers are many times larger.

    Returns:
        Path of the new version.

    Raises:
        FileExistsError: If `directory` contains anything other than versions.
        TypeError: If `model` is not a `Pipeline` or a Keras model, or does not have a setting.
        ValueError: If a setting is out of range; if the numbers of `references` and `sentences`
            differ; if a server would reject the version; or if the version answers differently and
            `allow_differences` is False.
    """
    kinds = SavedModelExporter, KerasSavedModelExporter
    return _export("export_saved_model", kinds, model, directory, allow_differences, say, settings)


def _export(title, kinds, model, path, allow_differences, say, settings):
    """Export to one format; `kinds` are its exporter classes for pipelines and Keras models."""
    is_pipeline = _is_pipeline(model)
    kind = kinds[0] if is_pipeline else kinds[1]
    names = [field.name for field in dataclasses.fields(kind)]
    known = [*names, *(_COMPARED if is_pipeline else ()), "allow_differences", "say"]
    for name, value in settings.items():
        if name not in known:
            raise unknown_keyword(f"{title}", name, value, known)
    exporter = kind(**{name: value for name, value in settings.items() if name in names})
    try:
        if not is_pipeline:
            return export_keras_model(exporter, model, path, allow_differences, say)
        compared = (settings.get(name) for name in _COMPARED)
        return export(exporter, model, path, *compared, allow_differences, say)
    except ModuleNotFoundError as error:
        if message := missing_package(title, error):
            raise ImportError(message, name=error.name) from None
        raise


def _is_pipeline(model):
    """Return True for a `Pipeline`, False for a Keras model. Raises TypeError for a path."""
    import keras  # slow to import

    if isinstance(model, str | os.PathLike):
        raise TypeError(
            f"`model` must be a Pipeline or a keras.Model. Received: model={os.fspath(model)!r}. "
            "Pass load_pipeline(path), or keras.saving.load_model(path)."
        )
    return hasattr(model, "model") and not isinstance(model, keras.layers.Layer)
