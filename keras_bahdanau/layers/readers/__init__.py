"""Readers: layers that read a source, by name.

A reader is a layer `(inputs, lengths, training=None) -> values` with a width `output_units`, and a
method `last(values, mask)` that returns the state at the end of a source. A reader that makes
ceil(n / reduction) values from n inputs has the attribute `reduction`; one of grids has
`grid_height`, the number of rows, which an encoder copies from its front end if it is None. A name
refers to the list of readers of an encoder, called one after another:
`READERS.get(name, depth, units, cell, recurrent_dropout, dropout)`, with the arguments of
`RecurrentReader` and the dropout rate between the layers inside a reader.
"""
