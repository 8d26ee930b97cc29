"""Readers: layers that read a source, by name.

A reader is a layer `(inputs, lengths, training=None) -> values` with a width `output_units`, and a
method `last(values, mask)` that gives the state at the end of a source. One that makes ceil(n /
reduction) values of n inputs has an attribute `reduction`; one that reads grids has `grid_height`,
the number of rows, which an encoder sets to that of its front end if it is None. A name stands for
the list of readers of an encoder, called one after another:
`READERS.get(name, depth, units, cell, recurrent_dropout, dropout)`, with the arguments of
`RecurrentReader` and the dropout rate between several layers in one.
"""
