"""Compare the speed of this revision of the repository with that of another one.

    python benchmarks/revisions.py a3e1465^ --multi30k DIR [--model small-de.keras]

The program measures a training step, and greedy search and beam 5 on Multi30K's test sentences,
with the worker of rows 1 and 7, whose outputs all have the maximum length. With --model, a trained
translator decodes the same sentences, and its outputs end by themselves. Both revisions are
prepared first, and then take turns. Rates are per second of processor time, which is less sensitive
to other work on the machine. A ratio compares medians, now / before, so more is better. The
variation of the samples shows how much of a difference is noise.
"""

import argparse
import contextlib
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

import machine
from environments import Unavailable
from harness import PAUSE, Options
from lane import HERE, Failed, Lane, Worker
from rows.multi30k import corpus, directory
from rows.sizes import sizes

REPEATS = 8  # training steps per sample


def main(arguments=None):
    given = parsed(arguments)
    options = Options(rounds=given.rounds, threads=given.threads, multi30k=given.multi30k)
    chosen = sizes(False)
    found = {}
    with corpus(options, chosen["vocabulary"]) as folder, worktree(given.revision) as before:
        trees = {"now": HERE.parent, "before": before}
        for lane in lanes(chosen, folder, given.model):
            samples = measured(lane, trees, options)
            medians = {name: statistics.median(taken) for name, taken in samples.items()}
            ratio = medians["now"] / medians["before"]
            found[lane.name] = {"ratio": round(ratio, 4), "medians": medians, "samples": samples}
            print(f"{lane.name}: {ratio:.3f} times as fast as before", flush=True)
    result = {"revision": given.revision, "machine": machine.described(), "measured": found}
    if given.out:
        given.out.write_text(json.dumps(result, indent=1) + "\n")


def lanes(chosen, folder, model):
    """Yield the lanes that are measured for both revisions."""
    settings = {"sizes": chosen, "corpus": folder}
    yield Lane("training step", "ours", "training_step", {"sizes": chosen}, repeat=REPEATS)
    yield Lane("greedy", "ours", "decode", {**settings, "beam": 1})
    yield Lane("beam 5", "ours", "decode", {**settings, "beam": 5})
    if model is not None:
        trained = {"model": str(model.resolve()), "corpus": folder}
        yield Lane("greedy, a trained model", "ours", "translate", {**trained, "beam": 1})
        yield Lane("beam 5, a trained model", "ours", "translate", {**trained, "beam": 5})


@contextlib.contextmanager
def worktree(revision):
    """Check out another revision for the duration of the block, and yield its path."""
    git = ["git", "-C", str(HERE.parent), "worktree"]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "before"
        subprocess.run([*git, "add", "--quiet", "--detach", str(path), revision], check=True)
        try:
            yield path
        finally:
            subprocess.run([*git, "remove", "--force", str(path)], check=True)


def measured(lane, trees, options):
    """Measure the count per second of processor time for each tree, in turns."""
    workers = {
        name: Worker(lane, options.threads, {"PYTHONPATH": str(tree)})
        for name, tree in trees.items()
    }
    samples = {name: [] for name in trees}
    try:
        for worker in workers.values():
            worker.prepare()
        for _ in range(options.rounds):
            for name, worker in workers.items():
                time.sleep(PAUSE)
                answer = worker.ask("run", repeat=lane.repeat)
                samples[name].append(answer["count"] / answer["processor_seconds"])
    finally:
        for worker in workers.values():
            worker.close()
    return samples


def known(revision):
    """Return a revision if it exists in the repository; for use as an argparse `type`."""
    verify = ["git", "-C", str(HERE.parent), "rev-parse", "--quiet", "--verify"]
    if subprocess.run([*verify, f"{revision}^{{commit}}"], capture_output=True).returncode:
        raise argparse.ArgumentTypeError(f"git has no revision {revision!r}: check the spelling")
    return revision


def existing(text):
    """Return the path of an existing file; for use as an argparse `type`."""
    if not pathlib.Path(text).is_file():
        raise argparse.ArgumentTypeError(f"the file {text!r} doesn't exist: check the spelling")
    return pathlib.Path(text)


def parsed(arguments):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("revision", type=known, help="git revision, such as HEAD~20")
    parser.add_argument("--multi30k", type=directory, required=True, metavar="DIR")
    parser.add_argument("--model", type=existing, help="a .keras file that both revisions can read")
    parser.add_argument(
        "--rounds", type=int, default=7, help="samples of each revision; default: %(default)s"
    )
    parser.add_argument("--threads", type=int, default=Options.threads)
    parser.add_argument(
        "--out", type=pathlib.Path, metavar="FILE", help="JSON file for all figures"
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    try:
        main()
    except (Failed, Unavailable) as error:
        raise SystemExit(f"Nothing was measured: {error}") from None
