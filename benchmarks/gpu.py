"""Compare training and decoding on a GPU with PyTorch.

    python benchmarks/gpu.py [NAME ...]

Keras runs on the backend given by KERAS_BACKEND, or on TensorFlow if it isn't set. The layers and
the search use `keras.ops`, so JAX also works if TensorFlow can't use the GPU. If this Python has
PyTorch, it is used; otherwise, a separate environment is created for it. Each case has its own
processes. results/gpu.json is written after each group of cases. With `--smoke`, tiny sizes run on
any machine.
"""

import argparse
import contextlib
import datetime
import importlib.util
import itertools
import os
import pathlib
import sys
import tempfile
import time

import machine
from environments import OURS, Unavailable, python_of
from harness import Failed, Lane, Options, Worker, rates, results_of, write_result
from rows.sizes import QUICK, SIZES, sizes_as_large

NO_GPU = "The backend {backend} can't use a GPU here, so nothing was measured. Try --smoke."
PRESETS = ("small", "ssru-student", "transformer-tiny")
BATCH = {"batch": 512, "steps": 100}  # 8,192 target tokens per batch, with the lengths of row 1
ROW = {**SIZES, "steps": 100}
LARGE = {**BATCH, "source_time": 32, "target_time": 32, "vocabulary": 32000}
LARGE |= {"embedding": 512, "encoder": 512, "decoder": 1024, "attention": 512, "readout": 512}
TINY = {**QUICK, "steps": 2}
SIZES_OF = {**dict.fromkeys(PRESETS, {**SIZES, **BATCH}), "row-1": ROW, "large": LARGE}
WORKS = {"training": None, "greedy": 1, "beam-5": 5}  # with their beam widths
PRECISIONS = ("float32", "bfloat16")
NAMES = (*WORKS, *SIZES_OF, *PRECISIONS)
PEAK, TINY_PEAK = {"size": 8192, "products": 16}, {"size": 256, "products": 2}
SHARED = {
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    "TF_FORCE_GPU_ALLOW_GROWTH": "true",
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",  # also cache short compilations
    "TORCHINDUCTOR_COMPILE_THREADS": "2",  # per process; many processes may compile at a time
}
LIMIT = 240  # seconds that a competitor may take to prepare, or for a sample
COLUMNS = (
    "{work:8} {model:16} {precision:9} {operations:>9} {ours:>11} {share:>6} {peer:>11} {ratio:>6}"
)
HEADINGS = {"work": "", "model": "", "precision": "", "operations": "MFLOP", "ours": "ours"}
HEADINGS |= {"share": "peak", "peer": "PyTorch", "ratio": "ratio"}


def main(arguments=None):
    """Measure the named cases; return exit code 0, or 2 if there is no GPU."""
    options = _parser().parse_args(arguments)
    options.out = options.out or results_of(options.smoke)
    end = time.monotonic() + 60 * options.minutes
    backend = os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    os.environ.update(SHARED)
    with tempfile.TemporaryDirectory() as cache:
        os.environ["JAX_COMPILATION_CACHE_DIR"] = cache
        card = _card(options)
        if card["gpu"] is None and not options.smoke:
            print(NO_GPU.format(backend=backend))
            return 2
        shown = card["gpu"] or "CPU, tiny sizes"
        print(f"{shown}, Keras on {backend}; operations per target token, target tokens/s")
        print(COLUMNS.format(**HEADINGS), flush=True)
        result = {"name": "gpu", "backend": backend, "smoke": options.smoke, **card}
        result |= {"processor": machine.described(), "date": datetime.date.today().isoformat()}
        result["cases"] = []
        every = [*cases(options.names)]
        for first in range(0, len(every), options.together):
            some = every[first : first + options.together]
            left = min(options.limit, end - time.monotonic())
            result["cases"] += _measured(some, card, left, options)
            write_result(options.out / "gpu.json", result)
    return 0


