"""The benchmarks' own arithmetic and protocol; nothing is timed, and no library is needed."""

import contextlib
import json
import pathlib
import sys

import numpy as np
import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "benchmarks"
ECHO = """
import protocol

def count(number):
    if number < 0:
        raise ValueError("the number\\nis negative")
    print("a library's noise")
    return protocol.Job(lambda: number, parameters=number, note="counts")

protocol.serve({"count": count}, [])
"""


@pytest.fixture
def imported(monkeypatch, example):
    """Function that imports one of the benchmarks' modules."""
    monkeypatch.syspath_prepend(FOLDER / "workers")
    return example


@pytest.fixture
def harness(imported):
    return imported("harness")


def lane(harness, name, ours=False):
    return harness.Lane(name, name.split()[0], "case", ours=ours)


def measured(harness, name, *samples, parameters=1000):
    found = harness.Measured(lane(harness, name, name.startswith("ours")), list(samples))
    found.about = {"parameters": parameters}
    return found


def test_ratio_is_median_of_ours_over_the_best_peers_median(harness):
    lanes = [
        measured(harness, "ours", 10, 300, 30),
        measured(harness, "slow", 1, 2, 3),
        measured(harness, "fast", 9, 10, 11),
    ]
    found = harness.compared(">= 1.5", lanes, unit="tokens/s")
    assert found["ratios"] == {"slow": 15, "fast": 3}
    assert found["ratio"] == 3
    assert found["met"]


def test_for_costs_the_lowest_peer_is_the_best(harness):
    lanes = [measured(harness, name, cost) for name, cost in (("ours", 4), ("a", 8), ("b", 16))]
    found = harness.compared("<= 0.4", lanes, unit="bytes")
    assert found["ratio"] == 0.5
    assert not found["met"]


def test_the_best_of_several_lanes_counts_for_ours_and_for_each_peer(harness):
    names = {"ours a": 6, "ours b": 12, "peer plain": 2, "peer compiled": 4}
    lanes = [measured(harness, name, rate) for name, rate in names.items()]
    found = harness.compared({"peer": ">= 3"}, lanes, unit="tokens/s")
    assert found["ratios"] == {"peer": 3}
    assert found["met"]
    assert found["ours"]["lane"] == "ours b"
    assert [one["lane"] for one in found["ours_otherwise"]] == ["ours a"]


def test_each_peer_can_have_a_goal_of_its_own(harness):
    lanes = [measured(harness, name, rate) for name, rate in (("ours", 6), ("a", 3), ("b", 2))]
    assert not harness.compared({"a": ">= 3", "b": ">= 2"}, lanes, "tokens/s")["met"]
    assert harness.compared({"a": ">= 2", "b": ">= 3"}, lanes, "tokens/s")["met"]
    assert not harness.compared({"a": ">= 2", "absent": ">= 2"}, lanes, "tokens/s")["met"]


def test_a_model_of_another_size_is_no_peer(harness):
    lanes = [
        measured(harness, "ours", 2),
        measured(harness, "alike", 1, parameters=1019),
        measured(harness, "larger", 1, parameters=1021),
    ]
    found = harness.compared(">= 1.5", lanes, unit="tokens/s")
    assert list(found["ratios"]) == ["alike"]
    assert "1,021" in found["peers"]["larger"]["error"]


def test_without_any_sample_there_is_no_ratio_and_no_goal_is_met(harness):
    lanes = [measured(harness, "ours"), measured(harness, "peer", 1)]
    found = harness.compared(">= 0", lanes, unit="tokens/s")
    assert found["ratio"] is None
    assert not found["met"]
    assert not harness.unmeasured(">= 0", "tokens/s", "no data")["met"]


@pytest.fixture
def echo(harness, imported, monkeypatch, tmp_path):
    """The harness with a worker `echo` that needs only Python."""
    (tmp_path / "workers").mkdir()
    (tmp_path / "workers" / "echo.py").write_text(ECHO)
    monkeypatch.setattr(imported("lane"), "HERE", tmp_path)
    monkeypatch.setattr(harness, "PAUSE", 0)
    monkeypatch.setenv("PYTHONPATH", str(FOLDER / "workers"))
    return harness


