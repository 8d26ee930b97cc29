"""Translates with one .tflite file, without TensorFlow: a line in, a line out.

    python translate.py en-de.tflite "A man in an orange hat."
    python translate.py en-de.tflite --file sentences.txt --alignment
    python translate.py en-de.tflite --nbest 3 --prefix "Ein M" "A man in an orange hat."
    python translate.py en-de.tflite < sentences.txt
    python translate.py en-de.tflite

The last one asks for sentences, until Ctrl-D.

Needs Python 3.10, ai-edge-litert, sentencepiece and NumPy, and a folder and a file of
keras_bahdanau: exporters/litert/on_device and text/alignments.py. They are taken from the directory
of this program, or else from the checkout that it lies in.

Exit codes: 0 all is translated; 2 the command line, the model or the input is wrong.
"""

import argparse
import codecs
import contextlib
import importlib.machinery
import importlib.util
import itertools
import json
import math
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parent.parent / "keras_bahdanau"
MOST_THREADS = 1024
LINE_LIMIT = 2**20  # bytes of one line of input
UNKNOWN, NO_WORD = "<unk>", "⁇"  # the piece, and how SentencePiece writes it
TOKEN_FIELDS = ("token_log_probs", "token_entropies", "token_words")
PACKAGES = {"ai_edge_litert": "ai-edge-litert", "numpy": "numpy", "sentencepiece": "sentencepiece"}


class InputError(Exception):
    """The command line, the model or a line of the input is wrong."""


def main(arguments=None):
    """The program; returns its exit code."""
    options = _parse(arguments)
    return exit_code(lambda: _run(load_runner("OnDeviceTranslator", options), options))


