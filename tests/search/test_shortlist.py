"""Lexical shortlists: their lists by hand, and searches in them against whole ones."""

import keras
import numpy as np
import pytest
from keras import ops
from modes import graph
from numpy.testing import assert_allclose, assert_array_equal

import keras_bahdanau as kb
from keras_bahdanau.search import SearchOptions, Shortlist, search_model

SOURCE, TARGET = 9, 13
START, END = 2, 3
INPUTS = np.array([[4, 5, 6, 3], [7, 3, 0, 0], [0, 0, 0, 0], [8, 4, 4, 3]], "int32")
# from the most to the least frequent, behind the special ids
ORDER = [0, 1, 2, 3, 12, 11, 10, 9, 8, 7, 6, 5, 4]
CANDIDATES = np.zeros((SOURCE, 2), "int32")
CANDIDATES[4:8] = [[4, 5], [5, 6], [6, 4], [8, 0]]
CANDIDATES[8] = -1  # never seen
SEARCHES = {
    "greedy": {"beam_width": 1},
    "beam": {"beam_width": 3},
    "constraints": {"beam_width": 3, "min_length": 4, "no_repeat_ngram": 1},
    "coverage": {"beam_width": 3, "coverage_penalty": 0.3, "length_penalty": "gnmt"},
    "draws": {"beam_width": 2, "temperature": 1.0, "top_p": 0.9},
}


def new_model(seed=0, tie_embeddings=False):
    keras.utils.set_random_seed(seed)
    encoder = kb.Encoder(vocabulary_size=SOURCE, embedding_units=6, units=5)
    decoder = kb.Decoder(
        vocabulary_size=TARGET, embedding_units=6, units=7, tie_embeddings=tie_embeddings
    )
    model = kb.Seq2Seq(encoder, decoder)
    model.build()
    rng = np.random.default_rng(seed)
    model.set_weights([rng.normal(size=weight.shape) for weight in model.get_weights()])
    return model


def whole():
    """A shortlist whose lists have all tokens."""
    return Shortlist(np.zeros((SOURCE, 1), "int32"), ORDER, frequent=TARGET)


def found(model, lists=None, inputs=INPUTS, prefix=None, symbols=(), **options):
    options = SearchOptions(**{"max_length": 6, **options})

    def run(inputs):
        return search_model(
            model,
            inputs,
            options,
            start=START,
            end=END,
            prefix=prefix,
            symbols=symbols,
            shortlist=lists,
        )

    return [*graph(run, inputs)]


def assert_same(one, other):
    ids, lengths, scores, alignment, finished, *of_tokens = one
    assert_array_equal(ids, other[0])
    assert_array_equal(lengths, other[1])
    assert_array_equal(finished, other[4])
    for a, b in zip([scores, alignment, *of_tokens], [other[2], other[3], *other[5:]], strict=True):
        assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def test_a_list_has_special_tokens_candidates_and_then_frequent_ones():
    lists = Shortlist(CANDIDATES, ORDER, frequent=1).lists(ops.convert_to_tensor(INPUTS), 8)
    # special, 12 of all lists, candidates 4 5 6, in the order of frequency; 11 10 9 fill them
    expected = [
        [0, 1, 2, 3, 12, 6, 5, 4],
        [0, 1, 2, 3, 12, 11, 10, 8],
        [0, 1, 2, 3, 12, 11, 10, 9],
    ]
    assert_array_equal(lists.tokens[:3], expected)
    assert_array_equal(lists.covered, [True, True, True, False])  # the last has an unseen token
    assert_array_equal(lists.ids(ops.convert_to_tensor([[0, 5], [7, 7], [6, 2], [0, 1]])), [
        [0, 6], [8, 8], [10, 2], [0, 1]
    ])  # fmt: skip


def test_padding_is_no_token_that_was_never_seen():
    candidates = CANDIDATES.copy()
    candidates[0] = -1  # nothing was learnt of padding
    shortlist = Shortlist(candidates, ORDER, frequent=0)
    for source in ([[4, 7]], [[4, 7, 0, 0]]):
        assert_array_equal(shortlist.lists(np.array(source, "int32"), 8).covered, [True])


def test_a_list_has_as_many_candidates_of_each_source_token_as_fit():
    shortlist = Shortlist(CANDIDATES, ORDER, frequent=0)
    source = np.array([[4, 7]], "int32")  # 4 may become 4, then 5; 7 only 8
    expected = {
        5: [0, 1, 2, 3, 12],
        6: [0, 1, 2, 3, 8, 4],
        7: [0, 1, 2, 3, 8, 5, 4],
        8: [0, 1, 2, 3, 12, 8, 5, 4],
    }
    for size, tokens in expected.items():
        lists = shortlist.lists(source, size)
        assert_array_equal(lists.tokens, [tokens])
        assert_array_equal(lists.covered, [size > 5])


def test_a_list_has_given_tokens_and_tells_their_places():
    given = np.array([[9, 4, 0]], "int32")
    lists = Shortlist(CANDIDATES, ORDER, frequent=0).lists(INPUTS[:1], 8, ops.array(given))
    assert_array_equal(lists.tokens, [[0, 1, 2, 3, 9, 6, 5, 4]])
    assert_array_equal(lists.given, [[4, 7, 0]])


def test_a_sentence_whose_best_candidates_do_not_fit_is_not_covered():
    shortlist = Shortlist(CANDIDATES, ORDER, frequent=2)
    for size, covered in ((8, [False, True, True, False]), (9, [True, True, True, False])):
        lists = shortlist.lists(ops.convert_to_tensor(INPUTS), size)
        assert lists.tokens.shape == (4, size)
        assert_array_equal(lists.covered, covered)


