"""Shards whose sources get a tag when they are read: one corpus on disk, for several trainings."""

from keras_bahdanau.data.shards.shards import Shards
from keras_bahdanau.data.tags import require_token, tagged


class TaggedShards(Shards):
    """`Shards` with the id of a tag before the ids of each source.

    Args:
        directory: Path of the shards.
        tag: String, one token of their source, such as `<2de>`.

    Raises:
        FileNotFoundError: As in `Shards`.
        ValueError: As in `Shards`, or if the tag is no token of the source.

    Example:
        >>> shards = TaggedShards("corpora/en-de", "<2de>")
    """

    def __init__(self, directory, tag):
        super().__init__(directory)
        require_token(tag, self.source)
        self.tag = tag
        # as it stands before text: one that keeps spaces has a token for a tag with its space
        (ids,) = self.source.subwords.encode([tagged(tag, "a")])
        self._tag_id = int(ids[0])

    def lengths(self, number):
        source, target = super().lengths(number)
        return source + (source > 0), target

    def part(self, number, first, end):
        source, target = super().part(number, first, end)
        return source.begun_with(self._tag_id), target
