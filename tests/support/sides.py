"""Stand-ins for the source and target of a model, for tests where only sizes matter."""

from typing import Any, NamedTuple

from keras_bahdanau.layers.front_ends.token_embedding import TokenEmbedding


class TargetSide(NamedTuple):
    """The part of `Subwords` that a preset reads."""

    vocabulary_size: int


class SourceSide(NamedTuple):
    """The part of a `Source` that a preset reads."""

    size: int
    subwords: Any = None
    grid_height: int = 1

    def front_end(self, units, convolutions=None, augmentation=0.0):
        return TokenEmbedding(self.size, units, name="front_end")


def separate_sides(source_size=11, target_size=10):
    """Return (source, target) with separate vocabularies."""
    return SourceSide(source_size), TargetSide(target_size)


def joint_sides(size=10):
    """Return (source, target) with a shared vocabulary."""
    target = TargetSide(size)
    return SourceSide(size, target), target
