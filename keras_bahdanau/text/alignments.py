"""Word alignments from attention weights: links `(source, target)` of zero-based word positions."""

import re

import numpy as np

END = "</s>"
UNKNOWN = "<unk>"
WORD_START = "▁"


def join_subwords(tokens):
    """Join SentencePiece pieces into words.

    Returns (words without the mark `▁`, positions of the pieces of each word). A piece that starts
    with the mark starts a word, as does the first piece. A bare mark belongs to the next word, and
    so does padding (""). A piece that ends with the mark, such as the symbol `<PST>▁` in a
    character vocabulary, ends its word. The end token and the unknown token are words.

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
        words[-1] += token.replace(WORD_START, " ").strip()  # a mark in the middle is a space
        groups[-1].append(position)
        ended = token.endswith(WORD_START)
    return words, groups


def check_alignment(alignment, source_tokens, target_tokens):
    """Return an alignment as an array. Raises ValueError if its shape does not match the tokens."""
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
    """Convert an alignment `(target tokens, source tokens)` between tokens to one between words.

    Weights are summed over the pieces of each source word, because its attention is divided among
    them, and averaged over the pieces of each target word, so rows that sum to 1 still do. Returns
    (float `(target words, source words)`, source words, target words). Raises ValueError if the
    shape does not match the tokens.
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
    """Average over the pieces of each target word.

    Returns (float `(target words, memory_time)`, target words).
    """
    words, groups = join_subwords(target_tokens)
    sizes = np.array([[len(group)] for group in groups]).reshape(-1, 1)  # (target words, 1)
    return _membership(groups, len(target_tokens)) @ alignment / sizes, words


def _membership(groups, length):
    """Return a float array `(len(groups), length)` that is 1 where a position is in the group."""
    members = np.zeros((len(groups), length))
    for row, group in zip(members, groups, strict=True):
        row[group] = 1.0
    return members


def hard_links(alignment):
    """Link each target position that has a weight to the source position with the largest one."""
    return frozenset(
        (int(row.argmax()), target) for target, row in enumerate(np.asarray(alignment)) if row.any()
    )


def word_links(source_tokens, target_tokens, alignment):
    """Link the words of a translation, for Pharaoh output, as `span_links` does.

    Positions refer to `text.split()`, if the text was decoded from these tokens. If you have the
    text, `span_links` with `Subwords.words` is more accurate. Returns a frozenset of links. See
    `join_alignment` for the arguments and errors.
    """
    alignment = check_alignment(alignment, source_tokens, target_tokens)
    return span_links(word_spans(source_tokens), word_spans(target_tokens), alignment)


