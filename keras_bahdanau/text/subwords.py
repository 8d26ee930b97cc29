"""Subword vocabulary: a SentencePiece model that converts text to token ids and back."""

import base64
import functools
from itertools import chain

import numpy as np
import sentencepiece

from keras_bahdanau.text.alignments import words_of_pieces
from keras_bahdanau.text.folding import FOLD, fold_normalizations, spaced
from keras_bahdanau.text.graphemes import composed, composes
from keras_bahdanau.text.ids import byte_limit, cut_to_bytes, is_text
from keras_bahdanau.text.vocabulary import (
    END,
    UNKNOWN,
    check_model,
    train_model,
    training_settings,
)


class Subwords:
    """Vocabulary that converts text to token ids and back, using `sentencepiece`.

    The ids 0, 1, 2 and 3 are padding, the unknown token, and the start and end of a sentence. Two
    `Subwords` are equal if their models are equal.

    Args:
        model: Bytes of a serialized SentencePiece model.

    Attributes:
        model: The same bytes.
        vocabulary_size: Integer, the number of ids.

    Raises:
        TypeError: If `model` is not `bytes`.
        ValueError: If `model` is not a SentencePiece model, or its special ids are different.

    Example:
        >>> german = Subwords.train(sentences, vocabulary_size=6000)
        >>> german.encode(["Ein Mann."])
        [array([  5, 812,   9,   3], dtype=int32)]
        >>> german.decode([[5, 812, 9, 3]])
        ['Ein Mann.']
    """

    def __init__(self, model: bytes):
        self.vocabulary_size = check_model(model, "model")
        self.model = model
        self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)

    @classmethod
    def train(
        cls,
        sentences,
        vocabulary_size: int = 6000,
        *,
        model_type: str = "bpe",
        character_coverage: float = 1.0,
        normalization: str = "nmt_nfkc",
        symbols=(),
        exact: bool = True,
        name: str = "text",
    ) -> "Subwords":
        """Learn a vocabulary from sentences. The result is deterministic.

        Args:
            sentences: Iterable of strings. Empty sentences are skipped.
            vocabulary_size: Integer, number of ids, including the four special ones.
            model_type: `"bpe"`, `"unigram"`, `"char"`, `"grapheme"` (a letter and its combining
                marks are one token) or `"word"` (the text between spaces, such as a phoneme, is one
                token).
            character_coverage: Float from 0.98 to 1. Fraction of the characters in the text that
                the vocabulary must cover; the rarest characters become unknown.
            normalization: Unicode normalization. SentencePiece's `"nmt_nfkc"`, `"nfkc"`,
                `"nmt_nfkc_cf"`, `"nfkc_cf"` (`cf` folds case) or `"identity"`, which changes only
                white space. `"none"` also keeps white space, for the model types "char" and
                "grapheme". `"nfd"` is like "none", but decomposes each character, such as a Hangul
                syllable into letters; decoded text is composed again (NFC).
            symbols: Strings that are always one token, such as the language tokens
                `("<2de>", "<2fr>")` of Johnson et al. 2017. Each has two ids, one at the start of a
                word and one inside a word. In a word model each has a single id.
            exact: If True, reject text that does not support a vocabulary of this size. If False,
                use the largest size that the text supports.
            name: Name of the text in errors.

        Raises:
            ValueError: If a setting is invalid, if there is no text, or if the size is too small
                for the characters of the text or, with `exact`, too large for the text.
        """
        settings = training_settings(
            vocabulary_size, model_type, character_coverage, normalization, symbols
        )
        return cls(train_model(sentences, name, settings, exact))

    @classmethod
    def train_pair(cls, pairs, vocabulary_size: int = 6000, *, joint: bool = True, **settings):
        """Learn the source and target vocabularies of sentence pairs.

        Returns (source `Subwords`, target `Subwords`). Raises the same errors as `train`.

        Args:
            pairs: Iterable of `(source, target)` strings.
            vocabulary_size: Integer, number of ids in each vocabulary.
            joint: If True, both sides share one vocabulary.
            **settings: Other arguments of `train`. `normalization` may also be "fold", which is the
                default and keeps the characters of targets (see `TrainingOptions`).
        """
        pairs = list(pairs)
        sources, targets = ([pair[side] for pair in pairs] for side in (0, 1))
        settings["vocabulary_size"] = vocabulary_size
        normalizations = [settings.pop("normalization", FOLD)] * 2
        if normalizations[0] == FOLD:
            *normalizations, _ = fold_normalizations(targets, joint)
        source_settings, target_settings = (
            {**settings, "normalization": name} for name in normalizations
        )
        if joint:
            both = cls.train(sources + targets, name="source and target text", **target_settings)
            return both, both
        return (
            cls.train(sources, name="source text", **source_settings),
            cls.train(targets, name="target text", **target_settings),
        )

    def encode(self, sentences, end_of_empty: bool = True) -> list:
        """Return the ids of sentences as a list of int32 arrays `(time,)`.

        They include the end token, but no start token. A sentence is a string or bytes, which don't
        have to be valid UTF-8. If `end_of_empty` is False, a sentence without tokens has no end
        token.
        """
        rows = self._processor.encode(list(sentences), out_type="numpy")
        return [np.append(row, np.int32(END)) if row.size or end_of_empty else row for row in rows]

    def split(self, texts) -> tuple:
        """Split short texts into ids without end tokens.

        Returns (int32 ids of all texts `(all ids,)`, int lengths `(texts,)`).
        """
        # one thread: callers that split a lot of text run one process per core
        rows = self._processor.encode(list(texts), out_type=int, num_threads=1)
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        return np.fromiter(chain.from_iterable(rows), np.int32, int(lengths.sum())), lengths

    def decode(self, rows) -> list:
        """Decode rows of ids, each up to the first end token; ids out of range count as unknown."""
        if not len(rows):
            return []
        # rows in an array, such as those of a search, are processed together
        rows = self.known(rows) if isinstance(rows, np.ndarray) else [*map(self.known, rows)]
        written = is_text(rows) if isinstance(rows, np.ndarray) else map(is_text, rows)
        ids = [row[text].tolist() for row, text in zip(rows, written, strict=True)]
        return self._processor.decode(ids)

    def known(self, ids) -> np.ndarray:
        """Return ids as int32; ids outside the vocabulary become the unknown token."""
        ids = np.asarray(ids)
        inside = (ids >= 0) & (ids < self.vocabulary_size)
        return np.where(inside, ids, UNKNOWN).astype(np.int32)

    def tokens(self, ids) -> np.ndarray:
        """Return the subwords of ids of any shape as an object array, with "" at padding.

        Ids outside the vocabulary count as unknown.

        Example:
            >>> subwords.tokens([[14, 8, 11, 3, 0]])
            array([['▁lower', '▁ne', 'west', '</s>', '']], dtype=object)
        """
        return self._tokens[self.known(ids)]

    @functools.cached_property
    def _tokens(self):
        """All subwords in order of their ids, `(vocabulary_size,)`."""
        tokens = self._processor.id_to_piece(list(range(self.vocabulary_size)))
        return np.array(["", *tokens[1:]], dtype=object)  # padding is "", not "<pad>"

    def words(self, sentences, end_of_empty: bool = True, longest: int | None = None) -> list:
        """Return the first and last word of `sentence.split()` that each token covers.

        The result is a list of int32 arrays `(time, 2)`. Words are separated by white space in the
        text before normalization. The first and last word of a token differ for a run of unknown
        words, which is one token in a word model. The row of the end token contains the number of
        words. `longest` limits the number of tokens, including the end token.

        Example:
            >>> subwords.words(["lower newest"])  # ▁lower ▁ne west </s>
            [array([[0, 0], [1, 1], [1, 1], [2, 2]], dtype=int32)]
        """
        if longest is not None:
            sentences = [cut_to_bytes(sentence, byte_limit(longest)) for sentence in sentences]
        split = self._processor.encode(list(sentences), out_type="proto")
        spans = [
            words_of_pieces(sentence, record.pieces, end_of_empty)
            for sentence, record in zip(sentences, split, strict=True)
        ]
        return [
            words if longest is None or len(words) <= longest else words[[*range(longest - 1), -1]]
            for words in spans
        ]

    def composed(self, text) -> str:
        """Compose characters in text joined from tokens, if tokens are parts of characters.

        `decode` does this itself.
        """
        return composed(text) if self.composes else text

    @functools.cached_property
    def composes(self) -> bool:
        """True if tokens are parts of characters, which `decode` composes."""
        return composes(self.model)

    def spaced(self, text) -> str:
        """Return a text in the form in which references and outputs are compared.

        Most vocabularies write only single spaces between words, so each run of white space becomes
        one space. For a vocabulary that keeps all spaces, the text is unchanged.
        """
        return spaced(text) if self._spec.remove_extra_whitespaces else text

    @property
    def folds(self) -> bool:
        """True if the vocabulary replaces characters in the text that it reads."""
        return bool(self._spec.precompiled_charsmap)

    @functools.cached_property
    def _spec(self):
        from sentencepiece import sentencepiece_model_pb2  # slow to import

        return sentencepiece_model_pb2.ModelProto.FromString(self.model).normalizer_spec

    @functools.cached_property
    def symbol_ids(self) -> np.ndarray:
        """Ids of the symbols that the vocabulary was trained with: int32 `(symbols,)`."""
        from sentencepiece import sentencepiece_model_pb2  # slow to import

        from keras_bahdanau.text.graphemes import is_cluster  # loads regex

        pieces = sentencepiece_model_pb2.ModelProto.FromString(self.model).pieces
        ids = [
            number
            for number, piece in enumerate(pieces)
            if piece.type == piece.USER_DEFINED and not is_cluster(piece.piece)
        ]
        return np.array(ids, np.int32)

    @functools.cached_property
    def symbols(self) -> tuple:
        """The symbols that the vocabulary was trained with, as words, in the order of their ids."""
        return (*dict.fromkeys(token.strip("\u2581") for token in self.tokens(self.symbol_ids)),)

    @functools.cached_property
    def model_type(self) -> str:
        """SentencePiece's model type: "bpe", "unigram", "char" (also for graphemes) or "word"."""
        from sentencepiece import sentencepiece_model_pb2  # slow to import

        trainer = sentencepiece_model_pb2.ModelProto.FromString(self.model).trainer_spec
        return trainer.ModelType.Name(trainer.model_type).lower()

    @property
    def counted_in(self) -> str:
        """Unit of a sentence's length: "symbols" for characters or graphemes, otherwise "words"."""
        return "symbols" if self.model_type == "char" else "words"

    def sizes(self, sentences) -> list:
        """Return the integer lengths of sentences in the unit `counted_in`; a symbol is a token."""
        if self.counted_in == "symbols":
            return [len(row) - 1 for row in self.encode(sentences)]  # without the end token
        return [len(sentence.split()) for sentence in sentences]

    def pieces(self, sentence) -> list:
        """Return SentencePiece's record of each token: `piece`, `id`, `surface`, `begin`, `end`.

        The sentence is a string or bytes; `begin` and `end` are byte offsets in it.

        Example:
            >>> [(piece.piece, piece.begin, piece.end) for piece in subwords.pieces("lower newest")]
            [('▁lower', 0, 5), ('▁ne', 5, 8), ('west', 8, 12)]
        """
        return list(self._processor.encode(sentence, out_type="proto").pieces)

    def unknown(self, sentences) -> list:
        """Return each sentence's distinct unknown parts: characters, or words in a word model."""
        rows = self._processor.encode(list(sentences), out_type="numpy")
        return [
            self._unknown(sentence) if (row == UNKNOWN).any() else []
            for sentence, row in zip(sentences, rows, strict=True)
        ]

    def _unknown(self, sentence):
        parts = (piece.surface for piece in self.pieces(sentence) if piece.id == UNKNOWN)
        return [*dict.fromkeys(part.strip() or part for part in parts if part)]

    @functools.cached_property
    def graph(self):
        """The same vocabulary as `GraphSubwords`. Raises ImportError without tensorflow-text."""
        from keras_bahdanau.text.graph_subwords import GraphSubwords  # loads tensorflow_text

        return GraphSubwords(self.model)

    def __eq__(self, other):
        return self.model == other.model if isinstance(other, Subwords) else NotImplemented

    def __hash__(self):
        return hash(self.model)

    def __reduce__(self):
        return Subwords, (self.model,)

    def get_config(self) -> dict:
        return {"model": base64.b64encode(self.model).decode("ascii")}

    @classmethod
    def from_config(cls, config: dict) -> "Subwords":
        return cls(base64.b64decode(config["model"]))
