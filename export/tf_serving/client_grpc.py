"""Translate with a model on TensorFlow Serving over gRPC, line by line.

    python client_grpc.py --label stable "A man in an orange hat."
    python client_grpc.py --label stable --file sentences.txt --alignment
    python client_grpc.py --label canary --nbest < sentences.txt
    python client_grpc.py --label stable --prefix "Ein M" "A man in an orange hat."
    python client_grpc.py --label stable --bytes audio_bytes hello.wav

It needs Python 3.10, `pip install tensorflow-serving-api`, and `client_rest.py` in the same
directory, whose command line, output and exit codes it shares. It does not need Keras.
"""

import math
import os
import sys

import client_rest
from client_rest import ANSWER_LIMIT, InputError, ServerError, checked, shortened


class GrpcServer:
    """A model in a server's gRPC API.

    Args:
        address: Address of the server, such as `"localhost:8500"`; `"dns:///name:8500"` spreads
            the requests over all addresses of a name.
        model: Name of the model.
        version: Integer, or None for the highest version that is loaded.
        label: Label of a version, such as `"stable"`, instead of its number.
        timeout: Maximum duration of a request in seconds.
    """

    def __init__(self, address, model, version=None, label=None, timeout=30.0):
        # The API package uses messages of TensorFlow, which takes seconds to load.
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        import grpc
        from tensorflow_serving.apis import model_pb2, prediction_service_pb2_grpc

        settings = [
            ("grpc.max_receive_message_length", ANSWER_LIMIT),  # the default is 4 MB
            ("grpc.lb_policy_name", "round_robin"),
        ]
        try:
            self._spec = model_pb2.ModelSpec(name=model, version_label=label)
            self._channel = grpc.insecure_channel(address, options=settings)
        except (UnicodeError, ValueError) as error:
            raise InputError(
                "Server, model and label must be text. Received: "
                f"server={address!r}, model={model!r}, label={label!r}. Correct them."
            ) from error
        self._stub = prediction_service_pb2_grpc.PredictionServiceStub(self._channel)
        if version is not None:
            self._spec.version.value = version
        self._address, self._timeout = address, timeout

    def predict(self, signature, rows):
        """Run a signature of the model, as `RestServer.predict` does."""
        import grpc
        import tensorflow as tf
        from tensorflow_serving.apis import predict_pb2

        request = predict_pb2.PredictRequest(model_spec=self._spec)
        request.model_spec.signature_name = signature
        for name in rows[0]:
            column = [_encoded(row[name]) for row in rows]
            request.inputs[name].CopyFrom(tf.make_tensor_proto(column))
        try:
            response = self._stub.Predict(request, timeout=self._timeout)
        except grpc.RpcError as error:
            raise ServerError(
                f"The server must answer. Received: {error.code().name} from {self._address}: "
                f"{shortened(error.details())}"
            ) from error
        columns = {
            name: _column(name, tensor, len(rows), self._address)
            for name, tensor in response.outputs.items()
        }
        answers = [
            dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
        ]
        return checked(signature, len(rows), answers, self._address)

    def close(self):
        """Close the connection."""
        self._channel.close()


def _column(name, tensor, rows, server):
    """Convert an output in an answer to a list with a value for each row."""
    import tensorflow as tf

    shape = [size.size for size in tensor.tensor_shape.dim]
    received = f"{name} of shape {shape} to {rows} rows"
    # check the size first: `make_ndarray` expands a single number to a large shape
    if shape[:1] == [rows] and 0 <= math.prod(shape) <= ANSWER_LIMIT // 4 and min(shape) >= 0:
        try:
            return _decoded(tf.make_ndarray(tensor).tolist())
        except (KeyError, OverflowError, TypeError, ValueError) as error:
            received = f"{name}: {shortened(error)}"
    raise ServerError(
        f"The server must answer each row. Received: {received} from {server}. Use another server."
    )


def _encoded(value):
    return value.encode("utf-8", "replace") if isinstance(value, str) else value


def _decoded(value):
    if isinstance(value, list):
        return [_decoded(item) for item in value]
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def from_options(options):
    """Create the `GrpcServer` for the options of a command line."""
    return GrpcServer(
        options.server, options.model, options.version, options.label, options.timeout
    )


def main(arguments=None):
    """Run the program, and return its exit code."""
    client_rest.prepare_streams()
    return client_rest.run(from_options, client_rest.parse(__doc__, "localhost:8500", arguments))


if __name__ == "__main__":
    sys.exit(main())
