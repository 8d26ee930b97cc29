"""The driver of the character tasks: its training commands, the scores of peers, and its tables."""

import gzip
import itertools
import json
from pathlib import Path

import pytest

import keras_bahdanau as kb
from keras_bahdanau import cli
from keras_bahdanau.data.readers.table import parse_columns
from keras_bahdanau.evaluation.corpus_metrics import metrics_of

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parents[2] / "experiments" / "small_sequences"
TINY = (
    "--units 24 --embedding-units 16 --attention-units 16 --epochs 1 --epoch-steps 4 "
    "--batch-sentences 8 --ema-momentum 0.5 --dropout 0 --learning-rate 0.01"
)


def result(task, system, seed, score, metric="ser", **more):
    return {"task": task, "system": system, "seed": seed, "dev": {metric: score}, **more}


def row(report, name):
    """Return the cells of the first table row whose first cell is `name`."""
    lines = (line.strip("| ").split(" | ") for line in report.splitlines() if line.startswith("|"))
    return next([cell.strip() for cell in cells] for cells in lines if cells[0].strip() == name)


def test_each_task_has_a_name_of_its_own_and_figures_belong_to_tasks(example):
    tasks = example("tasks")
    names = [task.name for task in tasks.ALL]
    groups, kinds = ({getattr(task, name) for task in tasks.ALL} for name in ("group", "kind"))
    assert len({*names}) == len(names) == 1 + 21 + 5 + 1 + 16
    assert not {*names} & kinds and kinds == {*tasks.KINDS}
    assert {*tasks.PUBLISHED} <= {*names} | groups
    files = [(task.train, task.dev) for task in tasks.ALL]
    assert len({train for train, _ in files}) == len(files)
    assert not any("test" in path for path in itertools.chain(*files))
    for task in tasks.ALL:
        parse_columns(task.columns)
        metrics_of(task.metrics)


def test_tasks_are_chosen_by_name_group_and_example(example):
    chosen = example("tasks").chosen
    assert [task.name for task in chosen("ar2en,ice")] == ["ice", "ar2en"]
    assert len(chosen("sigmorphon-2021-low,transliterate")) == 10 + 6
    with pytest.raises(ValueError, match="Received: klingon"):
        chosen("ice,klingon")


@pytest.mark.parametrize("setting", ["preset", "soft", "small", "hard", "small-copy"])
def test_train_takes_the_options_of_each_setting(example, setting, tmp_path, capsys):
    tasks = example("tasks")
    assert {"preset", setting} <= {*tasks.SETTINGS}
    options = ("--preset", "characters", *tasks.SETTINGS[setting])
    missing = str(tmp_path / "missing.tsv")
    with pytest.raises(SystemExit) as ended:
        cli.main(["train", missing, "--columns", tasks.PAIRS, *options, "--out", str(tmp_path)])
    assert ended.value.code and "missing.tsv" in capsys.readouterr().err  # the only error so far


def test_a_word_is_scored_once_with_the_nearest_of_its_pronunciations(example):
    pairs = [
        *(("read", "R IY D"), ("read", "R EH D"), ("red", "R EH D")),
        ("dog", "D AO G"),
    ]
    found = example("results").scored(
        pairs, ["R EH D", "R EH D", "R IY D", "D AO G"], ("ser", "per", "top5")
    )
    assert found["sources"] == 3 and "top5" not in found
    assert found["ser"] == pytest.approx(100 / 3)  # only "red" is wrong
    assert found["per"] == pytest.approx(100 / 9)
    low, high = found["ser_interval"]
    assert low <= found["ser"] <= high


