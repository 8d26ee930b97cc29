"""Commands that get a .tflite or .onnx file of a model for images or recordings."""

import io
import itertools
import json
import sys

import numpy as np
import pytest
import toy_sources

from keras_bahdanau import cli
from keras_bahdanau.exporters import LiteRTPipeline, OnnxPipeline
from keras_bahdanau.exporters.litert.tflite_file import pack, unpack
from keras_bahdanau.pipelines.tasks import load_pipeline

NUMBERS = [(0, 1), (3, 2), (1,), (2, 2, 0)]


@pytest.fixture
def command(monkeypatch, capsys):
    """`command(*arguments)`: exit code, standard output and error, in this process."""

    def run(*arguments):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
        with pytest.raises(SystemExit) as ended:
            cli.main([str(argument) for argument in arguments])
        return ended.value.code, *capsys.readouterr()

    return run


@pytest.fixture(params=["images", "audio"])
def models(request, toy_source, toy_artefact):
    """Name, .keras file and .tflite file of a pipeline that reads files."""
    name = request.param
    return name, toy_source(name), toy_artefact(name, "litert")


@pytest.fixture(params=itertools.product(["images", "audio"], ["litert", "onnx"]), ids="-".join)
def exported(request, toy_source, toy_artefact):
    """Name, .keras file and .tflite or .onnx file of a pipeline that reads files."""
    name, form = request.param
    return name, toy_source(name), toy_artefact(name, form)


@pytest.mark.slow
def test_files_are_read_as_by_keras_and_named_where_they_are_broken(command, exported, tmp_path):
    name, whole, file = exported
    manifest = toy_sources.write_manifest(name, NUMBERS, tmp_path / "files")
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"no file of any kind")
    answers = [
        command("read", "--model", model, "--names", manifest, broken) for model in (whole, file)
    ]
    assert answers[0] == answers[1]
    code, out, err = answers[1]
    assert code == 0 and err.count("\n") == 1
    assert "1 file is a text, not " in err and f": {broken}. Use " in err
    *read, last = out.splitlines()
    assert [line.split("\t")[1] for line in read[:2]] == ["eins zwei", "vier drei"]
    assert last == f"{broken}\t"
    assert command("transcribe", "--model", file, manifest)[1].splitlines() == [
        line.split("\t")[1] for line in read
    ]


@pytest.mark.slow
def test_files_are_evaluated_by_the_metrics_of_their_kind(command, exported, tmp_path):
    name, whole, file = exported
    manifest = toy_sources.write_manifest(name, NUMBERS, tmp_path / "files")
    scores = {}
    for number, model in enumerate((whole, file)):
        report = tmp_path / f"{number}.json"
        assert command("evaluate", "--model", model, manifest, "--json", report)[0] == 0
        scores[number] = json.loads(report.read_text())
    metrics = load_pipeline(whole).metrics
    assert {metric: scores[1][metric] for metric in metrics} == {
        metric: scores[0][metric] for metric in metrics
    }
    assert scores[1]["attention_entropy"] == pytest.approx(scores[0]["attention_entropy"], rel=1e-4)
    assert scores[0]["perplexity"] is not None and scores[1]["perplexity"] is None


@pytest.mark.slow
def test_the_plot_of_a_file_shows_it_as_keras_does(command, exported, tmp_path):
    name, whole, file = exported
    one = toy_sources.CASES[name].input_of((0, 1))
    path = toy_sources.CASES[name].write(one, tmp_path / "one")
    pictures = [pipeline.picture(path) for pipeline in (load_pipeline(whole), opened(file))]
    for expected, found in zip(*pictures, strict=True):
        np.testing.assert_array_equal(found, expected)
    plot = tmp_path / "map.png"
    code, out, _ = command("align", "--model", file, path, "--plot", plot)
    assert (code, out) == (0, "eins zwei\n")
    assert plot.read_bytes().startswith(b"\x89PNG")


def opened(file):
    return {".tflite": LiteRTPipeline, ".onnx": OnnxPipeline}[file.suffix](file)


