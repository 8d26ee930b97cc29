"""Several right answers to one source: the pairs that have it in common."""

import os
from typing import NamedTuple

MOST_ANSWERS = 1_000  # of a source: a metric takes as many cells for each source


class Answers(NamedTuple):
    """The different sources of pairs, each with its right answers.

    Attributes:
        sources: List of inputs, in the order in which they come first.
        references: List of lists of strings, the answers to each of them.
        numbers: List of integers, for each pair the place of its source among `sources`.
    """

    sources: list
    references: list
    numbers: list

    def checked(self, metrics):
        """These answers, which `metrics` can count.

        Args:
            metrics: List of `CorpusMetric`.

        Raises:
            ValueError: If one of them counts a source once, and a source has more than 1,000
                different answers.
        """
        if any(metric.by_source for metric in metrics):
            for one, answers in zip(self.sources, self.references, strict=True):
                if len(answers) > MOST_ANSWERS and len(set(answers)) > MOST_ANSWERS:
                    raise ValueError(
                        f"A source must have at most {MOST_ANSWERS:,} different answers. Received: "
                        f"{len(set(answers)):,} of {one!r:.80}. Name the columns in their order, "
                        "or a metric that counts pairs, such as bleu."
                    )
        return self

    def lines(self, texts, by_source=True):
        """The arguments of `CorpusMetric.corpus_score`.

        Args:
            texts: List, what was decoded from each source.
            by_source: Bool. True if a source counts once; False if each of its pairs counts.
                A blank line of a file, which has neither source nor answer, is no source,
                unless there are no others.

        Returns:
            (hypotheses, references): two lists of the same length.
        """
        if by_source:
            every = [*zip(texts, self.sources, self.references, strict=True)]
            items = [(text, answers) for text, one, answers in every if not _is_blank(one, answers)]
            items = items or [(text, answers) for text, _, answers in every]
            return (
                [text for text, _ in items],
                [list(dict.fromkeys(answers)) for _, answers in items],
            )
        rest = [iter(references) for references in self.references]
        references = [next(rest[number]) for number in self.numbers]
        return [texts[number] for number in self.numbers], references


def _is_blank(source, answers):
    return isinstance(source, str) and not any(text.strip() for text in (source, *answers))


def answers_by_source(pairs) -> Answers:
    """Gather the targets of equal sources, such as the pronunciations of one word.

    Texts and paths can be equal; each array or sound is a source of its own, and each empty text,
    to which there is no right answer. The same answer counts once.

    Args:
        pairs: Iterable of (input of a source, target string).

    Returns:
        `Answers`.

    Example:
        >>> answers_by_source([("read", "R IY D"), ("red", "R EH D"), ("read", "R EH D")])
        Answers(sources=['read', 'red'], references=[['R IY D', 'R EH D'], ['R EH D']],
        numbers=[0, 1, 0])
    """
    sources, references, numbers, places = [], [], [], {}
    for pair, (one, text) in enumerate(pairs):
        key = one if isinstance(one, str | bytes | os.PathLike) and one else pair
        place = places.setdefault(key, len(sources))
        if place == len(sources):
            sources.append(one)
            references.append([])
        references[place].append(text)
        numbers.append(place)
    return Answers(sources, references, numbers)
