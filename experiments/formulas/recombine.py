r"""Make new formulas from old ones: join parts of several, and exchange letters and digits.

    python experiments/formulas/recombine.py train.jsonl.gz --model runs/ink/formulas.keras \
        --out new.jsonl.gz

The attention of a trained model shows which strokes belong to which symbol. Formulas are cut before
the operators and relations of their main line, `x + 1 = y` into `x`, `+ 1` and `= y`, if there is
white space between the strokes. A new formula joins parts of others, with its operators at the same
height. Some of its letters and digits are replaced by others, with their strokes. To train on the
new formulas, use `train.py --more`.
"""

import argparse
from typing import NamedTuple

import formulas
import numpy as np
from symbols import Formula, understood, write

CUT_BEFORE = set(r"+ - \pm \times \div = \neq < > \leq \geq \rightarrow".split())
OPENING, CLOSING = set(r"{ ( [ \{".split()), set(r"} ) ] \}".split())
ALIKE = tuple(  # tokens that may be exchanged: same height, on one line
    group.split()
    for group in (
        "0 1 2 3 4 5 6 7 8 9",
        r"a c e m n o r s u v w x z \alpha \pi \sigma",
        r"b d f h k l t i \theta \beta \lambda \Delta \delta",
        r"g j p q y \gamma \mu \phi",
        "A B C E F G H I L M N P R S T V X Y",
        r"+ \pm \times \div",
        r"= \neq \leq \geq < >",
    )
)
GROUP = {token: number for number, group in enumerate(ALIKE) for token in group}
DIGITS = 0  # digits change independently; all occurrences of a letter change together
OVERLAP = 0.2  # maximum overlap of two parts, in mean stroke sizes
GAPS = 0.1, 1.2  # space between two parts, in mean stroke sizes
CHANGED = 0.4  # fraction of exchangeable tokens to exchange
CHANCES = 5  # attempts to add a part to a formula
MOST = 1_000_000  # maximum number of new formulas


class Part(NamedTuple):
    """Part of a formula, with y relative to the middle of its operator and x to its left edge."""

    formula: Formula
    gap: float  # space before it in its original formula


@formulas.ends_well()
def main(arguments=None):
    arguments = parsed(arguments)
    pairs = formulas.read(arguments.file)
    known = understood(pairs, arguments.model)
    if not known:
        raise SystemExit(
            f"{arguments.model} must find the strokes of all symbols in at least one formula. "
            f"Received: {arguments.file} with {len(pairs)} formulas. Use a model that reads them."
        )
    random = np.random.default_rng(arguments.seed)
    firsts, others = all_parts(known)
    glyphs = all_glyphs(known)
    lengths = [len(one.tokens) for one in known]
    new = (
        exchanged(recombined(firsts, others, random.choice(lengths), random), glyphs, random)
        for _ in range(arguments.count)
    )
    write(arguments.out, new)
    print(
        f"{arguments.count} formulas from {len(firsts)} first parts and {len(others)} others: "
        f"{arguments.out}"
    )


def all_parts(known):
    """Return parts that begin a formula, and parts that begin with an operator or relation."""
    firsts, others = [], []
    for formula in known:
        first, *more = parts(formula)
        firsts.append(first)
        others += more
    return firsts, others


def parts(formula):
    """Return the `Part`s of a formula, or the whole formula if it can't be cut."""
    cuts = [place for place in cut_places(formula.tokens) if is_apart(formula, place)]
    ends = [0, *cuts, len(formula.tokens)]
    found = []
    for number, (start, end) in enumerate(zip(ends, ends[1:], strict=False)):
        operator = cuts[max(number - 1, 0)] if cuts else None
        found.append(part(formula, start, end, operator))
    return found


def cut_places(tokens):
    """Return the positions of main-line operators and relations before which to cut."""
    depth, places = 0, []
    for place, token in enumerate(tokens):
        depth += (token in OPENING) - (token in CLOSING)
        if place and not depth and token in CUT_BEFORE and tokens[place - 1] not in CUT_BEFORE:
            places.append(place)
    return places


def is_apart(formula, place):
    """Return True if there is white space between the strokes before a token and the rest."""
    left, right = (
        np.concatenate([formula.strokes[one] for one in np.flatnonzero(chosen)])
        for chosen in (formula.owners < place, formula.owners >= place)
    )
    return place in formula.sure and left[:, 0].max() < right[:, 0].min() + OVERLAP