def test_a_report_has_means_of_seeds_and_of_whole_groups(example):
    tasks, tables = example("tasks"), example("tables")
    low = [task.name for task in tasks.ALL if task.group == "sigmorphon-2021-low"]
    found = []
    for place, name in enumerate(low):
        for seed, score in ((1, 10.0 + place), (2, 12.0 + place)):
            size = {"tflite": 412_345, "keras": 2_000_000}
            scores = {"ser": score + 0.5, "ser_interval": [score - 4, score + 4], "per": 3.21}
            more = {"tflite": scores, "bytes": size, "minutes": 5.0}
            if seed == 2:  # the published seed
                more |= {"published": True, "milliseconds": {"beam": 0.312}}
                more |= {"programs": {"C++": {"greedy": 0.471}, "Node": {"suggestions": 1.2}}}
            found.append(result(name, "preset", seed, score, **more))
        found.append(result(name, "preset", "ensemble", 9.0, minutes=5.0))
        found.append(result(name, "phonetisaurus", 0, 30.0, minutes=5.0))
    found.append(result("wd-russian", "preset", 1, 61.5, "exact", minutes=7.0, bytes=size))
    report = tables.report(found)
    summary = report.split("\n\n")[2]
    assert summary == tables.summary(found)
    few = "phonemes of 800 words, ten languages, mean"
    assert row(summary, few) == [few, "WER", "24.1", "", "30.0", "14.5", "15.5", "9.0"]
    ice = ["ice", "WER", "5", "12", "30.0", "12.0", "13.0", "9.0"]  # the third in its group
    assert row(report, "ice") == ice
    mean = ["**sigmorphon-2021-low**, mean", "WER", "", "24.1", "30.0", "14.5", "15.5", "9.0"]
    assert row(report, mean[0]) == mean
    assert row(report, "wd-russian") == ["wd-russian", "exact", "7", "60", "", "61.5"]
    sizes = report.split("\n\n")[4]
    cells = row(sizes, "ice")
    assert cells[:8] == ["ice", "preset", "WER", "13.0", "13.5", "8", "412", "2000"]
    assert cells[8:] == ["", "0.31"]
    programs = report.split("\n\n")[6]
    assert row(programs, "ice") == ["ice", "preset", "8", "0.47", "", "", "1.20"]
    about, table = report.split("\n\n")[7:9]
    assert about.startswith("Scores of the published files")
    cells = ["ice", "preset", "2", "WER", "14.5", "10.0 to 18.0", "3.2"]
    assert row(table, "ice")[: len(cells)] == cells
    assert "best system of SIGMORPHON 2021" in report and "Toshniwal" not in report
    part = tables.report([one for one in found if one["task"] == "ice"])
    assert "ten languages" not in part and "**, mean" not in part  # for an incomplete group
    assert tables.report([]) == "There are no results yet.\n"


def test_the_page_of_all_results_is_that_of_the_files(example):
    found, tables = example("results").Results(FOLDER / "results.jsonl").read(), example("tables")
    assert (FOLDER / "RESULTS.md").read_text("utf-8") == tables.report(found)
    assert tables.summary(found) in (FOLDER / "README.md").read_text("utf-8")


def test_a_summary_has_the_best_of_the_peers_models_by_their_means(example):
    names = [task.name for task in example("tasks").chosen("inflection-medium")]
    found = [
        result(name, f"yoyodyne-{model}", 1, score + 10 * place, "exact")
        for model, score in (("soft", 7), ("pointer", 9), ("hard", 2))
        for place, name in enumerate(names)
    ]
    found.append(result("eng_us", "yoyodyne-soft", 1, 50.0))
    found.append(result("eng_us", "yoyodyne-hard", 1, 0.0))
    summary = example("tables").summary(found)
    mean = "inflection, 1,000 forms, eight languages, mean"
    assert row(summary, mean) == [mean, "exact", "", "44.0"]
    english = "American English, phonemes of 33,344 words"
    assert row(summary, english) == [english, "WER", "41.94", "0.0"]


def test_soft_hard_and_copying_stand_side_by_side_at_each_size(example):
    found = example("results").Results(FOLDER / "comparison.jsonl").read()
    tables = example("tables")
    report = tables.report(found)
    scores = {(one["task"], one["system"]): one for one in found}
    for task, metric in (("ice", "ser"), ("turkish-medium", "exact"), ("turkish-high", "exact")):
        for kind in ("soft", "hard", "copy"):
            one = scores[task, f"small-{kind}"]
            cells = [f"{one[part][metric]:.1f}" for part in ("dev", "tflite")]
            cells = [task, f"small-{kind}", tables.UNITS[metric], *cells]
            assert f"| {' | '.join(cells)} |" in report


def test_a_figure_that_is_recalled_says_so(example):
    tables = example("tables")
    more = {"minutes": 9.0, "bytes": {"tflite": 1, "keras": 1}}
    found = [
        result(one.name, "preset", 1, 95.0, "exact", **more)
        for one in example("tasks").chosen("inflection-high")
    ]
    report = tables.report(found)
    assert row(report, "**inflection-high**, mean")[3] == "95.6 (recalled)"
    assert "95.6 (Transformer, mean of 52 languages; recalled)" in report


