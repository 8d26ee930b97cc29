"""The worker processes of one command: real processes that run a shell script instead of Python."""

import json
import sys
import time

import pytest

from keras_bahdanau.cli import worker_processes

SCRIPT = """#!/bin/sh
echo "$TF_CONFIG" > "$5.$$"
case "$TF_CONFIG" in
*'"index": 1'*) {second} ;;
*) {first} ;;
esac
"""


@pytest.fixture
def launch(tmp_path, monkeypatch):
    """Function that runs a job with two such processes and returns their TF_CONFIG values."""
    monkeypatch.delenv("TF_CONFIG", raising=False)

    def run(first, second):
        script = tmp_path / "python"
        script.write_text(SCRIPT.format(first=first, second=second))
        script.chmod(0o700)
        monkeypatch.setattr(sys, "executable", str(script))
        worker_processes.launch(2, [str(tmp_path / "found")])
        return [json.loads(path.read_text()) for path in tmp_path.glob("found.*")]

    return run


def test_each_process_has_its_place_in_one_job(launch):
    found = sorted(launch(first="exit 0", second="exit 0"), key=lambda one: one["task"]["index"])
    assert [one["task"] for one in found] == [{"type": "worker", "index": n} for n in (0, 1)]
    (cluster,) = {json.dumps(one["cluster"]) for one in found}
    assert len({*json.loads(cluster)["worker"]}) == 2  # different addresses


@pytest.mark.few(1)
@pytest.mark.parametrize("victim", [0, 1])
def test_a_job_ends_with_the_process_that_was_killed(launch, victim):
    does = ["exec sleep 60"] * 2
    does[victim] = "kill -9 $$"
    began = time.monotonic()
    with pytest.raises(ChildProcessError, match=f"worker {victim} ended by signal SIGKILL"):
        launch(*does)
    assert time.monotonic() - began < worker_processes.SECONDS_TO_END


def test_a_process_that_ignores_the_end_is_killed(launch, monkeypatch):
    monkeypatch.setattr(worker_processes, "SECONDS_TO_END", 0.2)
    with pytest.raises(ChildProcessError):
        launch(first="trap '' TERM; while :; do sleep 0.1; done", second="kill -9 $$")


def test_the_error_of_a_silent_process_is_reported(launch, capsys):
    with pytest.raises(SystemExit) as ended:
        launch(first="exec sleep 60", second="echo 'told: Received: x' >&2; exit 2")
    assert ended.value.code == 2
    assert capsys.readouterr().err == "told: Received: x\n"


def test_files_beside_the_data_are_no_modules_of_a_process(tmp_path, monkeypatch, capfd):
    for name in ("numbers", "random"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(1)")
    monkeypatch.delenv("TF_CONFIG", raising=False)
    monkeypatch.chdir(tmp_path)
    worker_processes.launch(2, ["--help"])
    out, err = capfd.readouterr()
    assert out.startswith("Usage: ") and not err


@pytest.mark.parametrize("count", [0, 257])
def test_the_number_of_processes_is_bounded(count):
    with pytest.raises(ValueError, match=rf"Received: workers={count}"):
        worker_processes.launch(count, [])
