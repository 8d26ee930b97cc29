"""The command `keras-bahdanau align`."""

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
    """Arguments for `align`."""

    sentence: Annotated[
        str, typer.Argument(help="A sentence, or the path of an image or a recording.")
    ]
    model: AnyModelOption
    plot: Annotated[
        Path | None, typer.Option(help="Image file for the alignment plot: .png, .pdf, .svg, ...")
    ] = None
    words: Annotated[
        bool | None,
        typer.Option(
            "--words/--subwords",
            help="Show words or tokens in the plot.  [default: words, or tokens for a character "
            "model or a single word]",
            show_default=False,
        ),
    ] = None
    trace: Annotated[
        Path | None,
        typer.Option(
            help="Image file that shows every value computed in the first four decoding steps. "
            "To see all steps, use --explore.",
            show_default=False,
        ),
    ] = None
    trace_steps: Annotated[
        str | None,
        typer.Option(
            metavar="FIRST-LAST",
            help=f"Decoding steps for --trace to draw, such as 9-11. At most {MOST_STEPS} steps.",
            show_default=False,
        ),
    ] = None
    explore: ExploreOption = None
    importance: ImportanceOption = False
    prefix: PrefixOption = None


@command(AlignArguments, (SearchOptions, None))
def align(arguments, search):
    """Translate one sentence, or read one file, and show what the model attended to.

    Prints the output and, for a sentence, the links between source words and target words. Words
    are numbered from 0.
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
            f"An input to plot must not be empty. Received: input={arguments.sentence!r:.80} with "
            f"plot={str(plot)!r}. Give a non-empty input, or omit --plot."
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
    """Warn if the input was truncated, or if the input or the prefix has unknown parts."""
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
    model.require_inputs("files")  # some models read arrays
    file = Path(argument)
    if not file.is_file():
        kind = "a directory" if file.is_dir() else "no such file"
        raise FileNotFoundError(
            f"The input file must exist. Received: path={argument!r}, {kind}. "
            "Give the path of an existing file."
        )
    return file


def parsed_steps(text, trace):
    """Return the range of the steps to draw, counted from 0."""
    if text is None:
        return FIRST_STEPS
    if trace is None:
        raise ValueError(
            "`trace_steps` needs `trace`. Received: "
            f"trace_steps={text!r} without --trace. Add --trace, or omit --trace-steps."
        )
    match = re.fullmatch(r"([0-9]{1,6})(?:-([0-9]{1,6}))?", text)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 1 <= first <= last < first + MOST_STEPS:
        raise ValueError(
            f"`trace_steps` must be FIRST-LAST, counted from 1, with at most {MOST_STEPS} steps. "
            f"Received: trace_steps={text!r}. Give two numbers, such as 9-11."
        )
    return range(first - 1, last)


def check_steps(steps, text, count):
    """Raise ValueError if some steps lie beyond the last of a result's `count` steps."""
    if text is not None and steps.stop > count:
        raise ValueError(
            f"`trace_steps` must not exceed the number of steps in the result, {count}. Received: "
            f"trace_steps={text!r}. Give earlier steps, or use --explore to see all of them."
        )
