"""Draw the animations in docs/moving and their stills, except `video`.

    python docs/generator/animations.py          # all animations
    python docs/generator/animations.py weights  # only one of them

Two animations show a published model. The others show small models that are trained here, in
seconds to two minutes each, on data generated with fixed seeds. The example video draws `video`.
"""

import sys
from pathlib import Path

import keras
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Rectangle

import keras_bahdanau as kb
from keras_bahdanau.callbacks import AlignmentHistory
from keras_bahdanau.plotting import animate_alignment, write_training_page
from keras_bahdanau.plotting.figures import write_animation

ROOT = Path(__file__).parents[2]
MOVING = ROOT / "docs" / "moving"
START, END, FIRST = 2, 3, 4  # ids; 0 is padding
SYMBOLS = "abcdefghijklmnopqrstuvwxyz0123456789 -"
VOCABULARY = FIRST + len(SYMBOLS)
MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
DIGITS = "zero one two three four five six seven eight nine".split()
INK, QUIET, WEIGHT, RIGHT, WRONG, PAPER = (
    *("#1d2530", "#9aa5b3", "#e08a1e", "#1f7a4a", "#c0392b", "#ffffff"),
)


# data and models


def encode(texts):
    """Return ids `(batch, time)` with the end token, right-padded with 0."""
    rows = [[*(FIRST + SYMBOLS.index(symbol) for symbol in text), END] for text in texts]
    width = max(map(len, rows))
    return np.array([row + [0] * (width - len(row)) for row in rows], "int32")


def decode(ids):
    """Return the text of a row of ids, up to the end token."""
    symbols = (SYMBOLS[number - FIRST] for number in ids if number >= FIRST)
    return "".join(symbols)


def inputs_of(pairs):
    """Return ((source, target_in), target_out) for pairs of texts."""
    source, target_out = (encode(texts) for texts in zip(*pairs, strict=True))
    target_in = np.pad(target_out[:, :-1], [(0, 0), (1, 0)], constant_values=START)
    return (source, np.where(target_in == END, 0, target_in)), target_out


def labels_of(texts):
    """Return the symbols of each text, with a visible symbol for a space, and "end"."""
    return [[*text.replace(" ", "␣"), "end"] for text in texts]


def copies(count, random, lengths=(3, 12)):
    """Return pairs of two equal random texts."""
    texts = (
        "".join(random.choice([*SYMBOLS[:16]], random.integers(*lengths))) for _ in range(count)
    )
    return [(text, text) for text in texts]


def dates(count, random):
    """Return pairs such as ("7 mar 21", "21-03-07")."""
    days, months = random.integers(1, 29, count), random.integers(0, 12, count)
    years = random.integers(0, 100, count)
    return [
        (f"{day} {MONTHS[month]} {year:02d}", f"{year:02d}-{month + 1:02d}-{day:02d}")
        for day, month, year in zip(days, months, years, strict=True)
    ]


def numbers(count, random):
    """Return pairs such as ("314", "threeonefour")."""
    texts = ("".join(map(str, random.integers(0, 10, random.integers(2, 5)))) for _ in range(count))
    return [(text, "".join(DIGITS[int(digit)] for digit in text)) for text in texts]


def new_model(attention="bahdanau", units=48, **settings):
    """Return a compiled model; `attention` is None for only the last state, or "hard"."""
    keras.utils.set_random_seed(7)
    encoder = kb.Encoder(VOCABULARY, 16, units)
    if attention == "hard":
        places = kb.layers.HardAlignment(units=units, order=1, monotonic=True)
        decoder = kb.HardDecoder(VOCABULARY, 16, kb.layers.UnfedCell(units, places))
    else:
        attention = kb.layers.ATTENTIONS.get(attention, **settings)
        decoder = kb.Decoder(VOCABULARY, 16, kb.layers.DecoderCell(units, attention))
    model = kb.Seq2Seq(encoder, decoder)
    model.compile(keras.optimizers.Adam(0.005, clipnorm=1.0), kb.losses.TokenCrossentropy())
    return model


def train(model, pairs, epochs=1, callbacks=()):
    """Train the model on batches of 64 pairs."""
    inputs, target_out = inputs_of(pairs)
    is_real = (target_out > 0).astype("float32")
    settings = {"batch_size": 64, "epochs": epochs, "shuffle": False, "verbose": 2}
    model.fit(inputs, target_out, sample_weight=is_real, callbacks=[*callbacks], **settings)


