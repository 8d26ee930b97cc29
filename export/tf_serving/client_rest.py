"""Asks a translation model on TensorFlow Serving, over REST: a line in, a line out.

    python client_rest.py "A man in an orange hat."
    python client_rest.py --file sentences.txt --alignment
    python client_rest.py --nbest --label canary < sentences.txt

Needs Python 3.10 and nothing else. Without sentences and `--file` it reads standard input.

What is printed is what `keras-bahdanau translate` prints. An input line is a sentence; for
`--signature decode_ids` it is ids separated by spaces, and for `--signature score_pair` a source
and a target separated by a tab.

Exit codes: 0 all is translated; 1 the server can't be reached or has refused; 2 the command line
or the input is wrong.
"""

import argparse
import contextlib
import http.client
import itertools
import json
import os
import sys
import urllib.parse

END, UNKNOWN, WORD_START = "</s>", "<unk>", "▁"


class ServerError(Exception):
    """The server can't be reached, or has refused the request."""


class InputError(Exception):
    """A line of the input is not what the signature takes."""


class RestServer:
    """One model of a server's REST API.

    Args:
        url: Where the server is, such as `"http://localhost:8501"`.
        model: The model's name.
        version: Integer, or None for the highest that is loaded.
        label: A version's label, such as `"stable"`, instead of its number.
        timeout: Seconds that a request may take.
    """

    def __init__(self, url, model, version=None, label=None, timeout=30.0):
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(
                "A server must be a URL such as http://localhost:8501. "
                f"Received: server={url!r}. Write it like this one."
            )
        secure = parts.scheme == "https"
        self._kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        self._url, self._netloc, self._timeout = url, parts.netloc, timeout
        self._path = f"{parts.path.rstrip('/')}/v1/models/{urllib.parse.quote(model, safe='')}"
        if version is not None:
            self._path += f"/versions/{version}"
        elif label is not None:
            self._path += f"/labels/{urllib.parse.quote(label, safe='')}"

    def connect(self):
        """A connection, for many requests or for one."""
        return self._kind(self._netloc, timeout=self._timeout)

    def predict(self, signature, rows, connection=None):
        """Runs one signature of the model.

        Args:
            signature: Its name.
            rows: List of dictionaries from an input's name to one sentence's value.
            connection: What `connect` gave; without it one is made for this request.

        Returns:
            List of as many dictionaries from an output's name to its value.

        Raises:
            ServerError: If there is no answer in time, or an error.
        """
        if connection is None:
            with contextlib.closing(self.connect()) as connection:
                return self.predict(signature, rows, connection)
        asked = {"signature_name": signature, "instances": rows}
        status, body = self._post(connection, json.dumps(asked, ensure_ascii=False))
        try:
            answer = json.loads(body)
        except ValueError:
            answer = {"error": body[:200].decode("utf-8", "replace")}
        if status != 200 or "predictions" not in answer:
            raise ServerError(
                f"The server must accept the request. Received: HTTP {status} from {self._url}: "
                f"{' '.join(str(answer.get('error', answer)).split())}"
            )
        return answer["predictions"]

    def _post(self, connection, body):
        headers = {"Content-Type": "application/json"}
        try:
            content = body.encode("utf-8", "replace")
            connection.request("POST", self._path + ":predict", content, headers)
            response = connection.getresponse()
            return response.status, response.read()
        except TimeoutError as error:
            raise ServerError(
                f"The server must answer in time. Received: server={self._url}, no answer in "
                f"{self._timeout:g} s. Give it --timeout, or send less with --batch."
            ) from error
        except (OSError, http.client.HTTPException) as error:
            raise ServerError(
                f"The server must be reachable. Received: server={self._url}: "
                f"{str(error) or type(error).__name__}. Start it, or name another with --server."
            ) from error


def to_rows(signature, lines):
    """The inputs of a signature, a dictionary for each line.

    Raises:
        InputError: If a line is not what the signature takes.
    """
    if signature == "decode_ids":
        ids = [_ids(line) for line in lines]
        # One width for all rows, and at least one column: the server pads rows, not from nothing.
        width = max(1, *map(len, ids))
        return [
            {"source": row + [0] * (width - len(row)), "source_length": len(row)} for row in ids
        ]
    if signature == "score_pair":
        return [dict(zip(("text", "target"), _pair(line), strict=True)) for line in lines]
    return [{"text": line} for line in lines]


def _ids(line):
    try:
        return [int(word) for word in line.split()]
    except ValueError:
        raise InputError(
            "A line for decode_ids must be ids separated by spaces. "
            f"Received: line={line!r}. Tokenize it, or use another signature."
        ) from None


def _pair(line):
    fields = line.split("\t")
    if len(fields) != 2:
        raise InputError(
            "A line for score_pair must be a source and a target, separated by a tab. "
            f"Received: line={line!r}. Correct it."
        )
    return fields


