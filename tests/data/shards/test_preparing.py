"""Preparing a corpus gives the ids of its text, regardless of killed processes and worker count."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import toy_pairs

from keras_bahdanau.data import Preparation, open_corpus, prepare, survey
from keras_bahdanau.data.readers.lines import Unreadable
from keras_bahdanau.data.shards import preparing
from keras_bahdanau.data.shards.ordered_work import WorkerPool, report_rate
from keras_bahdanau.files.ownership import owned
from keras_bahdanau.text import Subwords

SETTINGS = {"vocabulary_size": 40, "shard_pairs": 7, "sample": 50}
PAIRS = [*toy_pairs(), ("", "leer"), ("one", "one"), *toy_pairs()[::2], ("six", "sechs\ufffd")]
KEPT = toy_pairs()
PROGRAM = """
from keras_bahdanau.data import Preparation, open_corpus, prepare
if __name__ == "__main__":
    prepare(open_corpus({corpus!r}), {out!r}, Preparation(**{settings}), workers={workers})
"""


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{one}\t{other}\n" for one, other in PAIRS))
    return open_corpus(path)


def prepared(corpus, out, workers=1, say=lambda line: None, **settings):
    return prepare(corpus, out, Preparation(**{**SETTINGS, **settings}), workers=workers, say=say)


def content_of(directory):
    files = [path for path in directory.rglob("*") if path.is_file()]
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}


def rows_of(shards, side):
    rows = [shards.shard(number)[side] for number in range(len(shards.entries))]
    return [row.tolist() for one in rows for row in np.split(one.flat(), one.lengths.cumsum())[:-1]]


@pytest.mark.slow
def test_the_vocabulary_is_the_same_in_any_order_of_the_corpus(tmp_path):
    rng, letters = np.random.default_rng(0), list("abcdefghij")
    words = ["".join(rng.choice(letters, size)) for size in rng.integers(2, 7, 60)]
    pairs = [(" ".join(rng.choice(words, 5)), " ".join(rng.choice(words, 5))) for _ in range(300)]
    found = []
    for number in range(3):
        path = tmp_path / f"{number}.tsv"
        path.write_text("".join(f"{one}\t{other}\n" for one, other in pairs))
        settings = {"model_type": "unigram", "vocabulary_size": 90}
        shards = prepared(open_corpus(path), tmp_path / f"out-{number}", **settings)
        found.append(shards.target.tokens(range(shards.target.vocabulary_size)).tolist())
        rng.shuffle(pairs)
    assert found[0] == found[1] == found[2]


def test_the_ids_are_those_of_the_pairs_that_are_kept(corpus, tmp_path):
    shards = prepared(corpus, tmp_path / "out")
    shards.check()
    assert len(shards) == len(KEPT)
    for side, subwords in enumerate((shards.source.subwords, shards.target)):
        expected = subwords.encode([pair[side] for pair in KEPT])
        assert rows_of(shards, side) == [row.tolist() for row in expected]
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["dropped"] == {
        **{"empty": 1, "broken": 1, "long": 0, "ratio": 0, "copy": 1, "script": 0},
        "duplicate": len(PAIRS) - len(KEPT) - 3,
    }
    first = len(KEPT) + 3
    expected = [[first + row, *toy_pairs()[2 * row]] for row in range(3)]
    assert report["examples"]["duplicate"] == expected
    assert {*content_of(tmp_path / "out")} == {
        *("card.json", "report.json"),
        *(f"{one['name']}/{file}" for one in shards.entries for file in one["sha256"]),
    }


def test_a_survey_reports_the_same_and_writes_nothing(corpus, tmp_path):
    before = content_of(tmp_path)
    report = survey(corpus, Preparation(**SETTINGS), workers=1, say=lambda line: None)
    assert (report.pairs, report.kept) == (len(PAIRS), len(KEPT))
    assert content_of(tmp_path) == before


@pytest.mark.slow
def test_filters_can_be_switched_off(corpus, tmp_path):
    off = {"drop_empty": False, "drop_broken": False, "max_characters": 0, "max_ratio": 0}
    off |= {"drop_copies": False, "drop_duplicates": False}
    shards = prepared(corpus, tmp_path / "out", **off)
    assert len(shards) == len(PAIRS)
    assert rows_of(shards, 0)[len(KEPT)] == []  # an empty source gets no end token


def test_vocabularies_may_be_given(corpus, tmp_path):
    one, other = Subwords.train_pair(KEPT, 30, joint=False)
    shards = prepare(corpus, tmp_path / "out", vocabularies=(one, other), workers=1, say=str)
    assert (shards.source.subwords, shards.target) == (one, other)


def test_the_sample_is_of_different_pairs_and_symbols_are_tokens(corpus, tmp_path):
    told = []
    shards = prepared(corpus, tmp_path / "out", say=told.append, symbols="<2de>,<2fr>")
    assert "learning the vocabulary from 50 pairs" in told
    row = shards.target.encode(["<2fr> one"])[0]
    assert shards.target.tokens(row)[0] == "▁<2fr>"


def test_what_was_killed_resumes_to_the_same_shards(corpus, tmp_path):
    killed_and_resumed(corpus, tmp_path, workers=1)


def test_a_file_that_is_unreadable_for_the_time_being_loses_nothing(corpus, tmp_path, monkeypatch):
    def stale(*_):
        raise Unreadable("A text file must be readable. Received: path='pairs.tsv' (stale)")

    with monkeypatch.context() as patch:
        patch.setattr(preparing, "find_repeated", stale)
        with pytest.raises(Unreadable):
            prepared(corpus, tmp_path / "out")
    told = []
    prepared(corpus, tmp_path / "out", say=told.append)
    assert "resuming" in told


@pytest.mark.slow
def test_several_processes_that_were_killed_resume_to_the_same_shards(corpus, tmp_path):
    killed_and_resumed(corpus, tmp_path, workers=2)


def killed_and_resumed(corpus, tmp_path, workers):
    prepared(corpus, tmp_path / "whole")
    program = PROGRAM.format(
        corpus=corpus.paths[0], out=str(tmp_path / "out"), settings=SETTINGS, workers=workers
    )
    draft = tmp_path / ".preparing-out"
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.DEVNULL)
    while len(done := [*draft.glob("entries/0*.json")]) < 3 and process.poll() is None:
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert len(done) >= 3 and not (tmp_path / "out").exists()
    first, second = (draft / f"0000{number}" / "target.ids.npy" for number in (0, 1))
    second.write_bytes(second.read_bytes()[:-1] + b"\x09")
    (draft / "scans" / "00001.npz").write_bytes(b"PK")
    kept = first.stat().st_ino
    told = []
    shards = prepared(corpus, tmp_path / "out", workers, told.append)
    assert "resuming" in told and not draft.exists()
    assert content_of(tmp_path / "out") == content_of(tmp_path / "whole")
    assert (shards.directory / "00000" / first.name).stat().st_ino == kept


@pytest.mark.slow
def test_two_processes_write_what_one_writes(corpus, tmp_path):
    for workers in (1, 2):
        prepared(corpus, tmp_path / str(workers), workers)
    assert content_of(tmp_path / "1") == content_of(tmp_path / "2")


def test_what_was_begun_with_other_settings_is_left_alone(corpus, tmp_path):
    def stop(line):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prepared(corpus, tmp_path / "out", say=stop)
    with pytest.raises(ValueError, match="settings that differ from those in .*/.preparing-out'"):
        prepared(corpus, tmp_path / "out", max_ratio=2)
    assert len(prepared(corpus, tmp_path / "out")) == len(KEPT)


def test_an_output_has_one_owner_and_is_new(corpus, tmp_path):
    with owned(tmp_path / "out"), pytest.raises(BlockingIOError):
        prepared(corpus, tmp_path / "out")
    (tmp_path / "out").mkdir()
    with pytest.raises(FileExistsError, match="Received: out="):
        prepared(corpus, tmp_path / "out")


@pytest.mark.parametrize(
    "text, settings, reason",
    [
        ("a\tb\nc\n", {}, "whose line 2 has 1"),
        ("a\tb\n", {"source_script": "Greek"}, "Received: 1 pairs, none of which does"),
    ],
)
def test_after_bad_input_nothing_is_left(tmp_path, text, settings, reason):
    (tmp_path / "p.tsv").write_text(text)
    with pytest.raises(ValueError, match=reason):
        prepared(open_corpus(tmp_path / "p.tsv"), tmp_path / "new" / "out", **settings)
    assert [*content_of(tmp_path)] == ["p.tsv"] and not (tmp_path / "new").exists()


def die(_):
    import os

    os._exit(1)


def double(job):
    print("what a function prints is no answer")
    if job == 3:
        raise FileNotFoundError(2, "none", "x")
    if job == 4:
        raise UnicodeDecodeError("utf-8", b"y", 0, 1, "z")
    return sys.path, 2 * job


@pytest.mark.slow
def test_workers_answer_in_order_and_their_errors_are_raised():
    with WorkerPool(2) as workers:
        assert [result for _, result in workers.results(double, range(3))] == [0, 2, 4]
        with pytest.raises(FileNotFoundError, match="x"):
            list(workers.results(double, [3]))
        with pytest.raises(UnicodeDecodeError, match="z"):
            list(workers.results(double, [4]))
        assert [result for _, result in workers.results(double, [7])] == [14]
        with pytest.raises(AttributeError, match="lambda"):  # a lambda can't be pickled
            list(workers.results(lambda job: job, [0]))


PLANTED = "multiprocessing", "numpy", "json", "pickle", "concurrent", "runpy", "keras"
PREPARE = """
import sys
{path}
from keras_bahdanau.cli import main
main(["prepare", "p.tsv", "--workers", "2", "--shard-pairs", "1000", "--out", "out"])
"""


@pytest.mark.slow
@pytest.mark.parametrize("path", ["del sys.path[0]", "sys.path[0] = sys.argv[1]"])
def test_modules_of_the_current_directory_do_not_run_in_a_worker(tmp_path, path):
    lines = (f"{n} a b c\t{n} d e f\n" for n in range(3000))
    (tmp_path / "p.tsv").write_text("".join(lines))
    for name in PLANTED:
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w'); 1 / 0")
    empty = tmp_path / "program"
    empty.mkdir()
    command = [sys.executable, "-c", PREPARE.format(path=path), str(empty)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out").is_dir() and not (tmp_path / "ran").exists()


SCRIPT = """
import beside
from keras_bahdanau.data.shards.ordered_work import WorkerPool

