"""The best models, copied to `examples/KIND/models` with a card and checksums."""

import argparse
import hashlib
import shutil
import tempfile
from pathlib import Path

import device_times
from scores import bits
from tables import UNITS
from tasks import BESIDE, TASKS
from trainings import Training

import keras_bahdanau as kb
from keras_bahdanau.evaluation.corpus_metrics import metrics_of

LARGEST = 1_000_000  # bytes of a .tflite file
VARIANTS = ("", *dict.fromkeys(BESIDE.values()))  # of a task's model: its own, large and small

CARD = """# Models

The preset `characters`{others}, one model a task:
`TASK.tflite`, for devices, has weights in 8 or 4 bits, and `TASK.keras` in 16.{beside} Each file
has the vocabularies and a card of its own (`keras-bahdanau check` prints that of a `.tflite` file).
Seeds and epochs were chosen on dev, and no test was looked at. One command scores a file of the
published format:

<!-- not run: the data must be downloaded first -->
```sh
keras-bahdanau evaluate --model {folder}/models/{first}.tflite \\
    {data} --metrics {metrics}
```

Scores are of dev, by a beam of 5. `minutes` limit a training on one core.
`sha256sum -c SHA256SUMS` compares the files.

{table}

{licence}
"""

CHANGED = {  # settings, as a card names them
    "small": "or made smaller (`small`)",
    "four-bits": "or made narrower, for 4 bits (`four-bits`)",
    "unknown": "or with `--unknown-rate 0.1` (`unknown`)",
    "further": "or trained further, with less dropout (`further`)",
}
BESIDE_CARDS = {
    "large": " `TASK-large.keras` is a larger\nmodel, for machines.",
    "large-int4": " `TASK-large-int4` is that model in\n4 bits, for devices.",
    "small": " `TASK-small` is a\nmodel for 400 kB.",
}

LICENCES = {
    "pronounce": """**Licence.** `cmudict` was trained on CMUdict, which is free for any purpose if
its notice is kept: copyright (c) 1993-2015 Carnegie Mellon University, all rights reserved. Its
other sizes also learnt how two models pronounce words of other texts: names of Wikidata and
Wikipedia, words of SIGMORPHON 2017 and 2021, Multi30K and Tatoeba. Only spellings were taken from
these. All others were trained on SIGMORPHON 2021, from Wiktionary: the models are under CC BY-SA
3.0.""",
    "transliterate": """**Licence.** Models of Wikidata's names (Merhav and Ash 2018) are free of
conditions, as the data is (CC0). `ar2en` was trained on names of Wikipedia (Rosca and Breuel
2016), under the Apache License 2.0.""",
    "inflect": """**Licence.** All were trained on CoNLL-SIGMORPHON 2017, from UniMorph and
Wiktionary: the models are under CC BY-SA 3.0.""",
}


def publish(results, tasks, settings, runs, examples):
    """Copy the models of some tasks, and write the cards of all that are there.

    Of the settings the first one is taken that a task has results of, with a file of at most a
    megabyte; and of its seeds the one whose file is the best on dev. Beside it stand
    `TASK-large.keras`, for machines, and `TASK-small`, of the first of `BESIDE` that are among the
    settings and have results. The result of a model that is published says so.

    Args:
        results: `Results`.
        tasks: List of `Task`.
        settings: List of names.
        runs: Path of the directory that has the models.
        examples: Path of the directory that has the examples.

    Returns:
        List of the paths of the .tflite files.

    Raises:
        FileNotFoundError: If a model is not there, or one that is there has no result.
    """
    found, paths = results.read(), []
    _check_known(tasks, settings, found, examples)
    _check_models(tasks, settings, found, runs)
    for task in tasks:
        for variant, one in _chosen_variants(task, settings, found).items():
            stem = _stem(examples, task, variant)
            stem.parent.mkdir(parents=True, exist_ok=True)
            if variant != "large":
                paths.append(stem.with_name(f"{stem.name}.tflite"))
                shutil.copyfile(_folder(runs, one) / _file_name(one), paths[-1])
            _save(_folder(runs, one), stem.with_name(f"{stem.name}.keras"))
            _mark(results, one)
    _write_cards(tasks, results, examples)
    return paths


