"""The demo: generate, train, translate, draw, export, compare."""

import json
import shutil
import time
from pathlib import Path

import sacrebleu

from keras_bahdanau.demo.corpus import split, write
from keras_bahdanau.exporters import (
    OnDeviceTranslator,
    export_litert,
    export_saved_model,
    run_in_clean_process,
)
from keras_bahdanau.exporters.saved_model.saved_model_exporter import BATCH
from keras_bahdanau.pipelines.translator import Translator
from keras_bahdanau.plotting import plot_alignment
from keras_bahdanau.text import alignments
from keras_bahdanau.training import TrainingOptions, train

OPTIONS = TrainingOptions(
    vocabulary_size=1200,
    embedding_units=96,
    units=192,
    attention_units=96,
    when="before",  # the paper's own step: what the README's pictures explain
    dropout=0.1,
    embedding_dropout=0.1,
    recurrent_dropout=0.0,
    word_dropout=0.0,
    label_smoothing=0.05,
    batch_tokens=1200,
    learning_rate=3e-3,
    ema_momentum=0.99,
    epochs=12,
)


def run(out="demo", options=OPTIONS, verbose="auto", say=print):
    """Run the demo and write its files to a directory.

    Args:
        out: Path of the directory: `report.json`, `alignment.png`,
            `translator.keras`, `saved_model/1/`, `translator.tflite`, and the
            corpus (`data/`) and the training run (`run/`) behind them.
        options: `TrainingOptions`.
        verbose: As in `keras.Model.fit`.
        say: Function of one string, which reports progress.

    Returns:
        Dictionary, as in `report.json`: `bleu`, `exact_match`,
        `alignment_error_rate`, `agreement` (the share of test sentences on
        which Keras, SavedModel and LiteRT give the same text), `seconds`.

    Raises:
        FileExistsError: If the directory holds a finished demo.
    """
    began = time.monotonic()
    out = Path(out)
    if (out / "report.json").exists():
        raise FileExistsError(
            f"This demo is done already. Received: out={str(out)!r}. "
            "Remove the directory, or choose another one with --out."
        )
    training, valid, test = split()
    for name, examples in (("train", training), ("valid", valid), ("test", test)):
        write(out / "data", name, examples)
    say(f"1. A corpus of {len(training):,} English-French pairs: {out / 'data'}")
    say(f"   {training[0].source}\n   {training[0].target}")

    say("2. Training")
    path = _trained(_pairs(training), _pairs(valid), out / "run", options, verbose, say)
    shutil.copyfile(path, out / "translator.keras")
    translator = Translator.load(out / "translator.keras")

    say(f"3. Translating {len(test)} sentences that it has never seen")
    results = translator.translate([example.source for example in test])
    report = _measured(translator, test, results)
    shown = _shown(test)
    picture = plot_alignment(results[test.index(shown[-1])], words=True)
    picture.savefig(out / "alignment.png", dpi=150)

    say("4. Exporting to TensorFlow Serving and to LiteRT, and asking all three")
    answers = _ask_all(translator, out, [example.source for example in test])
    same = [len(set(texts)) == 1 for texts in zip(*answers.values(), strict=True)]
    report["agreement"] = sum(same) / len(same)
    report["seconds"] = round(time.monotonic() - began, 1)
    (out / "report.json").write_text(json.dumps(report, indent=1) + "\n")
    for example in shown:
        say(f"   {example.source}")
        for name, texts in answers.items():
            say(f"      {name:<11} {texts[test.index(example)]}")
    say(_summary(out, report))
    return report


def _trained(pairs, valid_pairs, directory, options, verbose, say):
    """Path of the translator; a demo that was killed after its training has it already."""
    try:
        return train(pairs, valid_pairs, directory, options, verbose=verbose, say=say)
    except FileExistsError:
        return directory / "translator.keras"


def _measured(translator, test, results):
    """BLEU and exact match of the translations, error rate of the alignments."""
    texts, references = [result.text for result in results], [example.target for example in test]
    read = translator.align(_pairs(test))
    links = [
        alignments.word_links(pair.source_tokens, pair.target_tokens, pair.alignment)
        for pair in read
    ]
    error_rate = alignments.alignment_error_rate(
        links, [example.sure for example in test], [example.possible for example in test]
    )
    # the corpus comes tokenized, so that nothing is left for BLEU to tokenize
    bleu = sacrebleu.corpus_bleu(texts, [references], tokenize="none", force=True)
    exact = [text == reference for text, reference in zip(texts, references, strict=True)]
    return {
        "bleu": round(bleu.score, 2),
        "exact_match": sum(exact) / len(exact),
        "alignment_error_rate": round(error_rate, 4),
    }


def _ask_all(translator, out, sentences):
    """The translations of Keras, of the SavedModel in C++ and of the LiteRT file."""
    for unfinished in (out / "saved_model", out / "translator.tflite"):
        shutil.rmtree(unfinished) if unfinished.is_dir() else unfinished.unlink(missing_ok=True)
    version = export_saved_model(translator, out / "saved_model")
    requests = [
        ("serving_default", {"text": sentences[first : first + BATCH]})
        for first in range(0, len(sentences), BATCH)
    ]
    served = run_in_clean_process(version, requests)
    on_device = OnDeviceTranslator(export_litert(translator, out / "translator.tflite"))
    return {
        "Keras": [result.text for result in translator.translate(sentences)],
        "SavedModel": [text.decode() for answer in served for text in answer["translation"]],
        "LiteRT": [result.text for result in on_device.translate(sentences)],
    }


def _shown(test):
    """Three sentences worth showing: an elision, a negation, and a longer one that reorders."""
    elision = next(example for example in test if "l'" in example.target)
    negation = next(example for example in test if "n'" in example.target)
    reordered = next(
        example
        for example in test
        if " pas " in example.target and len(example.target.split()) == 12 and _crosses(example)
    )
    return [elision, negation, reordered]


def _crosses(example):
    """Return True if a word moved to the other side of another one."""
    return any(
        source < other_source and target > other_target
        for source, target in example.sure
        for other_source, other_target in example.sure
    )


def _pairs(examples):
    return [(example.source, example.target) for example in examples]


def _summary(out, report):
    return f"""
BLEU {report["bleu"]:.1f}, {report["exact_match"]:.1%} of the translations exact, alignment error \
rate {report["alignment_error_rate"]:.3f},
Keras, SavedModel and LiteRT agree on {report["agreement"]:.1%} of the test sentences \
({report["seconds"]:.0f} s in all).

Look at   {out / "alignment.png"}
Then try
  keras-bahdanau translate --model {out / "translator.keras"} {out / "data" / "test.en"}
  keras-bahdanau align --model {out / "translator.keras"} "the old woman does not see \
my red car ." --plot picture.png
  keras-bahdanau train YOUR.source YOUR.target --out runs/mine"""