def written(model, texts):
    """Return the output of greedy search for each text."""
    options = kb.SearchOptions(beam_width=1, max_length=30)
    result = kb.search.search_model(model, encode(texts), options, start=START, end=END)
    return [decode(ids) for ids in np.asarray(result.ids)[:, 0]]


def history_of(model, pairs, shown, epochs=1, steps=None):
    """Train the model, and return the `AlignmentHistory` of the pairs in `shown`."""
    inputs, _ = inputs_of(shown)
    source, target = (labels_of(texts) for texts in zip(*shown, strict=True))
    history = AlignmentHistory(inputs, steps=steps, source_labels=source, target_labels=target)
    train(model, pairs, epochs, [history])
    return history


# drawing


class Board:
    """White figure with coordinates in pixels from the top left."""

    def __init__(self, width, height):
        self.figure = Figure((width / 100, height / 100), dpi=100, facecolor=PAPER)
        self.ax = self.figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))
        self.ax.axis("off")

    def text(self, x, y, text, color=INK, size=11, **settings):
        settings = {"ha": "center", "va": "center", "parse_math": False, **settings}
        self.ax.text(x, y, text, color=color, fontsize=size, **settings)

    def box(self, x, y, text, color=INK, fill=PAPER, width=26, height=26):
        corner = (x - width / 2, y - height / 2)
        self.ax.add_patch(Rectangle(corner, width, height, facecolor=fill, edgecolor=color))
        self.text(x, y, text, color)

    def bar(self, x, y, height, color, width=14):
        self.ax.add_patch(Rectangle((x - width / 2, y - height), width, height, color=color))

    def arrow(self, start, end, color=INK, width=1.0):
        style = {"arrowstyle": "-|>", "mutation_scale": 9, "shrinkA": 0, "shrinkB": 0}
        self.ax.add_patch(FancyArrowPatch(start, end, color=color, linewidth=width, **style))

    def line(self, start, end, color, width):
        self.ax.plot(*zip(start, end, strict=True), color=color, linewidth=width)


def publish(name, frames, seconds, last_seconds=3.0):
    """Write the frames as a GIF, and the last one as a still."""
    frames = [*frames]
    write_animation(frames, MOVING / f"{name}.gif", seconds, last_seconds)
    frames[-1].savefig(MOVING / f"{name}.png")


# animations


def forgets():
    """Show copies of longer and longer words, by models with and without attention."""
    random = np.random.default_rng(1)
    pairs = copies(12_800, random)
    models = {"last state alone": new_model(None), "attention": new_model()}
    lengths = range(2, 14)
    shown = {length: "".join(random.choice([*SYMBOLS[:16]], length)) for length in lengths}
    shares, outputs = {}, {}
    for name, model in models.items():
        train(model, pairs, epochs=3)
        outputs[name] = dict(zip(lengths, written(model, shown.values()), strict=True))
        tested = {n: [one for one, _ in copies(100, random, (n, n + 1))] for n in lengths}
        shares[name] = [share_right(model, texts) for texts in tested.values()]
        print(name, [f"{share:.2f}" for share in shares[name]])
    frames = (_forgetting(length, shown, outputs, shares, lengths) for length in lengths)
    publish("forgets", frames, 0.9)


def share_right(model, texts):
    """Return the fraction of letters that the model writes at the right position."""
    rights = [
        sum(one == other for one, other in zip(text, copy, strict=False)) / len(text)
        for text, copy in zip(texts, written(model, texts), strict=True)
    ]
    return float(np.mean(rights))


def _forgetting(length, shown, outputs, shares, lengths):
    board = Board(720, 330)
    source = shown[length]
    board.text(20, 25, f"copy {length} letters", ha="left", weight="bold")
    rows = {
        "source": (source, INK),
        **{name: (texts[length], None) for name, texts in outputs.items()},
    }
    for row, (name, (text, color)) in enumerate(rows.items()):
        y = 62 + 36 * row
        board.text(20, y, name, ha="left", color=INK, size=10)
        for place, letter in enumerate(text[:16]):
            right = place < len(source) and letter == source[place]
            board.box(165 + 29 * place, y, letter, color or (RIGHT if right else WRONG))
    colors = {"last state alone": WRONG, "attention": RIGHT}
    x = [165 + 29 * (one - 1) for one in lengths]
    board.text(20, 185, "letters right", ha="left", size=10)
    for row, (name, color) in enumerate(colors.items()):
        board.text(20, 225 + 20 * row, name, color, 9, ha="left")
    for share, label in ((0, "0%"), (1, "100%")):
        board.line((150, 300 - 110 * share), (690, 300 - 110 * share), QUIET, 0.5)
        board.text(142, 300 - 110 * share, label, ha="right", size=8, color=QUIET)
    for name, values in shares.items():
        reached = [
            (place, 300 - 110 * value)
            for place, value, one in zip(x, values, lengths, strict=True)
            if one <= length
        ]
        board.ax.plot(
            *zip(*reached, strict=True), color=colors[name], linewidth=2, marker="o", markersize=3
        )
    board.text(420, 318, "length of the source", size=9, color=QUIET)
    return board.figure


