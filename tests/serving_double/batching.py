"""Merge requests that arrive within a short time into batches, as the server does."""

import collections
import concurrent.futures
import math
import threading
import time

import numpy as np

from serving_double.errors import Refused, end_server

PADDED_DIMENSIONS = range(1, 7)


class Batcher:
    """Merges calls of a signature into batches.

    Args:
        run: Function from a dictionary of arrays to a dictionary of arrays.
        parameters: `BatchingParameters` of the version.
        threads: Integer. How many batches run at the same time.
    """

    def __init__(self, run, parameters, threads):
        self._run = run
        self._limit = parameters.max_batch_size.value or 1000
        self._timeout = parameters.batch_timeout_micros.value / 1e6
        self._most = parameters.max_enqueued_batches.value or 10
        self._pads = parameters.pad_variable_length_inputs
        self._batches = collections.deque()  # calls are added to the last one
        self._changed = threading.Condition()
        self.sizes = collections.Counter()  # sizes of the batches that have run
        for _ in range(threads):
            threading.Thread(target=self._work, daemon=True).start()

    def __call__(self, inputs, timeout=None):
        """Run a call, possibly in a batch with others, and return its outputs.

        A batch without rows never runs, so that a call without rows waits for one with rows. Its
        `timeout`, in seconds, is only checked when the batch runs.

        Raises:
            Refused: If any call of the batch fails.
        """
        call = _Call(inputs, timeout)
        if call.rows > self._limit:
            raise Refused(
                "INVALID_ARGUMENT",
                f"Task size {call.rows} is larger than maximum input batch size {self._limit}",
            )
        with self._changed:
            if not self._batches or _rows(self._batches[-1]) + call.rows > self._limit:
                if len(self._batches) >= self._most:
                    raise Refused(
                        "UNAVAILABLE",
                        "The batch scheduling queue to which this task was submitted is full",
                    )
                self._batches.append([])
            self._batches[-1].append(call)
            self._changed.notify()
        return call.answer.result()

    def _work(self):
        while True:
            batch = self._next()
            self.sizes[_rows(batch)] += 1
            try:
                answers = self._in_time(batch)
            except Exception as error:
                for call in batch:
                    call.answer.set_exception(error)
            else:
                for call, answer in zip(batch, answers, strict=True):
                    call.answer.set_result(answer)

    def _in_time(self, batch):
        left = max(call.seconds_left() for call in batch)
        if left <= 0:
            raise Refused(
                "RESOURCE_EXHAUSTED", "Run() timeout exceeded while waiting in batching queue"
            )
        start = time.monotonic()
        answers = self._answers(batch)
        if time.monotonic() - start > left:
            raise Refused("DEADLINE_EXCEEDED", "Timed out waiting for notification")
        return answers

    def _next(self):
        """Wait for a batch that is full or has waited long enough; remove and return it."""
        with self._changed:
            while True:
                if not self._batches or not _rows(self._batches[0]):
                    self._changed.wait()
                    continue
                first = self._batches[0]
                left = first[0].since + self._timeout - time.monotonic()
                if left <= 0 or len(self._batches) > 1 or _rows(first) == self._limit:
                    return self._batches.popleft()
                self._changed.wait(left)

    def _answers(self, batch):
        merged = {
            name: self._merged(name, [call.inputs[name] for call in batch])
            for name in batch[0].inputs
        }
        outputs = self._run(merged)
        for output in outputs.values():
            if output.ndim == 0:
                raise Refused("FAILED_PRECONDITION", "Batched output tensor has 0 dimensions")
            if len(output) != _rows(batch):
                raise Refused(
                    "FAILED_PRECONDITION",
                    "Batched output tensor's 0th dimension does not equal the sum of the 0th "
                    "dimension sizes of the input tensors",
                )
        ends = np.cumsum([call.rows for call in batch])
        return [
            {name: output[end - call.rows : end] for name, output in outputs.items()}
            for call, end in zip(batch, ends, strict=True)
        ]

    def _merged(self, name, arrays):
        ranks = {array.ndim for array in arrays}
        if self._pads and len(ranks) > 1:
            end_server()  # the server reads sizes of missing dimensions
        if self._pads and not ranks <= set(PADDED_DIMENSIONS):
            raise Refused("INVALID_ARGUMENT", "Only tensors with rank from 1 to 6 can be padded.")
        shapes = {array.shape[1:] for array in arrays}
        if len(shapes) > 1 and not self._pads:
            raise Refused(
                "FAILED_PRECONDITION",
                f"Tensors with name '{name}' from different tasks have different shapes and "
                "padding is turned off. Set pad_variable_length_inputs to true, or ensure that "
                "all tensors with the same name have equal dimensions starting with the first dim.",
            )
        widest = [max(sizes) for sizes in zip(*shapes, strict=True)]
        return np.concatenate([_padded(array, widest) for array in arrays])


class _Call:
    def __init__(self, inputs, timeout):
        if any(array.ndim == 0 for array in inputs.values()):
            raise Refused(
                "INVALID_ARGUMENT",
                "Batching Run() input tensors must have at least one dimension",
            )
        sizes = {len(array) for array in inputs.values()}
        if len(sizes) > 1:
            raise Refused(
                "INVALID_ARGUMENT",
                "Batching Run() input tensors must have equal 0th-dimension size",
            )
        self.inputs, (self.rows,) = inputs, sizes
        self.since, self._timeout = time.monotonic(), timeout
        self.answer = concurrent.futures.Future()

    def seconds_left(self):
        if self._timeout is None:
            return math.inf
        return self.since + self._timeout - time.monotonic()


def _rows(batch):
    return sum(call.rows for call in batch)


def _padded(array, widest):
    """Pad an array to the widest shape with its first element."""
    missing = [
        (0, width - size) for size, width in zip(array.shape, [len(array), *widest], strict=True)
    ]
    if not np.any(missing):
        return array
    if not array.size:
        raise Refused("INVALID_ARGUMENT", "Got empty tensor in batch of non-empty tensors.")
    return np.pad(array, missing, constant_values=array.flat[0])
