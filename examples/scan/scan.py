"""Commands to actions: an attention RNN and syntactic attention on the splits of SCAN.

    python examples/scan/scan.py SCAN --split simple --seed 1
    python examples/scan/scan.py SCAN --split addprim_jump --model two-streams --seed 1 --dev
    python examples/scan/scan.py SCAN --split addprim_jump --model two-streams --seed 1 --test FILE

SCAN is a clone of the repository brendenlake/SCAN. The first command trains on the whole training
set and saves the model. To choose settings, use --dev, which trains on some of the training set and
scores the rest. With --test, the saved model decodes the test set, once.
"""

import argparse
import json
import time
from pathlib import Path

import keras
from two_streams import two_streams

import keras_bahdanau as kb

SPLITS = ("simple", "length", "addprim_turn_left", "addprim_jump")
TEST_LINES = {"simple": 4182, "length": 3920, "addprim_turn_left": 1208, "addprim_jump": 7706}
TRAINING = {"epochs": 30, "batch_sentences": 32, "learning_rate": 1e-3}
# at most 64 actions for any length of command; the longest in the data has 48
SEARCH = {"beam_width": 1, "max_length": 64, "max_length_ratio": 0.0, "max_length_offset": 64}
PRIMITIVES = {  # for --dev: command and action that occur in training only by themselves
    "addprim_turn_left": ("turn right", "I_TURN_RIGHT"),
    "addprim_jump": ("look", "I_LOOK"),
}
LONGEST = 16  # maximum actions in training with --dev for the split by length


def attention_rnn(source, target, units=100, dropout=0.5, **options):
    """Return the preset `small` at this size; dropping a whole word would change the command."""
    sizes = dict.fromkeys(("embedding_units", "encoder_units", "attention_units"), units)
    rates = {"embedding_dropout": dropout, "recurrent_dropout": 0.0, "word_dropout": 0.0}
    options = {**sizes, **rates, "units": units, "dropout": dropout, **options}
    return kb.presets.small(source, target, **options)


MODELS = {"attention-rnn": attention_rnn, "two-streams": two_streams}
SETTINGS = {  # split -> settings chosen on dev
    "attention-rnn": {
        "simple": {"dropout": 0.2, "epochs": 20}, "length": {"epochs": 15},
        "addprim_turn_left": dict(encoder="unidirectional", bridge="last", dropout=0.1,
            batch_sentences=8, epochs=6),
        "addprim_jump": dict(readout="attentional", bridge="zeros", dropout=0.2, epochs=8),
    },
    "two-streams": {"addprim_turn_left": {"epochs": 12}},
}  # fmt: skip


def main(arguments=None):
    arguments = parsed(arguments)
    split = arguments.split + ("-dev" if arguments.dev else "")
    directory = arguments.out / f"{split}-{arguments.model}-{arguments.seed}"
    if arguments.test:
        decode_test(directory, arguments)
    elif (directory / "scores.json").exists():
        raise SystemExit(f"{directory} has a trained model. Choose another --seed or --out.")
    else:
        train(directory, arguments)


def train(directory, arguments):
    """Train a model and save it with a record of its settings; with --dev, score the rest."""
    split, rest = arguments.split, []
    pairs = read(arguments.data, "simple" if arguments.dev and split in PRIMITIVES else split)
    if arguments.dev:
        pairs, rest = hold_out(split, pairs)
    settings = {**TRAINING, **SETTINGS[arguments.model].get(split, {}), **dict(arguments.set)}
    record = {"split": split, "model": arguments.model, "seed": arguments.seed, **settings}
    epochs, batch_sentences, rate = (settings.pop(name) for name in TRAINING)

    keras.utils.set_random_seed(arguments.seed)
    words = {"model_type": "word", "normalization": "identity", "exact": False}
    source, target = kb.text.Subwords.train_pair(pairs, joint=False, **words)
    batches = {"batch_sentences": batch_sentences, "seed": arguments.seed}
    data = kb.data.BatchedPairs(pairs, source, target, **batches)
    try:
        model = MODELS[arguments.model](source, target, **settings)
    except (TypeError, ValueError) as error:
        raise SystemExit(f"--set: {error}") from None
    schedule = kb.optimizers.Cosine(rate, epochs * data.steps)
    model.compile(kb.optimizers.Adam(schedule, global_clipnorm=5.0), kb.losses.TokenCrossentropy())
    began = time.monotonic()
    model.fit(data.dataset(), epochs=epochs, shuffle=False, verbose=2)
    record["minutes"] = round((time.monotonic() - began) / 60, 1)
    record["weights"] = model.count_params()
    translator = kb.Translator(source, model, target, kb.SearchOptions(**SEARCH))
    directory.mkdir(parents=True, exist_ok=True)
    translator.save(directory / "translator.keras")
    if rest:
        record["dev"] = exact(translator, rest)
    write(directory, record)


