"""Answers of Keras under other roundings: how far float32 rounding may move an answer.

Runtimes add the terms of a product in different orders, and compute exp and tanh with different
polynomials. A product of n float32 terms loses about sqrt(n) units in the last place (64 for
n = 4,096), which is equivalent to an error of that size in its weights (backward error; Wilkinson
1963). So Keras answers again with weights that are randomly perturbed by up to 64 units, and an
artefact may differ from Keras by as much as these answers differ from the original ones. For
comparison, 8-bit weights are off by 32,000 units and 16-bit weights by 4,000.
"""

import numpy as np

DRAWS = 8  # in each draw, two equally good answers swap places with probability 1/2
SIZE = 2.0**-18  # relative change of a weight: 64 units in the last place of float32
MOST = 64  # maximum number of requests to examine; if more differ, rounding is not the reason


def add_roundings(cases, pipeline, search):
    """Add Keras' answers with perturbed weights to each `Case` that differs visibly."""
    suspects = [number for number, case in enumerate(cases) if case.is_suspect()][:MOST]
    if not suspects:
        return cases
    sources = [cases[number].source for number in suspects]
    prefixes = [cases[number].prefix or "" for number in suspects]
    prefixes = prefixes if any(prefixes) else None
    answers = [
        pipeline.decode_nbest(sources, batch_size=1, search=search, prefixes=prefixes)
        for _ in roundings(pipeline.model)
    ]
    cases = list(cases)
    for number, *rounded in zip(suspects, *answers, strict=True):
        cases[number] = cases[number]._replace(rounded=tuple(rounded))
    return cases


def roundings(model):
    """Yield once with the original weights and `DRAWS` times with perturbed ones; restore them."""
    values = [weight.numpy() for weight in model.weights]
    random = np.random.default_rng(0)
    yield
    try:
        for _ in range(DRAWS):
            for weight, value in zip(model.weights, values, strict=True):
                if value.dtype == np.float32:
                    part = random.uniform(-SIZE, SIZE, value.shape).astype(np.float32)
                    weight.assign(value * (1 + part))
            yield
    finally:
        for weight, value in zip(model.weights, values, strict=True):
            weight.assign(value)
