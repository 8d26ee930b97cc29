r"""Train a translator on a GPU with Keras on JAX, where TensorFlow has no GPU.

    python experiments/multi30k/on_jax.py prepare --model MODEL.keras --out ids.npz \
        --corpus train.tsv --corpus closest.tsv --valid val.tsv
    KERAS_BACKEND=jax python experiments/multi30k/on_jax.py train ids.npz --minutes 5 --seed 1 \
        --out weights.npz
    python experiments/multi30k/on_jax.py finish --model MODEL.keras --weights weights.npz \
        --out NEW.keras

Only `prepare` and `finish` need TensorFlow. The new model has MODEL's vocabularies and shape. It
starts from random weights, or from MODEL's (`--further`). The training options are MODEL's, except
those changed with `--set`. An epoch contains all pairs of all corpora; a corpus that is given twice
counts twice. The learning rate is set at the start of each epoch, following a cosine that reaches 0
after `--minutes`; there are at least two epochs. On TensorFlow, `train` needs `--set buckets=1`.
"""

import argparse
import dataclasses
import json
import math
import sys
import time
from pathlib import Path

import keras
import numpy as np

from keras_bahdanau.data.bucketing import ByTokens, bucket_shapes
from keras_bahdanau.data.epochs import padded_batch
from keras_bahdanau.optimizers.adam import averaged_weights
from keras_bahdanau.text.id_rows import IdRows
from keras_bahdanau.training import MODEL_OPTIONS, TrainingOptions, TrainingPlan, training_option
from keras_bahdanau.training.model import compiled_model

MOST_EPOCHS, MOST_MINUTES = 100_000, 7 * 24 * 60
VALID_SHAPES = 2
SETTABLE = {  # options that `train` supports and that don't change the model's shape
    *("learning_rate", "batch_tokens", "buckets", "precision", "optimizer", "clip_norm"),
    *("weight_decay", "ema_momentum", "l2", "label_smoothing", "loss_mean", "r_drop"),
    *("dropout", "embedding_dropout", "readout_dropout", "recurrent_dropout", "word_dropout"),
}


def main(arguments=None):
    given = _parser().parse_args(arguments)
    try:
        given.work(given)
    except (OSError, ValueError) as error:
        raise SystemExit(f"{given.command}: {error}") from None


def prepare(given):
    """Write the ids of all pairs, the options, and the initial weights."""
    import keras_bahdanau as kb

    translator = kb.Translator.load(given.model)
    if "units" not in (translator.training or {}):
        raise ValueError(f"{given.model} doesn't say with which options it was trained.")
    sides = {"source": translator.source.subwords, "target": translator.target}
    weights = translator.model.trainable_variables
    arrays = {"options": np.array(json.dumps(translator.training))}
    arrays["shapes"] = np.array(json.dumps([tuple(one.shape) for one in weights]))
    arrays["sizes"] = np.array([side.vocabulary_size for side in sides.values()])
    arrays["joint"] = np.array(translator.model.share_embeddings)
    for part, paths in (("train", given.corpus), ("valid", [given.valid])):
        pairs = [pair for path in paths for pair in kb.data.read_pairs(path)]
        print(f"{part}: {len(pairs):,} pairs")
        for number, (side, subwords) in enumerate(sides.items()):
            rows = IdRows.encoded(subwords, [pair[number] for pair in pairs])
            arrays |= {f"{part}_{side}_{name}": one for name, one in rows.stored().items()}
    if given.further:
        arrays |= _numbered(weight.numpy() for weight in weights)
    np.savez_compressed(given.out, **arrays)


def train(given):
    """Train, and write the averaged weights in 16 bits."""
    arrays = np.load(given.ids)
    options = _options(arrays, given)
    model = _model(arrays, options)
    batches = Batches(arrays, "train", options.batch_tokens, options.buckets, options.seed)
    shapes = min(VALID_SHAPES, options.buckets)
    valid = Batches(arrays, "valid", options.batch_tokens, shapes)
    print(f"{len(batches):,} batches per epoch, {batches.tokens:,} target tokens", flush=True)
    clock = Clock(60 * given.minutes, options.learning_rate)
    model.fit(batches, epochs=MOST_EPOCHS, callbacks=[clock], shuffle=False, verbose=0)
    report = {"epochs": len(clock.history), "steps": int(model.optimizer.iterations.value)}
    report |= {"seconds": round(time.monotonic() - clock.start, 1)}
    made = dataclasses.replace(options, epochs=report["epochs"], minutes=given.minutes)
    others = {"options": dataclasses.asdict(made), "history": clock.history}
    with averaged_weights(model):
        weights = [keras.ops.convert_to_numpy(one) for one in model.trainable_variables]
        _save(given.out, report | others, weights)  # before another graph is compiled
        report |= model.evaluate(valid, return_dict=True, verbose=0)
        _save(given.out, report | others, weights)
    print(json.dumps(report), flush=True)


