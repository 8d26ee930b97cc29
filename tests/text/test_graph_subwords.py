"""The vocabulary inside a TensorFlow graph and in a SavedModel."""

import numpy as np
import pytest
import tensorflow as tf
from animals import PAIRS, SIZES

from keras_bahdanau.text.graph_subwords import GraphSubwords
from keras_bahdanau.text.subwords import Subwords
from keras_bahdanau.text.vocabulary import END, PAD, START, UNKNOWN

ODD_BYTES = [b"", b"   ", b"\xff\xfe\xc3", b"\x00", "猫 é \u2028".encode(), b"the " * 1250]


@pytest.fixture(scope="module")
def subwords():
    return Subwords.train_pair(PAIRS, 40)[0]


@pytest.fixture(scope="module")
def graph(subwords):
    return subwords.graph


@pytest.fixture(scope="module")
def sides():
    """(source, target): one vocabulary for each side."""
    return Subwords.train_pair(PAIRS, 17, joint=False, model_type="char", normalization="identity")


def strings(tensor):
    return np.char.decode(np.asarray(tensor.numpy(), dtype="S"), "utf-8").tolist()


def test_it_is_made_once(subwords):
    assert isinstance(subwords.graph, GraphSubwords)
    assert subwords.graph is subwords.graph
    assert subwords.graph.vocabulary_size == subwords.vocabulary_size == 40


def test_ids_equal_those_of_the_host(subwords, graph):
    sentences = ["the red cat", "un chat zigzag", "Ｔｈｅ　dog"]
    expected = [row.tolist() for row in subwords.encode(sentences)]
    assert graph.tokenize(sentences).to_list() == expected
    assert graph.tokenize(sentences, end_of_empty=False).to_list() == expected


def test_sentence_without_token_has_no_id_or_only_the_end(graph):
    assert graph.tokenize(["", "  "], end_of_empty=False).to_list() == [[], []]
    assert graph.tokenize(["", "  "]).to_list() == [[END], [END]]


def test_ids_are_int32(graph):
    for end_of_empty in (True, False):
        assert graph.tokenize(["a"], end_of_empty).dtype == tf.int32
    assert graph.known(tf.constant([3, 4], tf.int64)).dtype == tf.int32


def test_offsets_are_bytes_of_the_text(sides):
    """A character model makes each letter a token: é has two bytes, the first word mark none."""
    ids, begins, ends = sides[0].graph.tokenize_with_offsets(["té cat", ""])
    assert ids.to_list()[0][2] == UNKNOWN
    assert begins.to_list() == [[0, 0, 1, 3, 4, 5, 6], []]
    assert ends.to_list() == [[0, 1, 3, 4, 5, 6, 7], []]


@pytest.mark.parametrize("model_type", SIZES)
def test_text_comes_back(model_type):
    subwords, _ = Subwords.train_pair(PAIRS, SIZES[model_type], model_type=model_type)
    texts = ["le chien rouge", "", "un chat"]
    ids = subwords.graph.tokenize(texts).to_tensor()
    assert strings(subwords.graph.detokenize(ids)) == texts


def test_text_ends_at_the_first_end_token_without_padding_and_start(graph):
    le, *chat, _ = graph.tokenize(["le chat"]).to_list()[0]
    width = 6 + len(chat)
    rows = [
        [START, le, *chat, END, le, le, PAD],
        [PAD, le, PAD, *chat],
        [END, le],
        [],
    ]
    ids = np.array([row + [PAD] * (width - len(row)) for row in rows])
    assert strings(graph.detokenize(ids)) == ["le chat", "le chat", "", ""]


def test_ids_outside_the_vocabulary_are_unknown(graph):
    wild, unknown = [[5, 40, -1, 10**6, END]], [[5, UNKNOWN, UNKNOWN, UNKNOWN, END]]
    assert graph.known(wild).numpy().tolist() == unknown
    assert strings(graph.detokenize(wild)) == strings(graph.detokenize(unknown))
    assert strings(graph.tokens(wild)) == strings(graph.tokens(unknown))
    assert strings(graph.tokens(tf.constant([-7, 2**40], tf.int64))) == ["<unk>", "<unk>"]


