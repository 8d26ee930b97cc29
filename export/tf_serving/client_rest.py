"""Translate with a model on TensorFlow Serving over REST, line by line.

    python client_rest.py --label stable "A man in an orange hat."
    python client_rest.py --label stable --file sentences.txt --alignment
    python client_rest.py --label canary --nbest < sentences.txt
    python client_rest.py --label stable --prefix "Ein M" "A man in an orange hat."
    python client_rest.py --label stable --bytes image_bytes formula.png

It needs only Python 3.10. Without sentences and `--file`, it reads standard input. With `--bytes`,
each line is the path of a file, whose content is sent as the input of that name.

The output is that of `keras-bahdanau translate`, with control characters escaped as in JSON. A line
of input is a sentence. For `--signature decode_ids`, it consists of ids separated by spaces, and
for `--signature score_pair`, of a source and a target separated by a tab. For files, the score is
printed as well: 'text ||| score'. The program does not trust the server: a request has a time
limit, and an answer is rejected if it is too large or does not match the signature.

Exit codes: 0 if everything is translated; 1 if the server can't be reached, rejects the request or
gives an invalid answer; 2 if the command line or the input is wrong.
"""

import argparse
import base64
import codecs
import contextlib
import functools
import http.client
import io
import itertools
import json
import math
import os
import re
import sys
import time
import urllib.parse

END, UNKNOWN, NO_WORD, WORD_START = "</s>", "<unk>", "⁇", "▁"
ANSWER_LIMIT = 256 * 2**20  # maximum bytes in an answer; some alignments are large
LINE_LIMIT = 2**20  # maximum bytes in a line of input
FILE_LIMIT = 2**26  # maximum bytes in a file
ID_COLUMNS = 512  # a row of ids has a multiple of this number of columns
DAY = 86_400.0  # seconds
NO_TEXT = -5e8  # empty entries of a beam have lower scores

TEXT, NUMBER, COUNT = str, float, int
_LIST = {"translations": [TEXT], "scores": [NUMBER]}
_ALIGNED_LIST = {
    **_LIST,
    "source_tokens": [TEXT],
    "source_length": COUNT,
    "target_tokens": [[TEXT]],
    "target_lengths": [COUNT],
    "token_words": [[NUMBER]],
    "alignment": [[[NUMBER]]],
}
FIELDS = {  # the outputs of each signature that are printed; [kind] is a list of any length
    "serving_default": {"translation": TEXT, "score": NUMBER},
    "translate_with_alignment": {
        "translation": TEXT,
        "source_tokens": [TEXT],
        "source_length": COUNT,
        "target_tokens": [TEXT],
        "target_length": COUNT,
        "token_words": [NUMBER],
        "alignment": [[NUMBER]],
    },
    "translate_nbest": _LIST,
    "translate_prefix": _LIST,
    "translate_nbest_with_alignment": _ALIGNED_LIST,
    "translate_prefix_with_alignment": _ALIGNED_LIST,
    "decode_ids": {"ids": [COUNT], "length": COUNT},
    "score_pair": {"score": NUMBER, "length": COUNT},
}
VERBS = ("translate", "read", "transcribe", "decode")  # beginnings of their names
LISTS_WITH_ALIGNMENT = ("translate_nbest_with_alignment", "translate_prefix_with_alignment")
OF_EACH = ("target_tokens", "target_lengths", "token_words", "alignment")  # one per text
OLDER_LACK = "token_words"  # older models lack this output
SIZES = {  # outputs, and the outputs that contain their minimum length
    "source_tokens": "source_length",
    "target_tokens": "target_length",
    "token_words": "target_length",
    "alignment": "target_length",
    "ids": "length",
}
# Characters that move a terminal's cursor, end a line or change the text direction; surrogates.
UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class ServerError(Exception):
    """Error: the server can't be reached, rejects the request or gives an invalid answer."""


class InputError(Exception):
    """Error: a line of the input is not valid for the signature."""


