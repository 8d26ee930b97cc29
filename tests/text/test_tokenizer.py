"""Tokenizer: ids in and out of the graph, training, and total behaviour on any bytes."""

import json

import numpy as np
import pytest
import sentencepiece
import tensorflow as tf

from keras_bahdanau.text.tokenizer import END, PAD, START, UNKNOWN, Tokenizer

PAIRS = [
    ("the cat sat", "le chat"),
    ("a dog ran home", "un chien"),
    ("", "vide"),
    ("the red dog", "le chien rouge"),
] * 3
SIZES = {"bpe": 40, "unigram": 24, "char": 21, "word": 18}
ODD_BYTES = [b"", b"   ", b"\xff\xfe\xc3", b"\x00", "猫 é \u2028".encode(), b"the " * 1250]


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(PAIRS, 40)


@pytest.fixture(scope="module")
def two_vocabularies():
    return Tokenizer.train(PAIRS, 17, joint=False, model_type="char", normalization="identity")


def strings(tensor):
    return np.char.decode(np.asarray(tensor.numpy(), dtype="S"), "utf-8").tolist()


def test_joint_vocabulary_serves_both_sides(tokenizer):
    assert tokenizer.joint
    assert tokenizer.source_model == tokenizer.target_model
    assert tokenizer.source_vocabulary_size == tokenizer.target_vocabulary_size == 40


def test_ids_equal_those_of_sentencepiece(tokenizer):
    processor = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.source_model)
    sentences = ["the red cat", "un chat zigzag", "Ｔｈｅ　dog"]
    expected = [processor.encode(sentence) + [END] for sentence in sentences]
    assert tokenizer.tokenize_source(sentences).to_list() == expected
    assert tokenizer.tokenize_target(sentences).to_list() == expected


def test_sentence_without_token_has_no_source_id_and_only_the_end_as_target(tokenizer):
    assert tokenizer.tokenize_source(["", "  "]).to_list() == [[], []]
    assert tokenizer.tokenize_target(["", "  "]).to_list() == [[END], [END]]


def test_ids_are_int32(tokenizer):
    assert tokenizer.tokenize_source(["a"]).dtype == tf.int32
    assert tokenizer.tokenize_target(["a"]).dtype == tf.int32


@pytest.mark.parametrize("model_type", SIZES)
def test_target_text_comes_back(model_type):
    tokenizer = Tokenizer.train(PAIRS, SIZES[model_type], model_type=model_type)
    texts = ["le chien rouge", "", "un chat"]
    ids = tokenizer.tokenize_target(texts).to_tensor()
    assert strings(tokenizer.detokenize_target(ids)) == texts


def test_text_ends_at_the_first_end_token_without_padding_and_start(tokenizer):
    le, *chat, _ = tokenizer.tokenize_target(["le chat"]).to_list()[0]
    width = 6 + len(chat)
    rows = [
        [START, le, *chat, END, le, le, PAD],
        [PAD, le, PAD, *chat],
        [END, le],
        [],
    ]
    ids = np.array([row + [PAD] * (width - len(row)) for row in rows])
    assert strings(tokenizer.detokenize_target(ids)) == ["le chat", "le chat", "", ""]


def test_ids_outside_the_vocabulary_are_unknown(tokenizer):
    wild, unknown = [[5, 40, -1, 10**6, END]], [[5, UNKNOWN, UNKNOWN, UNKNOWN, END]]
    assert strings(tokenizer.detokenize_target(wild)) == strings(
        tokenizer.detokenize_target(unknown)
    )
    assert strings(tokenizer.target_tokens(wild)) == strings(tokenizer.target_tokens(unknown))
    assert strings(tokenizer.source_tokens(tf.constant([-7], tf.int64))) == ["<unk>"]


@pytest.mark.parametrize("shape", [(), (4,), (2, 2), (1, 2, 2), (0,), (2, 0)])
def test_tokens_keep_the_shape_of_the_ids(tokenizer, shape):
    ids = np.arange(4)[: int(np.prod(shape))].reshape(shape)
    pieces = np.array(["", "<unk>", "<s>", "</s>"])[ids]
    result = tokenizer.source_tokens(ids)
    assert result.shape == shape
    assert strings(result) == pieces.tolist()


