"""Run other toolkits with the same split, minutes and threads: yoyodyne 0.5.27, Phonetisaurus.

Each toolkit is run with its own command line, in an environment that `benchmarks/environments.py`
creates on first use. yoyodyne's settings are the ones that its authors use to test it on such data
(tests/testdata/configs in its repository): one size for all models, Adam, batches of 100. Instead
of 50 epochs with early stopping, it trains until the time limit, and the epoch with the highest
accuracy on dev is kept.
"""

import csv
import datetime
import gzip
import json
import shutil
import sys
import time
import unicodedata
from pathlib import Path

from results import scored
from tasks import LONGEST
from trainings import logged, processor_seconds

import keras_bahdanau as kb

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

from environments import python_of  # noqa: E402

SIZE = {"decoder_dropout": 0.2, "decoder_hidden_size": 256, "embedding_size": 64}
ENCODER = {"dropout": 0.2, "hidden_size": 256, "embedding_size": 64}
LAYERS = 4  # for the Transformers
ADAM = {"class_path": "yoyodyne.optimizers.Adam", "init_args": {"lr": 0.01}}
WARMUP = {
    "class_path": "yoyodyne.schedulers.WarmupInverseSquareRoot",
    "init_args": {"warmup_epochs": 10},
}
MODELS = {  # class, encoder, feature encoder ("shared" or "separate"), its own arguments
    "yoyodyne-soft": ("SoftAttentionLSTMModel", "LSTMEncoder", "shared", {}),
    "yoyodyne-hard": (
        *("HardAttentionLSTMModel", "LSTMEncoder", "separate"),
        {"attention_context": 1, "enforce_monotonic": True},
    ),
    "yoyodyne-transformer": (
        *("RotaryTransformerModel", "RotaryTransformerEncoder", "shared"),
        {"decoder_layers": LAYERS, "scheduler": WARMUP},
    ),
    "yoyodyne-pointer": (
        *("PointerGeneratorRotaryTransformerModel", "RotaryTransformerEncoder", "shared"),
        {"decoder_layers": LAYERS, "scheduler": WARMUP},
    ),
}
PHONETISAURUS = "phonetisaurus"
SYSTEMS = (*MODELS, PHONETISAURUS)
SPACE = "▁"  # replaces spaces in a word, because Phonetisaurus ends words at spaces


def trains(system, task):
    """Return True if a peer supports the task; Phonetisaurus accepts no features."""
    return system != PHONETISAURUS or task.kind != "inflect"


def result(system, task, seed, arguments):
    """Train a peer, and score its output for dev.

    Returns:
        Dictionary for `Results.write`.
    """
    folder = arguments.out / task.name / f"{system}-{seed}"
    shutil.rmtree(folder, ignore_errors=True)  # left by an interrupted training run
    folder.mkdir(parents=True)
    programs = arguments.environment or python_of(system.split("-")[0]).parents[1]
    rows, dev = (_rows(arguments.data / path) for path in (task.train, task.dev))
    run = _phonetisaurus if system == PHONETISAURUS else _yoyodyne
    began = time.monotonic(), processor_seconds()
    texts, size = run(system, task, seed, (rows, dev), folder, programs / "bin", arguments)
    pairs = kb.data.read_table(arguments.data / task.dev, task.columns).pairs
    (folder / "texts.txt").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return {
        **{"task": task.name, "system": system, "seed": seed},
        **{"minutes": arguments.minutes, "threads": arguments.threads},
        **{"seconds": time.monotonic() - began[0], "beam_width": arguments.beam_width},
        "processor_seconds": processor_seconds() - began[1],
        "dev": scored(pairs, texts, task.metrics),
        "bytes": {"model": size},
    }


