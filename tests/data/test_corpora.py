"""Corpora: names, weights and tags, and the list of all their pairs."""

import pytest

from keras_bahdanau.data import Corpora, Corpus
from keras_bahdanau.data.corpora import check_mixed, pairs_of, require_text
from keras_bahdanau.data.pairs import Pairs
from keras_bahdanau.sources.feature_source import FeatureSource
from keras_bahdanau.sources.text_source import TextSource
from keras_bahdanau.text.features import require_token, tagged
from keras_bahdanau.text.subwords import Subwords

PAIRS = [("a man", "ein Mann"), ("", "leer"), ("a dog", "ein Hund")]


def test_the_pairs_of_all_come_one_after_another_behind_their_tags():
    corpora = pairs_of([Corpus("de", PAIRS, 3, "<2de>"), Corpus("more", PAIRS[:1], 1)])
    assert [*corpora] == [
        ("<2de> a man", "ein Mann"),
        ("", "leer"),  # with a tag, this source would no longer be empty
        ("<2de> a dog", "ein Hund"),
        ("a man", "ein Mann"),
    ]
    assert (len(corpora), corpora.weights, corpora.tags) == (4, (3, 1), ("<2de>",))
    assert [len(part) for part in corpora.parts()] == [3, 1]
    assert corpora.card()[0] == {"name": "de", "weight": 3, "tag": "<2de>", "pairs": 3}


class OnDisk(Pairs):
    in_memory, directory = False, "on-disk"

    def __len__(self):
        return 3

    def batches(self, source, target, **settings):
        raise NotImplementedError


def test_no_shards_validate():
    shards = OnDisk()
    with pytest.raises(ValueError, match="Received: pairs='on-disk' for corpus 'de'. Give the"):
        require_text(Corpora([Corpus("de", shards)]))
    with pytest.raises(ValueError, match="Received: pairs='on-disk' for corpus 'validation'"):
        require_text(shards)
    require_text(Corpora([Corpus("de", PAIRS)]))
    require_text(pairs_of(PAIRS))


def test_other_pairs_are_one_part_without_tags():
    pairs = pairs_of(PAIRS)
    assert pairs_of(pairs) is pairs and pairs == PAIRS and pairs.parts() == [PAIRS]
    assert (pairs.in_memory, pairs.corpora, pairs.tags, pairs.weights) == (True, (), (), None)
    assert pairs_of([]) == []


@pytest.mark.parametrize("model_type", ["bpe", "unigram", "char", "grapheme", "word"])
def test_a_tag_is_one_token_before_those_of_its_source(model_type):
    texts = [tagged("<2de>", source) for source, _ in PAIRS * 3]
    options = {"model_type": model_type, "symbols": ["<2de>"], "exact": False}
    subwords = Subwords.train(texts, 20, **options)
    require_token("<2de>", TextSource(subwords))
    (tag, _), with_tag, without = subwords.encode(["<2de>", "<2de> a man", "a man"])
    assert with_tag[0] == tag
    assert with_tag[1:].tolist() == without.tolist()


@pytest.mark.parametrize(
    "model_type, tag, reason", [("char", "<2fr>", "split"), ("word", "<2fr>", "unknown")]
)
def test_a_tag_that_is_no_token_is_refused(model_type, tag, reason):
    subwords = Subwords.train(["<2 fr de>"], 20, model_type=model_type, exact=False)
    with pytest.raises(ValueError, match=f"Received: tag='{tag}', which is {reason} there"):
        require_token(tag, TextSource(subwords))
    with pytest.raises(ValueError, match="text can have a tag. Received: tag='<2fr>' for a source"):
        require_token(tag, FeatureSource(3))


def test_the_tags_that_a_source_has_are_named_where_another_is_refused():
    texts, symbols = ["<2de> a man", "<2nl> a man"], ["<2de>", "<2nl>"]
    subwords = Subwords.train(texts, 20, model_type="char", symbols=symbols, exact=False)
    with pytest.raises(ValueError, match="the model was trained with: <2de> <2nl>, or"):
        require_token("<2fr>", TextSource(subwords))


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"name": " "}, "Received: name=' '"),
        ({"weight": 0}, "`weight` must be a number in .* Received: weight=0"),
        ({"weight": float("nan")}, "Received: weight=nan"),
        ({"weight": float("inf")}, "Received: weight=inf"),
        ({"weight": "0.5"}, "Received: weight='0.5'"),
        ({"tag": "to German"}, "one word .* Received: tag='to German' for the corpus 'de'"),
        ({"tag": "<s>"}, "not the name of a special token. Received: tag='<s>'"),
        ({"tag": ""}, "Received: tag=''"),
    ],
)
def test_a_corpus_is_checked(settings, message):
    with pytest.raises(ValueError, match=message):
        Corpus(**{"name": "de", "pairs": PAIRS, **settings})


def test_a_tag_stands_before_text_alone():
    with pytest.raises(TypeError, match="text can have a tag. Received: tag='<2de>' for an input"):
        Corpora([Corpus("de", [([[0.5]], "a")], tag="<2de>")])


@pytest.mark.parametrize(
    "names, weights, message",
    [
        ("", (), "There must be 1 to 1,000 corpora. Received: 0"),
        ("aa", (1, 1), "different names. Received: name='a' twice"),
        ("abc", (1, None, 2), "a weight. Received: no weight for corpus 'b'"),
    ],
)
def test_corpora_are_checked_together(names, weights, message):
    with pytest.raises(ValueError, match=message):
        Corpora([Corpus(name, PAIRS, weight) for name, weight in zip(names, weights, strict=True)])


def test_a_temperature_is_for_corpora_without_weights_and_alignments_for_none():
    by_size, by_weight = Corpora([Corpus("a", PAIRS)]), Corpora([Corpus("a", PAIRS, 1)])
    check_mixed(by_size, 5.0)
    check_mixed(by_weight, 1.0)
    check_mixed(pairs_of(PAIRS), 1.0, alignments=[set()] * 3)
    for pairs, given in (
        (by_weight, "corpora with weights"),
        (pairs_of(PAIRS), "one list of pairs"),
    ):
        with pytest.raises(ValueError, match=f"Received: temperature=5.0, with {given}"):
            check_mixed(pairs, 5.0)
    with pytest.raises(ValueError, match="Received: alignments, with 1 corpora"):
        check_mixed(by_size, 1.0, alignments=[set()] * 3)
