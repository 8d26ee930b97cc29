"""Removed options: files that contain them with values that turn them off are still read."""

import dataclasses

import pytest

from keras_bahdanau import SearchOptions
from keras_bahdanau.settings.removed import REMOVED, drop_removed
from keras_bahdanau.training import TrainingOptions


@pytest.mark.parametrize("name", REMOVED)
@pytest.mark.parametrize("off", [0, 0.0, False, None])
def test_a_removed_option_that_is_off_is_dropped(name, off):
    assert drop_removed({"kept": 1, name: off}) == {"kept": 1}


@pytest.mark.parametrize("name", REMOVED)
def test_a_removed_option_that_is_on_is_refused_in_one_line(name):
    message = f"`{name}` was removed and must be off. Received: {name}=0.5. {REMOVED[name]}"
    for read in (drop_removed, SearchOptions.from_config, TrainingOptions.from_config):
        with pytest.raises(ValueError) as error:
            read({name: 0.5})
        assert str(error.value) == message and "\n" not in message


@pytest.mark.parametrize("options", [SearchOptions(beam_width=2), TrainingOptions(units=7)])
def test_options_are_read_from_what_a_file_holds(options):
    config = {**dataclasses.asdict(options), **dict.fromkeys(REMOVED, 0)}
    assert type(options).from_config(config) == options
    with pytest.raises(TypeError):
        type(options).from_config(3)
