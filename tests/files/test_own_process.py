"""Modules of this package run in separate processes with any Python."""

import os
import subprocess
import sys
import venv

from keras_bahdanau.files.own_process import module_command


def test_a_python_without_the_package_runs_its_modules(tmp_path):
    venv.create(tmp_path / "env", with_pip=False, symlinks=os.name != "nt")
    python = tmp_path / "env" / ("Scripts" if os.name == "nt" else "bin") / "python"
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    assert sys.prefix not in os.fspath(python)
    command = module_command(python, "keras_bahdanau.files.own_process")
    done = subprocess.run(command, env=alone, cwd=tmp_path, capture_output=True, encoding="utf-8")
    assert (done.returncode, done.stderr) == (0, "")
