"""Reports of text that a vocabulary can't encode: letters, other Unicode forms, spaces."""

from keras_bahdanau.text import Subwords
from keras_bahdanau.text.unknown_parts import name_of_part, report_unknown

KEPT = {"model_type": "char", "normalization": "none", "exact": False}
WORDS = Subwords.train(["gönül", "kuzu", "ek"], 40, **KEPT)


def test_texts_of_another_form_of_unicode_are_counted_and_get_the_form_that_is_known():
    texts = ["go\u0308nu\u0308l", "kuzu"]  # NFD; the vocabulary has the composed letters
    line = report_unknown("targets", texts, WORDS)
    assert line == (
        "1 of 2 targets has parts that the vocabulary does not know: o\u0308 U+0308. "
        "Fewer have such parts in Unicode form NFC: convert the file"
    )
    parts = Subwords.train(["go\u0308nu\u0308l"], 40, **KEPT)
    assert "in Unicode form NFD" in report_unknown("targets", ["gönül"], parts)


def test_what_no_form_makes_known_is_named_alone_and_nothing_where_all_is_known():
    line = report_unknown("sources", ["xyk", "wk", "ek"], WORDS)
    assert line == "2 of 3 sources have parts that the vocabulary does not know: xy w"
    assert report_unknown("sources", ["gönül", ""], WORDS) == ""
    assert report_unknown("sources", ["x"], None) == ""  # a source without a vocabulary


def test_a_space_that_the_vocabulary_lacks_is_unknown_and_named():
    assert WORDS.unknown(["ek ", "ek"]) == [[" "], []]
    assert [*map(name_of_part, [" ", "\u0308", "ö", "\u200f"])] == [
        "U+0020",
        "U+0308",
        "ö",
        "U+200F",
    ]
