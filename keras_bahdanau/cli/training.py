"""`keras-bahdanau train`."""

from pathlib import Path
from typing import Annotated

import typer

from keras_bahdanau.cli.arguments import (
    AnswerSeparatorOption,
    CacheOption,
    ColumnsOption,
    asked,
    options_of,
)
from keras_bahdanau.cli.console import (
    ends_well,
    keras_verbosity,
    load_tensorflow,
    say,
    show_progress,
)
from keras_bahdanau.cli.inputs import check_cache
from keras_bahdanau.cli.launching import is_launched, launch
from keras_bahdanau.cli.own_modules import with_imports
from keras_bahdanau.cli.training_files import (
    HELD_OUT,
    MOST_HELD_OUT,
    Data,
    Files,
    check_read_by_all,
    read_data,
    tell_held_out,
)
from keras_bahdanau.files.ownership import check_unowned
from keras_bahdanau.sources.named_source import inputs_by_name, preset_by_name, source_by_name
from keras_bahdanau.training import TrainingOptions
from keras_bahdanau.training.data import TrainingData
from keras_bahdanau.training.inheritance import check_no_adaptation, initial_model
from keras_bahdanau.training.options import DEFAULTS
from keras_bahdanau.training.plan import check_start
from keras_bahdanau.training.run import Run


