"""SearchOptions: the values that it accepts, and its errors for others."""

import dataclasses
import json
import subprocess
import sys

import numpy as np
import pytest

from keras_bahdanau.search import SearchOptions, require_deterministic
from keras_bahdanau.search.search_options import LENGTH_PENALTIES

RANDOM = [{"temperature": 0.5}, {"top_k": 10}, {"top_p": 1.0}]


def test_its_values_are_recorded_with_every_export():
    options = SearchOptions(beam_width=3, length_normalization=0.5, top_p=0.9, replace_unknown=True)
    card = json.loads(json.dumps(dataclasses.asdict(options)))
    assert SearchOptions(**card) == options
    assert hash(SearchOptions(**card)) == hash(options)


def test_a_card_of_the_first_version_is_read():
    card = {
        "beam_width": 4,
        "length_normalization": 0.6,
        "max_length": 100,
        "max_length_ratio": 2.0,
        "max_length_offset": 10,
    }
    options = SearchOptions(**card)
    assert {**dataclasses.asdict(SearchOptions()), **card} == dataclasses.asdict(options)
    assert not options.random


def test_it_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        SearchOptions().beam_width = 2


def test_the_smallest_values_are_taken():
    SearchOptions(
        beam_width=1,
        min_length=1,
        max_length=1,
        length_normalization=0,
        coverage_penalty=0,
        ctc_weight=0,
        max_length_ratio=0,
        max_length_offset=0,
        max_source_length=1,
        no_repeat_ngram=0,
        write_symbols=False,
        temperature=1e-9,
        top_k=1,
        top_p=1e-9,
        seed=0,
    )


@pytest.mark.parametrize("name", ["beam_width", "min_length", "max_length"])
@pytest.mark.parametrize("value", [0, -1, 2.0, "5", None, True])
def test_counts_must_be_positive_integers(name, value):
    message = rf"`{name}` must be an integer in \[1, \d+\]. Received: {name}="
    with pytest.raises(ValueError, match=message):
        SearchOptions(**{name: value})


@pytest.mark.parametrize(
    "name",
    ["length_normalization", "coverage_penalty", "max_length_ratio", "max_length_offset"],
)
@pytest.mark.parametrize("value", [-0.1, "1", None, True, float("nan"), float("inf"), 10**9])
def test_shares_must_not_be_negative(name, value):
    message = rf"`{name}` must be a number in \[0, \d+\]. Received: {name}="
    with pytest.raises(ValueError, match=message):
        SearchOptions(**{name: value})


@pytest.mark.parametrize(
    ("name", "values", "demand"),
    [
        ("max_source_length", [0, 2.0, True, 100_001], "an integer in [1, 100000], or None"),
        ("ctc_weight", [-0.1, 1.1, None, "1", True, float("nan")], "a number in [0, 1]"),
        ("no_repeat_ngram", [-1, 1.0, None, 101], "an integer in [0, 100]"),
        ("seed", [-1, 1.0, None, 2**32], "an integer in [0, 4294967295]"),
        ("length_penalty", ["wu", None, 1, []], "one of 'power', 'gnmt'"),
        ("temperature", [0, 1e-50, "1", float("nan"), True], "a number in [1e-09, 1000], or None"),
        ("top_k", [0, 2.0, True], "an integer in [1, 1000000], or None"),
        ("top_p", [0, 1.1, float("nan")], "a number in (0, 1], or None"),
        ("write_symbols", [0, None, "no"], "True or False"),
        ("replace_unknown", [0, None, "yes"], "True or False"),
    ],
)
def test_the_others_say_what_they_must_be(name, values, demand):
    for value in values:
        with pytest.raises(ValueError) as error:
            SearchOptions(**{name: value})
        assert str(error.value) == f"`{name}` must be {demand}. Received: {name}={value!r}"


def test_the_shortest_length_must_not_pass_the_longest():
    with pytest.raises(ValueError, match="min_length=5, max_length=4"):
        SearchOptions(min_length=5, max_length=4)


@pytest.mark.parametrize("settings", RANDOM)
def test_draws_at_random_have_no_share_of_ctc(settings):
    with pytest.raises(
        ValueError, match="must not draw at random.* Received: ctc_weight=0.3, temp"
    ):
        SearchOptions(ctc_weight=0.3, **settings)


@pytest.mark.parametrize("settings", RANDOM)
def test_an_export_must_not_draw_at_random(settings):
    options = SearchOptions(**settings)
    assert options.random
    with pytest.raises(ValueError, match="Received: temperature=.*none of these"):
        require_deterministic(options)
    require_deterministic(SearchOptions(seed=3, beam_width=1))


def test_it_loads_without_keras():
    program = (
        "import sys; from keras_bahdanau.search import SearchOptions; SearchOptions()\n"
        "assert not {'keras', 'tensorflow', 'numpy'} & set(sys.modules)"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr


@pytest.mark.parametrize(
    "name", ["coverage_penalty", "beam_width", "temperature", "max_length_offset"]
)
def test_a_number_that_is_no_float_is_refused(name):
    with pytest.raises(ValueError, match=f"Received: {name}=1000"):
        SearchOptions(**{name: 10**400})


@pytest.mark.parametrize("penalty", LENGTH_PENALTIES)
def test_the_largest_length_penalty_is_a_float32(penalty):
    bounds = {field.name: field.metadata["check"] for field in dataclasses.fields(SearchOptions)}
    lengths = range(1, 10**6)
    longest = next(length for length in lengths if not bounds["max_length"].allows(length + 1))
    exponent = next(a for a in range(100) if not bounds["length_normalization"].allows(a + 1))
    assert longest >= 1000 and exponent >= 2
    divisor = LENGTH_PENALTIES[penalty](np.float32(longest), np.float32(exponent))
    assert np.isfinite(divisor) and np.float32(-1e-3) / divisor < 0
