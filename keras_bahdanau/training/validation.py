"""Validation after each epoch, which saves the best pipeline and the history, and ends training."""

import contextlib
import dataclasses

import keras

from keras_bahdanau.callbacks.stopping import require_finite, require_finite_state
from keras_bahdanau.data.pairs import answers_by_source
from keras_bahdanau.evaluation.corpus_metrics import metrics_of
from keras_bahdanau.files.whole_file import write_json
from keras_bahdanau.optimizers.adam import averaged_weights, restoring, whole_weights
from keras_bahdanau.optimizers.rounded_weights import round_weights


class ValidateAndSave(keras.callbacks.Callback):
    """Callback that validates each epoch, saves the results, and ends training in time.

    If there are averaged weights, from `AveragingAdam` or as the mean of the last epochs, these are
    validated. "val_loss" and "val_perplexity" are added to the logs for later callbacks.

    Training ends after the last epoch, when `patience` or `minutes` is reached, or when another
    callback sets `model.stop_training`. In the last case, the unfinished epoch is validated, and
    the run can't be resumed. A result that is NaN or infinite raises FloatingPointError and is not
    saved.

    If `best_by` is not "perplexity", the validation sources are decoded greedily after each epoch.
    Perplexity decides between epochs with equal values. A model to fine-tune is validated before
    the first step, and is the best model until an epoch is better.
    """

    def __init__(self, plan, run, translator, validation, checkpoint, average=None, say=print):
        super().__init__()
        self.options, self.limits = plan.options, plan.limits
        self.has_initial = plan.initial is not None
        self.answers = answers_by_source(plan.data.valid_pairs, plan.target)
        self.judge = None
        if self.options.best_by != "perplexity":
            (self.judge,) = metrics_of([self.options.best_by], self.options.tokenize)
            self.answers.checked([self.judge])
        self.run = run
        self.translator = translator
        self.validation = validation
        self.checkpoint = checkpoint
        self.average = average
        self.say = say

    def on_train_begin(self, logs=None):
        if self.average is not None:
            self.average.set_model(self.model)
        progress = self.checkpoint.progress
        if self.has_initial and not (progress.epoch or progress.step):
            self._validate_first()

    def on_epoch_end(self, epoch, logs=None):
        progress = self.checkpoint.progress
        logs = {} if logs is None else logs
        require_finite_state(self.model, progress)  # while `progress` still contains the batch
        with self._saved_weights(epoch):
            logs.update(self._validate())
            names = ("loss", "val_loss", "val_perplexity")
            require_finite({name: logs[name] for name in names}, self.model, progress)
            value = self._judged(logs)
            better = progress.is_better(value, logs["val_perplexity"])
            if better:
                self.translator.save(self.run.translator)
        progress.end_epoch(logs, value)
        progress.stopped = self.model.stop_training  # by a callback, before the epoch was done
        write_json(self.run.history, progress.history)
        self.checkpoint.save()
        self.say(
            f"epoch {epoch + 1}: {self._figures(logs)}{' (best)' if better else ''}, "
            f"{progress.seconds / 60:.1f} min"
        )
        options = self.options
        end = progress.end(*self.limits)
        self.model.stop_training = end is not None
        if end is not None and progress.epoch < options.epochs:
            self.say(f"training ends after {progress.epoch} of {options.epochs} epochs: {end}")

    def on_train_end(self, logs=None):
        progress = self.checkpoint.progress
        if self.model.stop_training and not progress.end(*self.limits):
            progress.stopped = True  # by a callback that comes later in the list
            self.checkpoint.save()
        if not progress.end(*self.limits):
            return
        if progress.best_epoch:
            figures = self._figures(progress.history[progress.best_epoch - 1])
            self.say(f"the file contains epoch {progress.best_epoch}: {figures}")
        elif self.has_initial:
            self.say("no epoch was better than the model that training started from, which is kept")

    def _validate_first(self):
        """Validate the initial model, and save it as the best so far."""
        self._give_weights()
        logs = self._validate()
        value = self._judged(logs)
        better = self.checkpoint.progress.keep_best(value, logs["val_perplexity"])
        if better:
            self.translator.save(self.run.translator)
        self.say(f"before the first step: {self._figures(logs)}{' (best)' if better else ''}")

    def _give_weights(self):
        if self.translator.model is not self.model:
            self.translator.model.set_weights(self.model.get_weights())

    @contextlib.contextmanager
    def _saved_weights(self, epoch):
        with contextlib.ExitStack() as block:
            block.enter_context(averaged_weights(self.model))
            if self.average is not None:
                with whole_weights(self.model):
                    self.average.on_epoch_end(epoch)
                block.enter_context(self.average.applied())
            options = self.options
            if options.quantization_aware:  # which an average is not
                block.enter_context(restoring(self.model.trainable_variables))
                round_weights(self.model, options.quantization)
            self._give_weights()
            yield

    def _judged(self, logs):
        """Compute the value that decides which epoch is best, where lower is better.

        The score of a metric is added to the logs.
        """
        if self.judge is None:
            return logs["val_perplexity"]
        search = dataclasses.replace(self.translator.search, beam_width=1)
        results = self.translator.decode(self.answers.sources, search=search)
        texts = [result.text for result in results]
        score = self.judge.corpus_score(*self.answers.lines(texts, self.judge.by_source))
        logs[f"val_{self.judge.name}"] = score
        return self.judge.loss_of(score)

    def _figures(self, logs):
        figures = f"validation perplexity {logs['val_perplexity']:.3f}"
        score = self.judge and logs[f"val_{self.judge.name}"]
        # NaN becomes None in JSON
        return figures if score is None else f"{figures}, {self.judge.label} {score:.2f}"

    def _validate(self):
        results = self.translator.model.evaluate(
            self.validation.epoch(0), return_dict=True, verbose=0
        )
        return {f"val_{name}": value for name, value in results.items()}
