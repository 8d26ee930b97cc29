"""Loaded by a zygote: a command that is refused, for all that a parser loads late."""

from typer.testing import CliRunner

from keras_bahdanau.cli import app

CliRunner().invoke(app, ["translate", "--model", ".", "--batch-size", "x"])
