"""Compile and run the C and C++ programs in `export`."""

import importlib
import shutil
import subprocess
from pathlib import Path

import pytest

KIT = Path(__file__).parents[2] / "export" / "on_device"
LIBRARY = Path(importlib.import_module("ai_edge_litert").__file__).parent / "libLiteRt.so"
STRICT = ("-Wall", "-Wextra", "-Werror")


def missing():
    """Return the name of something that the build needs and this machine lacks, or None."""
    if not LIBRARY.is_file():
        return LIBRARY.name
    for tool in ("gcc", "g++", "cmake", "pkg-config"):
        if shutil.which(tool) is None:
            return tool
    for package in ("libpng", "sentencepiece"):
        if subprocess.run(["pkg-config", "--exists", package]).returncode:
            return package
    return None


LACKING = missing()
needs_compiler = pytest.mark.skipif(LACKING is not None, reason=f"needs {LACKING}")


def build(path, *targets):
    """Build the on-device programs, or only `targets`, in a new directory, as their README says."""
    subprocess.run(["cmake", "-S", KIT, "-B", path, f"-DLITERT={LIBRARY}"], check=True)
    named = ["--target", *targets] if targets else []
    subprocess.run(["cmake", "--build", path, *named], check=True)


def answer(command, data=b""):
    """Run a command; return its exit code, output lines, and error lines without LiteRT's."""
    done = subprocess.run([*map(str, command)], input=data, capture_output=True)
    complaints = [line for line in done.stderr.splitlines() if not line.startswith(b"INFO: ")]
    return done.returncode, done.stdout.decode().split("\n"), [c.decode() for c in complaints]


def answer_of_full(command, data=b""):
    """Run a command that writes to /dev/full; return its exit code and last line of errors."""
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*map(str, command)], input=data, stdout=full, stderr=subprocess.PIPE)
    return done.returncode, done.stderr.decode().splitlines()[-1]
