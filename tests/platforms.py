"""The table that `make platforms` prints: where the package and its extras resolve.

For each platform and Python, uv looks for a wheel of every dependency, at the
version in `constraints.txt`. It reads markers for the platform in question;
pip would read them for the Python that runs it. Nothing is installed.
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
UNSUPPORTED = {"macOS x86-64": "x86_64-apple-darwin"}  # TensorFlow has no wheels for it
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
EXTRAS = (
    *("all", "litert", "plot", "audio", "dates", "digits", "fonts", "forecasting", "notebooks"),
    *("offline", "onnx", "serving", "tensorboard", "test"),
)
WITH_TENSORFLOW = ("all", "test")
COLUMNS = ("package", "with text", *EXTRAS)


def main():
    """Prints one line for each platform.

    Returns:
        The exit code: 1 if the package or an extra resolves where it should not, or does not
        where it should.
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
    """The Pythons that have everything: a dictionary from a column to a list of strings."""
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
    """The names of the packages that an installation would have; None if it is impossible.

    Args:
        platform: String, as `uv pip compile --python-platform` takes it.
        python: String, such as "3.11".
        *options: Strings, more options of `uv pip compile`.

    Raises:
        RuntimeError: If uv cannot tell, for example because it reaches no index.
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
    """The Pythons in short."""
    if pythons == list(PYTHONS):
        return f"{PYTHONS[0]}-{PYTHONS[-1]}"
    return ",".join(pythons) or "no"


if __name__ == "__main__":
    sys.exit(main())
