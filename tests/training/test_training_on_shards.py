"""Training from shards on disk equals training from a list of pairs, even after a kill."""

import dataclasses
import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
from runs import begin

from keras_bahdanau.cli import training_files
from keras_bahdanau.data import Corpora, Corpus
from keras_bahdanau.data.shards.shards import Shards, write_card, write_shard
from keras_bahdanau.demo import generate
from keras_bahdanau.pipelines.tasks import Translator
from keras_bahdanau.sources.text_source import source_of
from keras_bahdanau.text.id_rows import IdRows
from keras_bahdanau.text.subwords import Subwords
from keras_bahdanau.training import Run, TrainingOptions, TrainingPlan, train
from keras_bahdanau.training.data import TrainingData, check_data
from keras_bahdanau.training.infer import model_types_of_vocabularies
from keras_bahdanau.training.inheritance import check_none_learned
from keras_bahdanau.training.options import resolve
from keras_bahdanau.training.plan import check_start

OPTIONS = TrainingOptions(
    embedding_units=8,
    units=12,
    attention_units=8,
    epochs=2,
    batch_tokens=300,
    buckets=2,
    learning_rate=1e-2,
    checkpoint_steps=4,
)
PAIRS = [(example.source, example.target) for example in generate(130)]
TRAINING, VALIDATION = PAIRS[:110], PAIRS[110:]

KILLED_TRAINING = """
import json, os, signal, sys
import keras
from keras_bahdanau.data import Shards
from keras_bahdanau.data.shards import sharded_batches
from keras_bahdanau.training import TrainingOptions, train

def kill(batch, logs):
    if batch == last:
        os.kill(os.getpid(), signal.SIGKILL)

directory, valid_pairs, out, options, last = json.load(sys.stdin)
sharded_batches.ShardedBatches.__init__.__kwdefaults__["window"] = 40
kill = keras.callbacks.LambdaCallback(on_train_batch_end=kill)
options = TrainingOptions(**options)
train(Shards(directory), valid_pairs, out, options, verbose=0, callbacks=[kill])
"""


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    directory = tmp_path_factory.mktemp("shards")
    subwords, _ = Subwords.train_pair(TRAINING, 120)
    entries = []
    for first in range(0, len(TRAINING), 20):
        sides = zip(*TRAINING[first : first + 20], strict=True)
        rows = (IdRows.encoded(subwords, texts) for texts in sides)
        entries.append(write_shard(directory, len(entries), *rows))
    return write_card(directory, entries, source_of(subwords), subwords)


def draft_of(asked, pairs):
    return TrainingPlan(asked.resolved(), data=TrainingData.build(pairs, VALIDATION))


def weights_of(out):
    return Translator.load(out / "translator.keras").model.get_weights()


def train_in_a_process(shards, out, last=-1):
    """Train in a separate process, up to the batch with this number or to the end."""
    options = dataclasses.asdict(OPTIONS)
    arguments = json.dumps([str(shards.directory), VALIDATION, str(out), options, last])
    command = [sys.executable, "-c", KILLED_TRAINING]
    return subprocess.run(command, input=arguments, capture_output=True, text=True)


@pytest.mark.slow
def test_a_training_that_was_killed_ends_as_one_that_was_not(shards, tmp_path):
    killed, undisturbed = tmp_path / "killed", tmp_path / "undisturbed"
    first = train_in_a_process(shards, killed, last=6)
    assert first.returncode == -signal.SIGKILL, first.stderr
    progress = Run(killed).progress()
    assert (progress.epoch, progress.step) == (0, 4)
    for out in (killed, undisturbed):
        rest = train_in_a_process(shards, out)
        assert rest.returncode == 0, rest.stderr
        assert ("resuming at epoch 1, batch 4" in rest.stdout) == (out is killed)
        assert "110 pairs, " in rest.stdout
        translator = Translator.load(out / "translator.keras")
        assert (translator.source, translator.target) == (shards.source, shards.target)
    with pytest.raises(FileExistsError, match="This run ended after 2 epochs. Received: out="):
        train(shards, VALIDATION, killed, OPTIONS)
    for mine, expected in zip(weights_of(killed), weights_of(undisturbed), strict=True):
        np.testing.assert_array_equal(mine, expected)


