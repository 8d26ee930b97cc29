"""The tree of a beam search, compared with plain Python that keeps every beam."""

import modes
import numpy as np
import pytest
import reference
from toy import END, VOCABULARY, Language, run_search

from keras_bahdanau.search import SearchOptions, TreeRecorder, beam_search, search

ALL = sum((VOCABULARY - 1) ** t for t in range(5))  # hypotheses of up to 4 tokens


def traced(language, row, limit, options, find=search):
    """Return the result and the tree of one row."""
    recorder = TreeRecorder(options)

    def visited(*arguments, **places):
        return find(*arguments, **places, visit=recorder)

    result = run_search(modes.eager, visited, language, [limit], options, rows=[row], time=5)
    return result, recorder.tree()


def beams_of(language, row, limit, width, exponent):
    """Return the beams after each step, as lists of hypotheses."""
    after = language.after(row)
    beams = [[reference.Hypothesis((), 0.0, limit == 0)]]
    for _ in range(limit):
        grown = []
        for one in beams[-1]:
            grown += [one] if one.finished else reference.children(one, after, END)
        beams.append(sorted(grown, key=lambda one: -one.score(exponent))[:width])
        if all(one.finished for one in beams[-1]):
            break
    return beams


def tokens_of(tree, node):
    tokens = []
    while node != -1:
        tokens.append(tree.tokens[node])
        node = tree.parents[node]
    return tuple(reversed(tokens))


@pytest.mark.few(1)
@pytest.mark.parametrize(("width", "exponent"), [(2, 0.6), (ALL, 1.0), (3, 0.0), (1, 1.0)])
def test_it_has_every_hypothesis_that_a_beam_has_held_and_no_other(width, exponent):
    language = Language(3, seed=width)
    options = SearchOptions(beam_width=width, length_normalization=exponent)
    for row, limit in enumerate((4, 1)):
        _, tree = traced(language, row, limit, options)
        beams = beams_of(language, row, limit, width, exponent)
        held = {one.tokens: one for beam in beams for one in beam if one.tokens}
        last = {one.tokens for one in beams[-1]}
        found = {tokens_of(tree, node): node for node in range(len(tree.tokens))}
        assert found.keys() == held.keys() and len(found) == len(tree.tokens)
        for tokens, node in found.items():
            one = held[tokens]
            np.testing.assert_allclose(tree.log_probs[node], one.log_prob, rtol=1e-5)
            np.testing.assert_allclose(tree.scores[node], one.score(exponent), rtol=1e-5)
            assert tree.finished[node] == one.finished
            assert tree.kept[node] == any(end[: len(tokens)] == tokens for end in last)
        pruned = len(held) - len({end[:t] for end in last for t in range(1, len(end) + 1)})
        assert (~tree.kept).sum() == pruned


@pytest.mark.slow
def test_a_narrow_beam_prunes_and_one_of_all_hypotheses_does_not():
    language = Language(1, seed=2)
    _, narrow = traced(language, 0, 4, SearchOptions(beam_width=2))
    _, wide = traced(language, 0, 4, SearchOptions(beam_width=ALL))
    assert not narrow.kept.all()
    assert wide.kept.all()


def test_the_search_that_is_visited_finds_what_it_finds_in_one_loop():
    language, options = Language(2, seed=5), SearchOptions(beam_width=3)
    found, tree = traced(language, 1, 4, options, beam_search)
    expected = run_search(modes.eager, beam_search, language, [4], options, [1], time=5)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    best = found.ids[0, 0, : found.lengths[0, 0]].tolist()
    path = tree.path(best)
    assert [tree.tokens[node] for node in path] == best and tree.kept[path].all()
    assert tree.path([*best[:1], 99]) == path[:1]


def test_draws_at_random_are_the_same_with_a_visitor_and_do_not_call_it():
    options = SearchOptions(beam_width=2, temperature=1.0, seed=3)
    result, tree = traced(Language(1), 0, 4, options)
    alone = run_search(modes.eager, search, Language(1), [4], options, rows=[0], time=5)
    np.testing.assert_array_equal(result.ids, alone.ids)
    assert tree.tokens == []


def test_an_input_of_nothing_has_an_empty_tree():
    _, tree = traced(Language(1), 0, 0, SearchOptions(beam_width=2))
    assert tree.tokens == [] and tree.kept.shape == (0,) and tree.path([1]) == []
