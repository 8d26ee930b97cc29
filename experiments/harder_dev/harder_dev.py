r"""Make a harder dev: hold out the lines of a training file that its other lines explain worst.

    python experiments/harder_dev/harder_dev.py split dut_train.tsv.gz --out runs/dut
    python experiments/harder_dev/harder_dev.py apart runs/dut/rest.tsv --out runs/dut/apart.tsv
    python experiments/harder_dev/harder_dev.py score runs/dut/harder.tsv --model A --baseline B

`split` writes the files `harder` and `rest`. A word with its phonemes (TSV) is harder if the
longest beginning and the longest ending that it shares with other words don't cover it. A
handwritten formula (JSON lines) is harder if no other formula has the same layout. With `--known`,
the other words or formulas come from a second file. `score` accepts .keras and .tflite files.
"""

import argparse
import bisect
import hashlib
import importlib
import json
import os
import sys
import unicodedata
from pathlib import Path

import numpy as np

import keras_bahdanau as kb
from keras_bahdanau.files.whole_file import write_text

LAYOUT = {"^", "_", "{", "}", r"\frac", r"\sqrt"}  # tokens that position other tokens
MARKS = ("Mn", "Lm", "Sk")  # Unicode categories of accents, lengths and tones
PREFIX = "+"  # precedes a mark that is a separate token
STEM = 5  # number of initial letters that the words in a group share
SAMPLES, SEED = 2000, 1


def harder_words(words, known=None):
    """Return the set of words that no known beginning and known ending cover.

    Hangul syllables are compared by their letters. `known` defaults to `words`; a word is not
    compared with itself. Of "boekenkast", "boekenbon" and "jaskast", the first one is covered.
    """
    known = {letters(word) for word in known or words}
    beginnings, ends = sorted(known), sorted(word[::-1] for word in known)

    def is_covered(text):
        return shared(text, beginnings) + shared(text[::-1], ends) >= len(text)

    return {word for word in words if not is_covered(letters(word))}


def letters(word):
    return unicodedata.normalize("NFD", word)


def shared(text, known):
    """Return the length of the longest beginning shared with another text in a sorted list."""
    place = bisect.bisect_left(known, text)
    after = place + (known[place : place + 1] == [text])  # after the text itself
    neighbours = known[max(place - 1, 0) : place] + known[after : after + 1]
    return max((len(os.path.commonprefix([text, other])) for other in neighbours), default=0)


def layout(latex):
    """Return a formula with a dot for each symbol: `x ^ { 2 }` becomes `. ^ { . }`."""
    return " ".join(token if token in LAYOUT else "." for token in latex.split())


def held_out_layouts(layouts, most):
    """Return layouts, in the order of their hashes, with at most `most` formulas in all."""
    chosen = set()
    for one in in_order_of_hash({*layouts}):
        if (count := layouts.count(one)) <= most:
            chosen.add(one)
            most -= count
    return chosen


def in_order_of_hash(texts):
    """Return texts in an order that looks random but is always the same."""
    return sorted(texts, key=lambda text: hashlib.sha1(text.encode()).hexdigest())


def split(arguments):
    """split a file into `harder` and `rest`"""
    formulas = ".jsonl" in arguments.file.name
    lines, known = (
        [line for line in kb.data.read_lines(path) if line] if path else []
        for path in (arguments.file, arguments.known)
    )
    keys, known_keys = ([line_key(line, formulas) for line in part] for part in (lines, known))
    if formulas:
        harder = {*keys} - {*known_keys} if known else held_out_layouts(keys, arguments.most)
    else:
        harder = {*in_order_of_hash(harder_words(keys, known_keys))[: arguments.most]}
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name, wanted in (("harder", True), ("rest", False)):
        part = [line for line, key in zip(lines, keys, strict=True) if (key in harder) == wanted]
        path = arguments.out / f"{name}.{'jsonl' if formulas else 'tsv'}"
        write_text(path, "".join(f"{line}\n" for line in part))
        print(f"{path}: {len(part):,} of {len(lines):,} lines")


def line_key(line, formulas):
    """Return the layout of the formula in a line, or the word in it."""
    return layout(json.loads(line)["latex"]) if formulas else line.partition("\t")[0]


