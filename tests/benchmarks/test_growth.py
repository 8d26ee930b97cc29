"""How the benchmarks detect and draw growth; nothing is timed."""

import json
import pathlib

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def imported(example):
    """Function that imports one of the benchmarks' modules."""
    return example


def charted(values, costs):
    return {"values": values, "seconds_a_token": costs, "samples": [[cost] for cost in costs]}


def test_points_on_a_line_give_that_line(imported):
    found = imported("rows.growth").line([16, 32, 64], [5.0, 7.0, 11.0])
    assert found["slope"] == pytest.approx(1 / 8)
    assert found["intercept"] == pytest.approx(3)
    assert found["r_squared"] == pytest.approx(1)
    assert found["last_doubling"] == pytest.approx(11 / 7)


def test_what_grows_with_the_square_is_no_line(imported):
    growth = imported("rows.growth")
    values = growth.AXES["source_time"]
    found = growth.line(values, [value**2 for value in values])
    assert found["r_squared"] < float(growth.GOAL.split()[1])
    assert found["last_doubling"] == 4


def test_start_is_as_good_as_the_one_that_is_nearest_to_its_goal(imported):
    result = imported("rows.start")._result(
        {"python": [0.01], "help": [0.9, 0.15, 0.1], "translate": [0.2], "command": [0.3]}
    )
    assert result["ratios"] == pytest.approx({"help": 0.5, "translate": 0.4, "command": 0.3})
    assert result["ratio"] == pytest.approx(0.5)
    assert result["met"]


@pytest.mark.slow
def test_each_axis_has_a_chart_and_each_line_its_formula(imported, tmp_path):
    charts, growth = imported("charts"), imported("rows.growth")
    lengths = charted([16, 32], [4e-6, 6e-6])
    axes = {axis: {**lengths, **growth.line([16, 32], [4e-6, 6e-6])} for axis in charts.LABELS}
    result = {"costs": {"training": axes}, "fits": {"training source_time": {}}}
    (tmp_path / "growth.json").write_text(json.dumps(result))
    figure = charts.growth_figure(result)
    assert [chart.get_xlabel() for chart in figure.axes] == list(charts.LABELS.values())
    first, *others = [chart.get_legend().get_texts()[0].get_text() for chart in figure.axes]
    assert first == "training: 2 + 0.125 x, R² 1.000"
    assert others == ["training", "training"]
    assert charts.main([str(tmp_path)]) == 0
    assert (tmp_path / "growth.png").stat().st_size > 1000


def test_without_results_there_is_nothing_to_draw(imported, tmp_path, capsys):
    assert imported("charts").main([str(tmp_path)]) == 2
    assert "run.py growth" in capsys.readouterr().err
