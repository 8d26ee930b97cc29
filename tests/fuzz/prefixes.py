"""Prefixes for a character model, with marks, unknown characters, spaces and symbols, or long."""

import pickle
from pathlib import Path

from fuzz.attack import attack
from fuzz.outcomes import judged_call

LONGEST = 9  # target tokens, including the end token
ROUNDS = 1000  # prefixes per child process
KNOWN = ["e", "k", "t", "N", "e\u0301", " ", "<V>", "<PST>"]
STRANGE = ["☃", "\u0301", "\u200d", "\U0001f600", "▁", "\t", "\n", "\0", "\u2028", "</s>", "<s>"]
STRANGE += ["<pad>", "<unk>", "<V", "\ud800", "\ufeff", "\u00a0", "的", "<0xFF>"]
SOURCES = ["ten", "", " ", "New York", "<V> <PST> ten", "☃", "k" * 30, "te\udc80"]


def random_prefix(random):
    """Return a random prefix: one that a user might type, any characters, or a very long one."""
    kind = random.randrange(10)
    if kind < 4:
        return "".join(random.choices(KNOWN, k=random.randrange(2 * LONGEST)))
    if kind < 8:
        return "".join(random.choices(KNOWN + STRANGE, k=random.randrange(2 * LONGEST)))
    if kind == 8:
        return "".join(chr(random.randrange(1, 0x11000)) for _ in range(random.randrange(LONGEST)))
    return random.choice([*KNOWN, *STRANGE]) * random.choice([50, 1000, 20_000])


def write_characters(name):
    """Write an untrained character model as `NAME/model.keras` and `NAME/model.tflite`."""
    import keras

    import keras_bahdanau as kb

    keras.utils.set_random_seed(3)
    texts = ["New York", " in", "ten ", "ke\u0301te\u0301", "ete"]
    settings = {"model_type": "char", "normalization": "none", "exact": False}
    target = kb.text.Subwords.train(texts, 100, symbols=["<V>", "<PST>"], **settings)
    sizes = {"embedding_units": 4, "units": 8, "attention_units": 4}
    model = kb.presets.characters(target, target, **sizes)
    search = kb.SearchOptions(beam_width=3, max_length=LONGEST)
    translator, directory = kb.Translator(target, model, target, search), Path(name)
    directory.mkdir()
    translator.save(directory / "model.keras")
    kb.export_litert(
        translator,
        directory / "model.tflite",
        max_source_length=24,
        max_target_length=LONGEST,
        signatures=("nbest", "prefix"),
    )


@attack(10, "prefixes of characters, in Keras and on the device", full=4000)
def prefixes(world, count):
    """Each of the best texts begins with its prefix's tokens, or a one-line error refuses it."""
    model = world.made("characters", "fuzz.prefixes:write_characters")
    random = world.random("prefixes")
    cases = [(random.choice(SOURCES), random_prefix(random)) for _ in range(count // 2)]
    for first in range(0, len(cases), ROUNDS):
        some = cases[first : first + ROUNDS]
        for name in ("model.keras", "model.tflite"):
            with world.scratch() as directory:
                (directory / "cases").write_bytes(pickle.dumps(some))
                target = ("fuzz.targets:prefixes", str(model / name), "cases", "answers")
                answer = world.heavy.call(*target, directory=directory, seconds=200)
                path = directory / "answers"
                found = pickle.loads(path.read_bytes()) if path.exists() else [None] * len(some)
            for case, one in zip(some, found, strict=True):
                answer = answer._replace(left=[])
                yield judged_call(f"{name} {case!r:.60}", answer, one, _right)


def _right(result):
    """Return whether each text begins with its prefix and has few tokens and a finite score."""
    source_tokens, begun, texts = result
    if not source_tokens:
        return [tokens for tokens, _ in texts] == [[]]
    return bool(texts) and all(
        len(tokens) <= LONGEST
        and tokens[: len(begun)] == begun[: len(tokens)]
        and len(tokens) >= min(len(begun), LONGEST)
        and abs(score) < 1e6
        for tokens, score in texts
    )
