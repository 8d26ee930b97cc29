r"""Read formulas with two models together: one for the ink and one for its image.

    python experiments/formulas/together.py dev.jsonl.gz --models runs/ink/formulas.keras \
        runs/image/formulas.keras

Each model writes its best hypotheses, and then scores the hypotheses of both (n-best rescoring).
The script chooses each formula's text by the weighted sum of the two scores. It prints ExpRate for
each weight of the second model in `--shares`; with 0 and 1, only one model counts. Choose a weight
on dev, then pass only that one.

With `--turns`, both models also read copies of each formula that are slightly rotated and bent, and
a score is the mean over the copies.
"""

import argparse
import dataclasses

import drawing
import formulas
import numpy as np
import variations

import keras_bahdanau as kb

STRENGTH = 0.08  # strength of the turns: see `variations.turned`
MOST_TURNS = 10  # all their images are in memory


@formulas.ends_well()
def main(arguments=None):
    arguments = parsed(arguments)
    pairs = formulas.read(arguments.file)
    inks, references = [ink for ink, _ in pairs], [text for _, text in pairs]
    seeds = range(1, arguments.turns + 1)
    copies = [inks, *(variations.turned(inks, STRENGTH, seed) for seed in seeds)]
    sources = kb.sources.InkSource, kb.sources.ImageSource
    pipelines = [formulas.loaded(path, *sources) for path in arguments.models]
    readers = [Reader(pipeline, copies, arguments.nbest) for pipeline in pipelines]
    found = [texts for reader in readers for texts in reader.known]
    candidates = [sorted(set().union(*lists)) for lists in zip(*found, strict=True)]
    reachable = sum(text in texts for text, texts in zip(references, candidates, strict=True))
    share_of_all = f"{100 * reachable / len(pairs):.1f}%"
    print(f"{len(pairs)} formulas; the hypotheses contain {share_of_all}", flush=True)
    scores = [reader.scores(candidates) for reader in readers]
    (exprate,) = kb.evaluation.metrics_of(["exprate"])
    for share in arguments.shares:
        lists = zip(candidates, *scores, strict=True)
        chosen = [best(texts, share, *both) for texts, *both in lists]
        score = exprate.corpus_score(chosen, references)
        print(f"share {share:g}: ExpRate {score:.1f}", flush=True)


class Reader:
    """A model, and each copy of the formulas in the form that it reads.

    Attributes:
        known: For each copy, a list with a dictionary for each formula, which maps the texts
            that the search found to their scores.
    """

    def __init__(self, pipeline, copies, nbest):
        self.pipeline = pipeline
        image = isinstance(pipeline.source, kb.sources.ImageSource)
        self.copies = [[drawing.drawn(ink) if image else ink for ink in inks] for inks in copies]
        search = dataclasses.replace(pipeline.search, beam_width=nbest)
        lists = [pipeline.decode_nbest(inputs, search=search) for inputs in self.copies]
        self.known = [
            [{one.text: one.score for one in reversed(few)} for few in of_copy] for of_copy in lists
        ]

    def scores(self, candidates):
        """Return the scores of each formula's candidates: means over the copies."""
        found = [
            self._scores(inputs, known, candidates)
            for inputs, known in zip(self.copies, self.known, strict=True)
        ]
        return [np.mean(scores, axis=0) for scores in zip(*found, strict=True)]

    def _scores(self, inputs, known, candidates):
        """Return the scores for one copy. Texts found by its search are not scored again."""
        rows = list(zip(inputs, known, candidates, strict=True))
        new = [(one, text) for one, own, texts in rows for text in texts if text not in own]
        scores = iter(self.pipeline.score(new))
        return [
            [own[text] if text in own else next(scores) for text in texts] for _, own, texts in rows
        ]


def best(texts, share, first, second):
    """Return the text with the highest weighted score; `share` is the second model's weight."""
    sums = [(1 - share) * one + share * other for one, other in zip(first, second, strict=True)]
    return texts[max(range(len(texts)), key=sums.__getitem__)] if texts else ""


def parsed(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", type=formulas.existing)
    parser.add_argument("--models", type=formulas.existing, nargs=2, required=True, metavar="MODEL")
    parser.add_argument("--nbest", type=int, default=10, help="hypotheses per model (%(default)s)")
    shares = [one / 20 for one in range(21)]
    parser.add_argument("--shares", type=float, nargs="+", default=shares, metavar="SHARE")
    parser.add_argument("--turns", type=int, default=0, help="copies of each formula (%(default)s)")
    parsed = parser.parse_args(arguments)
    if not 0 <= parsed.turns <= MOST_TURNS:
        parser.error(f"--turns must be from 0 to {MOST_TURNS}. Received: {parsed.turns}")
    return parsed


if __name__ == "__main__":
    main()
