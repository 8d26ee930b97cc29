"""Shards of images and recordings give the batches of their manifest, from the stored files."""

import json
import shutil

import keras
import numpy as np
import pytest
import tensorflow as tf
from toy_sources import CASES, NUMBERS, write_manifest

from keras_bahdanau.data import (
    BatchedPairs,
    Corpus,
    ManifestCorpus,
    Preparation,
    ShardedBatches,
    Shards,
    prepare,
    read_manifest,
    survey,
)
from keras_bahdanau.data.corpora import pairs_of
from keras_bahdanau.data.readers.lines import Unreadable
from keras_bahdanau.data.shards import preparing
from keras_bahdanau.demo.images_task import ImagesTask
from keras_bahdanau.files.integrity import write_sealed_json
from keras_bahdanau.sources import AudioSource, FeatureSource
from keras_bahdanau.training import TrainingOptions, TrainingPlan
from keras_bahdanau.training.data import TrainingData
from keras_bahdanau.training.model import compiled_model

SETTINGS = {"model_type": "word", "vocabulary_size": 10, "shard_pairs": 6}
KINDS = ("images", "audio")


def quiet(line):
    pass


def test_a_report_says_why_a_file_gives_nothing(tmp_path):
    sphere, manifest = tmp_path / "talk.wav", tmp_path / "list.tsv"
    sphere.write_bytes(b"NIST_1A\n   1024\n")
    manifest.write_text("talk.wav\ta b\n", encoding="utf-8")
    corpus = ManifestCorpus(manifest, AudioSource(20))
    assert corpus.describe(sphere).endswith("talk.wav is NIST SPHERE, not WAV or FLAC")
    case = CASES["audio"]
    good = case.write(case.input_of((0, 1)), tmp_path / "good")
    assert corpus.describe(good).endswith("good.wav")


def prepared(path, source, out, workers=1, **settings):
    settings = Preparation(**{**SETTINGS, **settings})
    return prepare(ManifestCorpus(path, source), out, settings, workers=workers, say=quiet)


@pytest.fixture(scope="module", params=KINDS)
def corpus(request, tmp_path_factory):
    """(manifest, source, shards of six pairs each)."""
    directory = tmp_path_factory.mktemp(request.param)
    source = CASES[request.param].source_of(None)
    manifest = write_manifest(request.param, NUMBERS, directory)
    return manifest, source, prepared(manifest, source, directory / "shards")


def arrays(data):
    return [tf.nest.flatten(batch) for batch in data.arrays(0)]


@pytest.mark.few(2)
@pytest.mark.parametrize("measure", [{"batch_tokens": 200, "buckets": 2}, {"batch_sentences": 5}])
def test_the_batches_are_those_of_the_manifest_in_memory(corpus, measure):
    manifest, source, shards = corpus
    settings = {"max_source_length": source.longest, "shuffle": False, **measure}
    pairs = read_manifest(manifest)
    expected = BatchedPairs(pairs, source, shards.target, **settings)
    found = ShardedBatches(shards, **settings)
    assert (len(shards), len(shards.entries)) == (len(NUMBERS), 4)
    assert (found.steps, found.tokens) == (expected.steps, expected.tokens)
    for mine, other in zip(arrays(found), arrays(expected), strict=True):
        for one, another in zip(mine, other, strict=True):
            np.testing.assert_array_equal(one, another)
            assert one.dtype == another.dtype


def test_files_stand_in_shards_as_they_were(corpus):
    manifest, source, shards = corpus
    shards.check()
    assert (shards.source, shards.inputs_are) == (source, "files")
    rows, _ = Shards(shards.directory).part(1, 2, 4)
    expected = [path.read_bytes() for path, _ in read_manifest(manifest)[8:10]]
    assert [rows._file(row) for row in (0, 1)] == expected
    assert (
        shards.tokens[0] == source.rows([path for path, _ in read_manifest(manifest)]).lengths.sum()
    )


@pytest.mark.few(1)
def test_a_cache_serves_shards_too(corpus, tmp_path):
    manifest, source, shards = corpus
    cached = source.cached(tmp_path, say=quiet)
    settings = {"shard": (0, 1), "batch_sentences": 5, "max_source_length": source.longest}
    for _ in range(2):
        found = pairs_of(shards).batches(cached, shards.target, shuffle=False, **settings)
        plain = ShardedBatches(shards, shuffle=False, **settings)
        for mine, other in zip(arrays(found), arrays(plain), strict=True):
            np.testing.assert_array_equal(mine[0], other[0])
        assert len([*tmp_path.iterdir()]) == len(NUMBERS)


def test_a_file_that_was_damaged_since_is_one_clear_line(tmp_path):
    source = CASES["images"].source_of(None)
    manifest = write_manifest("images", NUMBERS[:8], tmp_path / "files")
    shards = prepared(manifest, source, tmp_path / "shards")
    data = ShardedBatches(shards, batch_sentences=4, max_source_length=source.longest)
    path = tmp_path / "shards" / "00000" / "source.bytes.npy"
    starts = np.cumsum([path.stat().st_size for path, _ in read_manifest(manifest)])
    content = bytearray(path.read_bytes())
    content[-len(content) + 128 + starts[1] + 1] ^= 255  # in the header of the third file
    path.write_bytes(content)
    with pytest.raises(ValueError, match="00000/source.bytes.npy.*row 2 has changed") as caught:
        with data.errors():
            for _ in data.epoch(0):
                pass
    assert "\n" not in str(caught.value) and "Prepare the corpus again" in str(caught.value)


