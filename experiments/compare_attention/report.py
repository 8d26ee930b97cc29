"""Report a comparison: a table, a plot, and whether it shows the paper's finding."""

from configurations import CONFIGURATIONS, SCORES, WITHOUT_AND_WITH
from matplotlib.figure import Figure

FALLS, STAYS = (
    0.30,
    0.10,
)  # loss of BLEU at twice the length: minimum without attention, maximum with it
ENOUGH = 100  # minimum number of test sentences per length for a finding
EXACT = 0.90
COLORS = {
    **{"additive": "C0", "rnnsearch": "C2", "luong": "C4", "conditional-gru": "C9"},
    **{"none": "C3", "rnnencdec": "C1"},
}


def table(compared, rows):
    """Return the results in Markdown, one table per corpus.

    Args:
        compared: List of `Corpus`.
        rows: List of dictionaries, as in `results.json`.

    Returns:
        String.
    """
    return "\n\n".join(_table_of(corpus, _rows_of(corpus.name, rows)) for corpus in compared) + "\n"


def _rows_of(name, rows):
    return [row for row in rows if row["corpus"] == name]


def _table_of(corpus, rows):
    head = ["configuration", "", "exact match", "BLEU", "at median length", "at twice that"]
    head += ["alignment error rate", "weights", "processor seconds", "seconds", "epochs"]
    lines = [head, ["---", "---", *["--:"] * (len(head) - 2)]]
    for row in rows:
        places = _places(row)
        lines.append(
            [
                f"`{row['configuration']}`",
                CONFIGURATIONS[row["configuration"]].about,
                f"{100 * row['exact_match']:.1f}%",
                f"{row['bleu']:.1f}",
                *(
                    f"{places[times]['bleu']:.1f}" if times in places else ""
                    for times in (1.0, 2.0)
                ),
                "" if row["alignment_error_rate"] is None else f"{row['alignment_error_rate']:.3f}",
                f"{row['weights']:,}",
                f"{row['processor_seconds']:.0f}",
                f"{row['seconds']:.0f}",
                str(row["epochs"]),
            ]
        )
    title = (
        f"`{corpus.name}`: {corpus.about}; {len(corpus.train):,} training pairs, "
        f"{len(corpus.test):,} test pairs"
    )
    return "\n".join([title, "", *(f"| {' | '.join(line)} |" for line in lines)])


def _number(value, form):
    return "" if value is None else format(value, form)


def _places(row):
    """Return the entries of `by_length`, keyed by multiple of the median length."""
    return {place["times"]: place for place in row["by_length"]}


def plot_by_length(compared, rows):
    """Plot BLEU by source length, one panel per corpus.

    Args:
        compared: List of `Corpus`.
        rows: List of dictionaries, as in `results.json`.

    Returns:
        `matplotlib.figure.Figure`.
    """
    figure = Figure(figsize=(6.4 * len(compared), 4.4), dpi=120, layout="constrained")
    panels = figure.subplots(1, len(compared), squeeze=False)[0]
    for panel, corpus in zip(panels, compared, strict=True):
        own = _rows_of(corpus.name, rows)
        for row in sorted(own, key=lambda row: row["configuration"] in COLORS):
            _draw(panel, row)
        for times, label in ((1.0, "median"), (2.0, "twice")):
            words = [_places(row)[times]["words"] for row in own if times in _places(row)]
            if words:
                panel.axvline(words[0], color="0.75", linestyle=":", zorder=0)
                panel.text(words[0], 1, f" {label}", color="0.5", fontsize=8)
        panel.set(xlabel="words of the source sentence", ylabel="BLEU", title=corpus.about)
        panel.set_ylim(0, None)
        panel.grid(color="0.92")
        panel.spines[["top", "right"]].set_visible(False)
        if panel.get_legend_handles_labels()[0]:
            panel.legend(frameon=False, fontsize=9)
    return figure


def _draw(panel, row):
    """Draw a line: in color for presets, dashed without attention, thin and gray for the rest."""
    words = [place["words"] for place in row["by_length"]]
    scores = [place["bleu"] for place in row["by_length"]]
    name = row["configuration"]
    if name not in COLORS:
        panel.plot(words, scores, color="0.8", linewidth=0.8)
        return
    without = name in WITHOUT_AND_WITH
    label = f"{name}: {'no attention' if without else 'attention'}"
    panel.plot(words, scores, "o--" if without else "o-", color=COLORS[name], label=label)


def findings(rows):
    """Return the findings as sentences.

    Args:
        rows: List of dictionaries, as in `results.json`.

    Returns:
        Pair: a list of strings, and whether all results that could show the paper's finding
        do so; None if no result could.
    """
    lines, shown = [], []
    for name in dict.fromkeys(row["corpus"] for row in rows):
        own = {row["configuration"]: row for row in _rows_of(name, rows)}
        for pair in WITHOUT_AND_WITH.items():
            if all(one in own and _tells(own[one]) for one in pair):
                line, holds = _fall(name, *(own[one] for one in pair))
                lines.append(line)
                shown.append(holds)
        scored = {score: own[score] for score in ("additive", *SCORES) if score in own}
        if name == "demo" and scored:
            lines.append(_exact(scored))
    return lines, all(shown) if shown else None


def _tells(row):
    """Return True if there are enough sentences of both lengths."""
    places = _places(row)
    return all(times in places and places[times]["sentences"] >= ENOUGH for times in (1.0, 2.0))


def _fall(name, *rows):
    told, falls = [], []
    for row in rows:
        before, after = (_places(row)[times]["bleu"] for times in (1.0, 2.0))
        falls.append(1 - after / before if before else 0.0)
        told.append(
            f"{row['configuration']} {before:.1f} -> {after:.1f} ({-100 * falls[-1]:+.0f}%)"
        )
    holds = falls[0] >= FALLS and falls[1] <= STAYS
    line = (
        f"{name}: BLEU at the median length -> at twice that length: without attention {told[0]}, "
        f"with attention {told[1]}: {'SHOWN' if holds else 'NOT SHOWN'}"
    )
    return line, holds


def _exact(scored):
    reached = {name for name, row in scored.items() if row["exact_match"] >= EXACT}
    missed = [
        f"{name} {100 * row['exact_match']:.1f}%"
        for name, row in scored.items()
        if name not in reached
    ]
    return (
        f"demo: {len(reached)} of {len(scored)} scores have an exact match of at least "
        f"{100 * EXACT:.0f}%" + (f"; not {', '.join(missed)}" if missed else "")
    )
