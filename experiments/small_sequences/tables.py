"""Results as Markdown: tables of scores, sizes and times, and sources of published figures."""

import itertools
import statistics

import tasks
from scores import WAYS, Scores, bits

PEERS = {  # headings
    "yoyodyne-soft": "yoyodyne LSTM",
    "yoyodyne-hard": "yoyodyne hard attention",
    "yoyodyne-transformer": "yoyodyne Transformer",
    "yoyodyne-pointer": "yoyodyne copying Transformer",
    "phonetisaurus": "Phonetisaurus",
}
UNITS = {"ser": "WER", "exact": "exact"}
BETTER = {"ser": min, "exact": max}  # choose the best of several scores
OTHERS = {  # metrics after the first one, if a task has them
    **{"per": "PER", "cer": "CER"},
    **{name: f"right among {name[3:]}" for name in ("top2", "top3", "top5")},
}
ABOUT = """# All results

`run.py report` prints this page from the result files. Scores are for dev: WER is the percentage of
words whose answer is none of their pronunciations, and "exact" is the percentage of correct forms
or names. Minutes are the time limit for training on one core. A single value applies to all neural
systems in the row; several values are for different systems. In the table of sizes, scores are
means over the seeds; kB and milliseconds are for the published file. If none is published, kB are
for the first seed. [README.md](README.md) lists the commands. [EXPERIMENTS.md](EXPERIMENTS.md)
describes the processors and what else was tried."""


def summary(results):
    """Return the first table, which is also in README.md."""
    return _summary(Scores(results))


def report(results):
    """Return the page with all tables.

    Args:
        results: List of dictionaries, as returned by `Results.read`.

    Returns:
        String, Markdown.
    """
    if not results:
        return "There are no results yet.\n"
    scores = Scores(results)
    parts = [_summary(scores), _accuracy(scores), _smaller(scores), _sizes(scores)]
    parts += [_programs(scores), _settings(scores), _files(scores), _origins(scores)]
    return "\n\n".join([ABOUT, *filter(None, parts)]) + "\n"


def _summary(scores):
    """Return a table of groups and tasks with goals: published figures, best peers, our scores."""
    models = [name for name in PEERS if name.startswith("yoyodyne")]
    ours = [name for name in ("preset", "small") if scores.has(name)]
    head = ["task", "", "published best", "yoyodyne", PEERS["phonetisaurus"]]

    def cells(task):
        peers = [scores.mean(task, name) for name in (*models, "phonetisaurus")]
        return [*peers, *itertools.chain(*(scores.row(task, name) for name in ours))]

    rows = []
    for name, task, numbers in _rows(scores, cells):
        if name not in tasks.SUMMARIZED:
            continue
        metric = task.metrics[0]
        of_yoyodyne = (one for one in numbers[: len(models)] if one is not None)
        best = BETTER[metric](of_yoyodyne, default=None)
        shown = map(_number, [best, *numbers[len(models) :]])
        rows.append([tasks.SUMMARIZED[name], UNITS[metric], _published(name), *shown])
    return _table([*head, *_of_seeds(ours)], rows, left=2) if rows else ""


def _accuracy(scores):
    """Return a table of tasks: published figures, peers, and our preset."""
    peers = [name for name in PEERS if scores.has(name)]
    head = ["task", "", "minutes", "published best", *(PEERS[name] for name in peers)]
    return _with_minutes(scores, head, peers, ["preset"])


def _smaller(scores):
    """Return a table of tasks: scores of narrower models."""
    settings = [name for name in ("small", "four-bits") if scores.has(name)]
    return _with_minutes(scores, ["task", "", "minutes", "published best"], [], settings)


def _with_minutes(scores, head, peers, settings):
    """Return a table of the tasks that have a result for any of these systems."""

    def cells(task):
        ours = itertools.chain(*(scores.row(task, name) for name in settings))
        return [*(scores.mean(task, name) for name in peers), *ours]

    rows = []
    for name, task, numbers in _rows(scores, cells):
        if all(number is None for number in numbers):
            continue
        shown = [_published(name), *map(_number, numbers)]
        unit = UNITS[task.metrics[0]]
        if name == task.name:
            rows.append([name, unit, scores.minutes(task, [*peers, *settings]), *shown])
        else:
            rows.append([f"**{name}**, mean", unit, "", *shown])
    return _table([*head, *_of_seeds(settings)], rows, left=2) if rows else ""


