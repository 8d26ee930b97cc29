"""The example that writes lines of Python: its placeholders, its scores and a training run."""

import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "code"
WORDS = {*"call the function with an argument return substitute for if is not true string".split()}
WORDS |= {*"self value render append None get an and".split()}
TRAINING = [
    ("call the function {0} with an argument {1}.", "{0} ( {1} )"),
    ("return {0}.", "return {0}"),
    ("substitute {0} for {1}.", "{1} = {0}"),
    ("if {0} is true,", "if {0} :"),
    ("{0} is a string '{1}'.", "{0} = '{1}'"),
]
NAMES = ("path", "node", "field", "query", "token", "user", "cache")


@pytest.fixture
def lines(example):
    return example("code_lines")


@pytest.mark.few(8)
@pytest.mark.parametrize(
    ("description", "code", "masked_description", "masked_code"),
    [
        (
            "call the function _make_key with an argument args.",
            "    _make_key ( args )",
            "call the function NAME0 with an argument NAME1 .",
            "NAME0 ( NAME1 )",
        ),
        (
            "substitute 'a b' for self._x,",
            "self . _x = 'a b'",
            "substitute TEXT0 for self . NAME0 ,",
            "self . NAME0 = TEXT0",
        ),
        # Another prefix and other quotes.
        ("get '\\n' and 'y'.", "get ( b'\\n' , \"y\" )", "get TEXT0 and TEXT1 .", None),
        # A name in the description is a string in the code.
        ("get the errors.", "get ( 'errors' )", "get the NAME0 .", "get ( '_ NAME0 )"),
        # One name several times, and one string with two kinds of quotes.
        (
            "if x is not x 'q' \"q\",",
            "x is x 'q' \"q\"",
            "if NAME0 is not NAME0 TEXT0 TEXT1 ,",
            None,
        ),
        # An apostrophe, an empty string and an escaped quote.
        ("doesn't '' 'it\\'s'", "'' , 'it\\'s'", "NAME0 ' NAME1 '' TEXT0", "'' , TEXT0"),
        # Words that look like placeholders.
        ("return NAME1 and TEXT0.", "return NAME1 , TEXT0", "return NAME0 and NAME1 .", None),
        # Nothing to replace.
        ("return None.", " return  None", "return None .", "return None"),
        ("", "pass", "", "pass"),
    ],
)
def test_names_and_strings_become_placeholders_and_come_back(
    lines, description, code, masked_description, masked_code
):
    text, parts = lines.mask(description, WORDS)
    masked = lines.mask_code(code, parts)
    assert text == masked_description
    assert masked_code in (None, masked)
    assert lines.unmask(masked, parts) == lines.one_line(code)


def test_a_prefix_and_other_quotes_stand_before_the_placeholder(lines):
    _, parts = lines.mask("get '\\n' and 'y'.", WORDS)
    assert lines.mask_code("get ( b'\\n' , \"y\" )", parts) == "get ( b'_ TEXT0 , \"_ TEXT1 )"


def test_a_description_begins_behind_its_last_gap_outside_of_strings(lines):
    description = "use the result.   return the string 'a   b' of value."
    assert lines.mask(description, None)[0] == "return the string 'a   b' of value ."
    assert lines.mask(description, WORDS)[0] == "return the string TEXT0 NAME0 value ."


def test_a_placeholder_that_the_description_does_not_have_stays(lines):
    assert lines.unmask("x = NAME3 ( '_ TEXT1 )", {"f": "NAME0"}) == "x = NAME3 ( 'TEXT1' )"


def test_words_stay_that_are_often_copied_or_seldom_and_others_become_names(lines):
    often = [("call f with x.", "f ( x )")] * 3
    once = [("call g with 'x y'.", "g ( 'x y' )")]  # g is copied, its string is not a word
    seldom = [("the first call of h.", "h ( first )"), *[("the first x.", "x [ 0 ]")] * 2]
    words = lines.words_that_stay([*often, *once, *seldom], 3)
    assert words == {"call", "f", "with", "x", "the", "first"}
    assert lines.words_that_stay([*often, *once, *seldom], 6) == {"call", "with", "the", "first"}


