"""Profile row 1's training step by TensorFlow operation, on one core, and print a Markdown table.

    taskset -c 1 python benchmarks/profile_step.py
    python benchmarks/profile_step.py --quick

The table gives the time per step of each kind of operation, as TensorFlow's profiler measures it.
The shares are of the time in operations, without the executor's. For all matrix products together,
the program also prints their speed as a fraction of the peak, the highest speed of a product of
large matrices in the same process.
"""

import argparse
import collections
import os
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "workers")]
ONE_THREAD = ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")
LOOPS = {"While", "StatefulPartitionedCall", "PartitionedCall", "If"}  # contain operations
PRODUCT = "MatMul"  # part of the name of each product: _MklMatMul, BatchMatMulV2, ...
LARGEST = 12  # kinds of operations in the table


def main(arguments=None):
    """Run the program."""
    options = _parser().parse_args(arguments)
    os.environ |= {**dict.fromkeys(ONE_THREAD, "1"), "CUDA_VISIBLE_DEVICES": "-1"}
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import machine
    import ours
    import products
    from rows.sizes import sizes

    chosen = sizes(options.quick)
    model = ours._model(chosen, options.precision, False)
    step = ours.step_job(model, chosen, "", False).run
    times, wall = profiled(step, options.steps)
    per_token = products.operations(model, chosen["source_time"], chosen["target_time"])
    operations = per_token * chosen["batch"] * chosen["target_time"]
    print(f"{machine.described()['processor']}, one core, {options.steps} steps\n")
    most = peak(256 if options.quick else 2048, model.compute_dtype)
    print("\n".join(table(times, wall, operations, most)))


def profiled(step, steps):
    """Run a step several times.

    Returns:
        Pair: a dictionary from each kind of operation to (number, seconds) per step, and the
        seconds per step without the profiler.
    """
    import tensorflow as tf
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    step()
    began = time.perf_counter()
    for _ in range(steps):
        step()
    wall = (time.perf_counter() - began) / steps
    with tempfile.TemporaryDirectory() as folder:
        with tf.profiler.experimental.Profile(folder):
            for _ in range(steps):
                step()
        (file,) = Path(folder).rglob("*.xplane.pb")
        space = xplane_pb2.XSpace.FromString(file.read_bytes())
    found = collections.defaultdict(lambda: [0, 0.0])
    for plane in space.planes:
        if plane.name != "/host:CPU":
            continue
        for event in (event for line in plane.lines for event in line.events):
            path, colon, kind = plane.event_metadata[event.metadata_id].name.rpartition(":")
            if colon and path[-1:] not in ("", ":") and kind[:1] != " " and kind not in LOOPS:
                found[kind][0] += 1 / steps
                found[kind][1] += event.duration_ps * 1e-12 / steps
    return found, wall


def peak(size, dtype):
    """Return the operations per second of a product of square matrices."""
    import tensorflow as tf

    matrix, best = tf.cast(tf.random.normal((size, size)), dtype), float("inf")
    for _ in range(6):
        began = time.perf_counter()
        tf.matmul(matrix, matrix).numpy()
        best = min(best, time.perf_counter() - began)
    return 2 * size**3 / best


def table(times, wall, operations, most):
    """Yield the lines of the table."""
    listed = sum(seconds for _, seconds in times.values())
    product = sum(seconds for kind, (_, seconds) in times.items() if PRODUCT in kind)
    yield "| operation | number per step | ms per step | share |"
    yield "|---|--:|--:|--:|"
    kinds = sorted(times, key=lambda kind: -times[kind][1])
    for kind in kinds[:LARGEST]:
        number, seconds = times[kind]
        yield f"| {kind} | {number:.0f} | {1000 * seconds:.1f} | {seconds / listed:.1%} |"
    rest = kinds[LARGEST:]
    number, seconds = (sum(times[kind][part] for kind in rest) for part in (0, 1))
    yield f"| {len(rest)} others | {number:.0f} | {1000 * seconds:.1f} | {seconds / listed:.1%} |"
    yield f"| all | {sum(n for n, _ in times.values()):.0f} | {1000 * listed:.1f} | 100% |"
    yield ""
    yield (
        f"A step takes {1000 * wall:.0f} ms without the profiler. Its matrix products have "
        f"{operations / 1e9:.1f} billion operations, and run at {operations / product / 1e9:.0f} "
        f"GFLOP/s: {operations / product / most:.0%} of the peak of {most / 1e9:.0f} GFLOP/s. At "
        f"the peak, they would take {1000 * operations / most:.0f} ms."
    )


def _parser():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=20, help="number of steps (%(default)s)")
    parser.add_argument("--precision", default="float32", help="dtype policy (%(default)s)")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to test the program")
    return parser


if __name__ == "__main__":
    main()
