"""The result of a translator, read from the tensors of a search."""

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class Translation:
    """One translation of one sentence.

    Attributes:
        text: The translation.
        score: log p over the length penalty, by default log p / length, plus
            the coverage penalty; natural logarithms.
        source_tokens: List of source pieces, with the end token.
        target_tokens: List of target pieces, with the end token if finished.
        alignment: float32 array `(len(target_tokens), len(source_tokens))`;
            row i says where the model looked when it wrote target token i.
        finished: Whether it ended by itself, and was not cut at the longest length.
    """

    text: str
    score: float
    source_tokens: list
    target_tokens: list
    alignment: np.ndarray
    finished: bool


def read_translations(found, texts, source_tokens, target_tokens):
    """Lists of `Translation`, one list a row; a row without a source token has one, empty.

    Args:
        found: `SearchResult`.
        texts: String tensor `(batch, beam)`.
        source_tokens: String tensor `(batch, source_time)`, "" at padding.
        target_tokens: String tensor `(batch, beam, target_time)`.
    """
    texts, sources, targets = map(_strings, (texts, source_tokens, target_tokens))
    found = [np.asarray(field) for field in found]
    for row, source in enumerate(sources):
        source = [token for token in source if token]
        hypotheses = []
        for rank in range(len(texts[row]) if source else 1):
            # scalars, but alignment (target_time, source_time), with padding
            _, length, score, alignment, finished = (field[row, rank] for field in found)
            hypotheses.append(
                Translation(
                    text=texts[row][rank],
                    score=float(score),
                    source_tokens=source,
                    target_tokens=targets[row][rank][:length],
                    alignment=alignment[:length, : len(source)],
                    finished=bool(finished),
                )
            )
        yield hypotheses


def _strings(tensor):
    """Nested lists of `str` from a string tensor."""
    return _decoded(tensor.numpy().tolist())


def _decoded(bytes_or_list):
    if isinstance(bytes_or_list, bytes):
        return bytes_or_list.decode("utf-8", "replace")
    return [_decoded(one) for one in bytes_or_list]


def check_strings(name, strings):
    """Raises TypeError unless `strings`, an argument of that name, is a list of strings."""
    if isinstance(strings, str | bytes):
        raise TypeError(
            f"`{name}` must be a list of strings. "
            f"Received: {name}={strings!r}. Put it in a list: [{name.removesuffix('s')}]."
        )
    for number, string in enumerate(strings):
        if not isinstance(string, str | bytes):
            raise TypeError(
                f"`{name}` must be a list of strings. Received: {name}[{number}]={string!r}"
            )


def check_prefixes(prefixes, sentences):
    """Raises an error unless there is one string for each sentence."""
    check_strings("prefixes", prefixes)
    if len(prefixes) != len(sentences):
        raise ValueError(
            "`prefixes` must be as many as the sentences. "
            f"Received: {len(prefixes)} prefixes, {len(sentences)} sentences. "
            'Give "" where a translation may begin as it likes.'
        )
