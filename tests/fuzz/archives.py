"""Model files with flipped bits, cut short, or with malformed cards, foreign parts or bombs."""

import io
import json
import zipfile

from fuzz.attack import anything, attack, judged, nothing, sample
from fuzz.targets import REACHED
from fuzz.world import CHECKS, COMMAND

INPUT = b"one two\nthree\nfive four one\n"
CARDS = {"keras": "pipeline.json", "litert": "card.json"}
VALUES = (None, [], {}, "x", -1, 1e300, True, float("nan"), "\x1b[2J", [[1]])
RAW = (
    b"",
    b"null",
    b"[]",
    b"1",
    b'"x"',
    b"{",
    b"{}",
    b"\xff\xfe",
    b"[" * 100_000,
    b"NaN",
    b"{} {}",
)


def repacked(path, changes):
    """Return the bytes of a zip archive with changed members; bytes before the archive are kept.

    Args:
        path: Path of the archive.
        changes: Dictionary from name to new bytes, or to None to remove a member.
    """
    data = path.read_bytes()
    with zipfile.ZipFile(path) as old:
        members = {entry.filename: old.read(entry) for entry in old.infolist()}
        start = min(entry.header_offset for entry in old.infolist())
    members |= changes
    content = io.BytesIO(data[:start])
    with zipfile.ZipFile(content, "a", zipfile.ZIP_STORED) as new:
        for name, member in members.items():
            if member is not None:
                new.writestr(name, member, zipfile.ZIP_DEFLATED if len(member) > 2**24 else None)
    return content.getvalue()


def flipped(data, random):
    """Flip a random bit of some bytes; return them and a description of the change."""
    place, bit = random.randrange(len(data)), random.randrange(8)
    changed = bytearray(data)
    changed[place] ^= 1 << bit
    return bytes(changed), f"bit {bit} of byte {place:,} of {len(data):,}"


def keras_path(world):
    """Return the path of the translator's .keras file."""
    return world.run / "translator.keras"


def translated(world, data, name, expected=None):
    """Return the `Case` for `translate` with a .keras file of the given bytes."""
    with world.scratch() as directory:
        (directory / "file.keras").write_bytes(data)
        arguments = ("translate", "--model", "file.keras")
        answer = world.light.call(CHECKS, *arguments, directory=directory, stdin=INPUT, patience=30)
        if answer.code == REACHED and world.quick:
            return judged(name, answer._replace(code=0), anything)
        if answer.code == REACHED:
            answer = world.heavy.call(COMMAND, *arguments, directory=directory, stdin=INPUT)
        return judged(name, answer, _same(expected))


def on_device(world, data, name, expected=None):
    """Return the `Case` for the on-device program with a .tflite file of the given bytes."""
    with world.scratch() as directory:
        (directory / "file.tflite").write_bytes(data)
        answer = world.light.call(
            "fuzz.targets:on_device", "file.tflite", directory=directory, stdin=INPUT, patience=30
        )
        return judged(name, answer, _same(expected))


def _same(expected):
    return nothing if expected is None else lambda answer: answer.out == expected


def answer_of(world, kind):
    """Return the answer of an intact file, or None if it needs TensorFlow in a quick world."""
    if kind == "keras" and world.quick:
        return None
    if kind == "keras":
        zygote, target = world.heavy, COMMAND
        rest = ["translate", "--model", str(keras_path(world))]
    else:  # doesn't need TensorFlow
        zygote, target, rest = world.light, "fuzz.targets:on_device", [str(world.litert)]
    answer = zygote.call(target, *rest, directory=world.files, stdin=INPUT)
    if answer.code or not answer.out.strip():
        raise RuntimeError(f"A good file must answer. Received: {answer}")
    return answer.out


@attack(4, ".keras: one flipped bit", full=300, few=10)
def keras_flips(world, count):
    random, data = world.random("keras"), keras_path(world).read_bytes()
    expected = answer_of(world, "keras")
    for _ in range(count):
        yield translated(world, *flipped(data, random), expected)


@attack(4, ".tflite: one flipped bit, on the device", full=400, few=12)
def litert_flips(world, count):
    random, data = world.random("litert"), world.litert.read_bytes()
    expected = answer_of(world, "litert")
    for _ in range(count):
        yield on_device(world, *flipped(data, random), expected)


