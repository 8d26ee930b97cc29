"""Labels in figures, which are tokens or whole words, and titles that fit the figure."""

import textwrap

from matplotlib.backends.backend_agg import RendererAgg

from keras_bahdanau.text.alignments import (
    END,
    UNKNOWN,
    WORD_START,
    check_alignment,
    join_subwords,
    join_targets,
)

LONGEST = 24  # characters of a token
SPACE = "␣"  # the same as in the explorer
NO_TEXT = ("<s>", END, UNKNOWN)
POINTS, LINE_INCHES, MARGIN_INCHES, MOST_LINES = 11, 0.21, 0.12, 3
LETTER = 0.55  # approximate width of a letter in a font of size 1
SMALLEST_POINTS = 3.0


def are_characters(tokens):
    """Return True if tokens are characters, graphemes, spaces, or symbols such as `<PST>▁`."""
    tokens = [token for token in tokens if token and token not in NO_TEXT]
    return bool(tokens) and all(map(_is_character, tokens))


def _is_character(token):
    from keras_bahdanau.text.graphemes import is_cluster  # loads regex

    is_symbol = token.endswith(WORD_START) or (token.startswith("<") and token.endswith(">"))
    return len(token) == 1 or is_symbol or is_cluster(token)


def are_words(tokens):
    """Return True if each token is a word, marked at its start."""
    return all(token.startswith(WORD_START) for token in tokens if token not in NO_TEXT)


def joins_words(words, *sides):
    """Return whether the tokens of the sides should be joined into words.

    If `words` is None, they are joined unless a side consists of characters, or of a single word
    with several tokens.
    """
    if words is not None:
        return words
    return not any(are_characters(tokens) or _is_one_word(tokens) for tokens in sides)


def _is_one_word(tokens):
    groups = [group for word, group in zip(*join_subwords(tokens), strict=True) if word != END]
    return len(groups) == 1 and len(groups[0]) > 1


def labelled_targets(result, words=None):
    """Return weights `(target_time, source_time)` and labels of target tokens, or joined words."""
    weights = check_alignment(result.alignment, result.source_tokens, result.target_tokens)
    labels = result.target_tokens
    if joins_words(words, labels):
        weights, labels = join_targets(weights, labels)
    return weights, [token_label(token) for token in labels]


def token_label(token, longest=LONGEST):
    """Return a token without its space mark; a bare mark becomes a visible space."""
    text = token.replace(WORD_START, " ").strip()  # a mark in the middle becomes a space
    return truncated(text or (SPACE if token else ""), longest)


def truncated(text, longest):
    """Cut a text to at most `longest` characters, with "…" at the cut."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


class FigureTitle:
    """The text of a result as a figure title of a few lines; "" for no title."""

    def __init__(self, text, families):
        self.text, self.families = " ".join(text.split()), families

    def wrap(self, width):
        """Wrap the text to lines of `width` inches, and return their total height in inches."""
        letters = max(8, int(width * 72 / (POINTS * LETTER)))
        self.lines = textwrap.wrap(
            self.text, letters, max_lines=MOST_LINES, placeholder=" …", break_on_hyphens=False
        )
        self.width = width
        return MARGIN_INCHES + LINE_INCHES * len(self.lines)

    def draw(self, figure):
        height = figure.get_size_inches()[1]
        for number, line in enumerate(self.lines):
            artist = figure.text(
                0.5,
                1 - (MARGIN_INCHES + LINE_INCHES * (number + 0.4)) / height,
                line,
                ha="center",
                va="center",
                fontsize=POINTS,
                fontfamily=self.families,
                parse_math=False,  # dollar signs are literal
            )
            fit_text(artist, self.width)


def fit_text(artist, inches):
    """Shrink a text in a figure so that it fits a width in inches."""
    dpi = artist.get_figure(root=True).dpi
    width = artist.get_window_extent(RendererAgg(1, 1, dpi)).width / dpi
    if width > inches:
        artist.set_fontsize(max(SMALLEST_POINTS, artist.get_fontsize() * inches / width))
