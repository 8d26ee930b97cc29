"""Convert the weights of layers to the float64 arrays that `reference` accepts."""

import numpy as np
import reference


def arrays(layer):
    return [np.asarray(weight, "float64") for weight in layer.get_weights()]


def attention(layer):
    score = layer.score
    (W,), (U,) = map(arrays, (score.query_projection, score.key_projection))
    return reference.Attention(W, U, np.asarray(score.v, "float64")[:, 0])


def keras_cell(layer):
    """Return the `reference` cell of a `keras.layers.GRU` or `keras.layers.LSTM`."""
    W, U, bias = arrays(layer)
    return reference.GRU(W, U, *bias) if len(bias.shape) == 2 else reference.LSTM(W, U, bias)


def cell(layer):
    """Return the `reference` cell of a `GRUCell` or `LSTMCell`.

    If the cell reads a context, the rows of its projection are appended to the input kernel.
    """
    W, b = arrays(layer.input_projection)
    if layer.context_projection.built:
        W = np.concatenate([W, *arrays(layer.context_projection)])
    U, *c = arrays(layer.recurrent_projection)
    if c:
        return reference.GRU(W, U, b, *c)
    forget = np.repeat([0.0, 1.0, 0.0, 0.0], layer.units)  # the forget gate's constant 1
    return reference.LSTM(W, U, b + forget)


def encoder(model):
    """Return the embedding and the pairs of cells of an encoder."""
    (embedding,) = arrays(model.front_end.embedding)
    return embedding, [
        (keras_cell(reader.forward_layer), keras_cell(reader.backward_layer))
        for reader in model.readers
    ]


def decoder_cell(layer):
    return {
        "attention": attention(layer.attention),
        "cell": cell(layer.stack.cells[0]),
        "bridge": tuple(arrays(layer.bridge.projection)),
    }


def decoder(model):
    (embedding,) = arrays(model.embedding)
    tied = model.output_layer is None
    return reference.Decoder(
        embedding=embedding,
        **decoder_cell(model.cell),
        readout=tuple(arrays(model.readout.projection)),
        output=(embedding.T, 0.0) if tied else tuple(arrays(model.output_layer)),
    )


def randomize(layer, seed=0):
    """Assign random values to every weight, including biases, so that each affects the output."""
    random = np.random.default_rng(seed)
    layer.set_weights([random.normal(0, 0.5, weight.shape) for weight in layer.get_weights()])
    return layer
