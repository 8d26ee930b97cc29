"""The Multi30K example at toy size: it resumes, and it decodes the test part only once."""

import gzip
import json
from pathlib import Path

import pytest
from conftest import toy_pairs

FOLDER = Path(__file__).parents[2] / "examples" / "multi30k"
TINY = (
    "--set vocabulary_size=48 --set embedding_units=8 --set units=8 --set attention_units=8 "
    "--set batch_tokens=512 --beam-widths 1"
).split()


@pytest.fixture
def command(example, tmp_path):
    """`command(*more)`: run the script on the toy sentences."""
    pairs = toy_pairs()
    for part, lines in {"train": pairs, "val": pairs[:9], "test_2016_flickr": pairs[9:22]}.items():
        for side, language in enumerate(("en", "de")):
            path = tmp_path / "tok" / f"{part}.{language}.gz"
            path.parent.mkdir(exist_ok=True)
            texts = [" ".join([row[side]] * 4) for row in lines]  # BLEU needs at least four tokens
            path.write_bytes(gzip.compress("".join(f"{text}\n" for text in texts).encode()))
    places = ["--data", str(tmp_path), "--out", str(tmp_path / "out")]
    return lambda *more: example("train").main([*places, *more])


@pytest.mark.slow
def test_it_runs_from_end_to_end_and_decodes_the_test_once(command, tmp_path, capsys):
    command(*TINY, "--set", "epochs=1", "--seed", "3", "--no-test")
    out = tmp_path / "out"
    assert {path.name for path in out.iterdir()} == {
        *("run", "curves.png", "translator.keras", "val.json"),
    }
    with pytest.raises(SystemExit, match="was started with seed=3. Choose another"):
        command("--seed", "2")
    with pytest.raises(SystemExit, match="must have 12103 tokens. Received: "):
        command("--beam-widths", "1")
    command("--any-test", "--beam-widths", "1")  # the options are those of the training run
    scores = json.loads((out / "scores.json").read_text())
    assert (scores["epochs"], scores["options"]["units"]) == (1, 8)
    assert {"bleu", "chrf"} <= scores["test"].keys()
    assert len((out / "hypotheses.txt").read_text().splitlines()) == 13
    assert len([*(out / "alignments").iterdir()]) == 10 and (out / "lengths.png").is_file()
    assert "BLEU" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="scores.json exists: a system decodes the test once"):
        command("--any-test")


def test_options_of_the_command_line_are_those_of_the_training(example, tmp_path):
    train = example("train")
    arguments = ["--data", "x", "--out", "y", "--minutes", "1.6", "--set", "units=8"]
    options = train.options_of(train.parsed(arguments), train.Run(tmp_path / "new"))
    assert (options.minutes, options.units) == (1.6, 8)
