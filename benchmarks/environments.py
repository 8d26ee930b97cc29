"""Virtual environments for the peers, each created when it is first needed."""

import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = HERE / ".envs"
OURS = "ours"  # the Python that runs this program, with keras_bahdanau and stock Keras
PYTHONS = {"addons": "3.11", "opennmt_tf": "3.11"}  # old TensorFlow doesn't support later versions


class Unavailable(RuntimeError):
    """Raised when the environment of a peer can't be created."""


def python_of(name, say=print):
    """Return the path of an environment's interpreter; create the environment if it is missing.

    Args:
        name: `OURS`, or the name of a file in requirements/.
        say: Function that receives each line of progress.

    Returns:
        Path of the interpreter.

    Raises:
        Unavailable: If the environment can't be created. If a command failed, the message is the
            last line of its output.
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
    _run(python, *pip, "setuptools<81", "wheel")  # old packages still need pkg_resources
    _run(python, *pip, "-r", wanted)
    done.write_text(wanted.read_text())
    return python


def _base_python(name):
    version = PYTHONS.get(name)
    if version in (None, f"{sys.version_info.major}.{sys.version_info.minor}"):
        return sys.executable
    found = shutil.which(f"python{version}")
    if found is None:
        raise Unavailable(f"{name} needs Python {version}, but python{version} was not found")
    return found


def _run(*command):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True)
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise Unavailable(lines[-1] if lines else f"exit code {done.returncode}")


if __name__ == "__main__":
    for wanted in sys.argv[1:] or sorted(path.stem for path in (HERE / "requirements").glob("*")):
        print(wanted, python_of(wanted))
