"""Step by step: a trace shows the model's own computation, for every mechanism."""

import dataclasses

import keras
import numpy as np
import pytest
import reference
from conftest import toy_pairs
from decoders import new_decoder, new_hard_decoder

import keras_bahdanau as kb
from keras_bahdanau.text.vocabulary import START

SENTENCE = "three one two"


def assert_close(array, expected):
    np.testing.assert_allclose(array, expected, rtol=1e-5, atol=2e-6)


def assert_follows(trace, translation, penalty):
    """Assert that a trace matches a translation, including its alignment and score."""
    for name in ("text", "score", "source_tokens", "target_tokens"):
        assert getattr(trace, name) == getattr(translation, name)
    assert_close(trace.weights, translation.alignment)
    assert trace.alignment is trace.weights
    assert trace.log_probs.sum() == pytest.approx(translation.score * penalty, abs=1e-5)


@pytest.fixture(scope="module")
def trace(toy_translator):
    return toy_translator.trace(SENTENCE)


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize(
    "options",
    [
        kb.SearchOptions(),
        kb.SearchOptions(beam_width=1),
        kb.SearchOptions(beam_width=3, length_normalization=0.5),
    ],
)
def test_it_follows_the_best_translation(toy_translator, options):
    translator = kb.Translator(
        toy_translator.source, toy_translator.model, toy_translator.target, options
    )
    (best,) = translator.translate([SENTENCE])
    penalty = len(best.target_tokens) ** options.length_normalization
    assert_follows(translator.trace(SENTENCE), best, penalty)


@pytest.mark.slow
def test_it_follows_a_given_text(toy_translator):
    target = "eins eins"
    (aligned,) = toy_translator.align([(SENTENCE, target)])
    trace = toy_translator.trace(SENTENCE, target)
    assert trace.text == target
    assert_follows(trace, aligned, len(aligned.target_tokens))


@pytest.mark.slow
def test_it_follows_any_other_translation_of_the_sentence(toy_translator):
    for translation in toy_translator.translate_nbest([SENTENCE])[0][1:3]:
        trace = toy_translator.trace(SENTENCE, translation)
        assert_follows(trace, translation, len(translation.target_tokens))


def test_shapes_are_as_documented(toy_translator, trace):
    source, target = len(trace.source_tokens), len(trace.target_tokens)
    shapes = {
        "values": (source, 48),
        "initial_state": (48,),
        "embedded": (target, 24),
        "query": (target, 48),
        "scores": (target, source),
        "weights": (target, source),
        "context": (target, 48),
        "state": (target, 48),
        "output": (target, 48),
        "log_probs": (target,),
        "top_probabilities": (target, 5),
    }
    for name, shape in shapes.items():
        array = getattr(trace, name)
        assert (array.shape, array.dtype) == (shape, "float32"), name
    assert [len(tokens) for tokens in trace.top_tokens] == [5] * target
    assert trace.input_tokens == ["<s>", *trace.target_tokens[:-1]]


def test_weights_are_the_softmax_of_the_scores(trace):
    assert_close(trace.weights, np.exp(reference.log_softmax(trace.scores)))


def test_the_context_is_the_weighted_sum_of_the_values(trace):
    assert_close(trace.context, trace.weights @ trace.values)


def test_between_two_cells_each_step_asks_with_what_the_first_one_says(toy_translator, trace):
    cell = toy_translator.model.decoder.cell.first_cell
    before = np.vstack([trace.initial_state, trace.state[:-1]])
    told, _ = cell.step(cell.project(trace.embedded), (before,))
    assert_close(trace.query, told)
    np.testing.assert_array_equal(trace.output, trace.state)


@pytest.mark.slow
def test_before_a_cell_each_step_asks_with_the_state_before(toy_translator):
    source, target = toy_translator.source, toy_translator.target
    model = kb.presets.small(source, target, when="before", embedding_units=4, units=6)
    trace = kb.Translator(source, model, target).trace(SENTENCE)
    np.testing.assert_array_equal(trace.query[0], trace.initial_state)
    np.testing.assert_array_equal(trace.query[1:], trace.state[:-1])
    np.testing.assert_array_equal(trace.output, trace.state)


