"""Options that several commands have, and checks of their values."""

import dataclasses
import enum
import inspect
import os
from pathlib import Path
from typing import Annotated, get_args

import typer

from keras_bahdanau.cli.console import load_tensorflow
from keras_bahdanau.pipelines.file import find_translator, read_card
from keras_bahdanau.search import SearchOptions
from keras_bahdanau.settings.greetings import without_greetings
from keras_bahdanau.settings.limits import PRECISIONS

ModelOption = Annotated[
    Path, typer.Option(help="Directory of a training, or a .keras file.", show_default=False)
]
AnyModelOption = Annotated[
    Path,
    typer.Option(help="Directory of a training, a .keras or a .tflite file.", show_default=False),
]
ModelsOption = Annotated[
    list[Path],
    typer.Option(
        help="Directory of a training, a .keras or a .tflite file; given several times, the "
        "ensemble of the first two kinds.",
        show_default=False,
    ),
]
PrefixOption = Annotated[
    str | None,
    typer.Option(
        help="Text that each translation begins with. Hangul letters may join its last syllable.",
        show_default=False,
    ),
]
TagOption = Annotated[
    str | None,
    typer.Option(
        help="Tag to put before each source, such as <2de>, of a model that was trained with "
        "--corpus and tags.",
        show_default=False,
    ),
]
RejectOption = Annotated[
    float | None,
    typer.Option(
        help="Leave a text out whose confidence is lower, 0 to 1: an empty line, which is counted "
        "on standard error. See calibrate.",
        show_default=False,
    ),
]
JsonOption = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Print a JSON object for each text: text, score, confidence, rejected; tokens with "
        "their log-probabilities and entropies; words with first and last token, log-probability "
        "and confidence.",
    ),
]
Precision = enum.Enum("Precision", {name: name for name in PRECISIONS}, type=str)
PrecisionOption = Annotated[
    Precision | None,
    typer.Option(
        help="Precision of weights and products: bfloat16 is faster where a processor has such "
        "products, and changes some of the texts.  [default: that of the file]",
        show_default=False,
    ),
]
BatchOption = Annotated[int, typer.Option(help="Sentences translated at once.")]
TokenizeOption = Annotated[
    str | None,
    typer.Option(help="Tokenization of sacreBLEU for BLEU.  [default: 13a]", show_default=False),
]
CacheOption = Annotated[
    Path | None,
    typer.Option(
        help="Directory that keeps decoded images or recordings, for the next time that they are "
        "read; several commands may share it.",
        show_default=False,
    ),
]
ColumnsOption = Annotated[
    str | None,
    typer.Option(
        help="Columns of the TSV in their order, with commas between: source, target, features "
        "(such as V;PST: one source token each, behind the text; features-first: before it), and "
        "count or - for one to ignore.  "
        "[default: source,target, and features or count if the third column holds such]",
        show_default=False,
    ),
]
AnswerSeparatorOption = Annotated[
    str | None,
    typer.Option(
        help="Text between several right targets in one cell of the TSV.  "
        "[default: a cell holds one; several lines may have one source]",
        show_default=False,
    ),
]
HeldOutSource = Annotated[
    Path,
    typer.Argument(
        help="Source sentences, or a TSV, that the model was not trained on; a manifest, for a "
        "model that reads files."
    ),
]
HeldOutTarget = Annotated[Path | None, typer.Argument(help="Their translations, line by line.")]
LowercaseOption = Annotated[bool, typer.Option("--lowercase", help="Ignore case in each metric.")]


def options_of(settings, shown=None):
    """Give a function's command an option for each field of a settings dataclass.

    Type, help and check come from the fields. The function receives the values as
    `**options`, None for each option that is left out: see `asked`.

    Args:
        settings: The dataclass, whose fields are made by `keras_bahdanau.settings.option.option`.
        shown: Instance whose values the help lists as defaults; None if they are the model's.
    """
    parameters = [_parameter(field, shown) for field in dataclasses.fields(settings)]

    def decorate(function):
        signature = inspect.signature(function)
        # those of other settings, too, but **options
        own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
        function.__signature__ = signature.replace(parameters=[*own, *parameters])
        return function

    return decorate


def _parameter(field, shown):
    """Keyword parameter of a command, for one field."""
    default = "the model's own" if shown is None else getattr(shown, field.name)
    names = []
    if bool in (field.type, *get_args(field.type)):
        on = field.name.replace("_", "-")
        switch = [on, field.metadata.get("off", f"no-{on}")]
        names = ["/".join(f"--{name}" for name in switch)]
        default = switch[not default] if isinstance(default, bool) else default
    help = f"{field.metadata['help']} [default: {default}]"
    return inspect.Parameter(
        field.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[
            field.type | None, typer.Option(*names, help=help, show_default=False)
        ],
    )


with_search_options = options_of(SearchOptions)


def asked(options):
    """The options that were given on the command line, without those that were left out."""
    return {name: value for name, value in options.items() if value is not None}


def is_litert(path):
    """True for a .tflite file by its name, which LiteRT runs without TensorFlow."""
    return path.suffix == ".tflite"


