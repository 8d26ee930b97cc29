r"""Compare a search in bfloat16 with the same search in float32: processor time, text and BLEU.

    TF_NUM_INTRAOP_THREADS=1 TF_NUM_INTEROP_THREADS=1 taskset -c 1 \
        python benchmarks/decoding_precision.py --model runs/en-de val.en val.de

The two precisions take turns, with greedy search and with beam 5, in batches and one sentence at a
time. A ratio compares medians, float32 / bfloat16, so more is better. Times are processor times,
which are less sensitive to other work on the machine.
"""

import argparse
import dataclasses
import json
import pathlib
import statistics
import time

import machine

import keras_bahdanau as kb
from keras_bahdanau.evaluation.corpus_metrics import metrics_of

BEAM_WIDTHS = 1, 5
BATCH = 64
PRECISIONS = "float32", "bfloat16"
SAID = "batch_size", "beam_width", "ratio", "equal", "bleu"


def main():
    given = parsed()
    result = {"machine": machine.described(), "measured": []}
    pairs = kb.data.read_pairs(given.source, given.target)[: given.most]
    sentences, references = zip(*pairs, strict=True)
    pipelines = {name: kb.load_pipeline(given.model, precision=name) for name in PRECISIONS}
    for batch_size, most in ((BATCH, given.most), (1, given.alone)):
        for width in BEAM_WIDTHS:
            parts = [*sentences[:most]], [*references[:most]]
            found = measured_with(width, batch_size, pipelines, *parts, given)
            result["measured"].append(found)
            print(json.dumps({name: found[name] for name in SAID}), flush=True)
    if given.out:
        given.out.write_text(json.dumps(result, indent=1) + "\n")


def measured_with(width, batch_size, pipelines, sentences, references, given):
    """Measure the seconds and BLEU of each precision, and the fraction of equal texts."""
    seconds, texts = {name: [] for name in pipelines}, {}
    for number in range(given.rounds + 1):  # the first round traces the graphs
        for name, pipeline in pipelines.items():
            search = dataclasses.replace(pipeline.search, beam_width=width)
            began = time.process_time()
            results = pipeline.decode(sentences, batch_size, search)
            if number:
                seconds[name].append(time.process_time() - began)
            texts[name] = [one.text for one in results]
    medians = [statistics.median(seconds[name]) for name in PRECISIONS]
    pairs = zip(*texts.values(), strict=True)
    return {
        **{"batch_size": batch_size, "beam_width": width, "sentences": len(sentences)},
        "ratio": rounded(medians[0] / medians[1]),
        "equal": rounded(statistics.mean(one == other for one, other in pairs)),
        "bleu": {name: bleu(found, references, given.tokenize) for name, found in texts.items()},
        "seconds": seconds,
    }


def bleu(texts, references, tokenize):
    (metric,) = metrics_of(["bleu"], tokenize)
    return round(metric.corpus_score(texts, references), 2)


def rounded(value):
    return round(value, 4)


def parsed():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("source", type=pathlib.Path, help="file of sentences, one per line")
    parser.add_argument("target", type=pathlib.Path, help="file of their translations")
    parser.add_argument("--model", required=True, type=pathlib.Path)
    parser.add_argument(
        "--most", type=int, default=1000, help="maximum number of sentences; default: %(default)s"
    )
    parser.add_argument(
        "--alone",
        type=int,
        default=40,
        help="number of sentences to decode one at a time; default: %(default)s",
    )
    parser.add_argument(
        "--tokenize", default="none", help="BLEU tokenization; default: %(default)s"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=pathlib.Path, help="JSON file for all samples")
    return parser.parse_args()


if __name__ == "__main__":
    main()