def counting(harness, number, repeat=1):
    return harness.Lane(f"{number}", "echo", "count", {"number": number}, repeat=repeat)


def test_a_workers_answers_are_free_of_what_libraries_print(echo):
    worker = echo.Worker(counting(echo, 3), threads=1)
    assert worker.prepare()["parameters"] == 3
    assert worker.ask("run", repeat=4)["count"] == 12
    worker.close()


def test_a_lane_that_fails_says_why_and_harms_no_other(echo):
    lanes = [counting(echo, 5, repeat=2), counting(echo, -1)]
    said = []
    good, bad = echo.rates(lanes, echo.Options(rounds=3, threads=1), said.append)
    assert [answer["count"] for answer in good.answers] == [10, 10, 10]
    assert bad.error == "ValueError: the number is negative"
    assert bad.as_json()["error"] == bad.error
    assert any("negative" in line for line in said)


def test_a_worker_that_dies_is_a_failure_with_its_exit_code(echo, tmp_path):
    (tmp_path / "workers" / "echo.py").write_text("raise SystemExit(7)")
    with pytest.raises(echo.Failed, match="7"):
        worker = echo.Worker(counting(echo, 1), threads=1)
        try:
            worker.prepare()
        finally:
            worker.close()


def test_all_models_are_of_one_size_at_all_sizes(imported):
    sizes = imported("rows.sizes")
    chosen = sizes.sizes()
    wanted = sizes._ours(chosen)
    assert wanted == 9_763_648  # counted by Keras
    for count, name in (
        (sizes._keras_layers, "readout_behind"),
        (sizes._addons, "readout_fed"),
        (sizes._opennmt, "decoder_all"),
    ):
        assert abs(count(chosen, chosen[name]) - wanted) < 0.005 * wanted


@pytest.mark.parametrize("weights", [3_952_640, 5_605_376, 9_763_648])
def test_all_peers_can_be_as_large_as_another_model_of_ours(imported, weights):
    sizes = imported("rows.sizes")
    chosen = sizes.sizes_as_large(weights)
    found = {
        "pytorch": sizes._ours(chosen),
        "keras_layers": sizes._keras_layers(chosen, chosen["readout_behind"]),
        "addons": sizes._addons(chosen, chosen["readout_fed"]),
        "opennmt_tf": sizes._opennmt(chosen, chosen["decoder_all"]),
    }
    assert found == {name: pytest.approx(weights, rel=0.01) for name in found}
    assert chosen["decoder"] == 2 * chosen["encoder"] == 2 * chosen["embedding"]
    assert not any(chosen[name] % 8 for name in sizes.WIDTHS)
    assert chosen["vocabulary"] == 8000


def test_sizes_as_large_as_row_1_are_about_those_of_row_1(imported):
    sizes = imported("rows.sizes")
    widths = {name: sizes.SIZES[name] for name in sizes.WIDTHS}
    assert widths.items() <= sizes.sizes_as_large(9_763_648).items()


def test_a_preset_is_given_with_its_options(imported):
    parsed = imported("rows.student_step").parsed
    assert parsed("ssru-student") == ("ssru-student", {})
    given = "small:cell=min-gru,units=128,residual=true,dropout=0.1"
    options = {"cell": "min-gru", "units": 128, "residual": True, "dropout": 0.1}
    assert parsed(given) == ("small", options)


def test_the_result_of_another_preset_has_a_name_of_its_own(imported):
    name = imported("rows.student_step")._name
    assert name("ssru-student") == "student-step"
    assert name("small:cell=min-gru") == "student-step-small-cell-min-gru"