def test_settings_stand_side_by_side_where_there_are_two(example):
    tables, more = example("tables"), {"minutes": 9.0, "bytes": {"tflite": 1, "keras": 1}}
    found = [
        result("ice", name, 1, score, **more) for name, score in (("preset", 20), ("hard", 18))
    ]
    found.append(result("gre", "preset", 1, 22, **more))
    settings = tables.report(found).split("\n\n")[4]  # after those of scores and sizes
    assert settings.splitlines()[0] == "| task |  | preset | hard |"
    assert settings.splitlines()[2:] == ["| ice | WER | 20.0 | 18.0 |"]


def test_yoyodyne_gets_columns_separators_and_time_of_the_task(example):
    peers, tasks = example("peers"), example("tasks").TASKS
    russian, turkish = (
        peers.config("yoyodyne-hard", tasks[name], 3, minutes, Path("x"))
        for name, minutes in (("wd-russian", 90), ("turkish-high", 1.5))
    )
    columns = {"source_col": 1, "target_col": 2, "features_col": 0, "target_sep": " "}
    assert columns.items() <= russian["data"].items()
    assert {"features_col": 3, "target_sep": ""}.items() <= turkish["data"].items()
    assert [one["trainer"]["max_time"] for one in (russian, turkish)] == [
        *("00:01:30:00", "00:00:01:30"),
    ]
    encoders = [one["model"]["init_args"].get("features_encoder") for one in (russian, turkish)]
    assert encoders[0] is None and encoders[1]["class_path"].endswith("LSTMEncoder")
    shared = peers.config("yoyodyne-soft", tasks["turkish-high"], 3, 1, Path("x"))
    assert shared["model"]["init_args"]["features_encoder"] is True


def test_phonetisaurus_gets_the_letters_of_a_syllable_and_no_spaces(example):
    readable = example("peers").readable
    assert [readable(word) for word in ("an giang", "가곡", "é")] == [
        "an▁giang",
        "\u1100\u1161\u1100\u1169\u11a8",
        "é",
    ]
    peers, tasks = example("peers"), example("tasks").TASKS
    assert peers.symbols(tasks["ar2en"], "aa") == "a a"
    assert peers.symbols(tasks["wd-korean"], "예 나") == "예 나"
    kinds = {task.kind for task in tasks.values() if peers.trains("phonetisaurus", task)}
    assert kinds == {"pronounce", "transliterate"}


def test_what_is_there_is_not_made_again_and_a_failure_leaves_the_rest(
    example, monkeypatch, tmp_path, capsys
):
    run, task = example("run"), example("tasks").TASKS["ice"]
    made = []

    def make(seed):
        made.append(seed)
        if seed == 2:
            raise RuntimeError("out of memory")
        return result("ice", "preset", seed, 20.0 + seed)

    places = [(task, "preset", seed, lambda seed=seed: make(seed)) for seed in (1, 2, 3)]
    monkeypatch.setattr(run, "plan", lambda arguments: places)
    command = ["train", "--data", str(tmp_path), "--results", str(tmp_path / "results.jsonl")]
    assert run.main(command) and made == [1, 2, 3]
    assert "ice, preset, 2: out of memory" in capsys.readouterr().err
    assert run.main(command) and made == [1, 2, 3, 2]
    path = tmp_path / "results.jsonl"
    assert f"ice, preset, 1: already in {path}\n" in capsys.readouterr().out
    stored = [json.loads(line) for line in path.read_text().splitlines()]
    assert stored == [result("ice", "preset", seed, 20.0 + seed) for seed in (1, 3)]


@pytest.mark.parametrize("command", ["train", "peers"])
def test_minutes_that_are_none_are_refused_before_anything_is_made(example, command, capsys):
    for minutes in ("0", "-3", "nan"):
        with pytest.raises(SystemExit) as ended:
            example("run").main([command, "--data", "data", "--minutes", minutes])
        assert ended.value.code == 2 and "--minutes must be above 0" in capsys.readouterr().err


