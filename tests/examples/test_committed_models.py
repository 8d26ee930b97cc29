"""The published models: names, sizes, hashes, and whether device files still work."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
from toy_sources import tones, write_wav

EXAMPLES = Path(__file__).parents[2] / "examples"
MODELS = sorted(path for path in EXAMPLES.glob("*/models/*") if path.suffix != ".md")
KERAS = {  # all other models are device files
    "an4/models/an4.keras",  # reads recordings from other sources in tests
    "captions/models/captions.keras",  # an image model in tests of distillation and formulas
    "dates/models/dates.keras",  # fine-tuned in examples/adapt; teacher in docs/distil.md
    "inflect/models/turkish-medium.keras",  # a teacher with table features in tests
    "pronounce/models/ice.keras",  # a teacher in tests of distillation
    "pronounce/models/ita.keras",  # scored against external references in tests
    "transliterate/models/wd-katakana.keras",  # alignments without a font in tests
}
LARGEST = {"multi30k": 6_500_000, "an4": 4_100_000, "formulas": 4_100_000}
LARGEST_OF_CHARACTERS = 1_000_000
LARGER = {
    "an4.keras": 4_300_000,
    "cmudict-large-int4.tflite": 1_200_000,
    "turkish-medium.keras": 1_600_000,
    "wd-katakana.keras": 1_900_000,
}


def test_each_model_has_the_size_and_hash_of_the_table():
    heading, *rows = (EXAMPLES / "models.tsv").read_text("utf-8").splitlines()
    assert heading.split("\t") == ["path", "bytes", "sha256"]
    table = {path: (int(size), sha256) for path, size, sha256 in map(str.split, rows)}
    content = {path.relative_to(EXAMPLES).as_posix(): path.read_bytes() for path in MODELS}
    assert {
        name: (len(data), hashlib.sha256(data).hexdigest()) for name, data in content.items()
    } == table
    assert len(rows) == len(table)


def test_keras_files_are_those_that_something_reads():
    names = {path.relative_to(EXAMPLES).as_posix() for path in MODELS}
    assert {name for name in names if name.endswith(".keras")} == KERAS
    assert {path.suffix for path in MODELS} == {".keras", ".tflite"}


def test_models_stay_small():
    sizes = {path: path.stat().st_size for path in MODELS}
    bounds = {
        path: LARGER.get(path.name, LARGEST.get(path.parts[-3], LARGEST_OF_CHARACTERS))
        for path in MODELS
    }
    assert [path for path in MODELS if sizes[path] > bounds[path]] == []


@pytest.mark.parametrize("folder", sorted({path.parent for path in MODELS}), ids=str)
def test_a_card_beside_the_models_has_their_licence(folder):
    card = (folder / "README.md").read_text("utf-8")
    assert "**Licence" in card and "models.tsv" in card


@pytest.mark.parametrize("example", ["pronounce", "transliterate", "inflect"])
def test_files_of_characters_suggest_and_say_how_sure_they_are(example):
    interpreter = pytest.importorskip("ai_edge_litert.interpreter", reason="reads .tflite files")
    files = sorted((EXAMPLES / example / "models").glob("*.tflite"))
    assert len(files) > 5
    for path in files:
        signatures = interpreter.Interpreter(str(path)).get_signature_list()
        assert {"translate", "translate_nbest", "translate_greedy"} <= {*signatures}, path
        assert ("translate_prefix" in signatures) == (example == "transliterate"), path
        assert {"confidence", "token_words"} <= {*signatures["translate"]["outputs"]}, path
        assert {"confidences", "scores"} <= {*signatures["translate_nbest"]["outputs"]}, path


def loaded(name):
    pytest.importorskip("ai_edge_litert", reason="a .tflite file runs with the extra litert")
    from keras_bahdanau.exporters import LiteRTPipeline

    return LiteRTPipeline(EXAMPLES / name)


# Textbook cases that do not occur in the models' data.
KNOWN = {
    "pronounce/models/fre.tflite": {"eau": "o", "chat": "ʃ a", "vache": "v a ʃ"},
    "transliterate/models/wd-russian.tflite": {
        "moskva": "м о с к в а",
        "ladoga": "л а д о г а",
    },
    "inflect/models/turkish-high.tflite": {  # "ev", a house
        "ev <N> <ACC> <PL>": "evleri",
        "ev <N> <LOC> <SG>": "evde",
        "ev <N> <ABL> <SG>": "evden",
    },
}


@pytest.mark.parametrize("name", KNOWN)
def test_a_model_of_characters_knows_textbook_cases(name):
    pytest.importorskip("ai_edge_litert", reason="a .tflite file runs with the extra litert")
    from keras_bahdanau.exporters import OnDeviceTranslator

    found = OnDeviceTranslator(EXAMPLES / name).translate_nbest([*KNOWN[name]], 1)
    assert [best.text for (best,) in found] == [*KNOWN[name].values()]


def line(*ends):
    return np.linspace(*np.reshape(ends, (2, 2)), num=12)


def test_the_model_of_ink_reads_a_sum():
    plus = [line(12, 15, 32, 15), line(22, 5, 22, 25)]
    ink = [line(0, 0, 0, 30), *plus, line(44, 0, 44, 30)]
    first, nothing = loaded("formulas/models/ink.tflite").decode([ink, []])
    assert first.text == "1 + 1" and first.finished
    assert first.alignment.shape == (len(first.target_tokens), len(first.source_tokens))
    assert nothing.text == ""


def test_the_model_of_speech_reads_any_sound(tmp_path):
    sound = write_wav(tones(3 * (0, 1, 2, 3)), tmp_path / "tones")
    first, nothing = loaded("an4/models/an4.tflite").decode([sound, b""])
    assert first.text.replace(" ", "").isalpha() and first.text.isupper()  # words in AN4
    assert len(first.source_tokens) == 24  # 960 ms, 40 ms each
    assert first.alignment.shape == (len(first.target_tokens), 24)
    assert nothing.text == ""