class RestServer:
    """A model in a server's REST API.

    Args:
        url: URL of the server, such as `"http://localhost:8501"`.
        model: Name of the model.
        version: Integer, or None for the highest version that is loaded.
        label: Label of a version, such as `"stable"`, instead of its number.
        timeout: Maximum duration of a request in seconds.
    """

    def __init__(self, url, model, version=None, label=None, timeout=30.0):
        parts = split_url(url)
        if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(
                "A server must be a URL such as http://localhost:8501. "
                f"Received: server={url!r}. Use this form."
            )
        secure = parts.scheme == "https"
        self._kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        self._url, self._netloc, self._timeout = url, parts.netloc, timeout
        self._path = f"{parts.path.rstrip('/')}/v1/models/{_quoted(model)}"
        if version is not None:
            self._path += f"/versions/{version}"
        elif label is not None:
            self._path += f"/labels/{_quoted(label)}"

    def connect(self):
        """Create a connection for one or more requests."""
        return self._kind(self._netloc, timeout=self._timeout)

    def predict(self, signature, rows, connection=None):
        """Run a signature of the model.

        Args:
            signature: Name of the signature.
            rows: List of dictionaries from names of inputs to the values for one sentence or
                file. Bytes are sent as base64.
            connection: Result of `connect`; None to create a connection for this request.

        Returns:
            List of dictionaries from names of outputs to values, one for each row.

        Raises:
            ServerError: If there is no answer in time, if the answer is an error, or if it does
                not match the signature.
        """
        if connection is None:
            with contextlib.closing(self.connect()) as connection:
                return self.predict(signature, rows, connection)
        asked = {"signature_name": signature, "instances": rows}
        asked = json.dumps(asked, ensure_ascii=False, default=_base64)
        status, body = self._post(connection, asked)
        try:
            answer = json.loads(body, parse_constant=_no_number)
        except (ValueError, RecursionError):
            answer = body[:200].decode("utf-8", "replace")
        if status != 200 or not isinstance(answer, dict) or "predictions" not in answer:
            said = answer.get("error", answer) if isinstance(answer, dict) else answer
            raise ServerError(
                f"The server must accept the request. Received: HTTP {status} from {self._url}: "
                f"{shortened(said)}"
            )
        return checked(signature, len(rows), answer["predictions"], self._url)

    def _post(self, connection, body):
        headers = {"Content-Type": "application/json"}
        end = time.monotonic() + self._timeout
        try:
            content = body.encode("utf-8", "replace")
            if connection.sock is None:
                connection.connect()
                connection.sock = _InTime(connection.sock)
            connection.sock.end = end
            connection.request("POST", self._path + ":predict", content, headers)
            response = connection.getresponse()
            return response.status, self._body(response)
        except TimeoutError as error:
            raise ServerError(
                f"The server must answer in time. Received: server={self._url}, no answer in "
                f"{self._timeout:g} s. Set a longer --timeout, or a lower --batch."
            ) from error
        except (OSError, ValueError, http.client.HTTPException) as error:  # chunks of -5 bytes, say
            raise ServerError(
                f"The server must be reachable. Received: server={self._url}: "
                f"{shortened(error) or type(error).__name__}. "
                "Start it, or set --server to another one."
            ) from error

    def _body(self, response):
        body, declared = bytearray(), response.length
        while part := response.read(2**16):
            body += part
            if len(body) > ANSWER_LIMIT:
                raise ServerError(
                    f"An answer must have at most {ANSWER_LIMIT:,} bytes. "
                    f"Received: more from {self._url}. Set a lower --batch."
                )
        if declared not in (None, len(body)):
            raise http.client.IncompleteRead(b"", declared - len(body))
        return body


class _InTime:
    """A socket whose writes and reads together have a deadline, however slowly bytes arrive.

    Attributes:
        end: Float, the deadline in seconds, by the clock of `time.monotonic`.
    """

    end = math.inf

    def __init__(self, socket):
        self._socket = socket
        self.close = socket.close

    def sendall(self, data):
        self.wait_no_longer()
        self._socket.sendall(data)

    def makefile(self, mode):
        return io.BufferedReader(_Reader(self, self._socket.makefile(mode, buffering=0)))

    def wait_no_longer(self):
        left = self.end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._socket.settimeout(left)


class _Reader(io.RawIOBase):
    """Stream of the bytes that an `_InTime` receives."""

    def __init__(self, owner, stream):
        self._owner, self._stream = owner, stream

    def readable(self):
        return True

    def readinto(self, buffer):
        self._owner.wait_no_longer()
        return self._stream.readinto(buffer)

    def close(self):
        self._stream.close()
        super().close()


def _base64(content):
    """Encode bytes for the REST API."""
    return {"b64": base64.b64encode(content).decode()}


def split_url(url):
    """Return the parts of a URL, or None if its host or port is not valid."""
    try:
        parts = urllib.parse.urlsplit(url)
        has_port = parts.port != 0  # raises ValueError above 65535
        return parts if has_port and not re.search(r"[\s\x00-\x20\x7f]", parts.netloc) else None
    except ValueError:
        return None


