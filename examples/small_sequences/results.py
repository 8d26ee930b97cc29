"""Results: a JSON file for each task, system and seed, and the scores that it holds."""

import json

import keras_bahdanau as kb
from keras_bahdanau.files.whole_file import write_json


class Results:
    """The files of a directory.

    Args:
        directory: Path, which need not exist yet.
    """

    def __init__(self, directory):
        self.directory = directory

    def path(self, task, system, seed):
        """Path of the file; `seed` is a number, or "ensemble"."""
        return self.directory / task / f"{system}-{seed}.json"

    def has(self, task, system, seed, seeds=()):
        """True if it is there; an ensemble must be one of these seeds."""
        path = self.path(task, system, seed)
        if not path.is_file():
            return False
        return seed != "ensemble" or read(path)["seeds"] == list(seeds)

    def write(self, result):
        """Keep a result, which names its task, system and seed."""
        path = self.path(*(result[name] for name in ("task", "system", "seed")))
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, result)

    def read(self):
        """All results, as dictionaries."""
        files = sorted(self.directory.glob("*/*.json"))
        return [read(path) for path in files]


def read(path):
    """The content of a file of results.

    Raises:
        ValueError: If it is damaged.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: {error}. Remove the file, and make it again.") from None


def kept(scores, metrics):
    """The part of the scores of `evaluate` that a result holds."""
    names = [name for metric in metrics for name in (metric, f"{metric}_interval")]
    return {name: scores[name] for name in (*names, "sources") if name in scores}


def scored(pairs, texts, metrics):
    """The scores of a peer's texts, as `keras-bahdanau evaluate` counts ours.

    Args:
        pairs: List of (source, target).
        texts: List of strings, what the peer gave for each pair.
        metrics: Names of metrics; those of several texts, such as "top5", are left out.

    Returns:
        Dictionary, as that of `kept`.
    """
    answers = kb.data.answers_by_source(pairs)
    by_source = dict(zip(answers.numbers, texts, strict=True))  # a source has one text
    lines = [by_source[number] for number in range(len(answers.sources))]
    found = {"sources": len(lines)}
    for metric in kb.evaluation.metrics_of(metrics):
        if metric.nbest == 1:
            found[metric.name] = metric.corpus_score(lines, answers.references)
            ends = kb.evaluation.interval(metric, lines, answers.references)
            found[f"{metric.name}_interval"] = ends
    return found