@attack(5, ".keras and .tflite: cut short", full=80, few=8)
def cut_files(world, count):
    random = world.random("cut")
    for _ in range(count // 2):
        for path, run in ((keras_path(world), translated), (world.litert, on_device)):
            data = path.read_bytes()
            length = random.randrange(len(data))
            yield run(world, data[:length], f"{length:,} bytes")


def cards_of(good):
    """Yield (name, bytes) of malformed cards: each key missing or of another type, or no JSON."""
    card = json.loads(good)
    yield from ((repr(raw[:20]), raw) for raw in RAW)
    for place, holder in (
        ("", card),
        *((key, card[key]) for key in card if isinstance(card[key], dict)),
    ):
        for key in holder:
            changes = [("missing", None)] + [(repr(value), value) for value in VALUES]
            for name, value in changes:
                inner = {k: v for k, v in holder.items() if k != key}
                inner |= {} if name == "missing" else {key: value}
                whole = {**card, place: inner} if place else inner
                yield f"{place}.{key} = {name}", json.dumps(whole).encode()
    yield "an unknown search option", _with_option(card)
    yield "256 MB of spaces", b" " * 2**28


def _with_option(card):
    search = {**card.get("search", {}), "from_the_future": 1}
    return json.dumps({**card, "search": search}).encode()


@attack(5, ".keras: malformed cards", full=70, few=4)
def keras_cards(world, count):
    """A malformed card may still give a correct answer, since not every key is needed."""
    yield from _cards(world, keras_path(world), "keras", translated, count)


@attack(5, ".tflite: malformed cards", full=250, few=8)
def litert_cards(world, count):
    yield from _cards(world, world.litert, "litert", on_device, count)


def _cards(world, path, kind, run, count):
    with zipfile.ZipFile(path) as archive:
        good = archive.read(CARDS[kind])
    expected = answer_of(world, kind)
    for name, card in sample(world.random(kind), cards_of(good), count):
        yield run(world, repacked(path, {CARDS[kind]: card}), name, expected)


RUN_CODE = "import pathlib; pathlib.Path('pwned').write_text('x')"


@attack(5, ".keras: hostile configurations of the model", full=30)
def keras_configurations(world, count):
    """No code from a file runs; a file `pwned` would show that it did."""
    path = keras_path(world)
    with zipfile.ZipFile(path) as archive:
        config = json.loads(archive.read("config.json"))
        weights = archive.read("model.weights.h5")
    code = {"class_name": "__lambda__", "config": {"value": "gASVAAAA"}}
    changes = [
        ("another class", {**config, "class_name": "Sequential"}),
        ("an unknown class", {**config, "class_name": "Absent", "registered_name": "x>Absent"}),
        ("os.system", {**config, "module": "os", "class_name": "system", "registered_name": None}),
        ("builtins.exec", {"module": "builtins", "class_name": "exec", "config": RUN_CODE}),
        ("a lambda layer", _lambda_model(code)),
        ("no config", {"class_name": config["class_name"]}),
        ("a list", [config]),
        ("null", None),
        ("a string", RUN_CODE),
    ]
    changes += [
        (f"{key} = {value!r}", {**config, key: value}) for key in config for value in (None, [], -1)
    ]
    for key in config["config"]:
        for value in (None, [], 1e300, "x"):
            changes.append(
                (
                    f"config.{key} = {value!r}",
                    {**config, "config": {**config["config"], key: value}},
                )
            )
    policy = {**config["config"], "dtype": {"module": "os", "class_name": "system"}}
    changes.insert(9, ("a class as dtype", {**config, "config": policy}))
    changes = changes[:10] + sample(
        world.random("configurations"), changes[10:], max(0, count - 10)
    )
    members = [(name, {"config.json": json.dumps(one).encode()}) for name, one in changes[:count]]
    members += [
        ("no weights", {"model.weights.h5": None}),
        ("half of the weights", {"model.weights.h5": weights[: len(weights) // 2]}),
        ("weights of zeros", {"model.weights.h5": bytes(len(weights))}),
        ("no config.json", {"config.json": None}),
        ("a member that climbs", {"../pwned": b"x"}),
        ("a bomb beside it", {"bomb": bytes(2**31)}),
    ]
    expected = answer_of(world, "keras")
    for name, change in members:
        yield translated(world, repacked(path, change), name, expected)


def _lambda_model(code):
    layer = {"module": "keras.layers", "class_name": "Lambda", "config": {"function": code}}
    return {"module": "keras", "class_name": "Sequential", "config": {"layers": [layer]}}


@attack(4, ".keras: parts of another model, weights that are not finite", full=8)
def foreign_parts(world, count):
    path = keras_path(world)
    with zipfile.ZipFile(path) as own, zipfile.ZipFile(world.words / "translator.keras") as other:
        card, foreign = (json.loads(one.read(CARDS["keras"])) for one in (own, other))
        for side in ("source", "target"):
            changed = json.dumps({**card, side: foreign[side]}).encode()
            yield translated(world, repacked(path, {CARDS["keras"]: changed}), f"another {side}")
        weights = other.read("model.weights.h5")
        yield translated(world, repacked(path, {"model.weights.h5": weights}), "other weights")
        for value in (float("nan"), float("inf")):
            spoilt = _spoilt(own.read("model.weights.h5"), value)
            changed = repacked(path, {"model.weights.h5": spoilt})
            yield translated(world, changed, f"a weight of {value}")


def _spoilt(weights, value):
    """Return a weights file in which the first element of each array is replaced."""
    import h5py

    content = io.BytesIO(weights)
    with h5py.File(content, "a") as file:

        def spoil(_, one):
            if isinstance(one, h5py.Dataset) and one.ndim and one.size:
                one[(0,) * one.ndim] = value

        file.visititems(spoil)
    return content.getvalue()
