"""Subwords on the host: training, ids, texts, tokens, words, and total behaviour on any bytes."""

import json
import pickle

import numpy as np
import pytest
import sentencepiece

from keras_bahdanau.text.subwords import Subwords
from keras_bahdanau.text.vocabulary import END, PAD, START, UNKNOWN

PAIRS = [
    ("the cat sat", "le chat"),
    ("a dog ran home", "un chien"),
    ("", "vide"),
    ("the red dog", "le chien rouge"),
] * 3
SENTENCES = [sentence for pair in PAIRS for sentence in pair]
SIZES = {"bpe": 40, "unigram": 24, "char": 21, "word": 18}
ODD_BYTES = [b"", b"   ", b"\xff\xfe\xc3", b"\x00", "猫 é \u2028".encode(), b"the " * 1250]


@pytest.fixture(scope="module")
def subwords():
    return Subwords.train(SENTENCES, 40)


@pytest.fixture(scope="module")
def sides():
    """(source, target) of one vocabulary each."""
    return Subwords.train_pair(PAIRS, 17, joint=False, model_type="char", normalization="identity")


def lists(rows):
    return [row.tolist() for row in rows]


def test_joint_vocabulary_is_one_object_for_both_sides(subwords):
    source, target = Subwords.train_pair(PAIRS, 40)
    assert source is target
    assert source.vocabulary_size == 40
    sources, targets = zip(*PAIRS, strict=True)
    assert source == Subwords.train([*sources, *targets], 40)


def test_each_side_has_its_own_vocabulary(sides):
    source, target = sides
    assert source != target
    assert source.tokens(source.encode(["cat"])[0]).tolist() == [*"▁cat", "</s>"]
    assert target.tokens(target.encode(["chien"])[0]).tolist() == [*"▁chien", "</s>"]
    assert set(source.tokens(range(17))) != set(target.tokens(range(17)))
    settings = {"model_type": "char", "normalization": "identity"}
    assert source == Subwords.train([one for one, _ in PAIRS], 17, **settings)
    assert target == Subwords.train([one for _, one in PAIRS], 17, **settings)


def test_ids_equal_those_of_sentencepiece(subwords):
    processor = sentencepiece.SentencePieceProcessor(model_proto=subwords.model)
    sentences = ["the red cat", "un chat zigzag", "Ｔｈｅ　dog"]
    expected = [processor.encode(sentence) + [END] for sentence in sentences]
    assert lists(subwords.encode(sentences)) == expected
    assert lists(subwords.encode(sentences, end_of_empty=False)) == expected
    assert subwords.encode([]) == []


def test_sentence_without_token_has_no_id_or_only_the_end(subwords):
    assert lists(subwords.encode(["", "  "], end_of_empty=False)) == [[], []]
    assert lists(subwords.encode(["", "  "])) == [[END], [END]]


def test_ids_are_int32(subwords):
    for sentence in ("a", ""):
        for end_of_empty in (True, False):
            assert subwords.encode([sentence], end_of_empty)[0].dtype == np.int32
    assert subwords.known(np.array([3, 4], np.int64)).dtype == np.int32


def test_bytes_and_strings_are_the_same_text(subwords):
    sentences = ["the red cat", "猫 é"]
    assert lists(subwords.encode([one.encode() for one in sentences])) == lists(
        subwords.encode(sentences)
    )


@pytest.mark.parametrize("model_type", SIZES)
def test_text_comes_back(model_type):
    subwords = Subwords.train(SENTENCES, SIZES[model_type], model_type=model_type)
    texts = ["le chien rouge", "", "un chat"]
    assert subwords.decode(subwords.encode(texts)) == texts
    assert subwords.decode([]) == []


def test_text_ends_at_the_first_end_token_without_padding_and_start(subwords):
    le, *chat, _ = subwords.encode(["le chat"])[0].tolist()
    rows = [
        [START, le, *chat, END, le, le, PAD],
        [PAD, le, PAD, *chat],
        [END, le],
        [],
    ]
    expected = ["le chat", "le chat", "", ""]
    assert subwords.decode(rows) == expected
    width = 6 + len(chat)
    assert subwords.decode([row + [PAD] * (width - len(row)) for row in rows]) == expected


