"""Compare training with 1 and 2 processes, one core each: tokens/s, time for sums, bytes sent.

    python benchmarks/many_machines.py --cores 0 1

The tokens per second are only valid if both cores are idle. The figures in processor time are also
valid on a busy machine.
"""

import argparse
import json
import os
import pathlib
import socket
import subprocess
import sys
import time

EMBEDDING_UNITS, UNITS = 256, 512
BATCH_TOKENS, LENGTH, VOCABULARY, WARM_UP = 2048, 32, 8000, 3


def main():
    given = parsed()
    if given.worker:
        print(json.dumps(measured(given.steps, given.units)))
        return
    for count in (1, 2):
        print(json.dumps(of_processes(count, given)), flush=True)


def of_processes(count, given):
    """Train with `count` processes, each on its own core; return the figures of the first one."""
    ports = [free_port() for _ in range(count)]
    command = [sys.executable, __file__, "--worker", f"--steps={given.steps}"]
    workers = [
        subprocess.Popen(
            ["taskset", "-c", str(core), *command, f"--units={given.units}"],
            env={**os.environ, **ONE_THREAD, "TF_CONFIG": place_of(index, ports)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for index, core in zip(range(count), given.cores, strict=False)
    ]
    told = [worker.communicate()[0] for worker in workers]
    return {"processes": count, **json.loads(told[0])}


ONE_THREAD = {name: "1" for name in ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")}


def place_of(index, ports):
    if len(ports) == 1:
        return ""
    cluster = {"worker": [f"127.0.0.1:{port}" for port in ports]}
    return json.dumps({"cluster": cluster, "task": {"type": "worker", "index": index}})


def measured(steps, units):
    """Measure the tokens/s of all workers together, and the time for summing a gradient."""
    import keras
    import tensorflow as tf

    import keras_bahdanau as kb
    from keras_bahdanau.training.distributed import SummedStep
    from keras_bahdanau.training.workers import Workers, strategy_of_environment

    workers = Workers(strategy_of_environment())
    keras.utils.set_random_seed(0)
    model = new_model(kb, units)
    model.compile(keras.optimizers.Adam(1e-3), kb.losses.TokenCrossentropy())
    model.optimizer.build(model.trainable_variables)
    rows = BATCH_TOKENS // LENGTH // workers.count  # rows of this worker
    ids = tf.random.uniform((rows, LENGTH), 4, VOCABULARY, tf.int32)
    batch = ((ids, ids), ids, tf.ones((rows, LENGTH)))
    step = SummedStep(model, tf.nest.map_structure(tf.TensorSpec.from_tensor, batch), workers, 1)
    seconds, processor = timed(lambda: step(batch), steps)
    gradient = [tf.zeros(variable.shape) for variable in model.trainable_variables]
    sums = tf.function(workers.sum)
    of_sums = timed(lambda: sums(gradient)[-1].numpy(), steps) if workers.count > 1 else (0, 0)
    return {
        "weights": model.count_params(),
        "tokens_a_second": round(BATCH_TOKENS / seconds),
        "tokens_a_second_of_processor": round(BATCH_TOKENS / workers.count / processor),
        "step_ms": round(1000 * seconds, 1),
        "sum_ms": round(1000 * of_sums[0], 1),
        "share_of_sums": round(of_sums[0] / seconds, 3),
        "share_of_sums_in_processor_time": round(of_sums[1] / processor, 3),
        # in a ring of n workers, each sends 2 (n - 1) / n times the size of the gradient
        "megabytes_sent_a_step": round(
            2 * (workers.count - 1) / workers.count * 4 * model.count_params() / 1e6, 1
        ),
    }


def new_model(kb, units):
    encoder = kb.Encoder(VOCABULARY, EMBEDDING_UNITS, units=units // 2)
    decoder = kb.Decoder(VOCABULARY, EMBEDDING_UNITS, kb.layers.DecoderCell(units))
    model = kb.Seq2Seq(encoder, decoder)
    model.build()
    return model


def timed(work, steps):
    """Return the mean elapsed and processor seconds of a call, after a few warm-up calls."""
    for _ in range(WARM_UP):
        work()
    began = time.perf_counter(), time.process_time()
    for _ in range(steps):
        work()
    ended = time.perf_counter(), time.process_time()
    return [(end - begin) / steps for begin, end in zip(began, ended, strict=True)]


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def parsed():
    parser = argparse.ArgumentParser(description=pathlib.Path(__file__).name)
    parser.add_argument("--worker", action="store_true", help="run as one of the processes")
    parser.add_argument(
        "--cores", type=int, nargs=2, default=[0, 1], help="cores for the processes"
    )
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--units", type=int, default=UNITS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
