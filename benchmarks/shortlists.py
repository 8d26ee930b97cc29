"""Agreement, BLEU and speed of searches in shortlists, against the whole vocabulary.

    keras-bahdanau shortlist train.en train.de --model runs/en-de
    python benchmarks/shortlists.py --model runs/en-de --source valid.en --target valid.de

TensorFlow decodes batches of 64 and sentences alone, a SavedModel and LiteRT sentences alone, all
on one thread.
Times are those of the processor, and the sizes of the lists take turns in each round, so that the
figures hold on a busy core, too: `taskset -c 1 python benchmarks/shortlists.py ...`.
"""

import argparse
import dataclasses
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import machine  # noqa: E402

ONE_THREAD = ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")
SEARCHES = {"greedy": 1, "beam 5": 5}
WHOLE = 0  # size of a search without lists


def main(arguments=None):
    """The program; returns its exit code."""
    options = _parser().parse_args(arguments)
    os.environ |= {**dict.fromkeys(ONE_THREAD, "1"), "CUDA_VISIBLE_DEVICES": "-1"}
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    from keras_bahdanau import load_pipeline
    from keras_bahdanau.data import read_pairs

    pipeline = load_pipeline(options.model)
    pairs = read_pairs(options.source, options.target)[: options.texts]
    sizes = [WHOLE, *options.sizes]
    pipelines = {
        (search, size): pipeline.searching(
            dataclasses.replace(pipeline.search, beam_width=width, shortlist=size)
        )
        for search, width in SEARCHES.items()
        for size in sizes
    }
    result = {
        "processor": machine.described(),
        "texts": len(pairs),
        "timed_texts": options.timed,
        "vocabulary": pipeline.target.vocabulary_size,
        "quality": quality(pipelines, pairs, options.tokenize),
    }
    texts = [source for source, _ in pairs[: options.timed]]
    result["milliseconds"] = timed(tensorflow_runners(pipelines), texts, options.rounds)
    for make in (saved_model_runners, litert_runners) if options.exports else ():
        print(table(result), file=sys.stderr, flush=True)  # exports take minutes
        with tempfile.TemporaryDirectory() as scratch:
            runners = make(pipelines, Path(scratch))
            result["milliseconds"] += timed(runners, texts, options.rounds)
    print(table(result))
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


def _parser():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, required=True, help="a model with a shortlist")
    parser.add_argument("--source", type=Path, required=True, help="held-out sentences")
    parser.add_argument("--target", type=Path, required=True, help="their translations")
    parser.add_argument("--sizes", type=int, nargs="+", default=[128, 256, 512])
    parser.add_argument("--texts", type=int, default=500, help="most that are compared")
    parser.add_argument("--timed", type=int, default=64, help="of them, those that are timed")
    parser.add_argument("--rounds", type=int, default=5, help="times that each is timed")
    parser.add_argument("--tokenize", default="none", help="tokenization of BLEU")
    parser.add_argument("--no-exports", dest="exports", action="store_false")
    parser.add_argument("--out", type=Path, help="JSON file for all figures")
    return parser


def quality(pipelines, pairs, tokenize):
    """For each search and size: share of the texts of the whole vocabulary, BLEU, ..."""
    import numpy as np
    from sacrebleu.metrics import BLEU

    sources, references = (list(side) for side in zip(*pairs, strict=True))
    rows, expected = [], {}
    for (search, size), pipeline in pipelines.items():
        results = pipeline.decode(sources)
        texts, longest = (
            [one.text for one in results],
            max(len(one.target_tokens) for one in results),
        )
        expected.setdefault(search, texts)
        equal = np.mean([one == other for one, other in zip(texts, expected[search], strict=True)])
        covered = 1.0
        if size:
            features = pipeline.source.batch(sources, pipeline.longest())
            covered = float(np.mean(pipeline.shortlist.lists(features, size).covered))
        bleu = BLEU(tokenize=tokenize, force=True).corpus_score(texts, [references]).score
        figures = {"equal": float(equal), "bleu": bleu, "covered": covered, "longest": longest}
        rows.append({"search": search, "size": size, **figures})
    return rows


