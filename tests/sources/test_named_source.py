"""Sources given by name, as on the command line."""

import pytest

from keras_bahdanau.sources import NAMED, TextSource
from keras_bahdanau.sources.named_source import (
    NAMES,
    inputs_by_name,
    parsed_source,
    preset_by_name,
    source_by_name,
)


def test_settings_are_numbers_where_they_can_be():
    assert parsed_source("text") == ("text", {})
    assert parsed_source("image") == ("image", {})
    given = "speech:bands=40,normalization=global,factor=0.5"
    settings = {"bands": 40, "normalization": "global", "factor": 0.5}
    assert parsed_source(given) == ("speech", settings)


@pytest.mark.parametrize("text", ["", "no-such", "text:height=3", "Image"])
def test_an_unknown_source_is_refused(text):
    told = f"A source must be one of {', '.join(NAMES)}; {' and '.join(NAMED)} accept settings"
    with pytest.raises(ValueError, match=told):
        parsed_source(text)


@pytest.mark.parametrize("setting", ["height", "height=", "=3", "1x=3", "height=1,,width=2"])
def test_a_setting_has_a_name_and_a_value(setting):
    with pytest.raises(ValueError, match="name=value"):
        parsed_source(f"image:{setting}")


def test_a_setting_comes_once():
    with pytest.raises(ValueError, match="appear only once. Received: source='image:height=64,he"):
        parsed_source("image:height=64,height=32")


def test_text_has_no_source_before_it_is_learnt():
    assert source_by_name("text") is None


@pytest.mark.parametrize("name", NAMES)
def test_a_command_knows_the_form_of_the_inputs_before_the_source_is_made(name):
    source = source_by_name(name) or TextSource
    assert inputs_by_name(name) == source.inputs_are
    assert preset_by_name(name) == source.preset


def test_an_unknown_setting_is_refused():
    with pytest.raises(
        ValueError,
        match="must be height, .*, with hight. Did you mean .height",
    ):
        source_by_name("image:hight=3")
    with pytest.raises(ValueError, match="height=63"):
        source_by_name("image:height=63")