def marks_apart(phonemes):
    """Make accents, lengths and tones separate tokens: `oː t` becomes `o +ː t`."""
    tokens = []
    for phoneme in letters(phonemes).split():
        end = len(phoneme)
        while end > 1 and unicodedata.category(phoneme[end - 1]) in MARKS:
            end -= 1
        tokens += [phoneme[:end], *(PREFIX + mark for mark in phoneme[end:])]
    return " ".join(tokens)


def marks_joined(tokens):
    """Invert `marks_apart`."""
    return unicodedata.normalize("NFC", tokens.replace(f" {PREFIX}", ""))


def apart(arguments):
    """write words with the marks of their phonemes as separate tokens"""
    lines = (line.partition("\t") for line in kb.data.read_lines(arguments.file) if line)
    write_text(arguments.out, "".join(f"{one}\t{marks_apart(two)}\n" for one, _, two in lines))


def score(arguments):
    """print a model's score, and the difference from a baseline"""
    if ".jsonl" in arguments.file.name:
        pairs, name = example().read(arguments.file), "exprate"
        groups = [latex for _, latex in pairs]
    else:
        pairs, name = kb.data.read_table(arguments.file).pairs, "ser"
        groups = [letters(word)[:STEM] for word, _ in pairs]
    (metric,) = kb.evaluation.metrics_of([name])
    texts, scores = [text for _, text in pairs], []
    for paths in filter(None, (arguments.model, arguments.baseline)):
        found = outputs(paths, pairs)
        scores.append(
            [metric.corpus_score(*one) for one in zip(zip(found), zip(texts), strict=True)]
        )
        by_line = kb.evaluation.interval(metric, found, texts)
        mean, *by_group = interval(scores[-1], groups)
        ends = "by lines {:.1f} to {:.1f}, by groups {:.1f} to {:.1f}".format(*by_line, *by_group)
        print(
            f"{name} {mean:.1f}% of {len(found)}, {ends}: {' '.join(map(str, paths))}", flush=True
        )
    if len(scores) > 1:
        mean, low, high = interval(np.subtract(*scores), groups)
        print(f"{mean:+.1f} points, {low:+.1f} to {high:+.1f}")


def example():
    """Return the module `formulas` of the example."""
    sys.path.append(str(Path(__file__).resolve().parents[2] / "examples" / "formulas"))
    return importlib.import_module("formulas")


def outputs(paths, pairs):
    """Return a list of the texts that a model or an ensemble writes for the sources of pairs."""
    from keras_bahdanau.exporters.litert.litert_pipeline import open_litert

    models = [open_litert(p) if p.suffix == ".tflite" else kb.load_pipeline(p) for p in paths]
    model = kb.ensemble(models) if len(models) > 1 else models[0]
    words = all(isinstance(source, str) for source, _ in pairs)
    sources = [source for source, _ in (pairs if words else example().inputs(model.source, pairs))]
    found = [result.text for result in model.decode(sources)]
    return [*map(marks_joined, found)] if words else found


def interval(scores, groups):
    """Return the mean of scores and its 95% interval, from a bootstrap over groups of lines."""
    _, group = np.unique(groups, return_inverse=True)
    sums, counts = np.bincount(group, scores), np.bincount(group)
    drawn = np.random.default_rng(SEED).integers(0, len(sums), (SAMPLES, len(sums)))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    return float(np.mean(scores)), *np.percentile(means, [2.5, 97.5])


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands, parts = parser.add_subparsers(required=True), {}
    for command in (split, apart, score):
        parts[command] = part = commands.add_parser(command.__name__, help=command.__doc__)
        part.set_defaults(command=command)
        part.add_argument("file", type=Path)
    for command in (split, apart):
        parts[command].add_argument("--out", type=Path, required=True)
    parts[split].add_argument(
        "--known", type=Path, metavar="FILE", help="file to compare with (itself)"
    )
    parts[split].add_argument(
        "--most", type=int, default=1000, help="maximum lines to hold out (1000)"
    )
    parts[score].add_argument("--model", type=Path, nargs="+", required=True)
    parts[score].add_argument("--baseline", type=Path, nargs="+", metavar="MODEL")
    parsed = parser.parse_args(arguments)
    parsed.command(parsed)


if __name__ == "__main__":
    main()
