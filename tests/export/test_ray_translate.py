"""Translating a corpus with Ray Data: each row once and in order, even if processes are killed."""

import contextlib
import importlib.util
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import numpy as np
import pytest

from keras_bahdanau.runners.offline import BatchTranslator

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "export" / "offline"
MODEL = ROOT / "examples" / "dates" / "models" / "dates.tflite"
NAMES = ("translation", "score", "confidence")
WORDS = ("one", "two", "three", "four", "five")


@pytest.fixture
def program(monkeypatch):
    """The module, with in-process workers that return each input in capitals."""
    monkeypatch.syspath_prepend(FOLDER)
    spec = importlib.util.spec_from_file_location("ray_translate", FOLDER / "ray_translate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.asked = []

    def columns_of(self, rows):
        texts = rows[self.column]
        module.asked += texts
        upper = np.array([text.upper() for text in texts], object)
        scores = np.array([math.nan if text == "bad" else 0.5 for text in texts], np.float32)
        return dict(zip(NAMES, (upper, scores, scores), strict=True))

    def batches(pieces, translator, options):
        worker = module.PieceTranslator(translator)
        for piece in pieces:
            yield from worker({name: np.array([one]) for name, one in piece.items()})

    monkeypatch.setattr(BatchTranslator, "columns_of", columns_of)
    monkeypatch.setattr(module, "_batches", batches)
    yield module
    for name in ("line_parts", "table_parts", "parts"):
        sys.modules.pop(name, None)


@pytest.fixture
def corpus(tmp_path):
    """Two text parts; the first one has several pieces of 1 KiB."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    lines = ["bad" if number == 7 else f"line {number}" for number in range(400)]
    (folder / "a.txt").write_text("\n".join(lines) + "\n")
    (folder / "b.txt").write_text("last\n")
    return folder


def arguments_of(corpus, out, *others):
    return [*map(str, (corpus, "--model", MODEL, "--out", out, "--piece-kib", 1, *others))]


def test_each_part_gets_its_translations_whole_and_in_order(program, corpus, tmp_path, capsys):
    assert program.main(arguments_of(corpus, tmp_path / "out")) == 0
    lines = (tmp_path / "out" / "a.txt").read_text().splitlines()
    assert len(lines) == 400
    for number, line in enumerate(lines):
        fields = ["BAD", "", "", "bad"]
        if number != 7:
            fields = [f"LINE {number}", "0.5000", "0.5000", f"line {number}"]
        assert line.split("\t") == fields
    assert (tmp_path / "out" / "b.txt").read_text() == "LAST\t0.5000\t0.5000\tlast\n"
    assert "a.txt: 400 rows, 1 without an input\n" in capsys.readouterr().out


def test_the_same_command_again_does_what_is_missing(program, corpus, tmp_path):
    out = tmp_path / "out"
    assert program.main(arguments_of(corpus, out)) == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    (out / "b.txt").unlink()
    (out / ".b.txt.unfinished").write_text("half of a par")
    program.asked.clear()
    assert program.main(arguments_of(corpus, out)) == 0
    assert program.asked == ["last"]
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    program.asked.clear()
    assert program.main(arguments_of(corpus, out)) == 0
    assert program.asked == []


@pytest.mark.parametrize("fault", ["lost", "twice", "another order", "short"])
def test_a_part_whose_rows_are_not_all_there_once_is_not_written(
    program, corpus, tmp_path, monkeypatch, capsys, fault
):
    batches = program._batches

    def faulty(*arguments):
        pieces = [*batches(*arguments)]
        order = {"lost": [0, *range(2, len(pieces))], "twice": [0, 1, 1], "another order": [1, 0]}
        for number in order.get(fault, range(len(pieces))):
            batch = pieces[number]
            yield {name: one[: len(one) - (fault == "short")] for name, one in batch.items()}

    monkeypatch.setattr(program, "_batches", faulty)
    assert program.main(arguments_of(corpus, tmp_path / "out")) == 2
    assert "Run it again." in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["_translation.json"]


def test_a_part_that_changes_under_way_is_not_written(
    program, corpus, tmp_path, monkeypatch, capsys
):
    batches = program._batches

    def changing(*arguments):
        for number, batch in enumerate(batches(*arguments)):
            yield batch
            if number == 0:
                with open(corpus / "a.txt", "a") as file:
                    file.write("one more\n")

    monkeypatch.setattr(program, "_batches", changing)
    assert program.main(arguments_of(corpus, tmp_path / "out")) == 2
    assert "must not change while it is translated. Received: part=" in capsys.readouterr().err
    assert not (tmp_path / "out" / "a.txt").exists()


@pytest.mark.parametrize("others", [("--column", "other"), ("--prefix", "mt_")])
def test_a_directory_holds_the_parts_of_one_translation(program, corpus, tmp_path, capsys, others):
    assert program.main(arguments_of(corpus, tmp_path / "out")) == 0
    assert program.main(arguments_of(corpus, tmp_path / "out", *others)) == 2
    error = capsys.readouterr().err
    assert "with the same model and search. Received: out=" in error and "Choose another" in error


def test_parts_are_not_taken_for_their_own_translations(program, corpus, capsys):
    before = {path: path.read_bytes() for path in corpus.iterdir()}
    assert program.main(arguments_of(corpus, corpus)) == 2
    assert "`out` must not be the directory of a part" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in corpus.iterdir()} == before


def test_two_programs_do_not_write_one_directory(program, corpus, tmp_path, capsys):
    with program.owned(tmp_path / "out"):
        assert program.main(arguments_of(corpus, tmp_path / "out")) == 2
    assert "Only one process at a time" in capsys.readouterr().err


@pytest.mark.parametrize(
    "others, message",
    [
        (("--workers", 0), "`workers` must be an integer in .1, 10000.. Received: workers=0"),
        (("--cpus", 0), "Received: cpus=0.0"),
        (("--piece-kib", 10**9), "Received: piece_kib=1000000000"),
        (("--search", '{"beam": 1}'), "fields of SearchOptions. Received: beam"),
        (("none.txt",), "none.txt', which does not exist"),
    ],
)
def test_a_wrong_command_ends_in_one_line(program, corpus, tmp_path, capsys, others, message):
    assert program.main(arguments_of(corpus, tmp_path / "out", *others)) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert re.search(message, error)


def test_a_missing_package_and_a_damaged_card_end_in_one_line(
    program, corpus, tmp_path, capsys, monkeypatch
):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (corpus / "c.parquet").write_bytes(b"PAR1")
    assert program.main(arguments_of(corpus, tmp_path / "out")) == 2
    assert "Received: no module 'pyarrow" in capsys.readouterr().err
    (tmp_path / "out" / program.CARD).write_text("[1")
    assert program.main(arguments_of(corpus / "a.txt", tmp_path / "out")) == 2
    error = capsys.readouterr().err
    assert "must be unchanged. Received: path=" in error and error.count("\n") == 1


# With Ray and a model.


@pytest.fixture(scope="session")
def tiny(once):
    """An untrained model with short outputs: (its file, its answers)."""
    pytest.importorskip("ray", reason="needs Ray, of the extra offline")

    def write(path):
        import keras

        import keras_bahdanau as kb

        keras.utils.set_random_seed(0)
        vocabulary = kb.text.Subwords.train([*WORDS], 9, model_type="word")
        model = kb.presets.small(
            vocabulary, vocabulary, embedding_units=4, units=4, attention_units=4, dropout=0.0
        )
        search = kb.SearchOptions(beam_width=1, max_length=3)
        kb.Translator(vocabulary, model, vocabulary, search).save(path)

    return once("tiny.keras", write)


def sentence(number):
    """Return one of 1,000 sentences of one to four words."""
    numbers = [number * 7 % 1000 // 5**place % 5 for place in range(1 + number % 4)]
    return " ".join(WORDS[one] for one in numbers)


@pytest.fixture
def cluster():
    """Environment of Ray's processes and a mark in it, by which they are found and killed."""
    mark = f"keras_bahdanau_test={uuid.uuid4().hex}"
    name, value = mark.split("=")
    # Ray lowers its workers' priority; they would starve on a busy machine.
    yield {**os.environ, name: value, "RAY_worker_niceness": "0", "PYTHONPATH": str(ROOT)}, mark
    for number in processes(mark):
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)


