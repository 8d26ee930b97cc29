"""The results as Markdown: a table of scores, one of sizes, and the published figures' origin."""

import itertools
import statistics

import tasks

PEERS = {  # headings
    "yoyodyne-soft": "yoyodyne LSTM",
    "yoyodyne-hard": "yoyodyne hard attention",
    "yoyodyne-transformer": "yoyodyne Transformer",
    "yoyodyne-pointer": "yoyodyne copying Transformer",
    "phonetisaurus": "Phonetisaurus",
}
UNITS = {"ser": "WER", "exact": "exact"}
OTHERS = {  # metrics behind the first one, whichever a task has
    **{"per": "PER", "cer": "CER"},
    **{name: f"one of {name[3:]} right" for name in ("top2", "top3", "top5")},
}
ABOUT = """# All results

`run.py report` prints this page from the files of results. Scores are those of dev: WER is the
share of words none of whose pronunciations is met, "exact" the share of right forms or names.
Minutes are the limit of a training on one core: one number is that of all neural systems of a row,
several are those of different ones. In the table of sizes scores are means of the seeds, kB and
milliseconds are of the published file; where none is published, kB are of the first seed.
[README.md](README.md) has the commands, the processors and what the figures mean."""
WAYS = ("greedy", "beam", "suggestions")  # in which a file's times are taken


def report(results):
    """All tables.

    Args:
        results: List of dictionaries, as `Results.read` gives them.

    Returns:
        String, Markdown.
    """
    if not results:
        return "There are no results yet.\n"
    scores = Scores(results)
    parts = [_accuracy(scores), _sizes(scores), _programs(scores), _settings(scores)]
    parts += [_files(scores), _origins(scores)]
    return "\n\n".join([ABOUT, *filter(None, parts)]) + "\n"


class Scores:
    """The first metric of results, by task, system and seed."""

    def __init__(self, results):
        self.by_place = {(one["task"], one["system"], one["seed"]): one for one in results}
        found = {task for task, _, _ in self.by_place}
        self.groups = {}
        for task in tasks.ALL:
            if task.name in found:
                self.groups.setdefault(task.group, []).append(task)

    def has(self, system):
        """True if there is a result of a system or setting."""
        return any(system == place[1] for place in self.by_place)

    def row(self, task, setting):
        """Scores of the first seed, of several in the mean, and of their ensemble; or None."""
        several = len(self.seeds(task, setting)) > 1
        mean = self.mean(task, setting) if several else None
        return self.first(task, setting), mean, self.of(task, setting, "ensemble")

    def seeds(self, task, system):
        """Numbers of the seeds that there are."""
        places = (place for place in self.by_place if place[:2] == (task.name, system))
        return sorted(seed for *_, seed in places if seed != "ensemble")

    def of(self, task, system, seed, part="dev"):
        """A score, or None."""
        result = self.by_place.get((task.name, system, seed), {})
        return result.get(part, {}).get(task.metrics[0])

    def first(self, task, system, part="dev"):
        """The score of the first seed, or None."""
        seeds = self.seeds(task, system)
        return self.of(task, system, seeds[0], part) if seeds else None

    def mean(self, task, system, part="dev"):
        """The mean over the seeds, or None."""
        scores = [self.of(task, system, seed, part) for seed in self.seeds(task, system)]
        return statistics.fmean(scores) if scores and None not in scores else None

    def files(self, task, setting):
        """Bits and kB of a setting's files, and milliseconds of a word in each way, as text.

        They are those of the published seed; of the first one, without times, if none is.
        """
        own = [self.by_place[task.name, setting, seed] for seed in self.seeds(task, setting)]
        shown = next((one for one in own if one.get("published")), own[0])
        taken = shown.get("milliseconds", {}) if shown.get("published") else {}
        kilobytes = [f"{shown['bytes'][name] / 1000:.0f}" for name in ("tflite", "keras")]
        times = (f"{taken[way]:.2f}" if way in taken else "" for way in WAYS)
        return [bits(shown), *kilobytes, *times]

    def published(self):
        """The results whose model is published, in the order of the tasks."""
        names = [task.name for members in self.groups.values() for task in members]
        found = [one for one in self.by_place.values() if one.get("published")]
        return sorted(found, key=lambda one: names.index(one["task"]))

    def minutes(self, task, systems):
        """The limits of the trainings of some systems, as text."""
        limits = {
            one["minutes"]
            for (name, system, _), one in self.by_place.items()
            if name == task.name and system in {*systems} - {"phonetisaurus"}
        }
        return ", ".join(f"{one:g}" for one in sorted(limits - {None}))


