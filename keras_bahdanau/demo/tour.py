"""The demo: generates data, trains, translates, plots, exports and compares."""

import json
import shutil
import time
from pathlib import Path

from keras_bahdanau.demo.task import MARK, check_directory, task_of
from keras_bahdanau.exporters import export_litert, export_saved_model, run_in_clean_process
from keras_bahdanau.exporters.litert.litert_exporter import LiteRTExporter
from keras_bahdanau.exporters.saved_model.version_card import BATCH
from keras_bahdanau.pipelines.tasks import load_pipeline
from keras_bahdanau.training import train


def run(out="demo", options=None, verbose="auto", say=print, task="text"):
    """Run the demo and write its files to a directory.

    Args:
        out: Path of the output directory. The demo writes `report.json`, `alignment.png`,
            `translator.keras`, `saved_model/1/`, `translator.tflite`, `data/`, and the training run
            in `run/`.
        options: `TrainingOptions` to use instead of those of the task.
        verbose: As in `keras.Model.fit`.
        say: Function of one string, which reports progress.
        task: String, a name in `TASKS`.

    Returns:
        Dictionary, as in `report.json`: the metrics of the task, `agreement` (the fraction of test
        inputs for which Keras, SavedModel and LiteRT give the same text), and `seconds`.

    Raises:
        FileExistsError: If the directory contains a finished demo, or other files.
        ImportError: If a package that the task needs is not installed.
    """
    start = time.monotonic()
    out, task = Path(out), task_of(task)
    check_directory(out)
    out.mkdir(parents=True, exist_ok=True)
    (out / MARK).touch()
    training, valid, test = task.data()
    for name, examples in (("train", training), ("valid", valid), ("test", test)):
        task.write(out / "data", name, examples)
    description, example = task.describe(training)
    say(f"1. Data: {description}, in {out / 'data'}")
    for line in example:
        say(f"   {line}")

    options = options or task.options
    limit = f", {options.minutes:g} minutes at most" if options.minutes else ""
    say(f"2. Training{limit}")
    pairs = [[task.pair(example) for example in part] for part in (training, valid)]
    path = _trained(pairs, out / "run", options, task.source(), verbose, say)
    shutil.copyfile(path, out / "translator.keras")
    pipeline = load_pipeline(out / "translator.keras")

    say(f"3. {task.verb} {len(test)} inputs that it has never seen")
    inputs = [task.pair(example)[0] for example in test]
    results = pipeline.decode(inputs)
    report = task.measure(pipeline, test, results)
    task.picture(pipeline, test, results).savefig(out / "alignment.png", dpi=150)

    say("4. Exporting to TensorFlow Serving and to LiteRT, and comparing all three")
    answers = compared_answers(pipeline, out, inputs, [result.text for result in results])
    equal = [len(set(texts)) == 1 for texts in zip(*answers.values(), strict=True)]
    report["agreement"] = sum(equal) / len(equal)
    report["seconds"] = round(time.monotonic() - start, 1)
    (out / "report.json").write_text(json.dumps(report, indent=1) + "\n")
    for number in task.highlights(test):
        say(f"   {task.name_of(test[number])}")
        for name, texts in answers.items():
            say(f"      {name:<11} {texts[number]}")
    say(
        f"\n{task.summary(report)},\nKeras, SavedModel and LiteRT agree on "
        f"{report['agreement']:.1%} of the test ({report['seconds']:.0f} s in all).\n\n"
        f"Look at   {out / 'alignment.png'}\nThen try\n{task.next_commands(out)}"
    )
    return report


def _trained(pairs, directory, options, source, verbose, say):
    """Train the model, unless an interrupted demo has already done so, and return its path."""
    try:
        return train(*pairs, directory, options, verbose=verbose, say=say, source=source)
    except FileExistsError:
        return directory / "translator.keras"


def compared_answers(pipeline, out, inputs, texts):
    """Export to `out`, and return a dictionary of the texts of Keras, SavedModel and LiteRT."""
    for unfinished in (out / "saved_model", out / "translator.tflite"):
        shutil.rmtree(unfinished) if unfinished.is_dir() else unfinished.unlink(missing_ok=True)
    version = export_saved_model(pipeline, out / "saved_model")
    requests = [
        ("serving_default", pipeline.source.requests(inputs[first : first + BATCH]))
        for first in range(0, len(inputs), BATCH)
    ]
    served = run_in_clean_process(version, requests)
    path = export_litert(pipeline, out / "translator.tflite")
    on_device = LiteRTExporter().answers(path, pipeline, inputs).received
    return {
        "Keras": texts,
        "SavedModel": [text.decode() for answer in served for text in answer[pipeline.noun]],
        "LiteRT": [answers[0].text if answers else "(too long)" for answers in on_device],
    }
