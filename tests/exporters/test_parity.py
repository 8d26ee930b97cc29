"""Keras, the SavedModel in C++ and the LiteRT file give the same answers."""

import shutil

import keras
import numpy as np
import pytest
from conftest import toy_pairs
from decoders import new_decoder
from toy_requests import SENTENCES

import keras_bahdanau as kb
from keras_bahdanau.exporters import OnDeviceTranslator, run_in_clean_process
from keras_bahdanau.text.vocabulary import END, START, UNKNOWN


def test_the_saved_model_answers_as_keras_does(toy_translator, toy_answers):
    plain, aligned = toy_answers["plain"], toy_answers["aligned"]
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
        for number, word in enumerate(result.words):
            assert np.flatnonzero(aligned["token_words"][row] == number).tolist() == [
                *range(word.first, word.last + 1)
            ]
        assert aligned["token_words"][row].max(initial=-1) == len(result.words) - 1
        assert aligned["finished"][row] == result.finished
    assert toy_answers["only empty"]["translation"].tolist() == [b""]
    assert (
        len(toy_answers["two of bytes"]["translation"]) == 2
        and np.isfinite(toy_answers["two of bytes"]["score"]).all()
    )
    assert toy_answers["none"]["translation"].shape == (0,)


def test_the_litert_file_answers_as_keras_does(toy_translator, toy_litert):
    on_device = OnDeviceTranslator(toy_litert).translate(SENTENCES)
    for result, other in zip(toy_translator.translate(SENTENCES), on_device, strict=True):
        assert result.text == other.text
        assert result.source_tokens == other.source_tokens
        assert result.target_tokens == other.target_tokens
        assert result.finished == other.finished
        assert result.score == pytest.approx(other.score, abs=1e-4)
        np.testing.assert_allclose(result.alignment, other.alignment, atol=1e-5)


def test_ids_outside_the_vocabulary_count_as_unknown(toy_litert):
    from ai_edge_litert.interpreter import Interpreter

    run = Interpreter(model_path=str(toy_litert)).get_signature_runner("translate")
    wild, tame = np.zeros((2, 1, 24), np.int32)
    wild[0, :4], tame[0, :4] = [10**6, -5, 2**31 - 1, 3], [1, 1, 1, 3]
    one, other = run(source=wild), run(source=tame)
    np.testing.assert_array_equal(one["ids"], other["ids"])


@pytest.mark.slow
def test_int8_is_smaller_and_close(toy_translator, toy_litert, tmp_path):
    small = kb.export_litert(toy_translator, tmp_path / "int8.tflite", "int8", max_source_length=24)
    assert small.stat().st_size < toy_litert.stat().st_size
    sentences = [source for source, _ in toy_pairs()]
    texts = [result.text for result in OnDeviceTranslator(small).translate(sentences)]
    expected = [result.text for result in toy_translator.translate(sentences)]
    assert np.mean([a == b for a, b in zip(texts, expected, strict=True)]) > 0.95


def test_a_sentence_too_long_for_the_file_is_refused(toy_litert):
    with pytest.raises(ValueError, match="24 tokens"):
        OnDeviceTranslator(toy_litert).translate(["one " * 30])


def test_an_existing_file_is_not_overwritten(toy_translator, toy_litert):
    before = toy_litert.read_bytes()
    with pytest.raises(FileExistsError, match="toy.tflite"):
        kb.export_litert(toy_translator, toy_litert)
    assert toy_litert.read_bytes() == before


@pytest.mark.parametrize(
    "argument", [{"quantization": "int2"}, {"max_source_length": 0}, {"max_target_length": 1.5}]
)
def test_bad_litert_arguments_are_refused(toy_translator, tmp_path, argument):
    name, value = next(iter(argument.items()))
    with pytest.raises(ValueError, match=f"{name}={value!r}"):
        kb.export_litert(toy_translator, tmp_path / "toy.tflite", **argument)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_versions_count_up(toy_translator, toy_saved_model, tmp_path):
    shutil.copytree(toy_saved_model, tmp_path / "toy" / "9")
    assert kb.export_saved_model(toy_translator, tmp_path / "toy").name == "10"
    assert sorted(path.name for path in (tmp_path / "toy").iterdir()) == ["10", "9"]