def find_models(paths):
    """The files that `--model` names: .keras files, or one .tflite file.

    Raises:
        FileNotFoundError: If there is none.
        ValueError: If a .tflite file is one of several, or a .keras file is damaged.
    """
    for path in filter(is_litert, paths):
        if len(paths) > 1:
            raise ValueError(
                "An ensemble must be one of .keras files. "
                f"Received: {len(paths)} models, model={str(path)!r}. Give it alone."
            )
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(
                f"No model at {str(path)!r}. Give the directory of a training, a .keras or a "
                ".tflite file."
            )
        if is_litert(path) and not path.is_file():
            raise FileNotFoundError(
                f"A model must be a file, or the directory of a training. "
                f"Received: model={str(path)!r}, a directory."
            )
    return [path if is_litert(path) else find_translator(path) for path in paths]


def search_of(path, options, *others, **fixed):
    """The `SearchOptions` in a translator's file, changed by those of the command line.

    An ensemble has a share of CTC only if all its models have saved one.

    Args:
        path: Path of the file.
        options: Dictionary; None stands for an option that is left out.
        *others: Paths of the other models of an ensemble.
        **fixed: Values of further options that a .tflite file does not have.

    Returns:
        `SearchOptions`; None for a .tflite file, whose search is fixed.

    Raises:
        ValueError: If something is asked of a .tflite file that its export has fixed.
    """
    if is_litert(path):
        from keras_bahdanau.exporters.litert.litert_pipeline import check_fixed  # loads NumPy

        pages = {name: fixed.pop(name, None) for name in ("trace", "explore")}
        _check_no_trace(path, **pages)
        return check_fixed(**options, **fixed)
    searches = [SearchOptions.from_config(read_card(one)["search"]) for one in (path, *others)]
    without_ctc = {} if all(search.ctc_weight for search in searches) else {"ctc_weight": 0}
    return dataclasses.replace(searches[0], **{**without_ctc, **asked(options)})


def fixed_precision(precision):
    """A `Precision`, as what `search_of` refuses for a .tflite file."""
    return {"precision": precision and precision.value}


def _check_no_trace(path, **pages):
    """Raise ValueError if a page or picture of a trace is asked of a .tflite file."""
    for name, value in pages.items():
        if value is not None:
            raise ValueError(
                f"A .tflite file gives no trace. Received: {name}={value!r}, "
                f"model={str(path)!r}. Give the .keras file."
            )


def load_translator(paths, precision=None):
    """The pipeline in a file, or the ensemble of those in several; it loads what that needs.

    Args:
        paths: List that `find_models` gave.
        precision: `Precision` of the products; None for that of each file.
    """
    precision = precision and precision.value
    if is_litert(paths[0]):
        return _load_litert(paths[0])
    load_tensorflow()
    from keras_bahdanau.pipelines.by_source import load_pipeline

    if len(paths) > 1:
        from keras_bahdanau.pipelines.ensembling import ensemble

        return ensemble([load_pipeline(path, precision) for path in paths])
    return load_pipeline(paths[0], precision)


def _load_litert(path):
    """The pipeline in a .tflite file: of text without TensorFlow, which all other sources need."""
    from keras_bahdanau.exporters.litert.litert_pipeline import runner_of

    runner = runner_of(path)
    if runner.needs_tensorflow:
        load_tensorflow()
    with without_greetings():
        return runner(path)


def check_absent(path, name):
    """Check that an output does not exist yet."""
    if path.exists():
        raise FileExistsError(
            f"An output must not exist yet. Received: {name}={str(path)!r}. "
            "Choose another name, or remove it."
        )


def check_writable(path, name):
    """Check that a file can be made here, if any is asked for."""
    if path is None:
        return
    check_absent(path, name)
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise FileNotFoundError(
            "An output must lie in a directory that exists and may be written to. "
            f"Received: {name}={str(path)!r}. Make the directory first, or name another."
        )


def check_different(**paths):
    """Check that no two outputs, of those that are asked for, are one file."""
    names = {}
    for name, path in paths.items():
        if path is None:
            continue
        other = names.setdefault(os.path.realpath(path), name)
        if other != name:
            raise ValueError(
                "Each output needs a file of its own. Received: "
                f"{other}={str(paths[other])!r}, {name}={str(path)!r}. Rename one of them."
            )


def check_picture(path, name):
    """Check that the name of a picture, if there is one, ends in a known format."""
    if path is None:
        return
    from matplotlib.backend_bases import FigureCanvasBase

    known = sorted({*FigureCanvasBase.get_supported_filetypes()} - {"pgf"})  # which needs LaTeX
    if path.suffix.removeprefix(".").lower() not in known:
        raise ValueError(
            f"A picture's name must end in one of .{', .'.join(known)}. "
            f"Received: {name}={str(path)!r}"
        )


DOWNLOADED = "flores101", "flores200", "spm"  # tokenizations whose model sacreBLEU downloads


def check_tokenization(name):
    """Check that sacreBLEU has a tokenization, since its own error has another form."""
    if name is None:
        return
    from sacrebleu.metrics import BLEU

    if name not in BLEU.TOKENIZERS:
        raise ValueError(
            f"`tokenize` must be one of {', '.join(sorted(BLEU.TOKENIZERS))}. "
            f"Received: tokenize={name!r}"
        )
    if name in DOWNLOADED or name.endswith("-mecab"):  # which need a download, or a package
        try:
            BLEU(tokenize=name)
        except OSError as error:
            raise ConnectionError(
                "sacreBLEU must download a model for this tokenization. Received: "
                f"tokenize={name!r} ({error}). Connect to the internet once, or choose another."
            ) from None
        except RuntimeError:
            raise ImportError(
                f"sacreBLEU needs MeCab for this tokenization. Received: tokenize={name!r}. "
                f"Install it: pip install 'sacrebleu[{name[:2]}]'."
            ) from None
