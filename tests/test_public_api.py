"""Each change of a public name, argument or default must show up in tests/public_api.txt."""

import difflib

import public_api


def test_the_public_interface_is_that_of_its_file():
    before = public_api.FILE.read_text(encoding="utf-8").splitlines()
    changes = [*difflib.unified_diff(before, public_api.text().splitlines(), n=0, lineterm="")]
    assert changes == [], "Run `make api`, and describe the change in CHANGELOG.md."


def test_lines_show_arguments_defaults_and_methods():
    class Example:
        def __init__(self, units, *, score=dict, mask=None):
            pass

        def prepare(self, memory, training=False):
            pass

        @property
        def keys(self):
            pass

        def _hidden(self):
            pass

    Example.__module__ = Example.__init__.__module__ = "keras_bahdanau.layers"
    assert [*public_api.value_lines("Example", Example)] == [
        "Example(units, *, score=dict, mask=None)",
        "    .keys",
        "    .prepare(memory, training=False)",
    ]
