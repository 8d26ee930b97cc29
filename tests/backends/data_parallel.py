"""Train on JAX with one device, or with two that each get half of every batch.

Run with the Python of the JAX environment: `python data_parallel.py FOLDER DEVICES` writes the
losses and a .keras file to FOLDER.
"""

import json
import sys
from pathlib import Path

import jax
import keras
import numpy as np
from backend_models import MODELS
from options import new_model
from worker import SUBWORDS, randomize

from keras_bahdanau.models.losses import TokenCrossentropy


def main():
    folder, count = Path(sys.argv[1]), int(sys.argv[2])
    if count > 1:
        devices = keras.distribution.list_devices()[:count]
        keras.distribution.set_distribution(keras.distribution.DataParallel(devices=devices))
    model = new_model(MODELS["plain"], SUBWORDS)
    model.build()
    randomize(model, seed=1, deviation=0.1)
    model.compile(keras.optimizers.SGD(0.5), TokenCrossentropy())
    # Two rows per device, with 4 + 1 and 2 + 0 real tokens.
    target = np.array([[7, 8, 9, 3], [3, 0, 0, 0], [9, 3, 0, 0], [0] * 4], "int32")
    source = np.array([[4, 5, 3], [6, 3, 0], [5, 3, 0], [0, 0, 0]], "int32")
    inputs = (source, np.pad(target[:, :-1], [(0, 0), (1, 0)], constant_values=2))
    weight = np.float32(target > 0)
    settings = {"batch_size": 4, "epochs": 3, "shuffle": False, "verbose": 0}
    history = model.fit(inputs, target, sample_weight=weight, **settings).history
    model.save(folder / f"{count}.keras")
    placed = len(model.trainable_variables[0].value.sharding.device_set)
    told = {"losses": history["loss"], "devices": placed, "all": jax.device_count()}
    (folder / f"{count}.json").write_text(json.dumps(told))


if __name__ == "__main__":
    main()
