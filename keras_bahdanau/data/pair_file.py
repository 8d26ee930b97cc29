"""Translations as training data: the TSV file of back-translation and of self-training.

Back-translation (Sennrich, Haddow and Birch 2016) takes text of the target language, translated
back, as new sources; self-training takes the model's own translations as new targets.
"""

import collections
import contextlib
import gzip
import re
from pathlib import Path

from keras_bahdanau.whole_file import replacing

_ENDS_A_CELL = re.compile(r"[\t\r\n]+")


class PairFile:
    r"""TSV of sources and their translations, one pair a line, as training reads it.

    A pair is left out, and counted, if one side is empty, if its text was rejected, if the source
    was cut, or if the same source has the same text already, wherever it stands. For that a hash
    of each pair is kept, some 100 bytes of memory. The file appears whole, at the end of the
    `with` block.

    Args:
        path: Path of the file; a name that ends in `.gz` is compressed.
        reversed: Bool. True for the translation as the source of the pair: back-translation.
        tag: String before the source of each pair, such as "<bt>" (Caswell et al. 2019); None
            for none.
        scores: Bool. True for a third column, the score of the translation, which training
            ignores.

    Attributes:
        written: Integer, number of pairs so far.
        left_out: `collections.Counter` of pairs by the reason why they were left out.

    Raises:
        ValueError: If the tag can't be a token.

    Example:
        >>> with PairFile("back.tsv", reversed=True, tag="<bt>") as file:
        ...     file.add("Ein Mann.", translator.translate_nbest(["Ein Mann."], 1)[0])
        >>> Path("back.tsv").read_text()
        '<bt> A man.\tEin Mann.\n'
    """

    def __init__(self, path, reversed=False, tag=None, scores=False):
        self.path = Path(path)
        self.reversed = reversed
        self.tag = tag
        self.scores = scores
        self.written = 0
        self.left_out = collections.Counter()
        self._hashes = set()
        if tag is not None:
            from keras_bahdanau.text.vocabulary import symbol_forms  # which loads SentencePiece

            symbol_forms([tag], "word", False)

    def __enter__(self):
        unfinished = self.path.with_name(f".unfinished-{self.path.name}")
        opened = gzip.open if self.path.suffix == ".gz" else open
        with contextlib.ExitStack() as stack:
            stack.enter_context(replacing(self.path, unfinished))
            file = opened(unfinished, "wt", encoding="utf-8", newline="")
            self._file = stack.enter_context(file)
            self._opened = stack.pop_all()
        return self

    def __exit__(self, *error):
        return self._opened.__exit__(*error)

    def add(self, source, translations):
        """Write the pairs of a source.

        Args:
            source: String.
            translations: List of `Translation`.
        """
        for one in translations:
            pair = [_cell(source), _cell(one.text)]
            reason = self._reason(*pair, one)
            if reason is not None:
                self.left_out[reason] += 1
                continue
            self._hashes.add(hash(tuple(pair)))
            pair = pair[::-1] if self.reversed else pair
            if self.tag is not None:
                pair[0] = f"{self.tag} {pair[0]}"
            score = [f"{one.score:.4f}"] if self.scores else []
            self._file.write("\t".join([*pair, *score]) + "\n")
            self.written += 1

    def _reason(self, source, text, translation):
        """The reason why a pair of cells is left out, or None."""
        if translation.rejected:
            return "rejected"
        if not source or not text:
            return "empty"
        if translation.truncated:
            return "with a source that was cut"
        return "the same again" if hash((source, text)) in self._hashes else None

    def report(self):
        """One line of text on what was written and left out."""
        left_out = ", ".join(f"{count:,} {reason}" for reason, count in self.left_out.items())
        return f"{self.written:,} pairs in {str(self.path)!r}; left out: {left_out or 'none'}"


def cell_of(text):
    """A text without what would end the cell of a TSV: one space in the place of it."""
    return _ENDS_A_CELL.sub(" ", text)


def _cell(text):
    return cell_of(text).strip()
