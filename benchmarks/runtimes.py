"""Compare the runtimes of one exported model, and write a Markdown table and JSON figures.

    python benchmarks/runtimes.py --model model.float32.tflite --int8 model.int8.tflite \\
        --sentences test.en --node-modules DIR --saved-model models/1 --saved-model-ids models-ids/1
    python benchmarks/runtimes.py --suggestions --int8 cmudict.tflite --sentences words.txt

Each runtime is a process with one thread that reads lines and answers with texts in JSON. Times
include pipes and tokenization, with two exceptions: the browser page measures its times itself, and
the SavedModel in C reads ids. If a runtime's tools or model are missing, the table gives the
reason. Run the program on an otherwise idle core: `taskset -c 1 python benchmarks/runtimes.py ...`.
"""

import argparse
import contextlib
import datetime
import itertools
import json
import os
import statistics
import sys
import tempfile
import time
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import builds  # noqa: E402
import machine  # noqa: E402
from line_programs import answers_of  # noqa: E402
from runtime_programs import RUNTIMES  # noqa: E402

FLAGS = {"beam": [], "greedy": ["--greedy"], "suggestions": ["--nbest", "5"]}
PRECISIONS = ("float32", "int8")
GOALS = {"greedy": 1, "suggestions": 3}  # milliseconds
ONE_THREAD = ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")


def main(arguments=None):
    """Run the program; return its exit code."""
    options = _parser().parse_args(arguments)
    if options.model is None and options.int8 is None:
        _parser().error("--model or --int8 must name a .tflite file")
    os.environ |= {**dict.fromkeys(ONE_THREAD, "1"), "CUDA_VISIBLE_DEVICES": "-1"}
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    texts = fitting(texts_of(options.sentences), options.model or options.int8)[: options.texts]
    searches = ["suggestions" if options.suggestions else "beam", "greedy"]
    with tempfile.TemporaryDirectory() as scratch:
        kinds = [kind for kind in RUNTIMES if kind.__name__ in (options.only or [kind.__name__])]
        runtimes = [kind(Path(scratch), options.node_modules) for kind in kinds]
        rows = measured(runtimes, _models(options), texts, searches, options)
    result = {
        "processor": machine.described(),
        "date": datetime.date.today().isoformat(),
        "texts": len(texts),
        "timed_texts": min(options.timed, len(texts)),
        "searches": searches,
        "file_bytes": {name: builds.size(path) for name, path in _models(options).items() if path},
        "runtimes": rows,
    }
    print(table(result))
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


def _parser():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    path = {"type": lambda one: Path(one).resolve(), "metavar": "PATH"}
    parser.add_argument("--model", **path, help=".tflite file in float32")
    parser.add_argument("--int8", **path, help=".tflite file of the same model in 8 bits")
    parser.add_argument("--saved-model", **path, help="version of a SavedModel for text")
    parser.add_argument("--saved-model-ids", **path, help="version of a SavedModel for ids")
    parser.add_argument(
        "--sentences",
        **path,
        required=True,
        help="file with one text per line, or a conformance file (.json)",
    )
    parser.add_argument(
        "--node-modules", **path, help="directory where npm installed @litertjs/core"
    )
    parser.add_argument(
        "--suggestions", action="store_true", help="measure the 5 best texts instead of one"
    )
    names = [kind.__name__ for kind in RUNTIMES]
    parser.add_argument("--only", nargs="+", choices=names, help="runtimes to run; default: all")
    parser.add_argument("--texts", type=int, default=500, help="maximum number of texts to compare")
    parser.add_argument("--timed", type=int, default=100, help="number of these texts to time")
    parser.add_argument("--rounds", type=int, default=3, help="times that each text is timed")
    parser.add_argument("--out", **path, help="JSON file for all figures")
    return parser


def _models(options):
    others = ("int8", "saved_model", "saved_model_ids")
    return {"float32": options.model, **{name: getattr(options, name) for name in others}}


def texts_of(path):
    """Return the texts in a file of lines, or in a file of tests/support/conformance_file.py."""
    content = path.read_text(encoding="utf-8")
    lines = content.split("\n")
    if path.suffix == ".json":
        lines = [one["text"] for one in json.loads(content)["answers"]["inputs"]]
    return [line for line in lines if line.strip() and "\n" not in line]


def fitting(texts, path):
    """Return the texts that aren't too long for a .tflite file."""
    import sentencepiece

    with zipfile.ZipFile(path) as archive:
        card = json.loads(archive.read("card.json"))
        model = archive.read(card["vocabularies"]["source"])
    vocabulary = sentencepiece.SentencePieceProcessor(model_proto=model)
    longest = card["max_source_length"] - 1  # one position is for the end token
    return [text for text in texts if len(vocabulary.encode(text)) <= longest]


def measured(runtimes, models, texts, searches, options):
    """Return a list with a dictionary for each runtime: its figures, or the reason for none."""
    rows = [_row(runtime, models) for runtime in runtimes]
    expected = {}  # answers of Python, by precision and search
    for precision in PRECISIONS:
        for search in searches:
            lanes = [
                Lane(runtime, row, _model(runtime, models, precision), precision, search)
                for runtime, row in zip(runtimes, rows, strict=True)
                if "error" not in row and search in runtime.searches
            ]
            lanes = [lane for lane in lanes if lane.model]
            for lane in lanes:
                with lane.failing():
                    lane.compare(texts, expected)
            take_turns([lane for lane in lanes if "error" not in lane.figures], texts, options)
    return rows


