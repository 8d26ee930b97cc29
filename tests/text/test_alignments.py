import numpy as np
import pytest

from keras_bahdanau.text.alignments import (
    alignment_error_rate,
    format_pharaoh,
    hard_links,
    join_alignment,
    join_subwords,
    parse_pharaoh,
    span_links,
    token_alignment,
    word_links,
)
from keras_bahdanau.text.word_weights import word_weights


@pytest.mark.parametrize(
    ("tokens", "words", "groups"),
    [
        ([], [], []),
        (["</s>"], ["</s>"], [[0]]),
        (["▁a", "▁b", "c", "</s>"], ["a", "bc", "</s>"], [[0], [1, 2], [3]]),
        (["a", "b", "▁c"], ["ab", "c"], [[0, 1], [2]]),
        (["▁", "a", "b", "▁", "c"], ["ab", "c"], [[0, 1, 2], [3, 4]]),
        (["▁a", "▁", "▁b"], ["a", "b"], [[0], [1, 2]]),
        (["▁a", "</s>", "b"], ["a", "</s>", "b"], [[0], [1], [2]]),
        (["▁", "<unk>", "▁नम", "स्ते"], ["<unk>", "नमस्ते"], [[0, 1], [2, 3]]),
        (
            ["<V>▁", "<SG>▁", "w", "o", "</s>"],
            ["<V>", "<SG>", "wo", "</s>"],
            [[0], [1], [2, 3], [4]],
        ),
        (["a", "<V>▁", "▁", "b"], ["a<V>", "b"], [[0, 1], [2, 3]]),
        (["▁The▁gar", "dener", "▁has"], ["The gardener", "has"], [[0, 1], [2]]),
        (["▁a", "<unk>", "b", "<unk>"], ["a", "<unk>", "b", "<unk>"], [[0], [1], [2], [3]]),
    ],
)
def test_pieces_join_to_words(tokens, words, groups):
    assert join_subwords(tokens) == (words, groups)


def test_joining_sums_over_source_pieces_and_averages_over_target_pieces():
    alignment = [[0.5, 0.2, 0.3], [0.1, 0.5, 0.4], [0.0, 0.25, 0.75]]
    joined, source, target = join_alignment(alignment, ["▁a", "b", "</s>"], ["▁x", "▁y", "z"])
    assert (source, target) == (["ab", "</s>"], ["x", "yz"])
    np.testing.assert_allclose(joined, [[0.7, 0.3], [(0.6 + 0.25) / 2, (0.4 + 0.75) / 2]])


def test_joined_rows_still_sum_to_one():
    weights = np.random.default_rng(0).dirichlet(np.ones(6), size=5).astype("float32")
    joined, _, _ = join_alignment(
        weights, ["▁a", "b", "▁", "c", "▁d", "</s>"], ["x", "y", "z", "▁w", "</s>"]
    )
    assert joined.shape == (3, 4) and joined.dtype == np.float32
    np.testing.assert_allclose(joined.sum(axis=1), 1.0, rtol=1e-6)


@pytest.mark.parametrize(("rows", "columns"), [(0, 0), (0, 2), (2, 0)])
def test_joining_without_tokens_gives_an_empty_alignment(rows, columns):
    joined, source, target = join_alignment(
        np.zeros((rows, columns)), ["▁a", "▁b"][:columns], ["▁x", "▁y"][:rows]
    )
    assert joined.shape == (len(target), len(source)) == (rows, columns)


def test_an_alignment_of_other_tokens_is_refused():
    with pytest.raises(ValueError, match=r"\(2, 1\)\. Received: alignment.shape=\(1, 2\)"):
        join_alignment(np.ones((1, 2)), ["▁a"], ["▁x", "▁y"])


def test_hard_links_take_the_largest_weight_of_each_row():
    alignment = [[0.1, 0.9, 0.0], [0.4, 0.3, 0.3], [0.0, 0.0, 0.0]]
    assert hard_links(alignment) == {(1, 0), (0, 1)}


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)])
def test_an_empty_alignment_has_no_links(shape):
    assert hard_links(np.zeros(shape)) == frozenset()


def test_word_links_leave_out_the_end_tokens():
    source, target = ["▁a", "b", "▁c", "</s>"], ["▁x", "▁y", "▁z", "</s>"]
    alignment = [
        [0.4, 0.0, 0.5, 0.1],  # x: c
        [0.3, 0.3, 0.4, 0.0],  # y: ab, by the sum over its pieces
        [0.1, 0.1, 0.2, 0.6],  # z: the end token, so no link
        [0.9, 0.1, 0.0, 0.0],  # the target's end token
    ]
    assert word_links(source, target, alignment) == {(1, 0), (0, 1)}


def test_word_links_count_words_as_the_text_does():
    target = ["▁x", "▁", "▁y", "▁", "</s>"]
    assert word_links(["▁a", "</s>"], target, np.tile([1.0, 0.0], (5, 1))) == {(0, 0), (0, 1)}


def test_word_links_of_an_empty_translation_are_none():
    assert word_links(["▁a", "</s>"], [], np.zeros((0, 2))) == frozenset()


def test_a_translation_that_was_cut_keeps_its_last_link():
    assert word_links(["▁a", "▁b", "</s>"], ["▁x", "▁y"], np.eye(2, 3)) == {(0, 0), (1, 1)}


def test_a_token_shares_its_weight_out_among_its_words():
    """Half of 0.6 for each of the two unknown words is less than the 0.4 for the known word."""
    source, target = [[0, 0], [1, 2], [3, 3]], [[0, 0], [1, 1]]
    assert span_links(source, target, [[0.4, 0.6, 0.0], [0.0, 0.0, 1.0]]) == {(0, 0)}
    assert span_links(source, target, [[0.2, 0.6, 0.2], [0.0, 0.0, 1.0]]) == {(1, 0)}
    assert span_links([], target, np.zeros((2, 0))) == frozenset()


