"""Measure the cost of confidence: processor time of a search with and without token entropies.

python benchmarks/token_probabilities.py --model demo/translator.keras --sentences demo/data/test.en

Confidence needs the entropy of every token, which is computed from the exponentials of the log
softmax. In LiteRT, this log softmax consists of several operations, instead of LiteRT's own. The
variants of a search differ in one of these points, and take turns. Their texts must be equal.
"""

import argparse
import dataclasses
import json
import pathlib
import statistics
import tempfile
import time
from unittest import mock

from keras import ops

import keras_bahdanau as kb
from keras_bahdanau.layers.distribution import (
    Distribution,
    as_distribution,
    softmax_distribution,
)
from keras_bahdanau.models import seq2seq

BEAM_WIDTHS = 1, 5


def without_entropies(logits):
    """Return only the log softmax, with zeros for the entropies."""
    log_probs = ops.log_softmax(logits, axis=-1)
    return Distribution(log_probs, ops.zeros_like(log_probs[..., 0]))


def without_entropies_in_parts(logits):
    """Return only the log softmax, computed with the operations that are exported to LiteRT."""
    log_probs = softmax_distribution(logits).log_probs
    return Distribution(log_probs, ops.zeros_like(log_probs[..., 0]))


def own_exponentials(logits):
    """Return the log softmax from one operation, and entropies from separate exponentials."""
    return as_distribution(ops.log_softmax(logits, axis=-1))


AS_SHIPPED = "as shipped"
VARIANTS = {  # for each runtime: functions that compute distributions while a graph is traced
    "tensorflow": {
        AS_SHIPPED: softmax_distribution,
        "no entropies": without_entropies,
        "separate exponentials": own_exponentials,
    },
    "litert": {
        AS_SHIPPED: softmax_distribution,
        "no entropies": without_entropies_in_parts,
        "log softmax as one operation": own_exponentials,
    },
}


def main():
    given = parsed()
    sentences = given.sentences.read_text(encoding="utf-8").splitlines()[: given.most]
    for width in BEAM_WIDTHS:
        samples = seconds(lanes_of(given, sentences, width), sentences, given.rounds)
        medians = {name: statistics.median(taken) for name, taken in samples.items()}
        ratios = {name: round(taken / medians[AS_SHIPPED], 3) for name, taken in medians.items()}
        found = {"runtime": given.runtime, "beam_width": width, "sentences": len(sentences)}
        print(json.dumps({**found, "time / time as shipped": ratios, "seconds": samples}))


def lanes_of(given, sentences, width):
    """Return a function for each variant that decodes all sentences; its graph is traced here."""
    lanes = {}
    for name, function in VARIANTS[given.runtime].items():
        pipeline = kb.load_pipeline(given.model)
        pipeline.search = dataclasses.replace(pipeline.search, beam_width=width)
        with mock.patch.object(seq2seq, "softmax_distribution", function):
            lanes[name] = made(pipeline, given, sentences)
    return lanes


def made(pipeline, given, sentences):
    """Return a decoding function: in batches for TensorFlow, one sentence at a time for LiteRT."""
    if given.runtime == "tensorflow":
        pipeline.decode(sentences)
        return pipeline.decode
    with tempfile.TemporaryDirectory() as directory:
        file = pathlib.Path(directory, "model.tflite")
        lengths = {"max_source_length": given.length, "max_target_length": given.length}
        kb.export_litert(pipeline, file, quantization=given.quantization, **lengths)
        reader = kb.exporters.LiteRTTranslator(file)
    reader.decode(sentences[:1])
    return reader.decode


def seconds(lanes, sentences, rounds):
    """Measure the processor time of each lane, in turns; return the samples in seconds."""
    samples = {name: [] for name in lanes}
    for _ in range(rounds):
        texts = set()
        for name, decode in lanes.items():
            began = time.process_time()
            results = decode(sentences)
            samples[name].append(time.process_time() - began)
            texts.add("\n".join(result.text for result in results))
        if len(texts) != 1:
            raise SystemExit("The texts of the variants must be equal, but they differ.")
    return samples


def parsed():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", required=True, type=pathlib.Path)
    parser.add_argument(
        "--sentences", required=True, type=pathlib.Path, help="file of sentences, one per line"
    )
    parser.add_argument("--runtime", choices=VARIANTS, default="tensorflow")
    parser.add_argument("--quantization", choices=("float16", "int8"))
    parser.add_argument("--length", type=int, default=32, help="maximum tokens per side in LiteRT")
    parser.add_argument(
        "--most", type=int, default=500, help="maximum number of sentences; default: %(default)s"
    )
    parser.add_argument("--rounds", type=int, default=7)
    return parser.parse_args()


if __name__ == "__main__":
    main()