@pytest.mark.slow
def test_the_best_tokens_come_first_and_the_greedy_choice_is_the_best(toy_translator, trace):
    assert np.all(np.diff(trace.top_probabilities) <= 0)
    greedy = kb.SearchOptions(beam_width=1)
    translator = kb.Translator(
        toy_translator.source, toy_translator.model, toy_translator.target, greedy
    )
    trace = translator.trace(SENTENCE, top=1)
    assert [token for (token,) in trace.top_tokens] == trace.target_tokens
    assert_close(trace.top_probabilities[:, 0], np.exp(trace.log_probs))


def test_the_whole_vocabulary_can_be_kept(toy_translator):
    size = toy_translator.target.vocabulary_size
    trace = toy_translator.trace(SENTENCE, top=size)
    assert_close(trace.top_probabilities.sum(axis=1), 1)
    for tokens, probabilities, token, log_prob in zip(
        trace.top_tokens,
        trace.top_probabilities,
        trace.target_tokens,
        trace.log_probs,
        strict=True,
    ):
        assert probabilities[tokens.index(token)] == pytest.approx(np.exp(log_prob), rel=1e-5)


MECHANISMS = {
    "no attention": {"attention": None},
    "general, after the cell": {"attention": "general", "when": "after", "readout": "plain"},
    "between two cells": {"when": "between"},
    "lstm, deep and residual": {"cell": "lstm", "depth": 2, "residual": True},
    "a Keras cell": {"cell": "keras"},
    "the previous state, maxout": {"readout_state": "previous", "readout": "maxout"},
    "all in the query": {"query": ("state", "embedding", "context", "task")},
    "heads": {"attention": {"kind": "dot", "heads": 2}, "units": 12},
    "local-p, coverage": {
        "attention": {"kind": "bahdanau", "window": "local-p", "coverage": "sum"}
    },
    "monotonic, hard": {"attention": {"kind": "additive", "normalizer": "monotonic-hard"}},
    "the own past": {"attention": {"kind": "additive", "past": 4}},
}


@pytest.fixture(scope="module")
def subwords():
    """One vocabulary for both sides."""
    return kb.text.Subwords.train_pair(toy_pairs(), vocabulary_size=48)[0]


