"""`export_litert`, `export_onnx`, `export_saved_model`, for a `Pipeline` or a built Keras model."""

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

_COMPARED = "sentences", "references"  # of pipelines


def export_litert(model, path, quantization=None, allow_differences=False, say=None, **settings):
    """Write a LiteRT file for phones, with built-in operations only.

    A **Keras model**, Functional, Sequential or subclassed, keeps its inputs and outputs under
    their names, as the signature `serving_default`; each tensor is float32, int32, uint8 or int8.
    Ids out of an `Embedding`'s range are clipped. The file is compared with Keras on `examples`, or
    on drawn inputs: in float32 each output must be within 1e-5 of its largest value (or of 1), or
    as close as Keras is to itself with differently rounded weights.
    `keras_bahdanau.runners.ArrayModel` runs the file, without TensorFlow.

    ```python
    export_litert(keras_model, "mine.tflite", quantization="int8", length=40)
    ```

    The main signature of a **Pipeline** is `decode`, of a `Translator` `translate`. It maps the
    features of one input, for text `source` int32 `(1, max_source_length)`, right-padded with 0,
    to the outputs of `device_signatures.decode_on_device`. All shapes are fixed, and every
    tensor is float32 or int32: `finished` and masks are 0 or 1. The SentencePiece models are packed
    after the model.

    Both have LiteRT's standard metadata and a card (`card.json`) in a zip archive after the model,
    which `zipfile` and the LiteRT metadata libraries read.

    Args:
        model: A `Pipeline`, or a built `keras.Model`.
        path: Path of the file, which must not exist.
        quantization: None for float32, "float16" for weights of 16 bits, or
            "int8" for weights of 8 bits and activations in float32 (dynamic range): a matrix
            product rounds each row of its input to 8 bits, a convolution does not. "int4" is the
            same with matrices of 4 bits and a scale for each output: see `four_bits`. It changes
            some answers, fewer for a pipeline trained with `quantization_aware` and
            `quantization="int4"`, and needs TensorFlow Lite 2.17 or LiteRT.
        allow_differences: True to write a float32 file even if its answers differ from Keras'; a
            quantized file may always differ.
        say: Function of one string, which reports the comparison; None for none.
        **settings: Those of the kind of model, below.

    Settings of a Keras model:
        batch_size: Positive integer, 1 by default; None for any number of rows, which recurrent
            layers do not support.
        length: Positive integer, the size of each axis that the model leaves open; or a dictionary
            from names of inputs to sizes. By default these axes stay open: then LiteRT's
            Interpreter runs the file, but its CompiledModel does not. A subclassed model has the
            lengths of its first call; "dynamic" leaves them open.
        real_length: True for an additional input `length`, int32 `(batch,)`: the steps after it are
            padding, which changes no answer.
        signatures: Tuple of "serving_default", the model; "step", one time step per call with
            all states as inputs and outputs; "weights", the attention weights in addition to the
            outputs; and "train", which adds `infer`, `train` and `initial_state` for
            `keras_bahdanau.runners.Learner`: some layers learn, all others are frozen.
        trainable: List of the names of the layers that learn; the last `Dense` by default. They
            must come after the recurrent layers. Dropout is off, in training as well.
        loss: As for `model.compile`; by default the model's own, or the crossentropy of its
            classes.
        optimizer: "sgd", "adam", or a plain `keras.optimizers.SGD` or `Adam`; by default the
            model's own, or SGD if it is not compiled.
        learning_rate: Positive float, by default the optimizer's.
        labels: List of the names of its classes, for the card.
        examples: Inputs for the comparison, as in `model.predict`; or a list of dictionaries from
            names to arrays `(batch, ...)`, which may differ in length.

    Settings of a pipeline:
        max_source_length: Positive integer. Most positions of a source, including the end token of
            a text; by default the source's own limit, 64 tokens for text.
        max_target_length: Positive integer. Most target tokens, including the end token; 64 by
            default.
        sentences: List of inputs of the source for the comparison, after its edge cases.
        references: List of their translations, or texts, for the pipeline's metrics.
        signatures: Tuple of additional signatures: "greedy" for `translate_greedy`, a beam of 1;
            "nbest" for `translate_nbest` and "prefix" for `translate_prefix`, the best few texts,
            and those that begin with a prefix, by `device_signatures.decode_nbest_on_device`;
            "steps" for `encode` and `decode_step`, of hosts that drive the loop themselves. Each
            adds some 20 kB, since all share the weights, and one to two seconds of conversion.

    Returns:
        Path of the file.

    Raises:
        FileExistsError: If the file exists.
        ImportError: If `ai-edge-litert` is not installed.
        TypeError: If `model` is neither, or a setting does not fit it.
        ValueError: If the path does not end in .tflite; if a setting is out of range, or
            `references` are not as many as `sentences`; if the model can't be converted, with the
            layer that is in the way; if the file would be refused by a phone, or answers
            differently and `allow_differences` is False.
    """
    kinds = LiteRTExporter, LiteRTModelExporter
    settings = {"quantization": quantization, **settings}
    return _export("export_litert", kinds, model, path, allow_differences, say, settings)


