"""Extension of a trained model's vocabulary with pieces for new text."""

import collections
import heapq
import itertools
import re
import unicodedata

import sentencepiece

from keras_bahdanau.text.graphemes import composes, decomposed, extend_decomposition
from keras_bahdanau.text.subwords import Subwords
from keras_bahdanau.text.vocabulary import END, UNKNOWN, symbol_forms

LEAST = 2  # a pair must occur at least this often to be merged
LONGEST = 16  # maximum code points of a piece, as in SentencePiece
MARGIN = 0.01  # how far the score of a new unigram piece is above the score of its parts
_WORDS = re.compile(r"▁[^▁]*|[^▁]+")


def appended(subwords, texts, most, symbols=()):
    """Return a vocabulary extended with pieces that are learned from new text.

    Symbols are appended first, and then missing characters (or, in a word model, missing words),
    most frequent first. BPE and unigram models then get merges of neighbouring pieces. These are
    learned as in BPE (Sennrich et al. 2016, algorithm 1), starting from the pieces into which the
    vocabulary splits the text. A new merge has a lower score than all old ones, so BPE tries it
    last. The score of a new unigram piece is the score of the split that it replaces plus a small
    margin: the piece wins over that split, and changes the scores of other splits by no more than
    the margin.

    `most` limits the number of appended pieces, not counting `symbols` (see `Subwords.train`).
    Returns the same object if no piece is missing.
    """
    in_parts = composes(subwords.model)
    if in_parts:
        texts, symbols = ([*map(decomposed, strings)] for strings in (texts, symbols))
    proto = _proto(subwords.model)
    kind = proto.trainer_spec.ModelType.Name(proto.trainer_spec.model_type).lower()
    known = {piece.piece for piece in proto.pieces}
    lowest = min((piece.score for piece in proto.pieces if piece.type == piece.NORMAL), default=0.0)
    before = len(proto.pieces)
    keeps_spaces = not proto.normalizer_spec.add_dummy_prefix
    # SentencePiece adds the second form of a symbol to a word model only in training
    for form in symbol_forms(symbols, kind.replace("word", "bpe"), keeps_spaces):
        if form not in known:
            _add(proto, form, 0.0, "USER_DEFINED")
    counts = _counted(Subwords(_model_of(proto)), texts)
    unit = counts if kind == "word" else _characters(counts)
    missing = [piece for piece, _ in unit.most_common() if piece not in known]
    for piece in missing[:most]:
        lowest -= kind == "bpe"
        _add(proto, piece, lowest)
    if kind in ("bpe", "unigram"):
        _append_merges(proto, counts, kind, most - len(missing[:most]))
    if len(proto.pieces) == before:
        return subwords
    model = _model_of(proto)
    if in_parts:
        model = extend_decomposition(model, [piece.piece for piece in proto.pieces[before:]])
    return Subwords(model)


def parts_of(old, new):
    """Return the ids in an old vocabulary from which each token of a new one can be initialized.

    A piece that is in both keeps its old id. A new piece gets the ids into which the old vocabulary
    splits it, without unknown parts; the list is empty if all parts are unknown.
    """
    ids = {piece.piece: number for number, piece in enumerate(_proto(old.model).pieces)}
    split = _splitter(old.model)
    parts = []
    for number, piece in enumerate(_proto(new.model).pieces):
        if number <= END:
            parts.append([number])
        elif piece.piece in ids:
            parts.append([ids[piece.piece]])
        else:
            parts.append([part for part in split(piece.piece) if part != UNKNOWN])
    return parts


def _append_merges(proto, counts, kind, most):
    """Append merges of the pieces into which a model splits the counted words."""
    split = _splitter(_model_of(proto))
    normal = {
        number: piece.piece for number, piece in enumerate(proto.pieces) if piece.type == 1
    }  # symbols, bytes and special pieces are never merged
    scores = {piece.piece: piece.score for piece in proto.pieces}
    words = [([*map(normal.get, split(word))], count) for word, count in counts.items()]
    rank, new = min(scores.values()), []
    for left, right in itertools.islice(_merges(words, scores), most):
        rank -= 1.0
        total = scores[left] + scores[right] + MARGIN
        scores[left + right] = rank if kind == "bpe" else total
        new.append(left + right)
    used = {piece for pieces, _ in words for piece in pieces}
    for piece in new:
        if kind == "bpe" or piece in used:  # a unigram model needs no intermediate pieces
            _add(proto, piece, scores[piece])


