"""Learning in files: hostile examples, damaged and foreign states, kills and full disks."""

import base64
import json
import os
import random
import resource
import signal
import time
from pathlib import Path

import numpy as np

from fuzz.archives import VALUES
from fuzz.array_files import LABELS, REQUEST, learned_state, same
from fuzz.array_requests import no_arrays, odd_names
from fuzz.attack import attack, sample
from fuzz.seals import REPLACED, tell, told_by


@attack(10, "a file that learns: hostile examples, labels and steps", full=400)
def learner_requests(world, count):
    yield from _cases(world, "try_examples", count)


@attack(5, "learned states: malformed under a seal that fits, of another model, replaced", full=400)
def learned_states(world, count):
    yield from _cases(world, "try_states", count)


@attack(5, "learned states: a kill and a full disk while one is saved", full=80)
def saves(world, count):
    yield from _cases(world, "try_saves", count)


def _cases(world, target, count):
    arguments = (f"fuzz.learned_states:{target}", str(world.arrays), count)
    yield from told_by(world.light, world, *arguments, name=target)


def unchanged(learner, state):
    """Return a function that returns whether a learner still has the given state."""
    return lambda: learner.state is state


def refused(name, call, learner):
    """Report a call that must be refused without changing the learner."""
    state = learner.state
    tell(name, call, lambda _: False)
    tell(f"{name}, afterwards", unchanged(learner, state), lambda same: same)


def try_examples(folder, count):
    """Train with examples that must be refused, between valid ones."""
    from keras_bahdanau.runners import Learner

    draw = random.Random(5)
    mood, yes = (Learner(Path(folder, f"{name}.tflite")) for name in ("learn", "yes"))
    labels = [None, "good", ["god"], ["good\n"], [b"good"], ["x" * 10**5], [3], [-1], [2**63]]
    labels += [[0.5], [np.nan], [[0]], [0, 0], [], [[0], [0, 1]], [1j], [object()], {"good"}, {}]
    labels += [np.array([2**64 - 1], np.uint64), np.array([-128], np.int8), np.zeros((1, 0))]
    steps = [0, -1, 101, 10**9, 1.5, None, "3", True, [1], np.nan]
    wild = [np.nan, np.inf, -np.inf, 1e39, 3e38]
    cases = [
        *((mood, (REQUEST, label), {}) for label in labels),
        *((mood, (REQUEST, ["good"]), {"steps": number}) for number in steps),
        *((mood, ({"ids": value}, ["good"]), {}) for value in no_arrays()),
        *((mood, (names, ["good"]), {}) for names in odd_names(REQUEST)),
        *((mood, ({**REQUEST, name: array}, [0]), {}) for name, array in mood.state.items()),
        *((yes, ({"sample": np.full((1, 4), value)}, [[1.0]]), {}) for value in wild[:-1]),
        *((yes, ({"sample": np.ones((1, 4))}, [[value]]), {}) for value in wild),
        *((yes, ({"sample": np.ones((1, 4))}, value), {}) for value in no_arrays()),
        *((yes, ({"sample": np.ones((1, 4))}, np.ones(s)), {}) for s in ((1,), (2, 1), (1, 1, 1))),
    ]
    for learner, arguments, keywords in sample(draw, cases, count):
        described = f"{arguments!r:.80} {keywords}"
        refused(described, lambda a=arguments, k=keywords, m=learner: m.train(*a, **k), learner)
        tell("a good one", lambda: mood.train(REQUEST, [draw.choice(LABELS)]), np.isfinite)
    for names in odd_names(REQUEST):
        tell(f"infer {names!r:.60}", lambda n=names: mood.infer(n), lambda _: False)


