"""Options that several commands have, and checks of their values."""

import dataclasses
import inspect
import os
import re
from pathlib import Path
from typing import Annotated

import typer

from keras_bahdanau.pipelines.file import read_card
from keras_bahdanau.search import SearchOptions

ModelOption = Annotated[
    Path, typer.Option(help="Directory of a training, or a .keras file.", show_default=False)
]
ModelsOption = Annotated[
    list[Path],
    typer.Option(
        help="Directory of a training, or a .keras file; given several times, their ensemble.",
        show_default=False,
    ),
]
PrefixOption = Annotated[
    str | None, typer.Option(help="Text that each translation begins with.", show_default=False)
]
BatchOption = Annotated[int, typer.Option(min=1, help="Sentences translated at once.")]
TokenizeOption = Annotated[
    str | None,
    typer.Option(help="How sacreBLEU splits words for BLEU.  [default: 13a]", show_default=False),
]
LowercaseOption = Annotated[
    bool, typer.Option("--lowercase", help="Whether case counts for nothing in BLEU and chrF.")
]


def options_of(settings, default_is=None):
    """Gives a function's command an option for each field of a dataclass.

    Default and help are the dataclass' own; the function receives the values
    as `**options`. A field left out says None there, if that is its default.

    Args:
        settings: The dataclass.
        default_is: String, what to call the defaults if they are not the
            dataclass' own: then every field left out says None.
    """
    text = inspect.getdoc(settings) or ""
    helps = dict(re.findall(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", text, re.MULTILINE))
    defaults = settings()

    def option(field):
        names, default = [], getattr(defaults, field.name)
        if isinstance(default, bool):
            names = _switch(field.name)
            default = names[not default]
        names = ["/".join(f"--{name}" for name in names)] if names else []
        default = default if default_is is None else default_is
        shown = " ".join([*helps.get(field.name, "").split(), f"[default: {default}]"])
        return inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=field.default if default_is is None else None,
            annotation=Annotated[
                field.type if default_is is None else field.type | None,
                typer.Option(*names, help=shown, show_default=False),
            ],
        )

    def decorate(function):
        signature = inspect.signature(function)
        *own, _ = signature.parameters.values()  # the last is **options
        parameters = [*own, *map(option, dataclasses.fields(settings))]
        function.__signature__ = signature.replace(parameters=parameters)
        return function

    return decorate


with_search_options = options_of(SearchOptions, default_is="the model's own")


def _switch(name):
    """The names of a yes-or-no option: when it is on, and when it is off."""
    on = name.replace("_", "-")
    return [on, {"joint": "separate"}.get(on, f"no-{on}")]


def search_of(path, asked):
    """The `SearchOptions` in a translator's file, with what the user asks for.

    Args:
        path: Path of the file.
        asked: Dictionary; None stands for nothing asked.
    """
    given = {name: value for name, value in asked.items() if value is not None}
    return SearchOptions(**{**read_card(path)["search"], **given})


def load_translator(paths):
    """The translator in a file, or the ensemble of those in several."""
    if len(paths) > 1:
        from keras_bahdanau.pipelines.ensembling import ensemble

        return ensemble(paths)
    from keras_bahdanau.pipelines.translator import Translator

    return Translator.load(paths[0])


def check_absent(path, name):
    """Checks that an output does not exist yet."""
    if path.exists():
        raise FileExistsError(
            f"An output must not exist yet. Received: {name}={str(path)!r}. "
            "Choose another name, or remove it."
        )


def check_writable(path, name):
    """Checks that a file can be made here, if any is asked for."""
    if path is None:
        return
    check_absent(path, name)
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise FileNotFoundError(
            "An output must lie in a directory that exists and may be written to. "
            f"Received: {name}={str(path)!r}."
        )


def check_picture(path, name):
    """Checks that a picture, if any is asked for, has a name that says its kind."""
    if path is None:
        return
    from matplotlib.backend_bases import FigureCanvasBase

    known = sorted(FigureCanvasBase.get_supported_filetypes())
    if path.suffix.removeprefix(".").lower() not in known:
        raise ValueError(
            f"A picture's name must end in one of .{', .'.join(known)}. "
            f"Received: {name}={str(path)!r}"
        )


def check_tokenization(name):
    """Checks that sacreBLEU, which complains in its own way, knows a tokenization."""
    if name is None:
        return
    from sacrebleu.metrics import BLEU

    if name not in BLEU.TOKENIZERS:
        raise ValueError(
            f"`tokenize` must be one of {', '.join(sorted(BLEU.TOKENIZERS))}. "
            f"Received: tokenize={name!r}"
        )
    if name.endswith("-mecab"):  # which are packages of their own
        try:
            BLEU(tokenize=name)
        except RuntimeError:
            raise ImportError(
                f"sacreBLEU needs MeCab for this tokenization. Received: tokenize={name!r}. "
                f"Install it: pip install 'sacrebleu[{name[:2]}]'."
            ) from None