def decode_test(directory, arguments):
    """Decode the test once with a saved model, and add its score to the record."""
    if not (directory / "scores.json").exists():
        raise SystemExit(f"{directory} has no trained model. Train it first, without --test.")
    record = json.loads((directory / "scores.json").read_text(encoding="utf-8"))
    if "test" in record:
        raise SystemExit(f"{directory}: a model decodes the test once. Choose another --seed.")
    split, pairs = arguments.split, read_file(arguments.test)
    if len(pairs) != TEST_LINES[split]:
        raise SystemExit(
            f"The test of {split} must have {TEST_LINES[split]:,} lines. "
            f"Received: {arguments.test}, with {len(pairs):,}. Use tasks_test_{split}.txt."
        )
    translator = kb.Translator.load(directory / "translator.keras")
    record["test"] = exact(translator, pairs)
    write(directory, record)


def exact(translator, pairs):
    """Return the percentage of commands with all actions right."""
    evaluation = kb.evaluation.evaluate(translator, pairs, batch_size=256, metrics=("exact",))
    print(evaluation, flush=True)
    return round(evaluation.exact, 2)


def write(directory, record):
    text = json.dumps(record)
    (directory / "scores.json").write_text(text + "\n", encoding="utf-8")
    print(text, flush=True)


def hold_out(split, pairs):
    """Split training pairs into (training, dev), which differ in the way training and test do.

    Dev has every 20th pair for `simple`, targets of more than `LONGEST` actions for `length`, and
    longer commands with the primitive otherwise; its own command is a tenth of the training.
    """
    if split == "simple":
        return [pair for number, pair in enumerate(pairs) if number % 20], pairs[::20]
    if split == "length":
        is_dev = [len(actions.split()) > LONGEST for _, actions in pairs]
    else:
        primitive, action = PRIMITIVES[split]
        pairs = [pair for pair in pairs if pair[0] != primitive]
        is_dev = [primitive in command for command, _ in pairs]
    training, dev = (
        [pair for pair, held in zip(pairs, is_dev, strict=True) if held == side]
        for side in (False, True)
    )
    if split in PRIMITIVES:
        training += [(primitive, action)] * max(1, len(training) // 9)
    return training, dev


def read(data, split):
    """Return the (command, actions) pairs of the training set of a split."""
    names = f"tasks_train_{split}.txt", f"{split}_train.tsv.gz"
    files = [path for name in names for path in sorted(data.rglob(name))]
    if not files:
        raise SystemExit(f"{data} must have a file {names[0]}. Clone brendenlake/SCAN there.")
    return read_file(files[0])


def read_file(path):
    """Return the pairs of a file with lines `IN: jump OUT: I_JUMP`, or separated by tabs."""
    lines = [line.removeprefix("IN: ").replace(" OUT: ", "\t") for line in kb.data.read_lines(path)]
    pairs = [tuple(line.split("\t")) for line in lines]
    wrong = [line for line, pair in zip(lines, pairs, strict=True) if len(pair) != 2]
    if wrong:
        raise SystemExit(f"A line must have a command and actions. Received: {wrong[0]!r:.80}")
    return pairs


def setting(text):
    """Return (name, value) for NAME=VALUE, where the value is a number or a word."""
    name, _, value = text.partition("=")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def parsed(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("data", type=Path, metavar="SCAN", help="directory with the split files")
    add("--split", choices=SPLITS, required=True, help="split to train and test on")
    add("--model", choices=MODELS, default="attention-rnn", help="(%(default)s)")
    add("--seed", type=int, default=1, help="seed of weights, dropout and batches (1)")
    add("--out", type=Path, default="runs/scan", metavar="DIR", help="(%(default)s)")
    part = parser.add_mutually_exclusive_group()
    part.add_argument("--dev", action="store_true", help="score held-out training lines")
    part.add_argument("--test", type=Path, metavar="FILE", help="decode the test")
    add("--set", type=setting, action="append", default=[], metavar="NAME=VALUE",
        help="epochs, batch_sentences, learning_rate or an argument of the model")  # fmt: skip
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
