"""Coverage: a record of the attention that each source position has received."""

import keras
from keras import ops

from keras_bahdanau.layers.attention.base import AttentionPart
from keras_bahdanau.settings import checks


class CoverageBase(AttentionPart):
    """Base class of the coverages, which add a feature vector to the key of each source position.

    Subclasses implement `features` and `remember`. For shapes, see `Coverage`. Invalid arguments
    raise ValueError.
    """

    def initial_state(self, memory):
        return ops.zeros_like(memory.mask, dtype="float32")

    def features(self, state):
        """Return features to add to the keys, float `(batch, [n,] source_time, key_units)`."""
        raise NotImplementedError

    def remember(self, state, weights):
        """Return the next state from this state and the step's weights, both of the same shape."""
        raise NotImplementedError

    def add_to(self, keys, state):
        features = self.features(state)
        if len(features.shape) > len(keys.shape):
            keys = ops.expand_dims(keys, axis=1)  # -> (batch, 1, source_time, key_units)
        return keys + ops.cast(features, keys.dtype)  # -> (batch, [n,] source_time, key_units)

    def call(self, keys, state):
        return self.add_to(keys, state)


def at_each_position(layer, inputs):
    """Apply a layer to `(..., units)`, flattened so that it has a gradient in a loop under XLA."""
    # (..., units) -> (positions, units) -> (positions, output_units)
    outputs = layer(ops.reshape(inputs, (-1, inputs.shape[-1])))
    return ops.reshape(outputs, (*ops.shape(inputs)[:-1], outputs.shape[-1]))


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class NoCoverage(CoverageBase):
    """Coverage that leaves the keys unchanged; the state is ()."""

    def initial_state(self, memory):
        return ()

    def add_to(self, keys, state):
        return keys

    def remember(self, state, weights):
        return ()


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class Coverage(CoverageBase):
    """Coverage that adds the sum of the previous weights to the score as a feature.

    C_ij = C_{i-1,j} + alpha_ij,  C_0j = 0
    e_ij = v^T tanh(W s_{i-1} + U h_j + V C_{i-1,j})      (Tu et al. 2016, section 3: the
                                                           linguistic coverage without fertility)

    `features` returns V C_{i-1,j}, which is added to the keys of any score. The state is C, float32
    `(batch, [n,] source_time)`. A call maps keys `(batch, source_time, key_units)` and the state to
    keys `(batch, [n,] source_time, key_units)`. The optional axis n is the beam of a search.
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
    """Coverage that uses a convolution of the previous weights around each position.

    f_i  = F * alpha_{i-1},  alpha_0 = 0
    e_ij = v^T tanh(W s_{i-1} + V h_j + U f_ij)      (Chorowski et al. 2015, section 2.2)

    `features` returns U f_ij, and the state is alpha_{i-1}. F has `filters` filters (10 in the
    paper) that span `kernel_size` positions (201 frames in the paper). Raises ValueError unless
    both are positive integers. `GridCoverage` convolves the sum of all previous weights instead.
    For shapes, see `Coverage`.
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
    """Coverage that uses a convolution of the summed previous weights around each cell of a grid.

    F_i  = Q * sum_{l < i} alpha_l
    e_ij = v^T tanh(W s_{i-1} + U h_j + U_f F_ij)      (Zhang et al. 2017, "Watch, attend and
                                                        parse", section 3.2.2)

    Q has `filters` two-dimensional filters, which span `kernel_size` columns and at most
    `kernel_size` rows. Cells are in column order: the cell in column x and row y has the position
    x * `grid_height` + y. With a single row, this is a convolution along a sequence that takes all
    previous steps into account (Shen et al. 2018, section 2.2). `features` returns U_f F_ij, and
    the state is the sum of the weights. Raises ValueError unless the sizes are positive integers.
    For shapes, see `Coverage`.
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
        # -> (batch * n, columns * height): the last column may be incomplete
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