@pytest.fixture
def row_2(imported, harness, monkeypatch):
    """Row 2 on a processor with or without bfloat16, with given rates for lanes, or a rate of 1."""

    def measure(in_processor, **given):
        module = imported("rows.training_step_bfloat16")
        monkeypatch.setattr(module.machine, "has_bfloat16", lambda: in_processor)
        monkeypatch.setattr(
            module,
            "rates",
            lambda lanes, _: [harness.Measured(one, [given.get(one.name, 1)]) for one in lanes],
        )
        return module.measure(harness.Options(quick=True))

    return measure


OURS_IN_BFLOAT16 = {"ours mixed_bfloat16 jit=True": 12}


def test_in_bfloat16_the_ratio_is_to_the_best_peer_of_both_precisions(row_2):
    found = row_2(True, **OURS_IN_BFLOAT16, **{"pytorch bfloat16 compiled": 6, "opennmt_tf": 3})
    assert found["ratio"] == 2
    assert found["ratios_by_precision"] == {"float32": 4, "bfloat16": 2}
    settings = found["peers"]["pytorch bfloat16"]["settings"]
    assert settings["precision"] == "bfloat16"


def test_a_processor_without_bfloat16_has_no_peers_in_it(row_2):
    found = row_2(False, **OURS_IN_BFLOAT16, **{"pytorch compiled": 6})
    assert found["ratios_by_precision"] == {"float32": 2, "bfloat16": None}
    assert not any("bfloat16" in name for name in found["peers"])


def test_a_student_has_peers_of_both_sizes(imported, harness, monkeypatch):
    row, weights = imported("rows.decode_student"), 50_000
    given = {"ours bfloat16, side by side": 12, "addons": 4, "opennmt_tf": 3, "addons, as large": 6}

    def prepared(lanes, _):
        return [harness.Measured(lanes[0], about={"parameters": weights})]

    def rates(lanes, _):
        return [harness.Measured(one, [given.get(one.name, 1)]) for one in lanes]

    for name, fake in (("prepared", prepared), ("rates", rates)):
        monkeypatch.setattr(row, name, fake)
    monkeypatch.setattr(row, "corpus", lambda options, size: contextlib.nullcontext(str(size)))
    monkeypatch.setattr(imported("rows.decoding").machine, "has_bfloat16", lambda: True)
    found = row.measure(harness.Options())
    assert found["ratio"] == 3 and found["met"]
    assert found["ratio_as_large"] == 2
    assert found["sizes"]["vocabulary"] == 8000
    assert found["sizes_as_large"]["vocabulary"] == 3200
    large, small = (found["peers"][name]["settings"] for name in ("pytorch", "pytorch, as large"))
    assert large["sizes"]["decoder"] == 512 > small["sizes"]["decoder"]
    assert {one["settings"]["beam"] for one in found["peers"].values()} == {5}


def test_a_greedy_search_has_peers_with_a_beam_and_without(imported, harness, monkeypatch):
    row = imported("rows.decode_distilled")
    given = {"ours, side by side": 12, "addons": 4, "addons, greedy": 10, "pytorch, greedy": 8}

    def rates(lanes, _):
        return [harness.Measured(one, [given.get(one.name, 1)]) for one in lanes]

    monkeypatch.setattr(row, "rates", rates)
    monkeypatch.setattr(row, "corpus", lambda options, size: contextlib.nullcontext(str(size)))
    found = row.measure(harness.Options())
    assert found["ratio"] == 3 and found["met"]
    assert found["ratio_greedily"] == 1.2
    assert found["ours"]["settings"]["beam"] == found["peers"]["addons, greedy"]["settings"]["beam"]
    assert found["peers"]["addons"]["settings"]["beam"] == 5


