"""The arithmetic of the GPU benchmark and, on request, each kind of case at tiny sizes."""

import importlib
import json
import pathlib
import sys
import time

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "benchmarks"
VOCABULARY, WIDTH, SOURCE_TIME, TARGET_TIME = 40, 8, 6, 3
INNER, ATTENTION = 2 * WIDTH, 5


@pytest.fixture
def gpu(example):
    return example("gpu")


def _row_1():
    half = WIDTH // 2
    source = 2 * 3 * half * (WIDTH + half) + WIDTH * ATTENTION  # two directions, and keys
    cell = 3 * WIDTH * (WIDTH + WIDTH + WIDTH)  # gates for embedding, context and state
    query, attended = WIDTH * ATTENTION, SOURCE_TIME * (ATTENTION + WIDTH)
    step = cell + query + attended + 3 * WIDTH * WIDTH + WIDTH * VOCABULARY
    return source * SOURCE_TIME + WIDTH * WIDTH, step * TARGET_TIME  # including the bridge


def _small():
    source, target = _row_1()
    return source, target + TARGET_TIME * 3 * WIDTH * WIDTH  # a second cell that has a state


def _encoder(blocks):
    """Count a source's multiplications in a Transformer encoder of 4 blocks, keys and values."""
    feed_forward = 2 * WIDTH * INNER
    block = 4 * WIDTH * WIDTH + feed_forward + 2 * SOURCE_TIME * WIDTH
    return SOURCE_TIME * (WIDTH * WIDTH + 4 * block + blocks * 2 * WIDTH * WIDTH)


def _ssru_student():
    recurrence = 2 * WIDTH * WIDTH
    attention = 2 * WIDTH * WIDTH + 2 * SOURCE_TIME * WIDTH  # query and context; scores and sum
    block = recurrence + attention + 2 * WIDTH * INNER
    step = WIDTH * WIDTH + 2 * block + WIDTH * VOCABULARY
    return _encoder(blocks=2), TARGET_TIME * step


def _transformer_tiny():
    steps_seen = sum(range(1, TARGET_TIME + 1))
    attention = 2 * WIDTH * WIDTH + 2 * SOURCE_TIME * WIDTH
    block = 4 * WIDTH * WIDTH + attention + 2 * WIDTH * INNER
    step = WIDTH * WIDTH + 4 * block + WIDTH * VOCABULARY
    return _encoder(blocks=4), TARGET_TIME * step + 4 * 2 * WIDTH * steps_seen


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("preset", "expected"),
    [
        (None, _row_1()),
        ("small", _small()),
        ("ssru-student", _ssru_student()),
        ("transformer-tiny", _transformer_tiny()),
    ],
)
def test_operations_of_a_target_token_are_those_of_its_products(
    example, monkeypatch, preset, expected
):
    monkeypatch.syspath_prepend(FOLDER / "workers")
    fixed_steps, module = map(example, ("fixed_steps", "products"))
    if preset is None:
        # The first model numbers the layers of the next one.
        fixed_steps.new_model(VOCABULARY, WIDTH, WIDTH, ATTENTION, "float32")
        model = fixed_steps.new_model(VOCABULARY, WIDTH, WIDTH, ATTENTION, "float32")
    else:
        widths = {"embedding_units": WIDTH, "units": WIDTH}
        widths |= {"attention_units": ATTENTION} if preset == "small" else {}
        model = fixed_steps.preset_model(preset, widths, VOCABULARY)
    assert module.products(model, SOURCE_TIME, TARGET_TIME) == expected
    source, target = expected
    times = {None: 3 * (source + target), 1: source + target, 5: source + 5 * target}
    for beam, multiplications in times.items():
        found = module.operations(model, SOURCE_TIME, TARGET_TIME, beam)
        assert found == 2 * multiplications / TARGET_TIME


def _measured(gpu, **rates):
    """Return a `Measured` for each name, with 10 operations per token, as for ours."""
    harness = importlib.import_module("harness")
    return [
        harness.Measured(
            harness.Lane(name, name, "training", ours=name == "ours"),
            samples=[rate] if rate else [],
            about={"operations": 10},
            error=None if rate else "out of memory",
        )
        for name, rate in rates.items()
    ]


CASE = ("training", "small", "float32")


def test_the_ratio_is_to_the_faster_form_of_the_peer(gpu):
    lanes = _measured(gpu, ours=30.0, pytorch=10.0, compiled=20.0)
    found = gpu.told(CASE, lanes, {"float32": 3000.0})
    assert found["ratio"] == 1.5
    assert found["share_of_peak"] == pytest.approx(0.1)
    assert "10.0%" in gpu.line(found)


def test_what_failed_has_no_number_and_the_rest_has(gpu):
    found = gpu.told(CASE, _measured(gpu, ours=30.0, pytorch=None), {})
    assert (found["rate"], found["peer"], found["ratio"]) == (30.0, None, None)
    found = gpu.told(CASE, _measured(gpu, ours=None, pytorch=10.0), {"float32": 1.0})
    assert (found["rate"], found["peer"], found["ratio"]) == (None, 10.0, None)
    assert found["lanes"][0]["error"] == "out of memory"
    assert gpu.line(found).split() == ["training", "small", "float32", "-", "-", "-", "10", "-"]


def test_names_choose_among_works_models_and_precisions(gpu):
    assert [*gpu.cases(["bfloat16", "row-1", "beam-5"])] == [("beam-5", "row-1", "bfloat16")]
    everything = [*gpu.cases([])]
    assert len(everything) == 3 * 3 * 2
    assert {model for _, model, _ in everything} == set(gpu.PRESETS)