def export_onnx(model, path, quantization=None, allow_differences=False, say=None, **settings):
    """Write an ONNX file with only ONNX's standard operations: one graph, for any number of rows.

    A **Keras model** keeps its inputs and outputs with their names; an output with the name of an
    input gets the suffix `_out`. Dtypes and comparison are as in `export_litert`.
    `keras_bahdanau.runners.ArrayModel` runs the file, without TensorFlow.

    ```python
    export_onnx(keras_model, "mine.onnx")
    ```

    The graph of a **Pipeline** has the whole search inside: `pipeline_graph` lists its inputs and
    outputs. It gives the best few texts with their scores, confidences and alignments; the first is
    the answer. The SentencePiece models are in the metadata.

    Both have a card in their metadata.

    Args:
        model: A `Pipeline`, whose search options are frozen in the graph; or a built `keras.Model`.
        path: Path of the file, which must not exist.
        quantization: None for float32, or "int8" for weights of matrix products in 8 bits, by
            ONNX Runtime's dynamic quantizer: products round their inputs to 8 bits, too.
            Differences from Keras are reported, but do not stop the export.
        allow_differences: As in `export_litert`.
        say: As in `export_litert`.
        **settings: Those of the kind of model, below.

    Settings of a Keras model:
        batch_size: Positive integer; any number of rows by default.
        length: As in `export_litert`.
        real_length: As in `export_litert`.
        signatures: "serving_default", "step" or "weights", as in `export_litert`: one of them.
        labels: As in `export_litert`.
        examples: As in `export_litert`.

    Settings of a pipeline:
        max_source_length: Integer from 1 to 100,000. Most source positions, beyond which the graph
            cuts a row; by default that of the pipeline's search.
        sentences: As in `export_litert`.
        references: As in `export_litert`.
        signatures: ("prefix",) for a graph with two more inputs: the ids that each text begins
            with, and how many of them count, 0 for a free text.
        greedy: True to choose the best token at each step instead of the pipeline's beam search.

    Returns:
        Path of the file.

    Raises:
        FileExistsError: If the file exists.
        ImportError: If `tf2onnx`, `onnx` or `onnxruntime` is not installed.
        TypeError: If `model` is neither, or a setting does not fit it.
        ValueError: If the path does not end in .onnx; if a setting is out of range; if an operation
            can't be converted, with the layer that is in the way; if the file answers differently
            and `allow_differences` is False.
    """
    kinds = OnnxExporter, OnnxModelExporter
    settings = {"quantization": quantization, **settings}
    return _export("export_onnx", kinds, model, path, allow_differences, say, settings)


def export_saved_model(model, directory, allow_differences=False, say=None, **settings):
    """Write the next version of a model for TensorFlow Serving, after checks.

    A **Keras model** keeps its inputs and outputs with their names, as the signature
    `serving_default`, with any batch. With a `source` and `labels` it reads strings, images or
    sounds, and answers the label with its probability. The comparison is that of `export_litert`.

    ```python
    export_saved_model(keras_model, "models/mood", source=source, labels=["bad", "good"])
    ```

    A **Pipeline** answers the signatures of `served_signatures.served`, up to 64 rows at a time. A
    row that is too long is cut without affecting others, and marked in the output `truncated`.

    The version is checked for anything that a server would reject, loaded with the server's C++
    loader in a clean process, and compared with Keras; its warm-up is replayed. Only then is it
    renamed to its number.

    Args:
        model: A `Pipeline`, whose search options are frozen in the graph; or a built `keras.Model`.
        directory: Path of the model; its versions are "1", "2", ... in it.
        allow_differences: True to publish a version that does not answer as Keras does.
        say: As in `export_litert`.
        **settings: Those of the kind of model, below.

    Settings of a Keras model:
        length: As in `export_litert`.
        real_length: As in `export_litert`; a server may pad such requests.
        signatures: As in `export_litert`.
        source: A `Source`, whose features the model reads: in its only input, or in inputs with the
            names of the features. A longer input than the model's, or else the source's `longest`,
            is cut, and marked in the output `truncated`.
        labels: List of the names of the classes of its only output, two of them for a single
            number. The answer is `label`, `probability` and `probabilities`.
        from_logits: True if the output is logits; by default the activation of the last layer
            tells.
        max_batch_size: Positive integer, 1024 by default. Most rows of a request.
        examples: As in `export_litert`; with a `source` a list of raw inputs.

    Settings of a pipeline:
        max_source_length: Integer from 1 to 100,000. Most source positions, the end token of a text
            included; by default that of the pipeline's search. Of a text no more than 32 bytes a
            position, or 512 if that is more, are read.
        sentences: As in `export_litert`.
        references: As in `export_litert`.
        signatures: Tuple of further signatures: "prefix" for `translate_prefix`, the best few texts
            that begin with a given one; "alignments" for `translate_nbest_with_alignment` and,
            with "prefix", `translate_prefix_with_alignment`: their tokens and alignments, too, in
            answers that are many times as large.

    Returns the path of the new version.

    Raises:
        FileExistsError: If `directory` holds anything other than versions.
        TypeError: If `model` is neither, or a setting does not fit it.
        ValueError: If a setting is out of range, or `references` are not as many as `sentences`; if
            the version would be refused by a server, or answers differently and `allow_differences`
            is False.
    """
    kinds = SavedModelExporter, KerasSavedModelExporter
    return _export("export_saved_model", kinds, model, directory, allow_differences, say, settings)


def _export(title, kinds, model, path, allow_differences, say, settings):
    """Write one format; `kinds` are its exporters of a pipeline and of a Keras model."""
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
    """True for a `Pipeline`, False for a Keras model; TypeError for a path."""
    import keras  # which takes its time

    if isinstance(model, str | os.PathLike):
        raise TypeError(
            f"`model` must be a Pipeline or a keras.Model. Received: model={os.fspath(model)!r}. "
            "Give load_pipeline(path), or keras.saving.load_model(path)."
        )
    return hasattr(model, "model") and not isinstance(model, keras.layers.Layer)
