"""A path has one owner at a time, however the owner ends."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
from full_disk import full_disk

from keras_bahdanau.files.ownership import check_unowned, existing, lock_of, owned

OWNER = """
import sys, time
from pathlib import Path
from keras_bahdanau.files.ownership import owned

with owned(Path(sys.argv[1])):
    print("owned", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def owner(tmp_path):
    """Another process that owns `tmp_path / "model"` until it is told to end or is killed."""
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER, tmp_path / "model"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout.readline() == "owned\n"
        yield process
        process.kill()


def test_a_second_owner_is_refused_and_told_of_the_first(owner, tmp_path):
    who = f"process {owner.pid} on {socket.gethostname()!r}"
    with pytest.raises(BlockingIOError, match=f"Received: path='.*model', which .* {who}. Wait"):
        with owned(tmp_path / "model"):
            pass
    with pytest.raises(BlockingIOError, match=who):
        check_unowned(tmp_path / "model")
    with owned(tmp_path / "other"):
        pass


def test_a_link_has_the_owner_of_its_file(owner, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "model")
    (tmp_path / "model").write_text("a model")
    with pytest.raises(BlockingIOError, match=f"Received: path='.*link', .* process {owner.pid}"):
        check_unowned(tmp_path / "link")


def test_what_an_owner_gives_up_has_no_trace_of_it(owner, tmp_path):
    owner.communicate()
    assert not list(tmp_path.iterdir())
    check_unowned(tmp_path / "model")
    with owned(tmp_path / "model", pytest.fail):
        assert lock_of(tmp_path / "model").read_text().startswith(f"process {os.getpid()} on ")
    assert not list(tmp_path.iterdir())


def test_a_killed_owner_owns_nothing(owner, tmp_path):
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    told = []
    with owned(tmp_path / "model", told.append):
        pass
    with owned(tmp_path / "model", pytest.fail):
        pass
    (line,) = told
    assert f"taken over from process {owner.pid} on" in line


def test_a_full_disk_leaves_no_lock(tmp_path):
    with full_disk(0), pytest.raises(OSError, match="File too large"):
        with owned(tmp_path / "model"):
            pass
    assert not list(tmp_path.iterdir())


def test_who_waits_gets_it_next(owner, tmp_path):
    began = time.monotonic()
    end = threading.Timer(0.3, owner.kill)
    end.start()
    with owned(tmp_path / "model", wait=True) as locked:
        assert locked and time.monotonic() - began > 0.25
    end.join()


def test_many_processes_never_own_it_at_once(tmp_path):
    """Each process increments a counter in a file, which only an owner may do; no count is lost."""
    program = (
        "import sys; from pathlib import Path; from keras_bahdanau.files.ownership import owned\n"
        "path = Path(sys.argv[1])\n"
        "for _ in range(100):\n"
        "    with owned(path, wait=True):\n"
        "        path.write_text(str(int(path.read_text()) + 1))\n"
    )
    path = tmp_path / "count"
    path.write_text("0")
    processes = [subprocess.Popen([sys.executable, "-c", program, path]) for _ in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert path.read_text() == "300"


def test_a_lock_file_that_is_a_link_is_not_followed(tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("kept")
    lock_of(tmp_path / "run").symlink_to(precious)
    with pytest.raises(OSError), owned(tmp_path / "run"):
        pass
    assert precious.read_text() == "kept"


def test_a_lock_file_of_any_bytes_is_taken_over(tmp_path):
    lock_of(tmp_path / "run").write_bytes(b"\xff\xfe")
    said = []
    check_unowned(tmp_path / "run", said.append)
    assert len(said) == 1 and "taken over" in said[0]
    assert not lock_of(tmp_path / "run").exists()


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_file_in_place_of_a_directory_is_an_error_that_names_it(tmp_path, place):
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError, match=f"Received: path='.*/{place}'"):
        with existing(tmp_path / place):
            pytest.fail("there is no such directory")
