"""The settings for TensorFlow that the program makes before loading it."""

import io
import os
import subprocess
import sys
import types

import pytest
from terminal import Terminal

from keras_bahdanau.cli import console
from keras_bahdanau.settings import cores
from keras_bahdanau.settings.cores import usable_cores

EACH, AT_ONCE = "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"


@pytest.fixture
def machine(monkeypatch):
    """`machine(count, gpu=False)`: simulate a machine with that many cores, and maybe a GPU."""
    for name in (EACH, AT_ONCE):
        monkeypatch.delenv(name, raising=False)

    def set_up(count, gpu=False):
        monkeypatch.setattr(console, "usable_cores", lambda: count)
        monkeypatch.setattr(os.path, "exists", lambda path: gpu)

    return set_up


@pytest.mark.parametrize("count, each", [(1, 1), (2, 1), (3, 1), (16, 8)])
def test_an_operation_has_half_of_the_cores(machine, count, each):
    machine(count)
    assert console._threads(None) == {EACH: each}


def test_with_a_gpu_or_the_users_own_choice_tensorflow_is_left_alone(machine, monkeypatch):
    machine(4, gpu=True)
    assert console._threads(None) == {}
    machine(4)
    monkeypatch.setenv(AT_ONCE, "3")
    assert console._threads(None) == {}


def test_a_number_of_threads_is_of_both_kinds(machine):
    machine(4)
    assert console._threads(1) == {EACH: 1, AT_ONCE: 1}


@pytest.fixture
def cgroup(tmp_path, monkeypatch):
    """The directory searched for a container's limits; it contains none."""
    monkeypatch.setattr(cores, "CGROUP", tmp_path)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("limit", "expected"),
    [("200000 100000", 2), ("150000 100000", 2), ("1000 100000", 1), ("max 100000", 8)],
)
def test_a_container_has_the_cores_of_its_limit(cgroup, limit, expected):
    (cgroup / "cpu.max").write_text(f"{limit}\n")
    assert usable_cores() == expected


@pytest.mark.parametrize(("quota", "expected"), [(300_000, 3), (-1, 8), ("", 8)])
def test_a_container_of_the_older_kind_has_them_too(cgroup, quota, expected):
    (cgroup / "cpu").mkdir()
    (cgroup / "cpu" / "cpu.cfs_quota_us").write_text(f"{quota}\n")
    (cgroup / "cpu" / "cpu.cfs_period_us").write_text("100000\n")
    assert usable_cores() == expected


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="Linux only")
def test_a_process_kept_to_one_core_has_one(monkeypatch, tmp_path):
    monkeypatch.setattr(cores, "CGROUP", tmp_path)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert usable_cores() == 1
    finally:
        os.sched_setaffinity(0, before)
    assert usable_cores() == len(before)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="Linux only")
def test_a_process_has_no_more_cores_than_its_engine_gives_it(monkeypatch, tmp_path):
    monkeypatch.setattr(cores, "CGROUP", tmp_path)
    allowed = len(os.sched_getaffinity(0))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert usable_cores() == 1
    for without_meaning in ("", "0", "all", "1000000"):
        monkeypatch.setenv("OMP_NUM_THREADS", without_meaning)
        assert usable_cores() == allowed


@pytest.mark.parametrize("kind", [RuntimeError, ValueError])
def test_a_refusal_gets_one_line_and_a_bug_keeps_its_traceback(capsys, kind):
    @console.ends_well()
    def command(said):
        raise kind(said)

    with pytest.raises(SystemExit) as stopped:
        command("A path must be there.\nReceived: path='x'.")
    assert stopped.value.code == 2
    assert capsys.readouterr().err == "keras-bahdanau: A path must be there. Received: path='x'.\n"
    with pytest.raises(kind, match="a bug"):
        command("a bug")


@pytest.mark.parametrize(
    ("stdout", "stderr", "lines", "shown"),
    [
        (io.StringIO, Terminal, True, True),
        (Terminal, Terminal, True, False),  # the lines already show the progress
        (Terminal, Terminal, False, True),
        (Terminal, io.StringIO, False, False),
    ],
)
def test_progress_is_shown_on_a_terminal_and_removed_before_a_line(
    monkeypatch, stdout, stderr, lines, shown
):
    monkeypatch.setattr(sys, "stdout", stdout())
    monkeypatch.setattr(sys, "stderr", stderr())
    console.show_progress("1 of 2", lines)
    assert ("1 of 2" in sys.stderr.getvalue()) == shown
    console.say("done")
    assert sys.stdout.getvalue() == "done\n"
    if stderr is Terminal:
        assert sys.stderr.shown()[-1] == ""
    else:
        assert sys.stderr.getvalue() == ""


@pytest.mark.slow
def test_tensorflow_loads_without_matplotlib_which_is_there_afterwards():
    program = """
import gc, sys
from keras_bahdanau.cli.console import load_tensorflow
load_tensorflow()
import keras
assert "matplotlib" not in sys.modules and gc.isenabled() and gc.get_freeze_count() > 100_000
import matplotlib.figure
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_module_hidden_for_a_while_is_as_it_was(monkeypatch):
    monkeypatch.delitem(sys.modules, "matplotlib", raising=False)
    with console._without_matplotlib(), pytest.raises(ImportError):
        import matplotlib  # noqa: F401
    assert "matplotlib" not in sys.modules
    there = types.ModuleType("matplotlib")
    monkeypatch.setitem(sys.modules, "matplotlib", there)
    with console._without_matplotlib():
        assert sys.modules["matplotlib"] is there
    assert sys.modules["matplotlib"] is there


@pytest.mark.few(1)
@pytest.mark.parametrize("closed", ["<&-", "2>&-", ">&-", "<&- >&- 2>&-"])
def test_a_standard_stream_may_be_closed(closed):
    command = [sys.executable, "-m", "keras_bahdanau.cli", "--version"]
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", *command], capture_output=True, text=True
    )
    assert done.returncode == 0 and not done.stderr
    assert done.stdout.startswith("keras-bahdanau") or ">&-" in closed.split()


WARNINGS = """
import logging, sys, warnings
from keras_bahdanau.cli import console

console.report_warnings()
warnings.warn("a\\n picture has boxes")
warnings.warn("a\\n picture has boxes")
warnings.warn("Glyph 12472 (\\\\N{KATAKANA LETTER ZI}) missing from font(s) DejaVu Sans.")
logging.getLogger("matplotlib.font_manager").warning("no font %r", "Arial")
import numpy as np

np.log(np.zeros(1))
logging.getLogger("tensorflow").warning("5 out of the last 5 calls retraced")
"""


def test_warnings_of_libraries_are_lines_of_the_program():
    answer = subprocess.run([sys.executable, "-c", WARNINGS], capture_output=True, text=True)
    assert answer.stderr.splitlines() == [
        "keras-bahdanau: a picture has boxes",
        "keras-bahdanau: no font 'Arial'",
        "keras-bahdanau: divide by zero encountered in log",
        "keras-bahdanau: 5 out of the last 5 calls retraced",
    ]
