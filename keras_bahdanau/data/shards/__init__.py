"""Corpora larger than memory, which are stored as shards of token ids and of files."""
