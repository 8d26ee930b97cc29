"""ONNX files with flipped bits, cut, or with malformed cards; any requests to their graphs."""

import base64
from pathlib import Path

import numpy as np

from fuzz.archives import INPUT, _same, cards_of, flipped
from fuzz.attack import attack, judged, sample
from fuzz.numeric_sources import wild_frames
from fuzz.outcomes import Case, Outcome
from fuzz.versions import found
from fuzz.world import COMMAND

WILD_IDS = (-(2**31), -1, 0, 1, 3, 4, 5, 10**6, 2**31 - 1)


def translated(world, data, name, expected=None):
    """Return the `Case` for `translate` with an .onnx file of the given bytes."""
    with world.scratch() as directory:
        (directory / "file.onnx").write_bytes(data)
        arguments = ("translate", "--model", "file.onnx")
        answer = world.light.call(COMMAND, *arguments, directory=directory, stdin=INPUT)
        return judged(name, answer, _same(expected))


def repacked(data, card):
    """Return the bytes of a file with another card and a valid seal."""
    from keras_bahdanau.exporters.onnx import onnx_file

    contents = onnx_file.unpack(data)
    files = {**contents.files, "card.json": None}
    parts = [contents.model, onnx_file._entry("card.json", card)]
    parts += [
        onnx_file._entry(f"file:{name}", base64.b64encode(content))
        for name, content in files.items()
        if content is not None
    ]
    sealed = b"".join(parts) + onnx_file._entry("seal", bytes(64))[:-64]
    return sealed + onnx_file.seal_of(sealed)


def answer_of(world):
    arguments = ("translate", "--model", str(world.onnx))
    answer = world.light.call(COMMAND, *arguments, directory=world.files, stdin=INPUT)
    if answer.code or not answer.out.strip():
        raise RuntimeError(f"A good file must answer. Received: {answer}")
    return answer.out


@attack(4, ".onnx: one flipped bit, by `translate` and `check`", full=120)
def onnx_flips(world, count):
    random, data = world.random("onnx"), world.onnx.read_bytes()
    expected = answer_of(world)
    for _ in range(count // 2):
        yield translated(world, *flipped(data, random), expected)
        with world.scratch() as directory:
            changed, place = flipped(data, random)
            (directory / "file.onnx").write_bytes(changed)
            yield found(world, directory / "file.onnx", place)


@attack(5, ".onnx: cut short", full=40)
def cut_onnx_files(world, count):
    random, data = world.random("onnx cut"), world.onnx.read_bytes()
    for _ in range(count):
        length = random.randrange(len(data))
        yield translated(world, data[:length], f"{length:,} bytes")


@attack(5, ".onnx: malformed cards", full=80)
def onnx_cards(world, count):
    """A malformed card may still give a correct answer, since not every key is needed."""
    from keras_bahdanau.exporters.onnx.onnx_file import unpack

    data = world.onnx.read_bytes()
    expected = answer_of(world)
    for name, card in sample(
        world.random("onnx cards"), cards_of(unpack(data).files["card.json"]), count
    ):
        yield translated(world, repacked(data, card), name, expected)


@attack(12, ".onnx: any ids, numbers and lengths, in the graph", full=200)
def onnx_requests(world, count):
    """A row gets the same ids in a batch as alone, and finite scores."""
    frames = world.made("frames.onnx", "fuzz.onnx_files:write_frames")
    arguments = (str(world.onnx), str(frames), count)
    answer = world.light.call("fuzz.onnx_files:ask", *arguments, directory=world.files, seconds=200)
    lines = answer.out.decode().splitlines()
    yield judged("the program", answer, lambda _: len(lines) >= count)
    for line in lines:
        outcome, name = line.split("\t")
        yield Case(name, Outcome(outcome))


def write_frames(name):
    """Write the file of an untrained pipeline for frames."""
    from frames import new_frames_pipeline

    from keras_bahdanau import export_onnx

    export_onnx(new_frames_pipeline(), Path(name))


def ask(text_path, frames_path, count):
    """Print the outcome and name of each request."""
    import random

    from keras_bahdanau.exporters.onnx.onnx_runner import OnnxRunner

    draw, text, frames = random.Random(0), OnnxRunner(text_path), OnnxRunner(frames_path)
    for _ in range(int(count) // 2):
        values, lengths = wild_frames(draw)
        _print(frames, {"values": values, "lengths": lengths})
        rows, time = draw.randrange(1, 4), draw.choice([1, 2, 7])
        source = np.array([draw.choices(WILD_IDS, k=time) for _ in range(rows)], np.int32)
        lengths = np.array(draw.choices(WILD_IDS, k=rows), np.int32)
        _print(text, {"source": source, "source_length": lengths})


def _print(runner, tensors):
    batch = runner.run(tensors)
    alone = runner.run({name: array[:1] for name, array in tensors.items()})
    count = alone["target_lengths"][0, 0]
    finite = all(np.isfinite(batch[name]).all() for name in ("scores", "alignment", "confidences"))
    same = (batch["ids"][0, 0, :count] == alone["ids"][0, 0, :count]).all()
    outcome = Outcome.SURVIVED if finite and same else Outcome.SILENT
    shapes = ", ".join(f"{name} {array.shape}" for name, array in tensors.items())
    print(outcome.value, shapes, sep="\t", flush=True)