def test_a_training_refuses_shards_with_one_flipped_bit_before_it_begins(shards, tmp_path):
    copied = tmp_path / "copied"
    shutil.copytree(shards.directory, copied)
    ids = copied / "00003" / "target.ids.npy"
    content = bytearray(ids.read_bytes())
    content[-4] ^= 1  # another id of the vocabulary
    ids.write_bytes(content)
    with pytest.raises(ValueError, match="Shards must be intact.*00003/target.ids.npy.*checksum"):
        train(Shards(copied), VALIDATION, tmp_path / "out", OPTIONS)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_shards_that_are_damaged_in_mid_training_end_it_with_one_line_and_it_resumes(
    shards, tmp_path
):
    lengths = shards.directory / "00002" / "source.lengths.npy"
    whole = lengths.read_bytes()
    damaged = OPTIONS.checkpoint_steps + 1

    def damage(batch, logs):
        if batch == damaged:
            lengths.write_bytes(whole[:-4])

    options = dataclasses.replace(OPTIONS, checkpoint_steps=1)
    callback = keras.callbacks.LambdaCallback(on_train_batch_end=damage)
    with pytest.raises(ValueError, match="Shards must be intact.*00002/source.lengths.npy.*again"):
        train(shards, VALIDATION, tmp_path, options, verbose=0, callbacks=[callback])
    lengths.write_bytes(whole)
    progress = Run(tmp_path).progress()
    assert (progress.epoch, progress.step) >= (0, damaged)
    assert Run(tmp_path).is_over() is False
    train(shards, VALIDATION, tmp_path, options, verbose=0)
    assert Run(tmp_path).is_over()


def test_the_command_takes_a_directory_of_shards_and_pairs_to_validate_on(shards):
    valid = Path("valid.tsv")
    assert len(training_files._shards(shards.directory, valid, target=None).pairs) == 110
    with pytest.raises(ValueError, match="no text to validate on.*Give --valid-source"):
        training_files._shards(shards.directory, None, target=None)
    with pytest.raises(ValueError, match="contains both sides.*with target='valid.tsv'"):
        training_files._shards(shards.directory, valid, target=valid)


@pytest.mark.parametrize(
    "option",
    [
        {"vocabulary_size": 90},
        {"normalization": "none"},
        {"model_type": "char"},
        {"source_model_type": "unigram"},
        {"target_model_type": "word", "model_type": "bpe"},
    ],
)
def test_options_of_vocabularies_that_are_learnt_are_refused(shards, tmp_path, option):
    options = dataclasses.replace(OPTIONS, **option)
    with pytest.raises(ValueError, match=f"from the pairs. Received: {[*option][0]}=.* of shards"):
        train(shards, VALIDATION, tmp_path / "out", options)


def test_a_run_does_not_resume_with_other_shards(shards, tmp_path):
    run = Run(tmp_path / "run")
    begin(run, OPTIONS, shards, VALIDATION)
    check_start(run, OPTIONS, TrainingData.build(Shards(shards.directory), VALIDATION))
    (tmp_path / "others").mkdir()
    entry = write_shard(tmp_path / "others", 0, *shards.shard(1))
    others = write_card(tmp_path / "others", [entry], shards.source, shards.target)
    with pytest.raises(ValueError, match="A run resumes with the data it began with"):
        check_start(run, OPTIONS, TrainingData.build(others, VALIDATION))
    with pytest.raises(ValueError, match="A run resumes with the data it began with"):
        check_start(run, OPTIONS, TrainingData.build(TRAINING, VALIDATION))


