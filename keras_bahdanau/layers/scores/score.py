"""Base class of the scores, with checks of their shapes and helpers for their products."""

import weakref

import keras
from keras import ops

from keras_bahdanau.layers.attention.base import AttentionPart

_KERAS_OBJECTS = {
    "initializer": keras.initializers,
    "regularizer": keras.regularizers,
    "constraint": keras.constraints,
}
DENSE_ARGUMENTS = tuple(
    f"{weight}_{kind}" for weight in ("kernel", "bias") for kind in _KERAS_OBJECTS
)
_CHECKED = weakref.WeakSet()  # classes of scores whose shapes have been checked


class Score(AttentionPart):
    """Base class of the scores.

    Subclasses implement `build`, which sets `key_units`, and `project` and `compare`. The axis n
    below is the beam of a search, or target_time. Invalid arguments raise ValueError.

    This custom score uses relu instead of tanh:

    ```python
    import keras
    import keras_bahdanau as kb
    from keras import ops

    @keras.saving.register_keras_serializable(package="my_scores")
    class ReluScore(kb.layers.Score):
        # e_ij = v^T relu(W s_{i-1} + U h_j)

        def __init__(self, units, **kwargs):
            super().__init__(**kwargs)
            self.units = units
            dense = {"use_bias": False, "dtype": self.dtype_policy}
            self.query_projection = keras.layers.Dense(units, **dense)  # W
            self.key_projection = keras.layers.Dense(units, **dense)  # U
            self.v = keras.layers.Dense(1, use_bias=False, dtype="float32")

        def build(self, query_shape, values_shape):
            self.query_projection.build(query_shape)
            self.key_projection.build(values_shape)
            self.v.build((None, self.units))
            self.key_units = self.units

        def project(self, values):
            return self.key_projection(values)  # U h_j: (batch, source_time, units)

        def compare(self, query, keys):
            # W s_{i-1}: (batch, [n,] units) -> (batch, [n,] 1, units)
            query = ops.expand_dims(self.query_projection(query), axis=-2)
            if len(query.shape) > len(keys.shape):  # many queries, one set of keys
                keys = ops.expand_dims(keys, axis=1)  # -> (batch, 1, source_time, units)
            # (batch, [n,] source_time, units) -> (batch, [n,] source_time)
            return ops.squeeze(self.v(ops.relu(query + keys)), axis=-1)

        def get_config(self):
            return {**super().get_config(), "units": self.units}

    attention = kb.layers.Attention(ReluScore(128), coverage="sum")
    decoder = kb.Decoder(8000, 256, kb.layers.DecoderCell(512, attention))
    ```

    To load a saved model with a custom score, first import the module of its class.

    Attributes:
        key_units: Integer. Width of the keys, set when the score is built.

    Call arguments:
        query: Float tensor `(batch, query_units)` or `(batch, n, query_units)`.
        values: Float tensor `(batch, source_time, values_units)`.

    Output:
        Scores in float32 under every dtype policy, `(batch, source_time)` or
        `(batch, n, source_time)`.
    """

    key_units = None

    def __init__(self, **kwargs):
        super().__init__(autocast=True, **kwargs)  # projections run in the compute dtype

    def build(self, query_shape, values_shape):
        """Create the weights and set `key_units`.

        The shapes are `(batch, [n,] query_units)` and `(batch, source_time, values_units)`. All
        sizes except the last may be None.
        """
        raise NotImplementedError(
            f"{type(self).__name__} must define `build(query_shape, values_shape)`, which sets "
            "`key_units`."
        )

    def project(self, values):
        """Return the keys `(batch, source_time, key_units)` for the values, once per sentence."""
        raise NotImplementedError(f"{type(self).__name__} must define `project(values)`.")

    def compare(self, query, keys):
        """Return the scores of one or several queries with all keys; for shapes, see the class.

        `keys` is the result of `project`, with the axis n if the keys differ between queries.
        """
        raise NotImplementedError(f"{type(self).__name__} must define `compare(query, keys)`.")

    def call(self, query, values):
        return self.compare(query, self.project(values))

    def compute_output_shape(self, query_shape, values_shape):
        return (*query_shape[:-1], values_shape[-2])

    def compute_output_spec(self, query, values):
        shape = self.compute_output_shape(query.shape, values.shape)
        return keras.KerasTensor(shape, dtype="float32")


def pop_dense_arguments(arguments):
    """Pop initializers, regularizers and constraints for projections from a dict, as configs.

    From a config, each `Dense` makes its own initializer; a shared one would repeat its values.
    """
    return {
        name: keras.saving.serialize_keras_object(
            _KERAS_OBJECTS[name.partition("_")[2]].get(arguments.pop(name))
        )
        for name in DENSE_ARGUMENTS
        if name in arguments
    }


def kernel_arguments(dense_arguments):
    """Return the arguments of `add_weight` for a kernel, from the arguments of `Dense`."""
    return {
        kind: module.get(dense_arguments[f"kernel_{kind}"])
        for kind, module in _KERAS_OBJECTS.items()
        if f"kernel_{kind}" in dense_arguments
    }


def check_shapes(score, query_shape, values_shape):
    """Raise ValueError unless a built score returns the shapes that attention and search expect.

    The first score of each class runs once on zeros, with axes of different lengths. In a model,
    the lengths may be unknown, or a beam may be as long as the source.
    """
    if type(score) in _CHECKED:
        return
    batch, n, source_time, name = 2, 3, 5, type(score).__name__
    keys = score.project(_zeros(score, batch, source_time, values_shape[-1]))
    if tuple(keys.shape) != (batch, source_time, score.key_units):
        raise ValueError(
            f"`project` must return (batch, source_time, key_units). Received: {tuple(keys.shape)} "
            f"from {name} for batch={batch}, source_time={source_time}, "
            f"key_units={score.key_units}. Set `key_units` in `build`."
        )
    for axes, query_axis, lengths in (
        ((batch,), "", f"batch={batch}"),
        ((batch, n), "n, ", f"batch={batch}, n={n}"),
    ):
        try:
            shape = tuple(score.compare(_zeros(score, *axes, query_shape[-1]), keys).shape)
        except NotImplementedError:
            raise
        except Exception as error:  # each backend raises its own exceptions
            shape = f"an error, {str(error).splitlines()[0]!r:.200},"
        if shape != (*axes, source_time):
            raise ValueError(
                f"`compare` must return (batch, {query_axis}source_time). Received: {shape} from "
                f"{name} for a query (batch, {query_axis}query_units) with {lengths}, "
                f"source_time={source_time}. Insert axes: a query (batch, n, 1, units) matches "
                "keys (batch, 1, source_time, units)."
            )
    _CHECKED.add(type(score))


def _zeros(score, *shape):
    return ops.zeros(shape, score.compute_dtype)


def keys_for(query, keys):
    """Return the keys, with an axis n of length 1 if only the query has this axis."""
    return ops.expand_dims(keys, axis=1) if len(query.shape) == len(keys.shape) else keys


def product(query, keys):
    """Return q^T k for every pair, float32 `(batch, [n,] source_time)`; the axis n is optional."""
    query, keys = ops.cast(query, "float32"), ops.cast(keys, "float32")
    if len(query.shape) == len(keys.shape):  # all queries share the keys: one product
        return ops.matmul(query, ops.swapaxes(keys, -2, -1))  # -> (batch, n, source_time)
    # (batch, [n,] source_time, units) x (batch, [n,] units, 1) -> (batch, [n,] source_time)
    return ops.squeeze(ops.matmul(keys, ops.expand_dims(query, axis=-1)), axis=-1)
