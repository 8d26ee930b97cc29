"""Training or decoding at many sizes; each run takes the next size."""

import itertools
import time

from fixed_steps import WORK, new_model
from protocol import Job, serve

LEAST = 0.2  # minimum seconds per run, so that small sizes are measured well too
MOST = 10  # maximum number of repetitions per run


def growth(work, sizes, model, repeated=True, **settings):
    """Prepare the work at each size.

    Args:
        work: "training" or "decoding".
        sizes: List of dictionaries with `batch`, `source_time`, `target_time` and `vocabulary`.
        model: Dictionary of the other arguments of `new_model`.
        repeated: Whether a run repeats short work.
        **settings: Other arguments for the work.
    """
    models, runs = {}, []
    for size in sizes:
        vocabulary = size.pop("vocabulary")
        if vocabulary not in models:
            models[vocabulary] = new_model(vocabulary=vocabulary, **model)
        runs.append(WORK[work](models[vocabulary], **size, **settings))
    for run in runs:
        run()  # traces the graph
    if repeated:
        runs = [_repeated(run) for run in runs]
    following = itertools.cycle(runs)
    first = next(iter(models.values()))
    return Job(lambda: next(following)(), parameters=first.count_params())


def _repeated(run):
    start = time.perf_counter()
    run()
    times = round(LEAST / (time.perf_counter() - start))
    times = min(max(times, 1), MOST)
    return lambda: sum(run() for _ in range(times))


if __name__ == "__main__":
    serve({"growth": growth}, ["keras", "tensorflow"])
