"""Drafts of unfinished exports never interfere with other exports and are eventually removed."""

import errno
import os
import subprocess
import sys

import pytest

from keras_bahdanau.exporters.litert.litert_exporter import LiteRTExporter
from keras_bahdanau.exporters.publishing import publish_version, reserved, unfinished

DRAFT = """
import sys
from pathlib import Path
from keras_bahdanau.exporters.publishing import unfinished

with unfinished(Path(sys.argv[1])) as draft:
    (draft / "variables").mkdir()
    (draft / "variables" / "half").write_text("of a model")
    print(draft, flush=True)
    sys.stdin.read()
"""

VERSIONS = """
import sys
from pathlib import Path
from keras_bahdanau.exporters.publishing import unfinished
from keras_bahdanau.exporters.publishing import publish_version

directory, name = Path(sys.argv[1]), sys.argv[2]
for number in range(20):
    with unfinished(directory / "1") as draft:
        version = draft / "version"
        version.mkdir()
        (version / "saved_model.pb").write_text(f"{name} {number}")
        print(publish_version(version, directory).name, f"{name} {number}")
"""


@pytest.fixture
def exporting(tmp_path):
    """Another process that is writing a draft next to `tmp_path / "model" / "1"`."""
    process = subprocess.Popen(
        [sys.executable, "-c", DRAFT, tmp_path / "model" / "1"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert "/.unfinished-" in process.stdout.readline()
        yield process
        process.kill()


def test_the_draft_of_another_export_is_left_alone(exporting, tmp_path):
    around = tmp_path / "model"
    (own,) = around.iterdir()
    with unfinished(around / "1") as draft:
        assert {*around.iterdir()} == {own, draft}
    assert [*around.iterdir()] == [own]
    assert (own / "variables" / "half").is_file()
    exporting.communicate()
    assert not list(tmp_path.iterdir())


def test_the_draft_of_a_killed_export_is_removed_by_the_next(exporting, tmp_path):
    exporting.kill()
    exporting.wait()
    (left,) = (tmp_path / "model").iterdir()
    with unfinished(tmp_path / "model" / "2") as draft:
        assert [*(tmp_path / "model").iterdir()] == [draft] != [left]
    assert not list((tmp_path / "model").iterdir())


def test_exports_at_the_same_time_get_a_version_each(tmp_path):
    """The version numbers have no gaps, and no export replaces another."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", VERSIONS, tmp_path, name], stdout=subprocess.PIPE, text=True
        )
        for name in "abc"
    ]
    told = "".join(process.communicate()[0] for process in processes)
    assert [process.returncode for process in processes] == [0, 0, 0]
    versions = dict(line.split(" ", 1) for line in told.splitlines())
    assert sorted(map(int, versions)) == [*range(1, 61)]
    for number, content in versions.items():
        assert (tmp_path / number / "saved_model.pb").read_text() == content
    assert len([*tmp_path.iterdir()]) == 60


def test_a_version_is_the_newest_when_it_is_named(tmp_path):
    (tmp_path / "7").mkdir()
    (tmp_path / "draft").mkdir()
    assert publish_version(tmp_path / "draft", tmp_path) == tmp_path / "8"


def test_a_number_taken_meanwhile_is_left_to_its_owner_on_windows_too(tmp_path, monkeypatch):
    """On Windows, the refusal looks like that of a directory without write permission."""
    (tmp_path / "draft").mkdir()
    rename = os.replace

    def replace(source, target):
        if target == tmp_path / "1":
            target.mkdir()
            raise PermissionError(errno.EACCES, "Access is denied")
        rename(source, target)

    monkeypatch.setattr(os, "replace", replace)
    assert publish_version(tmp_path / "draft", tmp_path) == tmp_path / "2"


def test_a_directory_without_permission_is_refused(tmp_path, monkeypatch):
    (tmp_path / "draft").mkdir()

    def replace(source, target):
        raise PermissionError(errno.EACCES, "Access is denied")

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(PermissionError):
        publish_version(tmp_path / "draft", tmp_path)


def test_one_file_has_one_export_at_a_time(tmp_path):
    places = {tmp_path / "new" / "model.tflite": LiteRTExporter()}
    with reserved(places):
        with pytest.raises(BlockingIOError, match="Received: path='.*model.tflite', which"):
            with reserved(places):
                pass
    assert not list(tmp_path.iterdir())


def test_a_file_that_another_program_wrote_meanwhile_is_kept(tmp_path):
    written, path = tmp_path / "draft", tmp_path / "model.tflite"
    written.write_text("ours")
    path.write_text("theirs")
    with pytest.raises(FileExistsError, match="must not exist yet. Received: path="):
        LiteRTExporter().publish(written, path)
    assert path.read_text() == "theirs"


def test_a_directory_that_is_no_draft_stays(tmp_path):
    other = tmp_path / ".unfinished-novel"
    other.mkdir()
    (other / "chapter").write_text("one")
    with unfinished(tmp_path / "1"):
        pass
    assert (other / "chapter").read_text() == "one"
