"""Translate with one .tflite file, line by line, without TensorFlow.

    python translate.py en-de.tflite "A man in an orange hat."
    python translate.py en-de.tflite --file sentences.txt --alignment
    python translate.py en-de.tflite --nbest 3 --prefix "Ein M" "A man in an orange hat."
    python translate.py en-de.tflite < sentences.txt
    python translate.py en-de.tflite

The last command prompts for sentences until you press Ctrl-D.

It needs Python 3.10, ai-edge-litert, sentencepiece and NumPy. It also needs the folder
exporters/litert/on_device and the file text/alignments.py of keras_bahdanau, in the directory of
this program or in the checkout that contains it.

Exit codes: 0 if everything is translated; 2 if the command line, the model or the input is wrong.
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
LINE_LIMIT = 2**20  # maximum number of bytes in a line of input
UNKNOWN, NO_WORD = "<unk>", "⁇"  # the unknown piece, and SentencePiece's text for it
TOKEN_FIELDS = ("token_log_probs", "token_entropies", "token_words")
PACKAGES = {"ai_edge_litert": "ai-edge-litert", "numpy": "numpy", "sentencepiece": "sentencepiece"}


class InputError(Exception):
    """Error for a wrong command line, model or line of input."""


def main(arguments=None):
    """Run the program, and return its exit code."""
    options = _parse(arguments)
    return exit_code(lambda: _run(load_runner("OnDeviceTranslator", options), options))


def exit_code(run):
    """Run a program with UTF-8 output, print its error, and return its exit code."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:  # closed, as by some daemons
            setattr(sys, name, open(os.devnull, "w" if number else "r"))  # noqa: SIM115
    sys.stdout.reconfigure(encoding="utf-8")
    try:
        run()
        return 0
    except InputError as error:
        complain(error)
        return 2
    except OSError as error:  # from standard input or output: other files raise InputError
        os.dup2(
            os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
        )  # for output that is not written yet
        if isinstance(error, BrokenPipeError):  # the reader has ended, as `head` does
            return 141
        complain(
            "Standard input must be readable, and standard output must accept all lines. "
            f"Received: {error.strerror}. Free some space, or redirect a different file."
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
    parser.add_argument("--file", help="UTF-8 file with a sentence per line")
    parser.add_argument(
        "--alignment", action="store_true", help="append ' ||| 0-0 1-2', the linked words"
    )
    parser.add_argument(
        "--matrix",
        action="store_true",
        help="print the attention weights and an empty line after each translation",
    )
    add_options(parser)
    options = parser.parse_intermixed_args(arguments)
    if options.text and options.file:
        parser.error("sentences come from the command line or from --file, not from both")
    if options.json and (options.alignment or options.matrix):
        parser.error("--json can't be combined with --alignment or --matrix")
    check_suggestions(parser, options)
    return options


def add_options(parser):
    """Add the options of all programs; --nbest, --prefix and --greedy depend on the signatures."""
    parser.add_argument(
        "--nbest",
        type=int,
        metavar="K",
        help="print the K best texts of each input as 'number ||| text ||| score'",
    )
    parser.add_argument(
        "--prefix", type=utf8, default="", metavar="TEXT", help="the beginning of each text"
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="print a line of JSON for each input: texts, scores, confidences, tokens",
    )
    parser.add_argument(
        "--greedy", action="store_true", help="don't use beam search: faster, but slightly worse"
    )
    parser.add_argument(
        "--threads", type=threads, default=1, help="processor threads [default: %(default)s]"
    )


def check_suggestions(parser, options):
    """End the program with a message if these options can't be combined."""
    if options.greedy and (options.nbest is not None or options.prefix):
        parser.error("--nbest and --prefix need the search, which --greedy leaves out")


def utf8(text):
    """Check that an argument is UTF-8, for argparse."""
    with contextlib.suppress(UnicodeDecodeError):
        return os.fsencode(text).decode("utf-8")
    raise argparse.ArgumentTypeError("must be UTF-8")


def threads(text):
    """Parse a number of threads, for argparse."""
    with contextlib.suppress(ValueError):
        if 1 <= (number := int(text)) <= MOST_THREADS:
            return number
    raise argparse.ArgumentTypeError(
        f"must be an integer from 1 to {MOST_THREADS:,}, received {text[:80]}"
    )


def load_runner(kind, options):
    """Create an object of a class in `on_device` for the model in the command line.

    Raises:
        InputError: If a package or file is missing, or the model is not valid.
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
    """Import a module or folder of modules that needs nothing else from its package.

    Args:
        name: String, the name of a module or of a folder of modules.
        directory: Path of a directory to search after the directory of this program.

    Raises:
        InputError: If it is in neither directory.
    """
    spec = importlib.machinery.PathFinder.find_spec(name, [str(HERE), str(directory)])
    if spec is None or spec.origin is None:  # None also for a folder without a module
        raise InputError(
            f"{name}, of keras_bahdanau, must be in the directory of translate.py. "
            f"Received: no module {name}. Copy it there."
        )
    # the parts of the module import it by this name
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _run(translator, options):
    """Translate all input. An invalid sentence ends the program, unless the input is a terminal."""
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
    """Yield (name of a sentence for errors, its bytes)."""
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
    """The links between the words of a sentence and the words of its translations."""

    def __init__(self, alignments, translator, sentence):
        self._alignments = alignments
        self._words = alignments.words_of_pieces(sentence, translator.pieces(sentence), False)
        self._copies = translator.copies

    def __call__(self, result):
        """Return the links of a translation in Pharaoh format, such as "0-0 1-2"."""
        tokens = result.target_tokens
        if self._copies:  # a copied character belongs to its word
            tokens = [NO_WORD if token == UNKNOWN else token for token in tokens]
        words = self._words, self._alignments.word_spans(tokens)
        links = self._alignments.span_links(*words, result.alignment)
        return self._alignments.format_pharaoh(links)


def text_of(result, number, options):
    """Return the text of a result, as an entry of an n-best list if that is requested."""
    listed = f"{number} ||| {result.text} ||| {result.score:.4f}"
    return result.text if options.nbest is None else listed


def json_of(results):
    """Return all hypotheses for one input as JSON."""
    return json.dumps({"hypotheses": [*map(_fields, results)]}, ensure_ascii=False)


def _fields(result):
    """Return a hypothesis with the names in `keras-bahdanau translate --json`.

    Fields that the file lacks are None.
    """
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
    """Replace NaN and infinity, which JSON lacks, with None."""
    return value if value is not None and math.isfinite(value) else None


def _shown(result, number, links, options):
    """Return the text to print for a translation."""
    shown = text_of(result, number, options)
    if options.alignment:
        shown += f" ||| {links(result)}"
    if options.matrix:
        shown += "\n" + _table(result)
    return shown


def _table(result):
    """Format the weights: a column for each source token, and a row for each target token."""
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
    """Return the message for a file that can't be read."""
    return f"A file must be readable. Received: {path!r}: {error.strerror}. Correct the name."


def complain(error):
    """Print an error on one line."""
    print("error:", " ".join(str(error).split()), file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
