"""Conversion of a trace, or of the arrays of any model, to JSON data for the explorer."""

import base64
import io

import matplotlib
import numpy as np
from PIL import Image

from keras_bahdanau.plotting.labels import NO_TEXT, WORD_START, are_characters

CELLS = 48  # values of a vector that a strip shows
LEAST = 1e-35  # smaller probabilities are raised to this value
LONGEST_SIDE = 640  # maximum pixels on a side of a picture
VECTORS = ("values", "context", "query", "embedded", "state")


def trace_data(trace):
    """Return the data of one `Trace` for the page.

    Vectors are packed in 8 bits and other arrays in 16 bits (see `packed`).
    """
    data = {
        "text": trace.text,
        "score": round(float(trace.score), 4),
        "source": trace.source_tokens,
        "input": trace.input_tokens,
        "target": trace.target_tokens,
        "scores": packed(trace.scores, 16),
        "weights": packed(trace.weights, 16),
        "logProbs": packed(trace.log_probs, 16),
        "topTokens": trace.top_tokens,
        "topLogProbs": packed(np.log(np.maximum(trace.top_probabilities, LEAST)), 16),
        "initialState": packed(trace.initial_state[:CELLS], 8),
        "attends": attends(trace),
        "isSoftmax": bool(is_softmax(trace)),
        "isSum": bool(is_sum(trace)),
        "readsContext": bool(trace.reads_context),
        "queryStates": [query_state(trace, step) for step in range(len(trace.target_tokens))],
        "importance": _importance_data(trace.importance),
        "alternatives": [
            {
                "token": alternative.token,
                "logProb": round(float(alternative.log_prob), 3),
                "text": alternative.text,
                "score": round(float(alternative.score), 4),
            }
            for alternative in trace.alternatives
        ],
    }
    for name in VECTORS:
        data[name] = packed(getattr(trace, name)[:, :CELLS], 8)
    if trace.generation is not None:
        data["generation"] = packed(trace.generation, 16)
    if trace.tree is not None:
        data["tree"] = _tree_data(trace)
    if trace.picture is not None:
        data["picture"] = _picture_data(trace.picture)
    return data


def steps_data(steps):
    """Return the data of one `AttentionSteps`: the part of `trace_data` that every model has."""
    data = {
        "text": steps.text,
        "source": word_marks(steps.source_tokens),
        "target": word_marks(steps.target_tokens),
        "weights": packed(steps.weights, 16),
        "attends": True,
        "importance": _importance_data(steps.importance),
    }
    if steps.log_probs is not None:
        data["logProbs"] = packed(steps.log_probs, 16)
    return data


def word_marks(tokens):
    """Return tokens with the word start marks that the page needs, added if there are none."""
    if any(token.startswith(WORD_START) for token in tokens) or are_characters(tokens):
        return tokens
    return [token if token in NO_TEXT else f"{WORD_START}{token}" for token in tokens]


def _importance_data(importance):
    return [{"name": name, "values": packed(array, 16)} for name, array in importance.items()]


def packed(array, bits):
    """Pack an array as little-endian 8-bit or 16-bit integers n in base64; value = scale * n."""
    array = np.asarray(array, np.float64)
    largest = 2 ** (bits - 1) - 1
    scale = max(np.abs(array).max(initial=0.0), 1e-12) / largest
    numbers = np.rint(array / scale).astype(f"<i{bits // 8}")
    data = base64.b64encode(numbers.tobytes()).decode()
    return {"shape": [*array.shape], "scale": float(f"{scale:.9g}"), "bits": bits, "data": data}


def unpacked(data):
    """Return the float array in a dictionary from `packed`, accurate to half of its `scale`."""
    numbers = np.frombuffer(base64.b64decode(data["data"]), f"<i{data['bits'] // 8}")
    return numbers.reshape(data["shape"]) * data["scale"]


def _tree_data(trace):
    tree = trace.tree
    return {
        "tokens": tree.tokens,
        "parents": tree.parents.tolist(),
        "logProbs": np.round(tree.log_probs, 3).tolist(),
        "scores": np.round(tree.scores, 3).tolist(),
        "finished": np.flatnonzero(tree.finished).tolist(),
        "kept": np.flatnonzero(tree.kept).tolist(),
        "path": tree.path(trace.target_tokens),
    }


def _picture_data(picture):
    return {
        "image": _image_url(picture),
        "width": picture.pixels.shape[1],
        "height": picture.pixels.shape[0],
        "rows": picture.rows,
        "columns": picture.columns,
        "positions": picture.positions,
        "reduction": picture.reduction,
        "places": None if picture.cells is None else np.asarray(picture.cells).tolist(),
        "axis": picture.axis,
        "scale": picture.scale,
    }


def _image_url(picture):
    """Return the pixels as a PNG in a `data:` URL, with a palette if they are grey."""
    pixels = np.rint(255 * np.clip(picture.pixels, 0, 1)).astype(np.uint8)
    image = Image.fromarray(pixels)
    if picture.axis:  # the page stretches the picture of a sequence, so the sides are independent
        image = image.resize((min(image.width, LONGEST_SIDE), min(image.height, LONGEST_SIDE)))
    else:
        image.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    if pixels.ndim == 2:
        colors = matplotlib.colormaps[picture.colors](np.arange(256))[:, :3]
        image = Image.fromarray(np.asarray(image), "P")
        image.putpalette(np.rint(255 * colors).astype(np.uint8).tobytes())
    file = io.BytesIO()
    image.save(file, "PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


def attends(trace):
    """Return True if any source token has a weight above 0."""
    return bool(trace.weights.any())


def is_softmax(trace):
    """Return True if the weights are the softmax of the scores."""
    scores = trace.scores - trace.scores.max(axis=-1, keepdims=True, initial=-np.inf)
    scores = np.exp(scores)
    return np.allclose(scores / scores.sum(axis=-1, keepdims=True), trace.weights, atol=1e-4)


def is_sum(trace):
    """Return True if c_i = sum_j alpha_ij h_j."""
    # (T, S) @ (S, values_units)
    return trace.context.shape[1:] == trace.values.shape[1:] and np.allclose(
        trace.weights @ trace.values, trace.context, atol=1e-2
    )


def query_state(trace, step):
    """Return the index of the state, before or after a step, that equals its query, or None."""
    before = trace.state[step - 1] if step else trace.initial_state
    for number, state in ((step, before), (step + 1, trace.state[step])):
        if np.array_equal(trace.query[step], state):
            return number
    return None
