"""A SavedModel of ids: its graph needs only plain TensorFlow, and a client finds its files."""

import dataclasses
import json

import numpy as np
import pytest
import tensorflow as tf
from frames import frames_of, new_frames_pipeline
from options import Option, new_model, new_subwords
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

import keras_bahdanau as kb
from keras_bahdanau import cli
from keras_bahdanau.exporters import IdsSavedModelExporter, SavedModelExporter, check, describe
from keras_bahdanau.exporters.all_formats import exporter_of
from keras_bahdanau.exporters.card import sha256
from keras_bahdanau.exporters.cpp_loader import timed_in_clean_process
from keras_bahdanau.exporters.publishing import export
from keras_bahdanau.exporters.saved_model.graph_check import all_operations

SIGNATURES = {
    "serving_default": {"source", "source_length"},
    "decode_ids_with_alignment": {"source", "source_length"},
    "decode_ids_nbest": {"source", "source_length"},
    "score_ids": {"source", "source_length", "target", "target_length"},
}


def ask(version, requests):
    """Return answers computed with TensorFlow's C library, without text operations."""
    return timed_in_clean_process(version, requests, text_operations=False)[0]


def operations(version):
    (graph,) = SavedModel.FromString((version / "saved_model.pb").read_bytes()).meta_graphs
    return all_operations(graph.graph_def)


def test_the_graph_has_tensorflows_own_operations_only(toy_ids_model, toy_saved_model):
    own = set(dir(tf.raw_ops))  # regardless of what else this process has loaded
    assert operations(toy_ids_model) <= own
    assert {op for op in operations(toy_saved_model) - own if op.startswith("Sentencepiece")}


def test_a_saved_model_of_text_needs_the_text_operations(toy_saved_model):
    with pytest.raises(RuntimeError, match="Op type not registered 'Sentencepiece"):
        ask(toy_saved_model, [])


def test_the_vocabularies_and_the_card_lie_beside_the_graph(toy_ids_model, toy_translator):
    extra = toy_ids_model / "assets.extra"
    assert {path.name for path in extra.iterdir()} == {
        *("card.json", "card.json.sha256", "source.spm", "tf_serving_warmup_requests")
    }
    assert (extra / "source.spm").read_bytes() == toy_translator.target.model
    card = json.loads((extra / "card.json").read_bytes())
    assert card["vocabularies"] == {"source": "source.spm", "target": "source.spm"}
    assert set(card["vocabulary_sha256"].values()) == {sha256(toy_translator.target.model)}
    assert {name: set(inputs) for name, inputs in card["signatures"].items()} == SIGNATURES
    keras, row = card["parity"]
    assert (keras["artefact"], row["artefact"]) == ("Keras", "SavedModel of ids")
    assert (row["equal"], row["unstable"], row["refused"]) == (1, 0, 0)


def test_two_vocabularies_are_two_files():
    source = new_subwords()
    target = kb.text.Subwords.train(["d e f", "u v w"], vocabulary_size=10, model_type="word")
    translator = kb.Translator(source, new_model(Option(), source), target)
    files = IdsSavedModelExporter().extra_files(translator)
    assert files == {"source.spm": source.model, "target.spm": target.model}


def test_the_format_is_recognized(toy_ids_model, toy_saved_model, tmp_path):
    assert exporter_of(toy_ids_model) is exporter_of(toy_ids_model.parent) is IdsSavedModelExporter
    assert exporter_of(toy_saved_model) is exporter_of(tmp_path) is SavedModelExporter
    assert check(toy_ids_model) == check(toy_ids_model.parent) == []
    lines = describe(toy_ids_model).splitlines()
    assert describe(toy_ids_model.parent).splitlines() == lines
    assert "decode_ids_nbest: source, source_length" in lines
    assert "score_ids: source, source_length, target, target_length" in lines
    assert any(line.startswith("SavedModel of ids ") for line in lines)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"format": "SavedModel"}'])
def test_a_saved_model_with_another_card_is_none_of_ids(tmp_path, content):
    (tmp_path / "assets.extra").mkdir()
    (tmp_path / "saved_model.pb").touch()
    (tmp_path / "assets.extra" / "card.json").write_text(content)
    assert exporter_of(tmp_path) is SavedModelExporter


@pytest.mark.slow
def test_frames_are_served_as_they_are(tmp_path):
    pipeline = new_frames_pipeline()
    version = export(IdsSavedModelExporter(), pipeline, tmp_path / "frames")
    assert not (version / "assets.extra" / "source.spm").exists()
    assert (version / "assets.extra" / "target.spm").read_bytes() == pipeline.target.model
    inputs = frames_of(7, 2, 7)
    values = np.full((3, 7, 3), np.nan, np.float32)  # NaN also after the end of each row
    for row, one in zip(values, inputs, strict=True):
        row[: len(one)] = one
    lengths = np.array([7, 2, 99], np.int32)
    (answer,) = ask(version, [("serving_default", {"values": values, "lengths": lengths})])
    for row, result in enumerate(pipeline.decode(inputs)):
        ids = answer["ids"][row, : answer["length"][row]]
        assert pipeline.target.tokens(ids).tolist() == result.target_tokens
        assert answer["score"][row] == pytest.approx(result.score, abs=1e-5)


def test_words_of_the_source_are_not_left_to_clients_to_copy(toy_translator, tmp_path):
    toy = toy_translator
    search = dataclasses.replace(toy.search, replace_unknown=True)
    translator = kb.Translator(toy.source, toy.model, toy.target, search)
    with pytest.raises(ValueError, match="but not words or decomposed letters"):
        export(IdsSavedModelExporter(), translator, tmp_path / "new")
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("copies", [True, False])
def test_a_graph_is_compared_with_a_search_of_the_same_tokens(toy_translator, copies):
    """Copied tokens count as unknown tokens, which a search without copying would not write."""
    search = dataclasses.replace(toy_translator.search, replace_unknown=copies)
    compared = IdsSavedModelExporter().compared(toy_translator.searching(search)).search
    assert (compared.write_unknown, compared.replace_unknown) == (copies, False)


@pytest.mark.slow
def test_the_command_line_writes_the_next_version(toy_translator, tmp_path, capsys):
    toy_translator.save(tmp_path / "toy.keras")
    out = tmp_path / "served"
    (out / "1").mkdir(parents=True)
    options = ["--model", tmp_path / "toy.keras", "--format", "saved-model-ids", "--out", out]
    with pytest.raises(SystemExit) as ended:
        cli.main(["export", *map(str, options)])
    assert (ended.value.code, capsys.readouterr().out) == (0, f"{out / '2'}\n")
    assert exporter_of(out) is IdsSavedModelExporter and check(out) == []
