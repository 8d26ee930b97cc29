"""Training and decoding on a GPU, beside PyTorch: `python benchmarks/gpu.py [WORK ...]`.

Keras runs on the backend that KERAS_BACKEND names, TensorFlow if none: the layers and the search
are `keras.ops`, so where TensorFlow has no GPU, JAX serves. PyTorch is that of the same Python,
or else an environment of its own. Writes results/gpu.json. `--smoke` runs tiny sizes anywhere.
"""

import argparse
import contextlib
import datetime
import importlib.util
import json
import os
import pathlib
import statistics
import sys

import machine
from environments import OURS, Unavailable
from harness import HERE, Failed, Lane, Worker

NO_GPU = "There is no GPU that the backend {backend} can use: nothing is measured. Try --smoke."
ROW = {"batch": 64, "source_time": 16, "target_time": 16, "vocabulary": 8000}
ROW |= {"embedding": 256, "units": 512, "attention": 256, "steps": 100}  # the sizes of row 1
LARGE = {"batch": 512, "source_time": 32, "target_time": 32, "vocabulary": 32000}
LARGE |= {"embedding": 512, "units": 1024, "attention": 512, "steps": 20}  # what a GPU is for
TINY = {"batch": 4, "source_time": 6, "target_time": 5, "vocabulary": 200}
TINY |= {"embedding": 16, "units": 32, "attention": 16, "steps": 2}
SIZES = {"row 1": ROW, "large": LARGE}
WORKS = {"training": {"training": {}}, "decoding": {"greedy": {"beam": 1}, "beam 5": {"beam": 5}}}
PEAK = {"size": 8192, "products": 16}
SHARED = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "TF_FORCE_GPU_ALLOW_GROWTH": "true"}
COLUMNS = "{work:10} {sizes:6} {precision:9} {ours:>12} {share:>6} {peer:>12} {ratio:>6}"


def main(arguments=None):
    """Exit code 0, or 2 where there is no GPU."""
    options = _parser().parse_args(arguments)
    os.environ.update(SHARED)
    backend = os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    with contextlib.ExitStack() as running:
        ours = _worker(running, "keras_bahdanau", "gpu_keras", options, ours=True)
        gpu = ours.ask("prepare", case="device", settings={})["gpu"]
        if gpu is None and not options.smoke:
            print(NO_GPU.format(backend=backend))
            return 2
        peers = {}
        for name in ("PyTorch",) if options.smoke else ("PyTorch", "PyTorch, compiled"):
            with _reported(name):
                peers[name] = _worker(running, name, "gpu_pytorch", options)
        print(f"{gpu or 'CPU, tiny sizes'}, Keras on {backend}; target tokens/s")
        print(COLUMNS.format(**_HEADINGS))
        peaks = _peaks(ours, options)
        cases = [_measured(case, ours, peers, peaks, options) for case in _cases(options)]
    result = {
        "name": "gpu",
        "gpu": gpu,
        "backend": backend,
        "smoke": options.smoke,
        "peaks": peaks,
        "cases": cases,
        "processor": machine.described(),
        "date": datetime.date.today().isoformat(),
    }
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "gpu.json").write_text(json.dumps(result, indent=1) + "\n")
    return 0


def _parser():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("works", nargs="*", metavar="WORK", help=f"{', '.join(WORKS)}; all")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, on a CPU too")
    parser.add_argument("--rounds", type=int, default=5, help="samples of each competitor")
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "results", metavar="DIR")
    return parser


def _worker(running, name, script, options, ours=False):
    """A process that is ready to be asked."""
    own = ours or importlib.util.find_spec("torch") is not None
    lane = Lane(name, script, case="", environment=OURS if own else "pytorch", ours=ours)
    worker = Worker(lane, os.cpu_count())
    running.callback(worker.close)
    return worker


@contextlib.contextmanager
def _reported(name):
    """A part that can't be done is told, and the others go on."""
    try:
        yield
    except (Failed, Unavailable) as error:
        print(f"{name}: {error}")


