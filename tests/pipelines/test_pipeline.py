"""A pipeline with frames as its source: results, prefixes, batches, and one file."""

from types import SimpleNamespace

import keras
import numpy as np
import pytest
from decoders import new_decoder

import keras_bahdanau as kb
from keras_bahdanau.models import SourceLimits
from keras_bahdanau.pipelines import batches as limited
from keras_bahdanau.pipelines.batches import SearchMemory, hypothesis_numbers
from keras_bahdanau.sources import FeatureSource

RANDOM = np.random.default_rng(0)
INPUTS = [RANDOM.normal(size=(length, 3)) for length in (5, 0, 2, 9)]


@pytest.fixture(scope="module")
def pipeline():
    """An untrained pipeline that reads frames and writes words."""
    keras.utils.set_random_seed(3)
    target = kb.text.Subwords.train(["a b c d e"], 10, model_type="word", exact=False)
    source = FeatureSource(3)
    model = kb.presets.small(source, target, embedding_units=6, units=8, attention_units=4)
    search = kb.SearchOptions(beam_width=2, max_length=6)
    return kb.Pipeline(source, model, target, search)


def same(one, other):
    assert (one.text, one.source_tokens, one.target_tokens, one.finished) == (
        *(other.text, other.source_tokens),
        *(other.target_tokens, other.finished),
    )
    assert one.score == pytest.approx(other.score, abs=1e-5)
    np.testing.assert_allclose(one.alignment, other.alignment, atol=1e-5)


def test_each_input_has_one_result_in_any_batch(pipeline):
    together, two_by_two = pipeline.decode(INPUTS), pipeline.decode(INPUTS[::-1], 2)[::-1]
    for one, other, frames in zip(together, two_by_two, INPUTS, strict=True):
        same(one, other)
        assert one.source_tokens == [str(number) for number in range(len(frames))]
        assert one.alignment.shape == (len(one.target_tokens), len(frames))
    assert (together[1].text, together[1].target_tokens) == ("", [])
    assert pipeline.decode([]) == []


def test_progress_is_the_inputs_of_the_batches_that_are_done(pipeline):
    told = []
    pipeline.decode(INPUTS, 2, say=told.append)
    assert told == ["2 of 4 inputs", "4 of 4 inputs"]


@pytest.mark.slow
def test_given_texts_have_the_scores_that_the_search_gave_them(pipeline):
    options = kb.SearchOptions(beam_width=2, max_length=6, length_normalization=0.0)
    found = [one for one in pipeline.decode_nbest(INPUTS[3:], search=options)[0] if one.finished]
    pairs = [(INPUTS[3], one.text) for one in found if "⁇" not in one.text]
    scores = pipeline.score(pairs, search=options)
    expected = [one.score for one in found if "⁇" not in one.text]
    assert scores == pytest.approx(expected, abs=1e-4)
    (read,) = pipeline.align([(INPUTS[0], "a b")])
    assert read.target_tokens == ["▁a", "▁b", "</s>"]
    np.testing.assert_allclose(read.alignment.sum(axis=1), 1, atol=1e-5)


@pytest.mark.slow
def test_a_result_begins_with_its_prefix_and_can_be_traced(pipeline):
    (result,) = pipeline.decode(INPUTS[:1], prefixes=["d a"])
    assert result.target_tokens[:2] == ["▁d", "▁a"]
    trace = pipeline.trace(INPUTS[0], result)
    np.testing.assert_allclose(trace.weights, result.alignment, atol=1e-5)
    with pytest.raises(ValueError, match="one input, not a list.* of shape"):
        pipeline.trace(INPUTS[:1])


@pytest.mark.slow
def test_its_picture_ends_where_it_stops_reading(pipeline):
    frames, short = INPUTS[3], kb.SearchOptions(max_length=6, max_source_length=4)
    assert pipeline.picture(frames).positions == 9
    picture = pipeline.picture(frames, short)
    np.testing.assert_array_equal(picture.pixels, pipeline.source.picture(frames[:4]).pixels)
    (result,) = pipeline.decode([frames], search=short)
    below = kb.plot_alignment(result, picture, words=False).axes[1]
    assert len(below.get_yticks()) == len(result.target_tokens)
    assert below.images[0].get_array().shape[1] == 4
    with pytest.raises(ValueError, match="up to where it was truncated"):
        kb.plot_alignment(result, pipeline.picture(frames))
    with pytest.raises(ValueError, match="must contain arrays"):
        pipeline.picture(INPUTS)


def test_its_trace_has_the_picture(pipeline):
    trace = pipeline.trace(INPUTS[3])
    np.testing.assert_array_equal(trace.picture.pixels, pipeline.picture(INPUTS[3]).pixels)
    maps = [image for image in kb.plot_trace(trace).axes[0].images if image.get_array().ndim == 3]
    assert len(maps) == 2 * min(4, len(trace.target_tokens))
    empty = pipeline.trace(INPUTS[1])
    assert empty.picture is None and kb.plot_trace(empty).axes


@pytest.mark.slow
def test_draws_depend_on_the_seed_and_the_frames_alone(pipeline):
    options = kb.SearchOptions(beam_width=2, max_length=6, temperature=2.0, seed=5)
    drawn = pipeline.decode(INPUTS, search=options)
    again = pipeline.decode([frames.astype("float32") for frames in INPUTS[::-1]], 3, options)
    for one, other in zip(drawn, again[::-1], strict=True):
        same(one, other)


def test_it_is_one_file(pipeline, tmp_path):
    pipeline.save(tmp_path / "frames.keras")
    loaded = kb.Pipeline.load(tmp_path / "frames.keras")
    assert (loaded.source, loaded.target) == (pipeline.source, pipeline.target)
    for one, other in zip(*(each.model.get_weights() for each in (loaded, pipeline)), strict=True):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(TypeError, match="of class TextSource. Received: FeatureSource"):
        kb.Translator.load(tmp_path / "frames.keras")


