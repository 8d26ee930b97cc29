"""Train a forecaster on one backend, for `test_backends`: `python forecaster.py FILE.npz`."""

import sys
from pathlib import Path

import extract
import keras
import numpy as np

import keras_bahdanau as kb

random = np.random.default_rng(0)
x = {
    "past": random.normal(9, 2, (6, 8, 2)).astype("float32"),
    "future_covariates": random.normal(size=(6, 3, 1)).astype("float32"),
    "mask": np.arange(8) < np.array([8, 5, 8, 8, 3, 8])[:, None],
}
y = random.normal(9, 2, (6, 3, 2)).astype("float32")
x["past"][0, :2], x["past"][2, 4, 1], x["past"][3], y[1, 1, 0] = np.nan, np.nan, np.nan, np.nan
path = Path(sys.argv[1])
answers = {}
for head in ("gaussian", "quantiles"):
    season = 2 if head == "quantiles" else None
    model = kb.Forecaster(3, head=head, units=6, season=season)
    model(x)
    extract.randomize(model)
    prediction, weights = model(x, return_attention_scores=True)
    known = {"x": x, "y": np.nan_to_num(y, nan=9.0), "sample_weight": np.arange(6.0)}
    model.compile(keras.optimizers.SGD(0.01, global_clipnorm=1.0), weighted_metrics=["mae"])
    model.fit(x, y, batch_size=6, verbose=0)
    history = model.fit(
        **known, epochs=3, batch_size=6, verbose=0, validation_data=(x, y), shuffle=False
    ).history
    model.save(path.with_suffix(".keras"))
    loaded = keras.saving.load_model(path.with_suffix(".keras"))
    answers[head] = {
        "predicted": keras.ops.convert_to_numpy(prediction),
        "weights": keras.ops.convert_to_numpy(weights),
        "losses": np.array(history["loss"]),
        "mae": np.array(history["mae"]),
        "val_losses": np.array(history["val_loss"]),
        "trained": model.predict(x, verbose=0),
        "lower": model.predict_interval(x, 0.5, samples=20)[0],
        "loaded": loaded.predict(x, verbose=0),
    }
answers = {
    name: np.concatenate([head[name].ravel() for head in answers.values()])
    for name in answers["gaussian"]
}
np.savez(path, tensorflow="tensorflow" in sys.modules, **answers)
