"""Results by task, system and seed: scores of the first metric, and sizes and times of files."""

import statistics

import tasks

WAYS = ("greedy", "beam", "suggestions")  # search modes that are timed


class Scores:
    """The first metric of the results, by task, system and seed."""

    def __init__(self, results):
        self.by_place = {(one["task"], one["system"], one["seed"]): one for one in results}
        found = {task for task, _, _ in self.by_place}
        self.groups = {}
        for task in tasks.ALL:
            if task.name in found:
                self.groups.setdefault(task.group, []).append(task)

    def has(self, system):
        """Return True if there is a result for a system or setting."""
        return any(system == place[1] for place in self.by_place)

    def row(self, task, setting):
        """Return the scores of the first seed, the mean over seeds, and the ensemble, or None."""
        several = len(self.seeds(task, setting)) > 1
        mean = self.mean(task, setting) if several else None
        return self.first(task, setting), mean, self.of(task, setting, "ensemble")

    def seeds(self, task, system):
        """Return the existing seeds."""
        places = (place for place in self.by_place if place[:2] == (task.name, system))
        return sorted(seed for *_, seed in places if seed != "ensemble")

    def of(self, task, system, seed, part="dev"):
        """Return a score, or None."""
        result = self.by_place.get((task.name, system, seed), {})
        return result.get(part, {}).get(task.metrics[0])

    def first(self, task, system, part="dev"):
        """Return the score of the first seed, or None."""
        seeds = self.seeds(task, system)
        return self.of(task, system, seeds[0], part) if seeds else None

    def mean(self, task, system, part="dev"):
        """Return the mean over the seeds, or None."""
        scores = [self.of(task, system, seed, part) for seed in self.seeds(task, system)]
        return statistics.fmean(scores) if scores and None not in scores else None

    def files(self, task, setting):
        """Return bits and kB of a setting's files, and milliseconds per word, as text.

        The values are for the published seed, or otherwise for the first seed, without times.
        """
        own = [self.by_place[task.name, setting, seed] for seed in self.seeds(task, setting)]
        shown = next((one for one in own if one.get("published")), own[0])
        taken = shown.get("milliseconds", {}) if shown.get("published") else {}
        kilobytes = [f"{shown['bytes'][name] / 1000:.0f}" for name in ("tflite", "keras")]
        times = (f"{taken[way]:.2f}" if way in taken else "" for way in WAYS)
        return [bits(shown), *kilobytes, *times]

    def published(self):
        """Return the results with a published model, in the order of the tasks."""
        names = [task.name for members in self.groups.values() for task in members]
        found = [one for one in self.by_place.values() if one.get("published")]
        return sorted(found, key=lambda one: names.index(one["task"]))

    def minutes(self, task, systems):
        """Return the time limits for training some systems, as text."""
        limits = {
            one["minutes"]
            for (name, system, _), one in self.by_place.items()
            if name == task.name and system in {*systems} - {"phonetisaurus"}
        }
        return ", ".join(f"{one:g}" for one in sorted(limits - {None}))


def bits(one):
    """Return the bits per weight in a result's .tflite file, as text."""
    return one.get("quantization", "int8").removeprefix("int")
