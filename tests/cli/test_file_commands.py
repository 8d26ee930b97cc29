"""Commands that search, explain and tune with images and recordings as inputs."""

import io
import json
import os
import re
import shutil
import subprocess
import sys

import pytest
import toy_sources

from keras_bahdanau import cli
from keras_bahdanau.pipelines.tasks import load_pipeline

pytestmark = pytest.mark.slow
NUMBERS = [(0, 1), (3, 2), (1,), (2, 1, 0)]


@pytest.fixture
def command(monkeypatch, capsys):
    """`command(*arguments)`: the standard output of a command, run in this process."""

    def run(*arguments):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
        with pytest.raises(SystemExit) as ended:
            cli.main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert ended.value.code == 0, err
        return out

    return run


@pytest.fixture(params=["images", "audio"])
def kind(request):
    return request.param


@pytest.fixture
def model(kind, toy_source):
    return toy_source(kind)


@pytest.fixture
def file(kind, tmp_path):
    """A file that shows or speaks the numbers 0 and 1."""
    case = toy_sources.CASES[kind]
    return case.write(case.input_of((0, 1)), tmp_path / "one")


def test_a_page_explains_a_file_with_its_picture(command, model, file, tmp_path):
    page = tmp_path / "page.html"
    assert command("align", "--model", model, file, "--explore", page) == "eins zwei\n"
    pattern = r'<script type="application/json" id="data">(.*?)</script>'
    data = json.loads(re.search(pattern, page.read_text(encoding="utf-8"))[1])
    ((side,),) = data["inputs"]
    pipeline = load_pipeline(model)
    (result,) = pipeline.decode([file])
    assert (side["text"], side["source"]) == (result.text, result.source_tokens)
    picture = pipeline.picture(file)
    assert side["picture"]["image"].startswith("data:image/png;base64,")
    assert side["picture"]["width"] == picture.pixels.shape[1]
    assert side["picture"]["positions"] == picture.positions
    assert side["tree"]["tokens"] and len(side["alternatives"]) == len(side["target"])


def test_the_steps_of_a_file_are_drawn(command, model, file, tmp_path):
    picture = tmp_path / "trace.png"
    asked = ["--trace", picture, "--trace-steps", "1-2"]
    assert command("align", "--model", model, file, *asked) == "eins zwei\n"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 20_000  # not an empty canvas


@pytest.mark.parametrize("name", ["read", "transcribe"])
def test_the_best_few_texts_of_each_file_come_in_the_form_of_moses(
    command, model, kind, tmp_path, name
):
    manifest = toy_sources.write_manifest(kind, NUMBERS, tmp_path / "files")
    lines = command(name, "--model", model, manifest, "--nbest", 3).splitlines()
    pipeline = load_pipeline(model)
    paths = [tmp_path / "files" / line.split("\t")[0] for line in manifest.read_text().splitlines()]
    expected = [
        f"{number} ||| {one.text} ||| {one.score:.4f}"
        for number, several in enumerate(pipeline.decode_nbest(paths, 3))
        for one in several
    ]
    assert lines == expected and len(lines) == 3 * len(NUMBERS)
    best = [lines[3 * number].split(" ||| ")[1] for number in (0, 1)]
    assert best == ["eins zwei", "vier drei"]
    named = command(name, "--model", model, paths[0], "--nbest", 2, "--names").splitlines()
    assert named == [f"{paths[0]}\t{line}" for line in expected[:2]]


def test_a_name_that_is_not_utf8_is_printed_as_it_is(model, file, tmp_path):
    name = os.fsencode(file.name).replace(b"one", b"caf\xe9")
    shutil.copy(file, os.path.join(os.fsencode(tmp_path), name))
    command = [sys.executable, "-m", "keras_bahdanau.cli", "read", "--model", model, "--names"]
    done = subprocess.run([*command, name], cwd=tmp_path, capture_output=True)
    assert (done.returncode, done.stdout) == (0, name + b"\teins zwei\n"), done.stderr


def test_a_search_of_files_is_chosen_by_their_own_metric(command, model, kind, tmp_path):
    tuned = tmp_path / "model.keras"
    shutil.copyfile(model, tuned)
    # Files from training, so every search is right.
    manifest = toy_sources.write_manifest(kind, toy_sources.NUMBERS[:8], tmp_path / "files")
    grid = ["--beam-widths", "1,2", "--length-normalizations", "1", "--length-penalties", "power"]
    out = command("tune", "--model", tuned, manifest, *grid)
    heading, *rows, chosen, written = out.splitlines()
    label = {"images": "exact", "audio": "WER"}[kind]
    right = {"images": "100.00", "audio": "0.00"}[kind]
    assert heading.split()[3] == label
    assert {row.split()[0] for row in rows} == {"1", "2", "5"}  # including the model's own width
    assert {row.split()[3] for row in rows} == {right}
    assert chosen.startswith("chosen: beam_width=1, ") and f"{label} {right}, now {right}" in chosen
    assert written == f"written into {tuned}"
    assert load_pipeline(tuned).search.beam_width == 1
