"""Run the kit for TensorFlow Serving with the double in place of the server."""

import contextlib
import importlib
import json
import re
import sys
from pathlib import Path

import pytest

from serving_double import configuration
from serving_double.process import started

KIT = Path(__file__).parents[2] / "export" / "tf_serving"
DOCKERFILE = (KIT / "Dockerfile").read_text(encoding="utf-8")
CONFIGURATIONS = {
    "models.config": configuration.ModelServerConfig,
    "batching.config": configuration.BatchingParameters,
    "monitoring.config": configuration.MonitoringConfig,
}
CLIENTS = {"client_rest": "http://localhost:{rest}", "client_grpc": "localhost:{grpc}"}


@contextlib.contextmanager
def programs():
    """Yield the modules of the kit by name; they can import each other."""
    names = (*CLIENTS, "load")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(KIT)
        yield {name: importlib.import_module(name) for name in names}
    for name in names:
        del sys.modules[name]


@contextlib.contextmanager
def served(model, place, flags=()):
    """Yield the ports of a double that serves a model with the configuration of the Dockerfile.

    Args:
        model: Path of a directory of versions.
        place: Path of a directory for the configuration files.
        flags: List of strings. Flags that extend or override those of the Dockerfile.
    """
    for name in CONFIGURATIONS:
        text = (KIT / name).read_text(encoding="utf-8")
        (place / name).write_text(text.replace("/models/translator", str(model)), encoding="utf-8")
    _, *usual = json.loads(re.search(r"ENTRYPOINT (\[.*?\])", re.sub(r"\\\n", "", DOCKERFILE))[1])
    usual = [flag.replace("=/config/", f"={place}/") for flag in usual]
    with started([*usual, *flags]) as ports:
        yield ports
