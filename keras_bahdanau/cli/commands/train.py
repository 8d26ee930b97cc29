"""The command `keras-bahdanau train`."""

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from keras_bahdanau.cli.console import keras_verbosity, load_tensorflow, say, show_progress
from keras_bahdanau.cli.options import (
    AnswerSeparatorOption,
    CacheOption,
    ColumnsOption,
    TargetArgument,
    ValidSourceOption,
    ValidTargetOption,
    check_tokenization,
    command,
)
from keras_bahdanau.sources.named_source import NAMES
from keras_bahdanau.training.options import DEFAULTS, TrainingOptions


@dataclasses.dataclass(kw_only=True)
class TrainArguments:
    """Arguments for `train`."""

    context: typer.Context
    source: Annotated[
        Path | None,
        typer.Argument(
            help="Source sentences, one per line; a .tsv, .jsonl or .tmx file with both languages; "
            "a directory of shards; or, for images and speech, a manifest (a TSV of paths and "
            "texts)."
        ),
    ] = None
    target: TargetArgument = None
    kind: Annotated[
        str | None,
        typer.Option(
            "--source",
            help=f"Source type: {', '.join(NAMES)}. Settings may follow it, as in "
            "image:height=64,width=640. They are the arguments of ImageSource or AudioSource.  "
            "[default: text, or the type of the --from model]",
            show_default=False,
        ),
    ] = None
    corpus: Annotated[
        list[str] | None,
        typer.Option(
            help="One of several corpora, instead of source and target files: "
            "NAME=FILES:WEIGHT:TAG, such as de=train.en,train.de:0.7:<2de>. WEIGHT is the "
            "corpus's share of the batches, by default its share of the pairs. TAG is a token to "
            "put before each source. Both are optional.",
            show_default=False,
            rich_help_panel="Data",
        ),
    ] = None
    out: Annotated[
        Path,
        typer.Option(help="Output directory: a new one, or that of an unfinished training run."),
    ]
    valid_source: ValidSourceOption = None
    valid_target: ValidTargetOption = None
    valid_corpus: Annotated[
        list[str] | None,
        typer.Option(
            help="Validation files for one --corpus: NAME=FILES. The tag of that corpus is put "
            "before each source.",
            show_default=False,
            rich_help_panel="Data",
        ),
    ] = None
    alignments: Annotated[
        Path | None,
        typer.Option(
            help="File of links between the words of each pair, such as 0-0 1-2, one line per "
            "pair. For --guided-alignment or --attention forced.",
            rich_help_panel="Data",
        ),
    ] = None
    valid_alignments: Annotated[
        Path | None,
        typer.Option(
            help="File of links for the validation pairs. For --attention forced.",
            rich_help_panel="Data",
        ),
    ] = None
    initial: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="Model to fine-tune: the output directory of a training run, or a .keras file. "
            "Its source, vocabularies and model options are kept.",
            show_default=False,
        ),
    ] = None
    vocabulary_pairs: Annotated[
        Path | None,
        typer.Option(
            help="TSV with both languages: the new text for --update-vocabulary.  "
            "[default: all training pairs]",
            show_default=False,
            rich_help_panel="Adaptation",
        ),
    ] = None
    teacher: Annotated[
        list[Path] | None,
        typer.Option(
            help="Teacher for --word-distillation, where the student learns the teacher's "
            "distribution over each token: the output directory of a training run, or a .keras "
            "file. Give the option several times to use an ensemble. The teacher must have the "
            "student's vocabularies. In distill, a teacher also generates the targets.",
            show_default=False,
            rich_help_panel="Training",
        ),
    ] = None
    symbol: Annotated[
        list[str] | None,
        typer.Option(
            help="Text that a learned or updated source vocabulary keeps as a single token, such "
            "as <bt>. May be given several times.",
            show_default=False,
            rich_help_panel="Data",
        ),
    ] = None
    columns: ColumnsOption = None
    answer_separator: AnswerSeparatorOption = None
    cache: CacheOption = None
    workers: Annotated[
        int,
        typer.Option(
            help="Number of processes on this machine that train together. Each one computes a "
            "part of every batch, on its own GPU if there are several. For a job on several "
            "machines, set TF_CONFIG in each process instead.",
            rich_help_panel="Run",
        ),
    ] = 1


