"""A layer's weights as the plain float64 arrays that `reference` takes."""

import numpy as np
import reference


def arrays(layer):
    return [np.asarray(weight, "float64") for weight in layer.get_weights()]


def attention(layer):
    score = layer.score
    (W,), (U,) = map(arrays, (score.query_projection, score.key_projection))
    return reference.Attention(W, U, np.asarray(score.v, "float64")[:, 0])


def keras_cell(layer):
    """The cell of a `keras.layers.GRU` or `keras.layers.LSTM`."""
    W, U, bias = arrays(layer)
    return reference.GRU(W, U, *bias) if len(bias.shape) == 2 else reference.LSTM(W, U, bias)


def cell(layer):
    """The cell of a `GRUCell` or `LSTMCell`, with the rows for the context below, if it has one."""
    W, b = arrays(layer.input_projection)
    if layer.context_projection.built:
        W = np.concatenate([W, *arrays(layer.context_projection)])
    U, *c = arrays(layer.recurrent_projection)
    if c:
        return reference.GRU(W, U, b, *c)
    forget = np.repeat([0.0, 1.0, 0.0, 0.0], layer.units)  # the constant 1 in the forget gate
    return reference.LSTM(W, U, b + forget)


def encoder(model):
    """Embedding and pairs of cells."""
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
    """Gives every weight, biases too, a random value, so that none goes unnoticed."""
    random = np.random.default_rng(seed)
    layer.set_weights([random.normal(0, 0.5, weight.shape) for weight in layer.get_weights()])
    return layer