def test_a_directory_with_other_things_is_refused(toy_translator, toy_saved_model, tmp_path):
    assert [path.name for path in toy_saved_model.parent.iterdir()] == ["1"]
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="other things"):
        kb.export_saved_model(toy_translator, tmp_path)


OTHERS = {
    "separate vocabularies": {"joint": False},
    "LSTM, two layers": {"cell": "lstm", "depth": 2},
    "no attention": {"attention": None},
    "greedy": {"beam_width": 1},
}


def other_translator(joint=True, cell="gru", depth=1, attention="bahdanau", beam_width=2):
    keras.utils.set_random_seed(1)
    source, target = kb.text.Subwords.train_pair(toy_pairs(), vocabulary_size=32, joint=joint)
    sizes = {"embedding_units": 16, "cell": cell}
    model = kb.Seq2Seq(
        kb.Encoder(source.vocabulary_size, units=8, depth=depth, **sizes),
        new_decoder(target.vocabulary_size, units=16, attention=attention, **sizes),
    )
    search = kb.SearchOptions(beam_width=beam_width, max_length=8)
    return kb.Translator(source, model, target, search)


@pytest.mark.slow
@pytest.mark.parametrize("settings", OTHERS.values(), ids=OTHERS)
def test_other_models_export_too(tmp_path, settings):
    translator = other_translator(**settings)
    version = kb.export_saved_model(translator, tmp_path / "saved")
    file = kb.export_litert(
        translator, tmp_path / "m.tflite", max_source_length=20, max_target_length=8
    )
    expected = [result.text for result in translator.translate(SENTENCES)]
    (served,) = run_in_clean_process(version, [("serving_default", {"text": SENTENCES})])
    assert [text.decode() for text in served["translation"]] == expected
    assert [result.text for result in OnDeviceTranslator(file).translate(SENTENCES)] == expected


def test_the_signatures_for_clients_agree_with_keras(toy_translator, toy_answers):
    nbest, decoded, scored = toy_answers["n-best"], toy_answers["decoded"], toy_answers["scored"]
    for row, hypotheses in enumerate(toy_translator.translate_nbest(SENTENCES)):
        texts = [text.decode() for text in nbest["translations"][row][: len(hypotheses)]]
        assert texts == [hypothesis.text for hypothesis in hypotheses]
        assert decoded["length"][row] == len(hypotheses[0].target_tokens)
        assert decoded["score"][row] == pytest.approx(hypotheses[0].score, abs=1e-5)
    targets = [result.text for result in toy_translator.translate(SENTENCES)]
    forced = toy_translator.align(list(zip(SENTENCES, targets, strict=True)))
    np.testing.assert_allclose(scored["score"], [pair.score for pair in forced], atol=1e-5)
    assert scored["length"].tolist() == [len(pair.target_tokens) for pair in forced]
    for row, pair in enumerate(forced):
        length = len(pair.target_tokens)
        tokens = [token.decode() for token in scored["target_tokens"][row, :length]]
        assert tokens == pair.target_tokens
        assert scored["confidence"][row] == pytest.approx(pair.confidence, abs=1e-5)
        for name in ("token_log_probs", "token_entropies"):
            found, expected = scored[name][row, :length], getattr(pair, name)
            np.testing.assert_allclose(found, expected, atol=1e-5)
        assert scored["token_words"][row, :length].max(initial=-1) == len(pair.words) - 1


def test_a_host_can_drive_the_steps_itself(toy_translator, toy_litert):
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_path=str(toy_litert))
    encode, step, greedy = map(
        interpreter.get_signature_runner, ("encode", "decode_step", "translate_greedy")
    )
    source = toy_translator.source.rows(["three one two"]).padded([0], (1, 24))
    fields, tokens = encode(source=source), [START]
    while tokens[-1] != END and len(tokens) < 20:
        found = step(tokens=np.array(tokens[-1:], np.int32), **fields)
        tokens.append(int(found["log_probs"].argmax()))
        fields |= {name: found[name] for name in found if name.startswith("state_")}
    expected = greedy(source=source)
    assert tokens[1:] == expected["ids"][0, : expected["length"][0]].tolist()
    unknown, *others = (
        step(tokens=np.array([token], np.int32), **fields)["log_probs"]
        for token in (UNKNOWN, -1, 10**6, 2**31 - 1, -(2**31))
    )
    for other in others:
        np.testing.assert_array_equal(other, unknown)
