"""Forecast five series one season ahead: attention, a GRU without it, and two simple methods.

    python examples/forecasting/forecasting.py            # all series
    python examples/forecasting/forecasting.py co2        # one of them

The series are in the package statsmodels. Forecasts begin at regular steps in the last fifth of a
series, and models are trained on all values before it. The error is MASE: the mean absolute error,
divided by that of the seasonal naive forecast on the first 65% (Hyndman and Koehler 2006). To
choose settings, use `--valid`, which measures on the part from 65 to 80% instead, with models
trained on the part before it.
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
UNITS, BATCH = 16, 16
# name -> (periods in steps, the first of which is the horizon; number of past steps; steps between
# training windows; `season` of the models; learning rate)
SERIES = {
    "sunspots": ((11,), 44, 1, 11, 0.002),  # yearly means, 1700 to 2008
    "co2": ((12,), 36, 1, 12, 0.002),  # monthly means at Mauna Loa, 1965 to 2001
    "elnino": ((12,), 36, 1, None, 0.01),  # sea surface temperature, monthly, 1950 to 2010
    "elec_equip": ((12,), 36, 1, 12, 0.002),  # electrical equipment, monthly, 1995 to 2016
    "demand": ((24, 168), 72, 5, 24, 0.002),  # electricity in Victoria, hourly, 2012
}


def load(name):
    """Return all values of a series, `(time,)`."""
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
    """Return sine and cosine of the time in each period, which are also known for the future."""
    angles = 2 * np.pi * np.arange(start, start + length)[:, None] / np.array(periods)
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype("float32")


def windows(series, name, origins):
    """Return (x, y) for a `Forecaster` whose forecasts begin at the origins."""
    periods, past, *_ = SERIES[name]
    horizon = periods[0]
    x = {
        "past": np.stack([series[origin - past : origin] for origin in origins]),
        "past_covariates": np.stack([phases(periods, o - past, past) for o in origins]),
        "future_covariates": np.stack([phases(periods, o, horizon) for o in origins]),
    }
    x["past"] = x["past"][..., None].astype("float32")
    y = np.stack([series[origin : origin + horizon] for origin in origins])
    return x, y[..., None].astype("float32")


def test_origins(name, span):
    """Return the steps at which the forecasts in a span begin."""
    season = SERIES[name][0][0]
    stride = season // (2 if name == "demand" else 4)
    return range(span[0], span[1] - season + 1, stride)


def neural(series, name, span, seeds, attention, epochs):
    """Yield median forecasts in a span, `(origins, horizon)`, one array per seed.

    The model is trained on all windows before the span. Its graph is traced once for all seeds,
    because tracing takes longer than training.
    """
    (horizon, *_), past, step, season, rate = SERIES[name]
    origins = range(past, span[0] - horizon + 1, step)
    x, y = windows(series, name, origins[len(origins) % BATCH :])  # full batches
    x_test, _ = windows(series, name, test_origins(name, span))

    def new_model():
        decoder = None
        if not attention:
            decoder = kb.AttentionRNN(kb.layers.DecoderCell(UNITS, attention=None))
        head = kb.models.QuantileHead((0.5,))
        options = {"units": UNITS, "teacher_forcing": 0, "season": season}
        model = kb.Forecaster(horizon, decoder=decoder, head=head, **options)
        model.build({name: array.shape for name, array in x.items()})
        return model

    model = new_model()
    rate = keras.optimizers.schedules.CosineDecay(rate, epochs * len(y) // BATCH)
    model.compile(keras.optimizers.Adam(rate, clipnorm=1.0))
    model.optimizer.build(model.trainable_variables)
    start = [variable.numpy() for variable in model.optimizer.variables]
    for seed in seeds:
        keras.utils.set_random_seed(seed)
        model.set_weights(new_model().get_weights())
        for variable, value in zip(model.optimizer.variables, start, strict=True):
            variable.assign(value)
        model.fit(x, y, batch_size=BATCH, epochs=epochs, verbose=0)
        yield model.predict(x_test, batch_size=256, verbose=0)[..., 0]


def seasonal_naive(series, season, origins):
    return np.stack([series[origin - season : origin] for origin in origins])


def exponential_smoothing(series, season, start, origins):
    """Forecast with Holt-Winters, refit per origin; the trend is chosen by AICc before `start`."""

    def fit(history, trend):
        form = {"trend": "add" if trend else None, "damped_trend": trend == "damped"}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about reaching the maximum number of iterations
            return ExponentialSmoothing(
                history[-50 * season :], **form, seasonal="add", seasonal_periods=season
            ).fit()

    trend = min(("", "add", "damped"), key=lambda trend: fit(series[:start], trend).aicc)
    return np.stack([fit(series[:origin], trend).forecast(season) for origin in origins])


def compare(name, seeds, epochs, on_valid):
    """Return the row for a series, as a dictionary from column to text."""
    series, season = load(name).astype("float64"), SERIES[name][0][0]
    first, second = (int(share * len(series)) for share in (0.65, 0.8))
    span = (first, second) if on_valid else (second, len(series))
    origins = test_origins(name, span)
    y = np.stack([series[origin : origin + season] for origin in origins])
    scale = np.abs(series[season:first] - series[: first - season]).mean()

    def mase(forecast):
        return np.abs(forecast - y).mean() / scale

    row = {"series": name, "season": season, "forecasts": len(origins)}
    row["seasonal naive"] = f"{mase(seasonal_naive(series, season, origins)):.3f}"
    smoothed = exponential_smoothing(series, season, span[0], origins)
    row["exponential smoothing"] = f"{mase(smoothed):.3f}"
    for column, attention in (("GRU without attention", False), ("Forecaster", True)):
        forecasts = neural(series, name, span, range(seeds), attention, epochs)
        errors = [mase(forecast) for forecast in forecasts]
        row[column] = f"{np.mean(errors):.3f} ({min(errors):.3f} to {max(errors):.3f})"
    return {**row, "command": f"forecasting.py {name}"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("series", nargs="*", default=[*SERIES], help=", ".join(SERIES))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--valid", action="store_true", help="measure on the part from 65 to 80%%")
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
