"""Exported Keras models: flipped bits, cut, replaced, or malformed cards with a valid seal."""

import json
import os
import shutil
from pathlib import Path

import numpy as np

from fuzz.archives import RAW, cards_of, repacked
from fuzz.attack import attack, sample
from fuzz.onnx_files import repacked as repacked_onnx
from fuzz.seals import REPLACED, tell, told_by

REQUEST = {"ids": [[4, 8, 15, 0]]}
LABELS = ["bad", "so so", "good"]


@attack(4, "files of Keras models, learned states: one flipped bit, by their readers", full=600)
def array_flips(world, count):
    yield from _cases(world, "try_flips", count)


@attack(5, "files of Keras models: cut short, lengthened, replaced by what is no file", full=100)
def cut_array_files(world, count):
    yield from _cases(world, "try_cuts", count)


@attack(5, "files of Keras models: malformed cards under a seal that fits", full=600)
def array_cards(world, count):
    """A malformed card may still give a correct answer, since not every key is needed."""
    yield from _cases(world, "try_cards", count)


def _cases(world, target, count):
    arguments = (f"fuzz.array_files:{target}", str(world.arrays), count)
    yield from told_by(world.light, world, *arguments, name=target)


def write_files(name):
    """Write untrained models to a directory.

    `mood` and `hear` are LiteRT and ONNX files. The LiteRT files `learn`, `twin` (the same model
    with another learning rate) and `yes` can learn. In ONNX, the step of `hear` is in `hears`.
    """
    import array_conformance as models
    import keras

    import keras_bahdanau as kb

    folder = Path(name)
    folder.mkdir()
    mood, hear = models.classifier(), models.listener()
    kb.export_litert(mood, folder / "mood.tflite", labels=LABELS)
    kb.export_litert(hear, folder / "hear.tflite", signatures=("serving_default", "step"))
    kb.export_onnx(mood, folder / "mood.onnx", labels=LABELS)
    kb.export_onnx(hear, folder / "hear.onnx")
    kb.export_onnx(hear, folder / "hears.onnx", signatures=("step",))
    settings = {"signatures": ("train",), "optimizer": "adam", "learning_rate": 0.01}
    kb.export_litert(mood, folder / "learn.tflite", labels=LABELS, **settings)
    settings["learning_rate"] = 0.02
    kb.export_litert(mood, folder / "twin.tflite", labels=LABELS, **settings)
    layers = [keras.Input((4,), name="sample"), keras.layers.Dense(1, "sigmoid", name="yes")]
    settings = {"signatures": ("train",), "loss": "mse"}
    kb.export_litert(keras.Sequential(layers), folder / "yes.tflite", **settings)


def readers(folder):
    """Return a dictionary from each file name to a function of a path that answers a request."""
    from keras_bahdanau.runners import ArrayModel, Learner

    def learned(path):
        learner = Learner(path)
        loss = learner.train(REQUEST, ["good"])
        return {"loss": np.float32(loss), **learner.infer(REQUEST)}

    def asked(path):
        return ArrayModel(path)(REQUEST)

    def streamed(path):
        return ArrayModel(path).stream()({"sample": [[-1.0, -0.5, 0.5, 1.0]]})

    return {
        "mood.tflite": asked,
        "hear.tflite": streamed,
        "learn.tflite": learned,
        "mood.onnx": asked,
        "hears.onnx": streamed,
    }


def same(answer, expected):
    """Return whether two dictionaries of arrays are equal."""
    return answer.keys() == expected.keys() and all(
        np.array_equal(answer[name], expected[name], equal_nan=True) for name in expected
    )


def learned_state(folder):
    """Return a learner, and the path of its saved state in the current directory."""
    from keras_bahdanau.runners import Learner

    learner, path = Learner(Path(folder, "learn.tflite")), Path("mood.learned")
    learner.train(REQUEST, ["bad"])
    learner.save(path)
    return learner, path


def try_flips(folder, count):
    """Flip bits of each file and of a learned state."""
    from sealing import flips

    random, count = np.random.default_rng(0), count // 6
    for name, read in readers(folder).items():
        path = shutil.copyfile(Path(folder, name), Path(name))
        for position in flips(path, count, random):
            tell(f"byte {position} of {name}", lambda r=read, p=path: r(p))
    learner, path = learned_state(folder)
    for position in flips(path, count, random):
        tell(f"byte {position} of a state", lambda: learner.restore(path))


def try_cuts(folder, count):
    """Cut each file, append to it, or replace it with something else."""
    random = np.random.default_rng(1)
    for name, read in readers(folder).items():
        content, path = Path(folder, name).read_bytes(), Path(name)
        lengths = random.integers(len(content), size=count // 5)
        changed = {f"{length:,} bytes": content[:length] for length in lengths.tolist()}
        changed |= {
            "a byte more": content + b"\0",
            "twice": content * 2,
            "no seal": content[:-64],
            "a hole": content[:-64] + bytes(64),
        }
        for case, data in changed.items():
            path.write_bytes(data)
            tell(f"{name}, {case}", lambda r=read, p=path: r(p))
        path.unlink()
        for case, make in REPLACED.items():
            make(path)
            tell(f"{case} as {name}", lambda r=read, p=path: r(p))
            path.rmdir() if path.is_dir() and not path.is_symlink() else os.unlink(path)


def try_cards(folder, count):
    """Give each file malformed cards with valid hashes and a valid seal."""
    import random

    from keras_bahdanau.exporters.card import CARD
    from keras_bahdanau.exporters.litert import tflite_file
    from keras_bahdanau.exporters.onnx import onnx_file

    for name, read in readers(folder).items():
        good, path = Path(folder, name), Path(name)
        format = onnx_file if path.suffix == ".onnx" else tflite_file
        expected, contents = read(good), format.unpack(good.read_bytes())
        files = {key: content for key, content in contents.files.items() if key != CARD}
        cards = [*cards_of(contents.files[CARD]), *_deeper(json.loads(contents.files[CARD]))]
        for case, card in sample(random.Random(2), cards, count // 5):
            if card not in RAW and card.strip():
                data = format.pack(contents.model, files, json.loads(card))
            elif format is onnx_file:
                data = repacked_onnx(good.read_bytes(), card)
            else:
                data = repacked(good, {CARD: card})
            path.write_bytes(data)
            tell(f"{name}, {case}", lambda r=read, p=path: r(p), lambda a, e=expected: same(a, e))


def _deeper(card):
    """Yield (name, bytes) of cards whose signatures, weights or states have other tensors."""
    for name, signature in card["tensors"].items():
        for kind in signature:
            for change in ({}, {"x": "float32 (1)"}, None, "x", {"ids": 3}, {"ids": "\n" * 2000}):
                tensors = {**card["tensors"], name: {**signature, kind: change}}
                yield f"{name}.{kind} = {change!r:.30}", _json(card, tensors=tensors)
    if "training" in card:
        for key, value in (("weights", []), ("weights", ["x"]), ("state", []), ("state", ["x"])):
            yield f"{key} = {value}", _json(card, training={**card["training"], key: value})
    for states in (["x"], ["ids"], ["sample"]):
        yield f"states = {states}", _json(card, states=states)


def _json(card, **fields):
    return json.dumps({**card, **fields}).encode()
