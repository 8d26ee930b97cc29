"""Print the table of `make platforms`: where the package and its extras can be installed.

For each platform and Python version, uv looks for a wheel of every dependency, at the
version in `constraints.txt`. uv evaluates environment markers for the given platform;
pip would evaluate them for the Python that runs it. Nothing is installed.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SUPPORTED = {
    "Linux x86-64": "x86_64-manylinux_2_28",
    "Linux aarch64": "aarch64-manylinux_2_28",
    "macOS arm64": "aarch64-apple-darwin",
    "Windows x86-64": "x86_64-pc-windows-msvc",
}
UNSUPPORTED = {"macOS x86-64": "x86_64-apple-darwin"}  # TensorFlow publishes no wheels for it
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
EXTRAS = (
    *("all", "litert", "plot", "audio", "dates", "digits", "fonts", "forecasting", "notebooks"),
    *("offline", "onnx", "serving", "tensorboard", "test"),
)
WITH_TENSORFLOW = ("all", "test")
COLUMNS = ("package", "with text", *EXTRAS)


def main():
    """Print one line for each platform.

    Returns:
        The exit code: 1 if the package or an extra resolves where it should not, or fails to
        resolve where it should; otherwise 0.
    """
    print(" " * 16 + "".join(f"{column:13}" for column in COLUMNS).rstrip(), flush=True)
    surprises = 0
    for name, platform in {**SUPPORTED, **UNSUPPORTED}.items():
        found = pythons_by_column(platform)
        line = "".join(f"{span(found[column]):13}" for column in COLUMNS)
        print(f"{name:16}{line}".rstrip(), flush=True)
        expected = list(PYTHONS) if name in SUPPORTED else []
        columns = ("package", *EXTRAS) if name in SUPPORTED else WITH_TENSORFLOW
        surprises += any(found[column] != expected for column in columns)
    return int(surprises > 0)


def pythons_by_column(platform):
    """Return a dictionary from column to the Python versions for which all wheels exist."""
    found = {column: [] for column in COLUMNS}
    for python in PYTHONS:
        if resolved(platform, python) is not None:
            found["package"].append(python)
        for extra in EXTRAS:
            packages = resolved(platform, python, "--extra", extra)
            if packages is not None:
                found[extra].append(python)
            if extra == "all" and "tensorflow-text" in (packages or ()):
                found["with text"].append(python)
    return found


def resolved(platform, python, *options):
    """Return the names of the packages that would be installed, or None if resolution fails.

    Args:
        platform: String. A value of `uv pip compile --python-platform`.
        python: String, such as "3.11".
        *options: Strings. Additional options of `uv pip compile`.

    Raises:
        RuntimeError: If uv fails for another reason, such as an unreachable package index.
    """
    command = [sys.executable, "-m", "uv", "pip", "compile", "pyproject.toml"]
    command += ["--constraint", "constraints.txt", "--only-binary", ":all:"]
    command += ["--python-platform", platform, "--python-version", python, *options]
    command += ["--no-python-downloads", "--no-header", "--no-annotate", "--quiet"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if answer.returncode == 0:
        return {line.split("==")[0] for line in answer.stdout.splitlines()}
    if "No solution found" in answer.stderr:
        return None
    raise RuntimeError(
        f"uv must resolve the package, or find that it cannot. Received: {answer.stderr.strip()}"
    )


def span(pythons):
    """Return a list of Python versions in short form, such as "3.10-3.13"."""
    if pythons == list(PYTHONS):
        return f"{PYTHONS[0]}-{PYTHONS[-1]}"
    return ",".join(pythons) or "no"


if __name__ == "__main__":
    sys.exit(main())