@pytest.mark.parametrize("shape", [(), (4,), (2, 2), (1, 2, 2), (0,), (2, 0)])
def test_tokens_keep_the_shape_of_the_ids(graph, shape):
    ids = np.arange(4)[: int(np.prod(shape))].reshape(shape)
    expected = np.array(["", "<unk>", "<s>", "</s>"])[ids]
    result = graph.tokens(ids)
    assert result.shape == shape
    assert strings(result) == expected.tolist()


def test_each_side_has_its_own_vocabulary(sides):
    source, target = (side.graph for side in sides)
    for side, word in ((source, "cat"), (target, "chien")):
        ids = side.tokenize([word]).to_tensor()
        assert strings(side.tokens(ids)[0]) == ["▁", *word, "</s>"]
    assert set(strings(source.tokens(range(17)))) != set(strings(target.tokens(range(17))))


def test_unknown_dimensions_change_nothing(graph):
    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def there_and_back(text):
        source = graph.tokenize(text, end_of_empty=False).to_tensor()
        target = graph.tokenize(text).to_tensor()
        return source, graph.detokenize(target), graph.tokens(source), graph.tokens(target)

    for text in (["le chat", "", "the red dog"], [""], []):
        text = tf.constant(text, tf.string)
        for got, expected in zip(
            there_and_back(text), there_and_back.python_function(text), strict=True
        ):
            assert got.shape == expected.shape
            assert got.numpy().tolist() == expected.numpy().tolist()


def test_what_a_trace_makes_first_outlives_the_trace():
    subwords, _ = Subwords.train_pair(PAIRS, 40)
    text = tf.constant(["le chat"])
    expected = subwords.encode(["le chat"])[0].tolist()
    for function in (tf.function(lambda text: subwords.graph.tokenize(text)) for _ in range(2)):
        assert function(text).to_list() == [expected]
    assert subwords.graph.tokenize(text).to_list() == [expected]


def test_a_new_random_seed_leaves_the_vocabulary_alive(sides):
    vocabulary = sides[0].graph
    function = tf.function(vocabulary.tokenize)
    text = tf.constant(["Ein Mann."])
    expected = function(text).to_list()
    tf.random.set_seed(1)  # makes TensorFlow create its kernels again
    assert vocabulary.tokenize(text).to_list() == expected
    assert function(text).to_list() == expected


def test_any_bytes_give_ids_and_text(graph):
    ids = graph.tokenize(ODD_BYTES, end_of_empty=False)
    assert ids.row_lengths().numpy()[-1] == 1251
    texts = graph.detokenize(graph.tokenize(ODD_BYTES).to_tensor())
    for text in texts.numpy():
        text.decode("utf-8")


def test_saved_model_holds_both_vocabularies(sides, tmp_path):
    class Echo(tf.Module):
        def __init__(self, source, target):
            super().__init__()
            self.source, self.target = source, target

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
        def __call__(self, text):
            source = self.source.tokenize(text, end_of_empty=False).to_tensor()
            target = self.target.tokenize(text).to_tensor()
            return {
                "tokens": self.source.tokens(source),
                "target_tokens": self.target.tokens(target),
                "text": self.target.detokenize(target),
            }

    echo = Echo(*(side.graph for side in sides))
    tf.saved_model.save(echo, tmp_path / "echo")
    text = tf.constant([b"the chat", *ODD_BYTES])
    expected, got = echo(text), tf.saved_model.load(tmp_path / "echo")(text)
    for name in expected:
        assert got[name].numpy().tolist() == expected[name].numpy().tolist()
    assert expected["tokens"].numpy().tolist() != expected["target_tokens"].numpy().tolist()
    kinds = {op.type for op in echo.__call__.get_concrete_function().graph.get_operations()}
    assert not kinds & {"Assert", "PyFunc", "EagerPyFunc"}


def test_symbols_are_one_token_each():
    subwords, _ = Subwords.train_pair(PAIRS, 44, symbols=("<2de>", "<2FR>"))
    texts = ["<2de> the dog", " <2FR>  the<2de> ", "x<2FR>y", "<2 de>"]
    ids = subwords.graph.tokenize(texts)
    assert ids.to_list() == [row.tolist() for row in subwords.encode(texts)]
    assert strings(subwords.graph.tokens(ids[0]))[0] == "▁<2de>"


def test_bytes_that_are_no_model_are_refused(subwords):
    with pytest.raises(ValueError, match="SentencePiece model"):
        GraphSubwords(subwords.model[:-100])
    with pytest.raises(TypeError, match="str"):
        GraphSubwords("vocabulary.model")