def _parser():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "names",
        nargs="*",
        type=_name,
        metavar="NAME",
        help=f"works, models and precisions: {', '.join(NAMES)}; if you name no work or no "
        "precision, all are measured; if you name no model, all presets are",
    )
    parser.add_argument("--smoke", action="store_true", help="use tiny sizes; also runs on a CPU")
    parser.add_argument("--rounds", type=int, default=5, help="samples per competitor")
    parser.add_argument(
        "--steps",
        type=_positive,
        help="batches per sample in training; default: 100, or 2 with --smoke",
    )
    parser.add_argument(
        "--limit",
        type=float,
        default=LIMIT,
        help="seconds that a competitor may take to prepare, or for a sample",
    )
    parser.add_argument(
        "--together",
        type=_positive,
        default=1,
        metavar="CASES",
        help="number of cases to prepare at the same time, on a machine with enough cores; they "
        "are still measured in turns",
    )
    parser.add_argument(
        "--minutes", type=float, default=60, help="time limit; no case begins after it"
    )
    parser.add_argument(
        "--out",
        type=pathlib.Path,
        metavar="DIR",
        help="directory for results; default: benchmarks/results, with --smoke runs/benchmarks",
    )
    return parser


def _positive(text):
    if int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1. Received: {text}")
    return int(text)


def _name(text):
    if text not in NAMES:
        raise argparse.ArgumentTypeError(
            f"NAME must be one of {', '.join(NAMES)}. Received: {text}"
        )
    return text


def cases(names):
    """Return an iterator over the named cases, each (work, model, precision)."""
    kinds = ((WORKS, WORKS), (SIZES_OF, PRESETS), (PRECISIONS, PRECISIONS))
    chosen = ([one for one in kind if one in names] or usual for kind, usual in kinds)
    return itertools.product(*chosen)


def _card(options):
    """Return the GPU's name, its operations/s by precision, and the number of weights by preset."""
    found = {"gpu": None, "peaks": {}, "weights": {}}
    lane = Lane("keras_bahdanau", "gpu_keras", "device", ours=True, limit=2 * options.limit)
    worker = Worker(lane, os.cpu_count())
    with contextlib.closing(worker), _reported("card"):
        found["gpu"] = worker.prepare()["gpu"]
        if found["gpu"] is None and not options.smoke:
            return found
        for preset in PRESETS:
            settings = _preset(preset, options)
            settings["vocabulary"] = _sizes(preset, options)["vocabulary"]
            answer = worker.ask("prepare", case="weights", settings=settings)
            found["weights"][preset] = answer["parameters"]
        for precision in PRECISIONS:
            settings = {**(TINY_PEAK if options.smoke else PEAK), "precision": precision}
            worker.ask("prepare", case="peak", settings=settings)
            samples = [worker.ask("run", repeat=1) for _ in range(options.rounds)]
            found["peaks"][precision] = max(one["count"] / one["seconds"] for one in samples)
    return found


@contextlib.contextmanager
def _reported(name):
    """Print a failure in the block, so that the other parts can continue."""
    try:
        yield
    except (Failed, Unavailable) as error:
        print(f"{name}: {error}", flush=True)


def _sizes(model, options):
    sizes = TINY if options.smoke else SIZES_OF[model]
    return sizes | ({"steps": options.steps} if options.steps else {})


def _preset(model, options):
    """Return the settings that build a preset's model, or {} for row 1's model."""
    if model not in PRESETS:
        return {}
    tiny = {"embedding_units": 16, "units": 16}
    return {"preset": model, "overrides": tiny if options.smoke else {}}


def peer_sizes(model, weights, options):
    """Return the sizes of PyTorch's model.

    The peer of `small` is row 1's model, which has the same widths and about as many products. For
    the other presets, the peer has the same number of weights, as in row 12.
    """
    sizes = _sizes(model, options)
    if model not in PRESETS or model == "small":
        return sizes
    shape = ("batch", "source_time", "target_time", "vocabulary", "steps")
    return sizes_as_large(weights[model], options.smoke, **{name: sizes[name] for name in shape})


