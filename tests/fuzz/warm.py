"""Loaded by a zygote: a command that is refused, for all that a parser loads late."""

from keras_bahdanau import cli

for name in cli.COMMANDS:
    cli.command(name)
try:
    cli.main(["translate", "--model", ".", "--batch-size", "x"])
except SystemExit:
    pass
