r"""English to German or French on Multi30K: from data files to scores and plots.

    python examples/multi30k/train.py --data multi30k --language de --minutes 60 --seed 1 \
        --out runs/de-1

The directory --data contains `tok/` or `raw/`, each with train, val and test_2016_flickr in en and
the other language, such as `tok/train.en.gz` (Multi30K task 1, repository multi30k/dataset). To
resume an unfinished training run, repeat the command. All choices are made on `val`.
`test_2016_flickr` is decoded once, at the end, and not at all with --no-test.
"""

import argparse
import dataclasses
import json
from pathlib import Path

import keras_bahdanau as kb
from keras_bahdanau.training import Run, TrainingOptions, train, training_option

TIERS = {"cpu": {}, "gpu": {"batch_tokens": 4096, "jit_compile": True, "epochs": 60}}
COMMON = {"normalization": "nmt_nfkc"}  # the published figures use this one
RULES = {  # scoring rules: the one of the published figures, and sacreBLEU's default
    "tok": {"tokenize": "none", "lowercase": True},
    "raw": {"tokenize": None, "lowercase": False},
}
REFERENCE_TOKENS = {"de": 12103, "fr": 13988}  # numbers of tokens in tok/test_2016_flickr
BEAM_WIDTHS = (5, 10)
PICTURES = 10


def main(arguments=None):
    arguments = parsed(arguments)
    out, scores = arguments.out, arguments.out / "scores.json"
    if scores.exists():
        raise SystemExit(f"{scores} exists: a system decodes the test once. Choose another --out.")
    pairs, valid = read(arguments, "train"), read(arguments, "val")
    run = Run(out / "run")
    options = options_of(arguments, run)
    if not run.is_over():
        train(pairs, valid, run.directory, options, verbose=2)
    translator = kb.Translator.load(run.translator)
    best = tune(translator, valid, arguments)
    translator.search = best.search
    translator.save(out / "translator.keras")
    draw_curves(run, out / "curves.png")
    report = {
        "language": arguments.language,
        "text": arguments.text,
        "epochs": run.progress().epoch,
        "training_minutes": run.progress().seconds / 60,
        "val_bleu": best.score,
        "search": dataclasses.asdict(best.search),
        "options": vars(run.options()),
    }
    path = out / "val.json"
    if arguments.test:
        path, report["test"] = scores, decode_test(translator, arguments)
    path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(json.dumps({name: report[name] for name in report if name != "options"}, indent=1))


def read(arguments, part):
    """Return the (English, other language) pairs of a part of the corpus."""
    folder = arguments.data / arguments.text
    files = (folder / f"{part}.{language}.gz" for language in ("en", arguments.language))
    return kb.data.read_pairs(*files)


def options_of(arguments, run):
    """Return the training options from the command line.

    Raises:
        SystemExit: If the run was started with other options.
    """
    asked = {"seed": arguments.seed, "minutes": arguments.minutes}
    asked = {name: value for name, value in asked.items() if value is not None}
    asked.update(arguments.set)
    if run.exists():
        begun = vars(run.options())
        others = [f"{name}={begun[name]}" for name in asked if begun[name] != asked[name]]
        if others:
            raise SystemExit(
                f"{run.directory} was started with {', '.join(others)}. Choose another --out."
            )
    return TrainingOptions(**{**COMMON, **TIERS[arguments.tier], **asked})


def tune(translator, valid, arguments):
    """Return the `Trial` with the best BLEU on val among several beams and length penalties."""
    searches = kb.evaluation.candidates(translator.search, arguments.beam_widths)
    rule = RULES[arguments.text]
    trials = kb.evaluation.tune(translator, valid, searches, metric="bleu", tell=tell, **rule)
    return kb.evaluation.simplest(trials)


def tell(trial):
    search = trial.search
    print(
        f"beam {search.beam_width}, {search.length_penalty} {search.length_normalization:g}: "
        f"val BLEU {trial.score:.2f}, length {trial.length_ratio:.3f}, {trial.seconds:.0f} s",
        flush=True,
    )


def decode_test(translator, arguments):
    """Decode the test once: scores, `hypotheses.txt`, BLEU by length, and alignments."""
    test = read(arguments, "test_2016_flickr")
    check_references([target for _, target in test], arguments)
    rule = RULES[arguments.text]
    evaluation = kb.evaluation.evaluate(translator, test, metrics=("bleu", "chrf"), **rule)
    texts = "".join(f"{translation.text}\n" for translation in evaluation.translations)
    (arguments.out / "hypotheses.txt").write_text(texts, encoding="utf-8", newline="\n")
    kb.plot_lengths(evaluation.by_length).savefig(arguments.out / "lengths.png")
    folder = arguments.out / "alignments"
    folder.mkdir(exist_ok=True)
    step = max(1, len(test) // PICTURES)
    for number in range(0, len(test), step)[:PICTURES]:
        figure = kb.plot_alignment(evaluation.translations[number], words=True)
        figure.savefig(folder / f"{number + 1:04}.png")
    print(evaluation, flush=True)
    return evaluation.scores()


def check_references(references, arguments):
    """Check that the references are the ones that the published figures use.

    Raises:
        SystemExit: If the number of tokens differs.
    """
    tokens = sum(len(text.split()) for text in references)
    expected = REFERENCE_TOKENS[arguments.language]
    if arguments.text == "tok" and not arguments.any_test and tokens != expected:
        raise SystemExit(
            f"test_2016_flickr.{arguments.language} must have {expected} tokens. "
            f"Received: {tokens}. Use the files of task 1, `tok`."
        )


def draw_curves(run, path):
    epochs = json.loads(run.history.read_text(encoding="utf-8"))
    history = {name: [epoch.get(name) for epoch in epochs] for name in epochs[0]}
    kb.plot_history(history).savefig(path)


def parsed(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="DIR", help="directory with tok/ or raw/")
    add("--out", type=Path, required=True, metavar="DIR", help="directory for all results")
    add("--language", choices=("de", "fr"), default="de", help="target language (de)")
    add("--tier", choices=TIERS, default="cpu", help="options for this hardware (cpu)")
    add(
        "--text",
        choices=RULES,
        default="tok",
        help="tok: scored as published; raw: scored with 13a (tok)",
    )
    add("--seed", type=int, help="seed for weights, dropout and batches")
    add("--minutes", type=float, help="time limit for training")
    add(
        "--set",
        type=training_option,
        action="append",
        default=[],
        metavar="OPTION=VALUE",
        help="additional training option, such as units=256; may be repeated",
    )
    add("--no-test", dest="test", action="store_false", help="do not decode the test")
    add("--any-test", action="store_true", help="accept a test other than the official one")
    add(
        "--beam-widths",
        type=lambda text: [int(width) for width in text.split(",")],
        default=BEAM_WIDTHS,
        help="beam widths to try on val (5,10)",
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