@pytest.mark.slow
def test_what_is_too_long_is_cut_and_named(command, toy_artefact, tmp_path):
    sound = toy_sources.tones((1,) * 7)  # 56 positions for a file that accepts 48
    path = toy_sources.write_wav(sound, tmp_path / "long")
    code, out, err = command("read", "--model", toy_artefact("audio", "litert"), path)
    assert code == 0 and f"{path} is too long: only its first 48 " in err
    (short,) = LiteRTPipeline(toy_artefact("audio", "litert")).decode(
        [toy_sources.write_wav((sound[0][: 48 * 160], sound[1]), tmp_path / "short")]
    )
    assert out == f"{short.text}\n" and len(short.source_tokens) == 48 // 4


@pytest.mark.slow
def test_the_card_describes_the_source_and_check_prints_it(command, exported):
    name, whole, file = exported
    source = load_pipeline(whole).source
    assert opened(file).source == source
    code, out, _ = command("check", file)
    described = [line for line in out.splitlines() if line.startswith("source: ")]
    settings = ", ".join(f"{key} {value}" for key, value in source.get_config().items())
    assert (code, described) == (0, [f"source: {type(source).__name__}, {settings}"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "received"),
    [
        (["--nbest", 2], "nbest=2."),
        (["--prefix", "eins"], "path="),
        (["--beam-width", 3], "beam_width=3."),
    ],
)
def test_what_the_file_has_fixed_is_refused_in_one_line(command, models, arguments, received):
    code, out, err = command("read", "--model", models[2], __file__, *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"Received: {received}" in err


@pytest.mark.slow
def test_a_model_of_files_reads_no_standard_input(command, models):
    code, out, err = command("translate", "--model", models[2])
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "without files. Give files or a manifest (.tsv)." in err


def test_read_translates_a_file_of_sentences(command, toy_litert, tmp_path):
    (tmp_path / "text").write_text("one\n\nfour two\n")
    answers = [
        command(name, "--model", toy_litert, tmp_path / "text") for name in ("read", "translate")
    ]
    assert answers[0] == answers[1] and answers[0][1].count("\n") == 3


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (None, "its 'source' has the wrong type"),
        ({}, "ValueError. Import"),
        ({"class_name": "Nobody", "config": {}}, "Error. Import"),
        ({"class_name": "keras_bahdanau>Attention", "config": {}}, "Error. Import"),
        ([], "its 'source' has the wrong type"),
    ],
)
def test_a_card_with_another_source_is_refused_in_one_line(
    command, toy_litert, tmp_path, source, why
):
    contents = unpack(toy_litert.read_bytes())
    card = json.loads(contents.files.pop("card.json"))
    path = tmp_path / "other.tflite"
    card |= {"inputs": "files", "source": source}
    path.write_bytes(pack(contents.model, contents.files, card))
    code, out, err = command("read", "--model", path, __file__)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"Received: path={str(path)!r}" in err and why in err


@pytest.mark.parametrize("content", [b"", b"no model"])
def test_a_damaged_file_is_refused_in_one_line(command, tmp_path, content):
    path = tmp_path / "bad.tflite"
    path.write_bytes(content)
    code, out, err = command("read", "--model", path, __file__)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"Received: path={str(path)!r}" in err


@pytest.mark.parametrize(
    "fields", [{"max_source_length": 10**9}, {"max_source_length": 0}, {"reduction": 0}], ids=str
)
def test_a_number_of_a_card_above_its_bound_is_refused_in_one_line(
    command, toy_litert, tmp_path, fields
):
    contents = unpack(toy_litert.read_bytes())
    card = json.loads(contents.files.pop("card.json"))
    path = tmp_path / "other.tflite"
    path.write_bytes(pack(contents.model, contents.files, card | fields))
    code, out, err = command("translate", "--model", path)
    assert (code, out, err.count("\n")) == (2, "", 1)
    ((name, value),) = fields.items()
    assert f"Received: path={str(path)!r}" in err and f"{name}={value}" in err
