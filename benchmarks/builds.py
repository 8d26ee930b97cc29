"""Helpers for building runtimes: files of installed packages, libraries, and compilers."""

import importlib.metadata
import importlib.util
import subprocess
from pathlib import Path


def has(module):
    """Return True if a Python module is installed."""
    return importlib.util.find_spec(module) is not None


def files(*distributions):
    """Return the installed files of Python packages."""
    found = [one for name in distributions for one in importlib.metadata.files(name)]
    paths = [Path(one.locate()) for one in found]
    return [path for path in paths if path.is_file() and path.suffix != ".pyc"]


def litert():
    """Return the path of LiteRT's library."""
    return Path(importlib.util.find_spec("ai_edge_litert").origin).parent / "libLiteRt.so"


def tensorflow():
    """Return the directory of TensorFlow's Python package."""
    return Path(importlib.util.find_spec("tensorflow").origin).parent


def tensorflow_libraries():
    """Return the paths of TensorFlow's C library and of the library that it loads."""
    return [tensorflow() / f"libtensorflow_{kind}.so.2" for kind in ("cc", "framework")]


def linked(program, name):
    """Return the libraries that a program loads and whose lines in ldd contain a name."""
    lines = subprocess.run(["ldd", program], capture_output=True, text=True).stdout.splitlines()
    return [Path(line.split()[2]) for line in lines if name in line and "=>" in line]


def compiled(sources, folder, target):
    """Build a target of a CMakeLists.txt with LiteRT; return the reason if this fails, or ""."""
    if not has("ai_edge_litert"):
        return "needs ai-edge-litert"
    configure = ["cmake", "-S", sources, "-B", folder, f"-DLITERT={litert()}"]
    return failure(configure) or failure(["cmake", "--build", folder, "--target", target])


def failure(command):
    """Run a command; return the reason if it fails, or ""."""
    try:
        subprocess.run([*map(str, command)], check=True, capture_output=True, text=True)
    except OSError as error:
        return f"needs {error.filename}"
    except subprocess.CalledProcessError as error:
        return (error.stderr.strip().splitlines() or ["the compiler failed"])[-1]
    return ""


def size(path):
    """Return the size of a file, or of all files in a directory, in bytes."""
    path = Path(path)
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(one.stat().st_size for one in files if one.is_file())
