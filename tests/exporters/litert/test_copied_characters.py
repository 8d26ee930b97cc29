"""A .tflite file copies the same out-of-vocabulary characters that Keras copies."""

import dataclasses
import json
import shutil
from pathlib import Path

import copying_speller
import node_packages
import numpy as np
import pytest
import sentencepiece

import keras_bahdanau as kb
from keras_bahdanau.exporters import OnDeviceTranslator
from keras_bahdanau.exporters.litert.litert_pipeline import LiteRTTranslator
from keras_bahdanau.exporters.litert.on_device.copying import text_of
from keras_bahdanau.text import Subwords

CHECKOUT = Path(__file__).parents[3]
IN_NODE = CHECKOUT / "export" / "on_device" / "translate.mjs"
LACKING = node_packages.lacking("@litertjs/core")
SHORT = [one for one in copying_speller.TEXTS if len(one) != 30]  # 30 letters are too long


@pytest.fixture(scope="module")
def translator():
    return copying_speller.translator()


@pytest.fixture(scope="module")
def path(translator, tmp_path_factory):
    path = tmp_path_factory.mktemp("speller") / "speller.tflite"
    copying_speller.export(path, ("nbest",), translator)  # the other signatures take long to export
    return path


def texts(lists):
    return [[one.text for one in row if one.target_tokens] for row in lists]


@pytest.mark.slow
def test_a_file_writes_the_texts_of_keras(translator, path):
    given = dataclasses.replace(translator.search, max_length=10)
    expected = texts(translator.translate_nbest(SHORT, search=given))
    written = "".join(text for row in expected for text in row)
    assert {"Z", "Ä", "☃", "⁇"} <= {*written} and "É" in written
    on_device = OnDeviceTranslator(path)
    assert texts(on_device.translate_nbest(SHORT)) == expected
    best = [row[0] if row else "" for row in expected]
    assert [one.text for one in on_device.translate(SHORT)] == best
    assert texts(LiteRTTranslator(path).translate_nbest(SHORT)) == expected


@pytest.mark.slow
def test_a_copied_character_is_part_of_the_word_around_it(translator, path):
    for row in translator.translate_nbest(SHORT):
        for one in row:
            assert [word.word for word in one.words] == one.text.split()
    for row in OnDeviceTranslator(path).translate_nbest(SHORT):
        for one in row:
            assert len({*one.token_words.tolist()} - {-1}) == len(
                one.text.split(" ") if one.text else ""
            )


@pytest.mark.slow
def test_a_text_that_is_cut_copies_nothing_behind_its_end(translator, path):
    long = ["eÄ" * 30]
    search = dataclasses.replace(translator.search, max_source_length=20)
    expected = texts(translator.translate_nbest(long, search=search))
    assert texts(LiteRTTranslator(path).translate_nbest(long)) == expected


@pytest.mark.skipif(bool(LACKING), reason=f"needs {LACKING}")
@pytest.mark.slow
def test_the_program_in_node_copies_as_that_in_python(tmp_path):
    path = tmp_path / "speller.tflite"
    copying_speller.export(path)
    spaces = ("\xa0\u3000", "\ufeff", "▁▁")
    given = [text for one in spaces for text in (one, f"{one}Ä{one}", f"Ä{one}Ö", f"a{one}é")]
    given += ["a" * size + "Æ" * 300 for size in (0, 1, 2)] + ["☃" * 200 + "b", "😀" * 200, *SHORT]
    content = "".join(f"{one}\n" for one in given).encode()
    greedy = OnDeviceTranslator(path, greedy=True).translate(given)
    code, lines, error = node_packages.run(IN_NODE, "--greedy", path, content=content)
    assert (code, lines) == (0, [one.text for one in greedy]), error
    python, written = OnDeviceTranslator(path), ""
    for prefix in ("", "é", "Ü f"):
        options = ("--nbest", "4", "--prefix", prefix)
        code, lines, error = node_packages.run(IN_NODE, *options, path, content=content)
        lists = enumerate(python.translate_nbest(given, 4, [prefix] * len(given)))
        expected = [[str(number), one.text] for number, row in lists for one in row]
        assert (code, [line.split(" ||| ")[:2] for line in lines]) == (0, expected), error
        written += " ".join(text for _, text in expected)
    for copy in ("Z", "Ä Ö", "\ufeff", "⁇", "Æ" * 256, "☃" * 170, "😀" * 128):
        assert copy in written


TEXTS_OF = """
import {{ readFileSync }} from "node:fs";
import {{ textOf }} from {copying};
import {{ SentencePiece }} from {vocabulary};
const [, , model, cases] = process.argv;
const target = new SentencePiece(readFileSync(model));
console.log(JSON.stringify(JSON.parse(cases).map((one) => textOf(target, ...one))));
"""


def copies():
    """A target vocabulary and cases, each with ids, source positions, source surfaces and text."""
    subwords = Subwords.train(["a b"], 9, model_type="char", normalization="none", exact=False)
    space, a, b = map([*subwords.tokens([*range(7)])].index, "▁ab")
    surfaces = ["Ä", "Ö Ü", ""]
    return subwords, [
        ([1, 3], [1, -1], surfaces, "Ö Ü"),
        ([a, 1, b], [-1, 0, -1], surfaces, "aÄb"),
        ([1, 1, 1], [-1, 2, 0], surfaces, "⁇⁇Ä"),
        ([0, space, 1, space, space, 2, 1, space], [0] * 8, surfaces, "Ä Ä"),
        ([a, space, space, b], [-1] * 4, surfaces, "a  b"),
        ([a, 1, b], [], [], "a ⁇ b"),
        ([1, a], [1, -1], surfaces, "Ö Üa"),
    ]


@pytest.mark.slow
def test_python_copies_the_surfaces_at_the_positions_and_nothing_of_none():
    subwords, cases = copies()
    vocabulary = sentencepiece.SentencePieceProcessor(model_proto=subwords.model)
    for ids, positions, surfaces, text in cases:
        assert text_of(vocabulary, ids, np.array(positions, int), surfaces) == text


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")
def test_javascript_copies_the_surfaces_at_the_positions_and_nothing_of_none(tmp_path):
    subwords, cases = copies()
    (tmp_path / "target.spm").write_bytes(subwords.model)
    page = CHECKOUT / "keras_bahdanau" / "exporters" / "browser" / "page"
    copying, vocabulary = (
        json.dumps((page / name).as_uri()) for name in ("copying.mjs", "sentencepiece.mjs")
    )
    program = TEXTS_OF.format(copying=copying, vocabulary=vocabulary)
    (tmp_path / "texts.mjs").write_text(program)
    code, (line,), error = node_packages.run(
        tmp_path / "texts.mjs", tmp_path / "target.spm", json.dumps([one[:3] for one in cases])
    )
    assert code == 0, error
    assert json.loads(line) == [one[3] for one in cases]


@pytest.mark.slow
def test_words_and_decomposed_letters_are_refused(translator, tmp_path):
    for settings in ({"model_type": "word"}, {"model_type": "char", "normalization": "nfd"}):
        other = Subwords.train(["가나 a"], 20, exact=False, **settings)
        model = kb.presets.characters(other, other, units=8, hard_alignment="none")
        model.build()
        pipeline = kb.Translator(other, model, other, translator.search)
        with pytest.raises(ValueError, match="copy characters of the source, but not words"):
            kb.export_litert(pipeline, tmp_path / "other.tflite", **copying_speller.LENGTHS)
