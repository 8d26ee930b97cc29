"""English to a line of Python: prepare training pairs, score a model, write and plot a line.

Each line of a file has a description, a tab, and Python code. `prepare` replaces the strings and
the rare names of a description with TEXT0, NAME0, ..., in the description and in its code. `score`
and `write` put them back into the model's output.
"""

import argparse
import ast
import collections
import dataclasses
import json
import re
import warnings
from pathlib import Path

import keras_bahdanau as kb

QUOTES = "'\""
STRING = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
QUOTED = rf"(?<!\w){STRING}(?!\w)"  # not the apostrophe of "doesn't"
TOKEN = re.compile(rf"{QUOTED}|\w+|\*\*|[^\w\s]")
GAP = re.compile(rf"{QUOTED}|\s{{3,}}")
CODE = re.compile(rf"[bBrRuU]*\"{{3}}.*?\"{{3}}|([bBrRuU]{{0,2}})({STRING})|[^\s'\"]+|\S")
PLACEHOLDER = r"(?:NAME|TEXT)\d+"
WRITTEN = re.compile(rf"(?<!\S)(?:([bBrRuU]{{0,2}}['\"])_ )?({PLACEHOLDER})(?!\S)")
LEAST = "descriptions that must share a word with their code to keep it; 0: no placeholders"
STATEMENTS = (  # templates for a line that begins, continues or is a statement
    *("{}", "{} pass", "if x: pass\n{} pass", "try: pass\n{} pass"),
    *("{} pass\nfinally: pass", "{}\ndef f(): pass"),
)


def tokens_of(description):
    """Return words, strings and marks after the last gap of three spaces (an earlier statement)."""
    description = description.strip()
    gaps = [match.end() for match in GAP.finditer(description) if match[0].isspace()]
    return TOKEN.findall(description[gaps[-1] if gaps else 0 :])


def mask(description, words):
    """Return (text, {part: placeholder}) for a description; `words` are kept, all if None."""
    tokens, parts, counts = tokens_of(description), {}, collections.Counter()
    for token in tokens if words is not None else ():
        is_string = token[0] in QUOTES and len(token) > 2
        is_name = re.match(r"\w", token) and (
            token not in words or re.fullmatch(PLACEHOLDER, token)
        )
        if (is_string or is_name) and token not in parts:
            kind = "TEXT" if is_string else "NAME"
            parts[token] = f"{kind}{counts[kind]}"
            counts[kind] += 1
    return " ".join(parts.get(token, token) for token in tokens), parts


def content(part):
    return part[1:-1] if part[0] in QUOTES else part


def mask_code(code, parts):
    """Put the description's placeholders into code; `b'_ TEXT0` has another prefix or quote."""
    by_content, tokens = {content(part): name for part, name in parts.items()}, []
    for match in CODE.finditer(code):
        token, (prefix, string) = match[0], match.groups()
        if token not in parts and string and content(string) in by_content:
            tokens.append(f"{prefix}{string[0]}_")
            token = by_content[content(string)]
        tokens.append(parts.get(token, token))
    return one_line(" ".join(tokens))


def unmask(text, parts):
    """Replace the placeholders in code with the parts of the description."""
    parts = {name: part for part, name in parts.items()}

    def restore(match):
        opening, part = match[1], parts.get(match[2], match[2])
        return f"{opening}{content(part)}{opening[-1]}" if opening else part

    return one_line(WRITTEN.sub(restore, text))


def one_line(code):
    """Return code without indentation and with single spaces, the form that is compared."""
    return " ".join(code.split())


def words_that_stay(pairs, least):
    """Return words that `least` descriptions share with their code, and words that few share."""
    known, copied = collections.Counter(), collections.Counter()
    for description, code in pairs:
        words = {token for token in tokens_of(description) if re.match(r"\w", token)}
        known.update(words)
        copied.update(words & {match[0] for match in CODE.finditer(code)})
    return {
        word
        for word, count in known.items()
        if copied[word] >= least or 1 < count > 2 * copied[word]
    }