def test_the_attention_layer_has_a_ratio_in_each_case_and_the_worst_one_counts(
    imported, harness, monkeypatch
):
    row = imported("rows.attention_layer_time")
    given = {"ours jit=True": [6, 8], "pytorch": [3, 2], row.WITHOUT: [9, 9]}  # others: 1

    def rates(lanes, options):
        cases = len(row.cases(options.quick))
        turns = [number % cases % 2 for number in range(options.rounds)]
        about = {"parameters": [100] * cases}
        return [
            harness.Measured(one, [given.get(one.name, [1, 1])[turn] for turn in turns], about)
            for one in lanes
        ]

    monkeypatch.setattr(row, "rates", rates)
    found = row.measure(harness.Options(quick=True, rounds=3, threads=2))
    assert [one["ratio"] for one in found["cases"].values()] == [2, 4, 2, 4]
    assert (found["ratio"], found["met"]) == (2, True)
    one_query, *_, many = found["cases"].values()
    assert one_query["without_projections"]["median"] == 9
    assert row.WITHOUT not in one_query["peers"]
    assert one_query["ours"]["samples"] == [6, 6, 6]
    assert [one["ours"]["settings"]["target_time"] for one in (one_query, many)] == [None, 24]
    given["ours jit=True"] = [6, 1]
    found = row.measure(harness.Options(quick=True, threads=2))
    assert (found["ratio"], found["met"]) == (0.5, False)


def test_the_attention_batch_has_padding_and_one_query_has_no_axis(imported):
    batch = imported("sentences").attention_batch
    query, values, mask, upstream = batch(3, 6, None, 2)
    assert query.shape == upstream.shape == (3, 2)
    assert values.shape == (3, 6, 2)
    assert mask[:, :3].all() and not mask[:, -1].all()
    assert batch(3, 6, 4, 2)[0].shape == (3, 4, 2)


@pytest.mark.slow
def test_the_attention_layer_is_measured_where_a_peer_is_absent(imported, monkeypatch, tmp_path):
    module = imported("lane")

    def python_of(name):
        if name == module.OURS:
            return sys.executable
        raise imported("environments").Unavailable("not installed")

    monkeypatch.setattr(module, "python_of", python_of)
    arguments = ["attention-layer-time", "--quick", "--rounds", "1", "--out", str(tmp_path)]
    assert imported("run").main(arguments) == 0
    found = json.loads((tmp_path / "attention-layer-time.json").read_text())
    assert len(found["cases"]) == 4
    for one in found["cases"].values():
        assert one["ratio"] > 0
        assert one["ours"]["parameters"] == 2 * 64**2 + 64
        assert one["peers"]["pytorch"]["error"] == "not installed"


def test_operations_are_three_times_the_products_of_a_forward_pass(imported):
    one = dict.fromkeys(imported("rows.sizes").SIZES, 1)
    # Encoder: 2 directions x (1 + 1) x 3 gates, keys 2, bridge 2. Query 1, scores and context 3.
    # Cell (1 + 2 + 1) x 3, readout 1 + 2 + 1, output 1. Each is a multiplication and an addition.
    assert imported("rows.sizes").operations(one) == 3 * 2 * (12 + 2 + 2 + 1 + 3 + 12 + 4 + 1)


def test_every_order_of_sentences_has_each_sentence_once(imported):
    sentences = imported("sentences")
    random = np.random.default_rng(0)
    source = [np.ones(length, int) for length in random.integers(1, 9, 37)]
    for order in (
        sentences.random_order(source, 5, seed=1),
        sentences.bucketed_order(source, source, 5, seed=1, pool=3),
    ):
        assert sorted(np.concatenate(order)) == [*range(37)]
        assert max(map(len, order)) == 5


def test_search_goes_four_steps_beyond_the_longest_source(imported):
    rows = [[5, 3], [5, 6, 7, 3], [3]]
    (first, steps), (second, more) = imported("sentences").search_batches(rows, 2)
    assert first.tolist() == [[3, 0], [5, 3]]
    assert second.tolist() == [[5, 6, 7, 3]]
    assert (steps, more) == (6, 8)


def test_the_teacher_begins_with_the_start_token_and_says_no_end(imported):
    target_out = np.array([[7, 8, 3], [9, 3, 0]], np.int32)
    assert imported("sentences").shifted(target_out).tolist() == [[2, 7, 8], [2, 9, 0]]


def test_the_list_names_all_rows(imported, capsys):
    assert imported("run").main(["--list"]) == 0
    listed = {int(line.split()[0]) for line in capsys.readouterr().out.splitlines()}
    assert listed == {*range(1, 15)}