def _row(runtime, models):
    row = {"name": runtime.name, "test": runtime.test}
    given = runtime.model == "tflite" or models[runtime.model]
    lacking = runtime.lacking() if given else f"needs --{runtime.model.replace('_', '-')}"
    print(f"{runtime.name}: {lacking or 'ready'}", file=sys.stderr, flush=True)
    if lacking:
        return {**row, "error": lacking}
    return {**row, "ship_bytes": sum(map(builds.size, runtime.ships())), "lanes": {}}


def _model(runtime, models, precision):
    """Return the path of a runtime's model, or None; a SavedModel exists only in float32."""
    if runtime.model == "tflite":
        return models[precision]
    return models[runtime.model] if precision == "float32" else None


class Lane:
    """One search with one model in one runtime; its figures are stored in the runtime's row."""

    def __init__(self, runtime, row, model, precision, search):
        self.runtime, self.model, self.key = runtime, model, (precision, search)
        self.command = [*runtime.program(), *FLAGS[search], model]
        self.figures = row["lanes"].setdefault(precision, {}).setdefault(search, {})

    @contextlib.contextmanager
    def failing(self):
        """Record a failure of the program as a figure, so that the other lanes can continue."""
        try:
            yield
        except SystemExit as failure:
            self.figures["error"] = str(failure)

    def compare(self, texts, expected):
        """Translate all texts in one process, and compare texts and scores with Python's."""
        lines = [self.runtime.line(text, self.model) for text in texts]
        answers = answers_of(self.command, lines, self.runtime.node_modules)
        found = [self.runtime.hypotheses(answer, self.model) for answer in answers]
        equal = [
            [abs(one - other) for (_, one), (_, other) in zip(*pair, strict=True)]
            for pair in zip(found, expected.setdefault(self.key, found), strict=True)
            if [text for text, _ in pair[0]] == [text for text, _ in pair[1]]
        ]
        self.figures["equal"] = len(equal)
        self.figures["score_difference"] = max(itertools.chain(*equal), default=None)
        print(self.runtime.name, *self.key, self.figures["equal"], file=sys.stderr, flush=True)

    def start(self, text):
        """Start a process, and return it after its first answer, with the seconds until then."""
        line, begin = self.runtime.line(text, self.model), time.perf_counter()
        runner = self.runtime.kind(self.command, self.runtime.node_modules)
        runner.ask(line)
        return runner, time.perf_counter() - begin


def take_turns(lanes, texts, options):
    """Start each lane three times, then time the lanes in turns after a warm-up round."""
    with contextlib.ExitStack() as running:
        runners = []
        for lane in lanes:
            seconds, samples = [], []
            with lane.failing():
                for last in (False, False, True):
                    runner, time_to_answer = lane.start(texts[0])
                    seconds.append(time_to_answer)
                    running.push(runner) if last else runner.__exit__()
                lane.figures["start_seconds"] = round(statistics.median(seconds), 3)
                runners.append((lane, runner, samples))
        for number in range(1 + options.rounds):
            for lane, runner, samples in runners:
                lines = [lane.runtime.line(text, lane.model) for text in texts[: options.timed]]
                with lane.failing():
                    times = [*map(runner.milliseconds, lines)]
                    samples += times if number else []
        for lane, runner, samples in runners:
            if "error" not in lane.figures:
                lane.figures["memory_mib"] = round(runner.peak())
                lane.figures["p50_ms"] = round(statistics.median(samples), 3)
                lane.figures["p95_ms"] = round(sorted(samples)[int(0.95 * len(samples))], 3)


def table(result):
    """Return the result as a Markdown table."""
    machine_of, searches = result["processor"], result["searches"]
    first, second = searches
    sizes = ", ".join(f"{name} {size / 1e6:.1f} MB" for name, size in result["file_bytes"].items())
    lines = [
        f"{machine_of['processor']}, {machine_of['system']}, one thread, {result['date']}; models: "
        f"{sizes}; {result['texts']} texts, {result['timed_texts']} timed; float32 / int8:",
        "",
        f"| runtime | to ship, MB | first answer, s | {first}, p50 ms | {second}, p50 ms "
        f"| memory, MiB | texts equal, {first} | texts equal, {second} | score difference | test |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|---|",
    ]
    for row in result["runtimes"]:
        if "error" in row:
            lines.append(f"| {row['name']} | {row['error']} | | | | | | | | `{row['test']}` |")
            continue
        cells = [f"{row['ship_bytes'] / 1e6:.1f}", _cell(row, first, "start_seconds")]
        cells += [_cell(row, search, "p50_ms") for search in searches]
        cells += [_cell(row, first, "memory_mib")]
        cells += [_cell(row, search, "equal") for search in searches]
        cells += [_cell(row, first, "score_difference", ".1g")]
        lines.append(f"| {row['name']} | {' | '.join(cells)} | `{row['test']}` |")
    if "suggestions" in searches:
        goals = ", ".join(f"{name} <= {most} ms" for name, most in GOALS.items())
        lines += ["", f"Goals: {goals}."]
    return "\n".join(lines)


def _cell(row, search, figure, form="g"):
    """Return a figure in both precisions, with "-" for a missing one."""
    both = (row["lanes"].get(kind, {}).get(search, {}).get(figure) for kind in PRECISIONS)
    return " / ".join("-" if one is None else f"{one:{form}}" for one in both)


if __name__ == "__main__":
    sys.exit(main())