def test_ids_outside_the_vocabulary_are_unknown(subwords):
    wild, unknown = [[5, 40, -1, 10**6, END]], [[5, UNKNOWN, UNKNOWN, UNKNOWN, END]]
    assert subwords.known(wild).tolist() == unknown
    assert subwords.decode(wild) == subwords.decode(unknown)
    assert subwords.decode(wild)[0].count("⁇") == 3
    assert subwords.tokens(wild).tolist() == subwords.tokens(unknown).tolist()
    assert subwords.tokens(np.array([-7, 2**40])).tolist() == ["<unk>", "<unk>"]


@pytest.mark.parametrize("shape", [(), (4,), (2, 2), (1, 2, 2), (0,), (2, 0)])
def test_tokens_keep_the_shape_of_the_ids(subwords, shape):
    ids = np.arange(4)[: int(np.prod(shape))].reshape(shape)
    expected = np.array(["", "<unk>", "<s>", "</s>"], object)[ids]
    found = subwords.tokens(ids)
    assert np.shape(found) == shape
    assert np.array_equal(found, expected)


def test_any_bytes_give_ids_and_text(subwords):
    rows = subwords.encode(ODD_BYTES)
    assert len(rows[-1]) == 1251
    texts = subwords.decode(rows)
    assert [texts[0], texts[1], texts[5]] == ["", "", ("the " * 1250).strip()]
    assert "⁇" in texts[2] and "⁇" in texts[3]


def test_training_is_deterministic():
    for model_type in ("bpe", "unigram"):
        first = Subwords.train(SENTENCES, 24, model_type=model_type)
        assert first == Subwords.train(iter(SENTENCES), 24, model_type=model_type)
        pair = Subwords.train_pair(PAIRS, 24, model_type=model_type)
        assert pair == Subwords.train_pair(iter(PAIRS), 24, model_type=model_type)


def test_long_sentences_take_part_in_training():
    subwords, _ = Subwords.train_pair([("q " * 5000, "z")], 7, model_type="char")
    assert subwords.tokens([4, 5, 6]).tolist() == ["▁", "q", "z"]


def test_training_writes_nothing(capfd):
    Subwords.train(SENTENCES, 24)
    captured = capfd.readouterr()
    assert captured.out == captured.err == ""


def test_config_is_json_and_round_trips(subwords, sides):
    for original in (subwords, *sides):
        restored = Subwords.from_config(json.loads(json.dumps(original.get_config())))
        assert restored == original
        assert hash(restored) == hash(original)
        assert lists(restored.encode(["the dog"])) == lists(original.encode(["the dog"]))
    assert subwords != sides[0]
    assert subwords != "subwords"


def test_a_pickle_holds_the_model_alone(subwords):
    assert subwords.graph.vocabulary_size == 40  # of which no pickle could hold anything
    restored = pickle.loads(pickle.dumps(subwords))
    assert restored == subwords
    assert lists(restored.encode(["the dog"])) == lists(subwords.encode(["the dog"]))


@pytest.mark.parametrize("model_type", SIZES)
def test_largest_vocabulary_is_named_and_works(model_type):
    with pytest.raises(ValueError, match="vocabulary_size=5000") as error:
        Subwords.train(SENTENCES, 5000, model_type=model_type)
    message = str(error.value)
    largest = int(message.split("at most ")[1].split()[0])
    subwords = Subwords.train(SENTENCES, largest, model_type=model_type)
    assert subwords.vocabulary_size == largest
    with pytest.raises(ValueError, match=f"at most {largest} "):
        Subwords.train(SENTENCES, largest + 1, model_type=model_type)
    assert Subwords.train(SENTENCES, 5000, model_type=model_type, exact=False) == subwords
    assert Subwords.train(SENTENCES, largest, model_type=model_type, exact=False) == subwords


@pytest.mark.parametrize("model_type", ["bpe", "unigram"])
def test_smallest_vocabulary_is_named_and_works(model_type):
    with pytest.raises(ValueError, match="vocabulary_size=6") as error:
        Subwords.train(SENTENCES, 6, model_type=model_type)
    smallest = int(str(error.value).split("at least ")[1].split()[0])
    assert Subwords.train(SENTENCES, smallest, model_type=model_type)