def finish(given):
    """Write a translator with the new weights and the search options of MODEL."""
    import keras_bahdanau as kb

    translator = kb.Translator.load(given.model)
    arrays = np.load(given.weights)
    _put(arrays, translator.model)
    # the file keeps MODEL's dropout and losses, which later training uses
    own = {name: one for name, one in translator.training.items() if name in MODEL_OPTIONS}
    translator.training = json.loads(str(arrays["report"]))["options"] | own
    translator.calibration = None  # belongs to other weights
    translator.save(given.out)


def _options(arrays, given):
    """Return the `ResolvedOptions` of MODEL with the changes from --set."""
    options = json.loads(str(arrays["options"])) | dict(given.set)
    options |= {"jit_compile": keras.backend.backend() == "jax", "seed": given.seed}
    options |= {"freeze": "", "quantization_aware": False, "guided_alignment": 0.0}
    if options["batch_tokens"]:
        options["batch_sentences"] = 0
    options = TrainingOptions(**options).resolved()
    if not options.batch_tokens:
        raise ValueError("Batches must be measured in tokens: use --set batch_tokens=4096.")
    return options


def _model(arrays, options):
    """Return a compiled model with MODEL's shape, and with its weights if `prepare` stored them."""
    source, target = (Vocabulary(int(size)) for size in arrays["sizes"])
    source = target if arrays["joint"] else source
    keras.utils.set_random_seed(options.seed)
    # a number instead of a schedule: a callback changes it
    model = compiled_model(TrainingPlan(options, source, target), options.learning_rate)
    shapes = [list(one.shape) for one in model.trainable_variables]
    if shapes != json.loads(str(arrays["shapes"])):
        raise ValueError(
            "MODEL has other weights than its options describe: it was trained from a file without "
            "its run.json. Use the model of that training run."
        )
    if "weight_0" in arrays:
        _put(arrays, model)
    return model


def _save(path, report, weights):
    np.savez(path, report=np.array(json.dumps(report)), **_numbered(weights, np.float16))


def _numbered(weights, dtype=np.float32):
    return {f"weight_{number}": one.astype(dtype) for number, one in enumerate(weights)}


def _put(arrays, model):
    """Set the weights of a model from a file."""
    found = sum(name.startswith("weight_") for name in arrays)
    if found != len(model.trainable_variables):
        raise ValueError(
            f"The file has {found} weights, but the model has {len(model.trainable_variables)}. "
            "Use the MODEL that `prepare` received."
        )
    for number, weight in enumerate(model.trainable_variables):
        weight.assign(arrays[f"weight_{number}"].astype(np.float32))


class Vocabulary:
    """Size of a vocabulary; training needs only ids."""

    grid_height = 1  # positions form a sequence, not a grid

    def __init__(self, vocabulary_size):
        self.vocabulary_size = vocabulary_size
        self.subwords = self

    def front_end(self, units, convolutions=None, augmentation=0.0):
        """Return the embedding of the source."""
        from keras_bahdanau.layers.front_ends.token_embedding import TokenEmbedding

        return TokenEmbedding(self.vocabulary_size, units, name="front_end")


