"""The double merges requests in the same way as the server."""

import concurrent.futures
import threading
import time

import numpy as np
import pytest
from google.protobuf import text_format

from serving_double import batching
from serving_double.batching import Batcher
from serving_double.configuration import BatchingParameters
from serving_double.errors import Refused

PARAMETERS = "max_batch_size { value: 4 } batch_timeout_micros { value: 200000 } "
PADS = PARAMETERS + "pad_variable_length_inputs: true"


class Model:
    """Model that doubles `x`, records its batches, and fails if a row contains 13."""

    def __init__(self):
        self.batches = []

    def __call__(self, inputs):
        self.batches.append(inputs["x"])
        if np.any(inputs["x"] == 13):
            raise Refused("INVALID_ARGUMENT", "thirteen")
        return {"y": 2 * inputs["x"]}


def ask(parameters, *arrays):
    """Call a batcher with each array at the same time; return the model, and answers or errors."""
    model, answers = Model(), [None] * len(arrays)
    batcher = Batcher(model, text_format.Parse(parameters, BatchingParameters()), threads=1)

    def call(index):
        try:
            answers[index] = batcher({"x": np.array(arrays[index])})["y"].tolist()
        except Refused as error:
            answers[index] = f"{error.code}: {error}"

    threads = [threading.Thread(target=call, args=(index,)) for index in range(len(arrays))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return model, answers


def test_calls_that_come_together_share_a_batch_and_get_their_own_rows():
    model, answers = ask(PARAMETERS, [1, 2], [3], [4])
    assert answers == [[2, 4], [6], [8]]
    assert [len(batch) for batch in model.batches] == [4]


def test_no_batch_grows_beyond_its_limit_and_no_call_is_split():
    model, answers = ask(PARAMETERS, [1, 2, 3], [4, 5, 6], [7, 8, 9])
    assert sorted(answers) == [[2, 4, 6], [8, 10, 12], [14, 16, 18]]
    assert [len(batch) for batch in model.batches] == [3, 3, 3]


def test_one_failing_row_fails_its_whole_batch():
    _, answers = ask(PARAMETERS, [1], [13])
    assert answers == ["INVALID_ARGUMENT: thirteen"] * 2


def test_a_call_larger_than_a_batch_is_refused():
    _, (answer,) = ask(PARAMETERS, [1, 2, 3, 4, 5])
    assert "Task size 5 is larger than maximum input batch size 4" in answer


def test_calls_beyond_the_queue_are_refused():
    _, answers = ask(PARAMETERS + "max_enqueued_batches { value: 1 }", *[[1, 2, 3]] * 8)
    assert [2, 4, 6] in answers
    assert any(str(answer).startswith("UNAVAILABLE: ") for answer in answers)


def test_a_scalar_is_refused():
    _, (answer,) = ask(PARAMETERS, 1)
    assert "must have at least one dimension" in answer


def test_rows_are_padded_with_the_first_value_of_their_call():
    model, answers = ask(PADS, [[1, 2]], [[3, 4, 5]])
    (batch,) = model.batches
    assert sorted(batch.tolist()) == [[1, 2, 1], [3, 4, 5]]
    assert answers == [[[2, 4, 2]], [[6, 8, 10]]]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("parameters", "arrays", "message"),
    [
        (PARAMETERS, ([[1, 2]], [[3, 4, 5]]), "Set pad_variable_length_inputs to true"),
        (PADS, (np.zeros((1, 0)), [[3.0]]), "Got empty tensor in batch of non-empty tensors"),
    ],
)
def test_rows_that_cannot_be_merged_fail_their_batch(parameters, arrays, message):
    _, answers = ask(parameters, *arrays)
    assert all(message in answer for answer in answers)


class Slow(Model):
    def __call__(self, inputs):
        time.sleep(0.2)
        return super().__call__(inputs)


def started(batcher, array, timeout=None):
    """Call a batcher in a thread; return a future for the answer."""
    pool = concurrent.futures.ThreadPoolExecutor(1)
    return pool.submit(batcher, {"x": np.array(array)}, timeout)


def test_a_call_without_rows_waits_for_one_with_rows():
    batcher = Batcher(Model(), text_format.Parse(PARAMETERS, BatchingParameters()), threads=1)
    parked = started(batcher, np.zeros(0, int), timeout=0.1)
    with pytest.raises(concurrent.futures.TimeoutError):
        parked.result(timeout=0.5)
    assert batcher({"x": np.array([7])})["y"].tolist() == [14]
    assert parked.result(timeout=5)["y"].tolist() == []


@pytest.mark.parametrize("second", [[[[1]]], np.zeros(0, int)])
def test_calls_of_different_rank_end_a_server_that_pads(monkeypatch, second):
    def end_server():
        raise InterruptedError("ended")

    monkeypatch.setattr(batching, "end_server", end_server)
    model = Batcher(Model(), text_format.Parse(PADS, BatchingParameters()), threads=1)
    for call in [started(model, array) for array in ([[1, 2]], second)]:
        with pytest.raises(InterruptedError, match="ended"):
            call.result(timeout=5)


def test_calls_of_different_rank_are_both_refused_without_padding():
    _, answers = ask(PARAMETERS, [1], [[1]])
    assert len(answers) == 2 and all("padding is turned off" in answer for answer in answers)


def test_no_call_of_more_than_six_dimensions_is_padded():
    _, (answer,) = ask(PADS, np.zeros([1] * 7))
    assert answer == "INVALID_ARGUMENT: Only tensors with rank from 1 to 6 can be padded."


def test_a_call_that_waits_or_runs_too_long_is_refused():
    batcher = Batcher(Slow(), text_format.Parse(PARAMETERS, BatchingParameters()), threads=1)
    runs = started(batcher, [1, 2, 3, 4], timeout=0.1)
    waits = started(batcher, [5, 6, 7, 8], timeout=0.1)
    with pytest.raises(Refused, match="Timed out waiting for notification") as late:
        runs.result(timeout=5)
    with pytest.raises(Refused, match="exceeded while waiting in batching queue") as never:
        waits.result(timeout=5)
    assert (late.value.http_status, never.value.http_status) == (504, 429)
