"""Forecasts of five series a season ahead: attention, a GRU without it, and two simple methods.

    python examples/forecasting/forecasting.py            # all series
    python examples/forecasting/forecasting.py co2        # one of them

The series are in the package statsmodels. Each is cut in three parts by time. Models train on the
first and stop by the second; from the third forecasts begin at regular steps, and their error is
MASE: mean absolute error, divided by that of the seasonal naive forecast on the first part
(Hyndman and Koehler 2006). `--valid` measures the second part, to choose settings.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import keras
import numpy as np
import pandas as pd
import statsmodels
from statsmodels.tsa.holtwinters import ExponentialSmoothing

import keras_bahdanau as kb

DATA = Path(statsmodels.__file__).parent
UNITS = 32
SERIES = {  # name -> (periods in steps, of which the first is the horizon; steps of the past; step)
    "sunspots": ((11,), 44, 1),  # yearly means, 1700 to 2008
    "co2": ((12,), 36, 1),  # monthly means at Mauna Loa, 1965 to 2001
    "elnino": ((12,), 36, 1),  # sea surface temperature, monthly, 1950 to 2010
    "elec_equip": ((12,), 36, 1),  # production of electrical equipment, monthly, 1995 to 2016
    "demand": ((24, 168), 72, 5),  # of electricity in Victoria, hourly, January to May 2012
}


def load(name):
    """All values of a series, `(time,)`."""
    if name == "demand":
        return pd.read_csv(DATA / "tsa/stl/tests/results/mstl_elec_vic.csv")["y"].to_numpy()
    table = pd.read_csv(DATA / "datasets" / name / f"{name}.csv")
    if name == "elnino":
        return table.iloc[:, 1:].to_numpy().ravel()
    if name == "co2":
        days = pd.to_datetime(table["date"].astype(int).astype(str), format="%Y%m%d")
        weeks = pd.Series(table["co2"].to_numpy(), days)
        return weeks.loc["1965":].resample("MS").mean().to_numpy()
    return table.iloc[:, 1].to_numpy()


def phases(periods, start, length):
    """Sine and cosine of the time in each period: what is known of the future."""
    angles = 2 * np.pi * np.arange(start, start + length)[:, None] / np.array(periods)
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype("float32")


def windows(series, periods, past, origins):
    """(x, y) of a `Forecaster` for forecasts that begin at the origins."""
    horizon = periods[0]
    x = {
        "past": np.stack([series[origin - past : origin] for origin in origins]),
        "past_covariates": np.stack([phases(periods, o - past, past) for o in origins]),
        "future_covariates": np.stack([phases(periods, o, horizon) for o in origins]),
    }
    x["past"] = x["past"][..., None].astype("float32")
    y = np.stack([series[origin : origin + horizon] for origin in origins])
    return x, y[..., None].astype("float32")


def neural(series, name, parts, seeds, attention, epochs):
    """Median forecasts `(origins, horizon)` of a model, for each seed.

    The graph of a model, which costs more than a training, is traced once for all seeds.
    """
    periods, past, step = SERIES[name]
    horizon, (valid_start, valid_end, origins) = periods[0], parts
    train = range(past, valid_start - horizon + 1, step)
    valid = range(valid_start, valid_end - horizon + 1, max(1, horizon // 4))
    x, y = windows(series, periods, past, train)
    x_valid, y_valid = windows(series, periods, past, valid)
    x_test, _ = windows(series, periods, past, origins)

    def built():
        decoder = None
        if not attention:
            decoder = kb.AttentionRNN(kb.layers.DecoderCell(UNITS, attention=None))
        head = kb.models.QuantileHead((0.5,))
        model = kb.Forecaster(horizon, decoder=decoder, head=head, units=UNITS)
        model.build({name: array.shape for name, array in x.items()})
        return model

    model = built()
    model.compile(keras.optimizers.Adam(0.01))
    model.optimizer.build(model.trainable_variables)
    start = [variable.numpy() for variable in model.optimizer.variables]
    for seed in seeds:
        keras.utils.set_random_seed(seed)
        model.set_weights(built().get_weights())
        for variable, value in zip(model.optimizer.variables, start, strict=True):
            variable.assign(value)
        stop = keras.callbacks.EarlyStopping("val_loss", patience=6, restore_best_weights=True)
        model.fit(
            x,
            y,
            validation_data=(x_valid, y_valid),
            validation_batch_size=256,
            batch_size=64,
            epochs=epochs,
            callbacks=[stop],
            verbose=0,
        )
        yield model.predict(x_test, batch_size=256, verbose=0)[..., 0]


def seasonal_naive(series, season, origins):
    return np.stack([series[origin - season : origin] for origin in origins])


def exponential_smoothing(series, season, start, origins):
    """Holt-Winters of the trend with the least AICc before `start`, fitted anew at each origin."""

    def fit(history, trend):
        form = {"trend": "add" if trend else None, "damped_trend": trend == "damped"}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it stops after a number of steps
            return ExponentialSmoothing(
                history[-50 * season :], **form, seasonal="add", seasonal_periods=season
            ).fit()

    trend = min(("", "add", "damped"), key=lambda trend: fit(series[:start], trend).aicc)
    return np.stack([fit(series[:origin], trend).forecast(season) for origin in origins])


def compare(name, seeds, epochs, on_valid):
    """The row of a series, as a dictionary from column to text."""
    series, season = load(name).astype("float64"), SERIES[name][0][0]
    length = len(series)
    valid_start, test_start = int(0.65 * length), int(0.8 * length)
    start, end = (valid_start, test_start) if on_valid else (test_start, length)
    origins = range(start, end - season + 1, max(1, season // (2 if name == "demand" else 4)))
    y = np.stack([series[origin : origin + season] for origin in origins])
    scale = np.abs(series[season:valid_start] - series[: valid_start - season]).mean()

    def mase(forecast):
        return np.abs(forecast - y).mean() / scale

    parts = (valid_start, test_start, origins)
    row = {"series": name, "season": season, "forecasts": len(origins)}
    row["seasonal naive"] = f"{mase(seasonal_naive(series, season, origins)):.3f}"
    smoothed = exponential_smoothing(series, season, start, origins)
    row["exponential smoothing"] = f"{mase(smoothed):.3f}"
    for column, attention in (("GRU without attention", False), ("Forecaster", True)):
        forecasts = neural(series, name, parts, range(seeds), attention, epochs)
        errors = [mase(forecast) for forecast in forecasts]
        row[column] = f"{np.mean(errors):.3f} ({min(errors):.3f} to {max(errors):.3f})"
    row["command"] = f"forecasting.py {name}"
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("series", nargs="*", default=[*SERIES], help=", ".join(SERIES))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=20, help="at most")
    parser.add_argument("--valid", action="store_true", help="measure the second part")
    parser.add_argument("--out", default="results.jsonl")
    options = parser.parse_args()
    rows = []
    for name in options.series:
        begin = time.monotonic()
        rows.append(compare(name, options.seeds, options.epochs, options.valid))
        print(json.dumps(rows[-1]), f"{time.monotonic() - begin:.0f} s", flush=True)
        Path(options.out).write_text("".join(json.dumps(row) + "\n" for row in rows))


if __name__ == "__main__":
    main()
