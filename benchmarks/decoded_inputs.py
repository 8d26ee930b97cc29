"""Measure the milliseconds to read an input as features, decoded and from `Source.cached`.

python benchmarks/decoded_inputs.py --source speech recordings/*.wav
python benchmarks/decoded_inputs.py --source image formulas/*.png
"""

import argparse
import json
import pathlib
import statistics
import tempfile
import time

import numpy as np

from keras_bahdanau.sources.named_source import source_by_name

BATCH = 32  # inputs at a time, as in a training run


def milliseconds(source, inputs, rounds):
    """Return the mean milliseconds per input, one sample for each pass over all inputs."""
    rows, samples = source.rows(inputs), []
    for _ in range(rounds):
        began = time.perf_counter()
        for first in range(0, len(inputs), BATCH):
            members = np.arange(first, min(first + BATCH, len(inputs)))
            rows.padded(members, (len(members), int(rows.lengths[members].max(initial=1))))
        samples.append((time.perf_counter() - began) / len(inputs) * 1000)
    return samples


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    parser.add_argument("--source", required=True, help="source, such as image:height=64 or speech")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    source = source_by_name(given.source)
    source.batch(given.files[:BATCH])  # traces the graphs
    with tempfile.TemporaryDirectory() as directory:
        cached = source.cached(directory)
        results = {
            "decoded": milliseconds(source, given.files, given.rounds),
            "decoded and written": milliseconds(cached, given.files, 1),
            "from the cache": milliseconds(cached, given.files, given.rounds),
        }
        size = sum(file.stat().st_size for file in pathlib.Path(directory).iterdir())
    medians = {name: round(statistics.median(samples), 3) for name, samples in results.items()}
    print(json.dumps({"inputs": len(given.files), "ms": medians, "megabytes": round(size / 1e6)}))


if __name__ == "__main__":
    main()