def new_translator(subwords, attention="bahdanau", cell="gru", units=10, **options):
    """Return an untrained translator with a given mechanism."""
    keras.utils.set_random_seed(1)
    if isinstance(attention, dict):
        settings = {"units": 6, **attention}
        attention = kb.layers.ATTENTIONS.get(settings.pop("kind"), **settings)
    if cell == "keras":
        cell = keras.layers.GRUCell(units)
    symbols = (-1, *range(1, 48)) if options.get("copy") else None
    encoder = kb.Encoder(48, 8, units // 2, symbols=symbols)
    decoder = new_decoder(48, 8, units, attention=attention, cell=cell, **options)
    return kb.Translator(subwords, kb.Seq2Seq(encoder, decoder), subwords)


def given(subwords, target):
    """Return a `Translation` of `SENTENCE` with the fields that a trace reads, and its ids."""
    source, ids = subwords.encode([SENTENCE, target])
    tokens = [subwords.tokens(source).tolist(), subwords.tokens(ids).tolist()]
    return kb.Translation(target, 0.0, *tokens, alignment=None, finished=True), ids


@pytest.mark.few(1)
@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_gives_step_by_step_what_it_gives_at_once(subwords, name):
    translator = new_translator(subwords, **MECHANISMS[name])
    model = translator.model
    translation, chosen = given(subwords, "eins fünf zwei vier")
    trace = translator.trace(SENTENCE, translation, top=48)
    (source,) = translator.source.subwords.encode([SENTENCE])
    inputs = np.array([[START, *chosen[:-1]]], "int32")
    logits, weights = model((source[None], inputs), return_attention_scores=True)
    log_probs = reference.log_softmax(np.asarray(logits[0]))
    assert_close(trace.weights, weights[0])
    assert_close(trace.log_probs, log_probs[np.arange(len(chosen)), chosen])
    assert_close(trace.top_probabilities, np.exp(-np.sort(-log_probs)))
    assert len(trace.query) == len(trace.scores) == len(trace.state) == len(chosen)
    assert np.isfinite(trace.scores).all() and np.isfinite(trace.query).all()

    shown = map(keras.ops.convert_to_tensor, (trace.output, trace.context, trace.embedded))
    read = model.decoder.logits(model.decoder.readout(*shown))
    assert_close(
        trace.top_probabilities, np.exp(-np.sort(-reference.log_softmax(np.asarray(read))))
    )


@pytest.mark.slow
def test_a_model_that_copies_shows_the_gate_of_each_step(subwords):
    translator = new_translator(subwords, copy=True)
    translation, chosen = given(subwords, "eins fünf zwei vier")
    trace = translator.trace(SENTENCE, translation)
    kernel, bias = map(np.asarray, translator.model.decoder.pointer.projection.weights)
    read = np.concatenate([trace.context, trace.state, trace.embedded], axis=1)
    assert_close(trace.generation, reference.sigmoid(read @ kernel + bias)[:, 0])
    features = translator.source.batch([SENTENCE])
    inputs = np.array([[START, *chosen[:-1]]], "int32")
    log_probs = np.asarray(translator.model((features, inputs))[0])
    assert_close(trace.log_probs, log_probs[np.arange(len(chosen)), chosen])
    assert translator.trace("").generation.shape == (0,)


def test_a_model_that_does_not_copy_has_no_gate(trace):
    assert trace.generation is None


@pytest.mark.slow
@pytest.mark.parametrize("monotonic", [False, True])
@pytest.mark.parametrize("order", [0, 1])
def test_a_hard_alignment_is_traced_step_by_step(subwords, order, monotonic):
    keras.utils.set_random_seed(1)
    attention = kb.layers.HardAlignment(units=6, order=order, monotonic=monotonic)
    model = kb.Seq2Seq(kb.Encoder(48, 8, 5), new_hard_decoder(48, 8, 10, attention))
    translator = kb.Translator(subwords, model, subwords)
    translation, chosen = given(subwords, "eins fünf zwei vier")
    trace = translator.trace(SENTENCE, translation, top=48)
    assert not trace.reads_context
    (source,) = translator.source.subwords.encode([SENTENCE])
    inputs = np.array([[START, *chosen[:-1]]], "int32")
    log_probs, weights = model((source[None], inputs), return_attention_scores=True)
    assert_close(trace.weights, weights[0])
    assert_close(trace.log_probs, np.asarray(log_probs[0])[np.arange(len(chosen)), chosen])
    assert_close(trace.top_probabilities, np.exp(-np.sort(-np.asarray(log_probs[0]))))


@pytest.mark.slow
def test_without_attention_nothing_is_attended_to(subwords):
    trace = new_translator(subwords, attention=None).trace(SENTENCE, "eins zwei")
    assert not trace.weights.any() and not trace.scores.any()
    np.testing.assert_array_equal(
        trace.context, np.repeat(trace.context[:1], len(trace.context), 0)
    )


@pytest.mark.slow
def test_after_the_cell_the_query_is_the_new_state(subwords):
    translator = new_translator(subwords, attention="dot", when="after")
    trace = translator.trace(SENTENCE, "eins zwei")
    np.testing.assert_array_equal(trace.query, trace.state)
    assert not np.allclose(trace.output, trace.state)  # the output is the attentional vector


@pytest.mark.slow
def test_lower_precision_is_traced_in_float32(subwords):
    with_policy = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        trace = new_translator(subwords).trace(SENTENCE, "eins zwei")
    finally:
        keras.config.set_dtype_policy(with_policy)
    assert {trace.state.dtype, trace.values.dtype, trace.weights.dtype} == {np.dtype("float32")}


def test_an_empty_sentence_gives_empty_arrays(toy_translator):
    trace = toy_translator.trace("")
    assert (trace.text, trace.source_tokens, trace.target_tokens) == ("", [], [])
    assert trace.input_tokens == trace.top_tokens == []
    assert trace.values.shape == trace.state.shape == trace.context.shape == (0, 48)
    assert trace.scores.shape == (0, 0) and trace.top_probabilities.shape == (0, 5)


def test_an_empty_source_can_be_read_with_a_target(toy_translator):
    trace = toy_translator.trace("", "eins")
    assert trace.weights.shape == (len(trace.target_tokens), 0)
    assert np.isfinite(trace.log_probs).all() and not trace.context.any()


def test_what_is_no_sentence_is_refused(toy_translator):
    with pytest.raises(TypeError, match=r"one input, not a list.*Received: .*\['one'\]"):
        toy_translator.trace(["one"])
    with pytest.raises(TypeError, match="`target` must be a string, a Translation, or None"):
        toy_translator.trace("one", ["eins"])


@pytest.mark.parametrize("top", [0, 49, 2.0])
def test_more_tokens_than_there_are_are_refused(toy_translator, top):
    with pytest.raises(ValueError, match=f"from 1 to .* 48. Received: top={top}"):
        toy_translator.trace("one", top=top)


def test_a_translation_of_another_sentence_is_refused(toy_translator):
    (other,) = toy_translator.translate(["two"])
    with pytest.raises(ValueError, match="a Translation of .*two.*, while the input is .*one"):
        toy_translator.trace("one", other)


def test_a_translation_into_other_tokens_is_refused(toy_translator):
    (found,) = toy_translator.translate(["one"])
    other = dataclasses.replace(found, target_tokens=["▁un", *found.target_tokens[1:]])
    with pytest.raises(ValueError, match="of this model. Received: a Translation with '▁un'"):
        toy_translator.trace("one", other)


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["ssru_student", "transformer_tiny"])
def test_a_decoder_of_blocks_is_explored_as_any_other(subwords, preset, tmp_path):
    sizes = {"embedding_units": 8, "units": 8, "depth": 1, "decoder_depth": 2}
    model = getattr(kb.presets, preset)(subwords, subwords, **sizes)
    translator = kb.Translator(subwords, model, subwords, kb.SearchOptions(max_length=4))
    trace = translator.trace(SENTENCE, explore=True)
    steps = len(trace.target_tokens)
    assert trace.state.shape == (steps, 8) and np.abs(trace.state).any(axis=1).all()
    np.testing.assert_array_equal(trace.initial_state, np.zeros(8))
    assert_close(trace.weights.sum(axis=1), np.ones(steps))
    (best,) = translator.translate([SENTENCE])
    assert_follows(trace, best, steps)
    assert len(trace.tree.path(trace.target_tokens)) == len(trace.alternatives) == steps
    kb.write_explorer([trace], tmp_path / "page.html")