class Own:
    pass

def work(job):
    return isinstance(job, Own), beside.VALUE

if {guard}:
    with WorkerPool(2) as workers:
        print(*workers.results(work, [Own(), Own(), 3]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "guard, answer",
    [
        ("__name__ == '__main__'", "(True, 7) (True, 7) (False, 7)\n"),
        ("True", "A program must be importable without starting work in workers"),
    ],
)
def test_workers_know_the_classes_of_the_program(tmp_path, guard, answer):
    (tmp_path / "beside.py").write_text("VALUE = 7")
    (tmp_path / "program.py").write_text(SCRIPT.format(guard=guard))
    command = [sys.executable, "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert answer in done.stdout + done.stderr


HELD = """
from keras_bahdanau.data.shards.ordered_work import WorkerPool
from test_preparing import wait
with WorkerPool(2) as workers:
    for pid in workers.results(wait, [0, 0, 60, 60]):
        print(pid, flush=True)
"""


def wait(seconds):
    time.sleep(seconds)
    return os.getpid()


@pytest.mark.slow
def test_workers_end_with_a_parent_that_is_killed():
    path = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    environment = {**os.environ, "PYTHONPATH": path}
    command = [sys.executable, "-c", HELD]
    parent = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment)
    with parent:
        workers = {int(parent.stdout.readline()) for _ in range(2)}
        parent.kill()
    until = time.monotonic() + 10
    while any(map(is_running, workers)):
        assert time.monotonic() < until
        time.sleep(0.1)


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")  # a zombie process is not at work
    return not stat.exists() or ") Z" not in stat.read_text()


@pytest.mark.slow
def test_a_process_that_dies_is_told():
    with (
        WorkerPool(2) as workers,
        pytest.raises(RuntimeError, match="Received: a process that was killed"),
    ):
        list(workers.results(die, range(3)))


def test_progress_has_a_rate():
    told, times = [], iter([0.0, 4.0, 11.0, 12.0, 20.0])
    results = list(report_rate([3, 8, 1], int, "read", told.append, clock=lambda: next(times)))
    assert results == [3, 8, 1]
    assert told == ["11 pairs read, 1 per second", "12 pairs read in 20 s, 1 per second"]
    told, times = [], iter([0.0, 5.0, 11.0, 20.0, 20.0])
    list(report_rate([3, 8, 1], int, "read", told.append, clock=lambda: next(times), total=671))
    assert told[0] == "11 pairs read, 1.0 per second, 11 min left"  # 660 seconds
