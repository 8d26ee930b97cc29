"""Attention weights as word alignments: links `(source, target)` of word positions from 0."""

import re

import numpy as np

END = "</s>"
UNKNOWN = "<unk>"
WORD_START = "▁"


def join_subwords(tokens):
    """Join SentencePiece pieces to words: (words without the mark, positions of their pieces).

    A piece with the mark `▁` starts a word, and so does the first piece. A bare mark belongs to
    the next word, and so does padding, "". A piece that ends with it, such as the symbol `<PST>▁`
    of a text of characters, ends its word. The end token and an unknown token are words.

    Example:
        >>> join_subwords(["▁The", "▁gar", "den", "er", "</s>"])
        (['The', 'gardener', '</s>'], [[0], [1, 2, 3], [4]])
    """
    words, groups, alone, ended = [], [], {END, UNKNOWN}, False
    for position, token in enumerate(tokens):
        begins = ended or not token or token.startswith(WORD_START)
        if not words or (words[-1] and (begins or alone & {token, tokens[position - 1]})):
            words.append("")
            groups.append([])
        words[-1] += token.replace(WORD_START, " ").strip()  # one in the middle is a space
        groups[-1].append(position)
        ended = token.endswith(WORD_START)
    return words, groups


def check_alignment(alignment, source_tokens, target_tokens):
    """Return an alignment as an array `(target tokens, source tokens)`, or raise ValueError."""
    alignment = np.asarray(alignment)
    shape = (len(target_tokens), len(source_tokens))
    if alignment.shape != shape:
        raise ValueError(
            "`alignment` must have one row for each target token and one column for each source "
            f"token, {shape}. Received: alignment.shape={alignment.shape}. Pass the tokens and "
            "the alignment of the same translation."
        )
    return alignment


def join_alignment(alignment, source_tokens, target_tokens):
    """Turn an alignment `(target tokens, source tokens)` into one of words.

    Weights are summed over the pieces of a source word, since attention is shared out among them,
    and averaged over those of a target word. So rows that sum to 1 still do. Returns (float
    `(target words, source words)`, source words, target words); ValueError for another shape.
    """
    alignment = check_alignment(alignment, source_tokens, target_tokens)
    source_words, source_groups = join_subwords(source_tokens)
    # -> (target tokens, source words)
    joined = alignment @ _membership(source_groups, len(source_tokens)).T
    # -> (target words, source words)
    joined, target_words = join_targets(joined, target_tokens)
    joined = joined.astype(np.result_type(alignment, np.float32))
    return joined, source_words, target_words


def join_targets(alignment, target_tokens):
    """Average the pieces of each target word: (`(target words, memory_time)`, target words)."""
    words, groups = join_subwords(target_tokens)
    sizes = np.array([[len(group)] for group in groups]).reshape(-1, 1)  # (target words, 1)
    return _membership(groups, len(target_tokens)) @ alignment / sizes, words


def _membership(groups, length):
    """Return a float array `(len(groups), length)`: 1 where a position is in the group."""
    members = np.zeros((len(groups), length))
    for row, group in zip(members, groups, strict=True):
        row[group] = 1.0
    return members


def hard_links(alignment):
    """Link each target position to the source position with the largest weight, if any."""
    return frozenset(
        (int(row.argmax()), target) for target, row in enumerate(np.asarray(alignment)) if row.any()
    )


def word_links(source_tokens, target_tokens, alignment):
    """Link the words of a translation, for Pharaoh output: a frozenset, see `span_links`.

    Positions are those of `text.split()` where the text was made of these tokens. `span_links` with
    `Subwords.words` is more exact for a known text. Arguments and errors: as in `join_alignment`.
    """
    alignment = check_alignment(alignment, source_tokens, target_tokens)
    return span_links(word_spans(source_tokens), word_spans(target_tokens), alignment)


def word_spans(tokens):
    """The first and the last word of each token, int `(time, 2)`, as `Subwords.words` gives them.

    They differ for a token with a mark in its middle. The last row is the end token's, present or
    not: the number of words.
    """
    words, groups = join_subwords(tokens)
    spans, count = [], 0
    for word, group in zip(words, groups, strict=True):
        for position in group:
            first, inside = count, tokens[position].strip(WORD_START)
            count += inside.count(WORD_START)
            spans.append((first, count))
        count += word not in ("", END)
    if END not in words:
        spans.append((count, count))
    return np.array(spans, np.int64)


def words_of_pieces(sentence, pieces, end_of_empty=True):
    """First and last word of each of SentencePiece's `pieces` and the end: int32 `(time, 2)`."""
    if isinstance(sentence, bytes):
        sentence = sentence.decode("utf-8", "surrogateescape")
    words = re.findall(r"\s*\S+", sentence)
    sizes = [len(word.encode("utf-8", "surrogateescape")) for word in words]
    until = np.cumsum(sizes, dtype=np.int64)  # in bytes
    begins = np.array([piece.begin for piece in pieces], np.int64)
    ends = [piece.end - _space_behind(piece) for piece in pieces]
    ends = np.array(ends, np.int64)
    first = np.searchsorted(until, begins, side="right")  # -> (pieces,), words that end before it
    last = np.maximum(first, np.searchsorted(until, ends - 1, side="right"))
    after = [[len(words)] * 2] if end_of_empty or len(first) else []
    spans = np.stack([first, last], axis=1)  # -> (pieces, 2)
    return np.concatenate([spans, np.reshape(after, (-1, 2))]).astype(np.int32)