def _quoted(name):
    return urllib.parse.quote(name, safe="", errors="replace")


def _no_number(name):
    raise ValueError(f"{name} is not a JSON number")


def shortened(said):
    """Return at most 300 characters of a server's message, on one line."""
    return printable(" ".join(str(said)[:1000].split()))[:300]


def checked(signature, count, answers, server):
    """Return the answers of a server, after checking that they match a signature.

    Args:
        signature: Name of the signature.
        count: Integer, the number of rows in the request.
        answers: The answers of the server.
        server: Name of the server, for the error.

    Raises:
        ServerError: If the number of answers is wrong, or an answer lacks an output.
    """
    if not isinstance(answers, list) or len(answers) != count:
        received = f"{len(answers)} answers" if isinstance(answers, list) else shortened(answers)
        raise ServerError(
            "The server must answer each row. "
            f"Received: {received} to {count} rows from {server}. Use another server."
        )
    for row, answer in enumerate(answers):
        wrong = _wrong_output(signature, answer)
        if wrong is not None:
            raise ServerError(
                f"The server must answer as {signature} does. Received: {wrong} in answer "
                f"{row + 1} from {server}. Export the model again, or use another server."
            )
    return answers


def _wrong_output(signature, answer):
    """Return what is wrong with the answer to one row, as a string; None if it is valid."""
    if not isinstance(answer, dict):
        return shortened(repr(answer))
    form = _form(signature)
    kinds = {_name_in(answer, name): kind for name, kind in FIELDS.get(form, {}).items()}
    if OLDER_LACK not in answer:
        kinds.pop(OLDER_LACK, None)
    for name, kind in {**kinds, **({"truncated": bool} if "truncated" in answer else {})}.items():
        if name not in answer:
            return f"no {name}"
        if not _fits(answer[name], kind):
            return f"{name}={shortened(repr(answer[name]))}"
    if "scores" not in kinds:
        return _wrong_sizes(answer, kinds)
    for name in (_name_in(answer, "translations"), *OF_EACH):
        if name in kinds and len(answer[name]) != len(answer["scores"]):
            return f"{len(answer[name])} {name} with {len(answer['scores'])} scores"
    wrong = (_wrong_sizes(one, kinds) for one in _of_list(answer)) if "alignment" in kinds else ()
    return next(filter(None, wrong), None)


def _wrong_sizes(answer, names):
    """Return what is wrong with the sizes of outputs for one text; None if they are valid."""
    for name, counted in SIZES.items():
        if name in names and len(answer[name]) < answer[counted]:
            return f"{len(answer[name])} {name} with {counted}={answer[counted]}"
    if "alignment" in names:
        columns = min(map(len, answer["alignment"]), default=answer["source_length"])
        if columns < answer["source_length"]:
            return f"{columns} columns with source_length={answer['source_length']}"
    return None


def _of_list(answer):
    """Yield the answer for each text in a list, in the form of `translate_with_alignment`."""
    of_source = {name: answer[name] for name in ("source_tokens", "source_length")}
    names = [name for name in OF_EACH if name in answer]
    for values in zip(*(answer[name] for name in names), strict=True):
        one = dict(zip(names, values, strict=True))
        yield {**of_source, **one, "target_length": one["target_lengths"]}


def _form(signature):
    """Return the key in `FIELDS` for a signature, which may have another verb: `read_nbest`."""
    verb, _, rest = signature.partition("_")
    alike = f"translate_{rest}"
    return alike if verb in VERBS and alike in FIELDS else signature


def _name_in(answer, name):
    """Return the name of an output in an answer: a model that does not translate has a `text`."""
    other = name.replace("translation", "text")
    return other if other in answer else name


def _fits(value, kind):
    """Return True if a value has a kind in `FIELDS`. A bool is not a number; numbers are finite."""
    if isinstance(kind, list):
        return isinstance(value, list) and all(_fits(item, kind[0]) for item in value)
    if isinstance(value, bool) or kind is bool:
        return isinstance(value, bool) and kind is bool
    if kind is NUMBER:
        return isinstance(value, int | float) and abs(value) <= sys.float_info.max
    return isinstance(value, kind) and (kind is TEXT or 0 <= value < 2**31)


