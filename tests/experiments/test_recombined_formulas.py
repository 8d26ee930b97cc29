"""The formulas experiment: new formulas made from parts and symbols of others."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from keras_bahdanau.sources.ink_source import pen_frames

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parents[2] / "experiments" / "formulas"


@pytest.fixture
def recombine(example):
    return example("recombine")


@pytest.fixture
def symbols(example):
    return example("symbols")


def bar(left, low=0.0, high=1.0):
    """Return a downward stroke without width."""
    return np.array([[left, low], [left, high]])


def dash(left, height=0.5, width=0.5):
    return np.array([[left, height], [left + width, height]])


def formula(symbols, text, strokes, owners):
    """Return a `Formula` in which the owners of all symbols are sure."""
    tokens = text.split()
    return symbols.Formula(strokes, tokens, np.array(owners), frozenset(owners))


@pytest.fixture
def sum_of_two(symbols):
    """`1 + 1 = x`, with the middle of the plus at a height of 0.5."""
    strokes = [bar(0), dash(1), bar(1.25, 0.25, 0.75), bar(2), dash(3, 0.4), dash(3, 0.6), bar(4)]
    return formula(symbols, "1 + 1 = x", strokes, [0, 1, 1, 2, 3, 3, 4])


def test_attention_to_positions_is_that_to_the_strokes_of_their_frames(symbols):
    # In frames: strokes end at 3, 11 and 15, and are read one frame later.
    counts = np.array([3, 8, 4])
    alignment = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]])
    mass = symbols.attended(alignment, counts)
    # A position starts one frame after its first frame: 1 to 5, 5 to 9, 9 to 13 and 13 to 17.
    expected = [[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.25, 0.5]]
    np.testing.assert_allclose(mass, expected)


def test_frames_are_counted_as_the_source_gives_them(symbols):
    strokes = [np.cumsum(np.random.default_rng(n).normal(size=(20, 2)), axis=0) for n in range(4)]
    counts = symbols.frame_counts(strokes)
    assert len(counts) == 4 and counts.sum() == len(pen_frames(strokes))
    ends = np.cumsum(counts) - 1
    assert np.all(pen_frames(strokes)[ends, -1] == 1)


def test_a_symbol_is_sure_if_its_strokes_are_its_own_and_together(symbols):
    mass = np.array([[0.9, 0.0, 0.0, 0.1], [0.0, 0.8, 0.1, 0.0], [0.4, 0.0, 0.1, 0.5]])
    owners = mass.argmax(axis=0)
    assert owners.tolist() == [0, 1, 1, 2]
    # The first has 0.9 of 1.3. In the second, half of the attention to a stroke comes from
    # elsewhere. The third attends to its stroke with only 0.5.
    assert [symbols.is_sure(mass, owners, one) for one in range(3)] == [True, False, False]
    apart = np.array([[0.5, 0.0, 0.5], [0.0, 1.0, 0.0]])
    assert not symbols.is_sure(apart, apart.argmax(axis=0), 0)


def test_owners_stand_in_the_file_and_come_back(example, symbols, sum_of_two, tmp_path):
    unknown = sum_of_two._replace(owners=None)
    symbols.write(tmp_path / "f.jsonl.gz", [sum_of_two, unknown])
    (strokes, text, owners), (*_, none) = example("formulas").read_owned(tmp_path / "f.jsonl.gz")
    assert text == "1 + 1 = x" and owners == [0, 1, 1, 2, 3, 3, 4] and none is None
    for stroke, other in zip(strokes, sum_of_two.strokes, strict=True):
        np.testing.assert_allclose(stroke / symbols.UNITS, other, atol=0.5 / symbols.UNITS)


def test_a_symbol_without_strokes_makes_a_formula_unknown(symbols, sum_of_two, monkeypatch):
    counts = symbols.frame_counts(sum_of_two.strokes)
    places = np.concatenate([[-4], np.cumsum(counts)[:-1]]) // symbols.POSITION + 1
    right = np.zeros((5, sum(counts) // symbols.POSITION + 1))
    right[sum_of_two.owners, places] = 1.0
    wrong = right.copy()
    wrong[0] = wrong[2]  # no symbol attends to the first stroke
    given = [right, wrong, None]
    monkeypatch.setattr(symbols, "alignments", lambda pairs, model: given)
    pairs = [(sum_of_two.strokes, "1 + 1 = x")] * 3
    found = list(symbols.each_understood(pairs, "model.keras"))
    assert [one is not None for one in found] == [True, False, False]


def test_a_rare_number_of_strokes_is_not_usual(symbols, sum_of_two):
    one = formula(symbols, "+", [dash(0)], [0])
    assert symbols.usual_counts([sum_of_two] * 9 + [one]) >= {("+", 2), ("1", 1), ("=", 2)}
    assert ("+", 1) not in symbols.usual_counts([sum_of_two] * 9 + [one])
    assert ("+", 1) in symbols.usual_counts([sum_of_two] * 3 + [one])


def test_cuts_are_before_operators_of_the_main_line(recombine):
    tokens = r"- x ^ { a + b } + ( 1 - 2 ) = - \frac { 1 + 2 } { 3 }".split()
    places = recombine.cut_places(tokens)
    assert [tokens[place] for place in places] == ["+", "="]
    assert places == [tokens.index("}") + 1, tokens.index("=")]


def test_a_formula_is_cut_where_paper_is_between_its_strokes(recombine, symbols, sum_of_two):
    first, *others = recombine.parts(sum_of_two)
    assert first.formula.tokens == ["1"]
    assert [part.formula.tokens for part in others] == [["+", "1"], ["=", "x"]]
    assert [round(part.gap, 6) for part in others] == [1.0, 1.0]
    # Heights are relative to the operator's middle, positions to the part's left edge.
    np.testing.assert_allclose(first.formula.strokes[0], [[0, -0.5], [0, 0.5]])
    np.testing.assert_allclose(others[1].formula.strokes[0], [[0, -0.1], [0.5, -0.1]])
    assert others[1].formula.owners.tolist() == [0, 0, 1]
    close = [*sum_of_two.strokes[:3], dash(-0.5, 0.9, 4.0), *sum_of_two.strokes[4:]]
    # One stroke lies below all the others.
    (whole,) = recombine.parts(sum_of_two._replace(strokes=close))
    assert whole.formula.tokens == sum_of_two.tokens
    (whole,) = recombine.parts(sum_of_two._replace(sure=frozenset()))
    assert whole.formula.tokens == sum_of_two.tokens


def test_parts_stand_in_one_line_as_far_apart_as_they_were(recombine, symbols, sum_of_two):
    firsts, others = recombine.all_parts([sum_of_two])
    new = recombine.beside(firsts[0].formula, *others[1])
    assert new.tokens == ["1", "=", "x"] and new.owners.tolist() == [0, 1, 1, 2]
    assert new.sure == {0, 1, 2}
    np.testing.assert_allclose(new.strokes[1][:, 0], [1.0, 1.5])
    random = np.random.default_rng(0)
    drawn = [recombine.recombined(firsts, others, 5, random) for _ in range(50)]
    texts = {" ".join(one.tokens) for one in drawn}
    assert texts == {"1 + 1 + 1", "1 + 1 = x", "1 = x + 1", "1 = x = x"}
    for one in drawn:
        ends = [stroke[:, 0] for stroke in one.strokes]
        starts = [one.strokes[np.flatnonzero(one.owners == place)[0]] for place in range(5)]
        assert all(a[0, 0] < b[0, 0] for a, b in zip(starts, starts[1:], strict=False))
        assert min(map(np.min, ends)) == 0


def test_a_symbol_takes_the_place_and_the_size_of_the_old_one(recombine):
    glyph = [np.array([[0.0, 0.0], [2.0, 4.0]]), np.array([[1.0, 1.0]])]
    fitted = recombine.in_place(glyph, [bar(10.0, 3.0, 5.0)])
    np.testing.assert_allclose(fitted[0], [[9.5, 3.0], [10.5, 5.0]])
    np.testing.assert_allclose(fitted[1], [[10.0, 3.5]])


def test_digits_and_letters_are_exchanged_for_others_alike(recombine, symbols):
    strokes = [bar(n) for n in range(6)]
    old = formula(symbols, "x 1 x 1 ( \\sum", strokes, range(6))
    glyphs = {token: [[dash(0), dash(0, 1.0)]] for token in ("2", "3", "y", "a", "x", "1")}
    random = np.random.default_rng(0)
    seen = set()
    for _ in range(1000):
        new = recombine.exchanged(old, glyphs, random)
        first, one, second, other, *rest = new.tokens
        assert rest == ["(", "\\sum"] and first == second  # a letter is replaced everywhere
        assert {first} <= {"x", "a"} and {one, other} <= {"1", "2", "3"}
        changed = sum(new.tokens[n] != old.tokens[n] for n in range(6))
        assert len(new.strokes) == 6 + changed == len(new.owners)
        np.testing.assert_array_equal(new.strokes[-1], strokes[-1])
        seen |= {(first, one, other)}
    assert len(seen) == 2 * 3 * 3


def write(path, *lines):
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps({"latex": text, "ink": ink}) + "\n" for text, ink in lines)
    return str(path)


def test_new_formulas_are_written_that_train_reads(recombine, example, tmp_path, capsys):
    one = ("1", [[0, 0, 0, 100]])  # its only stroke is its only symbol
    impossible = ("1 + 1", [[0, 0, 0, 100]])
    file = write(tmp_path / "train.jsonl.gz", *[one, impossible] * 4)
    write(tmp_path / "dev.jsonl.gz", *[one] * 4)
    train, new = example("train"), str(tmp_path / "new.jsonl.gz")
    train.BEAM_WIDTHS, train.EXPONENTS, train.SHARES = (2,), (0.0,), (0.1,)
    options = ["--data", str(tmp_path), "--epochs", "1"]
    train.main([*options, "--out", str(tmp_path / "run")])
    model = ["--model", str(tmp_path / "run" / "formulas.keras"), "--count", "5"]
    recombine.main([file, *model, "--out", new])
    assert [text for _, text in example("formulas").read(new)] == ["1"] * 5
    train.main([*options, "--more", new, "--out", str(tmp_path / "more")])
    assert capsys.readouterr().out.count("dev chose") == 2
    with pytest.raises(SystemExit, match="must find the strokes of all symbols in at least one"):
        recombine.main([write(tmp_path / "x.gz", impossible, impossible), *model, "--out", new])


@pytest.mark.parametrize("count", [0, 10**7])
def test_a_count_out_of_bounds_is_refused(recombine, count, capsys):
    with pytest.raises(SystemExit):
        recombine.main(f". --model . --out y.gz --count {count}".split())
    assert f"Received: {count}" in capsys.readouterr().err
