"""A JSON parser like that of the server, which deviates from the JSON standard.

It stops after the first value, accepts any bytes in a string, and keeps all members with the same
name. The server's parser is recursive, so that too many nested levels crash the server.
"""

import math
import re

from serving_double.errors import Refused, end_server

DEEPEST = 25_000  # levels: the server accepts 20,000 and crashes at 30,000
_WHITE = re.compile(rb"[ \n\r\t]*")
_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*)(\.[0-9]*)?([eE][+-]?[0-9]*)?")
_NO_NUMBER = re.compile(rb"(-?)(?:(NaN)|Inf(?:inity)?)")
_PLAIN = re.compile(rb'[^"\\\x00-\x1f]*')
_HEX = re.compile(rb"[0-9a-fA-F]{4}")
_WORDS = {b"null": None, b"true": True, b"false": False}
_ESCAPES = dict(zip(b'"\\/bfnrt', '"\\/\b\f\n\r\t', strict=True))
_HIGH, _LOW = range(0xD800, 0xDC00), range(0xDC00, 0xE000)  # surrogates


class Object(dict):
    """A JSON object: a dictionary of the first member of each name; `pairs` has all members."""

    def __init__(self):
        self.pairs = []

    def add(self, name, value):
        self.pairs.append((name, value))
        self.setdefault(name, value)


def parsed(body):
    """Parse the object of a request; bytes that aren't valid UTF-8 become lone surrogates."""
    value = _Parser(body).document()
    if not isinstance(value, dict):
        raise Refused("INVALID_ARGUMENT", f"JSON Value: {value} Is not object")
    return value


class _Parser:
    def __init__(self, body):
        self.body, self.place = bytes(body), 0

    def document(self):
        if not self.body:
            raise Refused("INVALID_ARGUMENT", "JSON Parse error: The document is empty")
        self.place = 3 if self.body.startswith(b"\xef\xbb\xbf") else 0
        if self.peek() == b"":
            raise self.error("The document is empty.")
        opened, root = [], []
        self.begin(root.append, opened)
        while opened:
            container, add = opened[-1]
            kind = "member" if isinstance(container, dict) else "element"
            closing = b"}" if kind == "member" else b"]"
            following, size = self.peek(), len(getattr(container, "pairs", container))
            if following == closing and not (size and self.after_comma):
                self.place += 1
                opened.pop()
                self.after_comma = False
                continue
            if size and not self.after_comma:
                if following != b",":
                    raise self.error(
                        f"Missing a comma or {closing.decode()} after an {self.noun(kind)}."
                    )
                self.place += 1
                self.after_comma = True
                continue
            self.after_comma = False
            self.begin(self.member(add) if kind == "member" else add, opened)
        return root[0]

    after_comma = False

    @staticmethod
    def noun(kind):
        return "object member" if kind == "member" else "array element"

    def member(self, add):
        """Parse a name and its colon; return a function that adds the value."""
        if self.peek() != b'"':
            raise self.error("Missing a name for object member.")
        name = self.string()
        if self.peek() != b":":
            raise self.error("Missing a colon after a name of object member.")
        self.place += 1
        return lambda value: add(name, value)

    def begin(self, add, opened):
        """Parse a scalar value or an opening bracket."""
        following = self.peek()
        if following in (b"{", b"["):
            self.place += 1
            container = Object() if following == b"{" else []
            add(container)
            opened.append((container, container.add if following == b"{" else container.append))
            if len(opened) > DEEPEST:
                end_server()
        else:
            add(self.string() if following == b'"' else self.scalar())

    def peek(self):
        """Skip white space, and return the next byte."""
        self.place = _WHITE.match(self.body, self.place).end()
        return self.body[self.place : self.place + 1]

    def scalar(self):
        for word, value in _WORDS.items():
            if self.body.startswith(word, self.place):
                self.place += len(word)
                return value
        if special := _NO_NUMBER.match(self.body, self.place):
            self.place = special.end()
            return math.nan if special[2] else math.copysign(math.inf, -1 if special[1] else 1)
        found = _NUMBER.match(self.body, self.place)
        if found is None:
            raise self.error("Invalid value.")
        self.place = found.end()
        if found[1] == b".":
            raise self.error("Miss fraction part in number.")
        if found[2] is not None and not found[2][-1:].isdigit():
            raise self.error("Miss exponent in number.")
        is_whole = found[1] is None and found[2] is None
        value = int(found[0]) if is_whole and len(found[0]) < 21 else float(found[0])
        if math.isinf(value):
            self.place = found.start()
            raise self.error("Number too big to be stored in double.")
        whole_range = range(-(2**63), 2**64)
        return value if not isinstance(value, int) or value in whole_range else float(value)

    def string(self):
        start, content = self.place, bytearray()
        self.place += 1
        while True:
            plain = _PLAIN.match(self.body, self.place)
            content += plain[0]
            self.place = plain.end()
            match self.body[self.place : self.place + 1]:
                case b'"':
                    self.place += 1
                    return content.decode("utf-8", "surrogateescape")
                case b"\\":
                    content += self.escape().encode("utf-8", "surrogatepass")
                case b"" | b"\0":
                    self.place = start
                    raise self.error("Missing a closing quotation mark in string.")
                case _:
                    raise self.error("Invalid encoding in string.")

    def escape(self):
        start, self.place = self.place, self.place + 2
        character = self.body[start + 1 : start + 2]
        if character != b"u":
            if character and character[0] in _ESCAPES:
                return _ESCAPES[character[0]]
            self.place = start
            raise self.error("Invalid escape character in string.")
        first = self.hex_digits(start)
        if first not in _HIGH:
            return chr(first)
        if self.body[self.place : self.place + 2] == b"\\u":
            self.place += 2
            second = self.hex_digits(start)
            if second in _LOW:
                return chr(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00))
        self.place = start
        raise self.error("The surrogate pair in string is invalid.")

    def hex_digits(self, start):
        digits = _HEX.match(self.body, self.place)
        if digits is None:
            self.place = start
            raise self.error("Incorrect hex digit after \\u escape in string.")
        self.place = digits.end()
        return int(digits[0], 16)

    def error(self, message):
        return Refused("INVALID_ARGUMENT", f"JSON Parse error: {message} at offset: {self.place}")