def test_the_peer_of_a_student_has_as_many_weights(gpu):
    options = gpu._parser().parse_args([])
    weights = {"ssru-student": 5_605_376}
    assert gpu.peer_sizes("small", weights, options)["decoder"] == 512
    student = gpu.peer_sizes("ssru-student", weights, options)
    assert student["decoder"] < 512
    assert (student["batch"], student["target_time"], student["steps"]) == (512, 16, 100)
    few = gpu._parser().parse_args(["--steps", "40"])
    assert gpu.peer_sizes("ssru-student", weights, few)["steps"] == 40


def test_the_forms_of_the_peer_are_those_that_its_users_have(gpu, monkeypatch):
    monkeypatch.setattr(gpu, "python_of", lambda _: sys.executable)
    card, options = {"weights": {"ssru-student": 5_605_376}}, gpu._parser().parse_args([])
    forms = {"PyTorch": None, "PyTorch, compiled": "default"}
    graphs = {"PyTorch, compiled, CUDA graphs": "reduce-overhead"}
    for work, beam, expected in (("beam-5", 5, forms), ("training", None, forms | graphs)):
        own, *peers = gpu._lanes((work, "ssru-student", "bfloat16"), card, 90, options)
        assert {one.name: one.settings["compiled"] for one in peers} == expected
        assert {one.settings.get("beam") for one in (own, *peers)} == {beam}
        assert {one.limit for one in (own, *peers)} == {90}


def test_cases_that_are_prepared_together_have_their_own_results(gpu, monkeypatch):
    harness = importlib.import_module("harness")

    def rates(lanes, options, say, at_once):
        places = enumerate(lanes, start=1)
        about = {"operations": 10}
        return [harness.Measured(one, samples=[float(n)], about=about) for n, one in places]

    monkeypatch.setattr(gpu, "rates", rates)
    monkeypatch.setattr(gpu, "python_of", lambda _: sys.executable)
    options = gpu._parser().parse_args(["--smoke"])
    card = {"weights": dict.fromkeys(gpu.PRESETS, 20_000), "peaks": {}}
    cases = [("training", name, "float32") for name in gpu.PRESETS]
    found = gpu._measured(cases, card, 60, options)
    assert [one["model"] for one in found] == [*gpu.PRESETS]
    assert [[lane["samples"] for lane in one["lanes"]] for one in found] == [
        [[1.0], [2.0]],
        [[3.0], [4.0]],
        [[5.0], [6.0]],
    ]


def test_where_nobody_knows_how_large_a_peer_must_be_there_is_none(gpu):
    card, options = {"weights": {}}, gpu._parser().parse_args([])
    (own,) = gpu._lanes(("training", "transformer-tiny", "float32"), card, 90, options)
    assert own.settings["preset"] == "transformer-tiny"


def test_a_case_that_takes_too_long_is_ended(gpu, monkeypatch, tmp_path):
    lane = importlib.import_module("lane")
    (tmp_path / "workers").mkdir()
    (tmp_path / "workers" / "slow.py").write_text("import time; time.sleep(60)")
    monkeypatch.setattr(lane, "HERE", tmp_path)
    worker = lane.Worker(lane.Lane("slow", "slow", "case", limit=0.1), threads=1)
    with pytest.raises(lane.Failed, match="took more than"):
        worker.prepare()
    worker.close()


@pytest.mark.slow
def test_the_limit_is_that_of_one_request(gpu, monkeypatch, tmp_path):
    """A worker that waits for its turn is not stopped."""
    lane = importlib.import_module("lane")
    (tmp_path / "workers").mkdir()
    (tmp_path / "workers" / "patient.py").write_text(
        "import sys\nfor line in sys.stdin: print('{}', flush=True)"
    )
    monkeypatch.setattr(lane, "HERE", tmp_path)
    worker = lane.Worker(lane.Lane("patient", "patient", "case", limit=2.0), threads=1)
    worker.prepare()
    time.sleep(2.5)
    assert worker.ask("run") == {}
    worker.close()


def test_a_worker_that_dies_shows_its_last_line(gpu, monkeypatch, tmp_path):
    lane = importlib.import_module("lane")
    (tmp_path / "workers").mkdir()
    (tmp_path / "workers" / "broken.py").write_text("raise ImportError('no such thing')")
    monkeypatch.setattr(lane, "HERE", tmp_path)
    worker = lane.Worker(lane.Lane("broken", "broken", "case"), threads=1)
    with pytest.raises(lane.Failed, match="ended with code 1: ImportError: no such thing"):
        worker.prepare()
    worker.close()


@pytest.mark.slow
def test_tiny_sizes_run_anywhere(gpu, monkeypatch, tmp_path):
    monkeypatch.setattr(gpu.importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr(gpu, "python_of", _no_environment)
    named = ["ssru-student", "bfloat16", "training", "beam-5"]
    assert gpu.main([*named, "--smoke", "--rounds", "1", "--out", str(tmp_path)]) == 0
    found = json.loads((tmp_path / "gpu.json").read_text())
    assert set(found["peaks"]) == {"float32", "bfloat16"}
    assert [one["work"] for one in found["cases"]] == ["training", "beam-5"]
    for one in found["cases"]:
        assert one["rate"] > 0 < one["share_of_peak"]
        assert one["ratio"] is None


def _no_environment(name):
    if name == "pytorch":
        raise importlib.import_module("environments").Unavailable("not installed")
    return sys.executable