@pytest.mark.parametrize(
    "line",
    [
        *("else :", "elif x :", "except ( A , B ) as e :", "try :", "finally :", "if x :"),
        *("@ property", "return x", "def f ( self , * args ) :", "x = '\\d' % { 'a' : 1 }"),
    ],
)
def test_a_line_of_python_parses(lines, line):
    assert lines.parses(line)


@pytest.mark.parametrize("line", ["", "else", "return return", "x = ( 1", "def f ( :", "a b", "\0"])
def test_another_line_does_not_parse(lines, line):
    assert not lines.parses(line)


@pytest.fixture
def files(tmp_path):
    """Training and dev files; two lines of dev also occur in training, and three are new."""
    train = [
        (one.format(*names), two.format(*names))
        for one, two in TRAINING
        for names in zip(NAMES, NAMES[1:] + NAMES[:1], strict=True)
    ]
    new = [(one.format("zorb", "quux"), two.format("zorb", "quux")) for one, two in TRAINING[:3]]
    for name, pairs in (("train", train), ("dev", [*train[:2], *new])):
        text = "".join(f"{one}\t    {two}\n" for one, two in pairs)
        (tmp_path / f"{name}.tsv").write_text(text, encoding="utf-8")
    return tmp_path


@pytest.fixture
def prepared(lines, files):
    data = files / "data"
    lines.main(["prepare", str(files / "train.tsv"), str(files / "dev.tsv"), "--data", str(data)])
    return data


def scores(lines, files, capsys, *more):
    arguments = ["score", str(files / "dev.tsv"), "--train", str(files / "train.tsv")]
    lines.main([*arguments, "--data", str(files / "data"), *more])
    return json.loads(capsys.readouterr().out)


def test_a_masked_description_of_the_training_gives_its_code(lines, files, prepared, capsys):
    first = (prepared / "train.tsv").read_text().splitlines()[0]
    assert first == "call the function NAME0 with an argument NAME1 .\tNAME0 ( NAME1 )"
    report = scores(lines, files, capsys, "--answers", str(files / "answers"))
    assert (report["lines"], report["new"]) == (5, 3)
    assert report["exact"] == report["exact, new"] == report["parses"] == 100
    assert (files / "answers").read_text().splitlines()[2] == "zorb ( quux )"


@pytest.mark.slow
def test_without_placeholders_new_names_are_not_in_the_training(lines, files, capsys):
    paths = [str(files / name) for name in ("train.tsv", "dev.tsv")]
    lines.main(["prepare", *paths, "--data", str(files / "data"), "--least", "0"])
    report = scores(lines, files, capsys)
    assert (report["exact"], report["exact, new"], report["parses"]) == (40, 0, 40)


@pytest.mark.slow
def test_the_command_trains_and_the_script_scores_writes_and_draws(
    lines, files, prepared, tmp_path, capsys
):
    from keras_bahdanau import cli

    model = tmp_path / "model"
    options = "--model-type word --copy --best-by exact --epochs 1"
    widths = "--units 8 --embedding-units 8 --attention-units 8"
    command = ["train", prepared / "train.tsv", "--valid-source", prepared / "dev.tsv"]
    command += [*options.split(), *widths.split(), "--out", model]
    with pytest.raises(SystemExit) as end:
        cli.main([*map(str, command)])
    assert not end.value.code
    capsys.readouterr()
    translator = ["--model", str(model / "translator.keras")]
    assert scores(lines, files, capsys, *translator)["lines"] == 5
    picture = tmp_path / "line.png"
    description = "call the function zorb with an argument 'a b'."
    arguments = [description, "--data", str(prepared), *translator, "--plot", str(picture)]
    lines.main(["write", *arguments])
    assert capsys.readouterr().out.endswith("\n") and picture.stat().st_size > 1000
