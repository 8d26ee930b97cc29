"""Run all attacks at full size, and write a table of outcomes before and after a change.

    PYTHONPATH=tests:tests/support python -m fuzz
    PYTHONPATH=OLD:tests:tests/support python -m fuzz --state before   # OLD: another checkout

The first package on PYTHONPATH is attacked, so that today's attacks can be run on an older state.
The results of each attack are written as soon as it ends; a second run continues with the
remaining attacks. Two attacks run at a time, starting with those that took longest last time.
"""

import argparse
import concurrent.futures
import itertools
import json
import os
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

from fuzz.all_attacks import ATTACKS
from fuzz.outcomes import GOOD, Outcome, tally
from fuzz.world import World

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "attacks.json"
TABLE = RESULTS.parents[1] / "attacks.md"
TITLE = """# Attacks

`make attacks` measures the outcomes of hostile inputs. [SECURITY.md](../SECURITY.md) lists what is
promised for each item. "Survived" means a correct answer. "Refused" means a one-line error, an exit
code other than 0, and no files left behind (for a call in Python, a one-line ValueError of fewer
than 1,000 characters). "Silent" means a wrong answer, or a changed file without an error.
"Traceback" means any other end, and "unbounded" an end by a time or memory limit. Seconds of
processor time and megabytes are for the worst case.
"""
COLUMNS = ("tried", *(outcome.value for outcome in Outcome), "seconds", "megabytes")


def main():
    options = parsed()
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)  # children run in other directories
    os.environ["PYTHONPATH"] = os.pathsep.join(os.path.abspath(path) for path in paths if path)
    results = json.loads(options.results.read_text()) if options.results.exists() else {}
    done = results.setdefault(options.state, {})
    last = {name: row for rows in results.values() for name, row in rows.items()}
    names = options.attacks or [name for name in ATTACKS if name not in done]
    names.sort(key=lambda name: -last.get(name, {}).get("wall", 0))

    def add(name, row):
        done[name] = row
        options.results.write_text(json.dumps(results, indent=1) + "\n")

    with tempfile.TemporaryDirectory() as directory:
        worlds = [World(options.world or directory) for _ in range(options.jobs)]
        failed = try_all(worlds, names, options.cases, add)
    options.table.write_text(table(results), encoding="utf-8")
    print(table(results))
    if failed:
        print("not tried to the end:", *failed)
    return bool(failed) or any(not is_good(row) for row in done.values())


def try_all(worlds, names, cases, add):
    """Run attacks, one at a time in each world; return the names of attacks that raised errors."""
    waiting, turn, failed, count = iter(names), threading.Lock(), [], itertools.count(1)

    def try_some(world):
        while True:
            with turn:
                name = next(waiting, None)
            if name is None:
                return world.close()
            try:
                row, lines = tried(world, name, cases)
            except Exception:  # continue with the other attacks
                failed.append(name)
                traceback.print_exc()
                continue
            with turn:
                add(name, row)
                print(f"{next(count)} of {len(names)}:", *lines, sep="\n", flush=True)

    with concurrent.futures.ThreadPoolExecutor(len(worlds)) as threads:
        list(threads.map(try_some, worlds))
    return failed


def parsed():
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m fuzz",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("attacks", nargs="*", metavar="ATTACK", help=", ".join(ATTACKS))
    parser.add_argument("--state", default="after", help="name of the state [default: after]")
    parser.add_argument("--jobs", type=int, default=2, help="attacks at a time [default: 2]")
    parser.add_argument("--cases", type=int, help="cases of each attack [default: its own]")
    parser.add_argument("--results", type=Path, default=RESULTS, help="JSON, read and written")
    parser.add_argument("--table", type=Path, default=TABLE, help="Markdown, written")
    parser.add_argument("--world", type=Path, help="directory of the models, which is kept")
    options = parser.parse_args()
    if unknown := set(options.attacks) - set(ATTACKS):
        parser.error(f"no such attack: {', '.join(sorted(unknown))}")
    return options


def tried(world, name, cases):
    """Run an attack; return its row, and lines that report the results and the bad cases."""
    attack, began = ATTACKS[name], time.monotonic()
    print(f"{name} begins", flush=True)
    found = list(attack.cases(world, cases or attack.full))
    row = {**tally(found), "wall": round(time.monotonic() - began)}
    lines = [" ".join([name, *(f"{key} {row[key]}" for key in (*COLUMNS, "wall"))])]
    for case in [case for case in found if case.outcome not in GOOD][:20]:
        size = f"{case.seconds:.1f} s, {case.memory >> 20} MB"
        lines.append(f"    {case.outcome.value} {case.name[:90]} | {size} | {case.detail[:160]}")
    return row, lines


def is_good(row):
    """Return whether all cases of a row survived or were refused."""
    return row["tried"] == sum(row[outcome.value] for outcome in GOOD)


def table(results):
    """Return the table in Markdown: a line for each attack in each state, ordered by item."""
    lines = [TITLE, "| item | attack | state |" + "".join(f" {name} |" for name in COLUMNS)]
    lines.append("|--:|---|---|" + "--:|" * len(COLUMNS))
    for name, attack in sorted(ATTACKS.items(), key=lambda pair: pair[1].item):
        for state, rows in results.items():
            if name in rows:
                numbers = "".join(f" {_number(rows[name][key], key)} |" for key in COLUMNS)
                lines.append(f"| {attack.item} | {attack.name} | {state} |{numbers}")
    for state, rows in results.items():
        sums = {key: sum(row[key] for row in rows.values()) for key in COLUMNS[:-2]}
        worst = {key: max((row[key] for row in rows.values()), default=0) for key in COLUMNS[-2:]}
        numbers = "".join(f" {_number(value, key)} |" for key, value in {**sums, **worst}.items())
        lines.append(f"| | all | {state} |{numbers}")
    return "\n".join(lines) + "\n"


def _number(value, key):
    """Format a number for the table, in bold if it should be 0."""
    bad = key in {outcome.value for outcome in Outcome} - {outcome.value for outcome in GOOD}
    return f"**{value:,}**" if bad and value else f"{value:,}"


if __name__ == "__main__":
    sys.exit(main())
