"""Front ends of an encoder; so far there is one, the embedding of tokens."""