def to_lines(signature, answer, number):
    """What is printed of one answer.

    Args:
        signature: The signature's name.
        answer: Dictionary from an output's name to its value.
        number: Integer, which sentence it is, from 0.

    Returns:
        List of strings.
    """
    match signature:
        case "serving_default":
            return [answer["translation"]]
        case "translate_with_alignment":
            return [f"{answer['translation']} ||| {word_links(answer)}"]
        case "translate_nbest":
            pairs = zip(answer["translations"], answer["scores"], strict=True)
            return [f"{number} ||| {text} ||| {score:.4f}" for text, score in pairs]
        case "decode_ids":
            return [" ".join(map(str, answer["ids"][: answer["length"]]))]
        case "score_pair":
            return [f"{answer['score']:.4f} ||| {answer['length']}"]
    return [json.dumps(answer, ensure_ascii=False)]


def word_links(answer):
    """The alignment between words in Pharaoh form, as in "0-0 1-2".

    A target word is linked to the source word that its pieces attend to most; one that attends
    to the end of the sentence is not linked.
    """
    sources = _words(answer["source_tokens"][: answer["source_length"]])
    targets = _words(answer["target_tokens"][: answer["target_length"]])
    links = []
    for target, (target_word, rows) in enumerate(targets):
        weights = [
            sum(answer["alignment"][row][column] for row in rows for column in columns)
            for _, columns in sources
        ]
        if any(weights):
            source = weights.index(max(weights))
            if not {sources[source][0], target_word} & {END, ""}:
                links.append((source, target))
    return " ".join(f"{source}-{target}" for source, target in sorted(links))


def _words(tokens):
    """Pairs of a word and the positions of its pieces."""
    words = []
    for position, token in enumerate(tokens):
        last = words[-1][0] if words else END
        if last and (token.startswith(WORD_START) or {END, UNKNOWN} & {token, last}):
            words.append(["", []])
        words[-1][0] += token.replace(WORD_START, "")
        words[-1][1].append(position)
    return words


def parse(description, default_server, arguments=None):
    """The command line that both clients have."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("text", nargs="*", help="sentences [default: standard input]")
    parser.add_argument("--file", help="UTF-8, a sentence in each line")
    parser.add_argument("--server", default=default_server, help="[default: %(default)s]")
    parser.add_argument("--model", default="translator", help="its name [default: %(default)s]")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--version", type=int, help="number [default: the highest that is loaded]")
    which.add_argument("--label", help="stable or canary, instead of a version")
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--signature",
        default="serving_default",
        help="serving_default, translate_with_alignment, translate_nbest, decode_ids or "
        "score_pair [default: %(default)s]",
    )
    for flag, name, explanation in (
        ("--alignment", "translate_with_alignment", "append ' ||| 0-0 1-2', the linked words"),
        ("--nbest", "translate_nbest", "print 'number ||| text ||| score', best first"),
    ):
        what.add_argument(
            flag, dest="signature", action="store_const", const=name, help=explanation
        )
    parser.add_argument("--json", action="store_true", help="print all outputs, an object a line")
    parser.add_argument(
        "--batch",
        type=positive(int),
        default=32,
        help="lines in a request, at most the server's max_batch_size [default: %(default)s]",
    )
    parser.add_argument(
        "--timeout", type=positive(float), default=30.0, help="seconds [default: %(default)s]"
    )
    options = parser.parse_intermixed_args(arguments)
    if options.text and options.file:
        parser.error("sentences come from the command line or from --file, not from both")
    return options


def positive(kind):
    """A type of argparse: a number of this kind, above 0."""

    def parsed(text):
        value = kind(text)
        if not value > 0:
            raise ValueError
        return value

    parsed.__name__ = f"number above 0 ({kind.__name__})"
    return parsed


def run(make_server, options):
    """Sends all input to a server and prints its answers.

    Args:
        make_server: Function of the options that gives an object with `predict`.
        options: What `parse` gave.

    Returns:
        The exit code.
    """
    try:
        server, number = make_server(options), 0
        for lines in _batches(options):
            for answer in server.predict(options.signature, to_rows(options.signature, lines)):
                signature = None if options.json else options.signature
                print(*to_lines(signature, answer, number), sep="\n")
                number += 1
            sys.stdout.flush()
        return 0
    except (InputError, ServerError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2 if isinstance(error, InputError) else 1
    except BrokenPipeError:  # the reader has gone, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130


def _batches(options):
    """Lists of lines, as many as a request takes; one by one from a terminal."""
    with contextlib.ExitStack() as opened:
        lines, size = iter(options.text), options.batch
        if not options.text:
            stream = opened.enter_context(_open(options.file)) if options.file else sys.stdin.buffer
            size = 1 if stream.isatty() else size
            lines = (_line(line, number) for number, line in enumerate(stream, start=1))
        while batch := list(itertools.islice(lines, size)):
            yield batch


def _open(path):
    try:
        return open(path, "rb")
    except OSError as error:
        raise InputError(
            f"A file must be readable. Received: file={path!r}: {error.strerror}. Correct the name."
        ) from None


def _line(line, number):
    try:
        return line.decode("utf-8").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise InputError(
            f"The input must be UTF-8. Received: line {number}, {line[:40]!r}. "
            "Convert it, with iconv for example."
        ) from None


def main(arguments=None):
    """The program; returns its exit code."""
    sys.stdout.reconfigure(encoding="utf-8")
    return run(from_options, parse(__doc__, "http://localhost:8501", arguments))


def from_options(options):
    """The `RestServer` that a command line names."""
    return RestServer(
        options.server, options.model, options.version, options.label, options.timeout
    )


if __name__ == "__main__":
    sys.exit(main())
