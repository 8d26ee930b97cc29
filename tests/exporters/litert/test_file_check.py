"""The check of a LiteRT file finds what a phone or a browser would refuse, and nothing else."""

import hashlib
import json
import zipfile

import pytest
import tensorflow as tf
from functions_of_a_variable import ROWS, Model, counted, found, scaled

import keras_bahdanau as kb
from keras_bahdanau.exporters import check, describe
from keras_bahdanau.exporters.litert import metadata
from keras_bahdanau.exporters.litert.file_check import find_damage
from keras_bahdanau.exporters.litert.tflite_file import add_metadata, pack, unpack

SENTENCE = tf.TensorSpec([1, 3], tf.float32, "x")
LITERT, COMPILED_MODEL, HOST = "LiteRT", "LiteRT's CompiledModel", "OnDevicePipeline"
METADATA, BROWSER = "LiteRT's metadata libraries", "LiteRT.js"


def card_of(target):
    vocabularies = {"source": "source.spm", "target": target}
    return {"verb": "translate", "vocabularies": vocabularies}


JOINT, SEPARATE = card_of("source.spm"), card_of("target.spm")
SOURCE, TARGET = {"source.spm": b"any"}, {"target.spm": b"any"}


def metadata_of(*files, kind=metadata.VOCABULARY):
    files = tuple(metadata.AssociatedFile(name, type=kind) for name in files)
    return metadata.encode_metadata(metadata.ModelMetadata(associated_files=files))


SAID = metadata_of("source.spm")


def repack(path, model, files=SOURCE, card=JOINT, said=SAID):
    path.write_bytes(pack(add_metadata(model, metadata.ENTRY, said), files, card))
    return path


def converted_bytes(directory, function=scaled, spec=SENTENCE, signature="translate", **options):
    """Return the bytes of a converted LiteRT model, with nothing added."""
    model = Model(function, spec)
    tf.saved_model.save(model, directory / "saved", signatures={signature: model.answer})
    converter = tf.lite.TFLiteConverter.from_saved_model(str(directory / "saved"))
    converter.target_spec.supported_ops = options.pop("ops", [tf.lite.OpsSet.TFLITE_BUILTINS])
    for name, value in options.items():
        setattr(converter, name, value)
    return converter.convert()


def convert(directory, *arguments, **options):
    """Write a LiteRT file with a card and a vocabulary packed after the model."""
    return repack(directory / "model.tflite", converted_bytes(directory, *arguments, **options))


@pytest.fixture(scope="module")
def converted(tmp_path_factory):
    return converted_bytes(tmp_path_factory.mktemp("converted"))


def test_file_of_builtin_operations_is_clean(tmp_path, converted):
    assert check(repack(tmp_path / "model.tflite", converted)) == []


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("function", "operation", "options"),
    [
        (
            lambda x, _: tf.math.cumprod(x),
            "FlexCumprod",
            {"ops": [tf.lite.OpsSet.TFLITE_BUILTINS, tf.lite.OpsSet.SELECT_TF_OPS]},
        ),
        (lambda x, _: tf.math.betainc(x, x, x), "Betainc", {"allow_custom_ops": True}),
        (lambda x, _: x + tf.random.uniform([1, 3]), "RANDOM_UNIFORM", {}),
        (counted, "ASSIGN_VARIABLE", {"experimental_enable_resource_variables": True}),
    ],
    ids=["flex", "custom", "random", "write"],
)
def test_operation_that_a_phone_should_not_run_is_found(tmp_path, function, operation, options):
    assert found(convert(tmp_path, function, **options)) == [(LITERT, operation)]


@pytest.mark.slow
def test_variable_that_is_only_read_is_not_found(tmp_path):
    path = convert(tmp_path, experimental_enable_resource_variables=True)
    assert check(path) == []


@pytest.mark.slow
def test_bool_that_a_browser_refuses_is_found(tmp_path):
    (finding,) = check(convert(tmp_path, lambda x, _: x > 0))
    assert finding[:2] == (BROWSER, "output 'y' of signature 'translate'")
    assert "a browser's runtime rejects files with bool" in finding.why


@pytest.mark.slow
def test_output_that_android_cannot_carry_is_found(tmp_path):
    path = convert(tmp_path, lambda x, _: tf.cast(x, tf.float16))
    assert found(path) == [(COMPILED_MODEL, "output 'y' of signature 'translate'")]


