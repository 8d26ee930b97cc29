"""Work for several processes, whose results come in the order of the work."""

import collections
import concurrent.futures
import math
import multiprocessing
import os
import signal
import threading
import time
from concurrent.futures.process import BrokenProcessPool

from keras_bahdanau.settings.checks import counted

AHEAD = 2  # jobs for each process that wait or are done, which bounds the memory


class WorkerPool:
    """Processes for picklable functions of one argument, which end with this one."""

    def __init__(self, number):
        self.number = number
        self._pool = None

    def __enter__(self):
        if self.number > 1:
            context = multiprocessing.get_context("spawn")  # threads of TensorFlow survive no fork
            self._pool = concurrent.futures.ProcessPoolExecutor(
                self.number, context, initializer=_end_with_parent
            )
        return self

    def __exit__(self, *error):
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def results(self, function, jobs):
        """Yield results in the order of the jobs; RuntimeError if a process was killed."""
        if self._pool is None:
            yield from map(function, jobs)
            return
        waiting = collections.deque()
        try:
            for job in jobs:
                waiting.append(self._pool.submit(function, job))
                if len(waiting) > AHEAD * self.number:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool:
            raise RuntimeError(
                "Each process must come to its end. Received: one that was killed, as by a system "
                "without memory. Use fewer workers, and run it again: it resumes."
            ) from None


def _end_with_parent():
    """End this process as soon as its parent has ended; leave an interruption to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def follow():
        parent.join()
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


def report_rate(results, size, done, say, interval=10.0, clock=time.monotonic, total=None):
    """Yield results, and `say` every `interval` seconds how many pairs are `done` and how fast."""
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
    say(f"{pairs} {done} in {seconds:,.0f} s, {count / seconds:,.0f} a second")


def _rate(count, seconds, total):
    rate = count / seconds
    if not total or not rate:
        return f"{rate:,.0f} a second"
    minutes = math.ceil((total - count) / rate / 60)
    return f"{rate:,.1f} a second, {minutes:,} min left"
