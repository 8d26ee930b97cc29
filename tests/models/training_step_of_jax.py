"""Print the losses of training steps on JAX and the size of a step's largest tensor, as JSON.

`test_training_output.py` runs this as a separate program, since a process has a single backend.
"""

import json
import math
import re
import sys

import jax
import keras
import numpy as np

from keras_bahdanau.layers import BahdanauAttention, DecoderCell
from keras_bahdanau.models import Decoder, Encoder, Seq2Seq, output_loss
from keras_bahdanau.models.losses import TokenCrossentropy
from keras_bahdanau.models.metrics import Perplexity

BATCH, TIME, VOCABULARY = 13, 11, 211
output_loss.FEWEST_ROWS, output_loss.LOGITS_AT_A_TIME = 1, 16 * VOCABULARY


class FromLogits(TokenCrossentropy):
    """A `TokenCrossentropy` that must get logits."""

    sums_tokens = False


def new(loss, **options):
    keras.utils.set_random_seed(1)
    cell = DecoderCell(6, BahdanauAttention(5))
    decoder = Decoder(VOCABULARY, 4, cell, dropout=0.1)
    model = Seq2Seq(Encoder(VOCABULARY, 4, 3), decoder, **options)
    model.build()
    model.compile("sgd", loss, weighted_metrics=[Perplexity()])
    return model


def batch():
    rng = np.random.default_rng(2)
    source, target_in, target_out = rng.integers(1, VOCABULARY, (3, BATCH, TIME)).astype("int32")
    weight = (rng.random((BATCH, TIME)) < 0.8).astype("float32")
    links = np.repeat(np.eye(TIME, dtype="float32")[None], BATCH, axis=0)
    return (source, target_in, links), target_out, weight


def measured(loss, **options):
    """Return the logs of three steps, and the size of the largest tensor in the compiled step."""
    model, data = new(loss, **options), batch()
    x, y, weight = data
    model.compute_metrics(x, y, keras.ops.zeros((*y.shape, VOCABULARY)), weight)  # builds metrics
    model.reset_metrics()
    model.optimizer.build(model.trainable_variables)
    kinds = (
        model.trainable_variables,
        model.non_trainable_variables,
        model.optimizer.variables,
        model.metrics_variables,
    )
    state = tuple([one.value for one in variables] for variables in kinds)
    step = jax.jit(model.train_step).lower(state, data).compile()
    logs = []
    for _ in range(3):
        found, state = step(state, data)
        logs.append(found)
    # such as f32[13,11,211]
    shapes = re.findall(r"\b(?:pred|(?:f|bf|s|u)\d+)\[([\d,]+)\]", step.as_text())
    return {
        "losses": [float(each["loss"]) for each in logs],
        "perplexities": [float(each["perplexity"]) for each in logs],
        "largest": max(math.prod(map(int, shape.split(","))) for shape in shapes),
    }


OPTIONS = json.loads(sys.argv[1])
print(
    json.dumps(
        {
            "logits": BATCH * TIME * VOCABULARY,
            "own": measured(TokenCrossentropy(0.1), **OPTIONS),
            "plain": measured(FromLogits(0.1), **OPTIONS),
        }
    )
)