def to_rows(signature, lines, name=None, prefix=None):
    """Convert lines to inputs of a signature, a dictionary for each line.

    Args:
        signature: Name of the signature.
        lines: List of strings.
        name: Name of the input for the bytes of files, if the lines are their paths; None for
            lines of text.
        prefix: Beginning of each text, for a signature that accepts a prefix; None for others.

    Raises:
        InputError: If a line is not valid for the signature, or is not the path of a file.
    """
    if signature == "decode_ids":
        ids = [_ids(line) for line in lines]
        # All clients use the same widths, since a server merges only rows of equal width.
        width = -(-max(1, *map(len, ids)) // ID_COLUMNS) * ID_COLUMNS
        return [
            {"source": row + [0] * (width - len(row)), "source_length": len(row)} for row in ids
        ]
    value_of = str if name is None else content_of
    if signature == "score_pair":
        pairs = [_pair(line) for line in lines]
        return [{name or "text": value_of(source), "target": target} for source, target in pairs]
    given = {} if prefix is None else {"prefix": prefix}
    return [{name or "text": value_of(line), **given} for line in lines]


def content_of(path):
    """Return the bytes of a file.

    Raises:
        InputError: If it does not exist, can't be read, or is larger than `FILE_LIMIT`.
    """
    if not os.path.isfile(path):
        kind = "a directory" if os.path.isdir(path) else "no such file"
        raise InputError(
            "A line for --bytes must be the path of a file. "
            f"Received: line={path[:200]!r}, {kind}. Correct it."
        )
    with _open(path) as file:
        content = file.read(FILE_LIMIT + 1)
    if len(content) > FILE_LIMIT:
        raise InputError(
            f"A file must have at most {FILE_LIMIT:,} bytes. "
            f"Received: line={path[:200]!r}, which has more. Use a smaller file."
        )
    return content


def _ids(line):
    try:
        ids = [int(word) for word in line.split()]
    except ValueError:
        ids = None
    if ids is None or not all(-(2**31) <= number < 2**31 for number in ids):
        raise InputError(
            "A line for decode_ids must consist of 32-bit ids, separated by spaces. "
            f"Received: line={line[:80]!r}. Tokenize it, or use another signature."
        )
    return ids


def _pair(line):
    fields = line.split("\t")
    if len(fields) != 2:
        raise InputError(
            "A line for score_pair must consist of a source and a target, separated by a tab. "
            f"Received: line={line[:80]!r}. Correct it."
        )
    return fields


def to_lines(signature, answer, number, sentence=None):
    """Return the lines to print for one answer.

    Args:
        signature: Name of the signature; None for all outputs, as JSON.
        answer: Dictionary from names of outputs to values.
        number: Integer, the index of the sentence, from 0.
        sentence: String, the sentence that was sent; None if the input is not text.

    Returns:
        List of strings.
    """
    match _form(signature or ""):
        case "serving_default" if "translation" in answer:
            return [answer["translation"]]
        case "serving_default":
            return [f"{answer['text']} ||| {answer['score']:.4f}"]
        case "translate_with_alignment" if "translation" in answer:
            return [f"{answer['translation']} ||| {word_links(answer, sentence)}"]
        case "translate_nbest" | "translate_prefix":
            pairs = zip(answer[_name_in(answer, "translations")], answer["scores"], strict=True)
            return [f"{number} ||| {text} ||| {score:.4f}" for text, score in _found(pairs)]
        case form if form in LISTS_WITH_ALIGNMENT and "translations" in answer:
            rows = zip(answer["translations"], answer["scores"], _of_list(answer), strict=True)
            sources = _source_words(answer, sentence)
            return [
                f"{number} ||| {text} ||| {score:.4f} ||| {_links(one, sources)}"
                for text, score, one in _found(rows)
            ]
        case "decode_ids":
            return [" ".join(map(str, answer["ids"][: answer["length"]]))]
        case "score_pair":
            return [f"{answer['score']:.4f} ||| {answer['length']}"]
    return [json.dumps(answer, ensure_ascii=False)]


def _found(rows):
    """Return the rows (text, score, ...) that are texts: a beam may have empty entries."""
    return [row for rank, row in enumerate(rows) if not rank or row[1] > NO_TEXT]


def word_links(answer, sentence=None):
    """Return the alignment between words in Pharaoh format, such as "0-0 1-2".

    A target word is linked to the source word that its pieces attend to most. A word that attends
    to the end of the sentence is not linked. `sentence` is the input, or None if it is not text.
    """
    return _links(answer, _source_words(answer, sentence))


def _links(answer, sources):
    """Return the alignment to given source words, in time bounded by the size of the answer."""
    links = []
    for target, rows in _target_words(answer).items():
        weights = [
            sum(answer["alignment"][row][column] for row in rows for column in columns)
            for _, columns in sources
        ]
        if any(weights):
            source = weights.index(max(weights))
            if sources[source][0] not in (END, ""):
                links.append((source, target))
    return " ".join(f"{source}-{target}" for source, target in sorted(links))


def _source_words(answer, sentence):
    """Return the words of the source: pairs of a word and the positions of its pieces.

    Only the sentence shows whether an unknown piece is part of a word or a word by itself.
    """
    tokens = answer["source_tokens"][: answer["source_length"]]
    words = _words(tokens)
    if sentence is None or _count(words) == len(sentence.split()):
        return words
    return _words([NO_WORD if token == UNKNOWN else token for token in tokens])


def _count(words):
    return sum(word not in (END, "") for word, _ in words)


def _target_words(answer):
    """Return a dictionary from the index of each target word to the positions of its pieces.

    The model gives these indices, since only it knows which source words it has copied into the
    text. For a copy of several words it gives the index of the first one.
    """
    length, rows = answer["target_length"], {}
    if OLDER_LACK in answer:
        for position, number in enumerate(answer[OLDER_LACK][:length]):
            rows.setdefault(round(number), []).append(position)
    else:
        for number, (word, positions) in enumerate(_words(answer["target_tokens"][:length])):
            rows[number if word not in (END, "") else -1] = positions
    return {number: positions for number, positions in rows.items() if number >= 0}


def _words(tokens):
    """Join tokens to words: pairs of a word and the positions of its pieces."""
    words, ended, last = [], False, END  # `last`: how the last word begins
    for position, token in enumerate(tokens):
        begins = ended or token.startswith(WORD_START)
        if last and (begins or {END, UNKNOWN} & {token, last}):
            words.append(([], []))
            last = ""
        pieces, positions = words[-1]
        pieces.append(token.replace(WORD_START, ""))
        positions.append(position)
        last = (last + pieces[-1])[: len(UNKNOWN) + 1]
        ended = token.endswith(WORD_START)
    return [("".join(pieces), positions) for pieces, positions in words]


def parse(description, default_server, arguments=None):
    """Parse the command line that both clients share."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("text", nargs="*", type=utf8, help="sentences [default: standard input]")
    parser.add_argument("--file", help="UTF-8 file with a sentence per line")
    parser.add_argument(
        "--bytes",
        metavar="INPUT",
        help="lines are paths of files; send their bytes as this input: image_bytes or audio_bytes",
    )
    parser.add_argument("--server", default=default_server, help="[default: %(default)s]")
    parser.add_argument("--model", default="translator", help="model name [default: %(default)s]")
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--version",
        type=positive(int, 2**63 - 1),
        help="number of a version [default: the highest that is loaded]",
    )
    which.add_argument(
        "--label",
        help="label such as stable or canary, instead of a version [default: none]",
    )
    parser.add_argument(
        "--signature",
        default="serving_default",
        help="serving_default, translate_with_alignment, translate_nbest, decode_ids or "
        "score_pair; for files, such as read_nbest or transcribe_nbest [default: %(default)s]",
    )
    for flag, explanation in (
        ("--alignment", "append the linked words, ' ||| 0-0 1-2': uses translate_with_alignment"),
        ("--nbest", "print 'number ||| text ||| score', best first: uses translate_nbest"),
    ):
        parser.add_argument(flag, action="store_true", help=explanation)
    parser.add_argument(
        "--prefix",
        type=utf8,
        metavar="TEXT",
        help="the beginning of each text; prints as --nbest does, and uses translate_prefix "
        "unless --signature is set, such as to read_prefix for files",
    )
    parser.add_argument("--json", action="store_true", help="print all outputs, an object per line")
    parser.add_argument(
        "--batch",
        type=positive(int, 10_000),
        default=32,
        help="lines per request, at most the server's max_batch_size [default: %(default)s]",
    )
    parser.add_argument(
        "--timeout",
        type=positive(float, DAY),
        default=30.0,
        help="time limit for a request in seconds [default: %(default)s]",
    )
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    place = arguments.index("--") if "--" in arguments else len(arguments)
    options = parser.parse_intermixed_args(arguments[:place])
    # all words after "--" are text, whatever they begin with
    options.text += [_text(parser, one) for one in arguments[place + 1 :]]
    if options.text and options.file is not None:
        parser.error("sentences come from the command line or from --file, not from both")
    if (options.alignment or options.nbest) and options.signature != "serving_default":
        parser.error("--signature can't be combined with --alignment or --nbest, which set it")
    options.signature = _signature(options)
    if (options.prefix is None) == _form(options.signature).startswith("translate_prefix"):
        parser.error("--prefix needs a signature for prefixes, and such a signature needs --prefix")
    return options


def _signature(options):
    """Return the signature that the options of a command line select together."""
    if options.signature not in ("serving_default", "translate_nbest"):
        return options.signature
    ending = "_with_alignment" if options.alignment else ""
    if options.prefix is not None:
        return f"translate_prefix{ending}"
    if options.nbest:
        return f"translate_nbest{ending}"
    return f"translate{ending}" if ending else options.signature


def utf8(text):
    """Check that an argument is UTF-8, for argparse."""
    try:
        return os.fsencode(text).decode("utf-8")
    except UnicodeDecodeError:
        raise argparse.ArgumentTypeError("must be UTF-8") from None


def _text(parser, text):
    try:
        return utf8(text)
    except argparse.ArgumentTypeError as error:
        parser.error(f"argument text: {error}")


def positive(kind, most):
    """Return an argparse type for numbers above 0 and up to `most`."""

    def parsed(text):
        value = kind(text)
        if not 0 < value <= most:
            raise ValueError
        return value

    parsed.__name__ = f"number above 0 and up to {most} ({kind.__name__})"
    return parsed


def run(make_server, options):
    """Send all input to a server, and print its answers.

    Args:
        make_server: Function of the options that returns an object with `predict`.
        options: Result of `parse`.

    Returns:
        The exit code.
    """
    try:
        server, number = make_server(options), 0
        for lines in _batches(options):
            rows = to_rows(options.signature, lines, options.bytes, options.prefix)
            for line, answer in zip(lines, server.predict(options.signature, rows), strict=True):
                signature = None if options.json else options.signature
                sentence = None if options.bytes else line
                printed = to_lines(signature, answer, number, sentence)
                print(*map(printable, printed), sep="\n")
                number += 1
                if answer.get("truncated"):
                    print(f"warning: line {number} is too long and was cut", file=sys.stderr)
            sys.stdout.flush()
        return 0
    except (InputError, ServerError) as error:
        print(f"error: {printable(str(error))}", file=sys.stderr)
        return 2 if isinstance(error, InputError) else 1
    except BrokenPipeError:  # the reader has ended, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:  # a full disk
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        print(f"error: {error.strerror}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def printable(text):
    """Escape characters that would disturb a terminal, as in JSON."""
    return UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _batches(options):
    """Yield lists of lines, one list per request, and line by line from a terminal."""
    with contextlib.ExitStack() as opened:
        lines, size = iter(options.text), options.batch
        if not options.text:
            named = options.file is not None
            stream = opened.enter_context(_open(options.file)) if named else sys.stdin.buffer
            size = 1 if stream.isatty() else size
            lines = lines_of(stream)
        while batch := list(itertools.islice(lines, size)):
            yield batch


def lines_of(stream):
    """Return the lines of a binary stream as text, without a byte order mark.

    Raises:
        InputError: If a line is not UTF-8, or is longer than `LINE_LIMIT`.
    """
    read = functools.partial(stream.readline, LINE_LIMIT + 1)
    return (_line(line, number) for number, line in enumerate(iter(read, b""), start=1))


def _open(path):
    try:
        return open(path, "rb")
    except OSError as error:
        raise InputError(
            f"A file must be readable. Received: file={path!r}: {error.strerror}. Correct the name."
        ) from None


def _line(line, number):
    if len(line) > LINE_LIMIT:
        raise InputError(
            f"A line must have at most {LINE_LIMIT:,} bytes. Received: line {number}, which has "
            "more. Split it."
        )
    try:
        line = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
        return line.decode("utf-8").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise InputError(
            f"The input must be UTF-8. Received: line {number}, {line[:40]!r}. "
            "Convert it, with iconv for example."
        ) from None


def prepare_streams():
    """Make output UTF-8, and open closed standard streams, as daemons may have, on `os.devnull`."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w" if number else "r"))  # noqa: SIM115
    sys.stdout.reconfigure(encoding="utf-8")


def main(arguments=None):
    """Run the program, and return its exit code."""
    prepare_streams()
    return run(from_options, parse(__doc__, "http://localhost:8501", arguments))


def from_options(options):
    """Create the `RestServer` for the options of a command line."""
    return RestServer(
        options.server, options.model, options.version, options.label, options.timeout
    )


if __name__ == "__main__":
    sys.exit(main())