def renew(results, tasks, arguments):
    """Export the published models again, as after a change of the exporter, and score the files.

    Args:
        results: `Results`, whose parts of the .tflite files become those of the new ones.
        tasks: List of `Task`; those without a published file are left out.
        arguments: Namespace of the command line.

    Returns:
        List of the paths of the .tflite files.
    """
    paths = []
    for task, one, path in _files(results, tasks, arguments.examples):
        with tempfile.TemporaryDirectory() as folder:
            here = argparse.Namespace(**{**vars(arguments), "out": Path(folder)})
            training = Training(task, one["system"], one["seed"], here)
            new = training.renewed(path.with_suffix(".keras"), one)
            paths.append(path)
            shutil.copyfile(training.file, path)
        results.write(new)
        first = task.metrics[0]
        before, after = (f"{each['tflite'][first]:.2f}" for each in (one, new))
        print(f"{path.stem}: {first} {after}, {before} before", flush=True)
        _write_cards([task], results, arguments.examples)
    return paths


def take_times(results, tasks, arguments):
    """Measure the published files, into their results: see `device_times`.

    Args:
        results: `Results`.
        tasks: As in `renew`.
        arguments: Likewise; with `node_modules` the programs for devices are measured, too.
    """
    with device_times.programs(arguments.node_modules) as programs:
        for task, one, path in _files(results, tasks, arguments.examples):
            times = device_times.measured(task, path, arguments.data)
            one["milliseconds"] = times
            if programs:
                given = programs, task, path, arguments.data
                one["programs"] = device_times.of_programs(*given)
            results.write(one)
            times = (f"{name} {value:.2f} ms" for name, value in times.items())
            print(path.stem, *times, flush=True)


def _files(results, tasks, examples):
    """(task, result, path) of each published .tflite file."""
    for task in tasks:
        for variant in VARIANTS:
            one = published(task, results.read(), variant)
            stem = _stem(examples, task, variant)
            path = stem.with_name(f"{stem.name}.tflite")
            if one and path.is_file():
                yield task, one, path


def _stem(examples, task, variant):
    """Path of a model's files, without their suffix."""
    return examples / task.kind / "models" / "-".join(filter(None, (task.name, variant)))


def published(task, found, variant=""):
    """The result of a task's published model, or of a variant of it, or None."""
    own = (one for one in found if one["task"] == task.name and one.get("published"))
    return next((one for one in own if BESIDE.get(one["system"], "") == variant), None)


def _mark(results, one):
    """Let a result, and no other one of its file, say that its model is published."""
    before = published(TASKS[one["task"]], results.read(), BESIDE.get(one["system"], ""))
    if before:
        results.write({name: value for name, value in before.items() if name != "published"})
    results.write({**one, "published": True})


def _check_known(tasks, settings, found, examples):
    """Raise FileNotFoundError before anything is copied if a card could not be written."""
    kinds = {task.kind for task in tasks}
    for task in (one for one in TASKS.values() if one.kind in kinds):
        copied = _chosen_variants(task, settings, found) if task in tasks else ()
        for variant in VARIANTS:
            path = _stem(examples, task, variant)
            path = path.with_name(f"{path.name}.tflite")
            if path.is_file() and variant not in copied and not published(task, found, variant):
                raise FileNotFoundError(
                    "Each published model must have a result that says so. Received: "
                    f"{path} without one. Publish {task.name} with the others."
                )


def _check_models(tasks, settings, found, runs):
    """Raise FileNotFoundError before anything is copied if a model is not there."""
    needed = {
        _folder(runs, one) / file: task
        for task in tasks
        for one in _chosen_variants(task, settings, found).values()
        for file in ("run/translator.keras", _file_name(one))
    }
    for path, task in needed.items():
        if not path.is_file():
            raise FileNotFoundError(
                "Each model to publish must be where it was trained. Received: no "
                f"{path}. Train it, or leave {task.name} out."
            )


