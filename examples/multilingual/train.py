r"""English to German and French in one model, compared with a model for each, on Multi30K.

    python examples/multilingual/train.py --data multi30k --out runs/multilingual --set epochs=54

The directory --data contains `tok/` with train, val and test_2016_flickr in en, de and fr, such as
`tok/train.en.gz`: see examples/multi30k. To resume, repeat the command. Scores are for `val`; with
--test, test_2016_flickr is decoded at the end, once for each system.
"""

import argparse
import json
from pathlib import Path

import keras_bahdanau as kb
from keras_bahdanau.training import Run, TrainingOptions, train, training_option

SYSTEMS = {"de": ("de",), "fr": ("fr",), "both": ("de", "fr")}
TAGS = {"de": "<2de>", "fr": "<2fr>"}
METRICS = ("bleu", "chrf")  # regardless of how the best epoch was chosen
RULE = {"metrics": METRICS, "tokenize": "none", "lowercase": True}  # as in the published figures
PARTS = {"val": "val", "test": "test_2016_flickr"}


def main(arguments=None):
    arguments = parsed(arguments)
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in arguments.systems:
        run = Run(arguments.out / name)
        check_same(run, arguments, name)
        if not run.is_over():
            valid = corpora(arguments, name, "val")
            options = options_of(arguments, name)
            train(corpora(arguments, name, "train"), valid, run.directory, options, verbose=2)
        for part in ("val", "test") if arguments.test else ("val",):
            score(arguments, name, run, part)
    print(table(arguments))


def check_same(run, arguments, name):
    """Exit if a system was started with options other than the given ones."""
    if not run.exists():
        return
    begun, asked = run.read_card()["options"], vars(options_of(arguments, name).resolved())
    others = [
        key
        for key, _ in arguments.set
        if key in begun and asked[key] not in (begun[key], "auto")  # derived from the text
    ]
    if others:
        raise SystemExit(
            f"{run.directory} was started with "
            f"{', '.join(f'{key}={begun[key]!r}' for key in others)}. Received: "
            f"{', '.join(f'{key}={asked[key]!r}' for key in others)}. Choose another --out."
        )


def corpora(arguments, name, part):
    """Return a `Corpus` for each language of a system; a single language has no tag."""
    languages = SYSTEMS[name]
    place = arguments.data / "tok"
    return [
        kb.data.Corpus(
            language,
            kb.data.read_pairs(*(place / f"{part}.{each}.gz" for each in ("en", language))),
            tag=TAGS[language] if len(languages) > 1 else None,
        )
        for language in languages
    ]


def options_of(arguments, name):
    """Return the given options; with tags, the query includes the tag's embedding."""
    query = "state,task" if len(SYSTEMS[name]) > 1 else "state"
    options = {"query": query, "normalization": "nmt_nfkc", **dict(arguments.set)}
    return TrainingOptions(**options)


def score(arguments, name, run, part):
    """Compute the scores for each language of a system, and write them to a file once."""
    path = arguments.out / f"{name}.{part}.json"
    if path.exists():
        return
    translator = kb.Translator.load(run.translator)
    scores = {}
    for one in corpora(arguments, name, PARTS[part]):
        pairs = kb.data.Corpora([one])
        measured = kb.evaluation.evaluate(translator, pairs, tag=one.tag, **RULE)
        scores[one.name] = measured.scores()
    progress = run.progress()
    about = {
        "weights": translator.model.count_params(),
        "epochs": progress.epoch,
        "training_minutes": progress.seconds / 60,
        "options": run.read_card()["options"],
    }
    path.write_text(json.dumps({**about, "scores": scores}, indent=1) + "\n", encoding="utf-8")


def table(arguments):
    """Return the scores of all systems so far as a Markdown table."""
    lines = ["| system | weights | epochs | minutes | part | BLEU de | BLEU fr |"]
    lines.append("|---|--:|--:|--:|---|--:|--:|")
    for part in PARTS:
        for name in SYSTEMS:
            path = arguments.out / f"{name}.{part}.json"
            if path.exists():
                lines.append(row(name, part, json.loads(path.read_text())))
    return "\n".join(lines)


def row(name, part, found):
    """Return the table row for one system."""
    bleu = [
        f"{found['scores'][language]['bleu']:.2f}" if language in found["scores"] else ""
        for language in TAGS
    ]
    cells = [
        *(name, f"{found['weights']:,}", found["epochs"], f"{found['training_minutes']:.1f}"),
        *(part, *bleu),
    ]
    return f"| {' | '.join(map(str, cells))} |"


def parsed(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--data", type=Path, required=True, help="directory with tok/")
    add("--out", type=Path, required=True, help="directory for all results")
    add("--systems", nargs="+", choices=SYSTEMS, default=[*SYSTEMS], help="systems to train (all)")
    add(
        "--set",
        type=training_option,
        action="append",
        default=[],
        metavar="OPTION=VALUE",
        help="training option, such as temperature=5; may be repeated",
    )
    add("--test", action="store_true", help="decode the test, once for each system")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