def try_states(folder, count):
    """Restore states that must be refused or equal the saved state."""
    from keras_bahdanau.files.integrity import read_sealed_json, write_sealed_json
    from keras_bahdanau.runners import Learner

    learner, path = learned_state(folder)
    saved, content, card = learner.state, path.read_bytes(), read_sealed_json(path)
    learner.train(REQUEST, ["good"])

    def restored():
        learner.restore(path)
        return learner.state

    for name, wrong in sample(random.Random(6), _malformed(card), count):
        before = learner.state
        write_sealed_json(path, wrong)
        tell(name, restored, lambda state: same(state, saved))
        answers = [before, saved]
        tell(f"{name}, afterwards", lambda: learner.state, lambda s, a=answers: _any(s, a))
    for name, arrays in _odd_numbers(card):
        write_sealed_json(path, {**card, "arrays": arrays})
        twin = Learner(Path(folder, "learn.tflite"))

        def trained(learner=twin):
            learner.restore(path)
            return learner.train(REQUEST, ["good"])

        tell(name, trained, np.isfinite)
    for name in ("twin", "yes"):
        Learner(Path(folder, f"{name}.tflite")).save(path)
        refused(f"the state of {name}", restored, learner)
    for data in (b"", b"{}", b"null", content[:-1], content + b"\n", content * 2, b"[" * 10**5):
        path.write_bytes(data)
        refused(f"{len(data)} bytes {data[:10]!r}", restored, learner)
    path.unlink()
    for name, make in REPLACED.items():
        make(path)
        refused(name, restored, learner)
        path.rmdir() if path.is_dir() and not path.is_symlink() else os.unlink(path)
    refused("nothing", restored, learner)


def _any(state, others):
    return any(same(state, other) for other in others)


def _malformed(card):
    """Yield (name, card) with malformed fields and arrays."""
    for key in card:
        yield f"no {key}", {name: value for name, value in card.items() if name != key}
        for value in VALUES:
            yield f"{key} = {value!r:.20}", {**card, key: value}
    for name, entry in card["arrays"].items():
        others = {key: value for key, value in card["arrays"].items() if key != name}
        yield f"no {name}", {**card, "arrays": others}
        changes = [*VALUES, *({**entry, key: value} for key in entry for value in VALUES)]
        changes += [{**entry, "shape": shape} for shape in ([-1], [2**40], [0], [[1]], [2**70])]
        changes += [
            {**entry, "base64": text} for text in ("!", "AAAA", "\ud83d\ude00", "A" * 10**6)
        ]
        for change in changes:
            yield f"{name} = {change!r:.60}", {**card, "arrays": {**others, name: change}}


def _odd_numbers(card):
    """Yield (name, arrays) that are well-formed but have values that training never produces."""
    for name, entry in card["arrays"].items():
        dtype = np.dtype(entry["dtype"])
        numbers = [-1, 2**31 - 1, -(2**31)] if dtype.kind == "i" else [np.nan, -1e38, 3e38]
        for number in numbers:
            data = np.full(entry["shape"], number, dtype).tobytes()
            changed = {**entry, "base64": base64.b64encode(data).decode()}
            yield f"{name} of {number}", {**card["arrays"], name: changed}


def try_saves(folder, count):
    """Kill a process while it saves, and save to a full disk: a complete state must remain."""
    learner, path = learned_state(folder)
    states, draw = [learner.state], random.Random(7)
    for label in LABELS:
        learner.train(REQUEST, [label])
        states.append(learner.state)
    for number in range(count):
        _kill_in_save(learner, states, path, draw.uniform(0, 0.02))
        tell(f"kill {number}", lambda: _restored(learner, path), lambda s: _any(s, states))
    learner.state = states[0]
    learner.save(path)
    size, limit = path.stat().st_size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    for room in {0, 1, size // 2, size - 1}:
        learner.state = states[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, limit))
        try:
            learner.save(path)
            error = None
        except OSError as failure:
            error = failure
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        tell(f"room for {room} bytes", lambda e=error: _raise(e))
        tell("afterwards", lambda: _restored(learner, path), lambda s: same(s, states[0]))
        names = sorted(os.listdir())
        tell("left", lambda n=names: n, lambda n: n == [path.name])


def _raise(error):
    if error is not None:
        raise error


def _restored(learner, path):
    learner.restore(path)
    return learner.state


def _kill_in_save(learner, states, path, seconds):
    child = os.fork()
    if not child:
        while True:
            for state in states:
                learner.state = state
                learner.save(path)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    json.loads(path.read_text())  # a complete file
