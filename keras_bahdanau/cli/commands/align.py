"""`keras-bahdanau align`."""

import dataclasses
import re
from pathlib import Path
from typing import Annotated

import typer

from keras_bahdanau.cli.model_file import load_models, open_models, search_of
from keras_bahdanau.cli.options import (
    AnyModelOption,
    ExploreOption,
    ImportanceOption,
    PrefixOption,
    command,
)
from keras_bahdanau.cli.output import (
    Links,
    check_different,
    check_page_options,
    check_picture,
    check_writable,
)
from keras_bahdanau.search.search_options import SearchOptions
from keras_bahdanau.settings.limits import MOST_STEPS

FIRST_STEPS = range(4)


@dataclasses.dataclass(kw_only=True)
class AlignArguments:
    """Arguments of `align`."""

    sentence: Annotated[
        str, typer.Argument(help="One sentence; or the path of one image or recording.")
    ]
    model: AnyModelOption
    plot: Annotated[Path | None, typer.Option(help="Picture to write: .png, .pdf, .svg, ...")] = (
        None
    )
    words: Annotated[
        bool | None,
        typer.Option(
            "--words/--subwords",
            help="What the picture shows: words, or tokens.  [default: words; tokens for a model "
            "of characters, and for a single word]",
            show_default=False,
        ),
    ] = None
    trace: Annotated[
        Path | None,
        typer.Option(
            help="Picture to write of the first four steps and all that they compute; "
            "for all steps, use --explore.",
            show_default=False,
        ),
    ] = None
    trace_steps: Annotated[
        str | None,
        typer.Option(
            metavar="FIRST-LAST",
            help=f"Decoding steps that --trace draws, such as 9-11; at most {MOST_STEPS}.",
            show_default=False,
        ),
    ] = None
    explore: ExploreOption = None
    importance: ImportanceOption = False
    prefix: PrefixOption = None


@command(AlignArguments, (SearchOptions, None))
def align(arguments, search):
    """Translate one sentence, or read one file, and show what the model attended to.

    Prints the text and, for a sentence, the source-target links between words, counted from 0.
    """
    plot, trace, explore = arguments.plot, arguments.trace, arguments.explore
    models = open_models([arguments.model])
    pages = {"trace": trace and str(trace), "explore": explore and str(explore)}
    search = search_of(models, search, **pages)
    source = _input(models[0], arguments.sentence)
    from keras_bahdanau.cli.inputs import decoded

    prefix = decoded(arguments.prefix, "PREFIX")
    prefixes = None if prefix is None else [prefix]
    for picture, name in ((plot, "plot"), (trace, "trace")):
        check_writable(picture, name)
        check_picture(picture, name)
    check_different(plot=plot, trace=trace, explore=explore)
    check_page_options(explore, importance=arguments.importance)
    steps = parsed_steps(arguments.trace_steps, trace)
    exploration = None
    if explore:
        from keras_bahdanau.cli.explorer_page import Exploration

        exploration = Exploration(explore, prefix=prefix, importance=arguments.importance)
    pipeline = load_models(models)
    (result,) = pipeline.decode([source], search=search, prefixes=prefixes)
    if plot is not None and not result.source_tokens:
        raise ValueError(
            f"There is nothing to draw. Received: input={arguments.sentence!r:.80} with "
            f"plot={str(plot)!r}. Give an input that is not empty, or leave the picture out."
        )
    _warn(pipeline, search, source, result, prefixes)
    print(result.text)
    if isinstance(source, str):
        print(Links(pipeline, [source], search)(0, result))
    if plot is not None:
        from keras_bahdanau.plotting import plot_alignment
        from keras_bahdanau.plotting.figures import save_picture

        picture = pipeline.picture(source, search)
        save_picture(plot_alignment(result, picture, words=arguments.words), plot)
    if trace is not None:
        from keras_bahdanau.plotting import plot_trace
        from keras_bahdanau.plotting.figures import save_picture

        check_steps(steps, arguments.trace_steps, len(result.target_tokens))
        values = pipeline.searching(search).trace(source, result)
        save_picture(plot_trace(values, len(steps), first=steps.start), trace)
    if exploration:
        exploration.add([source], [result])
        exploration.write(pipeline.searching(search))


def _warn(pipeline, search, source, result, prefixes):
    """Warn of an input that was cut, and of unknown parts of the input or the prefix."""
    from keras_bahdanau.cli.warnings import FeatureWarnings, UnknownText, subwords_of, warn_of_cuts

    limits = pipeline.source.limits(pipeline.longest(search))
    warn_of_cuts([result], limits, ["the input"], pipeline.source.unit)
    if isinstance(source, str):
        UnknownText(subwords_of(pipeline.source)).warn([source], ["the sentence"])
        FeatureWarnings(pipeline.source).warn([source])
    if prefixes is not None:
        UnknownText(pipeline.target).warn(prefixes, ["the prefix"])


def _input(model, argument):
    if model.inputs == "lines":
        from keras_bahdanau.cli.inputs import decoded

        return decoded(argument, "SENTENCE")
    model.require_inputs("files")  # there are models of arrays, too
    file = Path(argument)
    if not file.is_file():
        kind = "a directory" if file.is_dir() else "no such file"
        raise FileNotFoundError(
            f"A file to read must exist. Received: path={argument!r}, {kind}. Give its path."
        )
    return file


def parsed_steps(text, trace):
    """The steps to draw, counted from 0, as a range."""
    if text is None:
        return FIRST_STEPS
    if trace is None:
        raise ValueError(
            "`trace_steps` is for a picture of steps. Received: "
            f"trace_steps={text!r} without one. Give --trace, or leave it out."
        )
    match = re.fullmatch(r"([0-9]{1,6})(?:-([0-9]{1,6}))?", text)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 1 <= first <= last < first + MOST_STEPS:
        raise ValueError(
            f"`trace_steps` must be FIRST-LAST, counted from 1, at most {MOST_STEPS} steps. "
            f"Received: trace_steps={text!r}. Give two numbers, such as 9-11."
        )
    return range(first - 1, last)


def check_steps(steps, text, count):
    """Raise ValueError if a result of `count` steps lacks some of the steps."""
    if text is not None and steps.stop > count:
        raise ValueError(
            f"`trace_steps` must be steps of the result, which has {count}. Received: "
            f"trace_steps={text!r}. Give others, or use --explore for all."
        )
