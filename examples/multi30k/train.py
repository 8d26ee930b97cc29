r"""English to German or French on Multi30K: from the files to a score and its pictures.

    python examples/multi30k/train.py --data multi30k --language de --tier cpu --minutes 60 \
        --seed 1 --out runs/de-1

DIR of --data holds `tok/` or `raw/`, each with train, val and test_2016_flickr in en and the other
language, such as `tok/train.en.gz` (Multi30K task 1, repository multi30k/dataset). The same
command goes on where it was stopped. Everything is chosen on `val`; `test_2016_flickr` is decoded
once, at the end, and not at all with --no-test.
"""

import argparse
import dataclasses
import json
import os
import platform
from pathlib import Path

import keras
import scoring
import tensorflow as tf

import keras_bahdanau as kb
from keras_bahdanau.files.whole_file import write_json
from keras_bahdanau.settings.cores import usable_cores
from keras_bahdanau.training import Run, TrainingOptions, train, training_option

TIERS = {  # what differs from `presets.small`
    "cpu": {},
    "gpu": {"batch_tokens": 4096, "jit_compile": True, "epochs": 60},
}
BEAM_WIDTHS = (5, 10)  # that are tried on `val`
LEFT_OUT = {"seed": 0, "minutes": 0.0, "set": [], "beam_widths": BEAM_WIDTHS}
SENTENCES = 10  # whose alignments are drawn


def main(arguments=None):
    arguments = parsed(arguments)
    scoring.check_not_scored(arguments.out)
    pairs, valid = (read(arguments, part) for part in ("train", "val"))
    arguments.out.mkdir(parents=True, exist_ok=True)
    check_same(arguments)
    run = Run(arguments.out / "run")
    options = options_of(arguments, run)
    print(f"{len(pairs):,} pairs, {options.epochs} epochs at most", flush=True)
    if not run.is_over():
        train(pairs, valid, run.directory, options, verbose=2)
    draw_curves(run, arguments.out)
    translator = kb.Translator.load(run.translator)
    best = tuned(translator, valid, arguments)
    translator.search = best.search
    translator.save(arguments.out / "translator.keras")
    report = {**about(arguments, options, run), "val_bleu": best.score}
    report["search"] = dataclasses.asdict(best.search)
    if arguments.test:
        report["test"] = scored(translator, arguments)
    write_json(arguments.out / ("scores.json" if arguments.test else "val.json"), report)
    print(json.dumps({name: report[name] for name in report if name != "options"}, indent=1))


def check_same(arguments):
    """Stops if the directory was begun with something else; what is left out is as it was."""
    path = arguments.out / "about.json"
    names = ("language", "text", "tier", *LEFT_OUT)
    asked = {name: getattr(arguments, name) for name in names}
    left_out = {name for name, value in LEFT_OUT.items() if asked[name] == value}
    asked = json.loads(json.dumps(asked))  # tuples become lists, as in the file
    begun = json.loads(path.read_text()) if path.exists() else asked
    if all(pair in begun.get("set", []) for pair in asked["set"]):
        left_out.add("set")  # and the other options are as they were
    # older files have fewer names
    others = [name for name in begun if begun[name] != asked[name] and name not in left_out]
    if others:
        said = ("; ".join(f"{name}={one[name]}" for name in others) for one in (begun, asked))
        raise SystemExit(
            f"{arguments.out} was begun with {next(said)}. Received: {next(said)}. Choose another "
            "--out."
        )
    if not path.exists():
        write_json(path, asked)


def read(arguments, part):
    """(English, other language) pairs of a part of the corpus."""
    place = arguments.data / arguments.text
    return kb.data.read_pairs(
        *(place / f"{part}.{language}.gz" for language in ("en", arguments.language))
    )


def options_of(arguments, run):
    """The options a run began with, or new ones."""
    if run.exists():
        return run.options()
    said = {"seed": arguments.seed, "minutes": arguments.minutes}
    options = {**said, **TIERS[arguments.tier], **dict(arguments.set)}
    return TrainingOptions(**options).resolved()


def draw_curves(run, out):
    epochs = json.loads(run.history.read_text())
    history = {name: [epoch.get(name) for epoch in epochs] for name in epochs[0]}
    kb.plot_history(history).savefig(out / "curves.png")