class Batches(keras.utils.PyDataset):
    """Batches of similar length in few shapes, because XLA compiles each shape.

    Args:
        arrays: Dictionary of the arrays from `prepare`.
        part: "train" or "valid".
        batch_tokens, buckets: As in `TrainingOptions`.
        seed: Integer. Seed for the order in all epochs; None keeps the order of the pairs.
    """

    def __init__(self, arrays, part, batch_tokens, buckets, seed=None):
        super().__init__()
        self.sides = []
        for side in ("source", "target"):
            stored = (arrays[f"{part}_{side}_{name}"] for name in ("ids", "lengths"))
            self.sides.append(IdRows(*stored))
        longer = np.maximum(self.sides[0].lengths, self.sides[1].lengths)
        shapes, steps = bucket_shapes(np.bincount(longer)[None, None], batch_tokens, buckets)
        self.groups = ByTokens(np.arange(len(longer)), longer, shapes, steps[0])
        self.random = None if seed is None else np.random.default_rng(seed)
        self.tokens = int(self.sides[1].lengths.sum())
        self.on_epoch_end()

    def __len__(self):
        return self.groups.steps

    def on_epoch_end(self):
        """Make new batches for the next epoch."""
        self.order = self.groups.split(self.random)
        if self.random is not None:
            self.random.shuffle(self.order)

    def __getitem__(self, number):
        features, target_in, target_out, weight = padded_batch(self.sides, *self.order[number])
        return (features, target_in), target_out, weight


class Clock(keras.callbacks.Callback):
    """Callback that sets the learning rate per epoch as a cosine of time, and ends `fit`.

    The first epoch, which compiles, warms up with half of the learning rate.

    Args:
        seconds: Float. Training time.
        height: Float. Highest learning rate.
    """

    def __init__(self, seconds, height):
        super().__init__()
        self.start = self.warm = self.begun = time.monotonic()
        self.end, self.height = self.start + seconds, height
        self.history = []

    def on_epoch_begin(self, epoch, logs=None):
        self.begun = time.monotonic()
        if epoch == 1:
            self.warm = self.begun
            self.end = max(self.end, self.begun + 1.0)  # the second epoch also learns
        left = max(0.0, self.end - self.begun) / max(1e-9, self.end - self.warm)
        share = 0.5 if epoch == 0 else (1 - math.cos(math.pi * left)) / 2
        self.model.optimizer.learning_rate = self.height * share

    def on_epoch_end(self, epoch, logs=None):
        now = time.monotonic()
        self.history.append([round(now - self.start, 1), round(float(logs["loss"]), 4)])
        print(f"epoch {epoch + 1}: {now - self.start:.1f} s, loss {logs['loss']:.4f}", flush=True)
        if epoch and now + (now - self.begun) / 2 > self.end:  # another epoch would end too late
            self.model.stop_training = True


def _parser():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    works = parser.add_subparsers(required=True, dest="command")
    one = works.add_parser("prepare", help="write the ids of the pairs, with TensorFlow")
    one.add_argument("--model", type=Path, required=True)
    one.add_argument("--corpus", type=Path, action="append", required=True, metavar="TSV")
    one.add_argument("--valid", type=Path, required=True, metavar="TSV")
    one.add_argument("--further", action="store_true", help="start from the weights of MODEL")
    one.add_argument("--out", type=_arrays, required=True, metavar="FILE.npz")
    one.set_defaults(work=prepare)
    one = works.add_parser("train", help="train on the backend in KERAS_BACKEND")
    one.add_argument("ids", type=Path)
    one.add_argument("--minutes", type=_minutes, default=5.0)
    one.add_argument("--seed", type=int, default=1)
    one.add_argument(
        "--set",
        type=_setting,
        action="append",
        default=[],
        metavar="OPTION=VALUE",
        help=f"training option; may be repeated: {', '.join(sorted(SETTABLE))}",
    )
    one.add_argument("--out", type=_arrays, required=True, metavar="FILE.npz")
    one.set_defaults(work=train)
    one = works.add_parser(
        "finish", help="write a translator with the new weights, with TensorFlow"
    )
    one.add_argument("--model", type=Path, required=True)
    one.add_argument("--weights", type=Path, required=True)
    one.add_argument("--out", type=Path, required=True)
    one.set_defaults(work=finish)
    return parser


def _setting(text):
    name, value = training_option(text)
    if name not in SETTABLE:
        raise argparse.ArgumentTypeError(f"You can set {', '.join(sorted(SETTABLE))}, not {name}.")
    return name, value


def _minutes(text):
    value = float(text)
    if not 0 < value <= MOST_MINUTES:
        raise argparse.ArgumentTypeError(
            f"The number must be above 0 and at most {MOST_MINUTES}. Received: {text}"
        )
    return value


def _arrays(text):
    """Return the path of an .npz file, after creating its directory."""
    path = Path(text)
    if path.suffix != ".npz":
        raise argparse.ArgumentTypeError(f"A name must end in .npz. Received: {text}")
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


if __name__ == "__main__":
    sys.exit(main())
