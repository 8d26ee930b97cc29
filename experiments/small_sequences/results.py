"""Results: one line of JSON for each task, system and seed."""

import json

import keras_bahdanau as kb
from keras_bahdanau.files.whole_file import write_text


class Results:
    """File of results, with one JSON object per line.

    Args:
        path: Path. The file doesn't need to exist yet.
    """

    def __init__(self, path):
        self.path = path

    def has(self, task, system, seed, seeds=()):
        """Return True if the result exists. An ensemble must have the same seeds."""
        result = next((each for each in self.read() if key(each) == (task, system, seed)), None)
        return result is not None and (seed != "ensemble" or result["seeds"] == list(seeds))

    def write(self, result):
        """Add a result, replacing an older one for the same task, system and seed."""
        results = [each for each in self.read() if key(each) != key(result)]
        results = sorted([*results, result], key=lambda each: tuple(map(str, key(each))))
        lines = [json.dumps(each, ensure_ascii=False) + "\n" for each in results]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_text(self.path, "".join(lines))

    def read(self):
        """Return the results as a list of dictionaries.

        Raises:
            ValueError: If a line is not JSON.
        """
        lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.is_file() else []
        try:
            return [json.loads(line) for line in lines]
        except ValueError as error:
            raise ValueError(f"{self.path}: {error}. Remove the line.") from None


def key(result):
    """Return task, system and seed; the seed is a number or "ensemble"."""
    return result["task"], result["system"], result["seed"]


def kept(scores, metrics):
    """Return the part of the scores from `evaluate` that a result contains."""
    names = [name for metric in metrics for name in (metric, f"{metric}_interval")]
    return {name: scores[name] for name in (*names, "sources") if name in scores}


def scored(pairs, texts, metrics):
    """Score a peer's texts in the same way as `keras-bahdanau evaluate` scores ours.

    Args:
        pairs: List of (source, target).
        texts: List of strings. The peer's output for each pair.
        metrics: Names of metrics. Metrics for several texts, such as "top5", are left out.

    Returns:
        Dictionary of the same form as from `kept`.
    """
    answers = kb.data.answers_by_source(pairs)
    by_source = dict(zip(answers.numbers, texts, strict=True))  # one text per source
    lines = [by_source[number] for number in range(len(answers.sources))]
    found = {"sources": len(lines)}
    for metric in kb.evaluation.metrics_of(metrics):
        if metric.nbest == 1:
            found[metric.name] = metric.corpus_score(lines, answers.references)
            ends = kb.evaluation.interval(metric, lines, answers.references)
            found[f"{metric.name}_interval"] = ends
    return found
