"""The example with two languages in one model, at toy size."""

import gzip
import importlib.util
import json
from pathlib import Path

import pytest
from conftest import toy_pairs

SCRIPT = Path(__file__).parents[2] / "examples" / "multilingual" / "train.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("multilingual", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def data(tmp_path):
    """Toy sentences with German targets, and with reversed words as French targets."""
    pairs = toy_pairs()
    longest = " ".join(["one"] * 5), " ".join(["eins"] * 5)
    (tmp_path / "tok").mkdir()
    for part, rows in {
        "train": pairs[20:],
        "val": [*pairs[:9], longest],
        "test_2016_flickr": pairs[9:20],
    }.items():
        sides = {
            "en": [source for source, _ in rows],
            "de": [target for _, target in rows],
            "fr": [source[::-1] for source, _ in rows],
        }
        for language, lines in sides.items():
            content = "".join(f"{line}\n" for line in lines).encode()
            (tmp_path / "tok" / f"{part}.{language}.gz").write_bytes(gzip.compress(content))
    return tmp_path


def test_only_a_model_of_both_languages_has_tags_and_asks_with_them(example, data):
    arguments = example.parsed(["--data", str(data), "--out", "x", "--set", "units=8"])
    (alone,), both = (example.corpora(arguments, name, "val") for name in ("fr", "both"))
    assert (alone.tag, alone.pairs[0]) == (None, ("one", "eno"))
    assert [(one.tag, one.pairs[0]) for one in both] == [
        ("<2de>", ("one", "eins")),
        ("<2fr>", ("one", "eno")),
    ]
    assert example.options_of(arguments, "fr").query == "state"
    options = example.options_of(arguments, "both")
    assert (options.query, options.units) == ("state,task", 8)


def test_the_table_has_a_line_for_each_system_that_is_scored(example, tmp_path):
    arguments = example.parsed(["--data", "x", "--out", str(tmp_path)])
    scores = {"de": {"bleu": 39.006}, "fr": {"bleu": 60.1}}
    found = {"weights": 5900000, "epochs": 54, "training_minutes": 139.26, "scores": scores}
    (tmp_path / "both.val.json").write_text(json.dumps(found))
    assert example.table(arguments).splitlines()[2:] == [
        "| both | 5,900,000 | 54 | 139.3 | val | 39.01 | 60.10 |"
    ]


@pytest.mark.slow
def test_it_runs_from_end_to_end_and_decodes_the_test_once(example, data, tmp_path, capsys):
    small = "vocabulary_size=50 units=8 embedding_units=8 attention_units=8 epochs=1".split()
    settings = [word for one in small for word in ("--set", one)]
    out = tmp_path / "out"
    command = ["--data", str(data), "--out", str(out), "--systems", "fr", "both", *settings]
    example.main(command)
    assert {path.name for path in out.iterdir()} == {"fr", "both", "fr.val.json", "both.val.json"}
    scores = json.loads((out / "both.val.json").read_text())["scores"]
    for name in ("de", "fr"):  # a tag does not count as a word
        assert [band["label"] for band in scores[name]["by_length"]] == ["1-5"]
    example.main([*command, "--test"])
    table = capsys.readouterr().out.split("\n| system")[-1]
    assert [line.split("|")[5].strip() for line in table.splitlines()[2:]] == [
        *("val", "val", "test", "test")
    ]
    before = (out / "both.test.json").stat().st_mtime_ns
    example.main([*command, "--test"])
    assert (out / "both.test.json").stat().st_mtime_ns == before
    assert set(json.loads((out / "both.test.json").read_text())["scores"]) == {"de", "fr"}
