"""The profile of a training step, at tiny size in a new process."""

import pathlib
import re
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "benchmarks"


def test_shares_add_up_and_products_are_counted(example):
    times = {"_MklMatMul": (4, 0.006), "Tanh": (2, 0.003), "Mul": (9, 0.001)}
    *lines, _, sentence = example("profile_step").table(times, 0.02, 1.2e9, 4e11)
    assert lines[2] == "| _MklMatMul | 4 | 6.0 | 60.0% |"
    assert lines[-1] == "| all | 15 | 10.0 | 100% |"
    assert "200 GFLOP/s: 50% of the peak of 400 GFLOP/s" in sentence


@pytest.mark.slow
def test_the_profiler_finds_the_operations_of_a_step():
    command = [sys.executable, FOLDER / "profile_step.py", "--quick", "--steps", "2"]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    kinds = dict(re.findall(r"^\| (\w+) \| (\d+) \|", done.stdout, re.MULTILINE))
    assert any("MatMul" in kind for kind in kinds)
    assert "the peak of" in done.stdout