def _rows(path):
    """Return the cells of each line in a file."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        return [line.rstrip("\n").split("\t") for line in lines]


def config(system, task, seed, minutes, folder):
    """Return the configuration for `yoyodyne fit`, as JSON, which is also YAML."""
    columns = task.columns.split(",")
    has_features = "features" in columns
    clock = str(datetime.timedelta(seconds=round(60 * minutes))).zfill(8)  # hours:minutes:seconds
    return {
        "seed_everything": seed,
        "trainer": {
            **{"accelerator": "cpu", "precision": "32-true", "gradient_clip_val": 3},
            **{"max_epochs": -1, "max_time": f"00:{clock}"},
            **{"enable_progress_bar": False, "log_every_n_steps": 1},
            "logger": {"class_path": "lightning.pytorch.loggers.CSVLogger"},  # in model_dir
        },
        "checkpoint": {
            **{"dirpath": str(folder / "checkpoints"), "filename": "best"},
            **{"monitor": "val_accuracy", "mode": "max"},
        },
        "data": {
            **{"model_dir": str(folder), "batch_size": 100},
            **{"train": str(folder / "train.tsv"), "val": str(folder / "dev.tsv")},
            "source_col": columns.index("source") + 1,
            "target_col": columns.index("target") + 1,
            "features_col": columns.index("features") + 1 if has_features else 0,
            "target_sep": " " if task.symbols else "",
            "max_source_length": LONGEST,
            "max_target_length": LONGEST,
        },
        "model": _model(system, has_features),
    }


def _model(system, has_features):
    name, encoder, of_features, own = MODELS[system]
    settings = {**ENCODER, "layers": LAYERS} if "decoder_layers" in own else ENCODER
    encoder = {"class_path": f"yoyodyne.models.modules.{encoder}", "init_args": settings}
    features = {"features_encoder": True if of_features == "shared" else encoder}
    return {
        "class_path": f"yoyodyne.models.{name}",
        "init_args": {
            **{"source_encoder": encoder, "label_smoothing": 0.1, "optimizer": ADAM},
            **{**SIZE, **own, **(features if has_features else {})},
        },
    }


def _yoyodyne(system, task, seed, rows, folder, programs, arguments):
    """Return (texts, size of the checkpoint in bytes)."""
    for name, part in zip(("train", "dev"), rows, strict=True):
        with open(folder / f"{name}.tsv", "w", encoding="utf-8", newline="") as file:
            csv.writer(file, delimiter="\t", lineterminator="\n").writerows(part)  # yoyodyne quotes
    settings = config(system, task, seed, arguments.minutes, folder)
    _write(folder / "fit.json", settings)
    logging = folder / "log.txt", arguments.threads
    logged([programs / "yoyodyne", "fit", "--config", folder / "fit.json"], *logging)
    settings["data"]["predict"] = settings["data"].pop("val")
    settings["data"].pop("train")  # its index is in the directory
    settings["prediction"] = {"path": str(folder / "predicted.txt")}
    beam = arguments.beam_width if system != "yoyodyne-hard" else 1  # it has none
    if beam > 1:
        settings["model"]["init_args"]["beam_width"] = beam
        settings["data"]["batch_size"] = 1  # as its beam search requires
    settings.pop("checkpoint")
    _write(folder / "predict.json", settings)
    checkpoint = folder / "checkpoints" / "best.ckpt"
    command = [programs / "yoyodyne", "predict", "--config", folder / "predict.json"]
    logged([*command, "--ckpt_path", checkpoint], *logging)
    texts = (folder / "predicted.txt").read_text(encoding="utf-8").split("\n")[:-1]
    if beam > 1:  # a table of texts and their scores, best first
        texts = [cells[0] for cells in csv.reader(texts, delimiter="\t")]
    if len(texts) != len(rows[1]):
        raise RuntimeError(f"{len(texts)} texts for {len(rows[1])} lines of {task.dev}")
    return texts, checkpoint.stat().st_size


def _write(path, content):
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False), encoding="utf-8")


def _phonetisaurus(system, task, seed, rows, folder, programs, arguments):
    """Return (texts, bytes of the transducer); counting n-grams needs no seed or minutes."""
    lexicon, model, found = folder / "lexicon.tsv", folder / "model.fst", folder / "predicted.tsv"
    train, dev = ([(readable(one[0]), symbols(task, one[1])) for one in part] for part in rows)
    lexicon.write_text("".join(f"{word}\t{text}\n" for word, text in train), encoding="utf-8")
    words = folder / "words.txt"
    words.write_text("".join(f"{word}\n" for word in dict(dev)), encoding="utf-8")
    log = folder / "log.txt"
    program = [programs / "phonetisaurus"]
    logged([*program, "train", "--model", model, lexicon], log, arguments.threads)
    with open(words, "rb") as given, open(found, "wb") as out:
        command = [*program, "predict", "--model", model]
        logged(command, log, arguments.threads, stdin=given, stdout=out)
    texts = dict(
        line.split(" ", 1) for line in found.read_text(encoding="utf-8").splitlines() if " " in line
    )
    answers = [texts.get(word, "") for word, _ in dev]
    if not task.symbols:
        answers = [text.replace(" ", "") for text in answers]
    return answers, model.stat().st_size


def symbols(task, text):
    """Return a target for Phonetisaurus, with spaces between its symbols or letters."""
    return text if task.symbols else " ".join(text)


def readable(word):
    """Return a word for Phonetisaurus, without spaces and with Hangul letters for syllables.

    Phonetisaurus assigns at most two phonemes to a letter.
    """
    letters = (unicodedata.normalize("NFD", one) if "가" <= one <= "힣" else one for one in word)
    return "".join(letters).replace(" ", SPACE)