def test_a_trace_can_be_drawn(trace):
    figure = kb.plot_trace(trace)
    shown = [one.get_text() for axes in figure.axes for one in axes.texts]
    assert all(any(token.strip("▁") in text for text in shown) for token in trace.target_tokens)
    (image,) = kb.plot_alignment(trace, words=False).axes[0].get_images()
    np.testing.assert_allclose(image.get_array(), trace.weights)


@pytest.fixture(scope="module")
def explored(toy_translator):
    return toy_translator.trace(SENTENCE, explore=True)


def test_an_explored_trace_has_the_tree_of_its_search(explored, toy_translator):
    tree = explored.tree
    path = tree.path(explored.target_tokens)
    assert [tree.tokens[node] for node in path] == explored.target_tokens
    assert tree.scores[path[-1]] == pytest.approx(explored.score, abs=1e-5)
    assert_close(tree.log_probs[path], np.cumsum(explored.log_probs))
    assert tree.kept[path].all() and not tree.kept.all()
    ends = np.setdiff1d(np.flatnonzero(tree.kept), tree.parents)
    assert len(ends) == toy_translator.search.beam_width


def test_the_tree_of_a_search_with_a_prefix_begins_with_it(toy_translator):
    trace = toy_translator.trace(SENTENCE, explore=True, prefix="zwei")
    assert trace.text == toy_translator.translate([SENTENCE], prefixes=["zwei"])[0].text
    assert trace.text.startswith("zwei")
    path = trace.tree.path(trace.target_tokens)
    assert [trace.tree.tokens[node] for node in path] == trace.target_tokens
    assert trace.tree.scores[path[-1]] == pytest.approx(trace.score, abs=1e-5)
    with pytest.raises(TypeError, match="`prefix` must be a string"):
        toy_translator.trace(SENTENCE, prefix=[5])


def test_an_alternative_is_the_translation_that_begins_with_another_token(explored, toy_translator):
    assert len(explored.alternatives) == len(explored.target_tokens)
    for step, other in enumerate(explored.alternatives):
        before = explored.target_tokens[:step]
        ranked = [*explored.top_tokens[step]]
        ranked.remove(explored.target_tokens[step])
        assert other.token == ranked[0]
        assert other.target_tokens[: step + 1] == [*before, other.token]
        (aligned,) = toy_translator.align([(SENTENCE, other.text)])
        if aligned.target_tokens == other.target_tokens:
            assert aligned.score == pytest.approx(other.score, abs=1e-4)


