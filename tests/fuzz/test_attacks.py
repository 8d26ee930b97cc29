"""No attack ends in a traceback, a silent wrong answer, or unbounded time or memory."""

import pytest

from fuzz.all_attacks import ATTACKS
from fuzz.command_line import ARGUMENTS, numeric_options
from fuzz.outcomes import GOOD, Answer, Outcome, judged
from fuzz.world import World, write_image_graph

QUICK = [name for name, attack in ATTACKS.items() if attack.few]


@pytest.fixture(scope="module")
def made(toy_translator, toy_saved_model, toy_ids_model, toy_litert, tmp_path_factory):
    """The models of other tests, as arguments of `World`."""
    run = tmp_path_factory.mktemp("run")
    toy_translator.save(run / "translator.keras")
    image_graph = tmp_path_factory.mktemp("images") / "graph"
    write_image_graph(str(image_graph))
    return {
        "run": run,
        "image_graph": image_graph,
        "saved_model": toy_saved_model,
        "ids_model": toy_ids_model,
        "litert": toy_litert,
    }


@pytest.fixture(scope="module")
def quick_world(made, tmp_path_factory):
    world = World(tmp_path_factory.mktemp("quick"), quick=True, **made)
    yield world
    world.close()


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    world = World(tmp_path_factory.mktemp("world"))
    yield world
    world.close()


def bad(cases):
    """Return the cases that neither survived nor were refused; assert that there are any cases."""
    cases = list(cases)
    assert cases
    return [case for case in cases if case.outcome not in GOOD]


def test_each_command_with_a_numeric_option_is_attacked():
    assert {command for command, _ in numeric_options()} <= {*ARGUMENTS}


@pytest.mark.few(1)
@pytest.mark.parametrize("name", QUICK)
def test_a_few_cases_survive_or_are_refused_in_one_line(quick_world, name):
    assert bad(ATTACKS[name].cases(quick_world, ATTACKS[name].few)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ATTACKS)
def test_all_cases_survive_or_are_refused_in_one_line(world, name):
    assert bad(ATTACKS[name].cases(world, ATTACKS[name].full)) == []


LIMIT = "RuntimeError: OOM when allocating tensor"
JUDGED = {
    "a right answer": ((0, b"eins\n", "", False, []), Outcome.SURVIVED),
    "a wrong answer": ((0, b"zwei\n", "", False, []), Outcome.SILENT),
    "one line": ((2, b"", "keras-bahdanau: no. Received: x=1\n", False, []), Outcome.REFUSED),
    "one line of many": ((2, b"", "first\nkeras-bahdanau: no\n", False, []), Outcome.TRACEBACK),
    "no line": ((1, b"", "", False, []), Outcome.TRACEBACK),
    "a parser's refusal": (
        (2, b"", "Usage: x\nTry --help\n\nError: no\n", False, []),
        Outcome.REFUSED,
    ),
    "a traceback": (
        (1, b"", "Traceback (most recent call last):\nX\n", False, []),
        Outcome.TRACEBACK,
    ),
    "a crash": ((-11, b"", "", False, []), Outcome.TRACEBACK),
    "a limit of time": ((-9, b"", "", True, []), Outcome.UNBOUNDED),
    "a limit of memory": ((1, b"", LIMIT, False, []), Outcome.UNBOUNDED),
    "a file left behind": ((2, b"", "no\n", False, ["half"]), Outcome.SILENT),
    "a greeting before it": ((2, b"", "INFO: XNNPACK\nno\n", False, []), Outcome.REFUSED),
}


@pytest.mark.parametrize("name", JUDGED)
def test_outcomes_are_told_apart(name):
    (code, out, err, stopped, left), expected = JUDGED[name]
    answer = Answer(code, out, err, 0.0, 0, stopped, left)
    assert judged(name, answer, lambda ended: ended.out == b"eins\n").outcome == expected


@pytest.mark.slow
def test_a_child_that_crashes_or_hangs_ends_alone(quick_world, tmp_path):
    call = quick_world.light.call
    assert call("os:abort", directory=tmp_path).code == -6
    slow = call("time:sleep", 60, directory=tmp_path, patience=0.3)
    assert slow.stopped and slow.seconds < 10
    assert call("builtins:list", directory=tmp_path).code == 0
