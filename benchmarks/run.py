"""Compare the speed and memory of this package with its peers.

    python benchmarks/run.py [NAME ...]

Run it with a Python that has keras_bahdanau's requirements. The environment of a peer is created
under benchmarks/.envs/ when it is first needed. Each result is a ratio from one run, in which the
competitors take turns. With BENCHMARK_LOG=1, the program shows everything that the workers print.
"""

import argparse
import dataclasses
import datetime
import importlib
import pathlib
import shlex
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import machine  # noqa: E402
from harness import Options, results_of, write_result  # noqa: E402
from rows.multi30k import directory  # noqa: E402


def rows():
    """Return the modules of rows/ that have a NAME, by that name, ordered by their NUMBER."""
    names = sorted(path.stem for path in (HERE / "rows").glob("*.py"))
    modules = [importlib.import_module(f"rows.{name}") for name in names]
    named = [module for module in modules if hasattr(module, "NAME")]
    return {module.NAME: module for module in sorted(named, key=lambda m: (m.NUMBER, m.NAME))}


def main(arguments=None):
    """Measure the named rows; return exit code 0, or 2 if a name is unknown."""
    known = rows()
    options = _parser().parse_args(arguments)
    options.out = options.out or results_of(options.quick)
    if options.list:
        for name, module in known.items():
            print(f"{module.NUMBER:>2}  {name:24} {_goal(module.GOAL):24} {module.ABOUT}")
        return 0
    unknown = [name for name in options.names if name not in known]
    if unknown:
        print(f"No row is named {', '.join(unknown)}. The rows are: {', '.join(known)}.")
        return 2
    paths = {options.multi30k, options.out, options.tflite, options.words, options.node_modules}
    command = _command(arguments or sys.argv[1:], paths)
    results = [_measured(known[name], options, command) for name in options.names or list(known)]
    print(_table(results))
    return 0


def _command(arguments, paths):
    """Return the command line, with paths of this machine replaced by DIR."""
    known = {*map(str, paths)}
    shown = ["DIR" if one in known else one for one in arguments]
    return shlex.join(["python", "benchmarks/run.py", *shown])


def _parser():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="rows to measure; default: all")
    parser.add_argument("--list", action="store_true", help="list the rows and exit")
    parser.add_argument("--rounds", type=int, default=5, help="samples per competitor")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to test that rows run")
    parser.add_argument(
        "--out",
        type=pathlib.Path,
        metavar="DIR",
        help="directory for results; default: benchmarks/results, with --quick runs/benchmarks",
    )
    parser.add_argument(
        "--threads", type=int, default=Options.threads, help="threads per competitor"
    )
    parser.add_argument(
        "--multi30k",
        type=directory,
        metavar="DIR",
        help="directory with train.en[.gz], train.de[.gz], ...",
    )
    parser.add_argument(
        "--tflite", type=pathlib.Path, metavar="FILE", help="character model for `suggestions`"
    )
    parser.add_argument(
        "--words", type=pathlib.Path, metavar="FILE", help="words for `suggestions`, one per line"
    )
    parser.add_argument(
        "--node-modules",
        type=pathlib.Path,
        metavar="DIR",
        help="directory where @litertjs/core is installed",
    )
    parser.add_argument(
        "--model",
        metavar="PRESET[:NAME=VALUE,...]",
        help="model for `student-step`, such as small:cell=min-gru,encoder_cell=min-gru",
    )
    parser.add_argument(
        "--steps", type=int, help="number of batches to measure in an epoch; default: all"
    )
    parser.add_argument(
        "--sentences", type=int, help="number of test sentences to decode; default: all"
    )
    return parser


def _measured(module, options, command):
    """Measure a row, write its result to a file, and return the result."""
    print(f"{module.NAME}: {module.ABOUT}; goal {_goal(module.GOAL)}")
    processor, start = machine.described(), time.perf_counter()
    names = [field.name for field in dataclasses.fields(Options)]
    found = module.measure(Options(**{name: getattr(options, name) for name in names}))
    result = {
        "name": module.NAME,  # a row may return another name
        "row": module.NUMBER,
        "about": module.ABOUT,
        **found,
        "quick": options.quick,
        "threads": options.threads,
        "processor": processor,
        "command": command,
        "date": datetime.date.today().isoformat(),
        "seconds": round(time.perf_counter() - start, 1),
    }
    path = options.out / f"{result['name']}.json"
    if result["ratio"] is None and path.exists():
        print(f"{result['name']}: not measured, so its earlier result stays")
        return result
    write_result(path, result)
    return result


def _table(results):
    lines = [f"{'row':24} {'goal':24} {'ratio':>8}  met"]
    for result in results:
        ratio = "-" if result["ratio"] is None else f"{result['ratio']:.2f}"
        met = "yes" if result["met"] else "no"
        lines.append(f"{result['name']:24} {_goal(result['goal']):24} {ratio:>8}  {met}")
        lines += [f"    {name}: {text}" for name, text in _details(result)]
        by_precision = result.get("ratios_by_precision", {})
        lines += [
            f"    / best peer in {precision}: {'-' if one is None else f'{one:.2f}'}"
            for precision, one in by_precision.items()
        ]
    return "\n".join(lines)


def _details(result):
    """Yield (lane, its median with the unit, or its error) for ours and for each peer."""
    lanes = [result["ours"], *result.get("ours_otherwise", ()), *result["peers"].values()]
    for lane in lanes:
        error, median, weights = map(lane.get, ("error", "median", "parameters"))
        size = f", {weights:,} weights" if weights else ""
        yield lane.get("lane", "ours"), error or f"{median:,.5g} {result['unit']}{size}"


def _goal(goal):
    if isinstance(goal, str):
        return goal
    return ", ".join(f"{name} {wanted}" for name, wanted in goal.items())


if __name__ == "__main__":
    sys.exit(main())
