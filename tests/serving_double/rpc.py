"""The gRPC `PredictionService`: Predict and GetModelMetadata."""

from concurrent.futures import ThreadPoolExecutor

import grpc

from serving_double.errors import Refused
from serving_double.messages import (
    get_model_metadata_pb2,
    predict_pb2,
    prediction_service_pb2_grpc,
)
from serving_double.tensors import to_array, to_tensor

THREADS = 256


def serve(models, port):
    """Start a server on 127.0.0.1; return it and its port."""
    server = grpc.server(ThreadPoolExecutor(THREADS))
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(_Service(models), server)
    port = server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    return server, port


class _Service(prediction_service_pb2_grpc.PredictionServiceServicer):
    def __init__(self, models):
        self._models = models

    def Predict(self, request, context):
        with _Told(context):
            number, version = self._find(request.model_spec)
            name, _ = version.signature(request.model_spec.signature_name)
            inputs = {key: to_array(tensor) for key, tensor in request.inputs.items()}
            response = predict_pb2.PredictResponse()
            response.model_spec.name = request.model_spec.name
            response.model_spec.signature_name = name
            response.model_spec.version.value = number
            for key, array in version.run(name, inputs).items():
                response.outputs[key].CopyFrom(to_tensor(array))
            return response

    def GetModelMetadata(self, request, context):
        with _Told(context):
            if list(request.metadata_field) != ["signature_def"]:
                raise Refused(
                    "INVALID_ARGUMENT",
                    "GetModelMetadataRequest must specify at least one metadata_field"
                    if not request.metadata_field
                    else f"Metadata field {request.metadata_field[0]} is not supported",
                )
            return metadata(request.model_spec.name, *self._find(request.model_spec))

    def _find(self, spec):
        number = spec.version.value if spec.HasField("version") else None
        return self._models.find(spec.name, number, spec.version_label)


def metadata(name, number, version):
    """Return the `GetModelMetadataResponse` for a version."""
    signatures = get_model_metadata_pb2.SignatureDefMap()
    for key, signature in version.meta_graph.signature_def.items():
        signatures.signature_def[key].CopyFrom(signature)
    response = get_model_metadata_pb2.GetModelMetadataResponse()
    response.model_spec.name = name
    response.model_spec.version.value = number
    response.metadata["signature_def"].Pack(signatures)
    return response


class _Told:
    """Context manager that reports a `Refused` to the gRPC client."""

    def __init__(self, context):
        self._context = context

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        if isinstance(error, Refused):
            self._context.abort(grpc.StatusCode[error.code], str(error))