def _merges(words, known):
    """Repeatedly yield the most frequent pair of neighbours and merge it everywhere."""
    counts, numbers_of = collections.Counter(), collections.defaultdict(set)

    def count(number, sign):
        pieces, times = words[number]
        for pair in itertools.pairwise(pieces):
            counts[pair] += sign * times
            numbers_of[pair].add(number)

    for number in range(len(words)):
        count(number, 1)
    heap = [(-times, pair) for pair, times in counts.items() if _may_be_merged(pair)]
    heapq.heapify(heap)
    while heap:
        times, pair = heapq.heappop(heap)
        if counts[pair] != -times:  # the count has changed since the pair was pushed
            if counts[pair] >= LEAST:
                heapq.heappush(heap, (-counts[pair], pair))
            continue
        if -times < LEAST:
            return
        if pair[0] + pair[1] in known:
            continue
        new = set()  # pairs that contain the merged piece; all other pairs only get rarer
        for number in sorted(numbers_of.pop(pair)):
            count(number, -1)
            words[number] = (_merged(words[number][0], pair), words[number][1])
            count(number, 1)
            pairs = itertools.pairwise(words[number][0])
            new |= {neighbours for neighbours in pairs if "".join(pair) in neighbours}
        for neighbours in new:
            if counts[neighbours] >= LEAST and _may_be_merged(neighbours):
                heapq.heappush(heap, (-counts[neighbours], neighbours))
        yield pair


def _merged(pieces, pair):
    """Return pieces with each occurrence of a pair of neighbours merged, from left to right."""
    merged = []
    for piece in pieces:
        if merged and (merged[-1], piece) == pair:
            merged[-1] += piece
        else:
            merged.append(piece)
    return merged


def _may_be_merged(pair):
    """Return True if two pieces may be merged, as in SentencePiece.

    The merged piece must be short, and must either consist only of letters or contain none.
    """
    if None in pair or len(pair[0]) + len(pair[1]) > LONGEST:
        return False
    letters = {unicodedata.category(c)[0] in "LM" for c in "".join(pair).replace("▁", "")}
    return len(letters) <= 1


def _counted(subwords, texts):
    """Count the words of texts as the model normalizes them, without symbols."""
    proto = _proto(subwords.model)
    forms = [piece.piece for piece in proto.pieces if piece.type == piece.USER_DEFINED]
    forms.sort(key=len, reverse=True)  # longest first, as SentencePiece matches them
    symbols = re.compile("|".join(map(re.escape, forms)) or r"(?!)")
    processor = sentencepiece.SentencePieceProcessor(model_proto=subwords.model)
    counts = collections.Counter()
    for text in processor.normalize(list(texts)):
        for part in symbols.split(text):
            counts.update(_WORDS.findall(part))
    return counts


def _characters(counts):
    characters = collections.Counter()
    for word, count in counts.items():
        for character in word:
            characters[character] += count
    return characters


def _splitter(model):
    """Return a function that splits a piece of normalized text into a list of ids."""
    proto = _proto(model)
    proto.normalizer_spec.Clear()
    proto.normalizer_spec.name = "identity"
    proto.normalizer_spec.add_dummy_prefix = False
    proto.normalizer_spec.remove_extra_whitespaces = False
    processor = sentencepiece.SentencePieceProcessor(model_proto=_model_of(proto))
    return lambda piece: processor.encode(piece.replace("▁", " "))


def _add(proto, text, score, kind="NORMAL"):
    piece = proto.pieces.add()
    piece.piece, piece.score = text, score
    piece.type = piece.Type.Value(kind)


def _proto(model):
    from sentencepiece import sentencepiece_model_pb2  # loads protobuf

    return sentencepiece_model_pb2.ModelProto.FromString(model)


def _model_of(proto):
    proto.trainer_spec.vocab_size = len(proto.pieces)
    return proto.SerializeToString(deterministic=True)