def exit_code(run):
    """Runs a program, in UTF-8, and prints its error; returns its exit code."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:  # closed, as some daemons do
            setattr(sys, name, open(os.devnull, "w" if number else "r"))  # noqa: SIM115
    sys.stdout.reconfigure(encoding="utf-8")
    try:
        run()
        return 0
    except InputError as error:
        complain(error)
        return 2
    except OSError as error:  # of standard input or output; files have errors of their own
        os.dup2(
            os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
        )  # for what is not yet written
        if isinstance(error, BrokenPipeError):  # the reader has gone, as `head` does
            return 141
        complain(
            "Standard input must be readable, and standard output must take all lines. "
            f"Received: {error.strerror}. Make room, or redirect another file."
        )
        return 2
    except KeyboardInterrupt:
        return 130


def _parse(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", help="the .tflite file")
    parser.add_argument("text", nargs="*", help="sentences [default: standard input]")
    parser.add_argument("--file", help="UTF-8, a sentence in each line")
    parser.add_argument(
        "--alignment", action="store_true", help="append ' ||| 0-0 1-2', the linked words"
    )
    parser.add_argument(
        "--matrix",
        action="store_true",
        help="print the attention weights under each translation, and an empty line",
    )
    add_options(parser)
    options = parser.parse_intermixed_args(arguments)
    if options.text and options.file:
        parser.error("sentences come from the command line or from --file, not from both")
    if options.json and (options.alignment or options.matrix):
        parser.error("--json has texts and their tokens, and neither --alignment nor --matrix")
    check_suggestions(parser, options)
    return options


def add_options(parser):
    """Adds the options of all programs; --nbest, --prefix, --greedy need signatures of the file."""
    parser.add_argument(
        "--nbest",
        type=int,
        metavar="K",
        help="print the K best texts of each input as 'number ||| text ||| score'",
    )
    parser.add_argument(
        "--prefix", type=utf8, default="", metavar="TEXT", help="what each text begins with"
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="print a line of JSON for each input: texts, scores, confidences, tokens",
    )
    parser.add_argument(
        "--greedy", action="store_true", help="no beam search: faster, a little worse"
    )
    parser.add_argument(
        "--threads", type=threads, default=1, help="processor threads [default: %(default)s]"
    )


def check_suggestions(parser, options):
    """Ends the program with a message if these options do not go together."""
    if options.greedy and (options.nbest is not None or options.prefix):
        parser.error("--nbest and --prefix need the search, which --greedy leaves out")


def utf8(text):
    """An argument that is UTF-8, for argparse."""
    with contextlib.suppress(UnicodeDecodeError):
        return os.fsencode(text).decode("utf-8")
    raise argparse.ArgumentTypeError("must be UTF-8")


def threads(text):
    """A number of threads, for argparse."""
    with contextlib.suppress(ValueError):
        if 1 <= (number := int(text)) <= MOST_THREADS:
            return number
    raise argparse.ArgumentTypeError(
        f"must be an integer from 1 to {MOST_THREADS:,}, received {text[:80]}"
    )


def load_runner(kind, options):
    """An object of a class of `on_device`, for the model of a command line.

    Raises:
        InputError: If a package or file is missing, or the model wrong.
    """
    missing = [name for module, name in PACKAGES.items() if not importlib.util.find_spec(module)]
    if missing:
        raise InputError(
            f"The packages {', '.join(PACKAGES.values())} must be installed. "
            f"Received: no {', no '.join(missing)}. Run pip install {' '.join(missing)}"
        )
    on_device = _load_module("on_device", CHECKOUT / "exporters" / "litert")
    try:
        runner = getattr(on_device, kind)(options.model, options.threads, options.greedy)
        if options.nbest is not None:
            runner.check_nbest(options.nbest)
        runner.check_prefix(options.prefix)
        return runner
    except OSError as error:
        raise InputError(unreadable(options.model, error)) from None
    except ValueError as error:
        raise InputError(error) from None


def _load_module(name, directory):
    """What needs nothing else of its package, a file or folder beside this program or in another.

    Args:
        name: String, the name of a module or of a folder of modules.
        directory: Path of the other directory.

    Raises:
        InputError: If it is in neither.
    """
    spec = importlib.machinery.PathFinder.find_spec(name, [str(HERE), str(directory)])
    if spec is None or spec.origin is None:  # or a folder of that name that holds no module
        raise InputError(
            f"{name}, of keras_bahdanau, must lie beside translate.py. "
            f"Received: no module {name}. Copy it there."
        )
    module = sys.modules[name] = importlib.util.module_from_spec(spec)  # by which its parts find it
    spec.loader.exec_module(module)
    return module


def _run(translator, options):
    """Translates all input. A bad sentence ends the program, unless somebody types them."""
    alignments = _load_module("alignments", CHECKOUT / "text") if options.alignment else None
    asking = not options.text and not options.file and sys.stdin.isatty()
    for number, (name, line) in enumerate(_lines(options, asking)):
        try:
            sentence = _decoded(line, name)
            results = _translated(translator, sentence, name, options)
            if options.json:
                print(json_of(results), flush=True)
                continue
            links = alignments and _Links(alignments, translator, sentence)
            for result in results:
                print(_shown(result, number, links, options), flush=True)
        except InputError as error:
            if not asking:
                raise
            complain(error)


def _lines(options, asking):
    """Pairs of what to call a sentence in an error, and its bytes."""
    for number, text in enumerate(options.text, start=1):
        yield f"sentence {number}", os.fsencode(text)
    if options.text:
        return
    with _opened(options.file) as stream:
        for number in itertools.count(1):
            if asking:
                print("> ", end="", file=sys.stderr, flush=True)
            line = stream.readline(LINE_LIMIT + 1)
            if not line:
                break
            if len(line) > LINE_LIMIT:
                raise InputError(
                    f"A line must have at most {LINE_LIMIT:,} bytes. Received: line {number}, "
                    "which has more. Split it."
                )
            yield f"line {number}", line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
    if asking:
        print(file=sys.stderr)


def _opened(path):
    if path is None:
        return contextlib.nullcontext(sys.stdin.buffer)
    try:
        return open(path, "rb")
    except OSError as error:
        raise InputError(unreadable(path, error)) from None


def _decoded(line, name):
    try:
        return line.decode("utf-8").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise InputError(
            f"The input must be UTF-8. Received: {name}, with the byte 0x{line[error.start]:02x} "
            "where UTF-8 allows none. Convert it, with iconv for example."
        ) from None


def _translated(translator, sentence, name, options):
    try:
        return translator.translate_nbest([sentence], options.nbest or 1, [options.prefix])[0]
    except ValueError as error:
        raise InputError(f"{name}: {error}") from None


class _Links:
    """The linked words of the translations of a sentence."""

    def __init__(self, alignments, translator, sentence):
        self._alignments = alignments
        self._words = alignments.words_of_pieces(sentence, translator.pieces(sentence), False)
        self._copies = translator.copies

    def __call__(self, result):
        """The links in Pharaoh form, as in "0-0 1-2"."""
        tokens = result.target_tokens
        if self._copies:  # of characters, each like any other of its word
            tokens = [NO_WORD if token == UNKNOWN else token for token in tokens]
        words = self._words, self._alignments.word_spans(tokens)
        links = self._alignments.span_links(*words, result.alignment)
        return self._alignments.format_pharaoh(links)


def text_of(result, number, options):
    """The text of a result, in the form of an n-best list if there is to be one."""
    listed = f"{number} ||| {result.text} ||| {result.score:.4f}"
    return result.text if options.nbest is None else listed


def json_of(results):
    """All that is known of the texts of one input, as JSON."""
    return json.dumps({"hypotheses": [*map(_fields, results)]}, ensure_ascii=False)


def _fields(result):
    """A text under the names of `keras-bahdanau translate --json`; None if the file lacks it."""
    rows = {name: getattr(result, name) for name in TOKEN_FIELDS}
    return {
        "text": result.text,
        "score": _number(result.score),
        "confidence": _number(result.confidence),
        "finished": result.finished,
        "tokens": result.target_tokens,
        **{
            name: None if row is None else [*map(_number, row.tolist())]
            for name, row in rows.items()
        },
    }


def _number(value):
    """None, which is null in JSON, in place of NaN and Infinity, which JSON lacks."""
    return value if value is not None and math.isfinite(value) else None


def _shown(result, number, links, options):
    """What is printed for one translation."""
    shown = text_of(result, number, options)
    if options.alignment:
        shown += f" ||| {links(result)}"
    if options.matrix:
        shown += "\n" + _table(result)
    return shown


def _table(result):
    """The weights: a column for each source token, a row for each target token."""
    if not result.source_tokens:
        return ""
    rows = [["", *result.source_tokens]]
    for token, weights in zip(result.target_tokens, result.alignment, strict=True):
        rows.append([token, *(f"{weight:.2f}" for weight in weights)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "".join(
        " ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) + "\n"
        for row in rows
    )


def unreadable(path, error):
    """Message about a file that can't be read."""
    return f"A file must be readable. Received: {path!r}: {error.strerror}. Correct the name."


def complain(error):
    """Prints an error in one line."""
    print("error:", " ".join(str(error).split()), file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
