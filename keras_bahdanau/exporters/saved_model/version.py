"""One version of a SavedModel on the disk: the graph, and what a server reads beside it.

The first request of each signature is slow, and users should not be the ones
to send it. TensorFlow Serving replays the file
`assets.extra/tf_serving_warmup_requests` of a version, a TFRecord of
`tensorflow.serving.PredictionLog`, and refuses the version if one fails.
"""

import numpy as np
import tensorflow as tf

from keras_bahdanau.exporters import signatures
from keras_bahdanau.exporters.card import card_of
from keras_bahdanau.exporters.saved_model.saved_model_exporter import BATCH, write_card

WARMUP = "assets.extra/tf_serving_warmup_requests"
BATCHING = f"""\
# Requests that come within `batch_timeout_micros` of each other are answered together.
max_batch_size {{ value: {BATCH} }}
batch_timeout_micros {{ value: 5000 }}
max_enqueued_batches {{ value: 100 }}
pad_variable_length_inputs: true
"""

# Field numbers of tensorflow_serving/apis: prediction_log.proto, predict.proto, model.proto.
# Written by hand, since the package that has these messages is for clients.
_PREDICT_LOG, _REQUEST = 6, 1
_MODEL_SPEC, _INPUTS = 1, 2
_NAME, _SIGNATURE_NAME = 1, 3
_KEY, _VALUE = 1, 2


def write_version(translator, path):
    """Writes the SavedModel with its warm-up, its batching settings and its card.

    Args:
        translator: A `Translator`.
        path: Path of the version, in a directory that has the model's name.
    """
    functions = {
        signature: signatures.traced(translator, function, arguments)
        for signature, (function, arguments) in signatures.SERVED.items()
    }
    tf.saved_model.save(signatures.weights_of(translator), str(path), signatures=functions)
    (path / WARMUP).parent.mkdir()
    write_warmup(path / WARMUP, path.parent.name, warmup_requests())
    (path / "batching_params.pbtxt").write_text(BATCHING)
    inputs = {name: sorted(arguments) for name, (_, arguments) in signatures.SERVED.items()}
    write_card(path, {**card_of(translator), "signatures": inputs, "parity": []})


def warmup_requests():
    """One request for each signature."""
    text = np.array([b"a", b"a b c"], dtype=object)
    ids = np.array([[signatures.UNKNOWN] * 4] * 2, dtype=np.int32)
    values = {
        "text": text,
        "target": text,
        "source": ids,
        "source_length": np.array([4, 2], dtype=np.int32),
    }
    requests = []
    for name, (_, arguments) in signatures.SERVED.items():
        given = {argument: values[argument] for argument in arguments}
        if name == "score_pair":
            given["source"] = text
        requests.append((name, given))
    return requests


def write_warmup(path, name, requests):
    """Writes the records of a warm-up.

    Args:
        path: Path of the file.
        name: The model's name.
        requests: List of (signature, {argument: array}).
    """
    with tf.io.TFRecordWriter(str(path)) as writer:
        for signature, arguments in requests:
            writer.write(_prediction_log(name, signature, arguments))


def _prediction_log(name, signature, arguments):
    spec = _field(_NAME, name.encode()) + _field(_SIGNATURE_NAME, signature.encode())
    request = _field(_MODEL_SPEC, spec)
    for key, value in arguments.items():
        tensor = tf.make_tensor_proto(value).SerializeToString()
        request += _field(_INPUTS, _field(_KEY, key.encode()) + _field(_VALUE, tensor))
    return _field(_PREDICT_LOG, _field(_REQUEST, request))


def _field(number, content):
    """A length-delimited field of a protocol buffer message."""
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value):
    digits = b""
    while value > 127:
        digits += bytes([value & 127 | 128])
        value >>= 7
    return digits + bytes([value])
