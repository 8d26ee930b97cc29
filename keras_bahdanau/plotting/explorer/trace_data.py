"""A trace as JSON: tokens as they are, numbers as small integers in base64."""

import base64
import io

import matplotlib
import numpy as np
from PIL import Image

from keras_bahdanau.plotting.trace_claims import attends, is_softmax, is_sum, query_state

CELLS = 48  # numbers of a vector that a strip has
LEAST = 1e-35  # probability that is told from 0
LONGEST_SIDE = 640  # pixels of a picture
VECTORS = ("values", "context", "query", "embedded", "state")


def trace_data(trace):
    """Data of one `Trace` for the page, as a dictionary for JSON.

    Vectors have 8 bits for a number, scores, weights and log-probabilities 16: see `packed`.
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
        "alternatives": [
            {
                "token": other.token,
                "logProb": round(float(other.log_prob), 3),
                "text": other.text,
                "score": round(float(other.score), 4),
            }
            for other in trace.alternatives
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


def packed(array, bits):
    """Numbers as signed integers n of 8 or 16 bits, value = scale * n, so that 0 stays 0.

    Args:
        array: Float array, finite.
        bits: Integer, 8 or 16.

    Returns:
        Dictionary `shape`, `scale`, `bits` and `data`: the integers, little endian, in base64.
    """
    array = np.asarray(array, np.float64)
    largest = 2 ** (bits - 1) - 1
    scale = max(np.abs(array).max(initial=0.0), 1e-12) / largest
    numbers = np.rint(array / scale).astype(f"<i{bits // 8}")
    data = base64.b64encode(numbers.tobytes()).decode()
    return {"shape": [*array.shape], "scale": float(f"{scale:.9g}"), "bits": bits, "data": data}


def unpacked(data):
    """The float array of `packed`, to half a `scale`."""
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
    """Image, and the cells of each position of the memory."""
    places = picture.places
    return {
        "image": _image_url(picture),
        "width": picture.pixels.shape[1],
        "height": picture.pixels.shape[0],
        "rows": picture.rows,
        "columns": picture.columns,
        "positions": picture.positions,
        "reduction": picture.reduction,
        "places": None if places is None else np.asarray(places).tolist(),
        "axis": picture.axis,
        "scale": picture.scale,
    }


def _image_url(picture):
    """The pixels as a PNG in a `data:` address; those without colours are indices of a palette."""
    pixels = np.rint(255 * np.clip(picture.pixels, 0, 1)).astype(np.uint8)
    image = Image.fromarray(pixels)
    if picture.axis:  # a sequence, which the page stretches: bands stay
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
