"""`keras-bahdanau shortlist`."""

import contextlib
import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from keras_bahdanau.cli.arguments import (
    AnswerSeparatorOption,
    BatchOption,
    ColumnsOption,
    ModelOption,
    TagOption,
    search_of,
)
from keras_bahdanau.cli.console import ends_well, load_tensorflow, show_progress, warn
from keras_bahdanau.cli.inputs import feature_place_of, read_examples, require_inputs
from keras_bahdanau.cli.own_modules import with_imports
from keras_bahdanau.data.tags import require_token
from keras_bahdanau.files.ownership import owned
from keras_bahdanau.pipelines.file import find_translator, write_shortlist
from keras_bahdanau.settings.limits import BATCH_SIZE, CANDIDATES, FREQUENT, SHORTLIST
from keras_bahdanau.settings.option import check_value

SIZES = 64, 128, 256, 512, 1024  # of lists in the table
MOST_PAIRS = 512  # that the table is of


@ends_well("The model is as it was.")
@with_imports
def shortlist(
    source: Annotated[
        Path, typer.Argument(help="Source sentences of the training, one a line; or a TSV.")
    ],
    target: Annotated[Path | None, typer.Argument(help="Their translations, line by line.")] = None,
    *,
    model: ModelOption,
    candidates: Annotated[
        int, typer.Option(help="Most target tokens that a source token may become.")
    ] = 50,
    frequent: Annotated[
        int, typer.Option(help="Most frequent target tokens, which all lists have.")
    ] = 100,
    size: Annotated[
        int | None,
        typer.Option(
            help="Tokens of a list, in which the model then searches unless told otherwise; 0 for "
            "the whole vocabulary.  [default: as it was]",
            show_default=False,
        ),
    ] = None,
    columns: ColumnsOption = None,
    answer_separator: AnswerSeparatorOption = None,
    tag: TagOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Leave the model as it is.")] = False,
    batch_size: BatchOption = 64,
):
    """Learn which target tokens each source token may become, and write that into the model's file.

    The model's own attention on its training pairs says so. translate, evaluate and export
    --shortlist N then search each sentence in a list of N target tokens, which is faster where the
    vocabulary is large; all commands do so after --size N. The table has, for some N: the sentences
    that have a list, for others are searched in the whole vocabulary; and the tokens of their
    translations that are in it.
    """
    check_value("candidates", candidates, CANDIDATES)
    check_value("frequent", frequent, FREQUENT)
    check_value("batch_size", batch_size, BATCH_SIZE)
    if size is not None:
        check_value("size", size, SHORTLIST)
    path = find_translator(model)
    require_inputs(path, "lines", "a model that reads text")
    texts = {"tag": tag, "feature_place": feature_place_of(path)}
    pairs = read_examples("lines", source, target, columns, answer_separator, **texts).pairs
    settings = {"candidates": candidates, "frequent": frequent, "batch_size": batch_size}
    search = search_of(path, {"shortlist": size})
    with contextlib.nullcontext() if dry_run else owned(path):
        _learn(path, pairs, settings, search, tag, dry_run)


def _learn(path, pairs, settings, search, tag, dry_run):
    """Learn a shortlist, tell how much it covers, and write it."""
    load_tensorflow()
    from keras_bahdanau.pipelines import learn_shortlist, load_pipeline
    from keras_bahdanau.search.shortlist import check_room

    pipeline = load_pipeline(path)
    check_room(search.shortlist, settings["frequent"], pipeline.target.vocabulary_size)
    if tag is not None:
        require_token(tag, pipeline.source)
    found = learn_shortlist(pipeline, pairs, **settings, say=show_progress)
    show_progress("")
    of_each = (found.candidates > 0).sum(axis=1)
    seen = (found.candidates[:, 0] >= 0).sum() - 1  # but for padding
    told = f"{seen:,} of {len(of_each) - 1:,} source tokens seen"
    print(f"{told}, {of_each.mean():.1f} candidates in the mean")
    pipeline.shortlist = found
    pipeline.check_options(search)
    _tell(pipeline, pairs[:: -(-len(pairs) // MOST_PAIRS)], settings["batch_size"])
    if dry_run:
        print("the model is as it was")
    else:
        write_shortlist(path, found, dataclasses.asdict(search))
        print(f"written into {path}")
        # before or now it searches in lists, which are others
        if pipeline.calibration is not None and (search.shortlist or pipeline.search.shortlist):
            warn("confidences were calibrated for other lists: `calibrate` the model again")


def _tell(pipeline, pairs, batch_size):
    """Print the table."""
    import numpy as np

    shortlist = pipeline.shortlist
    print(f"{'size':>6}  {'covered':>8}  {'in list':>8}")
    for size in SIZES:
        if shortlist.common < size < shortlist.order.size:
            covered, inside = [], []
            for first in range(0, len(pairs), batch_size):
                sources, targets = zip(*pairs[first : first + batch_size], strict=True)
                lists = shortlist.lists(pipeline.source.batch(sources, pipeline.longest()), size)
                covered += np.array(lists.covered).tolist()
                rows = zip(pipeline.target.encode(targets), np.array(lists.tokens), strict=True)
                inside += [np.isin(row, listed) for row, listed in rows]
            inside = [one for one, whether in zip(inside, covered, strict=True) if whether]
            share = f"{np.concatenate(inside).mean():8.2%}" if inside else f"{'-':>8}"
            print(f"{size:>6}  {np.mean(covered):8.2%}  {share}")
