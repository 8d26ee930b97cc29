"""Score an English-Hindi model: BLEU, chrF, placeholders, alignment error, plots.

    python examples/hindi/score.py runs/hindi/*.tsv --model runs/en-hi --to hi

Each line of a file has English, a tab, Hindi, and more correct answers in additional columns.
`prepare.py` writes such files; published files work too. MODEL is the output directory of a
training run, or a .tflite file.
"""

import argparse
import json
import re
from pathlib import Path

from prepare import PLACEHOLDER, keeps, normalized, placeholders, read, replace, stand_ins

import keras_bahdanau as kb
from keras_bahdanau.training import Run

LANGUAGES = {"en": "English", "hi": "Hindi"}
# the separators of sentences; then the placeholders
PARTS = re.compile(r"((?<=[.!?।])\s+)"), re.compile(f"({PLACEHOLDER.pattern})")


def main(arguments=None):
    arguments = parsed(arguments)
    translator, training = load(arguments.model)
    system = {"model": arguments.model.name, "to": LANGUAGES[arguments.to]}
    command = f"--model {arguments.model.name} --to {arguments.to}"
    if arguments.tag:
        command += f' --tag "{arguments.tag}"'
    results = []
    for path in arguments.files:
        figures = score(translator, read(path), arguments)
        name = path.name.partition(".")[0]
        row = {**system, "texts": name, **figures, **training}
        results.append({**row, "command": f"{path.name} {command}"})
    if arguments.aligned is not None:
        figures, name = align(translator, arguments), arguments.aligned
        row = {**system, "texts": name.stem, **figures, **training}
        results.append({**row, "command": f"--aligned {name.name} {command}"})
    for row in results:
        print(json.dumps(row, ensure_ascii=False), flush=True)
    if arguments.results is not None:
        add_results(arguments.results, results)


def load(path):
    """Return (translator, training figures); a .tflite file has no training figures."""
    if path.suffix == ".tflite":
        return kb.exporters.LiteRTTranslator(path), {}
    run = Run(path)
    progress = run.progress()
    figures = {"epochs": progress.epoch, "minutes": round(progress.seconds / 60, 1)}
    return kb.Translator.load(run.translator), figures


def score(translator, rows, arguments):
    """Return the scores for rows from `read`, as a dictionary."""
    if arguments.to == "hi":
        sources, references = [row[0] for row in rows], [row[1] for row in rows]
    else:
        sources, references = [row[1][0] for row in rows], [[row[0]] for row in rows]
    best, chosen = translate(translator, sources, arguments.tag, arguments.nbest)
    bleu, chrf = kb.evaluation.metrics_of(["bleu", "chrf"])
    low, high = kb.evaluation.interval(bleu, chosen, references)
    figures = {
        "lines": len(rows),
        "BLEU": round(bleu.corpus_score(chosen, references), 1),
        "95%": f"{low:.1f} to {high:.1f}",
        "chrF": round(chrf.corpus_score(chosen, references), 1),
    }
    marked = [number for number, source in enumerate(sources) if placeholders(source)]
    figures["with placeholders"] = len(marked) or ""
    for name, texts in (("kept by the best text", best), ("kept", chosen)):
        kept = sum(keeps(sources[number], texts[number]) for number in marked)
        figures[name] = round(100 * kept / len(marked), 1) if marked else ""
    untranslated = [number for number in marked if sources[number] == chosen[number]]
    figures["untranslated"] = len(untranslated) if marked else ""
    return figures


def translate(translator, texts, tag=None, nbest=5, parts=PARTS):
    """Return (the best translations, the best ones that keep the placeholders): lists of strings.

    If none of the `nbest` translations keeps them, each sentence is translated by itself, and if
    none of its translations does, the text between the placeholders. The last resort is the source.
    """
    candidates = translate_nbest(translator, texts, tag, nbest)
    best = [row[0] for row in candidates]
    chosen = [*map(first_that_keeps, texts, candidates)]
    for number, text in enumerate(texts):
        if chosen[number] is None and parts:
            joined = in_parts(translator, text, tag, nbest, parts)
            chosen[number] = joined if keeps(text, joined) else text
        elif chosen[number] is None:
            chosen[number] = text
    return best, chosen


