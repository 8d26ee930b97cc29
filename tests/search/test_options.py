"""SearchOptions: what it takes, and what it says of the rest."""

import dataclasses

import pytest

from keras_bahdanau.search import SearchOptions


def test_its_values_are_recorded_with_every_export():
    options = SearchOptions(beam_width=3, length_normalization=0.5)
    assert SearchOptions(**dataclasses.asdict(options)) == options
    assert hash(SearchOptions(**dataclasses.asdict(options))) == hash(options)


def test_it_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        SearchOptions().beam_width = 2


def test_the_smallest_values_are_taken():
    SearchOptions(
        beam_width=1,
        max_length=1,
        length_normalization=0,
        max_length_ratio=0,
        max_length_offset=0,
    )


@pytest.mark.parametrize("name", ["beam_width", "max_length"])
@pytest.mark.parametrize("value", [0, -1, 2.0, "5", None, True])
def test_counts_must_be_positive_integers(name, value):
    with pytest.raises(ValueError, match=f"`{name}` must be a positive integer. Received: {name}="):
        SearchOptions(**{name: value})


@pytest.mark.parametrize("name", ["length_normalization", "max_length_ratio", "max_length_offset"])
@pytest.mark.parametrize("value", [-0.1, "1", None, True, float("nan"), float("inf")])
def test_shares_must_not_be_negative(name, value):
    with pytest.raises(ValueError, match=f"`{name}` must be a number >= 0. Received: {name}="):
        SearchOptions(**{name: value})
