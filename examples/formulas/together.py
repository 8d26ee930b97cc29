r"""Read formulas with two models together: one of the ink, and one of its image.

    python examples/formulas/together.py dev.jsonl.gz --models runs/ink/formulas.keras \
        runs/image/formulas.keras

Each model writes its best hypotheses, then scores those of both: n-best lists, rescored. The sum
of the two scores, weighted by `--shares`, chooses a formula's text. Prints ExpRate for each share
of the second model, of which 0 and 1 are the models alone. Choose one on dev, then give it alone.
"""

import argparse
import dataclasses

import drawing
import formulas

import keras_bahdanau as kb


@formulas.ends_well()
def main(arguments=None):
    arguments = parsed(arguments)
    pairs = formulas.read(arguments.file)
    sources = kb.sources.InkSource, kb.sources.ImageSource
    readers = [Reader(formulas.loaded(path, *sources), pairs) for path in arguments.models]
    found = [reader.texts(arguments.nbest) for reader in readers]
    candidates = [sorted(set().union(*lists)) for lists in zip(*found, strict=True)]
    scores = [reader.scores(candidates) for reader in readers]
    references = [text for _, text in pairs]
    (exprate,) = kb.evaluation.metrics_of(["exprate"])
    reachable = sum(text in texts for text, texts in zip(references, candidates, strict=True))
    print(f"{len(pairs)} formulas; among the hypotheses are {100 * reachable / len(pairs):.1f} %")
    for share in arguments.shares:
        lists = zip(candidates, *scores, strict=True)
        chosen = [best(texts, share, *both) for texts, *both in lists]
        score = exprate.corpus_score(chosen, references)
        print(f"share {share:g}: ExpRate {score:.1f}", flush=True)


class Reader:
    """A model, and the formulas as it reads them."""

    def __init__(self, pipeline, pairs):
        self.pipeline = pipeline
        image = isinstance(pipeline.source, kb.sources.ImageSource)
        self.inputs = [drawing.drawn(ink) if image else ink for ink, _ in pairs]

    def texts(self, nbest):
        """Lists of the best texts, one a formula."""
        search = dataclasses.replace(self.pipeline.search, beam_width=nbest)
        lists = self.pipeline.decode_nbest(self.inputs, search=search)
        return [[result.text for result in results] for results in lists]

    def scores(self, candidates):
        """Lists of the scores of a formula's candidates, likewise."""
        lists = zip(self.inputs, candidates, strict=True)
        pairs = [(one, text) for one, texts in lists for text in texts]
        scores = iter(self.pipeline.score(pairs))
        return [[next(scores) for _ in texts] for texts in candidates]


def best(texts, share, first, second):
    """The text with the highest sum of scores, `share` of which is the second model's."""
    sums = [(1 - share) * one + share * other for one, other in zip(first, second, strict=True)]
    return texts[max(range(len(texts)), key=sums.__getitem__)] if texts else ""


def parsed(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", type=formulas.existing)
    parser.add_argument("--models", type=formulas.existing, nargs=2, required=True, metavar="MODEL")
    parser.add_argument("--nbest", type=int, default=10, help="hypotheses of a model: %(default)s")
    tenths = [tenth / 10 for tenth in range(11)]
    parser.add_argument("--shares", type=float, nargs="+", default=tenths, metavar="SHARE")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