def _peaks(ours, options):
    """Operations a second of large products, by precision."""
    settings = {"size": 256, "products": 2} if options.smoke else PEAK
    found = {}
    for precision in ("float32",) if options.smoke else ("float32", "bfloat16"):
        ours.ask("prepare", case="peak", settings={**settings, "precision": precision})
        found[precision] = max(_rate(ours) for _ in range(options.rounds))
    return found


def _cases(options):
    """(case, name, sizes' name, settings) of what is asked for."""
    sizes = {"tiny": TINY} if options.smoke else SIZES
    precisions = ("float32",) if options.smoke else ("float32", "bfloat16")
    for case in options.works or WORKS:
        for name, settings in WORKS[case].items():
            for sizes_name, size in sizes.items():
                for precision in precisions:
                    given = {**settings, "size": size, "precision": precision}
                    yield case, name, sizes_name, given


def _measured(case, ours, peers, peaks, options):
    """The result of one case: all are prepared, then measured in turns."""
    case, name, sizes, settings = case
    workers, lanes = {}, {}
    for lane, worker in {"keras_bahdanau": ours, **peers}.items():
        compiled = {} if worker is ours else {"compiled": lane.endswith("compiled")}
        with _reported(f"{name}, {sizes}, {settings['precision']}: {lane}"):
            answer = worker.ask("prepare", case=case, settings={**settings, **compiled})
            shown = {key: answer[key] for key in ("parameters", "versions")}
            workers[lane], lanes[lane] = worker, {**shown, "samples": []}
    for _ in range(options.rounds):
        for lane, worker in workers.items():
            lanes[lane]["samples"].append(_rate(worker))
    for lane in lanes.values():
        lane["median"] = statistics.median(lane["samples"])
    return _told(name, sizes, settings, lanes, peaks[settings["precision"]])


def _rate(worker):
    answer = worker.ask("run", repeat=1)
    return answer["count"] / answer["seconds"]


def _told(name, sizes, settings, lanes, peak):
    """The case as results/gpu.json has it, after its line of the table."""
    own = lanes.get("keras_bahdanau", {}).get("median")
    peer = max((lane["median"] for n, lane in lanes.items() if n != "keras_bahdanau"), default=None)
    share = own and own * operations(settings["size"], name) / peak
    ratio = own and peer and own / peer
    shown = {"work": name, "sizes": sizes, "precision": settings["precision"]}
    numbers = {"ours": (own, ",.0f"), "share": (share, ".1%"), "peer": (peer, ",.0f")}
    numbers["ratio"] = (ratio, ".2f")
    texts = {key: "-" if one is None else format(one, form) for key, (one, form) in numbers.items()}
    print(COLUMNS.format(**shown, **texts), flush=True)
    return {**shown, "settings": settings, "share_of_peak": share, "ratio": ratio, "lanes": lanes}


_HEADINGS = {"work": "", "sizes": "sizes", "precision": "precision", "ours": "ours"}
_HEADINGS |= {"share": "peak", "peer": "PyTorch", "ratio": "ratio"}


def operations(size, work):
    """Multiplications and additions in the matrix products of a target token.

    Args:
        size: Dictionary, as in `SIZES`.
        work: "training" (each product forward and twice backward), "greedy" or "beam 5".
    """
    embedding, units, attention = size["embedding"], size["units"], size["attention"]
    values, half = units, units // 2  # of an annotation; of one direction
    source = 2 * 3 * half * (embedding + half) + values * attention  # encoder and keys
    over_source = attention + values  # scores and context
    cell = 3 * units * (embedding + values + units) + units * attention
    output = (units + values + embedding) * embedding + embedding * size["vocabulary"]
    step = cell + over_source * size["source_time"] + output
    once = source * size["source_time"] / size["target_time"]
    times = {"training": 3 * (once + step), "greedy": once + step, "beam 5": once + 5 * step}
    return 2 * times[work]


if __name__ == "__main__":
    sys.exit(main())
