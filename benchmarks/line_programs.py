"""Programs that answer a line by one line or more, such as those of export/on_device."""

import contextlib
import itertools
import subprocess
import tempfile
import time
from pathlib import Path


def answers_of(command, words, folder=None):
    """The lines of the answer to each word, by a process that gets all words at once.

    Args:
        command: List of strings and paths.
        words: List of strings.
        folder: Path of its working directory, or None.

    Raises:
        SystemExit: If the program fails.
    """
    data = "".join(f"{word}\n" for word in words).encode()
    done = subprocess.run([*map(str, command)], input=data, capture_output=True, cwd=folder)
    lines = enumerate(map(bytes.decode, done.stdout.splitlines()))
    answers = [[line for _, line in answer] for _, answer in itertools.groupby(lines, _number)]
    if done.returncode or len(answers) != len(words):
        raise SystemExit(f"A runner failed: {command}: {done.stderr.decode()[-500:]}")
    return answers


def _number(numbered):
    """The number that a line of a list begins with, or the number of any other line."""
    number, line = numbered
    return line.split(" ||| ")[0] if " ||| " in line else number


class Runner:
    """A program that answers a line by one line or more.

    Args:
        command: List of strings and paths.
        folder: Path of its working directory, or None.
    """

    def __init__(self, command, folder=None):
        pipe = subprocess.PIPE
        self._messages = tempfile.TemporaryFile()  # a pipe that nobody reads would fill
        self._process = subprocess.Popen(
            [*map(str, command)], stdin=pipe, stdout=pipe, stderr=self._messages, cwd=folder
        )

    @staticmethod
    def texts(answer):
        """The texts in the lines of an answer, which may be a list."""
        return [line.split(" ||| ")[1] if " ||| " in line else line for line in answer]

    def ask(self, line, count=1):
        """The answer to a line, a list of so many lines.

        Raises:
            SystemExit: If the program has ended.
        """
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(f"{line}\n".encode())
            self._process.stdin.flush()
        answer = [self._process.stdout.readline().decode() for _ in range(count)]
        if not all(answer):
            self._process.wait()
            self._messages.seek(0)
            last = self._messages.read().decode(errors="replace").strip().splitlines()[-1:]
            raise SystemExit(f"A runner ended: {self._process.args}: {' '.join(last)}")
        return [one.removesuffix("\n") for one in answer]

    def milliseconds(self, line, count=1):
        """Time of an answer."""
        start = time.perf_counter()
        self.ask(line, count)
        return 1000 * (time.perf_counter() - start)

    def peak(self):
        """Peak of its resident memory in MiB."""
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
    """A program whose answers are one line, "milliseconds <tab> text <tab> text"."""

    @staticmethod
    def texts(answer):
        return answer[0].split("\t")[1:]

    def milliseconds(self, line, count=1):
        return float(self.ask(line, count)[0].partition("\t")[0])

    def peak(self):
        """Likewise of the browser, which the program has started."""
        return sum(map(_peak, _descendants(self._process.pid)))


def _peak(process):
    status = Path(f"/proc/{process}/status").read_text()
    kilobytes = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(kilobytes[0]) / 1024 if kilobytes else 0  # none of a process that has just ended


def _descendants(process):
    for thread in Path(f"/proc/{process}/task").iterdir():
        for child in (thread / "children").read_text().split():
            yield int(child)
            yield from _descendants(child)