def prepare(arguments):
    train, dev = map(kb.data.read_pairs, (arguments.train, arguments.dev))
    arguments.data.mkdir(parents=True, exist_ok=True)
    words = words_that_stay(train, arguments.least) if arguments.least else None
    listed = None if words is None else sorted(words)
    (arguments.data / "words.json").write_text(json.dumps(listed), encoding="utf-8")
    for name, pairs in (("train", train), ("dev", dev)):
        masked = [(*mask(source, words), code) for source, code in pairs]
        lines = (f"{text}\t{mask_code(code, parts)}\n" for text, parts, code in masked)
        path = arguments.data / f"{name}.tsv"
        path.write_text("".join(lines), encoding="utf-8", newline="\n")


def mask_all(descriptions, data):
    words = json.loads((data / "words.json").read_text(encoding="utf-8"))
    words = None if words is None else frozenset(words)
    return zip(*(mask(description, words) for description in descriptions), strict=True)


def score(arguments):
    pairs, train = map(kb.data.read_pairs, (arguments.file, arguments.train))
    texts, parts = mask_all((description for description, _ in pairs), arguments.data)
    if arguments.model:
        texts = [result.text for result in kb.Translator.load(arguments.model).translate([*texts])]
    else:
        codes = dict(kb.data.read_pairs(arguments.data / "train.tsv"))
        texts = [codes.get(text, "") for text in texts]
    answers, references = [*map(unmask, texts, parts)], [one_line(code) for _, code in pairs]
    known = {one_line(text) for pair in train for text in pair}
    rows = zip(answers, references, pairs, strict=True)
    new = [row[:2] for row in rows if known.isdisjoint(map(one_line, row[2]))]
    bleu, exact = kb.evaluation.metrics_of(["bleu", "exact"], tokenize="none")
    low, high = kb.evaluation.interval(exact, answers, references)
    report = {
        "exact": round(exact.corpus_score(answers, references), 1),
        "95%": f"{low:.1f} to {high:.1f}",
        "exact, new": round(exact.corpus_score(*zip(*new, strict=True)), 1) if new else None,
        "BLEU": round(bleu.corpus_score(answers, references), 1),
        "parses": round(100 * sum(map(parses, answers)) / len(answers), 1),
    }
    print(json.dumps({"lines": len(pairs), "new": len(new), **report}))
    if arguments.answers:
        arguments.answers.write_text("".join(f"{line}\n" for line in answers), encoding="utf-8")


def parses(line):
    """Return True if a line is Python or part of a statement, such as `else :`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about escapes such as "\s"
        for statement in STATEMENTS if line else ():
            try:
                return bool(ast.parse(statement.format(line)))
            except (SyntaxError, ValueError):
                continue
    return False


def write(arguments):
    (text,), (parts,) = mask_all([arguments.description], arguments.data)
    result = kb.Translator.load(arguments.model).translate([text])[0]
    print(unmask(result.text, parts))
    if arguments.plot:
        labels = {f"▁{name}": f"▁{part}" for part, name in parts.items()}
        sides = (result.source_tokens, result.target_tokens)
        source, target = ([labels.get(token, token) for token in tokens] for tokens in sides)
        drawn = dataclasses.replace(result, source_tokens=source, target_tokens=target)
        kb.plot_alignment(drawn, words=True).savefig(arguments.plot)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(required=True)
    first = commands.add_parser("prepare", help="write training pairs")
    second = commands.add_parser("score", help="score a model, or a look-up in the training data")
    third = commands.add_parser("write", help="write the line for a description")
    for command, run in ((first, prepare), (second, score), (third, write)):
        command.set_defaults(run=run)
        command.add_argument("--data", type=Path, required=True, help="output folder of `prepare`")
    first.add_argument(
        "train", type=Path, help="file with a description, a tab, and Python per line"
    )
    first.add_argument("dev", type=Path, help="the same, for choosing settings")
    first.add_argument("--least", type=int, default=20, help=LEAST)
    second.add_argument("file", type=Path, help="file to score")
    second.add_argument(
        "--train", type=Path, required=True, help="training file, to find new lines"
    )
    second.add_argument("--answers", type=Path, help="file to write the answers to")
    third.add_argument("description")
    third.add_argument("--plot", type=Path, help="file for an attention plot")
    second.add_argument("--model", type=Path, help="translator.keras")
    third.add_argument("--model", type=Path, required=True, help="translator.keras")
    arguments = parser.parse_args(arguments)
    arguments.run(arguments)


if __name__ == "__main__":
    main()