def test_frames_replace_no_unknown_words(pipeline):
    options = kb.SearchOptions(replace_unknown=True)
    with pytest.raises(ValueError, match="replace_unknown=True with a FeatureSource. Turn it off"):
        pipeline.decode(INPUTS, search=options)
    with pytest.raises(ValueError, match="replace_unknown=True with a FeatureSource"):
        kb.Pipeline(pipeline.source, pipeline.model, pipeline.target, options)


def test_what_is_no_list_of_frames_is_refused(pipeline):
    with pytest.raises(TypeError, match=r"`inputs` must be a list of arrays \(time, 3\)"):
        pipeline.decode(INPUTS[0])
    with pytest.raises(ValueError, match=r"inputs\[1\] of shape \(4, 2\)"):
        pipeline.align([(INPUTS[0], "a"), (np.zeros((4, 2)), "b")])
    with pytest.raises(ValueError, match="1 prefixes, 4 inputs"):
        pipeline.decode(INPUTS, prefixes=["a"])


def test_a_search_of_many_numbers_has_small_batches(pipeline, monkeypatch):
    expected, vocabulary = pipeline.decode(INPUTS), pipeline.target.vocabulary_size
    # Two rows (of two hypotheses of up to 6 tokens over 9 positions) fit, or four of 2 or 0.
    monkeypatch.setattr(limited, "SEARCH_NUMBERS", 2 * 2 * (vocabulary + 2 * 6 * 9))
    lengths = np.array([5, 0, 2, 9])

    def batches(reduction=1, more=lambda positions: 0):
        sizes = SimpleNamespace(
            target_vocabulary_size=vocabulary, source_limits=SourceLimits(3, reduction)
        )
        numbers = SearchMemory(sizes, pipeline.search).numbers
        memory = SimpleNamespace(
            options=pipeline.search, numbers=lambda positions: numbers(positions) + more(positions)
        )
        parts = limited._batches(np.argsort(-lengths), lengths, 64, memory)
        return [part.tolist() for part in parts]

    assert batches() == [[3, 0], [2, 1]]
    for one, other in zip(pipeline.decode(INPUTS), expected, strict=True):
        same(one, other)
    # The search stores memory positions: three instead of nine, so all four rows fit.
    assert batches(reduction=3) == [[3, 0, 2, 1]]
    # Two more values per position and token: two rows fit only with 2 and 0 positions.
    assert batches(more=lambda positions: 2 * 2 * positions * vocabulary) == [[3], [0], [2, 1]]
    # Weights of two heads between all positions of a row: the row with 9 fits only alone.
    assert batches(more=lambda positions: 2 * positions**2) == [[3], [0, 2], [1]]


def test_texts_that_are_given_have_the_logits_of_all_their_tokens(pipeline, monkeypatch):
    """The longer the targets, the smaller the batches of an alignment."""
    pairs = [(one, "a b a b") for one in INPUTS]
    expected, sizes = pipeline.align(pairs), []
    tokens = len(expected[0].target_tokens)

    whole = limited._batches

    def batches(*arguments, **settings):
        found = [*whole(*arguments, **settings)]
        sizes.extend(map(len, found))
        return found

    monkeypatch.setattr(limited, "_batches", batches)
    of_step = hypothesis_numbers(pipeline.model, 9)
    numbers = pipeline.target.vocabulary_size * tokens + 2 * 6 * 9 + of_step
    monkeypatch.setattr(limited, "SEARCH_NUMBERS", numbers)
    for one, other in zip(pipeline.align(pairs), expected, strict=True):
        same(one, other)
    assert sizes == [1, 1, 2]  # the last two inputs have fewer positions


def test_a_search_that_takes_too_much_memory_is_refused(pipeline, monkeypatch):
    state = hypothesis_numbers(pipeline.model, 9)
    numbers = 2 * (pipeline.target.vocabulary_size + 2 * 6 * 9 + state)
    monkeypatch.setattr(limited, "MOST_SEARCH_NUMBERS", numbers)
    pipeline.decode(INPUTS)
    monkeypatch.setattr(limited, "MOST_SEARCH_NUMBERS", numbers - 1)
    message = f"Received: an input of 9 positions, beam_width=2, max_length=6, .* {numbers}. Reduce"
    with pytest.raises(ValueError, match=message):
        pipeline.decode(INPUTS)


def test_self_attention_over_the_source_counts(pipeline, monkeypatch):
    layers = kb.layers
    readers = [layers.BidirectionalRNN(4), layers.SelfAttentionReader(8, depth=3, heads=2)]
    encoder = kb.Encoder(front_end=layers.FrameProjection(3, 4), readers=readers)
    model = kb.Seq2Seq(encoder, new_decoder(pipeline.target.vocabulary_size, 6, 8))
    other = kb.Pipeline(pipeline.source, model, pipeline.target, pipeline.search)
    step = 8 + 8 * 9  # a state, plus a score of 8 units at each position
    numbers = 2 * (pipeline.target.vocabulary_size + 2 * 6 * 9 + step) + 2 * 9**2
    monkeypatch.setattr(limited, "MOST_SEARCH_NUMBERS", numbers - 1)
    with pytest.raises(ValueError, match=f"which need {numbers}. Reduce"):
        other.decode(INPUTS)


@pytest.mark.parametrize("batch_size", [0, -1, 2.0, 10**9])
def test_a_batch_size_out_of_range_is_refused(pipeline, batch_size):
    with pytest.raises(ValueError, match=r"`batch_size` must be an integer in \[1, 4096\]"):
        pipeline.decode(INPUTS, batch_size)