def test_a_task_is_trained_exported_scored_and_tabulated(example, monkeypatch, tmp_path, capsys):
    pytest.importorskip("ai_edge_litert", reason="ai-edge-litert runs the file")
    tasks, run = example("tasks"), example("run")
    stems = ["".join(letters) for letters in itertools.product("ktm", "aou", "rl")]
    lines = "".join(f"{stem}\t{' '.join(stem.upper())}\n" for stem in stems)
    (tmp_path / "toy.tsv.gz").write_bytes(gzip.compress(lines.encode()))
    lines += "uuuu\tU U U U\n"  # an unlikely word, so that others are likely enough
    (tmp_path / "dev.tsv.gz").write_bytes(gzip.compress(lines.encode()))
    toy = tasks.Task("toy", "toys", "pronounce", "toy.tsv.gz", "dev.tsv.gz")
    monkeypatch.setattr(tasks, "ALL", (toy,))
    monkeypatch.setitem(tasks.SETTINGS, "preset", tuple(TINY.split()))
    places = ["--data", str(tmp_path), "--results", str(tmp_path / "results.jsonl")]
    places += ["--out", str(tmp_path / "runs"), "--tasks", "toy"]
    command = ["train", *places, "--seeds", "1,2", "--minutes", "1"]
    assert not run.main(command)
    folder = tmp_path / "runs" / "toy" / "preset-1"
    files = [folder / "model.int8.tflite", tmp_path / "results.jsonl"]
    size, one = files[0].stat().st_size, json.loads(files[1].read_text().splitlines()[0])
    written = [path.stat().st_mtime_ns for path in files]
    assert one["bytes"]["tflite"] == size and one["epochs"] == 1 and one["seconds"] > 0
    assert {"ser", "ser_interval", "per", "top5"} <= one["dev"].keys() & one["tflite"].keys()
    assert not run.main(command)
    assert [path.stat().st_mtime_ns for path in files] == written
    files[1].unlink()  # as if the command had been killed
    assert not run.main(command) and files[0].stat().st_mtime_ns == written[0]
    capsys.readouterr()
    assert not run.main(["report", *places])
    cells = row(capsys.readouterr().out, "toy")
    assert cells[:3] == ["toy", "WER", "1"] and cells[4] == f"{one['dev']['ser']:.1f}"
    monkeypatch.setitem(tasks.TASKS, "toy", toy)
    soft = *TINY.replace("--dropout 0 ", "--dropout 0.1 ").split(), "--hard-alignment", "none"
    monkeypatch.setitem(tasks.SETTINGS, "large", (*soft, "--depth", "2"))
    assert not run.main(["train", *places, "--settings", "large", "--seeds", "1", "--minutes", "1"])
    monkeypatch.setitem(tasks.SETTINGS, "large-further", ("--dropout", "0.1", "--epochs", "1"))
    further = ["--settings", "large-further", "--seeds", "2", "--minutes", "1"]
    assert not run.main(["train", *places, *further])
    card = json.loads((folder.parent / "large-further-2" / "run" / "run.json").read_text())
    assert card["initial"]["path"].endswith("large-1/run/translator.keras")
    monkeypatch.setitem(tasks.SETTINGS, "taught", ("--word-distillation", "0.5", "--epochs", "1"))
    monkeypatch.setitem(tasks.FURTHER, "taught", "preset-1")
    monkeypatch.setitem(tasks.TEACHERS, "taught", ("large-1", "large-further-2"))
    taught = ["--settings", "taught", "--seeds", "1", "--minutes", "1"]
    assert not run.main(["train", *places, *taught])
    card = json.loads((folder.parent / "taught-1" / "run" / "run.json").read_text())
    assert len(card["data"]["teacher"]) == 2
    (tmp_path / "words.txt").write_text("kakor kal tam mutol")  # the second word is in the task
    monkeypatch.setitem(tasks.SETTINGS, "narrow", tasks.SETTINGS["taught"])
    monkeypatch.setitem(tasks.FURTHER, "narrow", "large-further-2")
    monkeypatch.setitem(tasks.TEACHERS, "narrow", ("large-further-2", "preset-1"))
    monkeypatch.setitem(tasks.OTHER_WORDS, "narrow", ("words.*",))
    narrow = ["--settings", "narrow", "--seeds", "1", "--minutes", "1"]
    assert not run.main(["train", *places, *narrow])
    narrow = folder.parent / "narrow-1"
    made = [line.split("\t")[0] for line in (narrow / "words.tsv").read_text().splitlines()]
    assert {*made} <= {"kakor", "tam", "mutol"} and made
    card = json.loads((narrow / "run" / "run.json").read_text())
    assert [one["name"] for one in card["data"]["corpora"]] == ["own", "other"]
    runs = (folder.parent / name / "run" for name in ("narrow-1", "large-further-2"))
    sizes = [kb.Translator.load(one / "translator.keras").model.count_params() for one in runs]
    assert sizes[0] < sizes[1]
    monkeypatch.setitem(tasks.SETTINGS, "small-less-dropout", tuple(TINY.split()))
    small = ["--settings", "small-less-dropout", "--seeds", "3", "--minutes", "1"]
    assert not run.main(["train", *places, *small])
