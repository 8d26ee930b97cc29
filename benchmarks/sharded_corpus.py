"""Measure memory, time to the first batch and speed of training on shards, for several corpora.

python benchmarks/sharded_corpus.py --pairs 1000000 5000000 20000000 --directory DIR

Each corpus is generated, measured in a separate process, and removed. Its ids follow Zipf's law,
its lengths are similar to those of real sentences, and a million pairs take 130 MB. Speeds are per
second of processor time.
"""

import argparse
import itertools
import json
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import time

import numpy as np

from keras_bahdanau.data import BatchedPairs, ShardedBatches, Shards, write_card, write_shard
from keras_bahdanau.sources import TextSource
from keras_bahdanau.text.id_rows import IdRows
from keras_bahdanau.text.subwords import Subwords
from keras_bahdanau.text.vocabulary import END

SHARD = 250_000  # pairs
VOCABULARY = 8000
SETTINGS = {"batch_tokens": 2048}


def written(directory, pairs):
    """Write a corpus, and return the seconds that this took."""
    began = time.perf_counter()
    directory.mkdir(parents=True)
    subwords = Subwords.train(
        [" ".join(f"w{n}" for n in range(VOCABULARY - 4))], VOCABULARY, model_type="word"
    )
    random, entries = np.random.default_rng(0), []
    for first in range(0, pairs, SHARD):
        # the target is about as long as the source: -> (2, pairs)
        means = random.lognormal(2.5, 0.5, min(SHARD, pairs - first))
        lengths = np.clip(random.poisson(means, (2, len(means))), 1, 99) + 1
        sides = [IdRows(_ids(random, one), one.astype(np.int32)) for one in lengths]
        entries.append(write_shard(directory, len(entries), *sides))
    write_card(directory, entries, TextSource(subwords), subwords)
    return time.perf_counter() - began


def _ids(random, lengths):
    ends = np.cumsum(lengths)
    # P(id) ~ 1 / id, drawn with the inverse of the distribution function
    ids = np.exp(random.random(ends[-1], np.float32) * np.log(VOCABULARY - 4)).astype(np.int32) + 3
    ids = np.clip(ids, END + 1, VOCABULARY - 1)
    ids[ends - 1] = END
    return ids


def measured(directory, read, steps, rounds):
    """Measure training on a corpus; return a dictionary of times, memory and speeds."""
    from keras_bahdanau.training import TrainingOptions, TrainingPlan
    from keras_bahdanau.training.model import compiled_model

    began, used = time.perf_counter(), time.process_time()
    shards = Shards(directory)
    data = ShardedBatches(shards, **SETTINGS)
    first = next(iter(data.epoch(0)))
    result = {
        "pairs": len(shards),
        "seconds_to_first_batch": time.perf_counter() - began,
        "of_processor": time.process_time() - used,
    }
    options = TrainingOptions(units=128, embedding_units=128, attention_units=128)
    plan = TrainingPlan(options.resolved(), shards.source, shards.target)
    model = compiled_model(plan, 1e-3)
    model.train_on_batch(*first)
    result["gigabytes_of_first_step"] = _peak()
    rate, pairs = _read(data, read)
    result |= {"pairs_read": pairs, "gigabytes": _peak(), "pairs_a_second_from_shards": rate}
    if not rounds:
        return result
    # the pairs of one shard as texts in memory, as `train` reads them from files
    rows = shards.shard(0)
    ids = [np.split(one.flat(), np.cumsum(one.lengths)[:-1]) for one in rows]
    texts = [shards.target.decode(one) for one in ids]
    memory = BatchedPairs(zip(*texts, strict=True), shards.source, shards.target, **SETTINGS)
    result["pairs_a_second_from_memory"], _ = _read(memory, read)
    sources = {"shards": iter(data.epoch(2)), "memory": iter(memory.epoch(2))}
    speeds = {name: [] for name in sources}
    for _ in range(rounds + 1):
        for name, batches in sources.items():
            speeds[name].append(_speed(model, batches, steps))
    for name, samples in speeds.items():  # the first sample traces and reads a window
        result[f"training_tokens_a_second_from_{name}"] = statistics.median(samples[1:])
    return result


def _read(data, most):
    """Read batches without training; return (pairs per second of processor time, pairs)."""
    began, pairs = time.process_time(), 0
    for (source, _), _, _ in data.epoch(1):
        pairs += int(np.count_nonzero(source[:, 0]))
        if pairs >= most:
            break
    return pairs / (time.process_time() - began), pairs


def _speed(model, batches, steps):
    """Train for `steps` steps; return the target tokens per second of processor time."""
    tokens, began = 0, time.process_time()
    for batch in itertools.islice(batches, steps):
        model.train_on_batch(*batch)
        tokens += int(np.sum(batch[2]))
    return tokens / (time.process_time() - began)


def _peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pairs", nargs="+", type=int, default=[10**6, 5 * 10**6, 20 * 10**6])
    parser.add_argument("--directory", type=pathlib.Path, required=True, help="new directory")
    parser.add_argument(
        "--read", type=int, default=3 * 10**6, help="number of pairs to read without training"
    )
    parser.add_argument("--steps", type=int, default=20, help="training steps per round")
    parser.add_argument(
        "--rounds", type=int, default=3, help="rounds of training; 0 to skip the training speed"
    )
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        result = measured(given.directory, given.read, given.steps, given.rounds)
        print(json.dumps({name: float(f"{value:.4g}") for name, value in result.items()}))
        return
    for pairs in given.pairs:
        seconds = written(given.directory, pairs)
        print(json.dumps({"pairs": pairs, "seconds_to_generate": round(seconds, 1)}), flush=True)
        subprocess.run([sys.executable, *sys.argv, "--measure"], check=True)
        shutil.rmtree(given.directory)


if __name__ == "__main__":
    main()