def processes(mark, command=b""):
    """Yield the ids of running processes that have a mark in their environment."""
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark.encode() in (path / "environ").read_bytes():
                if command in (path / "cmdline").read_bytes():
                    yield int(path.name)


def started(corpus, out, model, environment, *others, cwd=None):
    command = [FOLDER / "ray_translate.py", corpus, "--model", model, "--out", out, *others]
    return subprocess.Popen(
        [sys.executable, *map(str, command)],
        env=environment,
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(process):
    output, errors = process.communicate(timeout=1800)
    assert process.returncode == 0, errors
    return output


def wait_until(condition, process=None, seconds=1800):
    """Wait until a condition holds; fail if the given process ends first."""
    end = time.monotonic() + seconds
    while not condition():
        assert process is None or process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.1)


def write_numbered(path, numbers):
    rows = ({"id": number, "text": sentence(number)} for number in numbers)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def check_numbered(path, numbers, expected):
    """Assert that a part holds these rows once each, in order, with their translations."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [row["id"] for row in rows] == [*numbers]
    for row in rows:
        text, score = expected[row["text"]]
        assert row["translation"] == text and row["score"] == pytest.approx(score, abs=1e-4)
        assert 0 < row["confidence"] <= 1


def expected_of(model):
    texts = sorted({sentence(number) for number in range(1000)})
    found = BatchTranslator(model)({"text": texts})
    return dict(
        zip(texts, zip(found["translation"], found["score"].tolist(), strict=True), strict=True)
    )


@pytest.mark.slow
def test_parts_of_each_kind_go_through_ray(tiny, tmp_path, cluster):
    pyarrow = pytest.importorskip("pyarrow", reason="needs pyarrow, of the extra offline")
    import pyarrow.parquet as parquet

    corpus, expected = tmp_path / "corpus", expected_of(tiny)
    corpus.mkdir()
    texts = [*map(sentence, range(300))]
    write_numbered(corpus / "a.jsonl", range(300))
    (corpus / "b.txt").write_text("".join(f"{text}\n" for text in texts))
    (corpus / "empty.txt").write_bytes(b"")
    table = pyarrow.table({"text": [*texts, None], "id": [*range(301)]})
    parquet.write_table(table, corpus / "c.parquet")
    environment, _ = cluster
    output = finished(started(corpus, tmp_path / "out", tiny, environment, "--piece-kib", 2))
    assert "901 rows in" in output and "1 without an input" in output
    check_numbered(tmp_path / "out" / "a.jsonl", range(300), expected)
    lines = (tmp_path / "out" / "b.txt").read_text().splitlines()
    assert [line.split("\t")[::3] for line in lines] == [[expected[one][0], one] for one in texts]
    assert (tmp_path / "out" / "empty.txt").read_bytes() == b""
    found = parquet.read_table(tmp_path / "out" / "c.parquet")
    assert found.select(["text", "id"]).equals(table)
    assert found["translation"].to_pylist() == [*(expected[one][0] for one in texts), ""]
    assert found["score"].null_count == found["confidence"].null_count == 1


PLANTED = (
    *("multiprocessing", "numbers", "json", "pickle", "runpy", "queue", "random", "tempfile"),
    *("numpy", "pandas", "pyarrow", "ray", "psutil", "keras", "sentencepiece", "ai_edge_litert"),
    *("keras_bahdanau", "parts", "line_parts", "sitecustomize"),
)


@pytest.mark.slow
def test_modules_of_the_current_directory_do_not_run_in_a_process_of_ray(tmp_path, cluster):
    pytest.importorskip("ray", reason="needs Ray, of the extra offline")
    (tmp_path / "a.txt").write_text("7 May 2021\n1 June 1999\n")
    for name in PLANTED:
        (tmp_path / f"{name}.py").write_text(
            f"import sys\nopen({str(tmp_path)!r} + '/ran', 'a').write({name!r} + str(sys.argv))\n"
        )
    environment, _ = cluster
    process = started("a.txt", "out", MODEL, environment, cwd=tmp_path)
    assert "2 rows in" in finished(process)
    ran = tmp_path / "ran"
    assert not ran.exists(), ran.read_text()
    texts = [
        line.partition("\t")[0] for line in (tmp_path / "out" / "a.txt").read_text().split("\n")
    ]
    assert texts[:2] == ["2021-05-07", "1999-06-01"]


@pytest.mark.slow
def test_an_error_of_a_worker_ends_the_program_in_one_line(tmp_path, cluster):
    pytest.importorskip("ray", reason="needs Ray, of the extra offline")
    write_numbered(tmp_path / "a.jsonl", range(10))
    (tmp_path / "model.tflite").write_bytes(b"no model")
    environment, _ = cluster
    model, out = tmp_path / "model.tflite", tmp_path / "out"
    process = started(tmp_path / "a.jsonl", out, model, environment)
    _, errors = process.communicate(timeout=1800)
    assert process.returncode == 2, errors
    assert errors.splitlines()[-1].startswith("error: A .tflite file must contain its card")
    assert not (out / "a.jsonl").exists()


@pytest.mark.slow
def test_killed_workers_and_a_killed_program_lose_and_double_nothing(tiny, tmp_path, cluster):
    corpus, out, (environment, mark) = tmp_path / "corpus", tmp_path / "out", cluster
    corpus.mkdir()
    parts = [("a.jsonl", range(50_000)), ("b.jsonl", range(50_000, 80_000))]
    parts.append(("c.jsonl", range(80_000, 100_000)))
    for name, numbers in parts:
        write_numbered(corpus / name, numbers)
    options = ("--piece-kib", 128, "--batch-size", 1024)

    def workers():
        return [*processes(mark, b"ray::MapWorker")]

    process = started(corpus, out, tiny, environment, *options)
    unfinished = out / ".a.jsonl.unfinished"
    wait_until(lambda: unfinished.exists() and unfinished.stat().st_size, process)
    (first,) = workers()
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: [*workers()] not in ([], [first]), process)
    wait_until((out / "a.jsonl").exists, process)
    wait_until((out / ".b.jsonl.unfinished").exists, process)
    process.kill()
    process.communicate()
    wait_until(lambda: not workers())
    assert not (out / "b.jsonl").exists()
    before = (out / "a.jsonl").stat()

    output = finished(started(corpus, out, tiny, environment, *options))
    assert "3 parts, 2 to translate" in output and "50,000 rows in" in output
    after = (out / "a.jsonl").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    expected = expected_of(tiny)
    for name, numbers in parts:
        check_numbered(out / name, numbers, expected)
    assert {path.name for path in out.iterdir()} == {"_translation.json", *dict(parts)}