@pytest.mark.parametrize(
    ("options", "alignments", "received"),
    [
        ({"subword_sampling": 0.1}, None, "subword_sampling=0.1"),
        ({"guided_alignment": 0.1}, [set()] * 110, "alignments=True"),
    ],
)
def test_what_takes_the_text_of_the_pairs_is_refused(
    shards, tmp_path, options, alignments, received
):
    options = dataclasses.replace(OPTIONS, **options)
    with pytest.raises(ValueError, match=f"Shards contain token ids.*Received: .*{received}"):
        train(shards, VALIDATION, tmp_path / "run", options, alignments=alignments)
    assert not (tmp_path / "run").exists()


def test_no_pieces_are_appended_to_the_vocabulary_of_shards(shards, tmp_path):
    options = dataclasses.replace(OPTIONS, update_vocabulary="append")
    for pairs in (shards, Corpora([Corpus("a", shards), Corpus("b", TRAINING)])):
        with pytest.raises(ValueError, match="Shards contain token.*update_vocabulary='append'"):
            check_data(draft_of(options, pairs))
    replaced = dataclasses.replace(options, update_vocabulary="replace")
    check_data(draft_of(replaced, shards))


def test_a_run_on_shards_resumes_with_as_many_workers(shards, tmp_path):
    run = Run(tmp_path)
    run.check_workers(1)  # the run has not started
    begin(run, OPTIONS, shards, VALIDATION, workers=2)
    run.check_workers(2)
    with pytest.raises(ValueError, match="Received: workers=1, for a run with 2 workers"):
        run.check_workers(1)


def test_another_vocabulary_than_that_of_the_shards_is_refused(shards, tmp_path):
    other = Subwords.train(["a b"], 7, model_type="char")
    for given in ({"source": other}, {"target": other}, {"symbols": ["<PST>"]}):
        with pytest.raises(ValueError, match="Shards can only be used with the source and target"):
            train(shards, VALIDATION, tmp_path / "run", OPTIONS, **given)


def test_model_types_are_those_of_the_vocabularies_of_the_shards(tmp_path):
    source = Subwords.train(["a b c"], 8, model_type="char")
    target = Subwords.train(["A B C"], 7, model_type="word")
    rows = (IdRows.encoded(one, [text]) for one, text in ((source, "a b"), (target, "B C")))
    shards = write_card(tmp_path, [write_shard(tmp_path, 0, *rows)], source_of(source), target)
    sides = shards.source, shards.target
    found = {"source_model_type": "char", "target_model_type": "word"}
    values, report, _ = model_types_of_vocabularies({"preset": "characters"}, *sides)
    assert values == found
    assert report.startswith("model types, inferred from the vocabularies: source char, target")
    values, report, _ = model_types_of_vocabularies({}, *sides)
    assert (values, report) == (found, "") and resolve(values).joint is False


def test_a_run_resumes_with_the_model_types_of_its_vocabularies(tmp_path):
    text = "q\u0303 b"
    subwords = Subwords.train(
        [text] * 9, 20, model_type="grapheme", normalization="identity", exact=False
    )
    rows = [IdRows.encoded(subwords, [text] * 9)] * 2
    sides = source_of(subwords), subwords
    shards = write_card(tmp_path, [write_shard(tmp_path, 0, *rows)], *sides)
    for name in ("grapheme", "auto"):
        check_none_learned(TrainingOptions(model_type=name), *sides)
    run, pairs = Run(tmp_path / "run"), [(text, "b")]
    with pytest.raises(ValueError, match="model_type='char' with .* source is 'grapheme'"):
        train(shards, pairs, run.directory, dataclasses.replace(OPTIONS, model_type="char"))
    types = model_types_of_vocabularies(OPTIONS.explicit(), *sides).values
    data = begin(run, dataclasses.replace(OPTIONS, **types), shards, pairs)
    begun = run.options()
    assert (begun.source_model_type, begun.target_model_type) == ("grapheme", "grapheme")
    check_start(run, OPTIONS, data)
    with pytest.raises(ValueError, match="with the options it began with"):
        check_start(run, dataclasses.replace(OPTIONS, model_type="word"), data)
