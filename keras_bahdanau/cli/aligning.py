"""`keras-bahdanau align`."""

from pathlib import Path
from typing import Annotated

import typer

from keras_bahdanau.cli.arguments import (
    AnyModelOption,
    PrefixOption,
    check_different,
    check_picture,
    check_writable,
    find_models,
    load_translator,
    search_of,
    with_search_options,
)
from keras_bahdanau.cli.console import ends_well, tell_cut
from keras_bahdanau.cli.exploring import Exploration, ExploreOption
from keras_bahdanau.cli.inputs import decoded, inputs_of, require_inputs
from keras_bahdanau.cli.own_modules import with_imports
from keras_bahdanau.cli.trace_steps import TraceStepsOption, check_steps, steps_asked
from keras_bahdanau.cli.translated_lines import Links
from keras_bahdanau.cli.unknown_text import FeaturesElsewhere, UnknownText, subwords_of


@ends_well()
@with_search_options
@with_imports
def align(
    sentence: Annotated[
        str, typer.Argument(help="One sentence; or the path of one image or recording.")
    ],
    *,
    model: AnyModelOption,
    plot: Annotated[
        Path | None, typer.Option(help="Picture to write: .png, .pdf, .svg, ...")
    ] = None,
    words: Annotated[
        bool | None,
        typer.Option(
            "--words/--subwords",
            help="What the picture shows: words, or tokens.  [default: words; tokens of a model of "
            "characters, and of a single word]",
            show_default=False,
        ),
    ] = None,
    trace: Annotated[
        Path | None,
        typer.Option(
            help="Picture to write of the first four steps, with all that they compute; "
            "for all steps take --explore.",
            show_default=False,
        ),
    ] = None,
    trace_steps: TraceStepsOption = None,
    explore: ExploreOption = None,
    prefix: PrefixOption = None,
    **search,
):
    """Translate one sentence, or read one file, and show what it attended to.

    Prints the text and, of a sentence, the links source-target between words, counted from 0.
    """
    (path,) = find_models([model])
    pages = {"trace": trace and str(trace), "explore": explore and str(explore)}
    search = search_of(path, search, **pages)
    one = _one_input(path, sentence)
    prefix = decoded(prefix, "PREFIX")
    prefixes = None if prefix is None else [prefix]
    for picture, name in ((plot, "plot"), (trace, "trace")):
        check_writable(picture, name)
        check_picture(picture, name)
    check_different(plot=plot, trace=trace, explore=explore)
    steps = steps_asked(trace_steps, trace)
    exploration = explore and Exploration(explore, prefix=prefix)
    translator = load_translator([path])
    (result,) = translator.decode([one], search=search, prefixes=prefixes)
    if plot is not None and not result.source_tokens:
        raise ValueError(
            f"There is nothing to draw. Received: input={sentence!r:.80} with plot={str(plot)!r}. "
            "Give one that holds something, or leave the picture out."
        )
    longest = translator.longest(search)
    limits = translator.source.limits(longest)
    tell_cut([result], limits, ["the input"], translator.source.unit)
    if isinstance(one, str):
        UnknownText(subwords_of(translator)).tell([one], ["the sentence"])
        FeaturesElsewhere(translator.source).tell([one])
    if prefixes is not None:
        UnknownText(translator.target).tell(prefixes, ["the prefix"])
    print(result.text)
    if isinstance(one, str):
        print(Links(translator, [one], search)(0, result))
    if plot is not None:
        from keras_bahdanau.plotting import plot_alignment
        from keras_bahdanau.plotting.figures import save_picture

        picture = translator.picture(one, search)
        save_picture(plot_alignment(result, picture, words=words), plot)
    if trace is not None:
        from keras_bahdanau.plotting import plot_trace
        from keras_bahdanau.plotting.figures import save_picture

        check_steps(steps, trace_steps, len(result.target_tokens))
        shown = translator.searching(search).trace(one, result)
        save_picture(plot_trace(shown, len(steps), first=steps.start), trace)
    if exploration:
        exploration.add([one], [result])
        exploration.write(translator.searching(search))


def _one_input(model, argument):
    """The sentence that an argument is, or the path, by what the model reads."""
    if inputs_of(model) == "lines":
        return decoded(argument, "SENTENCE")
    require_inputs(model, "files")  # there are models of arrays, too
    file = Path(argument)
    if not file.is_file():
        kind = "a directory" if file.is_dir() else "no such file"
        raise FileNotFoundError(
            f"A file to read must exist. Received: path={argument!r}, {kind}. Give its path."
        )
    return file
