"""Training or decoding at many sizes, each run the next size in turn."""

import itertools
import time

from fixed_steps import WORK, new_model
from protocol import Job, serve

LEAST = 0.2  # seconds that a run takes or more, so that small sizes are measured well too
MOST = 10  # repetitions in a run


def growth(work, sizes, model, repeated=True, **settings):
    """The work at each size.

    Args:
        work: "training" or "decoding".
        sizes: List of dictionaries of `batch`, `source_time`, `target_time` and `vocabulary`.
        model: Dictionary of what else `new_model` takes.
        repeated: Whether short work is repeated in a run.
        **settings: What else the work takes.
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
