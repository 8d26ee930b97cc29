"""Sentence pairs: reading, filtering and batching.

Names are loaded on first use, because some of them need TensorFlow.
"""

from keras_bahdanau.settings.lazy import lazy_names

_MODULE_OF = {
    "BatchedPairs": "batching",
    "Corpora": "corpora",
    "Corpus": "corpora",
    "Filters": "shards.preparation",
    "ManifestCorpus": "shards.file_rows",
    "MixedBatches": "mixing",
    "PairFile": "pair_file",
    "Preparation": "shards.preparation",
    "ShardedBatches": "shards.sharded_batches",
    "Shards": "shards.shards",
    "answers_by_source": "pairs",
    "batches": "batching",
    "open_corpus": "readers",
    "prepare": "shards.preparing",
    "read_alignments": "readers.parallel_files",
    "read_lines": "readers.lines",
    "read_manifest": "readers.manifest",
    "read_pairs": "readers.parallel_files",
    "read_table": "readers.table",
    "survey": "shards.preparing",
    "write_card": "shards.shards",
    "write_shard": "shards.shards",
}

__all__ = [*_MODULE_OF]

__getattr__, __dir__ = lazy_names(__name__, _MODULE_OF)
