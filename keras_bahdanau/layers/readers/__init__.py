"""Readers: the layers of an encoder that read a source.

A reader is a layer `(inputs, lengths, training=None) -> values` with the output width
`output_units`, and a method `last(values, mask)` that returns the state at the end of a source. A
reader that makes ceil(n / reduction) values from n inputs has the attribute `reduction`. A reader
for grids has the attribute `grid_height`, the number of rows; if it is None, the encoder copies it
from its front end. A name stands for a list of readers, which the encoder calls one after another:
`READERS.get(name, depth, units, cell, recurrent_dropout, dropout)`. The arguments are those of
`RecurrentReader`; `dropout` is the dropout rate between the layers inside a reader.
"""
