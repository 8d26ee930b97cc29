"""Front ends: layers from the features of a source to vectors for the readers.

A front end is a layer `(features, training=None) -> (vectors, mask)`: vectors
`(batch, source_time, units)`, and a bool mask `(batch, source_time)`, True where a vector is real,
False at the padding on the right. Its attributes are `units`, the width of a vector, and
`source_size`, the size of its `Source`: the ids of a vocabulary, or the numbers of a frame. If it
makes ceil(n / reduction) vectors of n positions, it has the attribute `reduction`; one of tokens
has the method `ids(features)`, the int tensor `(batch, source_time)` of their ids. Constructors
raise ValueError for arguments that are not as documented.
"""
