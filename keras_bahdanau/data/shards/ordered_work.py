"""Jobs that run in several processes, with results in the order of the jobs."""

import collections
import concurrent.futures
import contextlib
import math
import multiprocessing.spawn
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time

from keras_bahdanau.files.own_process import module_command
from keras_bahdanau.settings.checks import counted

AHEAD = 2  # pending or finished jobs per process, which limits the memory


class WorkerPool:
    """Processes that call picklable functions of one argument, and end when this process ends.

    They are not `multiprocessing` processes, because these, and its resource tracker, would import
    modules from the current directory in place of those of the standard library.
    """

    def __init__(self, number):
        self.number = number
        self._block = contextlib.ExitStack()

    def __enter__(self):
        if self.number > 1:
            self._workers = queue.SimpleQueue()  # idle workers
            for _ in range(self.number):
                self._workers.put(self._block.enter_context(_Worker()))
            self._threads = concurrent.futures.ThreadPoolExecutor(self.number)
            self._block.callback(self._threads.shutdown, cancel_futures=True)
        return self

    def __exit__(self, *error):
        self._block.close()

    def results(self, function, jobs):
        """Yield results in the order of the jobs. Raises RuntimeError if a process was killed."""
        if self.number <= 1:
            yield from map(function, jobs)
            return
        waiting = collections.deque()
        for job in jobs:
            waiting.append(self._threads.submit(self._run, function, job))
            if len(waiting) > AHEAD * self.number:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def _run(self, function, job):
        worker = self._workers.get()
        try:
            return worker.run(function, job)
        finally:
            self._workers.put(worker)


class _Worker:
    """A process that runs calls. The first call starts it."""

    def __init__(self):
        self._process = None

    def __enter__(self):
        return self

    def run(self, function, job):
        """Return the result of a function, or raise its error."""
        if self._process is None:
            _check_begun()
            self._process = subprocess.Popen(
                module_command(sys.executable, __name__),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            main = multiprocessing.spawn.get_preparation_data("worker")
            main = {name: value for name, value in main.items() if name.startswith("init_main")}
            self._call(_begin, (_path_of_workers(), main))
        return self._call(function, job)

    def _call(self, function, job):
        call = pickle.dumps((function, job))
        try:
            pickle.dump(call, self._process.stdin)
            self._process.stdin.flush()
            answer = pickle.load(self._process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError):
            raise RuntimeError(
                "All processes must finish their work. Received: a process that was killed, for "
                "example because the system is out of memory. Run it again with fewer workers to "
                "resume."
            ) from None
        result, error = pickle.loads(answer)
        if error is not None:
            raise error
        return result

    def __exit__(self, *error):
        if self._process is not None:
            with contextlib.suppress(BrokenPipeError), self._process:
                self._process.stdin.close()


def _path_of_workers():
    """Return `sys.path` without the current directory, unless the program is in that directory."""
    file = getattr(sys.modules["__main__"], "__file__", None)
    ignored = {os.path.realpath(os.curdir)}
    if file:
        ignored -= {os.path.dirname(os.path.realpath(file))}
    return [entry for entry in sys.path if os.path.realpath(entry) not in ignored]


def _begin(path_and_main):
    """Import the program that started this process, for its classes and functions."""
    global _begun
    path, main = path_and_main
    sys.path += [entry for entry in path if entry not in sys.path]
    _begun = False
    multiprocessing.spawn.prepare(main)
    _begun = True


_begun = True  # False while a worker imports the program


def _check_begun():
    if not _begun:
        raise RuntimeError(
            "A program must be importable without starting work in workers. Received: one that "
            'starts it. Put the calls under `if __name__ == "__main__":`, or give workers=1.'
        )


def main():
    """Run the calls from standard input, until the parent process ends or closes it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process handles interruptions
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # the output of functions must not be mixed with answers
    calls = queue.SimpleQueue()

    def follow():
        try:
            while True:
                calls.put(pickle.load(requests))
        finally:
            os._exit(0)

    threading.Thread(target=follow, daemon=True).start()
    while True:
        pickle.dump(_answer(calls.get()), answers)
        answers.flush()


def _answer(call):
    """Run a call, and pickle (result, error)."""
    try:
        function, job = pickle.loads(call)
        return pickle.dumps((function(job), None))
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:  # its constructor has other arguments
            error = RuntimeError(" ".join(f"{type(error).__name__}: {error}".split()))
        return pickle.dumps((None, error))


def report_rate(results, size, done, say, interval=10.0, clock=time.monotonic, total=None):
    """Yield results, and report the number of pairs and the speed every `interval` seconds.

    `size` returns the number of pairs in a result. `done` is a verb, such as "filtered".
    """
    began = reported = clock()
    count = 0
    for result in results:
        yield result
        count += size(result)
        now = clock()
        if now - reported >= interval:
            reported = now
            say(f"{counted(count, 'pairs')} {done}, {_rate(count, now - began, total)}")
    seconds = max(clock() - began, 1e-9)
    pairs = counted(count, "pairs")
    say(f"{pairs} {done} in {seconds:,.0f} s, {count / seconds:,.0f} per second")


def _rate(count, seconds, total):
    rate = count / seconds
    if not total or not rate:
        return f"{rate:,.0f} per second"
    minutes = math.ceil((total - count) / rate / 60)
    return f"{rate:,.1f} per second, {minutes:,} min left"


if __name__ == "__main__":  # a worker
    main()