def weights():
    """Show the scores, weights and context of each step of a published model."""
    model = kb.load_pipeline(ROOT / "examples/dates/models/dates.keras")
    trace = model.trace("<fr> 3 avril 2021")
    frames = (_weighing(trace, step) for step in range(len(trace.target_tokens)))
    publish("weights", frames, 1.3)


def _weighing(trace, step):
    board = Board(720, 400)
    tokens = [
        token.replace("▁", "␣") if token != "</s>" else "end" for token in trace.source_tokens
    ]
    left, gap = 110, 580 / len(tokens)
    places = [left + gap * (place + 0.5) for place in range(len(tokens))]
    scores, weights = trace.scores[step], trace.weights[step]
    least, most = scores.min(), scores.max()
    for y, name, size in (
        *((40, "source", 10), (64, "values $h_j$", 9), (150, "scores $e_{ij}$", 10)),
        *((235, "weights $α_{ij}$", 10), (300, "context $c_i$", 10), (365, "output", 10)),
    ):
        board.text(12, y, name, ha="left", size=size, parse_math=True)
    for x, token, score, weight in zip(places, tokens, scores, weights, strict=True):
        board.text(x, 40, token, INK, 12)
        board.box(x, 66, "", QUIET, width=gap * 0.6, height=14)
        board.bar(x, 165, 6 + 70 * (score - least) / (most - least), QUIET)
        board.bar(x, 250, max(1, 60 * weight), WEIGHT)
        if weight > 0.02:
            board.line((x, 252), (left + 290, 290), WEIGHT, 5 * weight)
            board.text(x, 180 if weight < 0.9 else 180, f"{weight:.2f}", WEIGHT, 8)
    board.box(left + 290, 302, "", WEIGHT, width=150, height=22)
    board.text(left + 290, 302, "sum of  weight × value", WEIGHT, 8)
    board.arrow((left + 290, 315), (left + 40 + 34 * step, 348), INK)
    for place, token in enumerate(trace.target_tokens[: step + 1]):
        text = "end" if token == "</s>" else token.replace("▁", "")
        board.box(left + 40 + 34 * place, 365, text, RIGHT if place == step else QUIET, width=34)
    return board.figure


def beam():
    """Show a beam of three hypotheses of a published model."""
    loaded = kb.load_pipeline(ROOT / "examples/dates/models/dates.keras")
    options = kb.SearchOptions(beam_width=3)
    model = kb.Translator(loaded.source, loaded.model, loaded.target, options)
    trace = model.trace("<fr> 3 jui 2021", explore=True)
    tree = trace.tree
    depths = []
    for parent in tree.parents:
        depths.append(0 if parent < 0 else depths[parent] + 1)
    last = max(depths)
    rows = {}
    for depth in range(last + 1):
        nodes = sorted(
            (n for n, one in enumerate(depths) if one == depth), key=lambda n: -tree.log_probs[n]
        )
        rows.update((node, row) for row, node in enumerate(nodes))
    path = {*tree.path(trace.target_tokens)}
    publish(
        "beam", (_growing(tree, depths, rows, path, depth, last) for depth in range(last + 1)), 1.2
    )


def _growing(tree, depths, rows, path, now, last):
    board = Board(720, 260)
    board.text(20, 24, 'a beam of 3 reads "3 jui 2021": juin or juillet?', ha="left", weight="bold")
    gap = 640 / (last + 1)
    alive = set()
    for node, depth in enumerate(depths):
        if depth == now or (depth < now and tree.finished[node]):
            while node >= 0 and node not in alive:
                alive.add(node)
                node = tree.parents[node]
    for node, depth in enumerate(depths):
        if depth > now:
            continue
        x, y = 60 + gap * depth, 75 + 60 * rows[node]
        best = now == last and node in path
        color = RIGHT if best else INK if node in alive else "#d5dae0"
        parent = tree.parents[node]
        start = (
            (20, 135) if parent < 0 else (60 + gap * depths[parent] + 14, 75 + 60 * rows[parent])
        )
        board.line(start, (x - 14, y), color, 2.5 if best else 1)
        token = tree.tokens[node]
        board.box(x, y, "end" if token == "</s>" else token.replace("▁", ""), color, width=34)
        board.text(x, y + 21, f"{tree.log_probs[node]:.2f}".replace("-0.00", "0.00"), color, 7)
    board.text(
        20, 240, "below each token: log-probability of the text up to it", QUIET, 9, ha="left"
    )
    return board.figure


