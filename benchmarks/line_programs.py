"""Run programs that answer each line with a line of JSON, such as those of export/on_device."""

import contextlib
import json
import subprocess
import tempfile
import time
from pathlib import Path


def answers_of(command, lines, folder=None):
    """Send all lines to a new process of a program, and return its answers.

    Args:
        command: List of strings and paths.
        lines: List of strings.
        folder: Path of the working directory, or None.

    Returns:
        List of dictionaries, one for each line.

    Raises:
        SystemExit: If the program fails.
    """
    data = "".join(f"{line}\n" for line in lines).encode()
    done = subprocess.run([*map(str, command)], input=data, capture_output=True, cwd=folder)
    answers = done.stdout.splitlines()
    if done.returncode or len(answers) != len(lines):
        raise SystemExit(f"A runner failed: {command}: {done.stderr.decode()[-500:]}")
    return [*map(json.loads, answers)]


class Runner:
    """A running program that answers each line with a line of JSON.

    Args:
        command: List of strings and paths.
        folder: Path of the working directory, or None.
    """

    def __init__(self, command, folder=None):
        pipe = subprocess.PIPE
        self._messages = tempfile.TemporaryFile()  # an unread pipe would fill up
        self._process = subprocess.Popen(
            [*map(str, command)], stdin=pipe, stdout=pipe, stderr=self._messages, cwd=folder
        )

    def ask(self, line):
        """Send a line, and return the answer as bytes.

        Raises:
            SystemExit: If the program has ended.
        """
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(f"{line}\n".encode())
            self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            self._process.wait()
            self._messages.seek(0)
            last = self._messages.read().decode(errors="replace").strip().splitlines()[-1:]
            raise SystemExit(f"A runner ended: {self._process.args}: {' '.join(last)}")
        return answer

    def milliseconds(self, line):
        """Send a line, and return the time until its answer, in milliseconds."""
        start = time.perf_counter()
        self.ask(line)
        return 1000 * (time.perf_counter() - start)

    def peak(self):
        """Return the program's peak resident memory, in MiB."""
        return _peak(self._process.pid)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()
        self._messages.close()


class InPage(Runner):
    """A program that measures the time of each answer itself, and reports it as `milliseconds`."""

    def milliseconds(self, line):
        return json.loads(self.ask(line))["milliseconds"]

    def peak(self):
        """Return the sum of the peaks of all processes that the program has started, in MiB."""
        return sum(map(_peak, _descendants(self._process.pid)))


def _peak(process):
    status = Path(f"/proc/{process}/status").read_text()
    kilobytes = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(kilobytes[0]) / 1024 if kilobytes else 0  # a process that has just ended has none


def _descendants(process):
    for thread in Path(f"/proc/{process}/task").iterdir():
        for child in (thread / "children").read_text().split():
            yield int(child)
            yield from _descendants(child)
