"""Sentence pairs from files to batches.

The names are loaded on first use, since only some of them need TensorFlow.
"""

from keras_bahdanau.settings.lazy import lazy_names

_MODULE_OF = {
    "BatchedPairs": "batching",
    "Corpora": "corpora",
    "Corpus": "corpora",
    "Filters": "shards.preparation",
    "ManifestCorpus": "shards.manifest_corpus",
    "MixedBatches": "mixing",
    "PairFile": "pair_file",
    "Preparation": "shards.preparation",
    "ShardedBatches": "shards.sharded_batches",
    "Shards": "shards.shards",
    "answers_by_source": "answers",
    "batches": "batching",
    "open_corpus": "parallel_text",
    "prepare": "shards.preparing",
    "read_alignments": "reading",
    "read_lines": "reading",
    "read_manifest": "shards.manifest",
    "read_pairs": "reading",
    "read_table": "columns",
    "survey": "shards.preparing",
    "write_card": "shards.shards",
    "write_shard": "shards.shards",
}

__all__ = [*_MODULE_OF]

__getattr__, __dir__ = lazy_names(__name__, _MODULE_OF)
