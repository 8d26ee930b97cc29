"""Subwords of one language: a SentencePiece model that splits text into token ids and back."""

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
    """Vocabulary of one side: text to token ids and back, by `sentencepiece`.

    The ids 0, 1, 2 and 3 are padding, the unknown token, the start and the end of a sentence. Two
    `Subwords` are equal if their models are.

    Args:
        model: Bytes of a serialized SentencePiece model.

    Attributes:
        model: The same bytes.
        vocabulary_size: Integer, the number of ids.

    Raises:
        TypeError: If the model is not `bytes`.
        ValueError: If it is not a SentencePiece model, or has other special ids.

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
        """Learn the vocabulary of sentences; deterministic.

        Args:
            sentences: Iterable of strings. Empty sentences are skipped.
            vocabulary_size: Integer, number of ids, including the four special ones.
            model_type: `"bpe"`, `"unigram"`, `"char"`, `"grapheme"` (a letter and its combining
                marks are one token) or `"word"`: the text between spaces, such as a phoneme.
            character_coverage: Float from 0.98 to 1, share of the characters of the text that the
                vocabulary must hold; the rarest beyond it become unknown.
            normalization: SentencePiece's name of the Unicode normalization: `"nmt_nfkc"`,
                `"nfkc"`, `"nmt_nfkc_cf"`, `"nfkc_cf"` (`cf` folds case) or `"identity"`, which
                changes only white space; `"none"`, with which the model types "char" and "grapheme"
                keep that too; or `"nfd"`: as "none", with each character decomposed, such as Hangul
                syllables into letters, and composed again in text of ids (NFC).
            symbols: Strings that are always one token, such as the language tokens
                `("<2de>", "<2fr>")` of Johnson et al. 2017. Each has two ids: at the beginning of
                a word, and inside a word (not in a word model).
            exact: True to reject text that does not support a vocabulary of that size; False to use
                the largest size that it supports.
            name: Name of the text in errors.

        Raises:
            ValueError: If a setting is not as above, there is no text, or the size is too small for
                its characters or, with `exact`, too large for it.
        """
        settings = training_settings(
            vocabulary_size, model_type, character_coverage, normalization, symbols
        )
        return cls(train_model(sentences, name, settings, exact))

    @classmethod
    def train_pair(cls, pairs, vocabulary_size: int = 6000, *, joint: bool = True, **settings):
        """Learn the vocabularies of sentence pairs: (source, target), two `Subwords`.

        Args:
            pairs: Iterable of `(source, target)` strings.
            vocabulary_size: Integer, number of ids of each vocabulary.
            joint: True for one vocabulary that both sides share.
            **settings: Other arguments, and errors: as in `train`. `normalization` may also be
                "fold", the default, which keeps the characters of targets: see `TrainingOptions`.
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
        """Ids of sentences, with the end token, without a start token: int32 arrays `(time,)`.

        Sentences are strings, or bytes, which need not be valid UTF-8. Without `end_of_empty` a
        sentence that has no token has no end token.
        """
        rows = self._processor.encode(list(sentences), out_type="numpy")
        return [np.append(row, np.int32(END)) if row.size or end_of_empty else row for row in rows]

    def split(self, texts) -> tuple:
        """(ids, lengths) of short texts without end tokens: int32 `(all ids,)`, int `(texts,)`."""
        # one thread: callers that split much text have a process for each core
        rows = self._processor.encode(list(texts), out_type=int, num_threads=1)
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        return np.fromiter(chain.from_iterable(rows), np.int32, int(lengths.sum())), lengths

    def decode(self, rows) -> list:
        """Texts of rows of ids up to the first end token; ids out of range count as unknown."""
        if not len(rows):
            return []
        # rows of one length are processed together: a search has many
        rows = self.known(rows) if isinstance(rows, np.ndarray) else [*map(self.known, rows)]
        written = is_text(rows) if isinstance(rows, np.ndarray) else map(is_text, rows)
        ids = [row[text].tolist() for row, text in zip(rows, written, strict=True)]
        return self._processor.decode(ids)

    def known(self, ids) -> np.ndarray:
        """Ids as int32; ids outside the vocabulary become the unknown token."""
        ids = np.asarray(ids)
        inside = (ids >= 0) & (ids < self.vocabulary_size)
        return np.where(inside, ids, UNKNOWN).astype(np.int32)

    def tokens(self, ids) -> np.ndarray:
        """The subwords of ids of any shape, as an object array; "" at padding.

        Ids outside the vocabulary count as unknown.

        Example:
            >>> subwords.tokens([[14, 8, 11, 3, 0]])
            array([['▁lower', '▁ne', 'west', '</s>', '']], dtype=object)
        """
        return self._tokens[self.known(ids)]

    @functools.cached_property
    def _tokens(self):
        """All subwords by their ids, `(vocabulary_size,)`."""
        tokens = self._processor.id_to_piece(list(range(self.vocabulary_size)))
        return np.array(["", *tokens[1:]], dtype=object)  # without padding's own name

    def words(self, sentences, end_of_empty: bool = True, longest: int | None = None) -> list:
        """The words of `sentence.split()` that each token covers: int32 arrays `(time, 2)`.

        Words are separated by white space of the text before normalization. The first and
        the last word of a token differ for a run of unknown words, one token of a word model. The
        end token has the number of words. `longest` bounds the tokens, the end token included.

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
        """Compose the characters of a text of tokens, as `decode` does, if tokens are parts."""
        return composed(text) if self.composes else text

    @functools.cached_property
    def composes(self) -> bool:
        """True if tokens are parts of characters, which decoded text composes."""
        return composes(self.model)

    def spaced(self, text) -> str:
        """The form of a text in which references and outputs are compared.

        A vocabulary that joins its words by single spaces can't write others, so spaces don't
        count: each run of white space is one space. A vocabulary that keeps spaces keeps the text.
        """
        return spaced(text) if self._spec.remove_extra_whitespaces else text

    @property
    def folds(self) -> bool:
        """True if the vocabulary replaces characters of the text that it reads."""
        return bool(self._spec.precompiled_charsmap)

    @functools.cached_property
    def _spec(self):
        from sentencepiece import sentencepiece_model_pb2  # which takes its time

        return sentencepiece_model_pb2.ModelProto.FromString(self.model).normalizer_spec

    @functools.cached_property
    def symbol_ids(self) -> np.ndarray:
        """Ids of the symbols that the vocabulary was trained with: int32 `(symbols,)`."""
        from sentencepiece import sentencepiece_model_pb2  # which takes its time

        from keras_bahdanau.text.graphemes import is_cluster  # which loads regex

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
        """SentencePiece's name: "bpe", "unigram", "char" (for graphemes, too) or "word"."""
        from sentencepiece import sentencepiece_model_pb2  # which takes its time

        trainer = sentencepiece_model_pb2.ModelProto.FromString(self.model).trainer_spec
        return trainer.ModelType.Name(trainer.model_type).lower()

    @property
    def counted_in(self) -> str:
        """Unit of the length of a sentence: "symbols" of characters or graphemes, else "words"."""
        return "symbols" if self.model_type == "char" else "words"

    def sizes(self, sentences) -> list:
        """Integer lengths of sentences in this unit; a symbol is a token."""
        if self.counted_in == "symbols":
            return [len(row) - 1 for row in self.encode(sentences)]  # without the end token
        return [len(sentence.split()) for sentence in sentences]

    def pieces(self, sentence) -> list:
        """SentencePiece's record of each token: `piece`, `id`, `surface`, `begin` and `end`.

        `begin` and `end` count bytes of the sentence, a string or bytes.

        Example:
            >>> [(piece.piece, piece.begin, piece.end) for piece in subwords.pieces("lower newest")]
            [('▁lower', 0, 5), ('▁ne', 5, 8), ('west', 8, 12)]
        """
        return list(self._processor.encode(sentence, out_type="proto").pieces)

    def unknown(self, sentences) -> list:
        """The distinct parts of sentences without an id: characters, or words of a word model."""
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
        """The same vocabulary as `GraphSubwords`; ImportError without tensorflow-text."""
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
