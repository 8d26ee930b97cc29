"""Import the message classes of the server's interfaces without importing TensorFlow."""

import importlib.util
import sys
import types

import grpc  # noqa: F401  before TensorFlow's C++ library, so that their symbols don't mix

# The API package imports messages from `tensorflow.core`, which would import Python TensorFlow; in
# its process, SavedModels don't run as they do in the server. During these imports, `tensorflow` is
# a package with a path but without `__init__`: the message modules only need protobuf.
_package = types.ModuleType("tensorflow")
_package.__path__ = importlib.util.find_spec("tensorflow").submodule_search_locations
sys.modules["tensorflow"] = _package
try:
    from tensorflow.core.framework import tensor_pb2, types_pb2
    from tensorflow.core.protobuf import saved_model_pb2
    from tensorflow_serving.apis import (
        get_model_metadata_pb2,
        get_model_status_pb2,
        predict_pb2,
        prediction_service_pb2_grpc,
    )
finally:
    del sys.modules["tensorflow"]

__all__ = [
    "get_model_metadata_pb2",
    "get_model_status_pb2",
    "predict_pb2",
    "prediction_service_pb2_grpc",
    "saved_model_pb2",
    "tensor_pb2",
    "types_pb2",
]