def _lanes(case, card, limit, options):
    """Yield our lane, and the lanes of PyTorch's forms."""
    work, model, precision = case
    beam = {} if WORKS[work] is None else {"beam": WORKS[work]}
    shared = {"case": "decoding" if beam else "training"}
    shared["repeat"] = 5 if beam and not options.smoke else 1
    given = {**beam, "precision": precision}
    own = {**given, **_preset(model, options), "size": _sizes(model, options)}
    shared["limit"] = limit
    yield Lane("keras_bahdanau", "gpu_keras", settings=own, ours=True, **shared)
    if model in PRESETS and model not in card["weights"]:
        return  # the size of the peer is unknown
    peer = {**given, "size": peer_sizes(model, card["weights"], options)}
    environment = OURS if importlib.util.find_spec("torch") else "pytorch"
    with _reported("PyTorch"):
        python_of(environment)  # may create it, which takes minutes, before the time limit applies
        for name, compiled in _forms(beam, options):
            settings = {**peer, "compiled": compiled}
            yield Lane(name, "gpu_pytorch", settings=settings, environment=environment, **shared)


def _forms(beam, options):
    """Yield (name, mode of torch.compile) for each form of PyTorch; the mode is None if unused."""
    yield "PyTorch", None
    if not options.smoke:
        yield "PyTorch, compiled", "default"
        if not beam:  # a search reuses outputs of earlier steps, which CUDA graphs overwrite
            yield "PyTorch, compiled, CUDA graphs", "reduce-overhead"


def _measured(some, card, limit, options):
    """Prepare all lanes of some cases together, measure them in turns, and return the results."""
    if limit <= 0:
        for case in some:
            print(
                f"{' '.join(case)}: not measured, because {options.minutes:g} minutes have passed"
            )
        return [told(case, [], card["peaks"]) for case in some]
    lanes = [[*_lanes(case, card, limit, options)] for case in some]
    every = itertools.chain.from_iterable(lanes)
    measured = iter(rates([*every], Options(rounds=options.rounds), say=_nothing, at_once=True))
    results = []
    for case, own in zip(some, lanes, strict=True):
        found = [*itertools.islice(measured, len(own))]
        for one in found:
            if one.error:
                print(f"{' '.join(case)}, {one.lane.name}: {one.error}")
        results.append(told(case, found, card["peaks"]))
        print(line(results[-1]), flush=True)
    return results


def _nothing(text):
    """Ignore a line of progress."""


def told(case, measured, peaks):
    """Return a case's entry for results/gpu.json; the ratio is to the fastest form of PyTorch.

    Args:
        case: (work, model, precision).
        measured: List of `Measured`.
        peaks: Dictionary from precisions to operations per second.
    """
    work, model, precision = case
    own = next((one for one in measured if one.lane.ours and one.median), None)
    peers = [one.median for one in measured if not one.lane.ours and one.median]
    operations = own and own.about["operations"]
    peak = peaks.get(precision)
    return {
        "work": work,
        "model": model,
        "precision": precision,
        "operations": operations,
        "rate": own and own.median,
        "share_of_peak": own.median * operations / peak if own and peak else None,
        "peer": max(peers, default=None),
        "ratio": own.median / max(peers) if own and peers else None,
        "lanes": [one.as_json() for one in measured],
    }


def line(found):
    """Return a case as a line of the table, with "-" for figures that could not be measured."""
    mega = found["operations"] and found["operations"] / 1e6
    numbers = {"operations": (mega, ",.2f"), "ours": (found["rate"], ",.0f")}
    numbers |= {"share": (found["share_of_peak"], ".1%"), "peer": (found["peer"], ",.0f")}
    numbers["ratio"] = (found["ratio"], ".2f")
    texts = {key: "-" if one is None else format(one, form) for key, (one, form) in numbers.items()}
    return COLUMNS.format(**{key: found[key] for key in ("work", "model", "precision")}, **texts)


if __name__ == "__main__":
    sys.exit(main())
