"""A training run that diverges, from the command line to its one-line error."""

import json

import pytest
from conftest import toy_pairs

from keras_bahdanau import cli

DIVERGING = (
    "train pairs.tsv --valid-source pairs.tsv --out run --epochs 3 --units 8 --embedding-units 8 "
    "--model-type char --vocabulary-size 20 --batch-sentences 40 --batch-tokens 0 "
    "--optimizer sgd --ema-momentum 0 --learning-rate 1000 --clip-norm 1000000000 --warmup 0 "
    "--checkpoint-steps 1"
)


@pytest.mark.slow
def test_a_training_that_diverges_ends_in_one_line(tmp_path, monkeypatch, capsys):
    """It resumes from the last finite weights and diverges again."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pairs.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in toy_pairs()))
    for _ in range(2):
        with pytest.raises(SystemExit) as ended:
            cli.main(DIVERGING.split())
        *_, line = capsys.readouterr().err.strip().splitlines()
        assert ended.value.code == 2
        assert line.startswith("keras-bahdanau: Loss and weights must stay finite in training.")
        assert " of epoch 1, with learning_rate=" in line and "lower learning rate" in line
    assert not (tmp_path / "run" / "translator.keras").exists()
    history = tmp_path / "run" / "history.json"
    assert not history.exists() or json.loads(history.read_text(), parse_constant=pytest.fail)
    assert not [*(tmp_path / "run").glob(".*")], "no lock and nothing unfinished is left"
