"""Corpora in TMX (Translation Memory eXchange 1.4), whose units are read as a stream."""

import itertools
import os
import re
import xml.parsers.expat

from keras_bahdanau.data.readers.line_corpora import check_text_file, open_bytes
from keras_bahdanau.data.readers.lines import LONGEST_LINE, file_errors
from keras_bahdanau.data.readers.text_corpus import TextCorpus, blocks_of_pairs, join_lines

_FORMATTING = {
    "bpt",
    "ept",
    "it",
    "ph",
    "ut",
}  # elements that contain no text of the segment
_CHUNK = 2**16
LONGEST_MARKUP = 2**22  # bytes of a tag or a comment, which expat reads again with each chunk
_DEEPEST = 1000  # maximum number of nested elements
_LONGEST_LANGUAGE = 100  # characters
_NAMED = 9  # number of languages to name in an error
MOST_WAITING = 1000  # units with one language before the first unit with two
# A placeholder between two words, such as one for a line break, separates them.
_PLACEHOLDER = "\0"
_BETWEEN_WORDS = re.compile("(?<=[^\\W\u2e80-\uffff])\0+(?=[^\\W\u2e80-\uffff])")
FORMS = ("a TMX file", "an XML file")
ANY = "*all*"  # no language is the source


class TmxFile(TextCorpus):
    """A TMX file, plain or gzip.

    `sides` contains two languages, where "en" also matches "en-GB", or is None. If it is None, the
    source is the `srclang` of the first unit with two languages or, if that is missing, the
    `srclang` of the header or the first language of the unit. The target is the other language.
    `say` reports both.
    """

    def __init__(self, path, sides=None, say=None):
        self.paths = [os.fspath(path)]
        check_text_file(path, FORMS)
        self.sides = sides and tuple(map(_code, sides))
        self._say = say

    def blocks(self, most):
        return blocks_of_pairs(self._pairs(), most)

    def _pairs(self):
        parser, sides, waiting = _UnitParser(self.paths[0]), self.sides, []
        with open_bytes(self.paths[0]) as file, file_errors(self.paths[0]):
            # read as many bytes as are not parsed yet, so that a long comment takes linear time
            read = lambda: file.read(max(_CHUNK, parser.unparsed))  # noqa: E731
            chunks = ((chunk, False) for chunk in iter(read, b""))
            # expat 2.6 and later may defer bytes until the last call
            for chunk, is_last in itertools.chain(chunks, [(b"", True)]):
                for language, unit in parser.feed(chunk, is_last):
                    if sides is None and len(unit) == 2:
                        sides = _sides(language, [*unit])
                        self._report(sides)
                    waiting.append(unit)
                    if sides is not None or len(unit) > 2 or len(waiting) > MOST_WAITING:
                        yield from (self._pair(unit, sides) for unit in waiting)
                        waiting = []
        yield from (self._pair(unit, sides) for unit in waiting)

    def _report(self, sides):
        if self._say is not None:
            self._say(f"languages of the TMX {self.paths[0]!r}: {sides[0]} -> {sides[1]}")
            self._say = None  # report only once, although a corpus is read several times

    def _pair(self, unit, sides):
        matched = [[name for name in unit if _matches(name, side)] for side in sides or ()]
        if self.sides is None and sum(map(len, matched)) < len(unit):
            names = sorted({*unit, *(sides or ())})
            named = ", ".join([*names[:_NAMED], *["..."][: len(names) > _NAMED]])
            raise ValueError(
                "If a TMX file does not have exactly two languages, both sides must be named. "
                f"Received: path={self.paths[0]!r} with {named}. "
                "Name source and target: --columns en,de."
            )
        return tuple(unit[names[0]] if names else "" for names in matched)


def _code(language):
    """Convert the code of a language to the form in which it is compared, such as "en-us"."""
    return language.lower().replace("_", "-")


def _base(language):
    return language.partition("-")[0]


def _matches(language, side):
    return language == side or language.startswith(f"{side}-")


