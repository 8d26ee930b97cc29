"""A manifest of files and their texts as a corpus to prepare: see `corpus_blocks`."""

import os

from keras_bahdanau.data.file_rows import FileRows, FileSide
from keras_bahdanau.data.shards.corpus_blocks import ParallelText, fingerprint_of_files, in_blocks
from keras_bahdanau.data.shards.manifest import read_manifest
from keras_bahdanau.text.subwords import Subwords

SHARD_BYTES = 2**26  # of the files of a shard, which has more if one file has
_OF_SOURCE_TEXT = ("source_script", "symbols")


class ManifestCorpus(ParallelText):
    """The files that a manifest names, with their texts.

    Its shards hold the files as they are, and the ids of the texts.

    Args:
        path: Path of the manifest: see `read_manifest`.
        source: `Source` that reads the files.

    Raises:
        FileNotFoundError: If there is no such manifest, or no file that it names.
        ValueError: If the source reads no files, or a line of the manifest has another form.

    Example:
        >>> corpus = ManifestCorpus("formulas/train.tsv", ImageSource(height=64, width=640))
        >>> shards = prepare(corpus, "corpora/formulas")
    """

    def __init__(self, path, source):
        if source.inputs_are != "files":
            raise ValueError(
                "A manifest names files. Received: "
                f"path={os.fspath(path)!r}, for a {type(source).__name__}, which reads "
                f"{source.inputs_are}. Give a source of files."
            )
        self.paths = [os.fspath(path)]
        self.source = source
        read_manifest(path)  # so that it is checked first

    def check(self, settings):
        for name in _OF_SOURCE_TEXT:
            if getattr(settings, name):
                raise ValueError(
                    f"`{name}` is for a source of text. Received: {name}="
                    f"{getattr(settings, name)!r} with the manifest {self.paths[0]!r}. Leave it "
                    "out."
                )
        if not settings.drop_broken:  # each would look like damage to the training that reads it
            raise ValueError(
                "Files of shards can be decoded. Received: drop_broken=False with the manifest "
                f"{self.paths[0]!r}. Leave --keep-broken out."
            )

    def blocks(self, most):
        pairs = read_manifest(self.paths[0])
        return in_blocks(pairs, most, lambda pair: os.stat(pair[0]).st_size, SHARD_BYTES)

    def texts(self, block):
        return tuple(map(list, block.parts))

    def states(self):
        named = (path for path, _ in read_manifest(self.paths[0]))
        return [*super().states(), fingerprint_of_files(named)]

    def side(self, sources):
        return FileSide(self.source, sources)

    def rows(self, source, sources):
        return FileRows.read(source, sources)

    def learned(self, pairs, settings, **of_text):
        texts = [text for _, text in pairs]
        return [Subwords.train(texts, settings.vocabulary_size, name="target text", **of_text)]