@command(
    TrainArguments,
    (TrainingOptions, DEFAULTS),
    on_interrupt="Run the same command to resume from the last checkpoint.",
)
def train(arguments, options):
    """Train a model for text, images or speech, or resume a training run that was stopped.

    The preset sets the options that you don't give. The default preset depends on the source; the
    defaults shown are those of the preset "small", for text. Files must be UTF-8, plain or .gz.
    OUT/translator.keras is the best model so far. To resume a training run that was stopped or
    killed, run the same command again. With --from, training starts from the weights of another
    model.
    """
    from keras_bahdanau.cli import training_files as files
    from keras_bahdanau.cli.inputs import check_cache
    from keras_bahdanau.cli.worker_processes import is_launched, launch
    from keras_bahdanau.files.ownership import check_unowned
    from keras_bahdanau.training.data import TrainingData
    from keras_bahdanau.training.inheritance import initial_model
    from keras_bahdanau.training.plan import check_start
    from keras_bahdanau.training.run import Run

    trained, validated = files.Files.training(arguments), files.Files.validation(arguments)
    new_text_file, workers = arguments.vocabulary_pairs, arguments.workers
    if workers != 1 and not is_launched():
        paths = [*trained.paths(), *validated.paths(), *filter(None, [new_text_file])]
        files.check_read_by_all(paths, workers)
        return launch(workers, arguments.context.find_root().obj)
    run = Run(arguments.out)
    initial = initial_model(run, arguments.initial)
    inputs = _inputs(arguments.kind, initial)
    options = _checked_options(arguments, options, initial)
    check_cache(arguments.cache, inputs)
    if not is_launched():  # workers check this later, in `training.train`
        run.check_free()
    columns, separator = arguments.columns, arguments.answer_separator
    table = {"columns": columns, "answer_separator": separator, "say": say}
    show_progress("reading the pairs")
    data, valid = files.read_data(inputs, trained, validated, **table)
    show_progress("")
    links = {"alignments": data.alignments, "valid_alignments": valid.alignments}
    planned = TrainingData.build(data.pairs, valid.pairs, **links, teacher=arguments.teacher)
    new_text = new_text_file and files.Data.read(inputs, new_text_file, **table).pairs
    if initial is not None:
        load_tensorflow()  # to read the source in the file, which determines the preset
    if not is_launched():
        check_start(run, options, planned, initial)
        check_unowned(run.translator, say)
    if arguments.valid_source is None and not arguments.valid_corpus:
        files.report_held_out(valid.pairs, say)
    _train(
        arguments,
        options,
        initial,
        (data.pairs, valid.pairs),
        symbols=[*dict.fromkeys([*data.symbols, *(arguments.symbol or [])])],
        vocabulary_pairs=new_text,
        **links,
        teacher=planned.teacher,
    )


def _checked_options(arguments, options, initial):
    """Return the `TrainingOptions`, checked against the model to fine-tune, if there is one."""
    from keras_bahdanau.sources.named_source import preset_by_name
    from keras_bahdanau.training.inheritance import check_no_adaptation

    preset = initial.preset if initial else preset_by_name(arguments.kind or "text")
    options = TrainingOptions(**{"preset": preset, **options})
    check_tokenization(options.tokenize)
    if initial is None:
        check_no_adaptation(options)
    else:
        initial.check(options)
    return options


def _train(arguments, options, initial, pairs, **data):
    load_tensorflow()
    import tensorflow as tf

    from keras_bahdanau import training
    from keras_bahdanau.sources.named_source import source_by_name
    from keras_bahdanau.training.workers import strategy_of_environment

    strategy = strategy_of_environment()
    say(f"training on the {'GPU' if tf.config.list_physical_devices('GPU') else 'CPU'}")
    path = training.train(
        *pairs,
        arguments.out,
        options,
        verbose=keras_verbosity(),
        say=say,
        source=None if initial else source_by_name(arguments.kind or "text"),
        cache=arguments.cache,
        initial=arguments.initial,
        strategy=strategy,
        show=show_progress,
        **data,
    )
    say(f"The model: {path}")


def _inputs(kind, initial):
    if initial is None:
        from keras_bahdanau.sources.named_source import inputs_by_name

        return inputs_by_name(kind or "text")
    if kind is not None:
        raise ValueError(
            "A model that is fine-tuned keeps its type of source. Received: "
            f"source={kind!r} with the model in {str(initial.path)!r}. Omit --source."
        )
    return initial.inputs