@ends_well("The same command resumes from the last checkpoint.")
@options_of(TrainingOptions, DEFAULTS)
@with_imports
def train(
    context: typer.Context,
    source: Annotated[
        Path | None,
        typer.Argument(
            help="Source sentences, one a line; or a TSV with both languages; or, of images and "
            "speech, a manifest: a TSV of path and text; or a directory of shards."
        ),
    ] = None,
    target: Annotated[Path | None, typer.Argument(help="Their translations, line by line.")] = None,
    *,
    kind: Annotated[
        str | None,
        typer.Option(
            "--source",
            help="Source: text, image or speech. Settings may follow, such as "
            "image:height=64,width=640: the arguments of ImageSource or AudioSource.  "
            "[default: text, or that of the model of --from]",
            show_default=False,
        ),
    ] = None,
    corpus: Annotated[
        list[str] | None,
        typer.Option(
            help="One of several corpora in place of the files, NAME=FILES:WEIGHT:TAG, such as "
            "de=train.en,train.de:0.7:<2de>: its share of the batches, and a token before each "
            "source. WEIGHT and TAG may be left out; without weights the sizes decide.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Directory of the training: new, or left unfinished.")],
    valid_source: Annotated[
        Path | None,
        typer.Option(
            help="Source sentences, or a TSV, for the choice of the best epoch. "
            f"[default: every {HELD_OUT}th pair, at most {MOST_HELD_OUT:,}, held out]"
        ),
    ] = None,
    valid_target: Annotated[Path | None, typer.Option(help="Their translations.")] = None,
    valid_corpus: Annotated[
        list[str] | None,
        typer.Option(
            help="Validation files of the --corpus of that name, NAME=FILES; they get its tag.",
            show_default=False,
        ),
    ] = None,
    alignments: Annotated[
        Path | None,
        typer.Option(
            help="Links between the words of each pair, such as 0-0 1-2, one line a pair: for "
            "--guided-alignment, or --attention forced."
        ),
    ] = None,
    valid_alignments: Annotated[
        Path | None,
        typer.Option(help="Links of the validation pairs, for --attention forced."),
    ] = None,
    initial: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="Model to train further: the directory of a training, or a .keras file. Its "
            "source, vocabularies and model options are kept.",
            show_default=False,
        ),
    ] = None,
    vocabulary_pairs: Annotated[
        Path | None,
        typer.Option(
            help="TSV with both languages, the new text for --update-vocabulary.  "
            "[default: all pairs of the training]",
            show_default=False,
        ),
    ] = None,
    teacher: Annotated[
        list[Path] | None,
        typer.Option(
            help="Model whose distribution of each token is learnt, for --word-distillation: "
            "directory of a training, or a .keras file; given several times, the ensemble. It must "
            "have the student's vocabularies. `distill` lets a teacher write the targets, too.",
            show_default=False,
        ),
    ] = None,
    symbol: Annotated[
        list[str] | None,
        typer.Option(
            help="Text that is one token of the source in a vocabulary that is learnt or updated, "
            "such as <bt>; may be given several times.",
            show_default=False,
        ),
    ] = None,
    columns: ColumnsOption = None,
    answer_separator: AnswerSeparatorOption = None,
    cache: CacheOption = None,
    workers: Annotated[
        int,
        typer.Option(
            help="Processes of this machine that train together, each with its part of every "
            "batch, on its own GPU where there are several. A job of several machines sets "
            "TF_CONFIG in each process instead."
        ),
    ] = 1,
    **options,
):
    """Train a translator, or a reader of images or speech; or resume a training that was stopped.

    Options that are left out come from the preset, which follows from the source; the defaults
    shown are those of the preset "small", for text. Files are UTF-8, plain or .gz.
    OUT/translator.keras is the best model so far. The same command resumes a training that was
    stopped or killed. With --from the new training begins with the weights of another one.
    """
    files = Files(source, target, alignments, corpus)
    valid_files = Files(valid_source, valid_target, valid_alignments, valid_corpus)
    if workers != 1 and not is_launched():
        new_text = [] if vocabulary_pairs is None else [vocabulary_pairs]
        check_read_by_all([*files.paths(), *valid_files.paths(), *new_text], workers)
        return launch(workers, context.find_root().obj)
    run = Run(out)
    begins_with = initial_model(run, initial)
    inputs = _inputs(kind, begins_with)
    kind = kind or "text"
    preset = begins_with.preset if begins_with else preset_by_name(kind)
    options = TrainingOptions(**{"preset": preset, **asked(options)})
    if begins_with is None:
        check_no_adaptation(options)
    else:
        begins_with.check(options)
    check_cache(cache, inputs)
    if not is_launched():  # each worker checks what it may, below
        run.check_free()
    table = {"columns": columns, "answer_separator": answer_separator, "say": say}
    show_progress("reading the pairs")
    data, valid = read_data(inputs, files, valid_files, **table)
    show_progress("")
    links = {"alignments": data.alignments, "valid_alignments": valid.alignments}
    planned = TrainingData.build(data.pairs, valid.pairs, **links, teacher=teacher)
    new_text = None
    if vocabulary_pairs is not None:
        new_text = Data.read(inputs, vocabulary_pairs, None, None, **table)
    if begins_with is not None:
        load_tensorflow()  # the source of a file says what its preset is
    if not is_launched():
        check_start(run, options, planned, begins_with)
        check_unowned(run.translator, say)
    if valid_source is None and not valid_corpus:
        tell_held_out(valid.pairs, say)
    load_tensorflow()
    import tensorflow as tf

    from keras_bahdanau import training
    from keras_bahdanau.training.workers import strategy_of_environment

    strategy = strategy_of_environment()
    say(f"training on the {'GPU' if tf.config.list_physical_devices('GPU') else 'CPU'}")
    path = training.train(
        data.pairs,
        valid.pairs,
        out,
        options,
        verbose=keras_verbosity(),
        say=say,
        source=None if begins_with else source_by_name(kind),
        symbols=[*dict.fromkeys([*data.symbols, *(symbol or [])])],
        cache=cache,
        initial=initial,
        vocabulary_pairs=None if new_text is None else new_text.pairs,
        strategy=strategy,
        show=show_progress,
        **links,
        teacher=planned.teacher,
    )
    say(f"The model: {path}")


def _inputs(kind, begins_with):
    """The form of the inputs: see `Source.inputs_are`."""
    if begins_with is None:
        return inputs_by_name(kind or "text")
    if kind is not None:
        raise ValueError(
            "A model that is trained further keeps its kind of source. Received: "
            f"source={kind!r} with the model of {str(begins_with.path)!r}. Leave --source out."
        )
    return begins_with.inputs
