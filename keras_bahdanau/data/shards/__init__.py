"""Corpora larger than memory: shards of token ids, and the manifests of files."""
