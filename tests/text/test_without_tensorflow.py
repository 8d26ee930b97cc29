"""Text processing where TensorFlow or tensorflow-text can't be imported, as on Windows."""

import json
import subprocess
import sys

import numpy as np
import pytest

from keras_bahdanau.text import Subwords

PAIRS = [("the cat sat", "le chat"), ("a dog ran home", "un chien")] * 3
TEXTS = ["the cat", "", "猫 le chien", "a\x00 dog"]
LINE = (
    "needs the package tensorflow-text, which has no wheel for Windows. Received: "
    "import of tensorflow_text halted; None in sys.modules. Install it, or export a "
    "model that reads ids instead of text: --format saved-model-ids, or litert."
)


def answers(program, *arguments, without):
    """Run a program in a process that can't import some modules. Return the JSON that it prints."""
    blocked = f"import json, sys; sys.modules.update(dict.fromkeys({without!r}))\n"
    command = [sys.executable, "-c", blocked + program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_the_host_needs_no_tensorflow(tmp_path):
    subwords, _ = Subwords.train_pair(PAIRS, 32)
    (tmp_path / "text.spm").write_bytes(subwords.model)
    program = """
import keras_bahdanau.text.subwords
from keras_bahdanau.text.subwords import Subwords
subwords = Subwords(open(sys.argv[1], "rb").read())
texts = json.loads(sys.argv[2])
rows = subwords.encode(texts)
print(json.dumps({
    "ids": [row.tolist() for row in rows],
    "tokens": [subwords.tokens(row).tolist() for row in rows],
    "words": [spans.tolist() for spans in subwords.words(texts)],
    "texts": subwords.decode(rows),
    "trained": Subwords.train(texts, 14, model_type="char").tokens(range(14)).tolist(),
    "loaded": sorted({"tensorflow", "tensorflow_text", "keras"} & {
        name for name, module in sys.modules.items() if module is not None}),
}))
"""
    found = answers(
        program,
        tmp_path / "text.spm",
        json.dumps(TEXTS),
        without=["tensorflow", "tensorflow_text", "keras"],
    )
    rows = subwords.encode(TEXTS)
    assert found == {
        "ids": [row.tolist() for row in rows],
        "tokens": [subwords.tokens(row).tolist() for row in rows],
        "words": [spans.tolist() for spans in subwords.words(TEXTS)],
        "texts": subwords.decode(rows),
        "trained": Subwords.train(TEXTS, 14, model_type="char").tokens(range(14)).tolist(),
        "loaded": [],
    }


@pytest.fixture(scope="module")
def toy_file(toy_translator, tmp_path_factory):
    path = tmp_path_factory.mktemp("translator") / "toy.keras"
    toy_translator.save(path)
    return path


@pytest.mark.slow
def test_without_tensorflow_text_the_graph_says_what_it_needs_and_leaves_nothing(toy_file):
    program = """
import keras_bahdanau as kb
translator = kb.Translator.load(sys.argv[1])
told = []
for attempt in (
    lambda: translator.target.graph,
    lambda: kb.text.Subwords(translator.target.model).graph,
    lambda: kb.export_saved_model(translator, sys.argv[1] + ".saved"),
):
    try:
        attempt()
    except ImportError as error:
        told.append(str(error))
print(json.dumps(told))
"""
    told = answers(program, toy_file, without=["tensorflow_text"])
    assert len(told) == 3
    for line in told:
        assert line.endswith(LINE) and "\n" not in line
    assert not toy_file.with_name("toy.keras.saved").exists()


@pytest.mark.slow
def test_without_tensorflow_text_a_translator_translates(toy_file, toy_translator):
    program = """
import keras_bahdanau as kb
translator = kb.Translator.load(sys.argv[1])
best = translator.translate(["three one two", "", "five qqq"])
print(json.dumps({
    "texts": [one.text for one in best],
    "scores": [one.score for one in best],
    "aligned": translator.align([("one two", "eins zwei")])[0].score,
}))
"""
    found = answers(program, toy_file, without=["tensorflow_text"])
    best = toy_translator.translate(["three one two", "", "five qqq"])
    assert found["texts"] == [one.text for one in best]
    assert found["texts"][:2] == ["drei eins zwei", ""]
    np.testing.assert_allclose(found["scores"], [one.score for one in best], rtol=1e-5)
    aligned = toy_translator.align([("one two", "eins zwei")])[0].score
    assert found["aligned"] == pytest.approx(aligned, rel=1e-5)


@pytest.mark.slow
def test_without_tensorflow_text_exports_of_ids_work(toy_file, toy_translator, tmp_path):
    program = """
import keras_bahdanau as kb
from keras_bahdanau.exporters import IdsSavedModelExporter, OnDeviceTranslator, export
translator = kb.Translator.load(sys.argv[1])
version = export(IdsSavedModelExporter(), translator, sys.argv[2] + "/ids")
phone = kb.export_litert(translator, sys.argv[2] + "/toy.tflite", max_source_length=24)
(found,) = OnDeviceTranslator(phone).translate(["three one two"])
print(json.dumps([str(version), found.text]))
"""
    version, text = answers(program, toy_file, tmp_path, without=["tensorflow_text"])
    assert text == "drei eins zwei"
    from keras_bahdanau.exporters import run_in_clean_process

    rows = toy_translator.source.rows(["three one two"])
    features = rows.padded([0], (1, int(rows.lengths[0])))
    request = toy_translator.source.feature_requests(features)
    (result,) = run_in_clean_process(version, [("serving_default", request)])
    assert toy_translator.target.decode(result["ids"]) == ["drei eins zwei"]