@pytest.mark.slow
def test_shapes_that_are_not_fixed_are_found(tmp_path):
    assert found(convert(tmp_path, spec=ROWS)) == [
        (COMPILED_MODEL, "input 'x' of signature 'translate'"),
        (COMPILED_MODEL, "output 'y' of signature 'translate'"),
    ]


@pytest.mark.slow
def test_file_without_the_signature_is_found(tmp_path):
    (finding,) = check(convert(tmp_path, signature="answer"))
    assert "no signature 'translate'" in finding.why


@pytest.mark.parametrize(
    ("files", "card", "missing"),
    [
        ({}, JOINT, "no source.spm"),
        (TARGET, SEPARATE, "no source.spm"),
        (SOURCE, SEPARATE, "no target.spm"),
    ],
)
def test_file_without_its_vocabulary_is_found(converted, tmp_path, files, card, missing):
    (finding,) = check(repack(tmp_path / "model.tflite", converted, files, card))
    assert (finding.runtime, finding.part) == (HOST, "the file")
    assert missing in finding.why


def test_file_without_an_archive_is_found(converted, tmp_path):
    path = tmp_path / "model.tflite"
    path.write_bytes(converted)
    (finding,) = check(path)
    assert "no card.json and no target.spm" in finding.why


def test_model_without_metadata_is_found(converted, tmp_path):
    path = tmp_path / "model.tflite"
    path.write_bytes(pack(converted, SOURCE, JOINT))
    assert found(path) == [(METADATA, "the model")]
    repack(path, converted, said=b"anything")
    assert found(path) == [(METADATA, "the model")]


def test_metadata_that_names_no_vocabulary_is_found(converted, tmp_path):
    path = tmp_path / "model.tflite"
    for said in (metadata_of("target.spm"), metadata_of("source.spm", kind=0), metadata_of()):
        (finding,) = check(repack(path, converted, said=said))
        assert (finding.runtime, finding.part) == (METADATA, "TFLITE_METADATA")
        assert "'source.spm'" in finding.why
    said = metadata_of("source.spm", "target.spm")
    assert check(repack(path, converted, SOURCE | TARGET, SEPARATE, said)) == []


def test_compressed_vocabulary_is_found(toy_litert, tmp_path):
    contents = unpack(toy_litert.read_bytes())
    card = {**json.loads(contents.files["card.json"]), "sealed": False}
    path = tmp_path / "model.tflite"
    path.write_bytes(contents.model)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**contents.files, "card.json": json.dumps(card)}.items():
            archive.writestr(name, content)
    assert found(path) == [
        (METADATA, "'card.json' in the file"),
        (METADATA, "'source.spm' in the file"),
    ]


@pytest.mark.parametrize("place", [0.1, 0.5, 0.99])
def test_one_changed_bit_in_the_model_is_found(toy_litert, tmp_path, place):
    content = bytearray(toy_litert.read_bytes())
    content[int(place * len(unpack(content).model))] ^= 1
    path = tmp_path / "model.tflite"
    path.write_bytes(content)
    assert found(path) == [(HOST, "'model' in the file")]


@pytest.mark.slow
def test_every_changed_bit_behind_the_model_is_found(toy_litert, tmp_path):
    content, path = toy_litert.read_bytes(), tmp_path / "model.tflite"
    archive = len(unpack(content).model)
    headers = [*range(archive, archive + 39), *range(len(content) - 300, len(content))]
    for number, place in enumerate(headers[::6]):
        flipped = bytearray(content)
        flipped[place] ^= 1 << number % 8
        path.write_bytes(flipped)
        findings = find_damage(path) or check(path)
        assert findings and findings[0].runtime == HOST, place


def test_the_seal_is_the_hash_of_all_other_bytes(toy_litert):
    content = toy_litert.read_bytes()
    assert content[-64:].decode() == hashlib.sha256(content[:-64]).hexdigest()


