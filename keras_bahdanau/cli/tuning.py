"""`keras-bahdanau tune`."""

import contextlib
import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from keras_bahdanau.cli.arguments import (
    BatchOption,
    CacheOption,
    LowercaseOption,
    ModelOption,
    TokenizeOption,
    check_tokenization,
    search_of,
)
from keras_bahdanau.cli.console import ends_well, load_tensorflow, show_progress, warn
from keras_bahdanau.cli.inputs import check_cache, inputs_of, read_examples
from keras_bahdanau.limits import BATCH_SIZE
from keras_bahdanau.option import check_value, number
from keras_bahdanau.ownership import owned
from keras_bahdanau.pipelines.file import find_translator, write_search
from keras_bahdanau.search import SearchOptions
from keras_bahdanau.search.penalties import LENGTH_PENALTIES

TOLERANCE = number(0, 100)  # of BLEU, which is at most 100
ROW = "{:>4}  {:>8}  {:>8}  {:>6}  {:>6}  {:>7}"


@ends_well("The model is as it was.")
def tune(
    source: Annotated[
        Path,
        typer.Argument(help="Source sentences, or a TSV, that the model was not trained on."),
    ],
    target: Annotated[Path | None, typer.Argument(help="Their translations, line by line.")] = None,
    *,
    model: ModelOption,
    beam_widths: Annotated[str, typer.Option(help="Beam widths to try.")] = "5,10",
    length_normalizations: Annotated[
        str, typer.Option(help="Exponents of the length penalty to try.")
    ] = "0.6,0.8,1.0,1.2,1.4",
    length_penalties: Annotated[
        str, typer.Option(help="Kinds of length penalty to try.")
    ] = ",".join(LENGTH_PENALTIES),
    tolerance: Annotated[
        float, typer.Option(help="BLEU given up for a narrower beam and shorter texts.")
    ] = 0.1,
    tokenize: TokenizeOption = None,
    lowercase: LowercaseOption = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Leave the model as it is.")] = False,
    batch_size: BatchOption = 64,
    cache: CacheOption = None,
):
    """Choose search options by BLEU and write them into the model's file.

    Give validation pairs, never those of the test. Of the options whose BLEU is within
    `--tolerance` of the highest, those with the narrowest beam and then with the shortest
    translations are kept. "length" is how long these are over the references.
    """
    check_value("batch_size", batch_size, BATCH_SIZE)
    check_value("tolerance", tolerance, TOLERANCE)
    path = find_translator(model)
    own = search_of(path, {})
    lists = {
        "beam_widths": _numbers("beam_widths", beam_widths, int),
        "length_normalizations": _numbers("length_normalizations", length_normalizations, float),
        "length_penalties": length_penalties.split(","),
    }
    _check_values(**lists)
    check_tokenization(tokenize)
    inputs = inputs_of(path)
    check_cache(cache, inputs)
    pairs = read_examples(inputs, source, target)
    with contextlib.nullcontext() if dry_run else owned(path):
        settings = (batch_size, tokenize, lowercase)
        _tune(path, own, lists, pairs, tolerance, dry_run, cache, settings)


def _tune(path, own, lists, pairs, tolerance, dry_run, cache, settings):
    """Measure all searches on the pairs, tell of each, and write the one that is chosen."""
    load_tensorflow()
    from keras_bahdanau import evaluation
    from keras_bahdanau.pipelines.by_source import load_pipeline

    searches = evaluation.candidates(own, **lists)
    print(ROW.format("beam", "penalty", "exponent", "BLEU", "length", "seconds"), flush=True)
    count = iter(range(1, len(searches) + 1))

    def tell(trial):
        print(_row(trial), *["(now)"] * (trial.search == own), flush=True)
        show_progress(f"{next(count)} of {len(searches)}")

    pipeline = load_pipeline(path)
    if cache is not None:
        pipeline.source = pipeline.source.cached(cache, say=warn)
    trials = evaluation.tune(pipeline, pairs, searches, *settings, tell)
    show_progress("")
    _conclude(path, own, trials, evaluation.simplest(trials, tolerance), dry_run)


def _conclude(path, own, trials, chosen, dry_run):
    """Write the chosen options into the file, and print a line about it."""
    now = next(trial for trial in trials if trial.search == own)
    highest = f"the highest is {trials[0].bleu:.2f}"
    if chosen.search == own:
        print(f"the model's own options stay: BLEU {now.bleu:.2f}, {highest}")
        return
    options = (
        f"beam_width={chosen.search.beam_width}, length_penalty={chosen.search.length_penalty}, "
        f"length_normalization={chosen.search.length_normalization:g}"
    )
    print(f"chosen: {options}: BLEU {chosen.bleu:.2f}, now {now.bleu:.2f}, {highest}")
    if dry_run:
        print("the model is as it was")
    else:
        write_search(path, dataclasses.asdict(chosen.search))
        print(f"written into {path}")


def _row(trial):
    search = trial.search
    return ROW.format(
        search.beam_width,
        search.length_penalty,
        f"{search.length_normalization:g}",
        f"{trial.bleu:.2f}",
        f"{trial.length_ratio:.3f}",
        f"{trial.seconds:.1f}",
    )


def _numbers(name, text, kind):
    """The numbers that stand in a text, with commas between."""
    try:
        return [kind(number) for number in text.split(",")]
    except ValueError:
        raise ValueError(
            f"`{name}` must be numbers with commas between. Received: {name}={text!r}"
        ) from None


def _check_values(beam_widths, length_normalizations, length_penalties):
    """Raise ValueError if a search does not allow one of them."""
    for width in beam_widths:
        SearchOptions(beam_width=width)
    for exponent in length_normalizations:
        SearchOptions(length_normalization=exponent)
    for penalty in length_penalties:
        SearchOptions(length_penalty=penalty)
