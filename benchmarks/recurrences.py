"""Compare an elementwise recurrence in a loop and as an associative scan with a GRU.

    TF_NUM_INTRAOP_THREADS=1 TF_NUM_INTEROP_THREADS=1 taskset -c 1 python benchmarks/recurrences.py

The recurrence is h_t = a_t h_{t-1} + b_t, forward and backward, measured in turns. `loop` is the
loop of the cells in `layers/cells/parallel.py`, and `associative_scan` is the function of Keras.
Times are medians of processor time in milliseconds. If XLA can't compile a form, the result
contains the error instead of a time.
"""

import argparse
import json
import os
import pathlib
import statistics
import time

os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import keras
import machine
import numpy as np
import tensorflow as tf
from harness import write_result

from keras_bahdanau.layers.recurrence import scan

BATCH, TIME, UNITS = 64, 16, 512
LONGER = 64  # steps, to show the growth with the length


def main():
    given = parsed()
    result = {"name": "recurrences", "processor": machine.described(), "shape": [BATCH, UNITS]}
    result |= {"versions": {"tensorflow": tf.__version__, "keras": keras.__version__}}
    result["measured"] = [
        measured(steps, xla, given.rounds) for steps in (TIME, LONGER) for xla in (False, True)
    ]
    if given.out:
        write_result(given.out, result)


def measured(steps, xla, rounds):
    """Measure the milliseconds of each form, or record its error."""
    forms, found = {}, {"steps": steps, "xla": xla}
    for name, form in FORMS.items():
        graph = tf.function(with_gradient(form), jit_compile=xla)
        inputs = tensors(steps)
        try:
            graph(*inputs)
        except Exception as error:  # any error of the compiler is a result
            found[name] = f"{type(error).__name__}: {str(error).strip().splitlines()[0][:160]}"
            continue
        forms[name] = graph, inputs
    seconds = {name: [] for name in forms}
    for _ in range(rounds):
        for name, (graph, inputs) in forms.items():
            began = time.process_time()
            graph(*inputs)
            seconds[name].append(time.process_time() - began)
    found |= {name: round(1e3 * statistics.median(each), 2) for name, each in seconds.items()}
    print(json.dumps(found), flush=True)
    return found


def tensors(steps):
    """Return gates and values in [0, 1), both `(batch, time, units)`."""
    random = np.random.default_rng(0)
    gates, values = random.random((2, BATCH, steps, UNITS), np.float32)
    return tf.constant(gates), tf.constant(values)


def with_gradient(form):
    """Return a function that computes the sum of a form's outputs and the gradients of this sum."""

    def run(gates, values):
        with tf.GradientTape() as tape:
            tape.watch((gates, values))
            total = tf.reduce_sum(form(gates, values))
        return total, tape.gradient(total, (gates, values))

    return run


def loop(gates, values):
    """Compute the recurrence one step after another."""

    def step(state, x):
        gate, value = x
        state = gate * state + value
        return state, state

    first = tf.zeros_like(values[:, 0])
    return scan(step, first, (gates, values), template=first)


def associative_scan(gates, values):
    """Compute the recurrence in log2(time) levels: (a, b) followed by (c, d) is (c a, c b + d)."""

    def combine(one, other):
        return one[0] * other[0], other[0] * one[1] + other[1]

    return keras.ops.associative_scan(combine, (gates, values), axis=1)[1]


GRU = keras.layers.GRU(UNITS, return_sequences=True)
FORMS = {
    "loop": loop,
    "associative_scan": associative_scan,
    "gru": lambda gates, values: GRU(values) + 0 * gates,
}


def parsed():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=20, help="samples of each form; default: 20")
    parser.add_argument("--out", type=pathlib.Path, help="JSON file for the times")
    return parser.parse_args()


if __name__ == "__main__":
    main()
