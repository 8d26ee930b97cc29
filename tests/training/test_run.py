import dataclasses
import json
import math
import os

import numpy as np
import pytest
from full_disk import full_disk
from sealing import flips, sealed_h5

from keras_bahdanau.files.integrity import write_sealed_json
from keras_bahdanau.files.whole_file import write_json
from keras_bahdanau.training import Progress, Run, TrainingOptions, TrainingPlan
from keras_bahdanau.training.data import TrainingData
from keras_bahdanau.training.plan import check_start

PAIRS, OTHERS = [("a", "x"), ("b", "y")], [("c", "z")]
DATA = TrainingData.build(PAIRS, OTHERS)


def begin(run, **options):
    run.begin(TrainingPlan(TrainingOptions(**options).resolved(), data=DATA))


@pytest.fixture
def run(tmp_path):
    run = Run(tmp_path / "run")
    begin(run, epochs=3)
    return run


def test_a_run_may_begin_in_a_new_or_empty_directory(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / ".unfinished-run.json").touch()  # left by a process killed while starting
    for name in ("new", "empty"):
        check_start(Run(tmp_path / name), TrainingOptions(), DATA)


@pytest.mark.parametrize("name", ["file", "directory"])
def test_a_run_does_not_begin_where_other_things_are(tmp_path, name):
    (tmp_path / "directory").mkdir()
    (tmp_path / "directory" / "thesis.tex").touch()
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError, match=f"Received: out='.*{name}', which contains other"):
        check_start(Run(tmp_path / name), TrainingOptions(), DATA)


def test_a_run_has_one_owner_which_leaves_nothing_behind(tmp_path):
    run = Run(tmp_path / "new")
    with run.owned(pytest.fail):
        check_start(run, TrainingOptions(), DATA)
        with pytest.raises(BlockingIOError, match=f"translator.keras', .* process {os.getpid()}"):
            with Run(tmp_path / "new").owned():
                pass
    assert not list(tmp_path.iterdir())


def test_what_a_kill_left_is_removed_by_the_next_owner(run):
    for name in (".unfinished-checkpoint.weights.h5", ".translator.4711.keras"):
        (run.directory / name).touch()
    run.translator.touch()
    with run.owned(pytest.fail):
        pass
    assert {path.name for path in run.directory.iterdir()} == {"run.json", "translator.keras"}


def test_a_full_disk_leaves_the_last_history_and_nothing_unfinished(run):
    write_json(run.history, [{"loss": 1.0}])
    with full_disk(10), pytest.raises(OSError, match="Received: path='.*history.json'"):
        write_json(run.history, [{"loss": 0.5}] * 9)
    assert json.loads(run.history.read_text()) == [{"loss": 1.0}]
    assert {path.name for path in run.directory.iterdir()} == {"run.json", "history.json"}


def test_numbers_that_json_does_not_have_become_null(tmp_path):
    write_json(tmp_path / "scores.json", {"perplexity": float("inf"), "bands": [(1, float("nan"))]})
    found = json.loads((tmp_path / "scores.json").read_text())
    assert found == {"perplexity": None, "bands": [[1, None]]}


def test_a_draft_of_an_export_in_its_directory_stops_no_run(run):
    draft = run.directory / ".unfinished-1-model.tflite"
    draft.mkdir()
    with run.owned():
        assert draft.is_dir()


def test_a_run_goes_on_with_the_same_options_and_pairs_only(run):
    check_start(run, TrainingOptions(epochs=3), DATA)
    with pytest.raises(ValueError, match=r"epochs=3. Received: epochs=4. Give the same"):
        check_start(run, TrainingOptions(epochs=4), DATA)
    with pytest.raises(ValueError, match="with the data it began with. Received: training"):
        check_start(run, TrainingOptions(epochs=3), TrainingData.build(PAIRS, PAIRS))


@pytest.mark.parametrize("progress", [{"epoch": 3, "waited": 0}, {"epoch": 2, "waited": 5}])
def test_a_run_is_over_after_its_last_epoch_or_when_patience_ends(run, progress):
    with sealed_h5(run.checkpoint) as file:
        file["progress"] = json.dumps(progress)
    with pytest.raises(FileExistsError, match=f"run ended after {progress['epoch']} epochs"):
        check_start(run, TrainingOptions(epochs=3), DATA)


def test_a_run_says_by_itself_when_it_is_over(run, tmp_path):
    assert not Run(tmp_path / "new").is_over()
    assert not run.is_over(), "it has no checkpoint"
    for epoch, expected in ((2, False), (3, True)):
        with sealed_h5(run.checkpoint) as file:
            file["progress"] = Progress(epoch=epoch).dumps()
        assert run.is_over() is expected
    begin(run, epochs=9, minutes=10)
    for seconds, expected in ((450.0, False), (451.0, True)):  # 150 s per epoch
        with sealed_h5(run.checkpoint) as file:
            file["progress"] = Progress(epoch=3, seconds=seconds).dumps()
        assert run.is_over() is expected