@pytest.mark.parametrize("search", [pytest.param(one, id=one) for one in SEARCHES])
@pytest.mark.few(1)
def test_a_shortlist_of_the_whole_vocabulary_gives_the_whole_search(search):
    model, options = new_model(tie_embeddings=search == "beam"), SEARCHES[search]
    assert_same(found(model, whole(), shortlist=100, **options), found(model, **options))


class Listed(kb.Seq2Seq):
    """A model whose other tokens, beyond one list, have no probability."""

    def decode_distribution(self, tokens, state, prepared):
        distribution, weights, state = super().decode_distribution(tokens, state, prepared)
        listed = np.isin(np.arange(TARGET), self.listed_tokens)
        return ops.log_softmax(ops.where(listed, distribution.log_probs, -1e9)), weights, state


@pytest.mark.slow
@pytest.mark.parametrize("width", [1, 4])
def test_probabilities_are_a_softmax_over_the_list(width):
    model = new_model()
    masked = Listed(model.encoder, model.decoder)
    shortlist = Shortlist(CANDIDATES, ORDER, frequent=1)
    for row in range(2):
        inputs = INPUTS[row : row + 1]
        masked.listed_tokens = np.array(shortlist.lists(inputs, 8).tokens[0])
        expected = found(masked, inputs=inputs, beam_width=width)
        assert_same(found(model, shortlist, inputs, shortlist=8, beam_width=width), expected)


@pytest.mark.slow
@pytest.mark.parametrize("width", [1, 4])
def test_a_sentence_gets_the_same_from_any_batch_and_the_whole_search_without_cover(width):
    model, shortlist = new_model(), Shortlist(CANDIDATES, ORDER, frequent=2)
    together = found(model, shortlist, shortlist=8, beam_width=width)
    full = found(model, beam_width=width)
    covered = found(model, shortlist, INPUTS[1:3], shortlist=8, beam_width=width)
    for fields, rows, others in ((full, [0, 3], [0, 3]), (covered, [1, 2], [0, 1])):
        for field, other in zip(together, fields, strict=True):
            time = min(field.shape[2:3] + other.shape[2:3], default=None)
            cut = np.s_[:, :, :time] if time else np.s_[:]
            one, other = field[rows][cut], other[others][cut]
            assert_allclose(one, other, rtol=1e-5, atol=1e-5)


@pytest.mark.slow
def test_prefixes_stay_and_symbols_do_not_come():
    model, shortlist = new_model(), Shortlist(CANDIDATES, ORDER, frequent=1)
    prefix = np.array([[7, 6], [9, 0], [0, 0], [5, 0]], "int32")
    settings = {"prefix": prefix, "symbols": [12, 8], "write_symbols": False, "beam_width": 3}
    ids, lengths, *_ = found(model, shortlist, shortlist=9, min_length=5, **settings)
    for row in (0, 1, 3):
        forced = prefix[row][prefix[row] > 0]
        assert_array_equal(ids[row, :, : len(forced)], np.tile(forced, (3, 1)))
    assert not np.isin(ids, [12, 8]).any()
    assert_same(found(model, whole(), shortlist=TARGET, **settings), found(model, **settings))


@pytest.mark.slow
def test_the_members_of_an_ensemble_share_the_lists():
    ensemble = kb.Ensemble([new_model(1), new_model(2, tie_embeddings=True)])
    options = {"beam_width": 3}
    assert_same(found(ensemble, whole(), shortlist=TARGET, **options), found(ensemble, **options))


@pytest.mark.slow
def test_a_visit_of_a_search_sees_ids():
    model, shortlist, seen = new_model(), Shortlist(CANDIDATES, ORDER, frequent=1), []
    options = SearchOptions(max_length=4, beam_width=2, shortlist=8)
    result = search_model(
        model,
        INPUTS[:1],
        options,
        start=START,
        end=END,
        shortlist=shortlist,
        visit=lambda loop: seen.append(np.array(loop.tokens)),
    )
    assert result.ids[0, 0, 0] in seen[0][0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((CANDIDATES, [0, 1, 2, 3, 5]), "each target id once"),
        ((CANDIDATES, [1, 0, *ORDER[2:]]), "0 to 3 first"),
        ((CANDIDATES[0], ORDER), r"Received: candidates of the shape \(2,\)"),
        ((CANDIDATES + 9, ORDER), "Received: ids from 8 to 17"),
        ((CANDIDATES, ORDER, -1), "Received: frequent=-1"),
    ],
)
def test_parts_that_do_not_go_together_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Shortlist(*arguments)


def test_what_does_not_go_with_a_shortlist_is_refused():
    with pytest.raises(ValueError, match="Received: shortlist=8, ctc_weight=0.5"):
        SearchOptions(shortlist=8, ctc_weight=0.5)
    with pytest.raises(ValueError, match="Received: shortlist=8 for a model without"):
        found(new_model(), shortlist=8)
    some = Shortlist(np.zeros((SOURCE, 1), "int32"), ORDER, frequent=4)
    with pytest.raises(ValueError, match="4 special and 4 frequent tokens. Give 9 or more"):
        found(new_model(), some, shortlist=8)
    encoder = kb.Encoder(
        vocabulary_size=SOURCE, embedding_units=6, units=5, symbols=[-1] * 4 + [4] * 5
    )
    decoder = kb.Decoder(vocabulary_size=TARGET, embedding_units=6, units=7, copy=True)
    with pytest.raises(ValueError, match="one of copying"):
        found(kb.Seq2Seq(encoder, decoder), some, shortlist=9)
