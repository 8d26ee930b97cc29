"""The split into a harder dev part and the rest, and phoneme marks as separate tokens."""

import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "experiments" / "harder_dev"
WORDS = ["boekenkast", "boekenbon", "jaskast", "aambeeld"]


@pytest.fixture
def harder_dev(example):
    return example("harder_dev")


def test_a_word_is_harder_unless_a_known_beginning_and_end_cover_it(harder_dev):
    # boeken|kast: the beginning is in boekenbon, the end in jaskast; no other word ends in -bon.
    assert harder_dev.harder_words(WORDS) == {"boekenbon", "jaskast", "aambeeld"}
    assert harder_dev.harder_words(["boekenbeeld", "kast", "aam"], WORDS) == set()
    assert harder_dev.harder_words(["boekenbeeld", "zon"], WORDS) == {"zon"}
    assert harder_dev.harder_words(["zon"]) == {"zon"}
    assert harder_dev.harder_words(["가나", "각"]) == {"가나", "각"}  # ㄱㅏㄴㅏ, ㄱㅏㄱ
    assert harder_dev.harder_words(["가나", "각", "하나"]) == {"각", "하나"}  # 가|나


def test_a_layout_has_no_symbols(harder_dev):
    assert harder_dev.layout(r"\frac { x } { \alpha ^ { 2 } }") == r"\frac { . } { . ^ { . } }"


@pytest.mark.parametrize("most", [0, 1, 3, 6])
def test_held_out_layouts_have_at_most_so_many_formulas(harder_dev, most):
    layouts = ["."] * 3 + [". ."] * 2 + [". . ."]
    chosen = harder_dev.held_out_layouts(layouts, most)
    assert chosen == harder_dev.held_out_layouts(layouts[::-1], most)
    assert sum(one in chosen for one in layouts) == most


def test_a_split_has_each_line_once(harder_dev, tmp_path, capsys):
    lines = [f"{word}\tx y" for word in (*WORDS, "jaskast")]
    file, out = tmp_path / "train.tsv", tmp_path / "split"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    harder_dev.main(["split", str(file), "--out", str(out)])
    harder, rest = ((out / f"{name}.tsv").read_text("utf-8") for name in ("harder", "rest"))
    assert sorted((harder + rest).splitlines()) == sorted(lines)
    assert rest == "boekenkast\tx y\n"
    assert "4 of 5 lines" in capsys.readouterr().out


def test_formulas_of_dev_are_harder_if_training_lacks_their_layout(harder_dev, tmp_path):
    for name, formulas in (("train", ["x + 1", "x ^ { 2 }"]), ("dev", ["a - b", "x _ { 2 }"])):
        text = "".join(json.dumps({"latex": one, "ink": []}) + "\n" for one in formulas)
        (tmp_path / f"{name}.jsonl").write_text(text, encoding="utf-8")
    train, dev = (str(tmp_path / f"{name}.jsonl") for name in ("train", "dev"))
    harder_dev.main(["split", dev, "--known", train, "--out", str(tmp_path)])
    harder = (tmp_path / "harder.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["latex"] for line in harder] == ["x _ { 2 }"]


@pytest.mark.parametrize(
    "phonemes, tokens",
    [
        ("ǎː d", "a +\u030c +ː d"),
        ("t͡s ɛ i̯", "t͡s ɛ i +\u032f"),  # a tie joins two letters
        ("tʰ a ˧˥", "t +ʰ a ˧ +˥"),
        ("", ""),
    ],
)
def test_marks_are_taken_apart_and_joined_again(harder_dev, phonemes, tokens):
    assert harder_dev.marks_apart(phonemes) == tokens
    assert harder_dev.marks_joined(tokens) == phonemes


def test_an_interval_by_groups_is_wider_if_a_group_is_all_right_or_all_wrong(harder_dev):
    scores, groups = [100.0] * 50 + [0.0] * 50, [number // 10 for number in range(100)]
    mean, low, high = harder_dev.interval(scores, groups)
    _, least, most = harder_dev.interval(scores, [*range(100)])
    assert mean == 50 and low < least < 50 < most < high
    assert harder_dev.interval([7.0, 7.0], ["a", "b"]) == (7, 7, 7)