@pytest.mark.parametrize("options", [None, {}, {"epochs": "3", "patience": 1}])
def test_a_card_that_does_not_say_when_a_run_is_over_is_named(run, options):
    with sealed_h5(run.checkpoint) as file:
        file["progress"] = Progress(epoch=1).dumps()
    write_sealed_json(run.card, {"options": options})
    with pytest.raises(ValueError, match="must be intact. Received: path='.*run.json'"):
        run.is_over()


def test_a_run_is_over_before_an_epoch_that_would_last_too_long():
    limits = 9, 5, 10
    # Each epoch took 150 s or slightly more.
    in_time, late = (Progress(epoch=3, seconds=seconds) for seconds in (450.0, 451.0))
    assert not in_time.end(*limits)
    assert late.end(*limits)
    assert not dataclasses.replace(late, step=7).end(*limits), "one is begun"
    assert not late.end(9, 5)
    assert not Progress(epoch=0, seconds=900.0).end(*limits), "one there must be"


def test_a_run_that_a_callback_stopped_is_over():
    assert not Progress(epoch=1).end(9, 5)
    assert Progress(epoch=1, stopped=True).end(9, 5)


def test_progress_counts_epochs_and_the_wait_for_a_better_one():
    progress = Progress(step=7)
    for perplexity in (5.0, 4.0, 4.0, 4.5):
        progress.end_epoch({"val_perplexity": perplexity})
    assert (progress.epoch, progress.step, progress.best, progress.waited) == (4, 0, 4.0, 2)
    assert [logs["val_perplexity"] for logs in progress.history] == [5.0, 4.0, 4.0, 4.5]
    assert Progress.loads(progress.dumps()) == progress


def test_the_perplexity_decides_between_equal_values():
    """The values are negated percentages of exact texts; epochs 3 and 5 become the best."""
    progress, waits = Progress(), []
    for exact, perplexity in [(0, 9.0), (0, 9.5), (0, 7.0), (-5, 8.0), (-5, 6.0), (-5, 6.0)]:
        progress = Progress.loads(progress.dumps())  # as in a resumed run
        progress.end_epoch({"val_perplexity": perplexity}, exact)
        waits.append(progress.waited)
    assert waits == [0, 1, 0, 0, 0, 1]
    assert (progress.best, progress.best_perplexity, progress.best_epoch) == (-5, 6.0, 5)


def test_a_metric_without_a_number_leaves_the_choice_to_the_perplexity():
    progress = Progress()
    for value, perplexity in [(math.nan, 9.0), (math.nan, 8.0), (50.0, 9.0), (math.nan, 1.0)]:
        progress.end_epoch({"val_perplexity": perplexity}, value)
    assert (progress.best, progress.best_perplexity, progress.best_epoch) == (50.0, 9.0, 3)


def test_what_is_not_a_number_is_never_the_best():
    progress = Progress()
    for perplexity in (math.nan, math.inf, 5.0):
        progress.end_epoch({"val_perplexity": perplexity})
    assert progress.best == 5.0
    of_an_older_version = Progress(best=math.nan)
    assert of_an_older_version.is_better(7.0) and not of_an_older_version.is_better(math.nan)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_run_does_not_resume_from_weights_that_diverged(run, value):
    with sealed_h5(run.checkpoint) as file:
        file["progress"] = Progress(epoch=1).dumps()
        file["layers/decoder/vars/0"] = np.array([[1.0, value]], np.float32)
    with pytest.raises(ValueError, match="Received: path='.*h5', with NaN .* 'layers/decoder/va"):
        check_start(run, TrainingOptions(epochs=3), DATA)


def test_progress_with_a_field_of_a_newer_version_is_named(run):
    with sealed_h5(run.checkpoint) as file:
        file["progress"] = json.dumps({"epoch": 1, "telepathy": True})
    with pytest.raises(ValueError, match="must be intact. Received: path='.*h5' .*telepathy"):
        check_start(run, TrainingOptions(epochs=3), DATA)


@pytest.mark.parametrize("name", ["run.json", "checkpoint.weights.h5"])
def test_a_damaged_file_of_a_run_is_named(run, name):
    (run.directory / name).write_text("{")
    with pytest.raises(ValueError, match=f"must be intact. Received: path='.*{name}'"):
        check_start(run, TrainingOptions(epochs=3), DATA)


