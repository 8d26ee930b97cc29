"""Front ends: layers that map the features of a source to vectors for the readers.

A front end is a layer `(features, training=None) -> (vectors, mask)`. The vectors are
`(batch, source_time, units)`. The bool mask `(batch, source_time)` is True where a vector is real,
and False at the padding on the right. The attribute `units` is the width of a vector, and
`source_size` is the size of the `Source`: the number of token ids, or of values per frame. A front
end that makes ceil(n / reduction) vectors from n positions has the attribute `reduction`. A front
end for tokens has the method `ids(features)`, which returns the token ids, int
`(batch, source_time)`. Constructors raise ValueError for invalid arguments.
"""