def _sides(source, languages):
    """Return (source, target) from two languages, without regions if the languages differ."""
    if len({*map(_base, languages)}) == 2:
        source, languages = _base(source), [*map(_base, languages)]
    if source == languages[1]:
        languages.reverse()
    return tuple(languages)


def _source_of(attributes):
    language = _code(attributes.get("srclang", ""))
    return "" if language == ANY else language


class _UnitParser:
    """Parser of a stream of XML into translation units: (source language, texts by language)."""

    def __init__(self, path):
        self._path = path
        self._units, self._unit, self._language, self._text = [], None, None, None
        self._source = ["", ""]  # languages given by the header and by the unit
        self._skipped = 0  # depth inside a formatting element
        self._size = 0  # number of characters in the unit
        self._depth = self._fed = self.unparsed = 0  # `unparsed`: bytes of an incomplete tag
        self._parser = xml.parsers.expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.EntityDeclHandler = self._refuse_entity
        self._parser.SkippedEntityHandler = self._refuse_entity

    def feed(self, chunk, is_last=False):
        """Parse a chunk of bytes, and return the units that end in it."""
        self._units = []
        try:
            self._parser.Parse(chunk, is_last)
        except xml.parsers.expat.ExpatError as error:
            raise self._damaged(f"whose line {error.lineno} is not XML: {error}") from None
        except (LookupError, ValueError) as error:
            if "Received: " in str(error):
                raise
            raise self._damaged(f"whose encoding is not supported: {error}") from None
        self._fed += len(chunk)
        self.unparsed = self._fed - max(0, self._parser.CurrentByteIndex)
        if self.unparsed > LONGEST_MARKUP:
            line = self._parser.CurrentLineNumber
            raise self._damaged(
                f"whose tag or comment in line {line} has more than {LONGEST_MARKUP:,} bytes"
            )
        return self._units

    def _damaged(self, reason):
        return ValueError(
            f"A TMX file must be complete XML that declares no entities. Received: "
            f"path={self._path!r}, {reason}. Correct it, or write it again."
        )

    def _refuse_entity(self, name, *_):
        raise self._damaged(f"which declares or names the entity {name!r:.80}")

    def _start(self, name, attributes):
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._damaged(f"with more than {_DEEPEST:,} nested elements")
        if self._text is not None:
            if name == "ph" and not self._skipped:
                self._text.append(_PLACEHOLDER)
            self._skipped += bool(self._skipped or name in _FORMATTING)
        elif name == "header":
            self._source[0] = _source_of(attributes)
        elif name == "tu":
            self._unit, self._size = {}, 0
            self._source[1] = _source_of(attributes)
        elif name == "tuv":
            language = attributes.get("xml:lang") or attributes.get("lang", "")
            if len(language) > _LONGEST_LANGUAGE:
                raise self._damaged(f"with a language of {len(language):,} characters")
            self._language = _code(language)
            self._count(len(language) + 1)  # 1, because there may be any number of empty texts
        elif name == "seg" and self._unit is not None:
            self._text = []

    def _characters(self, text):
        if self._text is not None and not self._skipped:
            self._text.append(text)
            self._count(len(text))

    def _count(self, characters):
        """Limit the memory of one unit, in all its languages."""
        self._size += characters
        if self._size > LONGEST_LINE:
            line = self._parser.CurrentLineNumber
            raise self._damaged(
                f"whose unit in line {line} has more than {LONGEST_LINE:,} characters"
            )

    def _end(self, name):
        self._depth -= 1
        if self._skipped:
            self._skipped -= 1
        elif name == "seg" and self._text is not None:
            text = _BETWEEN_WORDS.sub(" ", "".join(self._text)).replace(_PLACEHOLDER, "")
            self._unit.setdefault(self._language, join_lines(text))
            self._text = None
        elif name == "tu" and self._unit is not None and self._text is None:
            self._units.append((self._source[1] or self._source[0], self._unit))
            self._unit = None
