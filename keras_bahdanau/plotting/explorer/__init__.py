"""A page that shows traces step by step: one file, for any browser, without a network."""

from keras_bahdanau.plotting.explorer.explorer_file import write_explorer

__all__ = ["write_explorer"]
