"""Several processes that run one command together on this machine, connected by TF_CONFIG."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

from keras_bahdanau.cli.console import interrupted_by_sigterm
from keras_bahdanau.files.own_process import end_with_input, module_command
from keras_bahdanau.settings.cores import usable_cores
from keras_bahdanau.settings.limits import WORKERS
from keras_bahdanau.settings.option import check_value

POLL_SECONDS = 0.1
SECONDS_TO_END = 5  # time for a worker to end before it is killed


def is_launched():
    """Return True in a worker process, where TF_CONFIG is set."""
    return bool(os.environ.get("TF_CONFIG"))


def launch(count, arguments):
    """Run a command in several processes, and wait until all of them have ended.

    Only the first process, the chief, writes to the output of this process. If processes fail, the
    error of the first one to fail is reported. The processes end when this process ends, even if it
    is killed.

    Raises:
        ChildProcessError: If a process is killed. The other processes are then terminated.
        SystemExit: If a process reports an error, with the exit code of that process.
        ValueError: If the count is out of range.
    """
    check_value("workers", count, WORKERS)
    with contextlib.ExitStack() as block:
        workers = []
        block.enter_context(interrupted_by_sigterm())
        block.callback(_end, workers)
        addresses = _free_addresses(count)
        for index in range(count):
            errors = block.enter_context(tempfile.TemporaryFile())
            workers.append(_Worker(index, errors, arguments, addresses))
        while any(worker.process.poll() is None for worker in workers):
            _check_alive(workers)
            time.sleep(POLL_SECONDS)
        _check_alive(workers)


class _Worker:
    """A worker process, with a file for its error output."""

    def __init__(self, index, errors, arguments, addresses):
        self.index, self.errors = index, errors
        task = {"type": "worker", "index": index}
        cores = max(1, usable_cores() // len(addresses))
        threads = {f"TF_NUM_{kind}_THREADS": str(cores) for kind in ("INTRAOP", "INTEROP")}
        self.process = subprocess.Popen(
            module_command(sys.executable, __name__, *arguments),
            env={
                **threads,
                **os.environ,
                "TF_CONFIG": json.dumps({"cluster": {"worker": addresses}, "task": task}),
            },
            stdin=subprocess.PIPE,  # closed when this process ends
            stdout=None if index == 0 else subprocess.DEVNULL,
            stderr=None if index == 0 else errors,
        )

    def last_error(self):
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""


def _check_alive(workers):
    failed = [worker for worker in workers if worker.process.poll()]
    if failed:
        time.sleep(POLL_SECONDS)  # when one worker is killed, others fail, too
        failed = [worker for worker in workers if worker.process.poll()]
    # first the workers ended by a signal, then those whose error has not been shown yet
    for worker in sorted(failed, key=lambda worker: worker.process.returncode):
        code = worker.process.returncode
        if code < 0:
            raise ChildProcessError(
                f"All {len(workers)} workers must run until the end. Received: worker "
                f"{worker.index} ended by signal {signal.Signals(-code).name}. Run the same "
                "command to resume from the last checkpoint."
            )
        if worker.index:
            print(worker.last_error(), file=sys.stderr, flush=True)
        raise SystemExit(code)


def _end(workers):
    left = [worker.process for worker in workers if worker.process.poll() is None]
    for process in left:
        process.terminate()
    until = time.monotonic() + SECONDS_TO_END
    for process in left:
        try:
            process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    for worker in workers:
        worker.process.stdin.close()


def _free_addresses(count):
    """Find that many free addresses on this machine."""
    with contextlib.ExitStack() as block:
        sockets = [block.enter_context(socket.socket()) for _ in range(count)]
        for listener in sockets:
            listener.bind(("127.0.0.1", 0))
        return [f"127.0.0.1:{listener.getsockname()[1]}" for listener in sockets]


if __name__ == "__main__":  # a worker
    from keras_bahdanau.cli import main

    end_with_input()
    main()
