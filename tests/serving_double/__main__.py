"""Run the double as a separate process that doesn't import Python TensorFlow."""

import argparse
import json
import signal
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
    rest_server, rest_port = rest.serve(
        models,
        options.rest_api_port,
        options.rest_api_num_threads,
        options.rest_api_timeout_in_ms / 1000,
    )
    threading.Thread(target=rest_server.serve_forever, daemon=True).start()
    print(json.dumps({"grpc": grpc_port, "rest": rest_port}), flush=True)
    _wait(options.end_with_stdin)
    grpc_server.stop(None)
    rest_server.shutdown()


def _wait(end_with_stdin):
    """Wait for SIGTERM or Ctrl-C, or with `end_with_stdin` for the end of standard input."""
    if end_with_stdin:
        sys.stdin.read()
        return
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    ended.wait()


def _parser():
    """Return a parser for the server's flags that the double supports, and for --end_with_stdin."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.serving_double",
        description="A test double of TensorFlow's model server, on 127.0.0.1. Its flags are those "
        "of the server, but for --end_with_stdin. It prints its ports as JSON when it is ready.",
        allow_abbrev=False,
    )
    parser.add_argument("--port", type=int, default=8500, help="of gRPC; 0 for a free one [8500]")
    parser.add_argument("--rest_api_port", type=int, default=0, help="0 for a free one [0]")
    for name, explanation in {
        "model_config_file": "which models, versions and labels: as models.config, with the "
        "base_path of a directory of versions",
        "batching_parameters_file": "with --enable_batching: as batching.config",
        "monitoring_config_file": "is read and checked, without effect",
    }.items():
        required = name == "model_config_file"
        parser.add_argument(f"--{name}", type=Path, required=required, help=explanation)
    for name, explanation in {
        "enable_batching": "merge requests into batches",
        "enable_per_model_batching_parameters": "take each version's batching_params.pbtxt",
        "allow_version_labels_for_unavailable_models": "without effect: all versions are loaded "
        "before the double is ready",
        "end_with_stdin": "end when the standard input does, not only at SIGTERM or Ctrl-C",
    }.items():
        parser.add_argument(
            f"--{name}", type=_flag, nargs="?", const=True, default=False, help=explanation
        )
    for name, default, explanation in (
        ("model_config_file_poll_wait_seconds", None, "without effect"),
        ("max_num_load_retries", None, "without effect: a version that can't be loaded ends it"),
        ("rest_api_timeout_in_ms", 30_000, "how long a batch may wait, and then run [30000]"),
        ("rest_api_num_threads", None, "how many requests of REST are taken at once [all]"),
        ("grpc_max_threads", None, "without effect"),
    ):
        parser.add_argument(f"--{name}", type=int, default=default, help=explanation)
    return parser


def _flag(text):
    return {"true": True, "1": True, "false": False, "0": False}[text.lower()]


if __name__ == "__main__":
    main()
