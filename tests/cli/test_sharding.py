"""The command `prepare`: what it prints, and the vocabularies that it takes."""

import json
import sys

import pytest
from conftest import toy_pairs

from keras_bahdanau import cli
from keras_bahdanau.data import Shards


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """`run(*arguments)`: the lines that the command prints, beside a file of pairs."""
    monkeypatch.chdir(tmp_path)
    pairs = [*toy_pairs(), ("один", "eins"), ("", "x")]
    (tmp_path / "p.tsv").write_text("".join(f"{one}\t{other}\n" for one, other in pairs))

    def command(*arguments):
        with pytest.raises(SystemExit) as ended:
            cli.main(["prepare", "p.tsv", "--workers", "1", *arguments])
        answer = capsys.readouterr()
        assert (ended.value.code, answer.err) == (0, "")
        return answer.out.splitlines()

    return command


def test_a_dry_run_prints_what_filters_drop_without_tensorflow(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    lines = run("--dry-run", "--source-script", "Latin", "--report", "r.json")
    assert lines[1:] == [
        "157 pairs read, 155 kept (98.7 %)",
        "  empty                  1 dropped",
        "    pair 157: '' | 'x'",
        "  script                 1 dropped",
        "    pair 156: 'один' | 'eins'",
    ]
    assert json.loads((tmp_path / "r.json").read_text())["kept"] == 155
    assert {path.name for path in tmp_path.iterdir()} == {"p.tsv", "r.json"}
    assert run("--dry-run", "--keep-empty")[-1] == "157 pairs read, 157 kept (100.0 %)"


def test_vocabularies_come_from_a_model_from_shards_or_from_files(run, toy_translator, tmp_path):
    toy_translator.save(tmp_path / "toy.keras")
    run("--out", "one", "--vocabulary", "toy.keras")
    lines = run("--out", "two", "--vocabulary", "one")
    assert lines[-1] == "The corpus: two, 156 pairs in 1 shards"
    assert Shards("two").target == Shards("one").target == toy_translator.target
    (tmp_path / "s.model").write_bytes(toy_translator.source.subwords.model)
    run("--out", "three", "--vocabulary", "s.model", "--vocabulary", "s.model")
    assert Shards("three").fingerprint == Shards("one").fingerprint
