"""Lines of translations: texts, with numbers and scores, with links between words, or JSON."""

import sys

from keras_bahdanau.cli.confident_lines import json_line
from keras_bahdanau.text.features import text_words


def print_lines(results, first, links, json):
    """Print the translations of some sentences.

    Args:
        results: Lists of `Translation`, one list a sentence.
        first: Integer, the number of the first sentence; None for lines without numbers.
        links: `Links` of the sentences; None for lines without links.
        json: Bool. True for JSON lines.
    """
    for row, hypotheses in enumerate(results):
        for one in hypotheses:
            number = None if first is None else first + row
            linked = links and ("" if one.rejected else links(row, one))
            print(json_line(one, number) if json else _line(one, number, linked))
    sys.stdout.flush()


def _line(translation, number, links):
    """One line of output, in the form of Moses' n-best lists if it has a number."""
    fields = [translation.text]
    if number is not None:
        fields = [str(number), translation.text, f"{translation.score:.4f}"]
    if links is not None:
        fields.append(links)
    return " ||| ".join(fields)


class Links:
    """The links of translations of some sentences, in Pharaoh form.

    Args:
        translator: `Translator`.
        sentences: List of strings.
        search: `SearchOptions` of their search; None for that of a .tflite file.
        symbols: Words of a sentence that are not its own: a tag before it, features.
    """

    def __init__(self, translator, sentences, search, symbols=()):
        longest, self._source = translator.longest(search), translator.source
        self._source_words = translator.words(sentences, longest)
        self._own_words = [text_words(one, symbols) for one in sentences]
        self._copied_from = None  # sentences as far as they are read, if their words are copied
        replaces = translator.replaces_unknown if search is None else search.replace_unknown
        if replaces:
            self._copied_from, *_ = self._source.cut(sentences, longest)
            self._characters = translator.copies_characters

    def __call__(self, row, translation):
        from keras_bahdanau.text.alignments import format_pharaoh, span_links, word_spans
        from keras_bahdanau.text.copies import copied_tokens

        tokens = translation.target_tokens
        if tokens and self._copied_from is not None:
            one, weights = self._copied_from[row], translation.alignment
            copies = self._source.attended_words(one, weights, self._characters)
            tokens = copied_tokens(tokens, copies, self._characters)
        words = self._source_words[row], word_spans(tokens)
        links = span_links(*words, translation.alignment)
        own = self._own_words[row]
        return format_pharaoh((source - own.start, word) for source, word in links if source in own)
