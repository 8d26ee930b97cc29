"""Translations as training data: the TSV file for back-translation and self-training."""

import collections
import gzip
import os
import re
from pathlib import Path

from keras_bahdanau.files.whole_file import take_new_name
from keras_bahdanau.settings.checks import counted

REMEMBERED = 2**20  # number of recent pairs in which duplicates are detected: 200 MB
PIECE = 2**16  # characters per write
_UNKNOWN = "\u2047"  # ⁇, `text.vocabulary.NO_WORD`, whose module loads SentencePiece
_ENDS_A_CELL = re.compile(r"[\t\r\n]+")


class PairFile:
    """TSV file of sources and their translations, one pair per line, in the format for training.

    A pair is left out and counted if one side is empty; if its translation was rejected, contains
    the unknown token "⁇", or did not end; if its source was truncated; or if it repeats one of the
    last 2^20 pairs.

    The file is created at the end of the `with` block. Until then, the pairs are in
    `.unfinished-NAME` in the same directory, and this file is kept if the block fails. If the
    process is killed, the last line may be incomplete.

    Args:
        path: Path of the file. It is compressed if its name ends in `.gz`.
        reversed: Bool. True for back-translation (Sennrich, Haddow and Birch 2016), where the
            translation is the source of a pair.
        tag: String to put before the source of each pair, such as "<bt>" (Caswell et al. 2019), or
            None.
        scores: Bool. True to write the translation's score as a third column, which training
            ignores.
        say: Function of one string that reports what is kept if the `with` block fails.

    Attributes:
        written: Integer, the number of pairs so far.
        left_out: `collections.Counter` of the pairs left out, by reason.

    Raises:
        FileExistsError: If there is an unfinished file of an earlier run with this name.
        ValueError: If the tag can't be a token.

    Example:
        >>> with PairFile("back.tsv", reversed=True, tag="<bt>") as file:
        ...     file.add("Ein Mann.", translator.translate_nbest(["Ein Mann."], 1)[0])
    """

    def __init__(self, path, reversed=False, tag=None, scores=False, say=print):
        self.path = Path(path)
        self.reversed = reversed
        self.tag = tag
        self.scores = scores
        self.written = 0
        self.left_out = collections.Counter()
        self._say = say
        self._seen = collections.OrderedDict()  # hashes of pairs, the oldest first
        self._waiting, self._added = "", 0  # lines that are not on disk yet, and sources so far
        self._size = self._kept = 0  # bytes on disk, and the number of sources they contain
        self._unfinished = self.path.with_name(f".unfinished-{self.path.name}")
        if self._unfinished.exists():
            raise FileExistsError(
                "The unfinished pairs of an earlier run must not be overwritten. Received: "
                f"path={str(path)!r}, with {str(self._unfinished)!r} next to it. Rename the "
                "unfinished file to keep it, or remove it."
            )
        if tag is not None:
            from keras_bahdanau.text.vocabulary import symbol_forms  # loads SentencePiece

            symbol_forms([tag], "word", False)

    def __enter__(self):
        open(self._unfinished, "xb").close()
        return self

    def __exit__(self, error, *_):
        whole = False
        try:
            if self._waiting or error is None:
                self._write()
            if error is None:
                take_new_name(self._unfinished, self.path)
                whole = True
        finally:
            if not whole:
                self._keep()

    def add(self, source, translations):
        """Write the pairs of a source string and its `Translation`s."""
        lines = ""
        for translation in translations:
            pair = [_cell(source), _cell(translation.text)]
            reason = self._reason(*pair, translation)
            if reason is not None:
                self.left_out[reason] += 1
                continue
            self._remember(hash(tuple(pair)))
            pair = pair[::-1] if self.reversed else pair
            if self.tag is not None:
                pair[0] = f"{self.tag} {pair[0]}"
            score = [f"{translation.score:.4f}"] if self.scores else []
            lines += "\t".join([*pair, *score]) + "\n"
            self.written += 1
        self._waiting += lines
        self._added += 1
        if len(self._waiting) >= PIECE:
            self._write()

    def _remember(self, pair):
        self._seen[pair] = None
        if len(self._seen) > REMEMBERED:
            self._seen.popitem(last=False)

    def _write(self):
        """Write the pending lines to disk: all of them, or none."""
        data = self._waiting.encode()
        if self.path.suffix == ".gz":
            data = gzip.compress(data, mtime=0)  # a separate gzip member, which is complete
        try:
            with open(self._unfinished, "ab") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except BaseException as error:
            os.truncate(self._unfinished, self._size)
            if not isinstance(error, OSError):
                raise
            raise type(error)(
                "Pairs must be written to disk. Received: "
                f"path={str(self.path)!r} ({error.strerror}). "
                "Free some space, or choose another directory."
            ) from None
        self._size, self._kept, self._waiting = self._size + len(data), self._added, ""

    def _keep(self):
        """Report what the unfinished file contains, or remove it if it is empty."""
        if not self._size:
            self._unfinished.unlink()
            return
        self._say(
            f"the pairs of the first {self._kept:,} sources are kept in {str(self._unfinished)!r}. "
            "Rename it, and translate the other sources into another file."
        )

    def _reason(self, source, text, translation):
        """Return the reason why a pair of cells is left out, or None."""
        if translation.rejected:
            return "rejected"
        if not source or not text:
            return "empty"
        if translation.truncated:
            return "with a truncated source"
        if _UNKNOWN in text and _UNKNOWN not in source:
            return "with an unknown token"
        if not translation.finished:
            return "without an end"
        return "repeated" if hash((source, text)) in self._seen else None

    def report(self):
        """Return one line of text about what was written and what was left out."""
        left_out = ", ".join(f"{count:,} {reason}" for reason, count in self.left_out.items())
        pairs = counted(self.written, "pairs")
        return f"{pairs} in {str(self.path)!r}; left out: {left_out or 'none'}"


def cell_of(text):
    """Replace characters that would end a TSV cell with a space."""
    return _ENDS_A_CELL.sub(" ", text)


def _cell(text):
    return cell_of(text).strip()
