"""Output of commands: checks for output files, and lines of text, scores, links or JSON."""

import json
import os
import sys

from keras_bahdanau.cli.console import warn
from keras_bahdanau.settings.option import check_value, number


def check_absent(path, name):
    """Raise FileExistsError if an output file or directory already exists."""
    if path.exists():
        raise FileExistsError(
            f"An output must not exist yet. Received: {name}={str(path)!r}. "
            "Choose another name, or remove it."
        )


def check_writable(path, name):
    """Raise an error unless a file can be created at `path`; None means no file."""
    if path is None:
        return
    check_absent(path, name)
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise FileNotFoundError(
            "An output must be in an existing, writable directory. "
            f"Received: {name}={str(path)!r}. Create the directory first, or choose another one."
        )


def check_different(**paths):
    """Raise ValueError if two outputs would be written to the same file; None means no file."""
    names = {}
    for name, path in paths.items():
        if path is None:
            continue
        first = names.setdefault(os.path.realpath(path), name)
        if first != name:
            raise ValueError(
                "Each output must have its own file. Received: "
                f"{first}={str(paths[first])!r}, {name}={str(path)!r}. Rename one of them."
            )


def check_page_options(explore, **options):
    """Raise ValueError if an option for the page of --explore is set without --explore."""
    for name, value in options.items():
        if value and explore is None:
            value = value if isinstance(value, bool) else str(value)
            raise ValueError(
                f"`{name}` is only for the page of --explore. Received: {name}={value!r} without "
                "--explore. Add --explore, or omit the option."
            )


def check_picture(path, name):
    """Raise ValueError unless an image file has a supported extension; None means no image."""
    if path is None:
        return
    from matplotlib.backend_bases import FigureCanvasBase

    formats = sorted({*FigureCanvasBase.get_supported_filetypes()} - {"pgf"})  # pgf needs LaTeX
    if path.suffix.removeprefix(".").lower() not in formats:
        raise ValueError(
            f"The name of an image file must end in one of .{', .'.join(formats)}. "
            f"Received: {name}={str(path)!r}"
        )


class Rejection:
    """The option `--reject-below`: rejects outputs, and counts those `rejected` and `seen`.

    `below` is a number from 0 to 1, or None to reject nothing.
    """

    def __init__(self, below):
        if below is not None:
            check_value("reject_below", below, number(0, 1))
        self.below = below
        self.rejected = self.seen = 0

    def check_calibration(self, pipeline, search, models=1):
        if self.below is None:
            return
        if models > 1:
            warn("an ensemble is not calibrated: its confidences are mean token probabilities")
        elif search is None or pipeline.calibration is None:  # a .tflite file has its own search
            return
        elif search != pipeline.search:
            warn("confidences were calibrated with other search options and may be inaccurate")

    def __call__(self, results):
        if self.below is None:
            return results
        results = [[result.reject_below(self.below) for result in row] for row in results]
        self.seen += sum(map(len, results))
        self.rejected += sum(result.rejected for row in results for result in row)
        return results

    def report(self):
        if self.below is not None:
            warn(
                f"{self.rejected:,} of {self.seen:,} outputs are left out because their confidence "
                f"is below {self.below:g}"
            )


class LinePrinter:
    """Prints outputs as lines of text, as JSON, or as n-best lists in Moses format.

    A line of an n-best list is "number ||| text ||| score". With `names`, each line begins with the
    name of the input and a tab.
    """

    def __init__(self, numbered=False, json=False, names=False):
        self.numbered, self.json, self.names = numbered, json, names
        self.count = 0  # number of inputs whose outputs are printed

    def __call__(self, inputs, results, links=None):
        for row, (name, hypotheses) in enumerate(zip(inputs, results, strict=True)):
            number = self.count + row if self.numbered else None
            name = str(name) if self.names else None
            for result in hypotheses:
                linked = links and ("" if result.rejected else links(row, result))
                line = json_line(result, number, name) if self.json else None
                print(line or _line(result, number, name, linked))
        self.count += len(inputs)
        sys.stdout.flush()


def _line(result, number, name, links):
    fields = [result.text]
    if number is not None:
        fields = [str(number), result.text, f"{result.score:.4f}"]
    if links is not None:
        fields.append(links)
    line = " ||| ".join(fields)
    return line if name is None else f"{name}\t{line}"


def json_line(result, number=None, path=None):
    """Format a `Translation` as one line of JSON."""
    fields = {} if number is None else {"number": number}
    if path is not None:
        fields["path"] = path
    fields |= {
        "text": result.text,
        "score": _rounded(result.score),
        "confidence": _rounded(result.confidence),
        "rejected": result.rejected,
        "tokens": result.target_tokens,
        "token_log_probs": _numbers(result.token_log_probs),
        "token_entropies": _numbers(result.token_entropies),
        "words": [
            {
                **word._asdict(),
                "log_prob": _rounded(word.log_prob),
                "confidence": _rounded(word.confidence),
            }
            for word in result.words
        ],
    }
    return json.dumps(fields, ensure_ascii=False)


def _numbers(array):
    return None if array is None else [_rounded(number) for number in array.tolist()]


def _rounded(number):
    """Round a number to six decimal places, about the precision of float32."""
    return None if number is None else round(number, 6)


class Links:
    """Links between the words of sentences and those of their translations, in Pharaoh format.

    `symbols` contains words that are not part of a sentence's text: a tag before it, or features.
    """

    def __init__(self, translator, sentences, search, symbols=()):
        from keras_bahdanau.text.features import text_words

        longest, self._source = translator.longest(search), translator.source
        self._source_words = translator.words(sentences, longest)
        self._text_words = [text_words(sentence, symbols) for sentence in sentences]
        self._copied_from = None  # the parts of sentences that are read, if words are copied
        replaces = translator.replaces_unknown if search is None else search.replace_unknown
        if replaces:
            self._copied_from, *_ = self._source.cut(sentences, longest)
            self._characters = translator.copies_characters

    def __call__(self, row, translation):
        from keras_bahdanau.text.alignments import format_pharaoh, span_links, word_spans
        from keras_bahdanau.text.copies import copied_tokens

        tokens = translation.target_tokens
        if tokens and self._copied_from is not None:
            sentence, weights = self._copied_from[row], translation.alignment
            copies = self._source.attended_words(sentence, weights, self._characters)
            tokens = copied_tokens(tokens, copies, self._characters)
        links = span_links(self._source_words[row], word_spans(tokens), translation.alignment)
        words = self._text_words[row]
        return format_pharaoh(
            (source - words.start, word) for source, word in links if source in words
        )
