"""Reports of a training run: pairs that are left out or unusable, and progress in long epochs."""

import os
import time

import keras

from keras_bahdanau.data.readers.manifest import report_unreadable
from keras_bahdanau.evaluation.corpus_metrics import metrics_of, report_blind
from keras_bahdanau.evaluation.scoring import long_references_of
from keras_bahdanau.settings.checks import counted
from keras_bahdanau.text.folding import report_pairs, report_targets
from keras_bahdanau.training.data import LONGEST_VALID, longest_source, longest_valid_source

NAMED, LONGEST = 3, 40  # number of inputs to name, and maximum number of characters of each
SECONDS = 30  # time between two progress lines


def report_skipped(plan, batches, validation, say):
    """Report the training and validation pairs that are left out from the start."""
    source, data = plan.source, plan.data
    longest = longest_source(plan)
    limit = longest and (longest, source.unit)
    arguments = data.inputs, source, plan.options.max_length, say, limit
    report_skipped_of("training", batches, *arguments)
    limit = longest and (longest_valid_source(source, longest), source.unit)
    arguments = data.valid_inputs, source, LONGEST_VALID, say, limit
    report_skipped_of("validation", validation, *arguments)


def report_skipped_of(kind, batches, inputs, source, max_length, say, source_limit=None):
    """Report the pairs of a kind, "training" or "validation", that are left out.

    `source` is the `Source` that reads the inputs. `source_limit` is its own limit, such as
    (3000, "frames"), or None if the limit for targets applies.
    """
    skipped = batches.skipped
    if skipped.empty:
        say(f"{_pairs(skipped.empty, kind)} with an empty side {_are(skipped.empty)} left out")
        for line in report_unreadable(inputs, batches.source_lengths, source):
            say(line)
    if skipped.too_long:
        pairs = f"{_pairs(skipped.too_long, kind)} with more than {max_length} tokens"
        options = ["--max-length"]
        if source_limit is not None:
            pairs += f", or a source of more than {source_limit[0]:,} {source_limit[1]},"
            options.append("--max-source-length")
        option = f" ({', '.join(options)})" if kind == "training" else ""
        say(f"{pairs} {_are(skipped.too_long)} left out{option}{_named(inputs, batches.too_long)}")


def report_texts(plan, say):
    """Report unknown characters in validation texts, and targets that the model can't output."""
    in_memory = (part for part in plan.data.pairs.parts() if part.in_memory)
    targets = [target for part in in_memory for _, target in part]
    sides = plan.source, plan.target
    for line in (
        *report_targets(targets, plan.target, " of the training"),
        *report_pairs(plan.data.valid_pairs, *sides, " of the validation"),
    ):
        say(line)


def report_judge(plan, say):
    """Report if `best_by` can't distinguish epochs with these validation targets."""
    options = plan.options
    if options.best_by != "perplexity":
        (judge,) = metrics_of([options.best_by], options.tokenize)
        line = report_blind(judge, [target for _, target in plan.data.valid_pairs])
        if line:
            say(f"{line}. The perplexity decides between epochs with the same {judge.label}")


def report_long_targets(plan, validation, pipeline, say):
    """Report the validation targets that are longer than the longest possible output."""
    line = long_references_of(validation, plan.data.valid_pairs, pipeline)
    if line:
        say(f"validation: {line}")


def report_pairs_without_ctc_path(batches, model, say):
    """Report the pairs from which the CTC loss can't learn. The decoder still learns from them."""
    if not model.ctc_weight:
        return
    reduction = model.encoder.reduction
    count = batches.pathless(reduction)
    if count:
        verb, pronoun = ("has", "it") if count == 1 else ("have", "them")
        positions = "each position" if reduction == 1 else f"each {reduction} positions"
        say(
            f"{_pairs(count, 'training')} {verb} more target tokens than CTC has places, one for "
            f"{positions} of the source: CTC learns nothing from {pronoun}. Use an encoder or "
            "cells that shorten the source less, longer tokens such as subwords or words, or "
            "--ctc-weight 0"
        )


def _pairs(count, kind):
    return counted(count, f"{kind} pairs")


def _are(count):
    return "is" if count == 1 else "are"


def _named(inputs, rows):
    """Return the end of a line: the first inputs, and the number of the rest; "" for no inputs.

    Texts are named by their beginning, because pairs may come from any line of several files.
    """
    names = [str(inputs[row]) for row in rows if isinstance(inputs[row], str | os.PathLike)]
    if not names:
        return ""
    cut = [name if len(name) <= LONGEST else f"{name[:LONGEST]}…" for name in names[:NAMED]]
    some = ", ".join(map(repr, cut))
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return f": {some}{more}"


class ReportBroken(keras.callbacks.Callback):
    """Reports each broken input once, at the end of an epoch.

    Raises ValueError if all inputs are broken.
    """

    def __init__(self, kind, batches, inputs, source, say):
        super().__init__()
        self.kind, self.batches, self.say = kind, batches, say
        self.inputs, self.source = inputs, source
        self.reported = set()

    def on_epoch_end(self, epoch, logs=None):
        new = [row for row in self.batches.broken.tolist() if row not in self.reported]
        if new:
            self.reported.update(new)
            count = "counts" if len(new) == 1 else "count"
            self.say(f"{_pairs(len(new), self.kind)} with a broken source {count} for nothing")
            inputs = [self.inputs[row] for row in new]
            for line in report_unreadable(inputs, [0] * len(new), self.source):
                self.say(line)
            self.batches.require_readable()


class ReportSteps(keras.callbacks.Callback):
    """Reports that the graph is built and, with `lines`, the current step every 30 seconds.

    In a file, Keras prints only one line per epoch. A resumed run has already done `first_step`
    steps of its first epoch.
    """

    def __init__(self, say, lines, first_step=0):
        super().__init__()
        self.say, self.lines, self.first_step = say, lines, first_step
        self._reported = None

    def on_train_begin(self, logs=None):
        self.say("building the graph: the first step takes the longest")
        self._reported = time.monotonic()

    def on_epoch_begin(self, epoch, logs=None):
        self._epoch = epoch + 1

    def on_train_batch_end(self, batch, logs=None):
        if self.lines and time.monotonic() - self._reported >= SECONDS:
            steps = self.params.get("steps")
            total = f" of {self.first_step + steps:,}" if steps else ""
            loss = f", loss {float(logs['loss']):.4f}" if logs and "loss" in logs else ""
            step = self.first_step + batch + 1
            self.say(f"epoch {self._epoch}: step {step:,}{total}{loss}")
            self._reported = time.monotonic()

    def on_epoch_end(self, epoch, logs=None):
        self.first_step = 0
        self._reported = time.monotonic()  # because Keras prints a line here