def word_spans(tokens):
    """Return the first and last word of each token, int `(time, 2)`, as `Subwords.words` does.

    The two differ for a token with a mark in its middle. The last row is for the end token, whether
    or not it is present, and contains the number of words.
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
    """Return the first and last word of each SentencePiece piece and the end: int32 `(time, 2)`."""
    if isinstance(sentence, bytes):
        sentence = sentence.decode("utf-8", "surrogateescape")
    words = re.findall(r"\s*\S+", sentence)
    sizes = [len(word.encode("utf-8", "surrogateescape")) for word in words]
    until = np.cumsum(sizes, dtype=np.int64)  # in bytes
    begins = np.array([piece.begin for piece in pieces], np.int64)
    ends = [piece.end - _space_behind(piece) for piece in pieces]
    ends = np.array(ends, np.int64)
    first = np.searchsorted(until, begins, side="right")  # -> (pieces,), words that end earlier
    last = np.maximum(first, np.searchsorted(until, ends - 1, side="right"))
    after = [[len(words)] * 2] if end_of_empty or len(first) else []
    spans = np.stack([first, last], axis=1)  # -> (pieces, 2)
    return np.concatenate([spans, np.reshape(after, (-1, 2))]).astype(np.int32)


def _space_behind(piece):
    """Return the size of the space after a symbol such as `<PST>`, which belongs to no word."""
    if not piece.piece[1:].endswith("\u2581"):
        return 0
    return len(piece.surface.encode()) - len(piece.surface.rstrip().encode())


def span_links(source_words, target_words, alignment):
    """Link each target word to the source word that gets the most weight from its tokens.

    The end token counts as "no word": a target word that attends most to the source's end token has
    no link, and neither does the target's end token. See `word_weights` for the arguments.
    """
    source, target = _spans(source_words), _spans(target_words)
    if not len(source) or not len(target):
        return frozenset()
    weights = np.zeros((len(target), len(source)))  # (target_time, source_time)
    weights[: len(alignment), : np.shape(alignment)[1]] = alignment
    # (time, words + 1) each; the end token is the last word
    source, target = _inside(source), _inside(target)
    # -> (target words + 1, source words + 1)
    shares = target.T @ weights @ (source / source.sum(axis=1, keepdims=True))
    ends = shares.shape[1] - 1, shares.shape[0] - 1
    return frozenset(
        link for link in hard_links(shares) if link[0] != ends[0] and link[1] != ends[1]
    )


def token_alignment(links, source_words, target_words):
    """Convert links between words to weights between tokens, for training.

    A link joins every token of its source word to every token of its target word. The two end
    tokens are linked. Returns float32 `(target_time, source_time)`, in which each row sums to 1, or
    is all zero if its word has no link. `source_words` and `target_words` are as in `word_weights`.
    Raises ValueError if a link refers to a word that does not exist.

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
    # (target words + 1, source words + 1), with the end tokens
    linked = np.zeros((target_words[-1, 1] + 1, source_words[-1, 1] + 1))
    linked[-1, -1] = 1.0
    for source, target in links:
        linked[target, source] = 1.0
    # -> bool (target_time, source_time)
    reached = _inside(target_words) @ linked @ _inside(source_words).T > 0
    counts = reached.sum(axis=1, keepdims=True)  # (target_time, 1)
    return (reached / np.maximum(counts, 1)).astype(np.float32)


def check_links(links, source_words, target_words, name="links"):
    """Raise ValueError unless the links, called `name` in the error, join existing words."""
    words = [int(spans[-1][1]) if len(spans) else 0 for spans in (source_words, target_words)]
    for link in links:
        if not (0 <= link[0] < words[0] and 0 <= link[1] < words[1]):
            raise ValueError(
                f"`{name}` must be links (source, target) between words separated by white space, "
                f"counted from 0. Received: {link} for {words[0]} source and {words[1]} target "
                "words. Pass the links for the same sentences, with the source position first."
            )


def _spans(words):
    return np.reshape(np.asarray(words, np.int64), (-1, 2))


def _inside(spans):
    """Return a float array `(tokens, words)`, 1 where a token covers a word or the end (last)."""
    words = np.arange(spans[-1, 1] + 1)
    # (tokens, 1) against (words,)
    return ((spans[:, :1] <= words) & (words <= spans[:, 1:])).astype(float)


def format_pharaoh(links):
    """Format links as a sorted Pharaoh line such as "0-0 1-2"."""
    return " ".join(f"{source}-{target}" for source, target in sorted(links))


def parse_pharaoh(line):
    """Parse a Pharaoh line into two frozensets of links, `(sure, possible)`.

    `possible` includes the sure links. `1-2` is a sure link and `1?2` is a possible one; the forms
    `1s2` and `1p2` of other tools are also accepted. Raises ValueError for any other item.
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
    """Compute the alignment error rate of a corpus (Och and Ney 2003); 0 if there are no links.

    AER = 1 - (|A & S| + |A & P|) / (|A| + |S|)

    A are the predicted links, S are the sure links, and P are the possible links, which include S.
    Each argument contains one set of links per sentence pair. Raises ValueError if their lengths
    differ.
    """
    if not len(predicted) == len(sure) == len(possible):
        raise ValueError(
            "`predicted`, `sure` and `possible` must contain one set of links for each sentence "
            f"pair. Received: len(predicted)={len(predicted)}, len(sure)={len(sure)}, "
            f"len(possible)={len(possible)}. Pass an empty set for a sentence pair without links."
        )
    hits = total = 0
    for a, s, p in zip(predicted, sure, possible, strict=True):
        hits += len(a & s) + len(a & (p | s))
        total += len(a) + len(s)
    return 1.0 - hits / total if total else 0.0
