r"""Train, compare and tabulate the tasks of `pronounce`, `transliterate` and `inflect`.

    python experiments/small_sequences/run.py list
    python experiments/small_sequences/run.py train --data DIR --tasks ice --seeds 1,2,3 --minutes 9
    python experiments/small_sequences/run.py peers --data DIR --tasks ice --minutes 9
    python experiments/small_sequences/run.py report

The directory --data contains the files that `list` prints. `--tasks` accepts names, groups and
examples, separated by commas. Each result is a line in --results. Existing results are kept, so
you can repeat an interrupted command. All choices are made on dev; no test part is read.
"""

import argparse
import sys
from pathlib import Path

import tables
import tasks
from results import Results

COMMANDS = ("list", "train", "peers", "report")


def main(arguments=None):
    """Run the command line; return True if a result could not be computed."""
    arguments = parsed(arguments)
    results = Results(arguments.results)
    if arguments.command == "list":
        print(*map(_line, arguments.tasks), sep="\n")
        return False
    if arguments.command == "report":
        try:
            print(tables.report(results.read()), end="")
        except ValueError as error:
            sys.exit(str(error))
        return False
    failed = [
        f"{task.name}, {system}, {seed}: {error}"
        for task, system, seed, make in plan(arguments)
        if (error := _made(results, task, system, seed, make, arguments.seeds))
    ]
    if failed:
        print(*failed, sep="\n", file=sys.stderr)
    return bool(failed)


def plan(arguments):
    """Yield (task, system, seed, function that computes the result)."""
    import peers  # Keras: slow to import
    import trainings

    for task in arguments.tasks:
        if arguments.command == "peers":
            for system in arguments.systems:
                if peers.trains(system, task):
                    for seed in arguments.seeds if system != peers.PHONETISAURUS else [0]:
                        make = _later(peers.result, system, task, seed, arguments)
                        yield task, system, seed, make
            continue
        for setting in arguments.settings:
            for seed in arguments.seeds:
                one = trainings.Training(task, setting, seed, arguments)
                yield task, setting, seed, one.result
            if len(arguments.seeds) > 1:
                make = _later(trainings.ensemble, task, setting, arguments.seeds, arguments)
                yield task, setting, "ensemble", make


def _later(function, *arguments):
    return lambda: function(*arguments)


def _made(results, task, system, seed, make, seeds):
    """Compute a missing result; return the error message, or None."""
    if results.has(task.name, system, seed, seeds):
        print(f"{task.name}, {system}, {seed}: already in {results.path}", flush=True)
        return None
    print(f"{task.name}, {system}, {seed}", flush=True)
    try:
        if seed == "ensemble" and not all(results.has(task.name, system, one) for one in seeds):
            raise RuntimeError("a training run for the ensemble is missing")
        result = make()
    except (OSError, RuntimeError, ValueError) as error:
        print(f"  {error}", flush=True)
        return str(error)
    results.write(result)
    first = task.metrics[0]
    print(f"  {first} {result['dev'][first]:.2f}", flush=True)
    return None


def _line(task):
    return f"{task.name:<16}{task.group:<24}{task.kind:<15}{task.train}  {task.dev}"


def _names(known):
    def listed(text):
        names = text.split(",")
        if unknown := [name for name in names if name not in known]:
            raise argparse.ArgumentTypeError(
                f"unknown: {', '.join(unknown)}; use {', '.join(known)}"
            )
        return names

    return listed


def _tasks(text):
    try:
        return tasks.chosen(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _seeds(text):
    try:
        return [int(seed) for seed in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} must be whole numbers, such as 1,2,3") from None


def parsed(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("command", choices=COMMANDS)
    add = parser.add_argument
    add("--data", type=Path, metavar="DIR", help="data directory")
    add(
        "--out",
        type=Path,
        default=Path("runs/small_sequences"),
        help="directory for models (%(default)s)",
    )
    results = Path(__file__).with_name("results.jsonl")
    add("--results", type=Path, default=results, help="file for results (%(default)s)")
    add("--tasks", type=_tasks, default=tasks.ALL, help="tasks, groups or examples (all)")
    add("--seeds", type=_seeds, default=[1], help="seeds, separated by commas (1)")
    settings, systems = tasks.SETTINGS, tables.PEERS
    add("--settings", type=_names(settings), default=["preset"], help=", ".join(settings))
    add("--systems", type=_names(systems), default=[*systems], help=", ".join(systems))
    add("--minutes", type=float, help="time limit per training run; required for peers")
    add("--threads", type=int, default=1, help="threads per process (%(default)s)")
    add("--beam-width", type=int, default=1, help="yoyodyne's beam, if it has one (%(default)s)")
    add("--environment", type=Path, help="environment with the peers (created in benchmarks/.envs)")
    parsed = parser.parse_args(arguments)
    if parsed.command in ("train", "peers") and parsed.data is None:
        parser.error("--data is needed")
    if parsed.command == "peers" and parsed.minutes is None:
        parser.error("--minutes is needed")
    if parsed.minutes is not None and not parsed.minutes > 0:
        parser.error(f"--minutes must be above 0. Received: {parsed.minutes}")
    for name in ("data", "out", "results", "environment"):  # commands also run in other directories
        if getattr(parsed, name):
            setattr(parsed, name, getattr(parsed, name).resolve())
    return parsed


if __name__ == "__main__":
    sys.exit(main())