@pytest.mark.parametrize("name", ["run.json", "checkpoint.weights.h5"])
def test_a_flipped_bit_of_a_run_is_named_with_its_file(run, name):
    with sealed_h5(run.checkpoint) as file:
        file["progress"] = Progress(epoch=1).dumps()
    for position in flips(run.directory / name, 20, np.random.default_rng(0)):
        with pytest.raises(ValueError, match=f"must be intact. Received: path='.*{name}'"):
            check_start(run, TrainingOptions(epochs=3), DATA)
            raise AssertionError(position)
    check_start(run, TrainingOptions(epochs=3), DATA)


@pytest.mark.parametrize(
    "field, values",
    [
        ("epoch", [None, "x", -1, 1.5, True, 10**30]),
        ("step", [None, [], -1]),
        ("waited", ["x", {}]),
        ("best", ["x", []]),
        ("seconds", [None, -1.0, math.inf]),
        ("stopped", [None, 0]),
        ("history", [None, {}, [3]]),
    ],
)
def test_progress_that_can_not_be_is_named(run, field, values):
    for value in values:
        with sealed_h5(run.checkpoint) as file:
            file["progress"] = json.dumps({"epoch": 1, field: value})
        with pytest.raises(ValueError, match=f"must be intact. Received: path='.*h5' .{field}="):
            check_start(run, TrainingOptions(epochs=3), DATA)


@pytest.mark.parametrize("content", ["[" * 100_000, "[]", "3", '{"options": 3}', '{"data": {}}'])
def test_a_card_of_another_form_is_named(run, content):
    run.card.write_text(content)
    with pytest.raises(ValueError, match="must be intact. Received: path='.*run.json'"):
        check_start(run, TrainingOptions(epochs=3), DATA)


def test_a_run_begun_before_an_option_existed_goes_on(run):
    card = json.loads(run.card.read_text())
    for name in ("preset", "attention", "optimizer", "l2"):
        del card["options"][name]
    write_sealed_json(run.card, card)
    check_start(run, TrainingOptions(epochs=3), DATA)
    with pytest.raises(ValueError, match="attention='bahdanau'. Received: attention='dot'"):
        check_start(run, TrainingOptions(epochs=3, attention="dot"), DATA)


def test_a_run_keeps_what_its_preset_said_when_it_began(run):
    card = json.loads(run.card.read_text())
    assert card["options"]["units"] == 512 and card["options"]["preset"] == "small"
    card["options"]["units"] = 500
    write_sealed_json(run.card, card)
    with pytest.raises(ValueError, match="units=500. Received: no units. Give the same"):
        check_start(run, TrainingOptions(epochs=3), DATA)


def test_a_run_of_a_newer_version_is_named(run):
    card = json.loads(run.card.read_text())
    card["options"]["telepathy"] = True
    write_sealed_json(run.card, card)
    with pytest.raises(ValueError, match="must be intact. Received: path='.*run.json' .*telepathy"):
        check_start(run, TrainingOptions(epochs=3), DATA)


def test_alignments_of_the_validation_pairs_alone_are_refused(tmp_path):
    run, data = Run(tmp_path / "run"), DATA._replace(valid_alignments=[{(0, 0)}])
    with pytest.raises(ValueError, match="needs? alignments for the training pairs"):
        check_start(run, TrainingOptions(guided_alignment=0.1), data)
    with pytest.raises(ValueError, match="Received: only valid_alignments. Give both"):
        check_start(run, TrainingOptions(), data)


def test_a_batch_of_tokens_that_is_left_out_is_named(tmp_path):
    run = Run(tmp_path / "run")
    begin(run, preset="characters", batch_tokens=2000)
    options = TrainingOptions(preset="characters")
    with pytest.raises(ValueError, match=r"resumes with the options it began with, batch_tokens=2"):
        check_start(run, options, DATA)


@pytest.mark.parametrize(
    ("before", "now", "message"),
    [
        # The encoder's width was not given, so it follows from the units.
        (
            {"units": 16},
            {"units": 32},
            r"began with, units=16. Received: units=32. Give the same",
        ),
        (
            {"units": 16, "seed": 1},
            {"seed": 2, "units": 32},
            r"began with, units=16, seed=1. Received: units=32, seed=2. Give the same",
        ),
        ({"units": 16}, {}, "began with, units=16. Received: no units. Give the same"),
        (
            {"preset": "characters"},
            {"preset": "small"},
            "began with, preset='characters'. Received: preset='small'. Give the same",
        ),
        (
            {"preset": "characters", "units": 16},
            {"preset": "small", "units": 8},
            "began with, units=16. Received: units=8. Give the same",
        ),
        ({}, {"learning_rate": 1e-3}, r"began with, learning_rate=0.\d+. Received: learning_rate"),
    ],
)
def test_a_run_names_the_options_that_changed_and_none_that_follows(tmp_path, before, now, message):
    run = Run(tmp_path / "run")
    begin(run, **before)
    with pytest.raises(ValueError, match=message):
        check_start(run, TrainingOptions(**now), DATA)