def test_an_unknown_row_is_refused_with_the_names_there_are(imported, capsys):
    assert imported("run").main(["training-stop"]) == 2
    said = capsys.readouterr().out
    assert "training-stop" in said
    assert "training-step" in said


def test_a_row_without_its_data_is_written_down_as_not_measured(imported, tmp_path, capsys):
    assert imported("run").main(["epoch", "--out", str(tmp_path)]) == 0
    found = json.loads((tmp_path / "epoch.json").read_text())
    assert found["ratio"] is None
    assert "--multi30k" in found["ours"]["error"]


def test_what_was_measured_is_kept_where_a_row_can_not_be(imported, tmp_path, capsys):
    (tmp_path / "epoch.json").write_text('{"ratio": 1.5}')
    assert imported("run").main(["epoch", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "epoch.json").read_text() == '{"ratio": 1.5}'
    assert "its earlier result stays" in capsys.readouterr().out


def test_tiny_sizes_go_beside_the_published_results(imported):
    results_of = imported("harness").results_of
    assert results_of(False).parts[-2:] == ("benchmarks", "results")
    assert results_of(True).parts[-2:] == ("runs", "benchmarks")


@pytest.mark.parametrize("program", ["run", "revisions"])
def test_a_folder_without_the_data_is_refused_before_anything_is_made(
    imported, tmp_path, capsys, program
):
    for name in ("train.en", "train.de.gz", "test_2016_flickr.en"):
        (tmp_path / name).touch()
    begun = {"run": "decode-beam", "revisions": "HEAD"}[program]
    for folder, absent in ((tmp_path / "none", "train.en"), (tmp_path, "test_2016_flickr.de")):
        given = [begun, "--multi30k", str(folder), "--out", str(tmp_path / "out")]
        with pytest.raises(SystemExit) as ended:
            imported(program).main(given)
        assert ended.value.code == 2
        assert f"and {absent} is not in '{folder}': check" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_data_may_be_plain_or_packed(imported, tmp_path):
    for name in ("train.en", "train.de.gz", "test_2016_flickr.en", "test_2016_flickr.de.gz"):
        (tmp_path / name).touch()
    assert imported("rows.multi30k").directory(str(tmp_path)) == tmp_path


def test_a_row_of_a_file_names_the_options_that_it_needs(imported, tmp_path, capsys):
    assert imported("run").main(["suggestions", "--out", str(tmp_path)]) == 0
    found = json.loads((tmp_path / "suggestions.json").read_text())
    assert found["met"] is False
    assert "--tflite" in found["ours"]["error"]


def test_a_runner_answers_a_line_by_a_line_and_its_end_is_noticed(imported):
    runner = imported("line_programs").Runner
    upper = "for line in iter(input, 'end'): print(line.upper(), flush=True)"
    with runner([sys.executable, "-c", f"{upper}\nexit('no more')"]) as running:
        assert [running.ask(word).decode() for word in ("é", "two")] == ["É\n", "TWO\n"]
        assert running.milliseconds("three") > 0
        with pytest.raises(SystemExit, match="A runner ended: .*: no more"):
            running.ask("end")


def test_a_program_answers_each_line_by_json_or_has_failed(imported):
    module = imported("line_programs")
    program = "print('{\"milliseconds\": 1.5}\\n' * 2, end='')"
    answers = module.answers_of([sys.executable, "-c", program], ["x", "y"])
    assert answers == [{"milliseconds": 1.5}] * 2
    for code in (f"{program}; exit(1)", program.replace("* 2", "* 3")):
        with pytest.raises(SystemExit, match="A runner failed"):
            module.answers_of([sys.executable, "-c", code], ["x", "y"])
    with module.InPage([sys.executable, "-c", program]) as running:
        assert running.milliseconds("x") == 1.5


def test_no_worker_is_imported_by_the_harness(imported):
    imported("run").rows()
    assert not {"ours", "pytorch", "addons", "opennmt_tf"} & set(sys.modules)