def test_each_side_has_its_own_vocabulary(two_vocabularies):
    tokenizer = two_vocabularies
    assert not tokenizer.joint
    source, target = tokenizer.tokenize_source(["cat"]), tokenizer.tokenize_target(["chien"])
    assert strings(tokenizer.source_tokens(source.to_tensor())[0]) == [*"▁cat", "</s>"]
    assert strings(tokenizer.target_tokens(target.to_tensor())[0]) == [*"▁chien", "</s>"]
    source_pieces = strings(tokenizer.source_tokens(range(17)))
    assert set(source_pieces) != set(strings(tokenizer.target_tokens(range(17))))


def test_graph_with_unknown_dimensions_equals_eager(tokenizer):
    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def there_and_back(text):
        source = tokenizer.tokenize_source(text).to_tensor()
        target = tokenizer.tokenize_target(text).to_tensor()
        return (
            source,
            tokenizer.detokenize_target(target),
            tokenizer.source_tokens(source),
            tokenizer.target_tokens(target),
        )

    for text in (["le chat", "", "the red dog"], [""], []):
        text = tf.constant(text, tf.string)
        for got, expected in zip(
            there_and_back(text), there_and_back.python_function(text), strict=True
        ):
            assert got.shape == expected.shape
            assert got.numpy().tolist() == expected.numpy().tolist()


def test_a_new_random_seed_leaves_the_vocabulary_alive(two_vocabularies):
    graph = tf.function(two_vocabularies.tokenize_source)
    text = tf.constant(["Ein Mann."])
    expected = graph(text).to_list()
    tf.random.set_seed(1)  # after which TensorFlow makes its kernels anew
    assert two_vocabularies.tokenize_source(text).to_list() == expected
    assert graph(text).to_list() == expected


def test_any_bytes_give_ids_and_text(tokenizer):
    ids = tokenizer.tokenize_source(ODD_BYTES)
    assert ids.row_lengths().numpy()[-1] == 1251
    texts = tokenizer.detokenize_target(tokenizer.tokenize_target(ODD_BYTES).to_tensor())
    for text in texts.numpy():
        text.decode("utf-8")


def test_saved_model_holds_both_vocabularies(two_vocabularies, tmp_path):
    class Echo(tf.Module):
        def __init__(self, tokenizer):
            super().__init__()
            self.tokenizer = tokenizer

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
        def __call__(self, text):
            source = self.tokenizer.tokenize_source(text).to_tensor()
            target = self.tokenizer.tokenize_target(text).to_tensor()
            return {
                "tokens": self.tokenizer.source_tokens(source),
                "text": self.tokenizer.detokenize_target(target),
            }

    echo = Echo(two_vocabularies)
    tf.saved_model.save(echo, tmp_path / "echo")
    text = tf.constant([b"the chat", *ODD_BYTES])
    expected, got = echo(text), tf.saved_model.load(tmp_path / "echo")(text)
    for name in expected:
        assert got[name].numpy().tolist() == expected[name].numpy().tolist()
    kinds = {op.type for op in echo.__call__.get_concrete_function().graph.get_operations()}
    assert not kinds & {"Assert", "PyFunc", "EagerPyFunc"}


def test_training_is_deterministic():
    for model_type in ("bpe", "unigram"):
        first = Tokenizer.train(PAIRS, 24, model_type=model_type)
        assert first == Tokenizer.train(iter(PAIRS), 24, model_type=model_type)


def test_long_sentences_take_part_in_training():
    tokenizer = Tokenizer.train([("q " * 5000, "z")], 7, model_type="char")
    assert strings(tokenizer.source_tokens([4, 5, 6])) == ["▁", "q", "z"]


def test_training_writes_nothing(capfd):
    Tokenizer.train(PAIRS, 24)
    captured = capfd.readouterr()
    assert captured.out == captured.err == ""


def test_config_is_json_and_round_trips(tokenizer, two_vocabularies):
    for original in (tokenizer, two_vocabularies):
        config = json.loads(json.dumps(original.get_config()))
        restored = Tokenizer.from_config(config)
        assert restored == original
        assert hash(restored) == hash(original)
        assert restored.joint == original.joint
    assert tokenizer != two_vocabularies
    assert tokenizer != "tokenizer"


@pytest.mark.parametrize("model_type", SIZES)
def test_largest_vocabulary_is_named_and_works(model_type):
    with pytest.raises(ValueError, match="vocabulary_size=5000") as error:
        Tokenizer.train(PAIRS, 5000, model_type=model_type)
    message = str(error.value)
    largest = int(message.split("at most ")[1].split()[0])
    tokenizer = Tokenizer.train(PAIRS, largest, model_type=model_type)
    assert tokenizer.source_vocabulary_size == largest
    with pytest.raises(ValueError, match=f"at most {largest} "):
        Tokenizer.train(PAIRS, largest + 1, model_type=model_type)
    assert Tokenizer.train(PAIRS, 5000, model_type=model_type, exact=False) == tokenizer
    assert Tokenizer.train(PAIRS, largest, model_type=model_type, exact=False) == tokenizer