def _folder(runs, result):
    return runs / result["task"] / f"{result['system']}-{result['seed']}"


def _file_name(one):
    """The name of a result's .tflite file in the directory of its training."""
    return f"model.{one.get('quantization', 'int8')}.tflite"


def _save(folder, path):
    kb.load_pipeline(folder / "run" / "translator.keras").save(path, weights="float16")


def _chosen_variants(task, settings, found):
    """The results of a task whose models are to be published, by their variant."""
    every = {variant: chosen(task, settings, found, variant) for variant in VARIANTS}
    return {variant: one for variant, one in every.items() if one}


def chosen(task, settings, found, variant=""):
    """The result of a task whose model, or a variant of it, is to be published, or None."""
    if not variant.startswith("large"):
        found = [one for one in found if one.get("bytes", {}).get("tflite", LARGEST + 1) <= LARGEST]
    ranked = BESIDE if variant else settings
    own = [one for one in ranked if one in settings and BESIDE.get(one, "") == variant]
    return next(filter(None, (_best(task, setting, found) for setting in own)), None)


def _best(task, setting, found):
    """The result of the best seed of a task and setting, or None."""
    metric = task.metrics[0]
    sign = -1 if metrics_of((metric,))[0].higher_is_better else 1
    own = [one for one in found if (one["task"], one["system"]) == (task.name, setting)]
    own = [one for one in own if "tflite" in one]  # or it is an ensemble
    return min(own, key=lambda one: (sign * one["tflite"][metric], one["seed"]), default=None)


def _write_cards(tasks, results, examples):
    found = results.read()
    for kind in sorted({task.kind for task in tasks}):
        _write_card(examples / kind / "models", kind, found)


def _write_card(models, kind, found):
    files = sorted(models.glob("*.tflite"))
    if not files:
        return
    tasks = [TASKS[path.stem] for path in files if path.stem in TASKS]
    rows, systems = [], set()
    for task in tasks:
        for variant in VARIANTS:
            one = published(task, found, variant)
            if one:
                systems.add(one["system"])
                rows.append(_row(task, one, _stem(models.parents[1], task, variant)))
    metrics = tasks[0].metrics
    unit = UNITS[metrics[0]]
    head = ["file", "setting", "seed", "minutes", "epochs", "bits", f"{unit}, float32"]
    head += [f"{name}, .tflite" for name in (unit, *metrics[1:])] + [".tflite, kB", ".keras, kB"]
    rule = ["---", "---", *["--:"] * (len(head) - 2)]
    text = CARD.format(
        others="".join(f", {CHANGED[one]}" for one in sorted(systems & {*CHANGED})),
        beside="".join(
            BESIDE_CARDS[one]
            for one in dict.fromkeys(BESIDE[each] for each in BESIDE if each in systems)
        ),
        **{"folder": f"examples/{kind}", "first": tasks[0].name, "data": f"DIR/{tasks[0].dev}"},
        metrics=",".join(metrics),
        table="\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *rows)),
        licence=LICENCES[kind],
    )
    (models / "README.md").write_text(text, encoding="utf-8")
    sums = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for path in sorted([*files, *models.glob("*.keras")])
    ]
    (models / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")


def _row(task, one, stem):
    """Cells of the table for a result and its files, `stem` with .tflite, if any, and .keras."""
    first, *others = task.metrics
    files = stem.with_name(f"{stem.name}.tflite"), stem.with_name(f"{stem.name}.keras")
    sizes = [f"{file.stat().st_size / 1000:.0f}" if file.is_file() else "" for file in files]
    scores = [f"{one['tflite'][name]:.1f}" for name in (first, *others)]
    of_file = [bits(one), *scores] if files[0].is_file() else [""] * (1 + len(scores))
    return [
        *(f"`{stem.name}`", one["system"], str(one["seed"])),
        *(f"{one['minutes'] or 0:g}", str(one["epochs"]), of_file[0]),
        *(f"{one['dev'][first]:.1f}", *of_file[1:], *sizes),
    ]
