"""Models shared by threads, and processes started by commands."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from fuzz.attack import attack, judged
from fuzz.command_line import TINY
from fuzz.outcomes import Case, Outcome
from fuzz.trainings import files_in

CALLS = 2000
SENTENCES = ("one two", "three", "", "five four one", "two two")
PLANTED = (
    *("multiprocessing", "numbers", "json", "pickle", "queue", "runpy", "random", "tempfile"),
    *("numpy", "keras", "tensorflow", "h5py", "sentencepiece", "typing_extensions"),
)
PROGRAM = "import sys; del sys.path[0]; from keras_bahdanau.cli import main; main(sys.argv[1:])"


@attack(11, "8 threads, 2,000 calls, on one model; a fork after use, and pickle", full=4)
def shared_models(world, count):
    """Threads get the same texts as a single one; a fork answers or raises a one-line error."""
    paths = [world.litert, world.run / "translator.keras"]
    cases = [("threads", path) for path in paths] + [("copies", path) for path in paths]
    for name, path in cases[:count]:
        target = f"fuzz.shared:{name}"
        answer = world.heavy.call(target, str(path), directory=world.files, seconds=200)
        yield judged(f"{name}, {path.suffix}", answer, lambda ended: ended.out == b"right\n")


def _loaded(path):
    from keras_bahdanau import Translator
    from keras_bahdanau.exporters import OnDeviceTranslator

    return OnDeviceTranslator(path) if path.endswith(".tflite") else Translator.load(path)


def threads(path):
    """Print "right" if 8 threads get the same texts as a single one."""
    from concurrent.futures import ThreadPoolExecutor

    translator = _loaded(path)

    def ask(number):
        return translator.translate([SENTENCES[number % len(SENTENCES)]])[0].text

    alone = list(map(ask, range(len(SENTENCES))))
    with ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(ask, range(CALLS)))
    print("right" if texts == alone * (CALLS // len(alone)) else "wrong")


def copies(path):
    """Print "right" if a fork answers or raises a one-line error, and pickling raises one, too."""
    import multiprocessing
    import pickle

    translator = _loaded(path)
    (alone,) = translator.translate(["one two"])
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()

    def ask():
        try:
            queue.put(translator.translate(["one two"])[0].text)
        except RuntimeError as error:
            queue.put(str(error))

    child = context.Process(target=ask)
    child.start()
    child.join(20)
    text = queue.get() if child.exitcode == 0 else ""
    is_right = text == alone.text or _is_clear(text)
    try:
        pickle.dumps(translator)
    except TypeError as error:
        print("right" if is_right and _is_clear(str(error)) else "wrong")


def _is_clear(text):
    return "\n" not in text and "Received: " in text


@attack(11, "commands in a directory of modules with the names of Python's own", full=3)
def planted_modules(world, count):
    """No planted module runs in a command or in a process that it starts."""
    run = ("train", "good.en", "good.de", "--out", "new", *TINY.split())
    commands = [
        (
            "prepare",
            "good.en",
            "good.de",
            "--workers",
            "2",
            "--shard-pairs",
            "1000",
            "--out",
            "new",
        ),
        (*run, "--workers", "2"),
        ("export", "--model", world.run, "--format", "saved-model", "--out", "new"),
    ]
    for command in commands[:count]:
        with world.scratch() as directory:
            files_in(world, directory)
            for name in PLANTED:
                (directory / f"{name}.py").write_text("open('ran', 'w'); 1 / 0\n")
            done = subprocess.run(
                [sys.executable, "-c", PROGRAM, *map(str, command)],
                cwd=directory,
                capture_output=True,
                env={**os.environ, "CUDA_VISIBLE_DEVICES": "-1"},
                timeout=300,
            )
            ran, detail = (directory / "ran").exists(), done.stderr.decode()[-200:]
            ended = Outcome.TRACEBACK if done.returncode else Outcome.SURVIVED
            yield Case(
                " ".join(map(str, command[:4])), Outcome.SILENT if ran else ended, detail=detail
            )


@attack(11, "kill -9 of a command with workers", full=2)
def killed_parents(world, count):
    """The workers exit within 30 seconds, even if a busy machine slows down their imports."""
    many = TINY.replace("--epochs 1", "--epochs 10000 --patience 10000")
    commands = [
        ("train", "good.en", "good.de", "--out", "new", "--workers", "2", *many.split()),
        ("prepare", "large.tsv", "--workers", "2", "--shard-pairs", "1000", "--out", "new"),
    ]
    for command in commands[:count]:
        with world.scratch() as directory:
            files_in(world, directory)
            lines = "".join(f"one {n}\teins {n}\n" for n in range(300_000))
            (directory / "large.tsv").write_text(lines)
            parent = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, *command],
                cwd=directory,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "CUDA_VISIBLE_DEVICES": "-1"},
            )
            workers, until = [], time.monotonic() + 120
            while len(workers) < 2 and parent.poll() is None and time.monotonic() < until:
                time.sleep(0.1)
                workers = _children_of(parent.pid)
            time.sleep(5)  # until they have started their work
            parent.kill()
            parent.wait()
            until = time.monotonic() + 30
            while (left := [*filter(_is_running, workers)]) and time.monotonic() < until:
                time.sleep(0.1)
            for number in left:
                os.kill(number, signal.SIGKILL)
            outcome = Outcome.SURVIVED if len(workers) == 2 else Outcome.TRACEBACK
            name = f"{command[0]} with {len(workers)} workers"
            yield Case(name, Outcome.UNBOUNDED if left else outcome)


def _children_of(number):
    lists = Path(f"/proc/{number}/task").glob("*/children")
    return [int(child) for path in lists for child in path.read_text().split()]


def _is_running(number):
    stat = Path(f"/proc/{number}/stat")
    return stat.exists() and ") Z" not in stat.read_text()
