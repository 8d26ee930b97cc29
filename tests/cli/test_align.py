"""The values of `--trace-steps`, which choose the steps that `align --trace` draws."""

from pathlib import Path

import pytest

from keras_bahdanau.cli.commands.align import check_steps, parsed_steps

PICTURE = Path("trace.png")


def test_the_first_four_are_drawn_unless_others_are_asked_for():
    assert parsed_steps(None, PICTURE) == parsed_steps(None, None) == range(0, 4)
    assert parsed_steps("9-11", PICTURE) == range(8, 11)
    assert parsed_steps("10", PICTURE) == range(9, 10)
    assert parsed_steps("1-100", PICTURE) == range(0, 100)


@pytest.mark.parametrize(
    "given", ["", "0-3", "11-9", "1-101", "9-", "-9", "a-b", "1-2-3", "9999999"]
)
def test_what_is_no_range_of_at_most_100_steps_is_refused(given):
    with pytest.raises(ValueError, match=rf"FIRST-LAST, .* Received: trace_steps='{given}'"):
        parsed_steps(given, PICTURE)


def test_steps_need_a_picture():
    with pytest.raises(ValueError, match="Received: trace_steps='2-3' without --trace. Add"):
        parsed_steps("2-3", None)


def test_steps_beyond_the_last_are_refused_unless_nothing_was_asked_for():
    check_steps(range(8, 11), "9-11", 11)
    check_steps(range(0, 4), None, 2)
    with pytest.raises(ValueError, match="the result, 11. Received: trace_steps='10-12'"):
        check_steps(range(9, 12), "10-12", 11)
