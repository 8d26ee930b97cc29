"""Train on JAX with loops of one step and of several steps per pass.

Run with the Python of the JAX environment: `python steps_at_once.py` prints both lists of losses as
JSON. Dropout draws inside the loops.
"""

import json
import sys

import keras
import numpy as np
from backend_models import MODELS
from options import new_model
from worker import SUBWORDS, randomize

from keras_bahdanau.layers import recurrence
from keras_bahdanau.models.losses import TokenCrossentropy


def losses(steps):
    """Return the losses of three epochs of one batch."""
    recurrence._steps_at_once = lambda: steps
    keras.utils.set_random_seed(1)
    model = new_model(MODELS["all that makes training noisy"], SUBWORDS)
    model.build()
    randomize(model, seed=1, deviation=0.1)
    model.compile(keras.optimizers.SGD(0.5), TokenCrossentropy())
    source = np.array([[4, 5, 3, 6, 3], [6, 3, 0, 0, 0], [5, 3, 0, 0, 0]], "int32")
    target = np.array([[7, 8, 9, 8, 7, 3], [3, 0, 0, 0, 0, 0], [9, 3, 0, 0, 0, 0]], "int32")
    target_in = np.pad(target[:, :-1], [(0, 0), (1, 0)], constant_values=2)
    settings = {"batch_size": 3, "epochs": 3, "shuffle": False, "verbose": 0}
    return model.fit((source, target_in), target, **settings).history["loss"]


if __name__ == "__main__":
    sys.stdout.write(json.dumps([losses(steps) for steps in (1, recurrence.STEPS_AT_ONCE)]))
