"""`check` on damaged SavedModels and .tflite files, and on other things in their place."""

import os
import shutil
import zipfile

from fuzz.archives import cards_of, flipped, repacked
from fuzz.attack import attack, judged, nothing, sample
from fuzz.world import COMMAND


def found(world, path, name, allowed=nothing):
    """Return the `Case` for `check`, whose findings with exit code 1 count as a refusal."""
    answer = world.heavy.call(COMMAND, "check", str(path), directory=path.parent, patience=40)
    if answer.code == 1 and answer.out.strip() and not answer.err:
        answer = answer._replace(err=answer.out.decode().splitlines()[0])
    return judged(name, answer, allowed)


def _says_so(answer):
    """Return whether the output says that the version has no card to compare with."""
    return b"no card" in answer.out.lower()


def _damaged(world, damage, name, allowed=nothing):
    """Return the `Case` for a copy of a version that `damage` has changed."""
    with world.scratch() as directory:
        version = directory / "translator" / "1"
        shutil.copytree(world.saved_model, version)
        damage(version)
        return found(world, version, name, allowed)


@attack(4, "SavedModel: one flipped bit in any of its files, by `check`", full=200)
def saved_model_flips(world, count):
    random = world.random("saved model")
    names = sorted(
        os.fspath(path.relative_to(world.saved_model))
        for path in world.saved_model.rglob("*")
        if path.is_file() and path.stat().st_size
    )
    for number in range(count):
        name = names[number % len(names)]
        data, place = flipped((world.saved_model / name).read_bytes(), random)
        yield _damaged(world, lambda v, n=name, d=data: (v / n).write_bytes(d), f"{name}, {place}")


@attack(4, ".tflite: one flipped bit, by `check`", full=200)
def litert_checks(world, count):
    random, data = world.random("litert check"), world.litert.read_bytes()
    for _ in range(count):
        with world.scratch() as directory:
            changed, place = flipped(data, random)
            (directory / "file.tflite").write_bytes(changed)
            yield found(world, directory / "file.tflite", place)


@attack(5, "`check` of malformed cards", full=60)
def checked_cards(world, count):
    """No card that differs from the original may pass."""
    card = world.saved_model / "assets.extra" / "card.json"
    for name, content in sample(world.random("cards"), cards_of(card.read_bytes()), count // 2):
        path = os.path.join("assets.extra", "card.json")
        yield _damaged(world, lambda v, p=path, c=content: (v / p).write_bytes(c), name)
    with zipfile.ZipFile(world.litert) as archive:
        good = archive.read("card.json")
    for name, content in sample(world.random("litert cards"), cards_of(good), count // 2):
        with world.scratch() as directory:
            path = directory / "file.tflite"
            path.write_bytes(repacked(world.litert, {"card.json": content}))
            yield found(world, path, f"litert: {name}")


@attack(4, "`check` of incomplete and of foreign things", full=20)
def incomplete(world, count):
    for path in sorted(world.saved_model.rglob("*")):
        name = os.fspath(path.relative_to(world.saved_model))
        if path.is_file():
            yield _damaged(world, lambda v, n=name: os.remove(v / n), f"without {name}", _says_so)
    yield _damaged(world, lambda v: (v / "more.pb").write_bytes(b"x"), "a file more")
    things = [
        ("a FIFO", os.mkfifo),
        ("a directory", os.mkdir),
        ("an empty file", lambda path: path.touch()),
        ("nothing", lambda path: None),
        ("a loop", lambda path: os.symlink(path, path)),
        ("/dev/zero", lambda path: os.symlink("/dev/zero", path)),
        ("text", lambda path: path.write_text("one\n")),
    ]
    for name, make in things:
        for ending in ("", ".tflite"):
            with world.scratch() as directory:
                make(directory / f"thing{ending}")
                yield found(world, directory / f"thing{ending}", f"{name} thing{ending}")


GRAPHS = {
    "reads a file": lambda tf, text: tf.fill(tf.shape(text), tf.io.read_file(text[0])),
    "writes a file": lambda tf, text: _after(tf, tf.io.write_file("pwned", text[0]), text),
    "lists files": lambda tf, text: tf.io.matching_files(text),
    "saves": lambda tf, text: _after(tf, tf.raw_ops.SaveV2(**_saved(text)), text),
    "calls Python": lambda tf, text: tf.py_function(lambda one: one, [text], tf.string),
    "fails": lambda tf, text: _after(tf, tf.debugging.assert_equal(text, "x"), text),
}


def _saved(text):
    return {"prefix": "x", "tensor_names": ["a"], "shape_and_slices": [""], "tensors": [text]}


def _after(tf, operation, text):
    with tf.control_dependencies([operation] if operation is not None else []):
        return tf.identity(text)


def write_graph(name):
    """Write a SavedModel to `model/1` whose signature does something that `check` must report."""
    import tensorflow as tf

    module = tf.Module()
    spec = tf.TensorSpec([None], tf.string, "text")
    graph = tf.function(lambda text: {"text": GRAPHS[name](tf, text)}, input_signature=[spec])
    tf.saved_model.save(module, "model/1", {"serving_default": graph})


@attack(4, "`check` of a stranger's graph that touches files or can fail", full=6)
def foreign_graphs(world, count):
    for name in list(GRAPHS)[:count]:
        with world.scratch() as directory:
            made = world.heavy.call("fuzz.versions:write_graph", name, directory=directory)
            if made.code:
                raise RuntimeError(f"The graph must be made. Received: {made.err}")
            yield found(world, directory / "model", name)
