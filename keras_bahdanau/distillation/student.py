"""Distillation: a student is trained on targets written by a teacher, and both are compared."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from keras_bahdanau.data.corpora import Corpus
from keras_bahdanau.distillation.choosing import choose_hypotheses, write_pairs
from keras_bahdanau.distillation.demands import check_demands
from keras_bahdanau.distillation.hypotheses import read_external
from keras_bahdanau.distillation.settings import Distillation
from keras_bahdanau.distillation.teacher import Teacher, teacher_hypotheses
from keras_bahdanau.files.ownership import existing, owned
from keras_bahdanau.files.whole_file import write_json
from keras_bahdanau.pipelines.archive import find_translator, read_card
from keras_bahdanau.settings.checks import counted
from keras_bahdanau.settings.guesses import check_keywords
from keras_bahdanau.text.subwords import Subwords
from keras_bahdanau.text.vocabulary import checked_symbols
from keras_bahdanau.text.word_weights import parse_weights
from keras_bahdanau.training.data import Sides, TrainingData, teacher_files
from keras_bahdanau.training.inheritance import check_none_learned
from keras_bahdanau.training.options import ResolvedOptions, TrainingOptions, resolve
from keras_bahdanau.training.plan import check_new_model
from keras_bahdanau.training.run import Run

REPORT, COMPARISON = "report.json", "comparison.json"  # in the directory of the pairs


@check_keywords(options=TrainingOptions, settings=Distillation)
def distill(
    pairs,
    valid_pairs,
    directory,
    teacher=None,
    options=None,
    settings=None,
    hypotheses=None,
    baseline=None,
    workers=1,
    verbose="auto",
    say=print,
    source=None,
    symbols=(),
    cache=None,
    load=None,
):
    """Train a student on a teacher's texts, or resume an interrupted distillation.

    In sequence-level knowledge distillation (Kim and Rush 2016), each true target is replaced by a
    text from the teacher's beam, or by a sampled one. Small models learn the consistent
    translations of a teacher more easily than human translations.

    The directory is the output directory of the student's training run, as in `train`. Its
    subdirectory `distilled` contains all hypotheses, the chosen ones as plain files, and the filter
    report. With the option `guided_alignment`, the student also learns the teacher's attention
    (`losses.GuidedAlignment`); with `word_distillation`, it learns the teacher's distribution for
    each token (`WordDistillation`).

    Args:
        pairs: List of (input, true target).
        valid_pairs: List of such pairs, used to select the best epoch.
        directory: Path of the student's training run.
        teacher: Path of a `.keras` file or of a training run, or a list of paths for an ensemble.
        options: `TrainingOptions` for the student. Their seed is also used for sampling.
        settings: `Distillation`.
        hypotheses: Path of a file with hypotheses of another teacher (see `read_external`).
        baseline: Path of a model to compare with, such as a student trained without a teacher.
        workers: Positive integer, number of teacher processes. If there are several, the calling
            program must be importable, so guard it with `if __name__ == "__main__":`.
        verbose: As in `keras.Model.fit`.
        say: Function of one string, which is called to report progress.
        source: `Source` of the student, or the `Subwords` of its source text. None uses the
            teacher's source or, if that is text, a vocabulary learned from the pairs.
        symbols: As in `train`.
        cache: As in `train`.
        load: Picklable function that loads TensorFlow in a custom way, or None.

    Returns:
        Path of the student's file.

    Raises:
        BlockingIOError: If another process owns the directory.
        FileExistsError: If the directory contains anything other than a distillation.
        FileNotFoundError: If a model or file is missing.
        RuntimeError: If a teacher process was killed.
        ValueError: If the arguments are inconsistent or differ from the original ones, if no pair
            passes the filters, or if `symbols` can't be tokens.

    Example:
        >>> options = TrainingOptions(preset="ssru-student")
        >>> path = distill(pairs, valid, "runs/student", "runs/big", options)
    """
    options = options or TrainingOptions()
    plan = DistillationPlan(
        run=Run(directory),
        pairs=pairs,
        paths=teacher_files(teacher),
        options=options,
        resolved=resolve(options.explicit()),
        settings=settings or Distillation(),
        hypotheses=hypotheses,
        baseline=baseline and find_translator(baseline),
        workers=workers,
        say=say,
        load=load,
    )
    check_demands(plan)
    checked_symbols(symbols)  # fail before the slow decoding
    plan.check_output()
    external = plan.external_hypotheses()
    if load is not None:
        load()
    plan.check_baseline(valid_pairs)
    # pass `Subwords` on unchanged, so that `train` infers the position of features
    subwords = source if isinstance(source, Subwords) else None
    source, target = plan.sides(source)
    if not plan.run.exists():
        check_new_model(plan.options, Sides(source, target))
    student_pairs, weights = plan.student_pairs(source, external, valid_pairs)
    plan.train(
        student_pairs,
        valid_pairs,
        verbose=verbose,
        alignments=weights,
        source=subwords or source,
        target=target,
        symbols=symbols,
        cache=cache,
    )
    plan.compare(valid_pairs)
    return plan.run.translator


class DistillationPlan(NamedTuple):
    """Arguments of `distill`, and the files of the teacher.

    `paths` are the teacher's files, or () if hypotheses are given. `resolved` contains the options
    with all defaults filled in.
    """

    run: Run
    pairs: list
    paths: tuple
    options: TrainingOptions
    resolved: ResolvedOptions
    settings: Distillation
    hypotheses: Any
    baseline: Path | None
    workers: int
    say: Callable
    load: Callable | None

    @property
    def guides(self):
        """True if the teacher's attention guides the student's."""
        return self.resolved.guided_alignment > 0

    @property
    def word_teacher(self):
        """The teacher's files if the student learns its distributions; otherwise ()."""
        return self.paths if self.resolved.word_distillation else ()

    def check_output(self):
        self.run.check_free()
        if self.run.exists() and not self.run.distilled.is_dir():
            raise FileExistsError(
                "A distillation can resume only in a directory of a distillation. Received: "
                f"out={str(self.run.directory)!r}, with a run of `train`. Choose another directory."
            )

    def check_baseline(self, valid_pairs):
        """Raise an error if the baseline can't read the validation inputs."""
        if self.baseline is not None:
            from keras_bahdanau.pipelines.file import read_source  # loads Keras

            baseline = read_source(read_card(self.baseline)["source"])
            baseline.check("valid_pairs", [source for source, _ in valid_pairs[:1]])

    def external_hypotheses(self):
        """Return one list of `Hypothesis` per pair from the file, or None with a teacher."""
        if not self.hypotheses:
            return None
        hypotheses = read_external(self.hypotheses, len(self.pairs), self.settings.n_best)
        filters = self.settings.score_filters
        if filters and any(math.isnan(text.score) for nbest in hypotheses for text in nbest):
            raise ValueError(
                "Filters by score need hypotheses with scores, in lines 'number ||| text ||| "
                f"score'. Received: hypotheses={str(self.hypotheses)!r} without scores, and "
                f"{filters}. Omit the filters."
            )
        return hypotheses

    def sides(self, source):
        """Return (source, target) of the student, as given or from the teacher.

        A side is None if its vocabulary is learned from the pairs.
        """
        from keras_bahdanau.pipelines.tasks import check_same_sides
        from keras_bahdanau.sources.named_source import read_sides
        from keras_bahdanau.sources.text_source import source_of  # loads TensorFlow

        source = None if source is None else source_of(source)
        if not self.paths:
            return source, None
        sides = [read_sides(read_card(path)) for path in self.paths]
        check_same_sides(sides)  # fail before creating the directory
        teacher_source, target = sides[0]
        if source is not None and type(source) is not type(teacher_source):
            raise ValueError(
                "Teacher and student must have the same kind of source. Received: "
                f"{type(teacher_source).__name__} for the teacher, and {type(source).__name__} for "
                "the student. Omit `source`."
            )
        if self.settings.vocabulary == "teacher":
            if not self.run.exists():
                check_none_learned(self.options, teacher_source, target)
            return source or teacher_source, target
        return source or (teacher_source if teacher_source.subwords is None else None), None

    def student_pairs(self, source, hypotheses, valid_pairs):
        """Choose and write the pairs for the student.

        Returns (pairs or a list of `Corpus`, weights between words or None).
        """
        directory = self.run.distilled
        with existing(self.run.directory), owned(directory, self.say), existing(directory):
            hypotheses = hypotheses or self._teacher_hypotheses(directory)
            rows, report = choose_hypotheses(
                self.pairs, hypotheses, self.settings, source, self.workers, self.say
            )
            self.say(report.text())
            if not rows:
                raise ValueError(
                    "At least one hypothesis must pass the filters. "
                    f"Received: {report.pairs:,} hypotheses, all dropped. Turn off a filter."
                )
            pairs = distilled = [(self.pairs[row.pair][0], row.hypothesis.text) for row in rows]
            if mix := self.settings.mix:
                pairs = [Corpus("distilled", distilled, 1 - mix), Corpus("true", self.pairs, mix)]
            weights = None
            if self.guides:
                weights = [parse_weights(row.hypothesis.weights) for row in rows]
            if self.run.exists():  # fail before overwriting other pairs
                data = TrainingData.build(pairs, valid_pairs, weights, teacher=self.word_teacher)
                self.run.check_data(data)
            write_pairs(directory, distilled, rows, self.guides)
            write_json(directory / REPORT, report.record())
        return pairs, weights

    def _teacher_hypotheses(self, directory):
        inputs = [source for source, _ in self.pairs]
        teacher = Teacher(
            self.paths, self.settings, self.resolved.seed, self.guides, load=self.load
        )
        return teacher_hypotheses(teacher, inputs, directory, self.workers, self.say)

    def train(self, pairs, valid_pairs, **arguments):
        """Train the student, unless its training has already ended."""
        from keras_bahdanau import training

        arguments |= {"say": self.say, "teacher": self.word_teacher}
        try:
            training.train(pairs, valid_pairs, self.run.directory, self.options, **arguments)
        except FileExistsError:
            if not self.run.is_over():
                raise
            self.say("the training of the student has already ended")

    def compare(self, pairs):
        """Print and write a table that compares teacher, baseline and student on pairs."""
        from keras_bahdanau.distillation.comparing import measure, table_of
        from keras_bahdanau.evaluation.corpus_metrics import metrics_of, report_blind
        from keras_bahdanau.pipelines.tasks import ensemble, load_pipeline

        self.say(f"comparing on {counted(len(pairs), 'validation pairs')}")
        student = load_pipeline(self.run.translator)
        references = [target for _, target in pairs]
        for line in (report_blind(metric, references) for metric in metrics_of(student.metrics)):
            if line:
                self.say(line)
        systems = {"teacher": self.paths, "undistilled": self.baseline and (self.baseline,)}
        rows = []
        for name, paths in systems.items():
            if paths:
                system = load_pipeline(paths[0]) if len(paths) == 1 else ensemble(paths)
                rows.append(measure(name, system, paths, pairs, student.metrics))
        rows.append(measure("student", student, [self.run.translator], pairs, student.metrics))
        write_json(self.run.distilled / COMPARISON, [row._asdict() for row in rows])
        self.say("\n".join(table_of(rows, student.plural)))
