"""A virtual environment for each peer, made when it is first needed."""

import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = HERE / ".envs"
OURS = "ours"  # the Python that runs this: keras_bahdanau and stock Keras
PYTHONS = {"addons": "3.11", "opennmt_tf": "3.11"}  # old TensorFlow is not made for newer ones


class Unavailable(RuntimeError):
    """A peer's environment can't be made."""


def python_of(name, say=print):
    """The interpreter of an environment, which is made if it isn't there.

    Args:
        name: `OURS`, or a name in requirements/.
        say: Function of one string: where progress is told.

    Returns:
        Path.

    Raises:
        Unavailable: If it can't be made; the message is pip's last line.
    """
    if name == OURS:
        return pathlib.Path(sys.executable)
    folder, wanted = FOLDER / name, HERE / "requirements" / f"{name}.txt"
    python, done = folder / "bin" / "python", folder / "installed.txt"
    if done.exists() and done.read_text() == wanted.read_text():
        return python
    say(f"Installing {name} into {folder.relative_to(HERE.parent)}: this takes minutes.")
    _run(_base_python(name), "-m", "venv", "--clear", folder)
    pip = ("-m", "pip", "install", "--disable-pip-version-check", "--quiet")
    _run(python, *pip, "setuptools<81", "wheel")  # old packages still ask for pkg_resources
    _run(python, *pip, "-r", wanted)
    done.write_text(wanted.read_text())
    return python


def _base_python(name):
    version = PYTHONS.get(name)
    if version in (None, f"{sys.version_info.major}.{sys.version_info.minor}"):
        return sys.executable
    found = shutil.which(f"python{version}")
    if found is None:
        raise Unavailable(f"{name} needs Python {version}, and there is no python{version}")
    return found


def _run(*command):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True)
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise Unavailable(lines[-1] if lines else f"exit code {done.returncode}")


if __name__ == "__main__":
    for wanted in sys.argv[1:] or sorted(path.stem for path in (HERE / "requirements").glob("*")):
        print(wanted, python_of(wanted))
