"""Search of a model: from the features of a source to hypotheses, all of ids."""

import functools

from keras import ops, tree

from keras_bahdanau.search.constraints import limits_of
from keras_bahdanau.search.dispatch import search
from keras_bahdanau.search.result import SearchResult
from keras_bahdanau.search.search_options import require_ctc
from keras_bahdanau.search.shortlist import check_listed
from keras_bahdanau.search.stepping import RowStep, rows_of


def search_model(
    model,
    features,
    options,
    *,
    start,
    end,
    time=None,
    prefix=None,
    uniforms=None,
    symbols=(),
    unwritten=(),
    shortlist=None,
    visit=None,
    drop_ended=False,
    source_lengths=None,
):
    """Search for the targets of a model that has no vocabulary, such as a migrated one.

    ```python
    options = kb.SearchOptions(beam_width=5, max_length=50)
    result = kb.search.search_model(model, source, options, start=1, end=2)
    print(result.ids[:, 0], result.scores[:, 0])  # the best hypothesis of each source
    ```

    Args:
        model: `Seq2Seq`, or another of its step protocol.
        features: What the model's encoder takes: of text int32 `(batch, source_time)`, ids that
            are right-padded with 0.
        options: `SearchOptions`, whose lengths bound each target by its own source.
        start: Integer, the token that every target begins after.
        end: Integer, the token that ends a hypothesis.
        time: Integer, the length of the buffers where it must be static.
        prefix: Int32 tensor `(batch, prefix_time)`, right-padded with 0: the beginning of each
            hypothesis.
        uniforms: Float tensor `(batch, beam_width, max_length)` in [0, 1): the source of draws at
            random; the seed's when left out.
        symbols: As in `search`.
        unwritten: Likewise.
        shortlist: `Shortlist` of the model, whose `start` and `end` are below 4, for
            `options.shortlist`.
        visit: Function of each state of a beam search, outside of a graph: see `beam_search`.
        drop_ended: Bool. True if sources that have ended take no part in further steps, in a
            graph for batches of any size: faster, but how a row is rounded depends on the others.
        source_lengths: Int32 tensor `(batch,)`, tokens of each source, which bound its target;
            the positions of its memory when left out. An encoder may join several tokens in one.

    Returns:
        `SearchResult` with a beam axis of `options.beam_width`.

    Raises:
        ValueError: If the options ask for a shortlist that the model lacks or can't have.
    """
    check_listed(options, model, shortlist)
    prepared = model.encode(features)
    mask = model.source_mask(prepared)  # (batch, source_time)
    if source_lengths is None:
        source_lengths = ops.sum(ops.cast(mask, "int32"), axis=1)
    limits = limits_of(source_lengths, options, prefix, time)
    searched = functools.partial(
        _search_prepared,
        model,
        options=options,
        start=start,
        end=end,
        time=ops.max(limits, initial=0) if time is None else time,
        source_time=ops.shape(mask)[1],
        symbols=symbols,
        unwritten=unwritten,
        drop_ended=drop_ended,
    )
    given = {"prefix": prefix, "source_mask": mask, "uniforms": uniforms}
    if not options.shortlist:
        return searched(prepared, limits, visit=visit, **given)
    lists = shortlist.lists(features, options.shortlist, prefix)
    # a sentence of the one search has no step in the other
    listed = _search_lists(model, searched, prepared, lists, limits, given, visit)
    whole = _search_uncovered(searched, prepared, lists.covered, limits, given, visit)
    return SearchResult(
        *(_of_rows(lists.covered, *fields) for fields in zip(listed, whole, strict=True))
    )


def _search_prepared(model, prepared, limits, *, options, lists=(), drop_ended, **settings):
    """Search with the steps of a model; `lists` makes ids of its tokens, if they are none."""

    def of_rows(rows):
        own, own_lists = rows_of(prepared, rows), rows_of(lists, rows)

        def step(tokens, state):
            tokens = own_lists.ids(tokens) if own_lists else tokens
            return model.decode_distribution(tokens, state, own)

        return step

    require_ctc(model, options)
    of_ctc = model.ctc_log_probs(prepared) if options.ctc_weight else None
    state = model.initial_state(prepared)
    if hasattr(model, "shortened"):  # another model of the protocol may have nothing to shorten
        state = model.shortened(state, settings["time"])
    step = RowStep(of_rows) if drop_ended else of_rows(None)
    return search(step, state, limits, options, ctc_log_probs=of_ctc, **settings)


def _search_lists(model, searched, prepared, lists, limits, given, visit):
    """The `SearchResult` of the sentences that lists cover, with ids."""
    if given["prefix"] is not None:
        given = {**given, "prefix": lists.given}
    result = searched(
        model.listed(prepared, lists.tokens),
        ops.where(lists.covered, limits, 0),
        listed=lists.tokens,
        lists=lists,
        visit=visit and (lambda loop: visit(loop._replace(tokens=lists.ids(loop.tokens)))),
        **given,
    )
    return result._replace(ids=lists.ids(result.ids))


def _search_uncovered(searched, prepared, covered, limits, given, visit):
    """The `SearchResult` of the sentences that no list covers, in the whole vocabulary.

    They are a batch of their own, of one row at least. The rows of the others are as they come.
    """
    limits = ops.where(covered, 0, limits)
    if covered.shape[0] == 1:
        return searched(prepared, limits, visit=visit, **given)
    uncovered = ops.cast(ops.logical_not(covered), "int32")
    # the uncovered rows first, as many as there are
    order = ops.argsort(-uncovered)[: ops.maximum(ops.sum(uncovered), 1)]
    given = {name: one for name, one in given.items() if one is not None}
    prepared, limits, given = tree.map_structure(
        lambda one: ops.take(one, order, axis=0), (prepared, limits, given)
    )
    found = searched(prepared, limits, visit=visit, **given)
    places = ops.maximum(ops.cumsum(uncovered) - 1, 0)
    return SearchResult(*(ops.take(field, places, axis=0) for field in found))


def _of_rows(chosen, one, other):
    """The rows `(batch, ...)` of one tensor where bool `(batch,)` is True, else of the other."""
    shape = (-1, *(1,) * (len(one.shape) - 1))
    return ops.where(ops.reshape(chosen, shape), one, other)
