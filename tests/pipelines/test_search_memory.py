"""Memory of a search: the number of values, computed from the model's shapes and the options."""

import pytest
from decoders import new_decoder

import keras_bahdanau as kb
from keras_bahdanau import SearchOptions, layers
from keras_bahdanau.layers import ATTENTIONS
from keras_bahdanau.models.step_model import SourceLimits, StepModel
from keras_bahdanau.pipelines.batches import (
    SearchMemory,
    attention_numbers,
    encoder_numbers,
    hypothesis_numbers,
)


class Nothing(StepModel):
    """A model with 50 tokens and no other known properties."""

    target_vocabulary_size, source_limits, exportable = 50, SourceLimits(7), True

    def encode(self, features, alignment=(), training=None):
        raise NotImplementedError

    initial_state = decode_step = encode


def numbers(positions, **options):
    return SearchMemory(Nothing(), SearchOptions(**options)).numbers(positions)


def test_the_numbers_of_a_search_are_those_of_its_largest_tensors():
    # 3 hypotheses: 50 scores each, and weights of min(2 * 4 + 10, 256) tokens over 4 positions.
    assert numbers(4, beam_width=3) == 3 * (50 + 2 * 18 * 4)
    # Plus one draw for each token of the longest possible translation.
    assert numbers(4, beam_width=3, top_k=9) == 3 * (50 + 2 * 18 * 4 + 256)
    assert numbers(100, beam_width=1, max_length=7) == 50 + 2 * 7 * 100
    assert numbers(100, ctc_weight=0.3) - numbers(100) == 2 * 100 * 50
    repeated = 2 * (18 + 1) * (7 + 1)
    assert numbers(4, beam_width=1, no_repeat_ngram=3) == 50 + 2 * 18 * 4 + repeated


def test_scoring_holds_the_logits_of_all_tokens():
    options = SearchOptions(beam_width=1)
    scoring = SearchMemory(Nothing(), options, logits_at_once=6).numbers(4)
    assert scoring - SearchMemory(Nothing(), options).numbers(4) == 5 * 50


@pytest.mark.parametrize(
    ("attention", "expected"),
    [
        (lambda: ATTENTIONS.get("general"), 0),
        (lambda: ATTENTIONS.get("additive", units=3), 10 * 3),
        (lambda: ATTENTIONS.get("additive", units=3, coverage="sum"), 10 * 3 * 2),
        (lambda: ATTENTIONS.get("general", normalizer="monotonic"), 3 * 10 * 10),
        (lambda: ATTENTIONS.get("general", normalizer="monotonic-hard"), 10),
        (lambda: ATTENTIONS.get("additive", units=4, heads=2), 2 * 10 * 2),
        (lambda: layers.PastAttention(ATTENTIONS.get("general"), length=5, units=3), 5 * 7),
        (lambda: ATTENTIONS.get(None), 0),
    ],
)
def test_a_step_counts_what_its_attention_makes(attention, expected):
    attention = attention()
    attention.build((None, 6), (None, None, 4))
    assert attention_numbers(attention, 10) == expected


def test_a_step_counts_the_attentions_of_all_blocks_and_the_states_of_all_cells():
    attention = layers.BahdanauAttention(3)
    decoder = new_decoder(7, 4, 6, attention, when="blocks", depth=2, cell="ssru")
    model = kb.Seq2Seq(kb.Encoder(7, 4, 3), decoder)
    assert hypothesis_numbers(model, 5) == 2 * 6 + 2 * 5 * 3
    other = kb.Seq2Seq(kb.Encoder(7, 4, 3), new_decoder(7, 4, 6, "dot", cell="lstm"))
    assert hypothesis_numbers(other, 5) == 2 * 6
    assert hypothesis_numbers(kb.Ensemble([model, other]), 5) == 2 * 6 + 2 * 5 * 3 + 2 * 6


def test_the_largest_part_of_an_encoder_counts():
    frames = layers.FrameProjection(3, 4)
    reader = layers.SelfAttentionReader(8, depth=3, heads=2)

    def model(**encoder):
        return kb.Seq2Seq(kb.Encoder(**encoder), kb.Decoder(7, 4, layers.DecoderCell(6)))

    plain = model(vocabulary_size=7, embedding_units=4, units=3)
    assert encoder_numbers(plain, 9) == 0
    attending = model(front_end=frames, readers=[layers.BidirectionalRNN(4), reader])
    assert encoder_numbers(attending, 9) == 2 * 9**2  # one block at a time
    both = kb.Ensemble([attending, kb.Seq2Seq.from_config(attending.get_config())])
    assert encoder_numbers(both, 9) == 2 * 2 * 9**2
    pyramid = kb.layers.READERS["pyramidal"](2, 4, "gru", 0.0, 0.0)[-1]
    halved = model(front_end=layers.FrameProjection(3, 4), readers=[reader, pyramid])
    assert encoder_numbers(halved, 5) == 2 * 10**2  # the reader comes before the halving
    ink = layers.FrameConvolutions(5, 4, convolutions=(3, 3), surroundings=True)
    pairs = 10 * 20  # 10 positions of four frames, and every second frame
    assert encoder_numbers(model(front_end=ink, units=4), 10) == 48 * pairs
