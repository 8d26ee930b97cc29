"""The messages of the server's interfaces."""

import importlib.util
import sys
import types

import grpc  # noqa: F401  before TensorFlow's C++ library, so that each keeps to its own symbols

# The API package takes messages from `tensorflow.core`, and importing those would import Python
# TensorFlow, beside which no SavedModel runs as in the server. So for these few lines `tensorflow`
# is a package that has a place but no `__init__`: files of messages need nothing but protobuf.
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
