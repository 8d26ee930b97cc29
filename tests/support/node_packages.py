"""Find and run Node and its npm packages, in the directory's node_modules or in NODE_PATH."""

import shutil
import subprocess
from pathlib import Path


def package(name):
    """Return the path of a package's main file, or "" if the package is not installed."""
    command = ["node", "-p", f"require.resolve('{name}')"]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def lacking(*names):
    """Return "node" or a package, if this machine lacks it; otherwise None."""
    if shutil.which("node") is None:
        return "node"
    missing = next((name for name in names if not package(name)), None)
    return missing and f"{missing} in node_modules or NODE_PATH"


def directory_of(name):
    """Return the directory that contains the node_modules in which npm installed a package."""
    return next(one.parent for one in Path(package(name)).parents if one.name == "node_modules")


def run(program, *arguments, content=b"", folder=None):
    """Run a program in Node; return its exit code, output lines and standard error."""
    done = subprocess.run(
        ["node", program, *map(str, arguments)], input=content, capture_output=True, cwd=folder
    )
    return done.returncode, done.stdout.decode().splitlines(), done.stderr.decode()
