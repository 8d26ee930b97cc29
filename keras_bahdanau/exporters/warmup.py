"""Warm-up records: requests that a server answers before it says it is ready.

The first request of each signature is slow, and users should not be the ones
to send it. TensorFlow Serving replays the file
`assets.extra/tf_serving_warmup_requests` of a version, a TFRecord of
`tensorflow.serving.PredictionLog`, and refuses the version if one fails.
"""

import tensorflow as tf

FILE = "assets.extra/tf_serving_warmup_requests"

# Field numbers of tensorflow_serving/apis: prediction_log.proto, predict.proto, model.proto.
# Written by hand, since the package that has these messages is for clients.
_PREDICT_LOG, _REQUEST = 6, 1
_MODEL_SPEC, _INPUTS = 1, 2
_NAME, _SIGNATURE_NAME = 1, 3
_KEY, _VALUE = 1, 2


def write_warmup(path, name, requests):
    """Writes the records.

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