def _space_behind(piece):
    """Bytes of the space that a symbol such as `<PST>` has after it; it belongs to no word."""
    if not piece.piece[1:].endswith("\u2581"):
        return 0
    return len(piece.surface.encode()) - len(piece.surface.rstrip().encode())


def span_links(source_words, target_words, alignment):
    """Link each target word to the source word with the largest share of its tokens' weights.

    The end token counts as "no word": a target word that attends to it most, and the target's own
    end token, have no link. Arguments: as in `word_weights`.
    """
    source, target = _spans(source_words), _spans(target_words)
    if not len(source) or not len(target):
        return frozenset()
    weights = np.zeros((len(target), len(source)))  # (target_time, source_time)
    weights[: len(alignment), : np.shape(alignment)[1]] = alignment
    # (time, words + 1) each, the end token the last word
    source, target = _inside(source), _inside(target)
    # -> (target words + 1, source words + 1)
    shares = target.T @ weights @ (source / source.sum(axis=1, keepdims=True))
    ends = shares.shape[1] - 1, shares.shape[0] - 1
    return frozenset(
        link for link in hard_links(shares) if link[0] != ends[0] and link[1] != ends[1]
    )


def token_alignment(links, source_words, target_words):
    """Spread links between words over their tokens: float32 weights for training.

    A link joins every token of its source word to every token of its target word; the end tokens
    are linked. Each row of `(target_time, source_time)` sums to 1, or is all zero without a link.
    The words are those of `word_weights`. ValueError if a link is to a missing word.

    Example:
        >>> one_two = [[0, 0], [1, 1], [1, 1], [2, 2]]  # one token, two tokens, the end
        >>> token_alignment({(1, 0)}, one_two, [[0, 0], [1, 1]])
        array([[0. , 0.5, 0.5, 0. ],
               [0. , 0. , 0. , 1. ]], dtype=float32)
    """
    source_words, target_words = _spans(source_words), _spans(target_words)
    check_links(links, source_words, target_words)
    if not len(source_words) or not len(target_words):
        return np.zeros((len(target_words), len(source_words)), np.float32)
    # words and the end token: (target words + 1, source words + 1)
    linked = np.zeros((target_words[-1, 1] + 1, source_words[-1, 1] + 1))
    linked[-1, -1] = 1.0
    for source, target in links:
        linked[target, source] = 1.0
    # -> bool (target_time, source_time)
    reached = _inside(target_words) @ linked @ _inside(source_words).T > 0
    counts = reached.sum(axis=1, keepdims=True)  # (target_time, 1)
    return (reached / np.maximum(counts, 1)).astype(np.float32)


def check_links(links, source_words, target_words, name="links"):
    """Raise ValueError unless links, called `name`, are between words that exist."""
    words = [int(spans[-1][1]) if len(spans) else 0 for spans in (source_words, target_words)]
    for link in links:
        if not (0 <= link[0] < words[0] and 0 <= link[1] < words[1]):
            raise ValueError(
                f"`{name}` must be links (source, target) between words that white space "
                f"separates, counted from 0. Received: {link} for {words[0]} source and "
                f"{words[1]} target words. Give the links of the same sentences, source first."
            )


def _spans(words):
    return np.reshape(np.asarray(words, np.int64), (-1, 2))


def _inside(spans):
    """Float array `(tokens, words)`: 1 where a token covers a word; the end token is the last."""
    words = np.arange(spans[-1, 1] + 1)
    # (tokens, 1) against (words,)
    return ((spans[:, :1] <= words) & (words <= spans[:, 1:])).astype(float)


def format_pharaoh(links):
    """Write links in Pharaoh form, sorted: "0-0 1-2"."""
    return " ".join(f"{source}-{target}" for source, target in sorted(links))


def parse_pharaoh(line):
    """Read links in Pharaoh form: two frozensets `(sure, possible)`, the second with the first.

    `1-2` is a sure link, `1?2` one that is only possible; other tools write `1s2` and `1p2`.
    ValueError for other items between the spaces.
    """
    sure, possible = set(), set()
    for item in line.split():
        match = re.fullmatch(r"([0-9]{1,9})([-s?p])([0-9]{1,9})", item)
        if match is None:
            raise ValueError(
                "A link must be written SOURCE-TARGET (sure) or SOURCE?TARGET (possible), with "
                f"positions counted from 0. Received: item={item[:80]!r}. Correct it in the line "
                f"{line.strip()[:80]!r}."
            )
        link = int(match[1]), int(match[3])
        possible.add(link)
        if match[2] in "-s":
            sure.add(link)
    return frozenset(sure), frozenset(possible)


def alignment_error_rate(predicted, sure, possible):
    """Compute the alignment error rate of a corpus (Och and Ney 2003), 0 if there are no links.

    AER = 1 - (|A & S| + |A & P|) / (|A| + |S|), with predicted links A, sure links S and possible
    links P, which include S: one set for each sentence; ValueError if their lengths differ.
    """
    if not len(predicted) == len(sure) == len(possible):
        raise ValueError(
            "`predicted`, `sure` and `possible` must hold one set of links for each sentence "
            f"pair. Received: len(predicted)={len(predicted)}, len(sure)={len(sure)}, "
            f"len(possible)={len(possible)}. Pass an empty set for a sentence without links."
        )
    hits = total = 0
    for a, s, p in zip(predicted, sure, possible, strict=True):
        hits += len(a & s) + len(a & (p | s))
        total += len(a) + len(s)
    return 1.0 - hits / total if total else 0.0
