"""Coverage: memory of the attention that each source position has received."""

import keras
from keras import ops

from keras_bahdanau.layers.attention.base import AttentionPart
from keras_bahdanau.settings import checks


class CoverageBase(AttentionPart):
    """Base of the coverages: a feature vector for each source position, added to its key.

    A subclass writes `features` and `remember`. Shapes: see `Coverage`. Arguments that are not as
    documented raise ValueError.
    """

    def initial_state(self, memory):
        return ops.zeros_like(memory.mask, dtype="float32")

    def features(self, state):
        """Features of the keys: float tensor `(batch, [n,] source_time, key_units)`."""
        raise NotImplementedError

    def remember(self, state, weights):
        """The next state, from this one and the weights of the step, both of one shape."""
        raise NotImplementedError

    def add_to(self, keys, state):
        features = self.features(state)
        if len(features.shape) > len(keys.shape):
            keys = ops.expand_dims(keys, axis=1)  # -> (batch, 1, source_time, key_units)
        return keys + ops.cast(features, keys.dtype)  # -> (batch, [n,] source_time, key_units)

    def call(self, keys, state):
        return self.add_to(keys, state)


def at_each_position(layer, inputs):
    """Apply a layer to `(..., units)` flattened: in XLA's loops only that has a gradient."""
    # (..., units) -> (positions, units) -> (positions, output_units)
    outputs = layer(ops.reshape(inputs, (-1, inputs.shape[-1])))
    return ops.reshape(outputs, (*ops.shape(inputs)[:-1], outputs.shape[-1]))


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class NoCoverage(CoverageBase):
    """Unchanged keys; the state is ()."""

    def initial_state(self, memory):
        return ()

    def add_to(self, keys, state):
        return keys

    def remember(self, state, weights):
        return ()


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class Coverage(CoverageBase):
    """Sum of the weights so far, as a feature of the score.

    C_ij = C_{i-1,j} + alpha_ij,  C_0j = 0
    e_ij = v^T tanh(W s_{i-1} + U h_j + V C_{i-1,j})      (Tu et al. 2016, section 3: the
                                                           linguistic coverage without fertility)

    `features` is V C_{i-1,j}, added to the keys of any score; the state is C. Keys
    `(batch, source_time, key_units)` and the state, float32 `(batch, [n,] source_time)`, give keys
    `(batch, [n,] source_time, key_units)`; n is the beam of a search, or absent.
    """

    def build(self, keys_shape):
        self.projection = keras.layers.Dense(  # V
            keys_shape[-1], use_bias=False, dtype=self.dtype_policy, name="projection"
        )
        self.projection.build((None, 1))

    def features(self, state):
        # C_{i-1}: (batch, [n,] source_time, 1) -> (batch, [n,] source_time, key_units)
        return at_each_position(self.projection, ops.expand_dims(state, axis=-1))

    def remember(self, state, weights):
        return state + weights


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class LocationConvolution(CoverageBase):
    """Features of the last weights around each position.

    f_i  = F * alpha_{i-1},  alpha_0 = 0
    e_ij = v^T tanh(W s_{i-1} + V h_j + U f_ij)      (Chorowski et al. 2015, section 2.2)

    `features` is U f_ij, the state alpha_{i-1}. F has `filters` (10 in the paper) that span
    `kernel_size` positions (201 frames), positive integers, or ValueError. `GridCoverage` convolves
    the sum of all weights. Shapes: see `Coverage`.
    """

    def __init__(self, filters=10, kernel_size=15, **kwargs):
        super().__init__(**kwargs)
        self.filters = checks.positive_integer("filters", "the number of filters", filters)
        self.kernel_size = checks.positive_integer(
            "kernel_size", "the positions that a filter spans", kernel_size
        )
        options = {"use_bias": False, "dtype": self.dtype_policy}
        options |= {"padding": "same", "data_format": "channels_last"}
        self.convolution = keras.layers.Conv1D(filters, kernel_size, name="convolution", **options)

    def build(self, keys_shape):
        self.projection = keras.layers.Dense(  # U
            keys_shape[-1], use_bias=False, dtype=self.dtype_policy, name="projection"
        )
        self.convolution.build((None, None, 1))
        self.projection.build((None, self.filters))

    def features(self, state):
        shape = ops.shape(state)
        weights = ops.reshape(state, (-1, shape[-1], 1))  # -> (batch * n, source_time, 1)
        # f_i: (batch, [n,] source_time, filters)
        features = ops.reshape(self.convolution(weights), (*shape, self.filters))
        return at_each_position(self.projection, features)

    def remember(self, state, weights):
        return weights

    def get_config(self):
        config = {"filters": self.filters, "kernel_size": self.kernel_size}
        return {**super().get_config(), **config}


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class GridCoverage(Coverage):
    """Features of the sum of the weights so far, around each cell of a grid.

    F_i  = Q * sum_{l < i} alpha_l
    e_ij = v^T tanh(W s_{i-1} + U h_j + U_f F_ij)      (Zhang et al. 2017, "Watch, attend and
                                                        parse", section 3.2.2)

    Q has `filters` of two axes, `kernel_size` columns and at most as many rows, over cells in
    column order: cell (column x, row y) is position x * `grid_height` + y. With one row it is a
    convolution along a sequence that remembers all steps (Shen et al. 2018, section 2.2).
    `features` is U_f F_ij, the state the sum of the weights. The sizes are positive integers, or
    ValueError. Shapes: see `Coverage`.
    """

    def __init__(self, filters=16, kernel_size=5, grid_height=1, **kwargs):
        super().__init__(**kwargs)
        self.filters = checks.positive_integer("filters", "the number of filters", filters)
        self.kernel_size = checks.positive_integer(
            "kernel_size", "the cells that a filter spans", kernel_size
        )
        self.grid_height = checks.positive_integer(
            "grid_height", "the rows of the grid", grid_height
        )
        self.convolution = keras.layers.Conv2D(  # Q
            filters,
            (kernel_size, min(kernel_size, 2 * grid_height - 1)),
            padding="same",
            use_bias=False,
            data_format="channels_last",
            dtype=self.dtype_policy,
            name="convolution",
        )

    def build(self, keys_shape):
        self.projection = keras.layers.Dense(  # U_f
            keys_shape[-1], use_bias=False, dtype=self.dtype_policy, name="projection"
        )
        self.convolution.build((None, None, self.grid_height, 1))
        self.projection.build((None, self.filters))

    def features(self, state):
        shape, height = ops.shape(state), self.grid_height
        weights = ops.reshape(state, (-1, shape[-1]))  # -> (batch * n, source_time)
        columns = (shape[-1] + height - 1) // height
        # -> (batch * n, columns * height): the last column may be cut
        weights = ops.pad(weights, ((0, 0), (0, columns * height - shape[-1])))
        grid = ops.reshape(weights, (-1, columns, height, 1))
        # F_i: (batch * n, columns, height, filters) -> (batch * n, source_time, filters)
        features = ops.reshape(self.convolution(grid), (-1, columns * height, self.filters))
        features = ops.reshape(features[:, : shape[-1]], (*shape, self.filters))
        return at_each_position(self.projection, features)

    def get_config(self):
        config = {
            "filters": self.filters,
            "kernel_size": self.kernel_size,
            "grid_height": self.grid_height,
        }
        return {**super().get_config(), **config}
