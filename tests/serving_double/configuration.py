"""Read the server's configuration files, which are protocol buffer messages in text format."""

from google.protobuf import (
    descriptor_pb2,
    descriptor_pool,
    message_factory,
    text_format,
    wrappers_pb2,
)
from tensorflow_serving.config.model_server_config_pb2 import ModelServerConfig

__all__ = ["BatchingParameters", "ModelServerConfig", "MonitoringConfig", "read"]

# The API package has no classes for two of the files. Names and types are copied from the server's
# session_bundle_config.proto and monitoring_config.proto; text format doesn't use field numbers.
_NUMBER, _WORDS, _YES = ".google.protobuf.Int64Value", ".google.protobuf.StringValue", "bool"
_FIELDS = {
    "BatchingParameters": {
        "max_batch_size": _NUMBER,
        "batch_timeout_micros": _NUMBER,
        "max_enqueued_batches": _NUMBER,
        "num_batch_threads": _NUMBER,
        "thread_pool_name": _WORDS,
        "allowed_batch_sizes": "int64",
        "pad_variable_length_inputs": _YES,
        "enable_large_batch_splitting": ".google.protobuf.BoolValue",
        "max_execution_batch_size": _NUMBER,
    },
    "PrometheusConfig": {"enable": _YES, "path": "string"},
    "MonitoringConfig": {"prometheus_config": ".serving_double.PrometheusConfig"},
}


def _classes():
    file = descriptor_pb2.FileDescriptorProto(
        name="serving_double.proto",
        package="serving_double",
        syntax="proto3",
        dependency=[wrappers_pb2.DESCRIPTOR.name],
    )
    kinds = descriptor_pb2.FieldDescriptorProto
    for message, fields in _FIELDS.items():
        described = file.message_type.add(name=message)
        for number, (name, kind) in enumerate(fields.items(), start=1):
            repeated = name == "allowed_batch_sizes"
            field = described.field.add(name=name, number=number)
            field.label = kinds.LABEL_REPEATED if repeated else kinds.LABEL_OPTIONAL
            if kind.startswith("."):
                field.type, field.type_name = kinds.TYPE_MESSAGE, kind
            else:
                field.type = kinds.Type.Value(f"TYPE_{kind.upper()}")
    pool = descriptor_pool.Default()
    pool.AddSerializedFile(file.SerializeToString())
    described = pool.FindFileByName(file.name).message_types_by_name
    return [message_factory.GetMessageClass(described[name]) for name in _FIELDS]


BatchingParameters, _, MonitoringConfig = _classes()


def read(path, message_class):
    """Return the message in a file; as in the server, an unknown field is an error."""
    return text_format.Parse(path.read_text(encoding="utf-8"), message_class())