def test_a_group_may_hold_the_end_and_words_before_it():
    """One position covers "a b" and one covers "c </s>"."""
    source = np.array([[0, 1], [2, 3]])
    target = [(0, 0), (1, 1), (2, 2)]
    weights = [[0.9, 0.1], [0.1, 0.9], [0.0, 1.0]]
    assert span_links(source, target, weights) == {(0, 0), (2, 1)}
    assert span_links([[0, 3]], target, [[1.0], [1.0], [1.0]]) == {(0, 0), (0, 1)}
    found = word_weights(source, target, np.array(weights))
    assert found.shape == (3, 4)  # words and end tokens of both sides
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_pharaoh_is_sorted_by_number():
    assert format_pharaoh({(10, 1), (2, 3), (2, 0)}) == "2-0 2-3 10-1"
    assert format_pharaoh(()) == ""


def test_pharaoh_keeps_sure_and_possible_apart():
    sure, possible = parse_pharaoh(" 0-0 1?2  3-1\n")
    assert sure == {(0, 0), (3, 1)}
    assert possible == {(0, 0), (1, 2), (3, 1)}


def test_pharaoh_reads_what_it_writes():
    links = frozenset({(0, 2), (11, 0), (3, 3)})
    assert parse_pharaoh(format_pharaoh(links)) == (links, links)
    assert parse_pharaoh("") == (frozenset(), frozenset())


@pytest.mark.parametrize("item", ["1", "1-", "-2", "1:2", "a-b", "1--2", "1-2-3"])
def test_a_bad_pharaoh_item_is_named(item):
    with pytest.raises(ValueError, match=f"Received: item='{item}'"):
        parse_pharaoh(f"0-0 {item} 1-1")


def test_error_rate_of_a_corpus_by_hand():
    predicted = [{(0, 0), (1, 1), (2, 0)}, {(0, 1)}]
    sure = [{(0, 0), (1, 2)}, {(0, 0)}]
    possible = [{(0, 0), (1, 2), (1, 1)}, set()]
    # |A & S| = 1, |A & P| = 2, |A| = 4, |S| = 3.
    assert alignment_error_rate(predicted, sure, possible) == pytest.approx(1 - 3 / 7)


def test_sure_links_alone_are_without_error_and_possible_ones_cost_nothing():
    sure, possible = [{(0, 0)}], [{(0, 0), (1, 0)}]
    assert alignment_error_rate(sure, sure, possible) == 0.0
    assert alignment_error_rate(possible, sure, possible) == 0.0
    assert alignment_error_rate([{(5, 5)}], sure, possible) == 1.0


def test_error_rate_of_no_links_is_zero():
    assert alignment_error_rate([], [], []) == 0.0
    assert alignment_error_rate([set()], [set()], [set()]) == 0.0


def test_unequal_numbers_of_sentences_are_refused():
    with pytest.raises(ValueError, match=r"len\(predicted\)=2, len\(sure\)=1, len\(possible\)=2"):
        alignment_error_rate([set(), set()], [set()], [set(), set()])


ONE_TWO = [[0, 0], [1, 1], [1, 1], [2, 2]]  # words of one token and of two, and the end token
FOUR = [[0, 0], [1, 1], [2, 2], [3, 3], [4, 4]]  # four words of one token, and the end token


def test_links_are_spread_over_the_tokens_of_their_words():
    found = token_alignment({(0, 1), (1, 1), (1, 3)}, ONE_TWO, FOUR)
    third, half = 1 / 3, 1 / 2
    expected = [
        [0, 0, 0, 0],
        [third, third, third, 0],
        [0, 0, 0, 0],
        [0, half, half, 0],
        [0, 0, 0, 1],
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert found.dtype == np.float32


def test_every_token_of_a_linked_target_word_has_its_links():
    found = token_alignment({(2, 1)}, FOUR, ONE_TWO)
    np.testing.assert_array_equal(
        found, [[0, 0, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 0, 1]]
    )


def test_a_token_of_several_words_has_the_links_of_all():
    """A word model, for example, makes one unknown token of a run of unknown words."""
    unknown = [[0, 1], [2, 2], [3, 3]]
    found = token_alignment({(0, 2), (1, 0), (2, 1)}, unknown, FOUR[:3] + [[3, 3]])
    np.testing.assert_array_equal(found, [[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1]])
    found = token_alignment({(0, 0), (2, 1)}, FOUR[:3] + [[3, 3]], unknown)
    np.testing.assert_array_equal(found, [[0.5, 0, 0.5, 0], [0, 0, 0, 0], [0, 0, 0, 1]])


def test_without_links_only_the_ends_are_joined():
    np.testing.assert_array_equal(
        token_alignment(frozenset(), ONE_TWO, [[0, 0], [1, 1]]), [[0, 0, 0, 0], [0, 0, 0, 1]]
    )


def test_an_empty_source_has_no_columns():
    assert token_alignment(frozenset(), [], [[0, 0]]).shape == (1, 0)


@pytest.mark.parametrize("link", [(2, 0), (0, 4), (-1, 0), (0, -1)])
def test_a_link_to_no_word_is_refused(link):
    """The end token is not a word."""
    with pytest.raises(ValueError) as error:
        token_alignment({link}, ONE_TWO, FOUR)
    assert f"Received: {link} for 2 source and 4 target words" in str(error.value)


def test_the_letters_of_other_tools_mark_sure_and_possible_links():
    assert parse_pharaoh("0s1 2p3 4-5 6?7") == (
        {(0, 1), (4, 5)},
        {(0, 1), (2, 3), (4, 5), (6, 7)},
    )
