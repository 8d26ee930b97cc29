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
from keras_bahdanau.cli.several_corpora import check_tagged, held_out_of_each, read_corpora
from keras_bahdanau.data.answers import answers_by_source
from keras_bahdanau.data.corpora import require_text
from keras_bahdanau.ownership import check_unowned
from keras_bahdanau.sources.named_source import inputs_by_name, preset_by_name, source_by_name
from keras_bahdanau.training import TrainingOptions
from keras_bahdanau.training.inheritance import check_no_adaptation, initial_model
from keras_bahdanau.training.run import Run

HELD_OUT = 50  # one pair of this number is held out for validation,
MOST_HELD_OUT = 1000  # but at most this number of pairs


@ends_well("The same command resumes from the last checkpoint.")
@options_of(TrainingOptions, TrainingOptions().resolved())
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
    if workers != 1 and not is_launched():
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
    say = functools.partial(print, flush=True)
    table = {"columns": columns, "answer_separator": answer_separator, "say": say}
    _check_either(corpus, valid_corpus, source, valid_source, alignments)
    read = functools.partial(_Data.read, inputs, **table)
    if corpus:
        data = _Data.several(corpus, read)
    elif source.is_dir():
        given = {"target": target, "columns": columns, "answer_separator": answer_separator}
        data = _shards(source, valid_source, alignments=alignments, **given)
    else:
        data = read(source, target, alignments)
    if valid_source is not None:
        valid = read(valid_source, valid_target, valid_alignments)
        check_tagged(valid_source, valid.pairs, data.pairs)
    elif valid_corpus:
        valid = _Data.several(valid_corpus, read, data.pairs)
        require_text(valid.pairs)
    else:
        _check_no_half(valid_target=valid_target, valid_alignments=valid_alignments)
        data, valid = data.split_each() if corpus else data.split(_held_out(data.pairs))
    links = {"alignments": data.alignments, "valid_alignments": valid.alignments}
    new_text = None
    if vocabulary_pairs is not None:
        new_text = _Data.read(inputs, vocabulary_pairs, None, None, columns=columns, say=say)
    if begins_with is not None:
        load_tensorflow()  # the source of a file says what its preset is
        options = begins_with.inherited(options)
    if not is_launched():  # each worker checks what it may, below
        run.check(options, data.pairs, valid.pairs, **links)
        check_unowned(run.translator, say)
    if valid_source is None and not valid_corpus:
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
        source=None if begins_with else source_by_name(kind),
        symbols=[*dict.fromkeys([*data.symbols, *(symbol or [])])],
        cache=cache,
        initial=initial,
        vocabulary_pairs=None if new_text is None else new_text.pairs,
        strategy=strategy,
        **links,
    )
    say(f"The model: {path}")


class _Data(NamedTuple):
    """Sentence pairs or `Shards`, the links between words, or None, and the symbols of features."""

    pairs: list
    alignments: list | None
    symbols: tuple | list = ()

    @classmethod
    def read(cls, inputs, source, target=None, alignments=None, **table):
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

    @classmethod
    def several(cls, given, read, corpora=None):
        """Pairs of several corpora, or those for their validation: see `read_corpora`."""
        pairs, symbols = read_corpora(given, read, corpora)
        return cls(pairs, None, symbols)

    def split_each(self):
        """(pairs to train on, held-out pairs) of each of several corpora."""
        parts = held_out_of_each(self.pairs, _held_out)
        return tuple(_Data(pairs, None, self.symbols) for pairs in parts)

    def split(self, chosen):
        """(pairs that are not chosen, pairs that are), by a set of indices."""
        return self._at(lambda i: i not in chosen), self._at(lambda i: i in chosen)

    def _at(self, taken):
        rows = (self.pairs, self.alignments)
        kept = (of and [row for i, row in enumerate(of) if taken(i)] for of in rows)
        return _Data(*kept, self.symbols)


def _check_either(corpus, valid_corpus, source, valid_source, alignments):
    """Check that there are files, or corpora in place of all of them."""
    if not corpus and source is None:
        raise ValueError(
            "Training needs files, or several --corpus. Received: neither. "
            "Give source and target sentences."
        )
    if not corpus and valid_corpus:
        raise ValueError(
            f"--valid-corpus needs --corpus. Received: valid_corpus={valid_corpus[0]!r}. "
            "Use --valid-source for the validation of one list of pairs."
        )
    beside_corpora = {"source": source, "alignments": alignments} if corpus else {}
    beside_valid = {"valid_source": valid_source} if valid_corpus else {}
    for name, path in {**beside_corpora, **beside_valid}.items():
        if path is not None:
            raise ValueError(
                "Corpora stand in the place of other files. Received: "
                f"{name}={str(path)!r} beside corpora. Leave it out."
            )


def _shards(directory, valid_source, **files):
    """The pairs of shards, to which no other files belong."""
    from keras_bahdanau.data.shards import Shards  # which loads NumPy

    shards = Shards(directory)
    for name, value in files.items():
        if value is not None:
            raise ValueError(
                "A directory of shards holds both sides. Received: "
                f"source={str(directory)!r}, with {name}={str(value)!r}. Leave that out."
            )
    if valid_source is None:
        raise ValueError(
            "Shards hold no text to validate on. Received: "
            f"source={str(directory)!r} without validation pairs. Give --valid-source."
        )
    return _Data(shards, None)


def _inputs(kind, begins_with):
    """The form of the inputs: see `Source.inputs_are`."""
    if begins_with is None:
        return inputs_by_name(kind or "text")
    if kind is not None:
        raise ValueError(
            "A model that is trained further has its source. Received: "
            f"source={kind!r} with initial={str(begins_with.path)!r}. Leave --source out."
        )
    return begins_with.inputs


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
