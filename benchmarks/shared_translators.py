"""Compare one translator for all threads with one per thread: texts per second and memory.

python benchmarks/shared_translators.py examples/pronounce/models/cmudict-small.tflite CAT IDEA BOAT
"""

import argparse
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from keras_bahdanau.exporters import OnDeviceTranslator


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="a .tflite file of a text model")
    parser.add_argument("texts", nargs="+")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2, 8])
    parser.add_argument(
        "--seconds", type=float, default=3.0, help="duration of each measurement; default: 3"
    )
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument(
        "--kind", choices=("shared", "each"), help="run one measurement in this process"
    )
    options = parser.parse_args()
    if options.kind:
        return print(measured(options, options.kind, options.threads[0]))
    for _ in range(options.rounds):
        for threads in options.threads:
            for kind in ("shared", "each"):
                settings = ["--kind", kind, "--threads", str(threads)]
                settings += ["--seconds", str(options.seconds)]
                command = [sys.executable, __file__, options.model, *options.texts, *settings]
                done = subprocess.run(command, check=True, capture_output=True, text=True)
                print(f"{threads} threads, {kind}: {done.stdout.strip()}", flush=True)


def measured(options, kind, threads):
    """Return the rate of `threads` threads that translate without pause, and their memory."""
    before, shared = resident(), OnDeviceTranslator(options.model)
    ready = threading.Barrier(threads)

    def ask(_):
        translator = shared if kind == "shared" else OnDeviceTranslator(options.model)
        translator.translate(options.texts[:1])
        ready.wait()
        count, end = 0, time.perf_counter() + options.seconds
        while time.perf_counter() < end:
            translator.translate([options.texts[count % len(options.texts)]])
            count += 1
        return count

    with ThreadPoolExecutor(threads) as pool:
        rate = sum(pool.map(ask, range(threads))) / options.seconds
        return f"{rate:,.0f} texts/s, {resident() - before:.0f} MiB"


def resident():
    """Return the resident memory of this process in MiB (Linux only)."""
    with open("/proc/self/status", encoding="utf-8") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024


if __name__ == "__main__":
    main()