def teacher():
    """Show a half-trained model that reads the right tokens, and one that reads its own."""
    random = np.random.default_rng(3)
    model = new_model()
    train(model, dates(64 * 110, random))
    tested = dates(200, random)
    inputs, _ = inputs_of(tested)
    forced = [decode(ids) for ids in np.asarray(keras.ops.argmax(model(inputs), axis=-1))]
    free = written(model, [source for source, _ in tested])
    wrong = [
        (sum(a != b for a, b in zip(own, target, strict=False)), number)
        for number, ((_, target), own) in enumerate(zip(tested, free, strict=True))
        if 0 < sum(a != b for a, b in zip(forced[number][:8], target, strict=False)) <= 2
        and len(own) == 8
    ]
    _, number = max(wrong)
    (source, target), rows = tested[number], (forced[number][:8], free[number])
    print(source, target, rows)
    frames = (_teaching(source, target, rows, step) for step in range(len(target)))
    publish("teacher", frames, 1.0)


def _teaching(source, target, rows, now):
    board = Board(720, 360)
    board.text(
        20,
        22,
        f'a half-trained model reads "{source}"; right is {target}',
        ha="left",
        weight="bold",
    )
    names = ("training: the teacher gives the right token", "search: the model reads its own token")
    for row, (name, text) in enumerate(zip(names, rows, strict=True)):
        top = 60 + 155 * row
        board.text(20, top, name, ha="left", size=10)
        board.text(20, top + 35, "writes", QUIET, 9, ha="left")
        board.text(20, top + 100, "reads", QUIET, 9, ha="left")
        before = ["start", *(target if row == 0 else text)]
        for place in range(now + 1):
            x = 105 + 78 * place
            color = RIGHT if text[place] == target[place] else WRONG
            board.box(x, top + 35, text[place], color, width=30)
            read_wrong = place > 0 and before[place] != target[place - 1]
            board.box(x, top + 100, before[place], WRONG if read_wrong else INK, width=44)
            board.arrow((x, top + 86), (x, top + 50), QUIET)
            if row == 1 and place < now:
                board.arrow((x + 15, top + 40), (x + 59, top + 95), color)
    return board.figure


def forming():
    """Show the alignments of dates from the first step on, and write the page with a slider."""
    random = np.random.default_rng(5)
    shown = [("7 mar 21", "21-03-07"), ("14 dec 86", "86-12-14"), ("3 jun 05", "05-06-03")]
    history = history_of(new_model(), dates(64 * 900, random), shown)
    animate_alignment(history, MOVING / "forming.gif").savefig(MOVING / "forming.png")
    write_training_page(history, MOVING / "forming.html", title="How a model learns where to look")


def kinds():
    """Show soft, local, monotonic and hard attention on the same data."""
    random = np.random.default_rng(6)
    pairs, shown = numbers(64 * 500, random), [("314", "threeonefour")]
    models = {
        "soft": new_model(),
        "local-p": new_model("general", window=kb.layers.LocalPredictive(1)),
        "monotonic": new_model("additive", units=48, normalizer="monotonic"),
        "hard": new_model("hard"),
    }
    steps = (0, 2, 5, 9, 15, 24, 38, 60, 94, 148, 232, 363, 500)
    histories = {
        name: history_of(model, pairs, shown, steps=steps) for name, model in models.items()
    }
    animate_alignment(histories, MOVING / "kinds.gif", seconds=0.5).savefig(MOVING / "kinds.png")


PICTURES = (forgets, weights, beam, teacher, forming, kinds)

if __name__ == "__main__":
    MOVING.mkdir(exist_ok=True)
    for picture in PICTURES:
        if picture.__name__ in (sys.argv[1:] or [one.__name__ for one in PICTURES]):
            picture()
            print(picture.__name__, (MOVING / f"{picture.__name__}.gif").stat().st_size, "bytes")
