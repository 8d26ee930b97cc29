"""`keras-bahdanau shortlist`: what it prints, writes and refuses, and the searches after it."""

import pytest
from conftest import toy_pairs

import keras_bahdanau as kb
from keras_bahdanau import cli
from keras_bahdanau.cli import shortlisting
from keras_bahdanau.pipelines.confidence import TEXT_FEATURES, WORD_FEATURES, Calibration
from keras_bahdanau.pipelines.file import write_calibration


@pytest.fixture
def files(toy_translator, tmp_path, monkeypatch):
    """A directory with the toy, as it was trained, and its pairs; the current one."""
    monkeypatch.chdir(tmp_path)
    toy_translator.save("toy.keras")
    text = "".join(f"{source}\t{target}\n" for source, target in toy_pairs())
    (tmp_path / "pairs.tsv").write_text(text, encoding="utf-8")
    (tmp_path / "some.en").write_text("one two\nfive\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def command(capsys):
    """`command(text)`: exit code, standard output and standard error of an answer."""

    def run(text):
        with pytest.raises(SystemExit) as ended:
            cli.main(text.split())
        return ended.value.code, *capsys.readouterr()

    return run


@pytest.mark.slow
def test_it_writes_a_table_that_searches_and_exports_read(files, command, monkeypatch):
    monkeypatch.setattr(shortlisting, "SIZES", (6, 16, 32, 48))  # 6 are in all lists, 48 are all
    learn = "shortlist pairs.tsv --model toy.keras --candidates 3 --frequent 2"
    before = (files / "toy.keras").read_bytes()
    code, out, _ = command(f"{learn} --dry-run")
    assert code == 0 and out.endswith("the model is as it was\n")
    assert (files / "toy.keras").read_bytes() == before
    code, out, _ = command(learn)
    seen, heading, *rows, written = out.splitlines()
    assert code == 0 and "source tokens seen" in seen and written == "written into toy.keras"
    assert heading.split() == ["size", "covered", "in", "list"]
    sizes, covered, inside = zip(*(row.replace("%", "").split() for row in rows), strict=True)
    assert sizes == ("16", "32") and float(covered[1]) == 100
    assert 80 < float(inside[0]) <= float(inside[1]) <= 100
    code, out, _ = command("translate some.en --model toy.keras --shortlist 16")
    assert (code, out) == (0, "eins zwei\nfünf\n")
    lengths = "--max-source-length 12 --max-target-length 12 --signatures greedy"
    export = f"export --model toy.keras --format litert --out toy.tflite {lengths}"
    assert command(f"{export} --shortlist 16")[0] == 0
    assert "shortlist 16" in command("check toy.tflite")[1]
    code, out, _ = command("translate some.en --model toy.tflite")
    assert (code, out) == (0, "eins zwei\nfünf\n")
    assert command(f"{learn} --size 6")[0] == 2  # in which no token of a sentence would be
    assert command(f"{learn} --size 16")[0] == 0
    assert kb.load_pipeline("toy.keras").search.shortlist == 16
    code, _, err = command(f"{learn.replace('frequent 2', 'frequent 20')}")
    assert code == 2 and "Give 25 or more" in err
    command("translate some.en --model toy.keras --model toy.keras --explore both.html")
    assert (files / "both.html").stat().st_size > 10_000


def test_a_size_without_room_is_refused_before_anything_is_learnt(files, command):
    code, out, err = command("shortlist pairs.tsv --model toy.keras --frequent 2 --size 6")
    assert (code, out) == (2, "")
    assert "Received: shortlist=6 with 4 special and 2 frequent tokens. Give 7 or more" in err


def test_a_vocabulary_that_all_lists_would_have_whole_is_refused(files, command):
    before = (files / "toy.keras").read_bytes()
    code, out, err = command("shortlist pairs.tsv --model toy.keras")  # 100 frequent ones
    assert (code, out) == (2, "") and (files / "toy.keras").read_bytes() == before
    assert "frequent=100 and 4 special tokens with 48 target tokens. Give fewer" in err


@pytest.mark.slow
def test_other_lists_or_none_ask_for_another_calibration(files, command):
    text, word = (dict.fromkeys(("bias", *names), 0.0) for names in (TEXT_FEATURES, WORD_FEATURES))
    write_calibration(files / "toy.keras", Calibration(text=text, word=word))
    learn = "shortlist pairs.tsv --model toy.keras --candidates 3 --frequent 2"
    for size, warned in ((16, True), (0, True), (0, False)):
        code, _, err = command(f"{learn} --size {size}")
        assert code == 0 and ("`calibrate` the model again" in err) == warned, size


@pytest.mark.slow
def test_a_search_without_a_table_is_refused_in_one_line(files, command):
    code, out, err = command("translate some.en --model toy.keras --shortlist 16")
    assert (code, out) == (2, "")
    assert "Received: shortlist=16 for a model without" in err and err.count("\n") == 1