@pytest.mark.parametrize(
    "field",
    [
        *({"verb": 3}, {"vocabularies": []}, {"vocabularies": {"source": None}}),
        *({"sha256": []}, {"sha256": {"model": 3}}, {"search": 3}, {"parity": "x"}),
    ],
    ids=str,
)
def test_card_of_another_form_is_found(converted, tmp_path, field):
    path = tmp_path / "model.tflite"
    path.write_bytes(converted)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("card.json", json.dumps({**JOINT, **field}))
    (finding,) = check(path)
    assert finding[:2] == (HOST, "card.json") and "the wrong type" in finding.why


@pytest.mark.parametrize("card", [b"", b"[]", b"{", b"[" * 100_000], ids=lambda card: card[:3])
def test_card_that_is_none_is_found(converted, tmp_path, card):
    path = tmp_path / "model.tflite"
    path.write_bytes(converted)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("card.json", card)
    (finding,) = check(path)
    assert finding[:2] == (HOST, "card.json") and "is not a valid card" in finding.why


@pytest.mark.parametrize("parity", [[{}], [{"artefact": 3}], [{"artefact": "a", "equal": "x"}]])
def test_table_that_no_export_wrote_gets_one_line(toy_litert, tmp_path, parity):
    contents, path = unpack(toy_litert.read_bytes()), tmp_path / "model.tflite"
    files = {name: content for name, content in contents.files.items() if name != "card.json"}
    card = json.loads(contents.files["card.json"])
    path.write_bytes(pack(contents.model, files, {**card, "parity": parity}))
    assert check(path) == []
    with pytest.raises(ValueError, match="that an export writes. Received: .*'parity'"):
        describe(path)


def test_card_of_a_newer_version_is_described(toy_litert, tmp_path):
    contents, path = unpack(toy_litert.read_bytes()), tmp_path / "model.tflite"
    files = {name: content for name, content in contents.files.items() if name != "card.json"}
    card = json.loads(contents.files["card.json"])
    card["parity"] = [{**row, "new": 1} for row in card["parity"]]
    path.write_bytes(pack(contents.model, files, {**card, "new": 1}))
    assert describe(path) == describe(toy_litert)


def test_another_vocabulary_is_found(toy_litert, tmp_path):
    contents = unpack(toy_litert.read_bytes())
    path = tmp_path / "model.tflite"
    path.write_bytes(contents.model)
    with zipfile.ZipFile(path, "a") as archive:
        for name, content in (contents.files | {"source.spm": b"another"}).items():
            archive.writestr(name, content)
    assert found(path) == [(HOST, "'source.spm' in the file")]


def test_card_without_hashes_is_found(converted, tmp_path):
    path = tmp_path / "model.tflite"
    path.write_bytes(converted)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("card.json", json.dumps(JOINT))
        archive.writestr("source.spm", b"any")
    first, second = check(path)
    assert first.part == "card.json" and "no sha256 of model and no source.spm" in first.why
    assert second.part == "the model"


@pytest.mark.parametrize("key", ["verb", "vocabularies"])
def test_card_that_does_not_say_how_to_run_the_model_is_found(converted, tmp_path, key):
    card = {name: value for name, value in SEPARATE.items() if name != key}
    said = metadata_of("source.spm", "target.spm")
    path = repack(tmp_path / "model.tflite", converted, SOURCE | TARGET, card, said)
    (finding,) = check(path)
    assert (finding.runtime, finding.part) == (HOST, "card.json")
    assert f"lacks the field {key!r}" in finding.why


def test_archive_that_is_cut_off_is_found(tmp_path, converted):
    path = repack(tmp_path / "model.tflite", converted)
    path.write_bytes(path.read_bytes()[:-10])
    assert found(path) == [(HOST, "the file")]


def test_file_that_is_cut_off_is_found(tmp_path, converted):
    path = repack(tmp_path / "model.tflite", converted)
    path.write_bytes(path.read_bytes()[:400])
    assert found(path) == [(LITERT, "the file")]


def test_file_that_is_no_model_is_found(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("no model here")
    assert found(path) == [(LITERT, "the file")]


def test_exported_litert_file_is_clean(toy_litert):
    assert check(toy_litert) == []


@pytest.mark.slow
@pytest.mark.parametrize("quantization", ["float16", "int8"])
def test_quantized_litert_file_is_clean(toy_translator, tmp_path, quantization):
    path = tmp_path / "model.tflite"
    kb.export_litert(toy_translator, path, quantization, max_source_length=8, max_target_length=8)
    assert check(path) == []