def in_parts(translator, text, tag, nbest, parts):
    """Translate the parts of a text that contain words; separators and spaces stay as they are."""
    pieces = parts[0].split(text)
    if len(pieces) == 1 and parts[1:]:
        return in_parts(translator, text, tag, nbest, parts[1:])
    numbers = [number for number, piece in enumerate(pieces) if has_words(piece)]
    inputs = [pieces[number].strip() for number in numbers]
    outputs = translate(translator, inputs, tag, nbest, parts[1:])[1]
    for number, before, after in zip(numbers, inputs, outputs, strict=True):
        pieces[number] = pieces[number].replace(before, after)
    return "".join(pieces)


def translate_nbest(translator, texts, tag, nbest):
    """Return the best `nbest` translations of each text, best first: lists of strings.

    The model reads and writes stand-ins, which are replaced by the placeholders afterwards.
    """
    texts = [*map(normalized, texts)]
    names = [*map(stand_ins, texts)]
    sources = [*map(replace, texts, names)]
    results = translator.translate_nbest([tagged(tag, source) for source in sources], nbest)
    back = [{new: old for old, new in row.items()} for row in names]
    return [
        [replace(result.text, row) for result in row_results]
        for row_results, row in zip(results, back, strict=True)
    ]


def tagged(tag, text):
    return f"{tag} {text}" if tag else text


def has_words(text):
    return re.search(r"\w", PLACEHOLDER.sub("", text))


def first_that_keeps(source, texts):
    """Return the best translation that keeps all placeholders, or None if none does."""
    if not has_words(source):
        return source  # nothing to translate
    return next((text for text in texts if text.strip() and keeps(source, text)), None)


def align(translator, arguments):
    """Return the alignment error on pairs with known links, and plot each pair.

    A line has English, Hindi, and links such as `0-2 1?0`. `?` marks a possible link.
    """
    rows = [line.split("\t") for line in kb.data.read_lines(arguments.aligned)]
    links = [kb.text.alignments.parse_pharaoh(row[2]) for row in rows]
    pairs = [(english, hindi) for english, hindi, _ in rows]
    if arguments.to == "en":
        pairs = [(hindi, english) for english, hindi in pairs]
        links = [[{(hindi, english) for english, hindi in part} for part in row] for row in links]
    if arguments.tag:  # the tag is the first word of the source
        links = [
            [{(source + 1, target) for source, target in part} for part in row] for row in links
        ]
    pairs = [(tagged(arguments.tag, source), target) for source, target in pairs]
    error = kb.evaluation.alignment_error(translator, pairs, *zip(*links, strict=True))
    if arguments.pictures is not None:
        arguments.pictures.mkdir(parents=True, exist_ok=True)
        results = translator.translate([source for source, _ in pairs])
        for number, result in enumerate(results, start=1):
            figure = kb.plot_alignment(result, words=True)
            figure.savefig(arguments.pictures / f"{number:02}.png")
    return {"lines": len(rows), "alignment error": round(100 * error, 1)}


def add_results(path, rows):
    """Add rows to a JSON lines file, replacing rows for the same model and texts."""
    before = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    table = {identity(row): row for row in [*map(json.loads, before), *rows]}
    lines = [json.dumps(row, ensure_ascii=False) for row in table.values()]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")


def identity(row):
    return row["model"], row["to"], row["texts"]


def parsed(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("files", type=Path, nargs="*", help="pairs to score")
    add("--model", type=Path, required=True, help="directory of a training run, or a .tflite file")
    add("--to", choices=LANGUAGES, required=True, help="language of the translations")
    add("--tag", help="token before each source, for a model of both directions")
    add("--nbest", type=int, default=5, help="translations to search for placeholders (5)")
    add("--aligned", type=Path, help="pairs with known links between their words")
    add("--pictures", type=Path, metavar="DIR", help="directory for plots of these pairs")
    add("--results", type=Path, help="file of JSON lines to add the figures to")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
