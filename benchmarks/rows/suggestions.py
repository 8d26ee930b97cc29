"""Row 11: a word of a character model on a device, in each language that has a runner."""

import contextlib
import itertools
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness import HERE, unmeasured

NAME = "suggestions"
NUMBER = 11
ABOUT = "ms a word of 8 characters, p50 of a .tflite file on one thread: greedy, 5 suggestions"
GOAL = {"greedy": "<= 1", "suggestions": "<= 3"}
SEARCHES = {"greedy": ["--greedy"], "suggestions": ["--nbest", "5"]}
LENGTH, WORDS = 8, 100  # characters of a word, and how many of them
CHROMIUM = ("@sparticuz/chromium", "puppeteer-core")
KIT = HERE.parent / "export" / "on_device"


def measure(options):
    """p50 of each runner and search: a word into a process that is warm, its texts back.

    Pipes and tokenizing are included, but for a page of a browser, which takes its time itself,
    to 0.1 ms. A time is that of all lines of an answer. A runner that this machine lacks is left
    out with its reason.
    """
    if options.tflite is None or options.words is None:
        return unmeasured(GOAL, "ms", "needs --tflite FILE and --words FILE, a word a line")
    lines = options.words.read_text(encoding="utf-8").splitlines()
    words = [word for word in dict.fromkeys(lines) if len(word) == LENGTH]
    words = words[: 3 if options.quick else WORDS]
    if not words:
        return unmeasured(GOAL, "ms", f"needs words of {LENGTH} characters")
    lanes = {}
    with tempfile.TemporaryDirectory() as scratch, contextlib.ExitStack() as running:
        runners, of_python = [], {}
        for language, (program, lacking) in _programs(Path(scratch), options).items():
            for search, flags in SEARCHES.items():
                lane = lanes[language, search] = {"lane": f"{language}, {search}", "samples": []}
                if lacking:
                    lane["error"] = lacking
                    continue
                command = [*program, *flags, options.tflite.resolve()]
                kind = InPage if language == "browser" else Runner
                answers = answers_of(command, words, options.node_modules)
                texts = [*map(kind.texts, answers)]
                expected = of_python.setdefault(search, texts)
                lane["as_python"] = statistics.mean(map(list.__eq__, texts, expected))
                runner = running.enter_context(kind(command, options.node_modules))
                runners.append((lane, runner, [*zip(words, map(len, answers), strict=True)]))
        for number in range(1 + options.rounds):
            for lane, runner, sizes in runners:
                times = [runner.milliseconds(word, size) for word, size in sizes]
                lane["samples"] += times if number else []  # the first ones warm it
    return _result(lanes, options.tflite, len(words))


def answers_of(command, words, folder=None):
    """The lines of the answer to each word, by a process that gets all words at once.

    Args:
        command: List of strings and paths.
        words: List of strings.
        folder: Path of its working directory, or None.

    Raises:
        SystemExit: If the program fails.
    """
    data = "".join(f"{word}\n" for word in words).encode()
    done = subprocess.run([*map(str, command)], input=data, capture_output=True, cwd=folder)
    lines = enumerate(map(bytes.decode, done.stdout.splitlines()))
    answers = [[line for _, line in answer] for _, answer in itertools.groupby(lines, _number)]
    if done.returncode or len(answers) != len(words):
        raise SystemExit(f"A runner failed: {command}: {done.stderr.decode()[-500:]}")
    return answers


def _number(numbered):
    """The number that a line of a list begins with, or the number of any other line."""
    number, line = numbered
    return line.split(" ||| ")[0] if " ||| " in line else number


class Runner:
    """A program that answers a line by one line or more.

    Args:
        command: List of strings and paths.
        folder: Path of its working directory, or None.
    """

    def __init__(self, command, folder=None):
        pipe = subprocess.PIPE
        self._messages = tempfile.TemporaryFile()  # a pipe that nobody reads would fill
        self._process = subprocess.Popen(
            [*map(str, command)], stdin=pipe, stdout=pipe, stderr=self._messages, cwd=folder
        )

    @staticmethod
    def texts(answer):
        """The texts in the lines of an answer, which may be a list."""
        return [line.split(" ||| ")[1] if " ||| " in line else line for line in answer]

    def ask(self, line, count=1):
        """The answer to a line, a list of so many lines.

        Raises:
            SystemExit: If the program has ended.
        """
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(f"{line}\n".encode())
            self._process.stdin.flush()
        answer = [self._process.stdout.readline().decode() for _ in range(count)]
        if not all(answer):
            self._process.wait()
            self._messages.seek(0)
            last = self._messages.read().decode(errors="replace").strip().splitlines()[-1:]
            raise SystemExit(f"A runner ended: {self._process.args}: {' '.join(last)}")
        return [one.removesuffix("\n") for one in answer]

    def milliseconds(self, line, count=1):
        """Time of an answer."""
        start = time.perf_counter()
        self.ask(line, count)
        return 1000 * (time.perf_counter() - start)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()
        self._messages.close()


class InPage(Runner):
    """A program whose answers are one line, "milliseconds <tab> text <tab> text"."""

    @staticmethod
    def texts(answer):
        return answer[0].split("\t")[1:]

    def milliseconds(self, line, count=1):
        return float(self.ask(line, count)[0].partition("\t")[0])


def _programs(scratch, options):
    """A dictionary from a language to (command, why there is none)."""
    page = HERE / "workers" / "browser.mjs"
    return {
        "Python": ([sys.executable, KIT / "translate.py"], ""),
        "C++": ([scratch / "translate"], _compiled(scratch)),
        "Node": (["node", KIT / "translate.mjs"], _lacking(options, "@litertjs/core")),
        "browser": (["node", page], _lacking(options, "@litertjs/core", *CHROMIUM)),
    }


def _lacking(options, *packages):
    """The reason why a program of Node can't run, or ""."""
    folder = options.node_modules
    there = folder and all((folder / "node_modules" / name).is_dir() for name in packages)
    return "" if there and shutil.which("node") else f"needs node, --node-modules with {packages}"


def _compiled(folder):
    """Compile the program in C++; the reason if that fails, or ""."""
    import ai_edge_litert

    library = Path(ai_edge_litert.__file__).parent / "libLiteRt.so"
    configure = ["cmake", "-S", KIT, "-B", folder, f"-DLITERT={library}"]
    for command in (configure, ["cmake", "--build", folder, "--target", "translate"]):
        try:
            subprocess.run([*map(str, command)], check=True, capture_output=True, text=True)
        except OSError as error:
            return f"needs {error.filename}"
        except subprocess.CalledProcessError as error:
            return (error.stderr.strip().splitlines() or ["the compiler failed"])[-1]
    return ""


def _result(lanes, path, words):
    """The `ratio` is the worst one of a median to its goal."""
    ratios = {}
    for (language, search), lane in lanes.items():
        if samples := lane["samples"]:
            lane["median"] = statistics.median(samples)
            lane["p95"] = statistics.quantiles(samples, n=20)[-1]
            ratios[f"{language}, {search}"] = lane["median"] / float(GOAL[search].split()[1])
        lane["samples"] = [round(sample, 4) for sample in samples]
    ours, *others = lanes.values()
    return {
        "goal": GOAL,
        "unit": "ms",
        "ratio": max(ratios.values()),
        "ratios": ratios,
        "met": max(ratios.values()) <= 1,
        "file_bytes": path.stat().st_size,
        "words": words,
        "ours": ours,
        "ours_otherwise": others,
        "peers": {},
    }