def tensorflow_runners(pipelines):
    """Functions of texts, by (runtime, search, size)."""
    ways = {"TensorFlow, batches of 64": 64, "TensorFlow, alone": 1}
    return {
        (way, search, size): lambda texts, pipeline=pipeline, batch=batch: pipeline.decode(
            texts, batch_size=batch
        )
        for way, batch in ways.items()
        for (search, size), pipeline in pipelines.items()
    }


def saved_model_runners(pipelines, scratch):
    """The same of a SavedModel for each search and size."""
    import tensorflow as tf

    from keras_bahdanau import export_saved_model

    runners = {}
    for (search, size), pipeline in pipelines.items():
        version = export_saved_model(pipeline, scratch / f"{search}-{size}")
        run = tf.saved_model.load(str(version)).signatures["serving_default"]
        runners["SavedModel, alone", search, size] = lambda texts, run=run: [
            run(text=tf.constant([one])) for one in texts
        ]
        print("SavedModel", search, "with lists of", size, file=sys.stderr, flush=True)
    return runners


def litert_runners(pipelines, scratch):
    """The same of files, each with a signature for both searches."""
    from keras_bahdanau.exporters import LiteRTExporter
    from keras_bahdanau.exporters.litert.on_device import OnDeviceTranslator

    runners = {}
    for quantization in (None, "int8"):
        exporter = LiteRTExporter(quantization=quantization, signatures=("greedy",))
        for size in dict.fromkeys(size for _, size in pipelines):
            path = scratch / f"{quantization}-{size}.tflite"
            exporter.write(pipelines["beam 5", size], path)
            name = f"LiteRT {exporter.precision}, {path.stat().st_size / 1e6:.1f} MB"
            print(name, "with lists of", size, file=sys.stderr, flush=True)
            for search in SEARCHES:
                runner = OnDeviceTranslator(path, greedy=search == "greedy")
                runners[f"LiteRT {exporter.precision}", search, size] = runner.translate
    return runners


def timed(runners, texts, rounds):
    """Rows of the milliseconds of a text: median and least of the rounds, all sizes in turns."""
    samples = {key: [] for key in runners}
    for run in runners.values():
        run(texts)  # which traces its graphs
    for _ in range(rounds):
        for key, run in runners.items():
            began = time.process_time()
            run(texts)
            samples[key].append((time.process_time() - began) / len(texts) * 1000)
    return [
        {
            **dict(zip(("runtime", "search", "size"), key, strict=True)),
            "median": statistics.median(found),
            "least": min(found),
        }
        for key, found in samples.items()
    ]


def table(result):
    """The figures in Markdown: a row for each search and size."""
    times = {
        (row["runtime"], row["search"], row["size"]): row["least"] for row in result["milliseconds"]
    }
    runtimes = list(dict.fromkeys(runtime for runtime, *_ in times))
    lines = [
        f"| search | list | covered | equal texts | BLEU | longest | {' | '.join(runtimes)} |",
        f"|---|--:|--:|--:|--:|--:|{'--:|' * len(runtimes)}",
    ]
    for row in result["quality"]:
        search, size = row["search"], row["size"]
        speed = " | ".join(_cell(times, runtime, search, size) for runtime in runtimes)
        shares = f"{row['covered']:.1%} | {row['equal']:.1%} | {row['bleu']:.2f} | {row['longest']}"
        lines.append(f"| {search} | {size or 'all'} | {shares} | {speed} |")
    return "\n".join(lines)


def _cell(times, runtime, search, size):
    """Milliseconds, and how many times as fast as the whole vocabulary."""
    own, whole = times[runtime, search, size], times[runtime, search, WHOLE]
    return f"{own:.2f}" + (f" ({whole / own:.2f}x)" if size else "")


if __name__ == "__main__":
    sys.exit(main())
