r"""Compare architectures on Multi30K, with the same pairs, subwords and minutes for each.

    python experiments/multi30k/architectures.py train --data multi30k --minutes 60 --out runs/rows
    python experiments/multi30k/architectures.py measure --data multi30k --out runs/rows
    python experiments/multi30k/architectures.py table --out runs/rows

The directory --data contains `tok/`: see examples/multi30k/README.md. Scores are for `val`;
`train --test` decodes test_2016_flickr at the end, once for each system. `train` resumes where it
was stopped. `measure` measures speed and size of all trained systems, one after another. Run
nothing else at the same time.
"""

import argparse
import dataclasses
import itertools
import json
import statistics
import sys
import time
from pathlib import Path

import keras
import scoring

import keras_bahdanau as kb
from keras_bahdanau.exporters.litert.on_device import OnDeviceTranslator
from keras_bahdanau.files.whole_file import write_json
from keras_bahdanau.training import Run, TrainingOptions, train, training_option

SUBWORDS = {
    **{"vocabulary_size": 6000, "model_type": "bpe", "joint": True},
    "normalization": "nmt_nfkc",
}
WIDTHS = {"units": 512, "embedding_units": 256, "attention_units": 256}  # as in `small`
AS_SMALL = {  # training options of the preset `small`
    **{"optimizer": "adam", "learning_rate": 0.002, "schedule": "cosine", "warmup": 0.02},
    **{"clip_norm": 5.0, "ema_momentum": 0.998, "loss_mean": "tokens", "label_smoothing": 0.1},
    **{"batch_sentences": 0, "batch_tokens": 1500, "max_length": 128, "epochs": 54},
    **{"dropout": 0.45, "embedding_dropout": 0.3, "readout_dropout": 0.45},
    **{"recurrent_dropout": 0.2, "word_dropout": 0.1},
}
SYSTEMS = {
    "small": {},
    "rnnsearch": {"preset": "rnnsearch", **WIDTHS},
    "rnnsearch-trained-as-small": {"preset": "rnnsearch", **WIDTHS, **AS_SMALL},
    "min-gru": {"cell": "min-gru", "encoder_cell": "min-gru", "recurrent_dropout": 0.0},
    "ssru-student": {"preset": "ssru-student"},
    "transformer-tiny": {"preset": "transformer-tiny"},
}
PARTS = {"val": "val", "test": "test_2016_flickr"}
RULE = scoring.SETTINGS["tok"]
SENTENCES = 200  # number of sentences of `val` that are timed one by one
ROUNDS = 3  # times that each sentence is timed
GREEDY, BEAM = (kb.SearchOptions(beam_width=width) for width in (1, 5))
LENGTHS = (16, 64, 256)  # target tokens, for the memory per hypothesis


def main(arguments=None):
    arguments = parsed(arguments)
    arguments.out.mkdir(parents=True, exist_ok=True)
    if arguments.command == "table":
        print(table(arguments))
        return
    for name in arguments.systems:
        run = Run(arguments.out / name)
        if arguments.command == "train":
            if not run.is_over():
                pairs, valid = read(arguments, "train"), read(arguments, "val")
                train(pairs, valid, run.directory, options_of(name, arguments), verbose=2)
            for part in ("val", "test") if arguments.test else ("val",):
                score(arguments, name, run, part)
        elif run.is_over():
            measure(arguments, name, kb.Translator.load(run.translator))


def read(arguments, part):
    place = arguments.data / "tok"
    return kb.data.read_pairs(*(place / f"{part}.{each}.gz" for each in ("en", "de")))


def options_of(name, arguments):
    """Return a system's options, with changes from the command line."""
    given = {"seed": arguments.seed, "minutes": arguments.minutes, **SUBWORDS, **SYSTEMS[name]}
    return TrainingOptions(**{**given, **dict(arguments.set)})


def score(arguments, name, run, part):
    """Compute the scores on a part, and write them to a file unless it exists."""
    path = arguments.out / f"{name}.{part}.json"
    if path.exists():
        return
    translator = kb.Translator.load(run.translator)
    pairs = read(arguments, PARTS[part])
    beam = kb.evaluation.evaluate(translator, pairs, metrics=["bleu", "chrf"], **RULE)
    greedy = kb.evaluation.evaluate(translator, pairs, search=GREEDY, metrics=["bleu"], **RULE)
    progress = run.progress()
    write_json(
        path,
        {
            "weights": translator.model.count_params(),
            "epochs": progress.epoch,
            "training_minutes": progress.seconds / 60,
            "tokens_per_second": pace(translator, progress, read(arguments, "train")),
            "scores": beam.scores(),
            "greedy_bleu": greedy.bleu,
            "options": run.read_card()["options"],
        },
    )


def pace(translator, progress, pairs):
    """Return target tokens per second of training, including end tokens and validation time."""
    ids = translator.target.encode([target for _, target in pairs])  # with the end token
    tokens = sum(map(len, ids))
    return progress.epoch * tokens / progress.seconds


