"""Keras, the SavedModel in C++ and the LiteRT file give the same answer."""

import keras
import numpy as np
import pytest
from conftest import toy_pairs

import keras_bahdanau as kb
from keras_bahdanau.exporters import OnDeviceTranslator, run_in_clean_process

SENTENCES = ["three one two", "", "five", "one one four four two", "  ", "qqq ☃", "a b", "two"]


@pytest.fixture(scope="module")
def saved_model(toy_translator, tmp_path_factory):
    return kb.export_saved_model(toy_translator, tmp_path_factory.mktemp("saved") / "toy")


@pytest.fixture(scope="module")
def litert(toy_translator, tmp_path_factory):
    return kb.export_litert(
        toy_translator, tmp_path_factory.mktemp("litert") / "toy.tflite", max_source_length=24
    )


def test_the_saved_model_answers_as_keras_does(toy_translator, saved_model):
    strange = np.array([b"\xff\xfe one", b"one\x00two"], dtype=object)
    plain, aligned, only_empty, bytes_, none = run_in_clean_process(
        saved_model,
        [
            ("serving_default", {"text": SENTENCES}),
            ("translate_with_alignment", {"text": SENTENCES}),
            ("serving_default", {"text": [""]}),
            ("serving_default", {"text": strange}),
            ("serving_default", {"text": np.array([], dtype=object)}),
        ],
    )
    results = toy_translator.translate(SENTENCES)
    texts = [result.text for result in results]
    assert [text.decode() for text in plain["translation"]] == texts
    assert [text.decode() for text in aligned["translation"]] == texts
    np.testing.assert_allclose(plain["score"], [result.score for result in results], atol=1e-5)
    for row, result in enumerate(results):
        sources, targets = aligned["source_length"][row], aligned["target_length"][row]
        assert [t.decode() for t in aligned["source_tokens"][row][:sources]] == result.source_tokens
        assert [t.decode() for t in aligned["target_tokens"][row][:targets]] == result.target_tokens
        alignment = aligned["alignment"][row]
        np.testing.assert_allclose(alignment[:targets, :sources], result.alignment, atol=1e-5)
        assert not alignment[targets:].any() and not alignment[:, sources:].any()
        assert aligned["finished"][row] == result.finished
    assert only_empty["translation"].tolist() == [b""]
    assert len(bytes_["translation"]) == 2 and np.isfinite(bytes_["score"]).all()
    assert none["translation"].shape == (0,)


def test_the_litert_file_answers_as_keras_does(toy_translator, litert):
    on_device = OnDeviceTranslator(litert).translate(SENTENCES)
    for result, other in zip(toy_translator.translate(SENTENCES), on_device, strict=True):
        assert result.text == other.text
        assert result.source_tokens == other.source_tokens
        assert result.target_tokens == other.target_tokens
        assert result.finished == other.finished
        assert result.score == pytest.approx(other.score, abs=1e-4)
        np.testing.assert_allclose(result.alignment, other.alignment, atol=1e-5)


def test_the_litert_file_holds_built_in_ops_only(litert):
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    interpreter = Interpreter(
        model_path=str(litert),
        experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    )
    names = {op["op_name"] for op in interpreter._get_ops_details()}
    assert "WHILE" in names
    assert not [name for name in names if name.startswith(("Flex", "CUSTOM"))]


def test_ids_outside_the_vocabulary_count_as_unknown(litert):
    from ai_edge_litert.interpreter import Interpreter

    run = Interpreter(model_path=str(litert)).get_signature_runner("translate")
    wild, tame = np.zeros((2, 1, 24), np.int32)
    wild[0, :4], tame[0, :4] = [10**6, -5, 2**31 - 1, 3], [1, 1, 1, 3]
    one, other = run(source=wild), run(source=tame)
    np.testing.assert_array_equal(one["ids"], other["ids"])


def test_int8_is_smaller_and_close(toy_translator, litert, tmp_path):
    small = kb.export_litert(toy_translator, tmp_path / "int8.tflite", "int8", max_source_length=24)
    assert small.stat().st_size < litert.stat().st_size
    sentences = [source for source, _ in toy_pairs()]
    texts = [result.text for result in OnDeviceTranslator(small).translate(sentences)]
    expected = [result.text for result in toy_translator.translate(sentences)]
    assert np.mean([a == b for a, b in zip(texts, expected, strict=True)]) > 0.95


def test_a_sentence_too_long_for_the_file_is_refused(litert):
    with pytest.raises(ValueError, match="24 tokens"):
        OnDeviceTranslator(litert).translate(["one " * 30])


def test_an_existing_file_is_not_overwritten(toy_translator, litert):
    before = litert.read_bytes()
    with pytest.raises(FileExistsError, match="toy.tflite"):
        kb.export_litert(toy_translator, litert)
    assert litert.read_bytes() == before


@pytest.mark.parametrize(
    "argument", [{"quantization": "int4"}, {"max_source_length": 0}, {"max_target_length": 1.5}]
)
def test_bad_litert_arguments_are_refused(toy_translator, tmp_path, argument):
    name, value = next(iter(argument.items()))
    with pytest.raises(ValueError, match=f"{name}={value!r}"):
        kb.export_litert(toy_translator, tmp_path / "toy.tflite", **argument)
    assert not list(tmp_path.iterdir())


def test_versions_count_up_and_strangers_are_refused(toy_translator, saved_model, tmp_path):
    assert saved_model.name == "1"
    assert kb.export_saved_model(toy_translator, saved_model.parent).name == "2"
    assert sorted(path.name for path in saved_model.parent.iterdir()) == ["1", "2"]
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="other things"):
        kb.export_saved_model(toy_translator, tmp_path)


@pytest.mark.parametrize("cell, joint", [("lstm", True), ("gru", False)])
def test_other_models_export_too(tmp_path, cell, joint):
    keras.utils.set_random_seed(1)
    pairs = toy_pairs()
    tokenizer = kb.text.Tokenizer.train(pairs, vocabulary_size=32, joint=joint)
    model = kb.presets.small(
        tokenizer, embedding_units=16, units=16, attention_units=8, cell=cell, depth=2
    )
    translator = kb.Translator(model, tokenizer, kb.SearchOptions(beam_width=2, max_length=8))
    version = kb.export_saved_model(translator, tmp_path / "saved")
    file = kb.export_litert(
        translator, tmp_path / "m.tflite", max_source_length=20, max_target_length=8
    )
    expected = [result.text for result in translator.translate(SENTENCES)]
    (served,) = run_in_clean_process(version, [("serving_default", {"text": SENTENCES})])
    assert [text.decode() for text in served["translation"]] == expected
    assert [result.text for result in OnDeviceTranslator(file).translate(SENTENCES)] == expected
