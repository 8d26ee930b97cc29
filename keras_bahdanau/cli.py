"""The command line `keras-bahdanau`.

What takes time to load, TensorFlow first, is imported by the commands that
need it, after every check that does not.
"""

import dataclasses
import enum
import functools
import inspect
import json
import os
import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from keras_bahdanau import __version__
from keras_bahdanau.archive import find_translator
from keras_bahdanau.console import (
    PROGRAM,
    ends_well,
    keras_verbosity,
    load_tensorflow,
    show_progress,
)
from keras_bahdanau.recipe import TrainingOptions
from keras_bahdanau.run import Run
from keras_bahdanau.text.pairs import decode_lines, read_lines, read_pairs

HELD_OUT = 50  # every so many pairs one is held out for validation,
MOST_HELD_OUT = 1000  # but not more than this
ARRIVING = 2**16  # bytes of standard input that are translated at once

app = typer.Typer(
    help="Attention RNN translation: train it, see what it attends to, ship it.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def main(arguments=None):
    """The entry point.

    Args:
        arguments: List of strings; those of the process when left out.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    sys.stdout.reconfigure(encoding="utf-8")
    app(arguments, prog_name=PROGRAM)


def _options_of(settings):
    """Gives a function's command an option for each field of a dataclass.

    Default and help are the dataclass' own; the function receives the values
    as `**options`.
    """
    text = inspect.getdoc(settings) or ""
    helps = dict(re.findall(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", text, re.MULTILINE))

    def option(field):
        names = ["--joint/--separate"] if field.name == "joint" else []
        shown = typer.Option(*names, help=" ".join(helps.get(field.name, "").split()))
        return inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=field.default,
            annotation=Annotated[field.type, shown],
        )

    def decorate(function):
        signature = inspect.signature(function)
        *own, _ = signature.parameters.values()  # the last is **options
        parameters = [*own, *map(option, dataclasses.fields(settings))]
        function.__signature__ = signature.replace(parameters=parameters)
        return function

    return decorate


ModelOption = Annotated[
    Path, typer.Option(help="Directory of a training, or a .keras file.", show_default=False)
]
BeamOption = Annotated[
    int | None,
    typer.Option(min=1, help="Hypotheses kept for each sentence.  [default: the model's own]"),
]
LengthOption = Annotated[
    float | None,
    typer.Option(
        min=0,
        help="Exponent a of score = log p / length^a.  [default: the model's own]",
    ),
]
BatchOption = Annotated[int, typer.Option(min=1, help="Sentences translated at once.")]


def _show_version(asked: bool):
    if asked:
        print(f"{PROGRAM} {__version__}")
        raise typer.Exit()


@app.callback()
def _program(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
):
    pass


@app.command()
@ends_well("The same command goes on from the last checkpoint.")
@_options_of(TrainingOptions)
def train(
    source: Annotated[
        Path, typer.Argument(help="Source sentences, one a line; or a TSV with both languages.")
    ],
    target: Annotated[Path | None, typer.Argument(help="Their translations, line by line.")] = None,
    *,
    out: Annotated[Path, typer.Option(help="Directory of the training: new, or left unfinished.")],
    valid_source: Annotated[
        Path | None,
        typer.Option(
            help="Source sentences, or a TSV, that decide which epoch was best. "
            f"[default: every {HELD_OUT}th pair, at most {MOST_HELD_OUT:,}, held out]"
        ),
    ] = None,
    valid_target: Annotated[Path | None, typer.Option(help="Their translations.")] = None,
    **options,
):
    """Train a translator, or go on with a training that was stopped.

    Files are UTF-8, plain or .gz. OUT/translator.keras is the best translator so far. A training
    that was stopped, or killed, goes on when the same command is given again.
    """
    options = TrainingOptions(**options)
    pairs = read_pairs(source, target)
    if valid_source is not None:
        valid_pairs = read_pairs(valid_source, valid_target)
    elif valid_target is not None:
        raise ValueError(
            f"--valid-target needs --valid-source. Received: valid_target={str(valid_target)!r}. "
            "Give both, or neither."
        )
    else:
        pairs, valid_pairs = _held_out(pairs)
    Run(out).check(options, pairs, valid_pairs)
    if valid_source is None:
        print(f"{len(valid_pairs):,} pairs are held out for validation", flush=True)
    load_tensorflow()
    import tensorflow as tf

    from keras_bahdanau import training

    say = functools.partial(print, flush=True)
    say(f"training on the {'GPU' if tf.config.list_physical_devices('GPU') else 'CPU'}")
    path = training.train(pairs, valid_pairs, out, options, verbose=keras_verbosity(), say=say)
    say(f"The translator: {path}")


@app.command()
@ends_well()
def translate(
    file: Annotated[
        Path | None, typer.Argument(help="Sentences, one a line.  [default: standard input]")
    ] = None,
    *,
    model: ModelOption,
    nbest: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Print so many translations of each sentence, best first, as "
            "'number ||| text ||| score'; at most the beam width.",
        ),
    ] = None,
    alignment: Annotated[
        bool, typer.Option("--alignment", help="Append ' ||| 0-0 1-2', the linked words.")
    ] = False,
    beam_width: BeamOption = None,
    length_normalization: LengthOption = None,
    batch_size: BatchOption = 64,
):
    """Translate sentences: one line out for each line in.

    Files are UTF-8, plain or .gz. An empty line stays empty.
    """
    path = find_translator(model)
    chunks = _lines_arriving() if file is None else _chunked(read_lines(file))
    load_tensorflow()
    from keras_bahdanau.translator import Translator

    translator = Translator.load(path)
    search = _search(translator, beam_width, length_normalization)
    done = 0
    for lines in chunks:
        results = translator.translate_nbest(lines, nbest or 1, batch_size, search)
        for number, hypotheses in enumerate(results, start=done):
            for hypothesis in hypotheses:
                print(_line(hypothesis, number if nbest else None, alignment))
        sys.stdout.flush()
        done += len(lines)
        show_progress(f"{done:,} sentences")
    show_progress("")


@app.command()
@ends_well()
def evaluate(
    source: Annotated[
        Path, typer.Argument(help="Source sentences, one a line; or a TSV with both languages.")
    ],
    target: Annotated[Path | None, typer.Argument(help="Their translations, line by line.")] = None,
    *,
    model: ModelOption,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    hypotheses: Annotated[
        Path | None, typer.Option(help="File that receives the translations.")
    ] = None,
    beam_width: BeamOption = None,
    length_normalization: LengthOption = None,
    batch_size: BatchOption = 64,
):
    """Translate sentences and compare: BLEU, chrF, perplexity, speed."""
    path = find_translator(model)
    _check_writable(hypotheses, "hypotheses")
    pairs = read_pairs(source, target)
    load_tensorflow()
    from keras_bahdanau import evaluation
    from keras_bahdanau.translator import Translator

    translator = Translator.load(path)
    search = _search(translator, beam_width, length_normalization)
    measured = evaluation.evaluate(translator, pairs, batch_size, search)
    if hypotheses is not None:
        lines = [translation.text + "\n" for translation in measured.translations]
        hypotheses.write_text("".join(lines), encoding="utf-8", newline="\n")
    print(json.dumps(measured.scores(), indent=1) if as_json else measured)


@app.command()
@ends_well()
def align(
    sentence: Annotated[str, typer.Argument(help="One sentence.")],
    *,
    model: ModelOption,
    plot: Annotated[
        Path | None, typer.Option(help="Picture to write: .png, .pdf, .svg, ...")
    ] = None,
    words: Annotated[
        bool, typer.Option("--words/--subwords", help="What the picture shows.")
    ] = True,
    beam_width: BeamOption = None,
    length_normalization: LengthOption = None,
):
    """Translate one sentence and show which words go with which.

    Prints the translation and the links, source-target, counted from 0.
    """
    path = find_translator(model)
    sentence = " ".join(decode_lines(os.fsencode(sentence), "SENTENCE"))
    _check_writable(plot, "plot")
    if plot is not None:
        _check_picture(plot)
    load_tensorflow()
    from keras_bahdanau.plotting import plot_alignment
    from keras_bahdanau.translator import Translator

    translator = Translator.load(path)
    search = _search(translator, beam_width, length_normalization)
    (result,) = translator.translate([sentence], search=search)
    print(result.text)
    print(_links(result))
    if plot is not None:
        plot_alignment(result, words=words).savefig(plot)


class Format(str, enum.Enum):
    """What `export` writes."""

    SAVED_MODEL = "saved-model"
    LITERT = "litert"


class Quantization(str, enum.Enum):
    """How `export` makes a LiteRT file smaller."""

    FLOAT16 = "float16"
    INT8 = "int8"


@app.command()
@ends_well()
def export(
    *,
    model: ModelOption,
    format: Annotated[
        Format,
        typer.Option(help="For TensorFlow Serving (saved-model) or phones (litert)."),
    ],
    out: Annotated[
        Path,
        typer.Option(help="File; or directory, in which saved-model makes the next version."),
    ],
    quantization: Annotated[
        Quantization | None, typer.Option(help="Weights of a LiteRT file in 16 or 8 bits.")
    ] = None,
    sentences: Annotated[
        Path | None,
        typer.Option(help="File of sentences to compare on, beside the built-in edge cases."),
    ] = None,
    allow_differences: Annotated[
        bool, typer.Option(help="Write it even if it does not answer as Keras does.")
    ] = False,
):
    """Write a translator as a SavedModel or as a LiteRT file, once it answers as Keras does.

    How it compares is told on standard error; standard output gets the path.
    """
    path = find_translator(model)
    lines = [] if sentences is None else read_lines(sentences)
    if format is Format.LITERT or out.is_file():
        _check_absent(out, "out")
    if format is Format.SAVED_MODEL and quantization is not None:
        raise ValueError(
            "Only a LiteRT file can be quantized. "
            f"Received: quantization={quantization.value!r} with format={format.value!r}. "
            "Leave it out, or export with --format litert."
        )
    load_tensorflow()
    from keras_bahdanau import exporters
    from keras_bahdanau.translator import Translator

    translator = Translator.load(path)
    compared = {
        "sentences": lines,
        "allow_differences": allow_differences,
        "say": functools.partial(print, file=sys.stderr),
    }
    if format is Format.SAVED_MODEL:
        print(exporters.export_saved_model(translator, out, **compared))
    else:
        precision = quantization and quantization.value
        print(exporters.export_litert(translator, out, precision, **compared))


@app.command()
@ends_well()
def check(
    path: Annotated[Path, typer.Argument(help="SavedModel directory, or .tflite file.")],
):
    """Say what a server or a phone would refuse; exit code 1 if there is anything."""
    load_tensorflow()
    from keras_bahdanau.exporters.check import check as findings_of

    findings = findings_of(path)
    for finding in findings:
        print(finding)
    if findings:
        raise typer.Exit(1)


@app.command()
@ends_well("The same command goes on.")
def demo(
    out: Annotated[Path, typer.Option(help="Directory that receives everything.")] = Path("demo"),
):
    """See it all on a generated corpus, in minutes.

    Trains, translates, draws an alignment, exports a SavedModel and a LiteRT file, and compares
    what the three answer. No download.
    """
    from keras_bahdanau import demo as embedded

    load_tensorflow()
    embedded.run(out, verbose=keras_verbosity(), say=functools.partial(print, flush=True))


def _held_out(pairs):
    """(pairs to train on, pairs for validation), which are spread evenly and have no empty side."""
    usable = [i for i, (source, target) in enumerate(pairs) if source.strip() and target.strip()]
    step = max(HELD_OUT, -(-len(usable) // MOST_HELD_OUT))
    held = set(usable[::step])
    return (
        [pair for i, pair in enumerate(pairs) if i not in held],
        [pair for i, pair in enumerate(pairs) if i in held],
    )


def _search(translator, beam_width, length_normalization):
    """The model's own `SearchOptions`, with what the user asks for."""
    asked = {"beam_width": beam_width, "length_normalization": length_normalization}
    given = {name: value for name, value in asked.items() if value is not None}
    return dataclasses.replace(translator.search, **given)


def _chunked(lines, size=1024):
    for first in range(0, len(lines), size):
        yield lines[first : first + size]


def _lines_arriving():
    """Lists of lines of standard input, as many as have come."""
    number, rest = 1, b""
    while data := sys.stdin.buffer.read1(ARRIVING):
        whole, newline, rest = (rest + data).rpartition(b"\n")
        if newline:
            lines = decode_lines(whole + newline, "standard input", number)
            number += len(lines)
            yield lines
    if rest:
        yield decode_lines(rest, "standard input", number)


def _line(translation, number, alignment):
    """One line of output, in the form of Moses' n-best lists if it has a number."""
    fields = [translation.text]
    if number is not None:
        fields = [str(number), translation.text, f"{translation.score:.4f}"]
    if alignment:
        fields.append(_links(translation))
    return " ||| ".join(fields)


def _links(translation):
    from keras_bahdanau.alignments import format_pharaoh, word_links

    return format_pharaoh(
        word_links(translation.source_tokens, translation.target_tokens, translation.alignment)
    )


def _check_absent(path, name):
    if path.exists():
        raise FileExistsError(
            f"An output must not exist yet. Received: {name}={str(path)!r}. "
            "Choose another name, or remove it."
        )


def _check_writable(path, name):
    """Checks that a file can be made here, if any is asked for."""
    if path is None:
        return
    _check_absent(path, name)
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise FileNotFoundError(
            "An output must lie in a directory that exists and may be written to. "
            f"Received: {name}={str(path)!r}."
        )


def _check_picture(path):
    from matplotlib.backend_bases import FigureCanvasBase

    known = sorted(FigureCanvasBase.get_supported_filetypes())
    if path.suffix.removeprefix(".").lower() not in known:
        raise ValueError(
            f"A picture's name must end in one of .{', .'.join(known)}. "
            f"Received: plot={str(path)!r}"
        )


if __name__ == "__main__":
    main()
