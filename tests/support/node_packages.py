"""Node, and npm packages where they are: in node_modules of the directory, or in NODE_PATH."""

import shutil
import subprocess
from pathlib import Path


def package(name):
    """Path of the main file of a package, or "" if there is none."""
    command = ["node", "-p", f"require.resolve('{name}')"]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def lacking(*names):
    """The name of a thing that this machine lacks, or None: node, or a package."""
    if shutil.which("node") is None:
        return "node"
    missing = next((name for name in names if not package(name)), None)
    return missing and f"{missing} in node_modules or NODE_PATH"


def directory_of(name):
    """The directory in which npm installed a package: the one that holds its node_modules."""
    return next(one.parent for one in Path(package(name)).parents if one.name == "node_modules")


def run(program, *arguments, content=b"", folder=None):
    """(exit code, lines of standard output, standard error) of a program in Node."""
    done = subprocess.run(
        ["node", program, *map(str, arguments)], input=content, capture_output=True, cwd=folder
    )
    return done.returncode, done.stdout.decode().splitlines(), done.stderr.decode()
