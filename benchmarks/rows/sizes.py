"""Model sizes for rows 1 to 5, 7 and 12 to 14, widths for the peers, and operations per step."""

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
    """Return the sizes, with the widths that give each peer's model as many weights as ours.

    Every peer has the same vocabulary, embeddings and encoder. All except OpenNMT-tf also have
    the same decoder and attention; OpenNMT-tf uses a single width for decoder, attention and
    readout. For each peer with other equations, one width is adjusted until the number of weights
    matches:

    - `readout_behind`: the readout of stock Keras, whose decoder doesn't read the context
    - `readout_fed`: the attention layer of TensorFlow Addons, which the next step reads
    - `decoder_all`: the single width of OpenNMT-tf
    """
    chosen = {**(QUICK if quick else SIZES), **others}
    return _matched(chosen, _ours(chosen))


def sizes_as_large(weights, quick=False, **others):
    """Return the sizes at which every peer has as many weights as another model of ours.

    All widths are those of row 1 multiplied by one factor. One width of each peer then makes up
    the difference; for PyTorch, which has the equations of row 1, this is the readout. All widths
    are multiples of 8, which suits the processor's vector instructions. As in row 1, the peers
    share no embeddings. With shared embeddings, they would be wider and slower.

    Args:
        weights: Integer, the number of weights of our model.
        quick: Whether to use tiny sizes.
        **others: Sizes that differ from row 1, such as `vocabulary=3200`.

    Returns:
        Dictionary like the one from `sizes`.
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
    """Add the widths for the peers that have other equations to the sizes, and return the sizes."""
    for name, count in (
        ("readout_behind", _keras_layers),
        ("readout_fed", _addons),
        ("decoder_all", _opennmt),
    ):
        widths = range(step, 4 * chosen["decoder"], step)
        chosen[name] = min(widths, key=lambda w, n=count: abs(n(chosen, w) - weights))
    return chosen


def _common(s):
    """Return the number of weights in the embeddings and the encoder."""
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
    """Return the number of floating-point operations in the matrix products of our training step.

    A product of (m, k) with (k, n) has 2 m k n operations. Its two gradients are products of the
    same size, so a step has three times the operations of its forward pass. Elementwise operations
    (gates, tanh, softmax, Adam) aren't counted, nor are recomputations that save memory.
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
