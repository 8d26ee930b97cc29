"""`keras-bahdanau train`."""

import functools
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from keras_bahdanau.cli.arguments import (
    AnswerSeparatorOption,
    CacheOption,
    ColumnsOption,
    asked,
    options_of,
)
from keras_bahdanau.cli.console import ends_well, keras_verbosity, load_tensorflow
from keras_bahdanau.cli.inputs import check_cache, has_content, read_examples
from keras_bahdanau.cli.launching import is_launched, launch
from keras_bahdanau.data.answers import answers_by_source
from keras_bahdanau.ownership import check_unowned
from keras_bahdanau.sources.named_source import inputs_by_name, preset_by_name, source_by_name
from keras_bahdanau.training import TrainingOptions
from keras_bahdanau.training.run import Run

HELD_OUT = 50  # one pair of this number is held out for validation,
MOST_HELD_OUT = 1000  # but at most this number of pairs


@ends_well("The same command resumes from the last checkpoint.")
@options_of(TrainingOptions, TrainingOptions().resolved())
def train(
    context: typer.Context,
    source: Annotated[
        Path,
        typer.Argument(
            help="Source sentences, one a line; or a TSV with both languages; or, of images and "
            "speech, a manifest: a TSV of path and text."
        ),
    ],
    target: Annotated[Path | None, typer.Argument(help="Their translations, line by line.")] = None,
    *,
    kind: Annotated[
        str,
        typer.Option(
            "--source",
            help="Source: text, image or speech. Settings may follow, such as "
            "image:height=64,width=640: the arguments of ImageSource or AudioSource.",
        ),
    ] = "text",
    out: Annotated[Path, typer.Option(help="Directory of the training: new, or left unfinished.")],
    valid_source: Annotated[
        Path | None,
        typer.Option(
            help="Source sentences, or a TSV, for the choice of the best epoch. "
            f"[default: every {HELD_OUT}th pair, at most {MOST_HELD_OUT:,}, held out]"
        ),
    ] = None,
    valid_target: Annotated[Path | None, typer.Option(help="Their translations.")] = None,
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
    stopped or killed.
    """
    if workers != 1 and not is_launched():
        return launch(workers, context.find_root().obj)
    options = TrainingOptions(**{"preset": preset_by_name(kind), **asked(options)})
    inputs = inputs_by_name(kind)
    check_cache(cache, inputs)
    say = functools.partial(print, flush=True)
    table = {"columns": columns, "answer_separator": answer_separator, "say": say}
    data = _Data.read(inputs, source, target, alignments, **table)
    if valid_source is not None:
        valid = _Data.read(inputs, valid_source, valid_target, valid_alignments, **table)
    else:
        _check_no_half(valid_target=valid_target, valid_alignments=valid_alignments)
        data, valid = data.split(_held_out(data.pairs))
    links = {"alignments": data.alignments, "valid_alignments": valid.alignments}
    if not is_launched():  # each worker checks what it may, below
        run = Run(out)
        run.check(options, data.pairs, valid.pairs, **links)
        check_unowned(run.translator, say)
    if valid_source is None:
        say(f"{len(valid.pairs):,} pairs are held out for validation")
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
        source=source_by_name(kind),
        symbols=data.symbols,
        cache=cache,
        strategy=strategy,
        **links,
    )
    say(f"The model: {path}")


class _Data(NamedTuple):
    """Sentence pairs, the links between their words, or None, and the symbols of features."""

    pairs: list
    alignments: list | None
    symbols: tuple | list = ()

    @classmethod
    def read(cls, inputs, source, target, alignments, **table):
        """Pairs and links read from files."""
        pairs, symbols = read_examples(inputs, source, target, **table)
        if alignments is None:
            return cls(pairs, None, symbols)
        from keras_bahdanau.data.reading import read_alignments  # which loads NumPy

        sure, _ = read_alignments(alignments)
        if len(sure) != len(pairs):
            raise ValueError(
                "Alignments must have one line for each pair. Received: "
                f"path={str(alignments)!r} with {len(sure)} lines for {len(pairs)} pairs. "
                "Leave a line empty where nothing is linked."
            )
        return cls(pairs, sure, symbols)

    def split(self, chosen):
        """(pairs that are not chosen, pairs that are), by a set of indices."""
        return self._at(lambda i: i not in chosen), self._at(lambda i: i in chosen)

    def _at(self, taken):
        rows = (self.pairs, self.alignments)
        kept = (of and [row for i, row in enumerate(of) if taken(i)] for of in rows)
        return _Data(*kept, self.symbols)


def _check_no_half(**files):
    for name, path in files.items():
        if path is not None:
            option = f"--{name.replace('_', '-')}"
            raise ValueError(
                f"{option} needs --valid-source. Received: {name}={str(path)!r}. "
                "Give both, or neither."
            )


def _held_out(pairs):
    """Indices of the pairs for validation, which are spread evenly and have no empty side.

    All pairs of one source stay together.
    """
    usable = [
        i for i, (source, target) in enumerate(pairs) if has_content(source) and target.strip()
    ]
    numbers = answers_by_source(pairs[i] for i in usable).numbers
    count = 1 + max(numbers, default=-1)  # different sources
    if count < 2:
        raise ValueError(
            "Training needs a source beside those that are held out for validation. "
            f"Received: {count} source with text on both sides. "
            "Give more, or others for validation with --valid-source."
        )
    step = max(HELD_OUT, -(-count // MOST_HELD_OUT))
    return {i for i, number in zip(usable, numbers, strict=True) if number % step == 0}