@pytest.mark.parametrize("model_type", ["bpe", "unigram"])
def test_smallest_vocabulary_is_named_and_works(model_type):
    with pytest.raises(ValueError, match="vocabulary_size=6") as error:
        Tokenizer.train(PAIRS, 6, model_type=model_type)
    smallest = int(str(error.value).split("at least ")[1].split()[0])
    assert Tokenizer.train(PAIRS, smallest, model_type=model_type)


@pytest.mark.parametrize("size", [-1, 0, 4, 20.0])
def test_vocabulary_must_hold_more_than_the_special_tokens(size):
    with pytest.raises(ValueError, match=f"vocabulary_size={size}"):
        Tokenizer.train(PAIRS, size)


@pytest.mark.parametrize("pairs", [[], [("", "")], [("  ", "\u3000")]])
def test_training_needs_text(pairs):
    with pytest.raises(ValueError, match="needs text"):
        Tokenizer.train(pairs, 20)


def test_side_without_text_is_named():
    with pytest.raises(ValueError, match="no target sentence"):
        Tokenizer.train([("a b", "")], 7, joint=False, model_type="char")


@pytest.mark.parametrize(
    "setting",
    [{"model_type": "bytes"}, {"normalization": "nfd"}, {"character_coverage": 1.5}],
)
def test_unknown_setting_is_refused(setting):
    (name, value), *_ = setting.items()
    with pytest.raises(ValueError, match=str(value)) as error:
        Tokenizer.train(PAIRS, 24, **setting)
    assert name in str(error.value)


SYMBOLS = ("<2de>", "<2FR>")
SIZES_WITH_SYMBOLS = {"bpe": 44, "unigram": 28, "char": 25, "word": 20}


@pytest.fixture(scope="module", params=SIZES_WITH_SYMBOLS)
def with_symbols(request):
    size = SIZES_WITH_SYMBOLS[request.param]
    return Tokenizer.train(
        PAIRS, size, model_type=request.param, normalization="nmt_nfkc_cf", symbols=SYMBOLS
    )


def test_symbols_are_one_token_each_before_any_word(with_symbols):
    texts = ["<2de> the dog", "<2FR> the dog", "the <2de> dog <2FR>"]
    ids = with_symbols.tokenize_source(texts)
    rows = [strings(with_symbols.source_tokens(row)) for row in ids]
    assert [row[0] for row in rows[:2]] == ["▁<2de>", "▁<2FR>"]
    assert rows[0][1:] == rows[1][1:]
    assert (rows[2].count("▁<2de>"), rows[2].count("▁<2FR>")) == (1, 1)
    assert not any("<2" in token for row in rows for token in row if len(token) != 6)
    assert strings(with_symbols.detokenize_target(ids.to_tensor())) == texts


def test_ids_of_symbols_equal_those_of_sentencepiece(with_symbols):
    processor = sentencepiece.SentencePieceProcessor(model_proto=with_symbols.source_model)
    texts = ["<2de> the dog", " <2FR>  the<2de> ", "x<2FR>y", "<2 de>"]
    expected = [processor.encode(text) + [END] for text in texts]
    assert with_symbols.tokenize_source(texts).to_list() == expected


def test_symbols_have_the_first_ids_after_the_special_ones(with_symbols):
    assert strings(with_symbols.source_tokens(range(4, 8))) == [
        "<2de>",
        "▁<2de>",
        "<2FR>",
        "▁<2FR>",
    ]


def test_config_keeps_symbols(with_symbols):
    restored = Tokenizer.from_config(json.loads(json.dumps(with_symbols.get_config())))
    assert restored == with_symbols
    assert restored.tokenize_source(["<2FR>"]).to_list() == [[7, END]]


def test_a_symbol_stays_whole_inside_of_a_word():
    tokenizer = Tokenizer.train(PAIRS, 21, model_type="char", symbols=["<n>"])
    ids = tokenizer.tokenize_source(["(<n>e"])
    assert strings(tokenizer.source_tokens(ids.to_tensor())[0]) == [
        *("▁", "<unk>", "<n>", "e", "</s>")
    ]