def test_files_that_nothing_can_be_read_from_are_dropped(tmp_path):
    source = CASES["images"].source_of(None)
    manifest = write_manifest("images", NUMBERS[:6], tmp_path)
    whole = (tmp_path / "1.png").read_bytes()
    (tmp_path / "0.png").write_bytes(b"no image")
    (tmp_path / "1.png").write_bytes(whole[:45])  # only its header
    report = survey(ManifestCorpus(manifest, source), Preparation(**SETTINGS), 1, quiet)
    assert (report.dropped["empty"], report.dropped["broken"], report.kept) == (1, 1, 4)
    assert report.examples["broken"][0][0] == 2 and "1.png" in report.examples["broken"][0][1]
    assert len(prepared(manifest, source, tmp_path / "shards")) == 4


def test_another_file_of_the_same_name_is_not_what_was_begun(tmp_path, monkeypatch):
    """Otherwise the old scan would be used, and the block boundaries might differ."""
    source = CASES["images"].source_of(None)
    manifest = write_manifest("images", NUMBERS[:6], tmp_path)

    def stale(*_):
        raise Unreadable("for the time being")

    with monkeypatch.context() as patch:
        patch.setattr(preparing, "find_repeated", stale)
        with pytest.raises(Unreadable):
            prepared(manifest, source, tmp_path / "shards")
    shutil.copy(tmp_path / "1.png", tmp_path / "0.png")
    with pytest.raises(ValueError, match="Received: files that differ from those in "):
        prepared(manifest, source, tmp_path / "shards")


def test_what_belongs_to_text_is_refused(corpus, tmp_path):
    manifest, source, shards = corpus
    for setting in ({"source_script": "Latin"}, {"symbols": "<a>"}):
        with pytest.raises(ValueError, match="is only for text sources"):
            prepared(manifest, source, tmp_path / "new", **setting)
    with pytest.raises(ValueError, match="contain broken files. Received: drop_broken=False"):
        prepared(manifest, source, tmp_path / "new", drop_broken=False)
    with pytest.raises(ValueError, match="reads files.*FeatureSource, which reads arrays"):
        ManifestCorpus(manifest, FeatureSource(3))
    with pytest.raises(ValueError, match="Only text can have a tag"):
        TrainingData.build([Corpus("a", shards, tag="<a>")], [])
    assert not (tmp_path / "new").exists()


def test_a_training_with_another_source_names_both(corpus):
    _, source, shards = corpus
    data = TrainingData.build(shards, [])
    assert data.sides(source, None, ()).source == data.sides(None, shards.target, ()).source
    own = type(source).__name__
    with pytest.raises(ValueError, match=rf"source=FeatureSource\(size=3.* in place of {own}\(.*="):
        data.sides(FeatureSource(3), None, ())
    with pytest.raises(ValueError, match=r"Received: symbols=\['<a>'\], with pairs="):
        data.sides(None, None, ["<a>"])


def test_a_card_says_what_its_source_reads(corpus, tmp_path):
    _, _, shards = corpus
    card = json.loads((shards.directory / "card.json").read_text())
    for inputs, reason in (("lines", "checksums of other files"), ("arrays", "neither lines nor")):
        write_sealed_json(tmp_path / "card.json", card | {"inputs": inputs})
        with pytest.raises(ValueError, match=f"card.json.*{reason}"):
            Shards(tmp_path)


@pytest.mark.few(1)
def test_damage_at_any_byte_gives_features_or_one_clear_line(corpus, tmp_path):
    _, source, shards = corpus
    directory = shutil.copytree(shards.directory, tmp_path / "shards")
    random, outcomes = np.random.default_rng(0), set()
    for number in range(60):
        name = ("bytes", "sizes", "lengths")[number % 3]
        path = directory / "00001" / f"source.{name}.npy"
        whole = path.read_bytes()
        at = random.integers(len(whole)) if number % 2 else random.integers(128, len(whole))
        path.write_bytes(whole[:at] + random.bytes(4) + whole[at + 4 :])
        try:
            rows, _ = Shards(directory).part(1, 0, 6)
            features = rows.padded(np.arange(6), (6, 300))
            assert features.lengths.tolist() == rows.lengths.tolist()
            outcomes.add("features")
        except ValueError as error:
            assert "must be intact" in str(error) and "\n" not in str(error)
            outcomes.add("error")
        path.write_bytes(whole)
    assert "error" in outcomes  # PNG has a checksum for everything, WAV has none


@pytest.mark.slow
def test_several_processes_write_the_same_shards(corpus, tmp_path):
    manifest, source, shards = corpus
    assert prepared(manifest, source, tmp_path / "new", 2).fingerprint == shards.fingerprint


@pytest.mark.slow
def test_a_training_on_shards_has_the_losses_of_one_on_the_manifest(tmp_path):
    task = ImagesTask()
    source = task.source()
    task.write(tmp_path, "train", task.data()[0][:48])
    shards = prepared(tmp_path / "train.tsv", source, tmp_path / "shards", shard_pairs=10)
    settings = {"batch_sentences": 8, "shuffle": False, "max_source_length": source.longest}
    small = {"units": 16, "encoder_units": 8, "attention_units": 8, "embedding_units": 8}
    options = TrainingOptions(preset="images", convolutions="4,8,8", dropout=0.1, **small)
    losses = []
    for data in (
        BatchedPairs(read_manifest(tmp_path / "train.tsv"), source, shards.target, **settings),
        ShardedBatches(shards, **settings),
    ):
        keras.utils.set_random_seed(3)
        model = compiled_model(TrainingPlan(options.resolved(), source, shards.target), 1e-3)
        losses.append(model.fit(data.dataset(), epochs=2, shuffle=False, verbose=0).history["loss"])
    assert losses[0] == losses[1] and losses[0][1] < losses[0][0]
