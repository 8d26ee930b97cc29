"""Teach dates, times and numbers to a translator of captions, from 500 pairs.

    python experiments/adapt/domain.py --model runs/de --data multi30k --out runs/domain

MODEL must be trained with examples/multi30k or examples/multilingual on the lowercase English and
German files in tok/ of --data. The sentences of the new domain are generated from CLDR's patterns.
OUT/log.txt contains the commands and their output. Finished steps are not repeated.
"""

import argparse
import json
import random
import sys
from datetime import datetime, timedelta
from pathlib import Path

from babel.dates import format_date, format_time
from babel.numbers import format_decimal

from keras_bahdanau.training import Run

sys.path.append(str(Path(__file__).resolve().parents[2] / "examples" / "adapt"))

from adapt import check_same, command  # noqa: E402

TRAINED, TESTED = 500, 200  # pairs
PATTERNS = (  # English, German; {d} is a date, {t} a time, {n} a number, {m} a sum of money
    ("the meeting is on {d} at {t} .", "die sitzung ist am {d} um {t} uhr ."),
    ("she was born on {d} .", "sie wurde am {d} geboren ."),
    ("the train leaves at {t} .", "der zug fährt um {t} uhr ab ."),
    ("{n} people live in this town .", "in dieser stadt leben {n} menschen ."),
    ("the ticket costs {m} euros .", "die karte kostet {m} euro ."),
    ("we paid {m} euros on {d} .", "wir haben am {d} {m} euro bezahlt ."),
    (
        "the shop opens at {t} and closes at {u} .",
        "das geschäft öffnet um {t} uhr und schließt um {u} uhr .",
    ),
    ("the contract ends on {d} .", "der vertrag endet am {d} ."),
    ("the distance is {n} kilometers .", "die entfernung beträgt {n} kilometer ."),
    ("from {d} to {e} the museum is closed .", "vom {d} bis zum {e} ist das museum geschlossen ."),
)
TRAINING = (
    *("--learning-rate", 5e-4, "--warmup", 0.1, "--epochs", 4, "--epoch-steps", 100),
    *("--ema-momentum", 0.98, "--best-by", "perplexity", "--minutes", 5),
    *("--update-vocabulary", "append", "--vocabulary-pairs", "new.tsv"),
)
RULE = ("--tokenize", "none", "--lowercase")  # as in published papers
RUNS = {  # title -> fraction of new pairs in training
    "the 500 pairs": 1.0,
    "the 500 pairs and the old ones, half and half": 0.5,
}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--model", type=Path, required=True, help=".keras file, or directory of a training run"
    )
    parser.add_argument("--data", type=Path, required=True, help="directory with tok/")
    parser.add_argument("--out", type=Path, required=True, help="new directory, or one to resume")
    arguments = parser.parse_args(arguments)
    out, model, data = arguments.out, arguments.model.absolute(), arguments.data.absolute() / "tok"
    out.mkdir(parents=True, exist_ok=True)
    check_same(out, model=str(model), data=str(data))
    for name, count, seed in (("new", TRAINED, 1), ("valid", 100, 2), ("test", TESTED, 3)):
        write_pairs(out / name, count, seed)
    old = {part: f"{data}/{part}.en.gz,{data}/{part}.de.gz" for part in ("train", "val")}
    rows = {"before": (0.0, scores_of(out, "before", model, old["val"]))}
    for index, (title, share) in enumerate(RUNS.items()):
        minutes = train(out, f"run-{index}", share, model, old)
        rows[title] = (minutes, scores_of(out, f"run-{index}", f"run-{index}", old["val"]))
    print(table(rows))


def write_pairs(path, count, seed):
    """Write the given number of distinct pairs to PATH.en and PATH.de."""
    draw, pairs = random.Random(seed), {}
    while len(pairs) < count:
        english, german = draw.choice(PATTERNS)
        at = [datetime(2000, 1, 1) + timedelta(minutes=draw.randrange(20_000_000)) for _ in "12"]
        number, money = draw.randrange(1000, 900_000), draw.randrange(100, 500_000) / 100
        source = english.format(**parts("en", at, number, money))
        pairs[source.lower()] = german.format(**parts("de", at, number, money)).lower()
    both = [f"{source}\t{target}" for source, target in pairs.items()]
    for suffix, lines in ((".en", pairs), (".de", pairs.values()), (".tsv", both)):
        path.with_suffix(suffix).write_text("".join(f"{line}\n" for line in lines), "utf-8")


def parts(locale, at, number, money):
    """Format the dates, times and numbers of a sentence in the style of a language."""
    dates = {name: format_date(one, "long", locale) for name, one in zip("de", at, strict=True)}
    pattern = {"en": "h:mm a", "de": "HH:mm"}[locale]
    times = {
        name: format_time(one, pattern, locale=locale) for name, one in zip("tu", at, strict=True)
    }
    amounts = {
        "n": format_decimal(number, locale=locale),
        "m": format_decimal(money, "#,##0.00", locale=locale),
    }
    return {name: text.replace("\u202f", " ") for name, text in (dates | times | amounts).items()}


def train(out, directory, share, model, old):
    """Adapt the model, and return the training time in minutes."""
    run = Run(out / directory)
    if not run.is_over():
        corpora = [("new", "new.en,new.de", "valid.en,valid.de", share)]
        corpora += [("old", old["train"], old["val"], 1 - share)] if share < 1 else []
        chosen = []
        for name, training, validation, weight in corpora:
            chosen += ["--corpus", f"{name}={training}:{weight}"]
            chosen += ["--valid-corpus", f"{name}={validation}"]
        command(out, "train", *chosen, "--from", model, "--out", directory, *TRAINING)
    return run.progress().seconds / 60


def scores_of(out, name, model, old):
    """Return BLEU on the new domain and on the old one."""
    found = []
    for domain, files in (("new", "test.en,test.de"), ("old", old)):
        file = out / f"{name}-{domain}.json"
        if not file.exists():
            command(
                out, "evaluate", *files.split(","), "--model", model, *RULE, "--json", file.name
            )
        found.append(json.loads(file.read_text("utf-8"))["bleu"])
    return found


def table(rows):
    """Return a Markdown table of minutes and BLEU."""
    lines = [
        "| trained on | minutes | BLEU, dates and numbers | BLEU, captions |",
        "|---|--:|--:|--:|",
    ]
    for title, (minutes, (new, old)) in rows.items():
        lines.append(f"| {title} | {minutes:.1f} | {new:.1f} | {old:.1f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