def measure(arguments, name, translator):
    """Measure speed, size and memory of a trained system, and write NAME.measured.json."""
    sources = [source for source, _ in read(arguments, "val")]
    path = arguments.out / f"{name}.int8.tflite"
    if not path.exists():
        translator.search = dataclasses.replace(translator.search, beam_width=BEAM.beam_width)
        kb.export_litert(translator, path, quantization="int8")
    found = {
        "file_bytes": path.stat().st_size,
        "hypothesis_bytes": {length: hypothesis_bytes(translator, length) for length in LENGTHS},
        "sentences_per_second": {
            kind: len(sources) / seconds(translator.translate, sources, search=search)
            for kind, search in (("greedy", GREEDY), ("beam 5", BEAM))
        },
        "device_p50_ms": {
            kind: p50(OnDeviceTranslator(path, greedy=kind == "greedy"), sources[:SENTENCES])
            for kind in ("greedy", "beam 5")
        },
    }
    write_json(arguments.out / f"{name}.measured.json", found)
    print(name, json.dumps(found), flush=True)


def hypothesis_bytes(translator, length):
    """Return the bytes that a step passes to the next, per hypothesis, for `length` tokens."""
    stack = translator.model.decoder.cell.stack
    return 4 * sum(numbers(cell, length) for cell in getattr(stack, "cells", [stack]))


def numbers(cell, length):
    """Count the values in a cell's states; self-attention has keys and values for its window."""
    count = sum(keras.tree.flatten(cell.state_sizes))
    if not isinstance(cell, kb.layers.SelfAttentionCell):
        return count
    return count // cell.length * min(length, cell.length)


def seconds(function, *arguments, **options):
    """Return the shortest time of `ROUNDS` runs, after a first run that traces the graph."""
    function(*arguments, **options)
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        function(*arguments, **options)
        times.append(time.perf_counter() - start)
    return min(times)


def p50(translator, sources):
    """Return the median ms per sentence, using each sentence's shortest round."""
    return 1e3 * statistics.median(seconds(translator.translate, [source]) for source in sources)


def table(arguments):
    """Return a Markdown table of all systems so far."""
    head = "system|weights|epochs|minutes|target tokens/s|BLEU|BLEU, greedy|chrF|attention, nats"
    head += "|sentences/s, greedy|beam 5|int8 file|p50, greedy|beam 5"
    head += f"|state per hypothesis, {LENGTHS[0]} to {LENGTHS[-1]} tokens"
    lines = [f"| {head.replace('|', ' | ')} |", "|---" + "|--:" * head.count("|") + "|"]
    for name, part in itertools.product(SYSTEMS, PARTS):
        path = arguments.out / f"{name}.{part}.json"
        if path.exists():
            measured = arguments.out / f"{name}.measured.json"
            known = json.loads(measured.read_text()) if measured.exists() else None
            lines.append(row(f"{name}, {part}", json.loads(path.read_text()), known))
    return "\n".join(lines)


def row(name, found, measured):
    scores = found["scores"]
    cells = [
        *(name, f"{found['weights']:,}", found["epochs"], f"{found['training_minutes']:.1f}"),
        *(f"{found['tokens_per_second']:,.0f}", f"{scores['bleu']:.2f}"),
        *(f"{found['greedy_bleu']:.2f}", f"{scores['chrf']:.2f}"),
        f"{scores['attention_entropy']:.2f}",
    ]
    if measured:
        speed, device = measured["sentences_per_second"], measured["device_p50_ms"]
        short, *_, long = measured["hypothesis_bytes"].values()
        kilobytes = f"{short / 1e3:.1f} kB" + (f" to {long / 1e3:.1f}" if long > short else "")
        cells += [f"{speed[kind]:.0f}" for kind in ("greedy", "beam 5")]
        cells += [f"{measured['file_bytes'] / 1e6:.2f} MB"]
        cells += [*(f"{device[kind]:.1f} ms" for kind in ("greedy", "beam 5")), kilobytes]
    return f"| {' | '.join(map(str, cells + [''] * (15 - len(cells))))} |"


def parsed(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("command", choices=("train", "measure", "table"))
    add("--data", type=Path, help="directory with tok/, for train and measure")
    add("--out", type=Path, required=True, help="directory for all results")
    add("--systems", nargs="+", choices=SYSTEMS, default=[*SYSTEMS], help="systems (all)")
    add("--minutes", type=float, default=60.0, help="time limit per training run (60)")
    add("--seed", type=int, default=1, help="seed for weights, dropout and batches (1)")
    add("--test", action="store_true", help="decode the test, once for each system")
    add(
        "--set",
        type=training_option,
        action="append",
        default=[],
        metavar="OPTION=VALUE",
        help="training option for all systems, such as units=64; may be repeated",
    )
    parsed = parser.parse_args(arguments)
    if parsed.command != "table" and parsed.data is None:
        parser.error(f"--data must name the directory with tok/ to {parsed.command}")
    return parsed


if __name__ == "__main__":
    sys.exit(main())
