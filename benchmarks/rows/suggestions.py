"""Row 11: a word of a character model on a device, in each language that has a runner."""

import contextlib
import statistics
import tempfile
from pathlib import Path

from harness import unmeasured
from line_programs import answers_of
from runtime_programs import Browser, Cplusplus, Node, OnDevicePython

NAME = "suggestions"
NUMBER = 11
ABOUT = "ms a word of 8 characters, p50 of a .tflite file on one thread: greedy, 5 suggestions"
GOAL = {"greedy": "<= 1", "suggestions": "<= 3"}
SEARCHES = {"greedy": ["--greedy"], "suggestions": ["--nbest", "5"]}
LENGTH, WORDS = 8, 100  # characters of a word, and how many of them


def measure(options):
    """p50 of each runner and search: a word into a process that is warm, its texts back.

    Pipes and tokenizing are included, but for a page of a browser, which takes its time itself,
    to 0.1 ms. An answer is a line of JSON. A runner that this machine lacks is left out with its
    reason.
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
        for language, (runtime, lacking) in _programs(Path(scratch), options).items():
            for search, flags in SEARCHES.items():
                lane = lanes[language, search] = {"lane": f"{language}, {search}", "samples": []}
                if lacking:
                    lane["error"] = lacking
                    continue
                model = options.tflite.resolve()
                command = [*runtime.program(), *flags, model]
                answers = answers_of(command, words, options.node_modules)
                found = [runtime.hypotheses(answer, model) for answer in answers]
                texts = [[text for text, _ in one] for one in found]
                expected = of_python.setdefault(search, texts)
                lane["as_python"] = statistics.mean(map(list.__eq__, texts, expected))
                runner = running.enter_context(runtime.kind(command, options.node_modules))
                runners.append((lane, runner))
        for number in range(1 + options.rounds):
            for lane, runner in runners:
                times = [*map(runner.milliseconds, words)]
                lane["samples"] += times if number else []  # the first ones warm it
    return _result(lanes, options.tflite, len(words))


def _programs(scratch, options):
    """A dictionary from a language to (runtime, why there is none)."""
    kinds = (OnDevicePython, Cplusplus, Node, Browser)
    runtimes = {kind.name: kind(scratch, options.node_modules) for kind in kinds}
    return {name: (runtime, runtime.lacking()) for name, runtime in runtimes.items()}


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