def test_a_prefix_of_ids_begins_as_that_of_their_text_does(toy_translator):
    (ids,) = toy_translator.target.encode(["zwei eins"])
    by_text = toy_translator.translate([SENTENCE], prefixes=["zwei eins"])
    by_ids = toy_translator.translate([SENTENCE], prefixes=[ids[:-1]])
    assert by_ids[0].text == by_text[0].text and by_ids[0].text.startswith("zwei eins")


def test_an_empty_sentence_has_nothing_to_explore(toy_translator):
    trace = toy_translator.trace("", explore=True, importance=True)
    assert trace.tree.tokens == [] and trace.alternatives == []
    assert {array.shape for array in trace.importance.values()} == {(0, 0)}


class ChangedSource:
    """A model in which one source position gets another vector, through an unused id."""

    def __init__(self, translator, chosen):
        self.model, self.chosen = translator.model, chosen
        (self.ids,) = translator.source.subwords.encode([SENTENCE])
        self.table = self.model.encoder.front_end.weights[0]
        self.vectors = self.table.numpy()[self.ids]
        self.spare = next(number for number in range(5, 48) if number not in self.ids)

    def log_probs(self, position, vector):
        ids, table = self.ids.copy(), self.table.numpy()
        ids[position], table[self.spare] = self.spare, vector
        self.table.assign(table)
        inputs = np.array([[START, *self.chosen[:-1]]], "int32")
        logits, _ = self.model((ids[None], inputs), return_attention_scores=True)
        log_probs = reference.log_softmax(np.asarray(logits[0], float))
        return log_probs[np.arange(len(self.chosen)), self.chosen]


@pytest.mark.slow
def test_importance_is_that_of_the_model_called_with_one_position_changed(subwords):
    translator = new_translator(subwords)
    translation, chosen = given(subwords, "eins fünf zwei vier")
    plain = translator.trace(SENTENCE, translation)
    assert plain.importance == {}
    trace = translator.trace(SENTENCE, translation, importance=True)
    assert_close(trace.weights, plain.weights)
    hidden, replaced, slopes = trace.importance.values()
    shape = trace.weights.shape
    assert {(array.shape, array.dtype.name) for array in (hidden, replaced, slopes)} == {
        (shape, "float32")
    }
    changed = ChangedSource(translator, chosen)
    mean = changed.vectors.mean(axis=0)
    for position, vector in enumerate(changed.vectors):
        effect = trace.log_probs - changed.log_probs(position, mean)
        np.testing.assert_allclose(replaced[:, position], effect, atol=2e-5)
        ends = [changed.log_probs(position, factor * vector) for factor in (0.98, 1.02)]
        np.testing.assert_allclose(slopes[:, position], (ends[1] - ends[0]) / 0.04, atol=1e-4)
    assert np.abs(replaced).max() > 1e-3 < np.abs(slopes).max()


@pytest.mark.slow
def test_importance_for_the_attention_is_that_of_a_masked_step(subwords):
    translator = new_translator(subwords)
    translation, chosen = given(subwords, "eins fünf zwei vier")
    trace = translator.trace(SENTENCE, translation, importance=True)
    effects, model = trace.importance["leave-one-out, attention"], translator.model
    features = translator.source.batch([SENTENCE])
    prepared = model.encode(keras.ops.convert_to_tensor(features))
    state, read = model.initial_state(prepared), [START, *chosen[:-1]]
    for step, token in enumerate(read):
        tokens = keras.ops.convert_to_tensor([token], "int32")
        for position in range(effects.shape[1]):
            visible = np.arange(effects.shape[1])[None] != position
            memory = prepared.projected.memory._replace(mask=keras.ops.convert_to_tensor(visible))
            masked = prepared._replace(projected=prepared.projected._replace(memory=memory))
            distribution, _, _ = model.decode_step(tokens, state, masked)
            log_prob = np.asarray(distribution.log_probs)[0, chosen[step]]
            assert effects[step, position] == pytest.approx(
                trace.log_probs[step] - log_prob, abs=1e-5
            )
        _, _, state = model.decode_step(tokens, state, prepared)
    assert np.abs(effects).max() > 1e-4


@pytest.mark.slow
def test_without_weights_there_is_no_importance_beside_them(subwords):
    translator = new_translator(subwords, attention=None)
    with pytest.raises(
        ValueError, match="must have a single model with attention weights. Received: "
    ):
        translator.trace(SENTENCE, "eins zwei", importance=True)
