"""Training runs that diverge, collide or fill the disk, damaged runs, and reproducible samples."""

import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

from conftest import toy_pairs

from fuzz.attack import Case, anything, attack, judged, nothing
from fuzz.command_line import TINY
from fuzz.outcomes import Outcome
from fuzz.targets import REACHED
from fuzz.world import CHECKS, COMMAND

TRAIN = ("train", "good.en", "good.de", "--out", "new", *TINY.split())


def files_in(world, directory):
    """Copy the text files to a directory."""
    for file in world.files.iterdir():
        shutil.copy(file, directory)


@attack(3, "trainings that diverge", full=3)
def divergence(world, count):
    """NaN is never the best score, is never saved, and never appears in JSON."""
    lines = ["--learning-rate 1000 --optimizer sgd --clip-norm 1e9", "--learning-rate 1e9"]
    lines += ["--learning-rate 1e6 --clip-norm 1e9 --optimizer sgd", "--l2 1e9 --optimizer sgd"]
    for line in lines[:count]:
        with world.scratch() as directory:
            files_in(world, directory)
            arguments = [*TRAIN, *line.split(), "--epochs", "3"]
            answer = world.heavy.call(COMMAND, *arguments, directory=directory, seconds=60)
            best = b"nan (best)" in answer.out or b"inf (best)" in answer.out
            wrong = best or not _is_sound(directory / "new")
            yield judged(
                line, answer._replace(left=["NaN"] if wrong else []), lambda _, w=wrong: not w
            )


def _is_sound(run):
    """Return whether the JSON files are valid and all saved weights are finite."""
    import h5py
    import numpy as np

    def refuse(name):
        raise ValueError(name)

    finite = []

    def look(_, one):
        if isinstance(one, h5py.Dataset) and one.dtype.kind == "f":
            finite.append(np.isfinite(one[()]).all())

    try:
        for path in run.glob("*.json"):
            json.loads(path.read_text(), parse_constant=refuse)
        for path in run.glob("*.weights.h5"):
            with h5py.File(path) as file:
                file.visititems(look)
    except ValueError:
        return False
    return all(finite)


@attack(5, "a disk that is full at any byte of a training", full=5)
def full_disk(world, count):
    """The error is one line, and no unfinished file is left.

    `run.json` has 0.65 MB and a checkpoint 1.6 MB.
    """
    for size in (100, 500_000, 800_000, 1_200_000, 1_500_000)[:count]:
        with world.scratch() as directory:
            files_in(world, directory)
            wide = ("--units", "128", "--embedding-units", "64", "--checkpoint-steps", "1")
            target, arguments = "fuzz.targets:command_on_small_disk", (size, *TRAIN, *wide)
            answer = world.heavy.call(target, *arguments, directory=directory, seconds=40)
            halves = [name for name in answer.left if "unfinished" in name]
            yield judged(f"{size:,} bytes", answer._replace(left=halves), anything)


@attack(3, "a run whose files are damaged", full=40, few=10)
def damaged_runs(world, count):
    """Training doesn't resume from damaged files."""
    random = world.random("runs")
    names = ("run.json", "checkpoint.weights.h5")
    raw = (b"", b"null", b"[]", b"{}", b"[" * 100_000, b"\xff", b"NaN", b'{"options": 1}')
    cases = [("run.json", content) for content in raw]
    cases += [("checkpoint.weights.h5", content) for content in (b"", b"x" * 5000)]
    while len(cases) < count:
        name = random.choice(names)
        data = bytearray((world.run / name).read_bytes())
        start = random.randrange(len(data))
        cases.append((name, bytes(data[:start]) + random.randbytes(20) + bytes(data[start + 20 :])))
    for name, content in cases[:count]:
        with world.scratch() as directory:
            shutil.copytree(world.run, directory / "new")
            (directory / "new" / name).write_bytes(content)
            arguments = (
                "train",
                f"{world.files}/good.en",
                f"{world.files}/good.de",
                "--out",
                "new",
            )
            answer = world.light.call(CHECKS, *arguments, directory=directory, patience=30)
            if answer.code == REACHED:
                answer = answer._replace(code=0)
            yield judged(f"{name}: {content[:20]!r}", answer, nothing)


SPLITS = """
import hashlib, sys
import tensorflow as tf
import keras_bahdanau as kb
pairs = [tuple(line.rstrip("\\n").split("\\t")) for line in sys.stdin]
sides = kb.text.Subwords.train_pair(pairs, vocabulary_size=48)
for number in range(int(sys.argv[1])):
    sides[0].encode(["one two"] * number)
data = kb.data.batches(pairs, *sides, batch_tokens=256, subword_sampling=0.3, seed=3)
digest = hashlib.sha256()
for epoch in range(2):
    for inputs, *_ in data:
        for tensor in tf.nest.flatten(inputs):
            digest.update(tensor.numpy().tobytes())
print(digest.hexdigest())
"""


@attack(2, "subword sampling: the batches of one seed, in other processes", full=4)
def sampled_batches(world, count):
    data = "".join(f"{source}\t{target}\n" for source, target in toy_pairs()).encode()
    found = []
    for number in range(count):
        threads = {
            "OMP_NUM_THREADS": str(1 + number % 3),
            "TF_NUM_INTEROP_THREADS": str(1 + number % 2),
        }
        done = subprocess.run(
            [sys.executable, "-c", SPLITS, str(7 * number)],
            input=data,
            capture_output=True,
            env={**os.environ, **threads, "CUDA_VISIBLE_DEVICES": "-1"},
        )
        if done.returncode:
            raise RuntimeError(done.stderr.decode()[-2000:])
        found.append(done.stdout)
        same = Outcome.SURVIVED if found[-1] == found[0] else Outcome.SILENT
        yield Case(f"process {number}", same, detail=found[-1].decode().strip()[:16])


def together(world, directory, *lines):
    """Run several commands at the same time in new processes; return the completed processes."""
    ended = [None] * len(lines)

    def run(place):
        done = subprocess.run(
            [sys.executable, "-m", "keras_bahdanau.cli", *lines[place]],
            cwd=directory,
            capture_output=True,
            env={**os.environ, "CUDA_VISIBLE_DEVICES": "-1"},
        )
        ended[place] = done

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(lines))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return ended


@attack(8, "two trainings in one directory, two exports to one model", full=2)
def two_owners(world, count):
    """One training run continues and the other is refused; two exports get different versions."""
    with world.scratch() as directory:
        files_in(world, directory)
        first, second = together(world, directory, TRAIN, TRAIN)
        codes = sorted([first.returncode, second.returncode])
        loser = first if first.returncode else second
        detail = loser.stderr.decode().strip()
        clear = codes == [0, 2] and detail.count("\n") == 0 and "Received: " in detail
        refused = Outcome.REFUSED if clear else Outcome.TRACEBACK
        silent = codes == [0, 0]
        yield Case("two trainings", Outcome.SILENT if silent else refused, detail=detail[-200:])
    with world.scratch() as directory:
        line = ("export", "--model", str(world.run), "--format", "saved-model", "--out", "model")
        first, second = together(world, directory, line, line)
        names = sorted(path.name for path in Path(directory, "model").iterdir())
        both = first.returncode == second.returncode == 0 and names == ["1", "2"]
        detail = (first.stderr + second.stderr).decode().strip().splitlines()[-1:]
        good = Outcome.SURVIVED if both else Outcome.TRACEBACK
        yield Case("two exports", good, detail=f"{names} {detail}")
