"""Plot of the steps of a decoder, from the query to the next token."""

import numpy as np

from keras_bahdanau.plotting.canvas import Canvas
from keras_bahdanau.plotting.figures import check_trace, write_animation
from keras_bahdanau.plotting.fonts import families_for
from keras_bahdanau.plotting.labels import NO_TEXT, are_characters, token_label, truncated
from keras_bahdanau.plotting.overlay import StepMaps
from keras_bahdanau.plotting.trace_data import attends, is_softmax, is_sum, query_state
from keras_bahdanau.settings.limits import MOST_STEPS
from keras_bahdanau.settings.option import check_value, integer
from keras_bahdanau.text.alignments import WORD_START, join_subwords

WIDTH, HEADER, FOOTER, GAP = 1600, 190, 48, 58
ROW, TOKEN_ROW, SHORTEST_PANEL = 32, 26, 176
ASKS, SOURCE, SCORES, WEIGHTS, SHARES, KNOWN, NEXT = 24, 290, 566, 740, 924, 1130, 1346
STRIP, CELLS, LONGEST = 120, 12, 16  # width of a strip, values in it, characters of a token
SMALLEST = 1e-30  # smaller probabilities are written as 0
COPYING = 40  # height for p_gen in pixels
MOST_SOURCES = 100  # maximum source tokens of a step

SCORE, WEIGHT, CHOSEN, QUIET = "#7c8da5", "#e6952b", "#2e8b57", "0.78"

STORY = (
    "One row is one step: the decoder asks, every source token answers with a score, the scores "
    "become weights, and the weighted sum of the encoder's states helps to choose the next token."
)
HARD_STORY = (
    "One row is one step: the decoder asks, every source token answers with a score, the scores "
    "become the probabilities that the next token comes from there, and each source token "
    "predicts it."
)
FOR_A_PICTURE = ("source token", "part of the picture")
FIXED_STORY = (
    "One row is one step. This decoder does not attend: it has no scores, and reads the same "
    "context at every step."
)


def plot_trace(trace, steps=4, sources=8, animate=None, *, first=0):
    """Draw how a decoder writes some tokens of a translation, with one row per step.

    A row shows, from left to right, the decoder's query, the encoder's states, their scores, the
    weights, the weighted states, their sum (the context) with the new state, and the most probable
    next tokens. Vectors are drawn as strips of their first values. For a picture, scores and
    weights are heat maps.

    Args:
        trace: A `Trace`, from `Translator.trace`.
        steps: Integer from 1 to 100. Maximum number of steps to draw.
        sources: Integer from 1 to 100. Maximum number of source tokens to draw. If there are
            more, the most attended ones are drawn. A picture is always drawn in full.
        animate: Path of a GIF to write, with at most 100 steps starting at `first`, or None.
        first: Integer. First step, counted from 0.

    Returns:
        Figure, 1600 pixels wide.

    Raises:
        TypeError: If `trace` is not a `Trace`.
        ValueError: If `steps` or `sources` is out of range, or if there is no step `first`.

    Example:
        >>> plot_trace(translator.trace("the red car")).savefig("trace.png")
    """
    check_trace(trace)
    count = len(trace.target_tokens)
    check_value("steps", steps, integer(1, MOST_STEPS))
    check_value("sources", sources, integer(1, MOST_SOURCES))
    check_value("first", first, integer(0, max(0, count - 1)))
    tokens = trace.source_tokens + trace.target_tokens + sum(trace.top_tokens, [])
    families = families_for([trace.text, *tokens])
    if animate is not None:
        frames = _frames(trace, range(first, min(first + MOST_STEPS, count)), sources, families)
        write_animation(frames, animate)
    return _Walkthrough(trace, range(first, min(first + steps, count)), sources, families).draw()


def _frames(trace, steps, sources, families):
    """Yield figures of equal size, one per step."""
    for rows in [[step] for step in steps] or [[]]:
        yield _Walkthrough(trace, steps, sources, families, rows).draw()


