"""A Triton repository contains the ONNX file and a configuration that follows Triton's schema."""

import importlib
from pathlib import Path

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format

FOLDER = Path(__file__).parents[3] / "export" / "onnx"

# Used fields of model_config.proto: name -> (number, type, repeated).
MESSAGES = {
    "Shape": {"shape": (1, "int64", True)},
    "Input": {
        "name": (1, "string", False),
        "data_type": (2, "DataType", False),
        "dims": (4, "int64", True),
        "reshape": (5, "Shape", False),
    },
    "Output": {
        "name": (1, "string", False),
        "data_type": (2, "DataType", False),
        "dims": (3, "int64", True),
        "reshape": (5, "Shape", False),
    },
    "Batching": {"max_queue_delay_microseconds": (2, "uint64", False)},
    "Group": {"kind": (4, "Kind", False), "count": (2, "int32", False)},
    "Parameter": {"string_value": (1, "string", False)},
    "Entry": {"key": (1, "string", False), "value": (2, "Parameter", False)},
    "Config": {
        "name": (1, "string", False),
        "max_batch_size": (4, "int32", False),
        "input": (5, "Input", True),
        "output": (6, "Output", True),
        "instance_group": (7, "Group", True),
        "default_model_filename": (8, "string", False),
        "dynamic_batching": (11, "Batching", False),
        "parameters": (14, "Entry", True),
        "backend": (17, "string", False),
    },
}
ENUMS = {
    "DataType": {
        **{"TYPE_INVALID": 0, "TYPE_BOOL": 1, "TYPE_UINT8": 2, "TYPE_INT32": 8, "TYPE_INT64": 9},
        **{"TYPE_FP16": 10, "TYPE_FP32": 11, "TYPE_STRING": 13},
    },
    "Kind": {"KIND_AUTO": 0, "KIND_GPU": 1, "KIND_CPU": 2, "KIND_MODEL": 3},
}
DTYPES = {"TYPE_INT32": "tensor(int32)", "TYPE_FP32": "tensor(float)", "TYPE_BOOL": "tensor(bool)"}


@pytest.fixture(scope="module")
def config_class():
    file = descriptor_pb2.FileDescriptorProto(name="triton.proto", package="t", syntax="proto3")
    for name, values in ENUMS.items():
        enum = file.enum_type.add(name=name)
        for value, number in values.items():
            enum.value.add(name=value, number=number)
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, (number, kind, repeated) in fields.items():
            entry = message.field.add(name=field, number=number, label=3 if repeated else 1)
            if kind in MESSAGES or kind in ENUMS:
                entry.type_name, entry.type = f".t.{kind}", 11 if kind in MESSAGES else 14
            else:
                entry.type = getattr(descriptor_pb2.FieldDescriptorProto, f"TYPE_{kind.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("t.Config"))


@pytest.fixture
def program(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module("triton_repository")


def test_the_configuration_has_each_tensor_of_the_file(
    toy_onnx, program, config_class, tmp_path, capsys
):
    import onnxruntime

    directory = tmp_path / "en-de"
    assert program.main([str(toy_onnx), str(directory)]) == 0
    assert capsys.readouterr().out.strip() == str(directory / "config.pbtxt")
    assert (directory / "1" / "model.onnx").read_bytes() == toy_onnx.read_bytes()
    config = text_format.Parse((directory / "config.pbtxt").read_text(), config_class())
    assert (config.name, config.backend, config.max_batch_size) == ("en-de", "onnxruntime", 64)
    session = onnxruntime.InferenceSession(toy_onnx)
    for tensors, values in (
        (config.input, session.get_inputs()),
        (config.output, session.get_outputs()),
    ):
        assert [tensor.name for tensor in tensors] == [value.name for value in values]
        for tensor, value in zip(tensors, values, strict=True):
            kinds = {number: name for name, number in ENUMS["DataType"].items()}
            assert DTYPES[kinds[tensor.data_type]] == value.type
            sizes = [size if isinstance(size, int) else -1 for size in value.shape[1:]]
            assert list(tensor.dims) == (sizes or [1])  # without the batch axis
            assert all(size == -1 or size > 0 for size in tensor.dims)
            if not sizes:
                assert tensor.HasField("reshape") and not tensor.reshape.shape


def test_what_is_no_file_and_no_name_is_refused_in_one_line(program, tmp_path, capsys):
    bad = tmp_path / "bad.onnx"
    bad.write_bytes(b"one\n")
    for path, directory, message in (
        (bad, tmp_path / "new", "An .onnx file must contain"),
        (bad, tmp_path / "a b", "letters, digits"),
        (bad, tmp_path, "must not exist yet"),
        (tmp_path / "none.onnx", tmp_path / "new", "none.onnx"),
    ):
        assert program.main([str(path), str(directory)]) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1 and message in error
    assert [path.name for path in tmp_path.iterdir()] == ["bad.onnx"]


def test_the_service_of_kserve_has_the_fields_of_its_kind():
    yaml = pytest.importorskip("yaml")
    service = yaml.safe_load((FOLDER / "inference_service.yaml").read_text())
    assert service["apiVersion"] == "serving.kserve.io/v1beta1"
    assert service["kind"] == "InferenceService" and set(service["metadata"]) == {"name"}
    predictor = service["spec"]["predictor"]
    assert set(service["spec"]) == {"predictor"} and predictor["minReplicas"] >= 1
    model = predictor["model"]
    assert set(model) == {
        *("modelFormat", "protocolVersion", "runtime", "storageUri", "resources"),
    }
    assert model["modelFormat"] == {"name": "triton", "version": "2"}
    assert (model["protocolVersion"], model["runtime"]) == ("v2", "kserve-tritonserver")
    assert model["storageUri"].startswith(("pvc://", "s3://", "gs://", "https://"))
    assert set(model["resources"]) == {"requests", "limits"}
