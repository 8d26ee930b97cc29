"""A competitor in a benchmark, and the process that it runs in."""

import contextlib
import dataclasses
import json
import os
import pathlib
import subprocess
import tempfile
import threading

from environments import OURS, python_of

HERE = pathlib.Path(__file__).resolve().parent


@dataclasses.dataclass(frozen=True)
class Lane:
    """One competitor.

    Attributes:
        name: Name in the table.
        worker: Name of the script in workers/.
        case: Name of one of the script's cases.
        settings: Dictionary of JSON values, the arguments of the case.
        environment: Name of a requirements file. If None, the file with the worker's name is
            used, or `OURS` if there is no such file.
        ours: True for this package, False for a peer.
        repeat: Number of runs in a round.
        side_by_side: Whether TensorFlow runs two operations at a time, with half of the threads
            for each. If False, each operation gets all threads, and as many operations as there
            are threads may run at a time.
        limit: Time limit for one request, in seconds, after which the process is ended; None for
            no limit.
    """

    name: str
    worker: str
    case: str
    settings: dict = dataclasses.field(default_factory=dict)
    environment: str | None = None
    ours: bool = False
    repeat: int = 1
    side_by_side: bool = False
    limit: float | None = None


class Failed(RuntimeError):
    """Raised when a worker answers with an error, or ends without an answer."""


class Worker:
    """The process of a worker.

    Args:
        lane: `Lane`.
        threads: Integer, the number of threads, which is the same for all workers.
        variables: Dictionary of additional environment variables.

    Raises:
        Unavailable: If its environment can't be created.
    """

    def __init__(self, lane, threads, variables=None):
        script = HERE / "workers" / f"{lane.worker}.py"
        named = (HERE / "requirements" / f"{lane.worker}.txt").exists()
        python = python_of(lane.environment or (lane.worker if named else OURS))
        self.lane = lane
        self._log = (
            None
            if os.environ.get("BENCHMARK_LOG")
            else tempfile.TemporaryFile("w+", errors="replace")
        )
        self._process = subprocess.Popen(
            [str(python), str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env={**os.environ, **_environment(threads, lane.side_by_side), **(variables or {})},
        )
        self._late = threading.Event()

    @contextlib.contextmanager
    def _limited(self):
        """End the process if the block takes longer than the lane's limit."""
        if self.lane.limit is None:
            yield
            return
        timer = threading.Timer(self.lane.limit, self._end_late)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _end_late(self):
        self._late.set()
        self._process.kill()

    def ask(self, do, **rest):
        """Send a request, and return the worker's answer as a dictionary.

        Raises:
            Failed: If the answer is an error, or the worker ended without one.
        """
        try:
            with self._limited():
                self._process.stdin.write(json.dumps({"do": do, **rest}) + "\n")
                self._process.stdin.flush()
                line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            code = self._process.wait()
            if self._late.is_set():
                raise Failed(f"took more than {self.lane.limit:.0f} seconds")
            if code == -9:
                raise Failed("killed, probably for lack of memory")
            raise Failed(f"ended with code {code}{self._last_words()}")
        answer = json.loads(line)
        if "error" in answer:
            raise Failed(answer["error"].replace(f"{HERE.parent}{os.sep}", ""))
        return answer

    def _last_words(self):
        """Return the last line of the worker's log, such as the message of an exception."""
        if self._log is None:
            return ""
        self._log.seek(0)
        lines = self._log.read().strip().splitlines()
        return f": {lines[-1].strip()[:300]}" if lines else ""

    def prepare(self):
        """Build, compile and warm up the lane's work; return the worker's report."""
        return self.ask("prepare", case=self.lane.case, settings=self.lane.settings)

    def close(self):
        """End the process."""
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        if self._log is not None:
            self._log.close()


def _environment(threads, side_by_side):
    number = str(threads)
    within, between = (str(max(1, threads // 2)), "2") if side_by_side else (number, number)
    return {
        "OMP_NUM_THREADS": number,
        "MKL_NUM_THREADS": number,
        "OPENBLAS_NUM_THREADS": number,
        "TF_NUM_INTRAOP_THREADS": within,
        "TF_NUM_INTEROP_THREADS": between,
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "PYTHONPATH": os.pathsep.join(
            filter(None, [str(HERE.parent), os.environ.get("PYTHONPATH")])
        ),
    }