def part(formula, start, end, operator):
    chosen = np.flatnonzero((formula.owners >= start) & (formula.owners < end))
    strokes = [formula.strokes[one] for one in chosen]
    points = np.concatenate(strokes)
    of_axis = np.flatnonzero(formula.owners == operator) if operator is not None else chosen
    axis = np.concatenate([formula.strokes[one] for one in of_axis])[:, 1]
    corner = np.array([points[:, 0].min(), (axis.min() + axis.max()) / 2])
    before = [formula.strokes[one][:, 0].max() for one in np.flatnonzero(formula.owners < start)]
    gap = np.clip(corner[0] - max(before), *GAPS) if before else 0.0
    new = Formula(
        [stroke - corner for stroke in strokes],
        formula.tokens[start:end],
        formula.owners[chosen] - start,
        frozenset(one - start for one in formula.sure if start <= one < end),
    )
    return Part(new, gap)


def recombined(firsts, others, length, random):
    """Return a new `Formula` from a first part and others, with about `length` tokens."""
    new = firsts[random.integers(len(firsts))].formula
    for _ in range(CHANCES if others else 0):
        more, gap = others[random.integers(len(others))]
        if len(new.tokens) + len(more.tokens) <= length:
            new = beside(new, more, gap)
    return new


def beside(first, second, gap):
    """Join two formulas, the second to the right of the first."""
    move = np.array([np.concatenate(first.strokes)[:, 0].max() + gap, 0.0])
    size = len(first.tokens)
    return Formula(
        first.strokes + [stroke + move for stroke in second.strokes],
        first.tokens + second.tokens,
        np.concatenate([first.owners, second.owners + size]),
        first.sure | {one + size for one in second.sure},
    )


def all_glyphs(known):
    """Return the strokes of symbols for each exchangeable token."""
    glyphs = {}
    for formula in known:
        for place in formula.sure:
            if formula.tokens[place] in GROUP:
                chosen = np.flatnonzero(formula.owners == place)
                strokes = [formula.strokes[one] for one in chosen]
                glyphs.setdefault(formula.tokens[place], []).append(strokes)
    return glyphs


def exchanged(formula, glyphs, random):
    """Return the formula with some of its tokens, and their strokes, exchanged for similar ones."""
    strokes, tokens = list(formula.strokes), list(formula.tokens)
    owners, new_tokens = formula.owners, {}
    groups = [[token for token in group if token in glyphs] for group in ALIKE]
    for place in sorted(formula.sure):
        old = formula.tokens[place]
        if old not in GROUP:
            continue
        key = place if GROUP[old] == DIGITS else old
        if key not in new_tokens:
            group = groups[GROUP[old]]
            often = np.array([len(glyphs[token]) for token in group], np.float64) ** 0.5
            other = random.choice(group, p=often / often.sum())
            new_tokens[key] = other if random.random() < CHANGED else old
        new = new_tokens[key]
        if new != old:
            tokens[place] = str(new)
            glyph = glyphs[new][random.integers(len(glyphs[new]))]
            chosen = np.flatnonzero(owners == place)
            fitted = in_place(glyph, [strokes[one] for one in chosen])
            strokes = strokes[: chosen[0]] + fitted + strokes[chosen[-1] + 1 :]
            owner = np.full(len(fitted), place)
            owners = np.concatenate([owners[: chosen[0]], owner, owners[chosen[-1] + 1 :]])
    return Formula(strokes, tokens, owners, formula.sure)


def in_place(glyph, old):
    """Scale a symbol's strokes to the size of the old symbol, and centre them on it."""
    box = [np.concatenate(strokes) for strokes in (glyph, old)]
    sizes = [np.maximum(np.ptp(points, axis=0), 1e-3) for points in box]
    middles = [(points.min(axis=0) + points.max(axis=0)) / 2 for points in box]
    scale = sizes[1].max() / sizes[0].max()
    return [(stroke - middles[0]) * scale + middles[1] for stroke in glyph]


def parsed(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", type=formulas.existing, help="file of formulas (see formulas.py)")
    parser.add_argument(
        "--model",
        type=formulas.existing,
        required=True,
        help="model whose attention locates the symbols",
    )
    parser.add_argument(
        "--count", type=int, default=40000, help="number of new formulas (%(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--out", type=formulas.new_packed_file, required=True, help=".gz file to write"
    )
    parsed = parser.parse_args(arguments)
    if not 1 <= parsed.count <= MOST:
        parser.error(f"--count must be from 1 to {MOST:,}. Received: {parsed.count}")
    return parsed


if __name__ == "__main__":
    main()