@pytest.mark.parametrize("size", [-1, 0, 4, 20.0])
def test_vocabulary_must_hold_more_than_the_special_tokens(size):
    with pytest.raises(ValueError, match=f"vocabulary_size={size}"):
        Subwords.train(SENTENCES, size)


@pytest.mark.parametrize("pairs", [[], [("", "")], [("  ", "\u3000")]])
def test_training_needs_text(pairs):
    with pytest.raises(ValueError, match="needs text.* no sentence of the text that"):
        Subwords.train([sentence for pair in pairs for sentence in pair], 20)
    with pytest.raises(ValueError, match="needs text.* of the source and target text that"):
        Subwords.train_pair(pairs, 20)


def test_side_without_text_is_named():
    with pytest.raises(ValueError, match="no sentence of the target text"):
        Subwords.train_pair([("a b", "")], 7, joint=False, model_type="char")


@pytest.mark.parametrize(
    "setting",
    [{"model_type": "bytes"}, {"normalization": "nfd"}, {"character_coverage": 1.5}],
)
def test_unknown_setting_is_refused(setting):
    (name, value), *_ = setting.items()
    with pytest.raises(ValueError, match=str(value)) as error:
        Subwords.train(SENTENCES, 24, **setting)
    assert name in str(error.value)


SYMBOLS = ("<2de>", "<2FR>")
SIZES_WITH_SYMBOLS = {"bpe": 44, "unigram": 28, "char": 25, "word": 20}


@pytest.fixture(scope="module", params=SIZES_WITH_SYMBOLS)
def with_symbols(request):
    size = SIZES_WITH_SYMBOLS[request.param]
    return Subwords.train(
        SENTENCES, size, model_type=request.param, normalization="nmt_nfkc_cf", symbols=SYMBOLS
    )


def test_symbols_are_one_token_each_before_any_word(with_symbols):
    texts = ["<2de> the dog", "<2FR> the dog", "the <2de> dog <2FR>"]
    ids = with_symbols.encode(texts)
    rows = [with_symbols.tokens(row).tolist() for row in ids]
    assert [row[0] for row in rows[:2]] == ["▁<2de>", "▁<2FR>"]
    assert rows[0][1:] == rows[1][1:]
    assert (rows[2].count("▁<2de>"), rows[2].count("▁<2FR>")) == (1, 1)
    assert not any("<2" in token for row in rows for token in row if len(token) != 6)
    assert with_symbols.decode(ids) == texts


def test_ids_of_symbols_equal_those_of_sentencepiece(with_symbols):
    processor = sentencepiece.SentencePieceProcessor(model_proto=with_symbols.model)
    texts = ["<2de> the dog", " <2FR>  the<2de> ", "x<2FR>y", "<2 de>"]
    expected = [processor.encode(text) + [END] for text in texts]
    assert lists(with_symbols.encode(texts)) == expected


def test_symbols_have_the_first_ids_after_the_special_ones(with_symbols):
    tokens = with_symbols.tokens(range(4, 8)).tolist()
    assert tokens == ["<2de>", "▁<2de>", "<2FR>", "▁<2FR>"]


def test_config_keeps_symbols(with_symbols):
    restored = Subwords.from_config(json.loads(json.dumps(with_symbols.get_config())))
    assert restored == with_symbols
    assert lists(restored.encode(["<2FR>"])) == [[7, END]]


def test_a_symbol_stays_whole_inside_of_a_word():
    subwords = Subwords.train(SENTENCES, 21, model_type="char", symbols=["<n>"])
    (ids,) = subwords.encode(["(<n>e"])
    assert subwords.tokens(ids).tolist() == ["▁", "<unk>", "<n>", "e", "</s>"]


def test_both_vocabularies_have_the_symbols():
    sides = Subwords.train_pair(PAIRS, 17, joint=False, model_type="char", symbols=["<2de>"])
    assert sides[0] != sides[1]
    for subwords in sides:
        assert lists(subwords.encode(["<2de>"])) == [[5, END]]


def test_without_symbols_the_model_is_what_it_was():
    assert Subwords.train(SENTENCES, 24, symbols=()) == Subwords.train(SENTENCES, 24)


@pytest.mark.parametrize(
    "symbols", ["<2de>", [""], ["a b"], ["▁a"], ["</s>"], ["<a>", "<a>"], [4], [" <2de>"]]
)
def test_unusable_symbols_are_refused(symbols):
    with pytest.raises(ValueError, match="`symbols` must be different strings"):
        Subwords.train(SENTENCES, 24, symbols=symbols)


