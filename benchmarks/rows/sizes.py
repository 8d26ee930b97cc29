"""The sizes of rows 1 to 5, 7, 12 and 13, how wide a peer must be, and the arithmetic of a step."""

SIZES = {
    "vocabulary": 8000,
    "embedding": 256,
    "encoder": 256,  # each direction
    "decoder": 512,
    "attention": 256,
    "readout": 256,
    "batch": 64,
    "source_time": 16,
    "target_time": 16,
}
WIDTHS = ("embedding", "encoder", "decoder", "attention", "readout")
QUICK = {
    "vocabulary": 600,
    "embedding": 16,
    "encoder": 16,
    "decoder": 32,
    "attention": 16,
    "readout": 16,
    "batch": 4,
    "source_time": 5,
    "target_time": 6,
}


def sizes(quick=False, **others):
    """The sizes, with the widths that make each peer's model as large as ours.

    Every peer has the same vocabulary, embeddings, encoder and, but for OpenNMT-tf, whose decoder,
    attention and readout are of one width, the same decoder and attention; what its structure has
    no weights for is made up by one width:

    - `readout_behind`: stock Keras' readout, whose decoder does not read the context;
    - `readout_fed`: TensorFlow Addons' attention layer, which the next step reads;
    - `decoder_all`: OpenNMT-tf's one width.
    """
    chosen = {**(QUICK if quick else SIZES), **others}
    return _matched(chosen, _ours(chosen))


def sizes_as_large(weights, quick=False, **others):
    """The sizes at which every peer has as many weights as another model of ours.

    All widths are row 1's, times one factor; then each peer's own width makes up the rest, and for
    PyTorch, whose equations are row 1's, the readout does. All are multiples of 8, which suit a
    processor's vectors. The peers share no embeddings, as in row 1: with shared ones they would be
    wider, and slower.

    Args:
        weights: Integer, the weights of our model.
        quick: Whether the sizes are the tiny ones.
        **others: What is not row 1's, such as `vocabulary=3200`.

    Returns:
        Dictionary, as from `sizes`.
    """
    base, step = ({**QUICK, **others}, 1) if quick else ({**SIZES, **others}, 8)
    scaled = [
        {**base, **{name: base[name] * width // base["encoder"] for name in WIDTHS}}
        for width in range(step, 4 * base["encoder"], step)
    ]
    chosen = min(scaled, key=lambda s: abs(_ours(s) - weights))
    widths = range(step, 4 * chosen["decoder"], step)
    chosen["readout"] = min(widths, key=lambda w: abs(_ours({**chosen, "readout": w}) - weights))
    return _matched(chosen, weights, step)


def _matched(chosen, weights, step=1):
    """The sizes with the widths of the peers that have other equations."""
    for name, count in (
        ("readout_behind", _keras_layers),
        ("readout_fed", _addons),
        ("decoder_all", _opennmt),
    ):
        widths = range(step, 4 * chosen["decoder"], step)
        chosen[name] = min(widths, key=lambda w, n=count: abs(n(chosen, w) - weights))
    return chosen


def _common(s):
    """Embeddings and encoder."""
    encoder = (s["embedding"] + s["encoder"] + 2) * 3 * s["encoder"]
    return 2 * s["vocabulary"] * s["embedding"] + 2 * encoder


def _gru(inputs, units):
    return (inputs + units + 2) * 3 * units


def _ours(s):
    values, units, readout = 2 * s["encoder"], s["decoder"], s["readout"]
    bridge = (values + 1) * units
    attention = (units + values + 1) * s["attention"]
    cell = _gru(s["embedding"] + values, units)
    read = (units + values + s["embedding"] + 1) * readout
    return _common(s) + bridge + attention + cell + read + (readout + 1) * s["vocabulary"]


def _keras_layers(s, readout):
    values, units = 2 * s["encoder"], s["decoder"]
    bridge = (values + 1) * units
    attention = (units + values + 1) * s["attention"]
    read = (units + values + 1) * readout
    output = (readout + 1) * s["vocabulary"]
    return _common(s) + bridge + attention + _gru(s["embedding"], units) + read + output


def _addons(s, readout):
    values, units = 2 * s["encoder"], s["decoder"]
    bridge = (values + 1) * units
    attention = (units + values + 1) * s["attention"]
    read, output = (units + values) * readout, (readout + 1) * s["vocabulary"]
    return _common(s) + bridge + attention + _gru(s["embedding"] + readout, units) + read + output


def _opennmt(s, units):
    values = 2 * s["encoder"]
    bridge = (values + 1) * units
    attention = (units + values + 1) * units
    read, output = (units + values) * units, (units + 1) * s["vocabulary"]
    return _common(s) + bridge + attention + _gru(s["embedding"] + units, units) + read + output


def operations(s):
    """Floating point operations of one training step of ours: its matrix products alone.

    A product of (m, k) with (k, n) is 2 m k n; its gradients are two products of the same
    size, so a step is three times its forward pass. What is element by element (gates, tanh,
    softmax, Adam) is not counted, nor is anything that is computed twice to save memory.
    """
    values, units = 2 * s["encoder"], s["decoder"]
    sources, targets = s["batch"] * s["source_time"], s["batch"] * s["target_time"]
    encoder = sources * 2 * (s["embedding"] + s["encoder"]) * 3 * s["encoder"]
    keys = sources * values * s["attention"]
    bridge = s["batch"] * values * units
    step = (
        units * s["attention"]  # the query's projection
        + s["source_time"] * (s["attention"] + values)  # scores and context
        + (s["embedding"] + values + units) * 3 * units  # the cell
        + (units + values + s["embedding"]) * s["readout"]
        + s["readout"] * s["vocabulary"]
    )
    return 3 * 2 * (encoder + keys + bridge + targets * step)
