"""The structure of a source's features: its shapes, and its names."""

import keras


class FeatureStructure:
    """The part of a `Source` that follows from its `feature_spec` alone.

    That is a structure of `tf.TensorSpec` `(batch, [source_time, ...])`, each with a name. A
    source whose features have other shapes, such as `(batch, height, width, channels)`, writes
    `batch_spec` itself.
    """

    def batch_spec(self, rows, source_time):
        """As `feature_spec`, for a batch of so many rows and positions: no dimension is unknown."""

        def sized(spec):
            shape = (rows, source_time, *spec.shape[2:])[: len(spec.shape)]
            return type(spec)(shape, spec.dtype, spec.name)

        return keras.tree.map_structure(sized, self.feature_spec)

    def named(self, features):
        """Dictionary from the names in `feature_spec` to the tensors of a structure."""
        specs = keras.tree.flatten(self.feature_spec)
        tensors = keras.tree.flatten(features)
        return {spec.name: tensor for spec, tensor in zip(specs, tensors, strict=True)}

    def packed(self, tensors):
        """The structure of a dictionary that `named` gives."""
        specs = keras.tree.flatten(self.feature_spec)
        return keras.tree.pack_sequence_as(
            self.feature_spec, [tensors[spec.name] for spec in specs]
        )