def words(subwords, sentence):
    """(token, its first and last word) of the tokens of a sentence."""
    (ids,), (spans,) = subwords.encode([sentence]), subwords.words([sentence])
    assert spans.dtype == np.int32
    tokens = subwords.tokens(ids).tolist()
    return [(token, *span) for token, span in zip(tokens, spans.tolist(), strict=True)]


def test_tokens_know_their_words(sides):
    assert words(sides[0], "ad cat") == [
        ("▁", 0, 0),
        ("a", 0, 0),
        ("d", 0, 0),
        ("▁", 1, 1),
        ("c", 1, 1),
        ("a", 1, 1),
        ("t", 1, 1),
        ("</s>", 2, 2),
    ]


def test_any_white_space_separates_words(subwords):
    """That of the raw text, in bytes of UTF-8, whatever the normalization makes of it."""
    for sentence in ("  the \t dog ", "the\u3000\u00a0dog", "the\u2028dog"):
        found = words(subwords, sentence)
        assert found[0] == ("▁the", 0, 0)
        assert {tuple(span) for _, *span in found[1:-1]} == {(1, 1)}
        assert found[-1] == ("</s>", 2, 2)


def test_normalization_moves_no_token_to_another_word(subwords):
    # one half becomes three letters, a zero-width space becomes a space, which parts no word
    for sentence, last in (("½ dog", 1), ("é\u200bé dog", 1), ("ﬀ ﬀ dog", 2)):
        found = words(subwords, sentence)
        assert [token for token, *_ in found[-2:]] == ["▁dog", "</s>"]
        assert found[-2][1:] == (last, last)
        assert found[0][1:] == (0, 0)
        assert found[-1][1:] == (last + 1, last + 1)


def test_a_word_model_joins_unknown_words_in_one_token():
    subwords = Subwords.train(SENTENCES, SIZES["word"], model_type="word")
    assert words(subwords, "the zig zag cat") == [
        ("▁the", 0, 0),
        ("<unk>", 1, 2),
        ("▁cat", 3, 3),
        ("</s>", 4, 4),
    ]


def test_a_symbol_is_a_word(with_symbols):
    found = words(with_symbols, "<2de> the")
    assert found[0] == ("▁<2de>", 0, 0)
    assert {tuple(span) for _, *span in found[1:-1]} == {(1, 1)}


def test_there_are_as_many_spans_as_tokens(subwords):
    texts = ["the cat", "", "  ", "猫 é \u2028 dog", "\u200b", "\x1c"]
    for end_of_empty in (True, False):
        spans = subwords.words(texts, end_of_empty)
        assert [*map(len, spans)] == [*map(len, subwords.encode(texts, end_of_empty))]
        assert {one.shape[1] for one in spans} == {2}
    assert subwords.words([]) == []


def test_pieces_know_the_bytes_that_they_stand_for(sides):
    """Of a string and of bytes alike: é has two."""
    for sentence in ("té cat", "té cat".encode()):
        pieces = sides[0].pieces(sentence)
        assert [piece.piece for piece in pieces] == [*"▁té▁cat"]
        assert [piece.id for piece in pieces][2] == UNKNOWN
        # the first mark stands for nothing
        spans = [(0, 0), (0, 1), (1, 3), (3, 4), (4, 5), (5, 6), (6, 7)]
        assert [(piece.begin, piece.end) for piece in pieces] == spans


def test_bytes_that_are_no_model_are_refused(subwords):
    for model in (b"", b"none", subwords.model[:-100]):
        with pytest.raises(ValueError, match="SentencePiece model.* Received: .* bytes"):
            Subwords(model)
    with pytest.raises(TypeError, match="`model` must be .* Received: model of type str"):
        Subwords("vocabulary.model")


def test_model_with_other_special_ids_is_refused(tmp_path):
    prefix = tmp_path / "other"
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["ab"] * 5),
        model_prefix=str(prefix),
        model_type="char",
        vocab_size=6,
        minloglevel=3,
    )
    with pytest.raises(ValueError, match="must be 0, 1, 2 and 3. Received: -1, 0, 1, 2"):
        Subwords(prefix.with_suffix(".model").read_bytes())
