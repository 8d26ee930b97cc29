"""Row 11: time per word of a character model on a device, in each language that has a runner."""

import contextlib
import statistics
import tempfile
from pathlib import Path

from harness import unmeasured
from line_programs import answers_of
from runtime_programs import Browser, Cplusplus, Node, OnDevicePython

NAME = "suggestions"
NUMBER = 11
ABOUT = "p50 in ms for a word of 8 characters, .tflite file, one thread: greedy, 5 suggestions"
GOAL = {"greedy": "<= 1", "suggestions": "<= 3"}
SEARCHES = {"greedy": ["--greedy"], "suggestions": ["--nbest", "5"]}
LENGTH, WORDS = 8, 100  # characters per word, and number of words


def measure(options):
    """Measure the p50 of each runner and search, from a word to its texts, in a warm process.

    Times include pipes and tokenization, except for the browser: its page measures the times
    itself, with a resolution of 0.1 ms. An answer is a line of JSON. If a runner's tools are
    missing, the result contains the reason instead of times.
    """
    if options.tflite is None or options.words is None:
        return unmeasured(GOAL, "ms", "needs --tflite FILE and --words FILE, one word per line")
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
                lane["samples"] += times if number else []  # the first round is a warm-up
    return _result(lanes, options.tflite, len(words))


def _programs(scratch, options):
    """Return a dictionary from languages to (runtime, reason why it can't run, or "")."""
    kinds = (OnDevicePython, Cplusplus, Node, Browser)
    runtimes = {kind.name: kind(scratch, options.node_modules) for kind in kinds}
    return {name: (runtime, runtime.lacking()) for name, runtime in runtimes.items()}


def _result(lanes, path, words):
    """Return the result; `ratio` is the highest ratio of a median to its goal."""
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
