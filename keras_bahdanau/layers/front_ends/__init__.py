"""Front ends: layers that map the features of a source to vectors for the readers.

A front end is a layer `(features, training=None) -> (vectors, mask)`: vectors
`(batch, source_time, units)`, and a bool mask `(batch, source_time)`, True where a vector is real,
False at the padding on the right. Its attributes are `units`, the width of a vector, and
`source_size`, the size of its `Source`: the number of token ids, or of values per frame. If it
makes ceil(n / reduction) vectors from n positions, it has the attribute `reduction`; a front end of
tokens has the method `ids(features)`, which returns the token ids, int `(batch, source_time)`.
Constructors raise ValueError for invalid arguments.
"""