def _accuracy(scores):
    """Task x (published, peers, one model, mean of the seeds, ensemble)."""
    peers = [name for name in PEERS if scores.has(name)]
    head = ["task", "", "minutes", "published best", *(PEERS[name] for name in peers)]
    settings = [name for name in ("small", "four-bits", "preset") if scores.has(name)]
    for name in settings:
        head += [f"ours, `{name}`, first seed", "mean of the seeds", "ensemble"]
    rows = []

    def cells(task):
        return [
            *(scores.mean(task, name) for name in peers),
            *itertools.chain(*(scores.row(task, name) for name in settings)),
        ]

    for group, members in scores.groups.items():
        unit = UNITS[members[0].metrics[0]]
        table = [cells(task) for task in members]
        whole = len(members) > 1 and len(members) == sum(one.group == group for one in tasks.ALL)
        if whole:
            means = [_mean(column) for column in zip(*table, strict=True)]
            rows.append([f"**{group}**, mean", unit, "", _published(group), *map(_number, means)])
        for task, row in zip(members, table, strict=True):
            minutes = scores.minutes(task, [*peers, *settings])
            rows.append([task.name, unit, minutes, _published(task.name), *map(_number, row)])
    return _table(head, rows, left=2)


def bits(one):
    """Those of a weight of a result's .tflite file, as text."""
    return one.get("quantization", "int8").removeprefix("int")


def _sizes(scores):
    """Task x (what 8 or 4 bits cost, bytes of the files, time of a word on a device)."""
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
    """Published files x programs for devices: milliseconds of a word, greedily and five texts."""
    measured = [one for one in scores.published() if "programs" in one]
    names = [*dict.fromkeys(name for one in measured for name in one["programs"])]
    if not names:
        return ""
    ways = [(name, way) for name in names for way in ("greedy", "suggestions")]
    head = ["file of", "setting", "bits", *(f"{name}, {way}" for name, way in ways)]
    rows = []
    for one in measured:
        times = (one["programs"].get(name, {}).get(way) for name, way in ways)
        cells = ("" if each is None else f"{each:.2f}" for each in times)
        rows.append([one["task"], one["system"], bits(one), *cells])
    about = "Milliseconds of a word in the programs for devices, one thread:"
    return f"{about}\n\n{_table(head, rows, left=2)}"


def _settings(scores):
    """Task x settings, means of the seeds, where there are several."""
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
    """Published files x all metrics, the first one with its interval of 95 %."""
    head = ["published file of", "setting", "seed", "", "score", "95 %", *OTHERS.values()]
    rows = []
    for one in scores.published():
        first, found = tasks.TASKS[one["task"]].metrics[0], one["tflite"]
        low, high = found[f"{first}_interval"]
        score = [UNITS[first], _number(found[first]), f"{low:.1f} to {high:.1f}"]
        others = [_number(found.get(other)) for other in OTHERS]
        rows.append([one["task"], one["system"], str(one["seed"]), *score, *others])
    if not rows:
        return ""
    about = "Scores of the published files, intervals by bootstrap over the words:"
    return f"{about}\n\n{_table(head, rows, left=4)}"


def _origins(scores):
    """The published figures in full."""
    names = [name for group, members in scores.groups.items() for name in (group, *members)]
    names = dict.fromkeys(name if isinstance(name, str) else name.name for name in names)
    lines = [
        f"- {name}: {'; '.join(map(str, tasks.PUBLISHED[name]))}."
        for name in names
        if name in tasks.PUBLISHED
    ]
    if not lines:
        return ""
    about = "Published figures are of the official test parts, all others of dev:"
    return "\n".join([about, "", *lines])


def _published(name):
    figures = tasks.PUBLISHED.get(name, ())
    return f"{figures[0].value:g}{'' if figures[0].read else ' (recalled)'}" if figures else ""


def _mean(column):
    return None if None in column else statistics.fmean(column)


def _number(value):
    return "" if value is None else f"{value:.1f}"


def _table(head, rows, left):
    """Markdown; the first columns are to the left."""
    rule = [*["---"] * left, *["--:"] * (len(head) - left)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *rows))