def _rows(scores, cells):
    """Yield (name, a task, values) for the mean of each complete group, then for its tasks."""
    for group, members in scores.groups.items():
        table = [cells(task) for task in members]
        whole = len(members) == sum(one.group == group for one in tasks.ALL)
        if whole and len(members) > 1:
            yield group, members[0], [_mean(column) for column in zip(*table, strict=True)]
        for task, numbers in zip(members, table, strict=True):
            yield task.name, task, numbers


def _of_seeds(settings):
    """Return the headings for the values of `Scores.row` for each of our settings."""
    parts = "first seed", "mean of the seeds", "ensemble"
    return [f"`{name}`, {part}" for name in settings for part in parts]


def _sizes(scores):
    """Return a table of tasks: loss from 8 or 4 bits, file sizes, time per word on a device."""
    head = ["task", "setting", "", "float32", ".tflite", "bits", ".tflite, kB", ".keras, kB"]
    head += [f"ms, {name}" for name in WAYS]
    rows = []
    for task in (one for members in scores.groups.values() for one in members):
        for setting in tasks.SETTINGS:
            if scores.seeds(task, setting):
                both = [scores.mean(task, setting, part) for part in ("dev", "tflite")]
                unit, files = UNITS[task.metrics[0]], scores.files(task, setting)
                rows.append([task.name, setting, unit, *map(_number, both), *files])
    return _table(head, rows, left=3) if rows else ""


def _programs(scores):
    """Return a table of published files: ms per word in each device program."""
    measured = [one for one in scores.published() if "programs" in one]
    names = [*dict.fromkeys(name for one in measured for name in one["programs"])]
    if not names:
        return ""
    ways = [(name, way) for name in names for way in ("greedy", "suggestions")]
    head = ["task", "setting", "bits", *(f"{name}, {way}" for name, way in ways)]
    rows = []
    for one in measured:
        times = (one["programs"].get(name, {}).get(way) for name, way in ways)
        cells = ("" if each is None else f"{each:.2f}" for each in times)
        rows.append([one["task"], one["system"], bits(one), *cells])
    about = "Milliseconds per word in the device programs, on one thread:"
    return f"{about}\n\n{_table(head, rows, left=2)}"


def _settings(scores):
    """Return a table of tasks by setting, with means if there are several seeds."""
    used = [one for one in tasks.SETTINGS if scores.has(one)]
    if len(used) < 2:
        return ""
    rows = [
        [task.name, UNITS[task.metrics[0]], *(_number(scores.mean(task, one)) for one in used)]
        for members in scores.groups.values()
        for task in members
    ]
    rows = [row for row in rows if sum(map(bool, row[2:])) > 1]
    return _table(["task", "", *used], rows, left=2) if rows else ""


def _files(scores):
    """Return a table of published files: all metrics, and the interval of the first one."""
    head = ["task", "setting", "seed", "", "score", "95%", *OTHERS.values()]
    rows = []
    for one in scores.published():
        first, found = tasks.TASKS[one["task"]].metrics[0], one["tflite"]
        low, high = found[f"{first}_interval"]
        score = [UNITS[first], _number(found[first]), f"{low:.1f} to {high:.1f}"]
        others = [_number(found.get(other)) for other in OTHERS]
        rows.append([one["task"], one["system"], str(one["seed"]), *score, *others])
    if not rows:
        return ""
    about = "Scores of the published files, with intervals from a bootstrap over the words:"
    return f"{about}\n\n{_table(head, rows, left=4)}"


def _origins(scores):
    """Return the published figures in full."""
    names = [name for group, members in scores.groups.items() for name in (group, *members)]
    names = dict.fromkeys(name if isinstance(name, str) else name.name for name in names)
    lines = [
        f"- {name}: {'; '.join(map(str, tasks.PUBLISHED[name]))}."
        for name in names
        if name in tasks.PUBLISHED
    ]
    if not lines:
        return ""
    about = "Published figures are for the official test parts, all other figures for dev:"
    return "\n".join([about, "", *lines])


def _published(name):
    figures = tasks.PUBLISHED.get(name, ())
    return f"{figures[0].value:g}{'' if figures[0].read else ' (recalled)'}" if figures else ""


def _mean(column):
    return None if None in column else statistics.fmean(column)


def _number(value):
    return "" if value is None else f"{value:.1f}"


def _table(head, rows, left):
    """Return Markdown; the first `left` columns are left-aligned."""
    rule = [*["---"] * left, *["--:"] * (len(head) - left)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *rows))
