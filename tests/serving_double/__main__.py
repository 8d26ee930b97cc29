"""The double as a process of its own, which has no Python TensorFlow."""

import argparse
import json
import sys
import threading
from pathlib import Path

from serving_double import rest, rpc
from serving_double.configuration import (
    BatchingParameters,
    ModelServerConfig,
    MonitoringConfig,
    read,
)
from serving_double.models import Models


def main():
    options = _parser().parse_args()
    batching = None
    if options.enable_batching:
        file = options.batching_parameters_file
        batching = read(file, BatchingParameters) if file else BatchingParameters()
    if options.monitoring_config_file:
        read(options.monitoring_config_file, MonitoringConfig)
    models = Models(
        read(options.model_config_file, ModelServerConfig),
        batching,
        options.enable_per_model_batching_parameters,
    )
    grpc_server, grpc_port = rpc.serve(models, options.port)
    rest_server, rest_port = rest.serve(models, options.rest_api_port)
    threading.Thread(target=rest_server.serve_forever, daemon=True).start()
    print(json.dumps({"grpc": grpc_port, "rest": rest_port}), flush=True)
    sys.stdin.read()  # until the test that has started this process ends it, or dies
    grpc_server.stop(None)
    rest_server.shutdown()


def _parser():
    """The flags of the server that the double knows, with their defaults."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--port", type=int, default=8500)
    parser.add_argument("--rest_api_port", type=int, default=0)
    for name in ("model_config_file", "batching_parameters_file", "monitoring_config_file"):
        parser.add_argument(f"--{name}", type=Path)
    for name in (
        "enable_batching",
        "enable_per_model_batching_parameters",
        "allow_version_labels_for_unavailable_models",
    ):
        parser.add_argument(f"--{name}", type=_flag, nargs="?", const=True, default=False)
    for name in (  # known, and without effect here
        "model_config_file_poll_wait_seconds",
        "rest_api_timeout_in_ms",
        "rest_api_num_threads",
        "grpc_max_threads",
    ):
        parser.add_argument(f"--{name}", type=int)
    return parser


def _flag(text):
    return {"true": True, "1": True, "false": False, "0": False}[text.lower()]


if __name__ == "__main__":
    main()