def tuned(translator, valid, arguments):
    """The `Trial` to keep, by its BLEU on `val`; all go to, or come from, tuning.json."""
    path = arguments.out / "tuning.json"
    known = json.loads(path.read_text()) if path.exists() else []
    if known and "score" in known[0]:  # older files lack it
        trials = [
            kb.evaluation.Trial(
                **{**trial, "search": kb.SearchOptions.from_config(trial["search"])}
            )
            for trial in known
        ]
        return kb.evaluation.simplest(trials)
    searches = kb.evaluation.candidates(translator.search, arguments.beam_widths)
    settings = scoring.SETTINGS[arguments.text]
    settings = {**settings, "metric": "bleu"}  # whatever has chosen the best epoch
    trials = kb.evaluation.tune(translator, valid, searches, tell=tell, **settings)
    write_json(path, [dataclasses.asdict(trial) for trial in trials])
    return kb.evaluation.simplest(trials)


def tell(trial):
    search = trial.search
    print(
        f"beam {search.beam_width}, {search.length_penalty} {search.length_normalization:g}: "
        f"val BLEU {trial.score:.2f}, length {trial.length_ratio:.3f}, {trial.seconds:.0f} s",
        flush=True,
    )


def scored(translator, arguments):
    """Decodes the test, once, and writes hypotheses and pictures."""
    test = read(arguments, "test_2016_flickr")
    references = [target for _, target in test]
    if arguments.text == "tok" and not arguments.any_test:
        scoring.check_references(references, arguments.language)
    settings = {**scoring.SETTINGS[arguments.text], "metrics": ("bleu", "chrf")}
    measured = kb.evaluation.evaluate(translator, test, **settings)
    hypotheses = [translation.text for translation in measured.translations]
    text = "".join(f"{line}\n" for line in hypotheses)
    (arguments.out / "hypotheses.txt").write_text(text, encoding="utf-8", newline="\n")
    kb.plot_lengths(measured.by_length).savefig(arguments.out / "lengths.png")
    draw_alignments(measured.translations, arguments.out / "alignments")
    print(measured, flush=True)
    return {**measured.scores(), **scoring.score(hypotheses, references, arguments.text)}


def draw_alignments(translations, directory):
    """Pictures of some sentences, evenly spread over the test."""
    directory.mkdir(exist_ok=True)
    step = max(1, len(translations) // SENTENCES)
    for number in range(0, len(translations), step)[:SENTENCES]:
        figure = kb.plot_alignment(translations[number], words=True)
        figure.savefig(directory / f"{number + 1:04}.png")


def about(arguments, options, run):
    """The settings of a run from which it can be made again."""
    history = json.loads(run.history.read_text())
    perplexities = [epoch["val_perplexity"] for epoch in history]
    devices = tf.config.list_physical_devices("GPU")
    return {
        "language": arguments.language,
        "text": arguments.text,
        "tier": arguments.tier,
        "seed": options.seed,
        "chosen": changed(options, arguments),
        "options": dataclasses.asdict(options),
        "epochs": len(history),
        "val_perplexity": min(perplexities),
        "training_minutes": run.progress().seconds / 60,
        "hardware": [tf.config.experimental.get_device_details(each) for each in devices]
        or f"{platform.machine()}, {usable_cores()} of {os.cpu_count()} cores",
        "versions": {"tensorflow": tf.__version__, "keras": keras.__version__},
    }


def changed(options, arguments):
    """The options in which a run differs from the tier's, be they given now or when it began."""
    plain = TrainingOptions(**TIERS[arguments.tier]).resolved()
    said = ("seed", "minutes", "epochs")
    return {
        name: value
        for name, value in dataclasses.asdict(options).items()
        if name not in said and value != getattr(plain, name)
    }


def parsed(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--data", type=Path, required=True, help="directory with tok/ or raw/")
    add("--out", type=Path, required=True, help="directory that receives everything")
    add("--language", choices=("de", "fr"), default="de", help="what to translate into (de)")
    add("--tier", choices=TIERS, default="cpu", help="settings for this hardware (cpu)")
    add("--text", choices=scoring.SETTINGS, default="tok", help="tok: by the rule; raw: 13a (tok)")
    add(
        "--seed", type=int, default=LEFT_OUT["seed"], help="of the weights, dropout and batches (0)"
    )
    add(
        "--minutes",
        type=float,
        default=LEFT_OUT["minutes"],
        help="most time of training; 0 for any (0)",
    )
    add(
        "--set",
        type=training_option,
        action="append",
        default=[*LEFT_OUT["set"]],
        metavar="OPTION=VALUE",
        help="another training option, such as units=256; may be given several times",
    )
    add("--no-test", dest="test", action="store_false", help="leave the test alone")
    add("--any-test", action="store_true", help="score another test than the official one")
    add(
        "--beam-widths",
        type=lambda text: [int(width) for width in text.split(",")],
        default=BEAM_WIDTHS,
        help="that are tried on val (5,10)",
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