def test_both_vocabularies_have_the_symbols():
    tokenizer = Tokenizer.train(PAIRS, 17, joint=False, model_type="char", symbols=["<2de>"])
    assert not tokenizer.joint
    assert tokenizer.tokenize_source(["<2de>"]).to_list() == [[5, END]]
    assert tokenizer.tokenize_target(["<2de>"]).to_list() == [[5, END]]


def test_without_symbols_the_model_is_what_it_was():
    assert Tokenizer.train(PAIRS, 24, symbols=()) == Tokenizer.train(PAIRS, 24)


@pytest.mark.parametrize(
    "symbols", ["<2de>", [""], ["a b"], ["▁a"], ["</s>"], ["<a>", "<a>"], [4], [" <2de>"]]
)
def test_unusable_symbols_are_refused(symbols):
    with pytest.raises(ValueError, match="`symbols` must be different strings"):
        Tokenizer.train(PAIRS, 24, symbols=symbols)


def words(tokenizer, sentence):
    """(token, its first and last word) of the source tokens of a sentence."""
    ids = tokenizer.tokenize_source([sentence]).to_tensor()
    (spans,) = tokenizer.source_words([sentence])
    tokens = strings(tokenizer.source_tokens(ids)[0])
    return [(token, *span) for token, span in zip(tokens, spans.tolist(), strict=True)]


def test_tokens_know_their_words(two_vocabularies):
    assert words(two_vocabularies, "ad cat") == [
        ("▁", 0, 0),
        ("a", 0, 0),
        ("d", 0, 0),
        ("▁", 1, 1),
        ("c", 1, 1),
        ("a", 1, 1),
        ("t", 1, 1),
        ("</s>", 2, 2),
    ]


def test_any_white_space_separates_words(tokenizer):
    """That of the raw text, in bytes of UTF-8, whatever the normalization makes of it."""
    for sentence in ("  the \t dog ", "the\u3000\u00a0dog", "the\u2028dog"):
        found = words(tokenizer, sentence)
        assert found[0] == ("▁the", 0, 0)
        assert {tuple(span) for _, *span in found[1:-1]} == {(1, 1)}
        assert found[-1] == ("</s>", 2, 2)


def test_normalization_moves_no_token_to_another_word(tokenizer):
    # one half becomes three letters, a zero-width space becomes a space, which parts no word
    for sentence, last in (("½ dog", 1), ("é\u200bé dog", 1), ("ﬀ ﬀ dog", 2)):
        found = words(tokenizer, sentence)
        assert [token for token, *_ in found[-2:]] == ["▁dog", "</s>"]
        assert found[-2][1:] == (last, last)
        assert found[0][1:] == (0, 0)
        assert found[-1][1:] == (last + 1, last + 1)


def test_a_word_model_joins_unknown_words_in_one_token():
    tokenizer = Tokenizer.train(PAIRS, SIZES["word"], model_type="word")
    assert words(tokenizer, "the zig zag cat") == [
        ("▁the", 0, 0),
        ("<unk>", 1, 2),
        ("▁cat", 3, 3),
        ("</s>", 4, 4),
    ]


def test_a_symbol_is_a_word(with_symbols):
    found = words(with_symbols, "<2de> the")
    assert found[0] == ("▁<2de>", 0, 0)
    assert {tuple(span) for _, *span in found[1:-1]} == {(1, 1)}


def test_there_are_as_many_spans_as_tokens(tokenizer):
    texts = ["the cat", "", "  ", "猫 é \u2028 dog", "\u200b", "\x1c"]
    for words_of, tokenize in (
        (tokenizer.source_words, tokenizer.tokenize_source),
        (tokenizer.target_words, tokenizer.tokenize_target),
    ):
        lengths = tokenize(texts).row_lengths().numpy().tolist()
        assert [len(spans) for spans in words_of(texts)] == lengths
    assert tokenizer.source_words([]) == []


def test_bytes_that_are_no_model_are_refused(tokenizer):
    for model in (b"", b"none", tokenizer.source_model[:-100]):
        with pytest.raises(ValueError, match="SentencePiece model"):
            Tokenizer(model)
    with pytest.raises(TypeError, match="str"):
        Tokenizer("vocabulary.model")
    with pytest.raises(ValueError, match="target_model"):
        Tokenizer(tokenizer.source_model, b"none")


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
        Tokenizer(prefix.with_suffix(".model").read_bytes())