class _Walkthrough:
    """Figure of a range of steps of a trace; `rows` are the steps to draw, None for all."""

    def __init__(self, trace, steps, sources, families, rows=None):
        self.trace, self.rows = trace, steps if rows is None else rows
        steps = slice(steps.start, steps.stop)
        weights = trace.weights[steps]
        most = np.argsort(-weights.sum(axis=0), kind="stable")[:sources]  # (S,) -> (sources,)
        self.drawn = np.sort(most)
        self.omitted = len(trace.source_tokens) - len(self.drawn)
        ranked = max(map(len, trace.top_tokens[steps]), default=0) + 1
        rows = len(self.drawn) + (self.omitted > 0)
        self.maps = None if trace.picture is None else StepMaps(trace)
        high = ROW * rows if self.maps is None else self.maps.height
        shortest = SHORTEST_PANEL + (COPYING if trace.generation is not None else 0)
        self.panel = max(shortest, high + 24, TOKEN_ROW * ranked + 24)
        count = len(self.rows)
        self.bottom = HEADER + (self.panel + GAP) * count - GAP * (count > 0)
        self.canvas = Canvas(WIDTH, self.bottom + FOOTER, families)
        self.values_limit = _limit(trace.values, trace.context)
        self.highest = max(1e-6, np.abs(trace.scores[steps]).max(initial=0))
        self.attends = attends(trace)
        self.is_softmax, self.is_sum = is_softmax(trace), is_sum(trace)
        targets = trace.target_tokens + sum(trace.top_tokens, [])
        sources = trace.source_tokens if self.maps is None else targets  # a picture has no labels
        self.marks_source, self.marks_target = (
            not are_characters(tokens) for tokens in (sources, targets)
        )

    def draw(self):
        self.draw_header()
        for row, step in enumerate(self.rows):
            self.draw_step(step, row)
        self.draw_footer()
        return self.canvas.figure

    def draw_header(self):
        canvas, trace = self.canvas, self.trace
        title = truncated(trace.text, 80)
        if self.maps is None:
            source, _ = join_subwords(trace.source_tokens)
            source = " ".join(word for word in source if word != "</s>")
            title = f"{truncated(source, 80)}  →  {title}"
        canvas.token(ASKS, 34, title, room=WIDTH - 2 * ASKS, size=17, color="0.1")
        story = STORY if trace.reads_context else HARD_STORY
        story = story if self.maps is None else story.replace(*FOR_A_PICTURE)
        canvas.text(ASKS, 70, story if self.attends else FIXED_STORY, size=11)
        source = "context" if trace.reads_context else "each $h_j$"
        names = (
            (ASKS, "The decoder asks", "with a vector, its query"),
            *self._source_columns(),
            (KNOWN, "Context $c_i$", self._context_meaning()),
            (NEXT, "Next token", f"from {source}, last token and state"),
        )
        for number, (x, name, meaning) in enumerate(names, start=1):
            canvas.circle(x + 11, 120, 11, str(number))
            canvas.text(x + 30, 120, name, size=12, weight="bold")
            canvas.text(x, 150, meaning, size=10, color="0.4")

    def _context_meaning(self):
        if not self.trace.reads_context:
            return "shown, but not used"
        total = "$= \\sum_j \\alpha_{ij} h_j$, added up"
        return total if self.is_sum else "what it reads from the source"

    def _source_columns(self):
        weights = "softmax: they sum to 1" if self.is_softmax else "how much of each?"
        if self.maps is not None:
            means = f"scores: how well does each part fit?   weights: {weights.split(': ')[-1]}"
            return [(SOURCE, "Scores $e_{ij}$ and weights $\\alpha_{ij}$ of the picture", means)]
        return [
            (SOURCE, "Encoder states $h_j$", "one vector for each source token"),
            (SCORES, "Scores $e_{ij}$", "how well do they fit?"),
            (WEIGHTS, "Weights $\\alpha_{ij}$", weights),
            (SHARES, "$\\alpha_{ij}\\, h_j$", "each state, times its weight"),
        ]

    def draw_step(self, step, row):
        top = HEADER + (self.panel + GAP) * row
        self.middle = top + self.panel / 2
        self.canvas.box(ASKS - 14, top, WIDTH - 2 * (ASKS - 14), self.panel, facecolor="#fbfaf7")
        self._draw_asking(step, top)
        (self._draw_sources if self.maps is None else self._draw_maps)(step)
        self._draw_known(step, top)
        self._draw_next(step)
        if row + 1 < len(self.rows):
            self._draw_link(step, top + self.panel)

    def _draw_asking(self, step, top):
        canvas, trace = self.canvas, self.trace
        canvas.text(ASKS, top + 26, f"Step {step + 1}", size=14, weight="bold", color="0.1")
        read = trace.input_tokens[: step + 1]
        written = " ".join(_label(token, self.marks_target) for token in read)
        written = written if len(written) <= 32 else "…" + written[-31:]
        canvas.text(ASKS, top + 58, "written so far", size=9, color="0.45")
        canvas.token(ASKS, top + 80, written, room=190, size=11, color=CHOSEN)
        canvas.text(
            ASKS, self.middle + 30, f"query ${self._query_name(step)}$", size=9, color="0.45"
        )
        self._strip(ASKS, self.middle + 52, trace.query[step], _limit(trace.query))

    def _query_name(self, step):
        """Return the name of the query, found by comparing it with the states."""
        number = query_state(self.trace, step)
        return f"q_{{{step + 1}}}" if number is None else f"= s_{{{number}}}"

    def _draw_sources(self, step):
        canvas, trace = self.canvas, self.trace
        rows = len(self.drawn) + (self.omitted > 0)
        first = self.middle - ROW * (rows - 1) / 2
        for row, index in enumerate(self.drawn):
            y = first + ROW * row
            weight = trace.weights[step, index]
            if self.attends:
                canvas.flow((ASKS + STRIP + 6, self.middle + 52), (SOURCE - 4, y), QUIET)
            label = _label(trace.source_tokens[index], self.marks_source)
            canvas.token(SOURCE + 6, y, label, room=88, size=11.5, color="0.1")
            canvas.text(SOURCE + 118, y, f"$h_{{{index + 1}}}$", color="0.5", ha="right")
            self._strip(SOURCE + 124, y, trace.values[index], self.values_limit)
            self._draw_score(y, trace.scores[step, index])
            self._draw_weight(y, weight)
            self._strip(SHARES, y, weight * trace.values[index], self.values_limit)
            self._draw_share(y, weight)
        if self.omitted:
            y = first + ROW * len(self.drawn)
            weight = np.delete(trace.weights[step], self.drawn).sum()
            canvas.text(SOURCE + 6, y, f"{self.omitted} more tokens", color="0.5")
            self._draw_weight(y, weight)
            self._draw_share(y, weight)

    def _draw_maps(self, step):
        end = self.maps.draw(self.canvas, step, SOURCE, self.middle)
        if self.attends:
            self.canvas.flow((ASKS + STRIP + 6, self.middle + 52), (SOURCE - 8, self.middle), QUIET)
            self.canvas.flow(
                (end[0] + 4, end[1]), (KNOWN - 6, self._context_y), WEIGHT, width=8, head=0
            )

    def _draw_score(self, y, score):
        zero = SCORES + 55
        self.canvas.line((zero, zero), (y - ROW / 2, y + ROW / 2), "0.7", 0.8)
        self.canvas.bar(zero, y, 50 * score / self.highest, 16, SCORE)
        self.canvas.text(
            SCORES + 112, y, f"{round(score, 1) + 0.0:+.1f}".replace("-", "−"), size=9.5
        )

    def _draw_weight(self, y, weight):
        self.canvas.bar(WEIGHTS, y, 100, 16, "0.93")
        self.canvas.bar(WEIGHTS, y, 100 * weight, 16, WEIGHT)
        self.canvas.text(WEIGHTS + 108, y, f"{weight:.2f}", size=9.5)

    def _draw_share(self, y, weight):
        if weight >= 0.005:
            self.canvas.flow(
                (SHARES + STRIP + 4, y),
                (KNOWN - 6, self._context_y),
                WEIGHT,
                width=1 + 9 * weight,
                alpha=0.25 + 0.75 * weight,
                head=0,
            )

    @property
    def _context_y(self):
        return self.middle - 46

    def _draw_known(self, step, top):
        canvas, trace, number = self.canvas, self.trace, step + 1
        strips = (
            (f"context $c_{{{number}}}$", trace.context, self.values_limit),
            (f"last token $y_{{{step}}}$", trace.embedded, _limit(trace.embedded)),
            (f"new state $s_{{{number}}}$", trace.state, _limit(trace.state)),
        )
        for row, (name, vectors, limit) in enumerate(strips):
            y = self._context_y + 56 * row
            canvas.text(KNOWN, y - 20, name, size=9, color="0.45")
            self._strip(KNOWN, y, vectors[step], limit)
            if vectors is not trace.context or trace.reads_context:
                canvas.flow((KNOWN + STRIP + 6, y), (NEXT - 8, self.middle), QUIET, width=1.5)
        if trace.generation is not None:
            share = trace.generation[step]
            text = f"$p_{{gen}}$ = {share:.2f}: at most {_percent(1 - share)} is copied"
            canvas.text(KNOWN + STRIP / 2 + 20, y + 26, text, size=9, color="0.45")

    def _draw_next(self, step):
        canvas, trace = self.canvas, self.trace
        chosen = trace.target_tokens[step]
        ranked = dict(zip(trace.top_tokens[step], trace.top_probabilities[step], strict=True))
        ranked.setdefault(chosen, np.exp(trace.log_probs[step]))
        first = self.middle - TOKEN_ROW * (len(ranked) - 1) / 2
        for row, (token, probability) in enumerate(ranked.items()):
            y = first + TOKEN_ROW * row
            is_chosen = token == chosen
            color, weight = (CHOSEN, "bold") if is_chosen else ("0.35", "normal")
            label = _label(token, self.marks_target)
            canvas.token(NEXT + 92, y, label, room=100, ha="right", size=11.5, color=color)
            canvas.bar(NEXT + 102, y, 80 * probability, 14, CHOSEN if is_chosen else QUIET)
            canvas.text(NEXT + 188, y, _percent(probability), size=9.5, color=color, weight=weight)

    def _draw_link(self, step, bottom):
        canvas, y = self.canvas, bottom + GAP / 2
        right, left = KNOWN + STRIP / 2, ASKS + STRIP / 2
        xs, ys = (right, right, left, left), (self._context_y + 126, y, y, bottom + GAP - 5)
        canvas.line(xs, ys, "0.45", 1.4, marker="v", markevery=[3], markersize=6)
        canvas.text(
            (left + right) / 2,
            y,
            f"the new state $s_{{{step + 1}}}$ and the chosen token are passed to the next step",
            size=9.5,
            ha="center",
            backgroundcolor="white",
        )

    def draw_footer(self):
        continues = self.marks_source or self.marks_target
        marks = "…x: a piece that continues a word." if continues else "␣: a space."
        text = (
            f"Strips: the first {CELLS} values of a vector, blue below 0, red above.    <s> and "
            f"</s>: start and end of a sentence.    {marks}    "
            f"{self._counted()} of {len(self.trace.target_tokens)}."
        )
        self.canvas.text(ASKS, self.bottom + FOOTER / 2, text, size=9.5, color="0.45")

    def _counted(self):
        if len(self.rows) == 1 and self.rows[0]:
            return f"Step {self.rows[0] + 1}"
        if self.rows and self.rows[0]:
            return f"Steps {self.rows[0] + 1} to {self.rows[-1] + 1}"
        return f"Steps shown: {len(self.rows)}"

    def _strip(self, x, y, vector, limit):
        self.canvas.strip(x, y, STRIP, 18, vector[:CELLS], limit)


def _limit(*arrays):
    """Return the absolute value that has the darkest colour in strips of these vectors."""
    cells = np.concatenate([np.abs(array[:, :CELLS]).ravel() for array in arrays])
    return max(1e-6, np.quantile(cells, 0.95)) if cells.size else 1.0


def _percent(probability):
    """Format a probability with two digits, as in the explorer: 12%, 0.012%, 1.2e-6."""
    if probability < SMALLEST:
        return "0%"
    if probability < 1e-4:
        digits, exponent = f"{probability:.1e}".split("e")
        return f"{digits}e{int(exponent)}"
    return f"{100 * probability:#.2g}%" if probability < 0.0995 else f"{probability:.0%}"


def _label(token, marks):
    """Return the label of a token; with `marks`, "…" precedes a token that continues a word."""
    marked = marks and not token.startswith(WORD_START) and token not in NO_TEXT
    return token_label(f"…{token}" if marked else token, LONGEST)
