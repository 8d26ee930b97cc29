"""Options inferred from the pairs: model types, normalizations, hard alignments, defaults."""

import dataclasses
import json
import shutil
import types

import numpy as np
import pytest
from runs import begin

import keras_bahdanau as kb
from keras_bahdanau import Translator
from keras_bahdanau.sources import TextSource
from keras_bahdanau.text import Subwords
from keras_bahdanau.training import Run, TrainingOptions, infer, train
from keras_bahdanau.training.data import TrainingData
from keras_bahdanau.training.infer import Facts, inferred_names, model_type_of, normalization_of
from keras_bahdanau.training.inheritance import initial_model
from keras_bahdanau.training.options import resolve
from keras_bahdanau.training.plan import check_start
from keras_bahdanau.training.presets import PRESETS

CHARACTERS = TrainingOptions(preset="characters")
OF_LETTERS = TrainingOptions(preset="characters", model_type="char", normalization="none")
PRONUNCIATIONS = [("red", "R EH D"), ("shoe", "SH UW"), ("judge", "JH AH JH")]
SOUNDS = [("red", "R EH D"), ("her", "HH ER"), ("New York", "N UW Y AO R K")]
LETTERS = [("red", "rouge"), ("her", "elle")]
KOREAN = [("한국", "h a n ɡ u k̚"), ("서울", "s ʌ u ɭ")]
FORMS = [("walk <PST>", "walked"), ("go <PST>", "went"), ("cut <PST>", "cut")]
NAMES = [("Anna", "Анна"), ("Ben", "Бен")]
SPELLED = [("r e d", "r e t"), ("a b c d", "a b c t")]


def inferred(asked, facts, say=None, rules=None):
    """Return the resolved options of a training run after applying some rules."""
    return resolve(infer.infer(asked.explicit(), facts, say, rules))


def facts_of(pairs, symbols=(), count=None):
    return Facts(pairs, len(pairs) if count is None else count, symbols)


def names_of(asked):
    return inferred_names(asked.explicit(), asked.resolved())


def resumed(run, asked, pairs):
    """Return the options with which a run continues."""
    check_start(run, asked, TrainingData.build(pairs, pairs))
    return run.options()


def settings(asked, count):
    rules = [infer.infer_defaults_of_many_pairs]
    options = inferred(asked, Facts([], count), rules=rules)
    return options.dropout, options.batch_sentences, options.learning_rate


def test_many_pairs_take_less_dropout_and_larger_batches():
    assert settings(OF_LETTERS, 20_000) == (0.3, 32, 1e-3)
    assert settings(OF_LETTERS, 20_001) == (0.2, 64, 1.5e-3)


def test_still_more_words_and_phonemes_take_still_less_dropout():
    phonemes = dataclasses.replace(OF_LETTERS, target_model_type="word")
    assert settings(phonemes, 100_000) == (0.2, 64, 1.5e-3)
    assert settings(phonemes, 100_001) == (0.08, 64, 1.5e-3)
    assert settings(OF_LETTERS, 100_001) == (0.2, 64, 1.5e-3)  # letters, as in names
    given = dataclasses.replace(phonemes, dropout=0.3)
    assert settings(given, 100_001) == (0.3, 64, 1.5e-3)


def test_what_follows_from_the_dropout_follows():
    options = inferred(OF_LETTERS, Facts([], 30_000))
    assert options.embedding_dropout == 0.133


@pytest.mark.parametrize(
    "given, expected",
    [
        ({"dropout": 0.3}, (0.3, 64, 1.5e-3)),
        ({"dropout": 0.0, "learning_rate": 0.01}, (0.0, 64, 0.01)),
        ({"batch_sentences": 32}, (0.2, 32, 1.5e-3)),
        ({"batch_tokens": 500}, (0.2, 0, 1.5e-3)),
    ],
)
def test_a_setting_that_is_given_wins(given, expected):
    assert settings(dataclasses.replace(OF_LETTERS, **given), 10**6) == expected


@pytest.mark.parametrize("preset", sorted({*PRESETS} - {"characters"}))
def test_other_presets_are_the_same_for_any_number(preset):
    asked = TrainingOptions(preset=preset)
    rules = [rule for rule in infer.RULES if rule is not infer.infer_folding]
    assert infer.infer(asked.explicit(), Facts([], 10**6), rules=rules) == asked.explicit()
    assert names_of(asked) == ["normalization", "source_normalization", "target_normalization"]


def test_one_line_reports_defaults_of_many_pairs():
    lines = []
    for count in (20_000, 20_001):
        inferred(OF_LETTERS, Facts([], count), lines.append)
    assert lines == [
        "defaults for more than 20,000 pairs: dropout 0.2, batch_sentences 64, learning_rate 0.0015"
    ]


def test_a_run_keeps_the_defaults_that_it_began_with(tmp_path):
    run, pairs = Run(tmp_path / "run"), [("a", "b")]
    defaults = infer.infer(OF_LETTERS.explicit(), Facts([], 30_000))
    data = begin(run, TrainingOptions(**defaults), pairs)
    options = resumed(run, OF_LETTERS, pairs)
    assert (options.dropout, options.batch_sentences, options.learning_rate) == (0.2, 64, 1.5e-3)
    few = Run(tmp_path / "few")
    begin(few, OF_LETTERS, pairs)
    assert resumed(few, OF_LETTERS, pairs).dropout == 0.3
    with pytest.raises(ValueError, match=r"dropout=0.3. Received: dropout=0.2"):
        check_start(few, dataclasses.replace(OF_LETTERS, dropout=0.2), data)


@pytest.mark.slow
def test_a_training_takes_and_records_what_it_inferred(tmp_path, monkeypatch):
    many = PRESETS["characters"].many_pairs
    monkeypatch.setitem(many, 2, many[20_000])
    options = TrainingOptions(
        preset="characters", units=8, embedding_units=4, attention_units=4, epochs=1, epoch_steps=1
    )
    pairs, lines = [("<N> 한국", "h a n"), ("<N> 나라", "n a"), ("<V> 가", "k a")], []
    symbols, settings = ["<N>", "<V>"], {"verbose": 0, "say": lines.append}
    path = train(pairs, pairs, tmp_path / "run", options, symbols=symbols, **settings)
    card = Run(tmp_path / "run").read_card()["options"]
    names = ("dropout", "batch_sentences", "source_normalization", "target_normalization")
    assert [card[name] for name in names] == [0.2, 64, "nfd", "none"]
    assert any(line.startswith("defaults for more than 2 pairs: dropout 0.2") for line in lines)
    translator = Translator.load(path)
    tokens = translator.source.subwords.tokens
    (ids,) = translator.source.subwords.encode(["학"])  # a syllable that occurs in no pair
    assert tokens(ids).tolist() == ["\u1112", "\u1161", "\u11a8", "</s>"]
    assert translator.search.write_symbols  # the target's vocabulary has no symbols


def attention(pairs=SOUNDS, say=None, **given):
    """Return the options of a training run on the pairs, including their hard alignment."""
    asked = TrainingOptions(**{"preset": "characters", **given})
    rules = [infer.infer_model_types, infer.infer_hard_alignment]
    lines = []
    options = inferred(asked, facts_of(pairs), lines.append, rules)
    for line in lines:
        if say is not None and not line.startswith("model types"):
            say(line)
    return options


def test_hard_alignment_is_inferred_from_letters_to_symbols_and_reported():
    lines = []
    options = attention(say=lines.append)
    assert (options.hard_alignment, options.when) == ("first-monotonic", "apart")
    assert lines == ["hard_alignment first-monotonic: symbols are in the order of the letters"]
    assert attention(source_model_type="grapheme").hard_alignment == "first-monotonic"


@pytest.mark.parametrize(
    "pairs",
    [
        pytest.param(LETTERS, id="letters"),
        pytest.param([(b, a) for a, b in SOUNDS], id="symbols to letters"),
        pytest.param([(b, b) for _, b in SOUNDS], id="symbols"),
        pytest.param([(np.zeros((3, 2), "f"), b) for _, b in SOUNDS], id="no text"),
        pytest.param([], id="shards"),
        pytest.param(SOUNDS * 7000, id="many"),
    ],
)
def test_attention_is_soft_for_other_pairs(pairs):
    lines = []
    options = attention(pairs, say=lines.append)
    assert (options.hard_alignment, options.when, lines) == ("none", "before", [])


@pytest.mark.parametrize(
    "name, value",
    [
        *(("hard_alignment", "none"), ("attention", "none"), ("heads", 4), ("copy", True)),
        *(("coverage", "sum"), ("window", "local-p"), ("normalizer", "mocha"), ("past", 2)),
        *(("when", "before"), ("query", "state,context"), ("readout", "maxout")),
        *(("readout_state", "previous"), ("context_gate", True), ("context_dropout", 0.1)),
        ("target_vocabulary_size", 20_000),
        *(("batch_sentences", 512), ("batch_tokens", 50_000), ("max_length", 2000)),
    ],
)
def test_an_option_that_requires_soft_attention_keeps_it(name, value):
    options = attention(**{name: value})
    assert options.hard_alignment == "none" and getattr(options, name) == value


def test_hard_alignment_is_what_is_given_or_what_other_presets_have():
    assert attention(hard_alignment="zeroth").hard_alignment == "zeroth"
    assert attention(preset="small").hard_alignment == "none"
    assert attention(preset="small", model_type="char").hard_alignment == "none"
    auto = attention(preset="small", hard_alignment="auto", model_type="auto")
    assert auto.hard_alignment == "first-monotonic"


@pytest.mark.slow
def test_a_training_infers_hard_alignment_and_resumes_with_it(tmp_path):
    sizes = {"units": 8, "embedding_units": 4, "attention_units": 4, "epoch_steps": 1}
    options = TrainingOptions(preset="characters", epochs=1, **sizes)
    lines = []
    file = train(SOUNDS, SOUNDS, tmp_path / "run", options, say=lines.append, verbose=0)
    assert any(line.startswith("hard_alignment first-monotonic") for line in lines)
    assert isinstance(kb.Translator.load(file).model.decoder, kb.HardDecoder)
    # Like a run that was killed before its first checkpoint.
    (tmp_path / "run" / "checkpoint.weights.h5").unlink()
    train(SOUNDS, SOUNDS, tmp_path / "run", options, verbose=0)


def letters_of_sounds():
    """Return character vocabularies for both sides."""
    settings = {"model_type": "char", "exact": False}
    return [Subwords.train([*side], 99, **settings) for side in zip(*SOUNDS, strict=True)]


@pytest.mark.slow
def test_a_soft_model_that_is_trained_further_stays_soft(tmp_path):
    source, target = letters_of_sounds()
    model = kb.presets.characters(source, target, units=8, embedding_units=4, attention_units=4)
    file = tmp_path / "model.keras"
    kb.Translator(source, model, target).save(file)
    options = TrainingOptions(preset="characters", epochs=1, epoch_steps=1, batch_sentences=512)
    lines, run = [], tmp_path / "run"
    train(SOUNDS, SOUNDS, run, options, initial=file, say=lines.append, verbose=0)
    assert not any("hard" in line for line in lines)
    assert Run(run).options().hard_alignment == "none"


def test_a_model_made_without_pairs_is_soft():
    assert CHARACTERS.resolved().hard_alignment == "auto"
    source, target = letters_of_sounds()
    sizes = {"units": 8, "embedding_units": 4, "attention_units": 4}
    assert type(kb.presets.characters(source, target, **sizes).decoder) is kb.Decoder
    hard = kb.presets.characters(source, target, hard_alignment="first", **sizes)
    assert type(hard.decoder) is kb.HardDecoder


def model_types(asked, pairs, symbols=()):
    options = inferred(asked, facts_of(pairs, symbols), rules=[infer.infer_model_types])
    return options.source_model_type, options.target_model_type, options.joint


@pytest.mark.parametrize(
    "texts",
    [
        ["R EH D", "SH UW", "JH AH JH"],
        ["R EH1 D", "AH0 B AE1 S"],
        ["t͡ʃʰ a k̚", "d͡ʑ ɯ p̚ t͡ɕ i"],
        ["ʔ aː ˧˧ ʔ ɗ e ˧˧", "z aː ŋ ˧˧"],
        ["д ж о н", "예 나 리 스", "م ا ن ر"],
        ["a b c", "", "  ", "d e"],
        [*["n o"] * 9, "a"],  # a word with one letter
    ],
)
def test_a_side_of_symbols_with_spaces_between_has_a_word_vocabulary(texts):
    assert model_type_of(texts) == "word"


@pytest.mark.parametrize(
    "texts",
    [
        ["red", "shoe"],
        ["New York", "Los Angeles", "de la Cruz"],
        ["an giang", "ba lan", "an trú"],  # syllables
        ["4 March 2021", "4 Mar 2021", "on 4. 3. 2021"],
        ["2021-03-04", "2021-12-31"],
        ["東京", "a", "b"],  # letters without neighbors
        ["a n  b o b", "c o  d e"],  # double spaces are meaningful, and only characters keep them
        [*["n o"] * 7, *["no"] * 3],
        ["예 나 리 스", "스 토 이 베 르"],  # syllables, whose letters are not separated
        [],
        ["", " "],
    ],
)
def test_a_side_of_words_and_phrases_has_one_of_characters(texts):
    assert model_type_of(texts) == "char"


def test_inputs_that_are_no_text_have_no_symbols():
    assert model_type_of([b"R EH D", None, 3]) == "char"


def test_features_before_a_source_do_not_count():
    pairs = [("<V> <A> <B> <C> no", "nod"), ("<V> <A> <B> <C> go", "gone")]
    assert model_types(CHARACTERS, pairs, ["<V>", "<A>", "<B>", "<C>"]) == ("char", "char", True)
    short = [("<V> <N> 我", "a b"), ("<V> <N> 你", "b c")]
    assert model_types(CHARACTERS, short, ["<V>", "<N>"])[0] == "char"


def test_each_side_has_its_own_model_type():
    assert model_types(CHARACTERS, PRONUNCIATIONS) == ("char", "word", False)
    swapped = [pair[::-1] for pair in PRONUNCIATIONS]
    assert model_types(CHARACTERS, swapped) == ("word", "char", False)
    assert model_types(CHARACTERS, [("kuzu", "kuzular")]) == ("char", "char", True)


@pytest.mark.parametrize(
    "given, expected",
    [
        ({"model_type": "char"}, ("char", "char", True)),
        ({"target_model_type": "grapheme"}, ("char", "grapheme", False)),
        ({"source_model_type": "bpe"}, ("bpe", "word", False)),
    ],
)
def test_a_model_type_that_is_given_wins(given, expected):
    assert model_types(dataclasses.replace(CHARACTERS, **given), PRONUNCIATIONS) == expected


def test_any_preset_infers_model_types_if_asked():
    assert model_types(TrainingOptions(), PRONUNCIATIONS) == ("bpe", "bpe", True)
    auto = TrainingOptions(model_type="auto")
    assert model_types(auto, PRONUNCIATIONS) == ("char", "word", False)
    asked = TrainingOptions(model_type="auto", target_model_type="char")
    assert [name for name in names_of(asked) if "type" in name] == [
        "model_type",
        "source_model_type",
    ]


def test_a_joint_vocabulary_of_two_types_is_refused():
    asked = dataclasses.replace(CHARACTERS, joint=True)
    with pytest.raises(ValueError, match="joint=True, source_model_type='char', target_model_ty"):
        model_types(asked, PRONUNCIATIONS)


def test_one_line_reports_model_types():
    lines, rules = [], [infer.infer_model_types]
    for asked in (CHARACTERS, TrainingOptions()):
        inferred(asked, facts_of(PRONUNCIATIONS), lines.append, rules)
    assert lines == [
        "model types, inferred from the text: source char, target word (symbols separated by "
        "spaces)"
    ]


def test_a_run_resumes_with_the_model_types_that_it_began_with(tmp_path):
    run = Run(tmp_path / "run")
    asked = dataclasses.replace(CHARACTERS, target_model_type="grapheme")  # as if from another rule
    decided = infer.infer(asked.explicit(), facts_of(PRONUNCIATIONS))
    data = begin(run, TrainingOptions(**decided), PRONUNCIATIONS)
    options = resumed(run, CHARACTERS, PRONUNCIATIONS)
    assert (options.source_model_type, options.target_model_type) == ("char", "grapheme")
    other = dataclasses.replace(CHARACTERS, target_model_type="word")
    with pytest.raises(ValueError, match="target_model_type='grapheme'. Received: target_model_t"):
        check_start(run, other, data)


def normalizations(asked, pairs):
    options = inferred(asked, facts_of(pairs), rules=[infer.infer_normalizations])
    return options.source_normalization, options.target_normalization, options.joint


OF_CHARACTERS = TrainingOptions(preset="characters", model_type="char")


@pytest.mark.parametrize(
    "texts, expected",
    [
        (["한국", "서울"], "nfd"),
        (["<N> 한국 abc", "", "서울 2"], "nfd"),
        (["한국", "Seoul"], "none"),  # only half of the texts
        (["ㄱㄴ", "東京", "Bücher", "が"], "none"),
        ([b"\xed\x95\x9c", None, 3], "none"),
        ([], "none"),
    ],
)
def test_a_side_of_hangul_is_decomposed(texts, expected):
    assert normalization_of(texts) == expected


def test_each_side_has_its_own_normalization():
    assert normalizations(OF_CHARACTERS, KOREAN) == ("nfd", "none", False)
    assert normalizations(OF_CHARACTERS, [pair[::-1] for pair in KOREAN]) == ("none", "nfd", False)
    assert normalizations(OF_CHARACTERS, [("한국", "한국에")]) == ("nfd", "nfd", True)
    assert normalizations(OF_CHARACTERS, [("red", "дом")]) == ("none", "none", True)


def test_symbols_between_spaces_stay_as_they_are():
    asked = dataclasses.replace(OF_CHARACTERS, target_model_type="word")
    assert normalizations(asked, [("존", "조 ㄴ"), ("한", "하 ㄴ")])[:2] == ("nfd", "none")


@pytest.mark.parametrize(
    "given, expected",
    [
        ({"normalization": "none"}, ("none", "none", True)),
        ({"source_normalization": "nfkc"}, ("nfkc", "none", False)),
        ({"target_normalization": "nfd"}, ("nfd", "nfd", True)),
    ],
)
def test_a_normalization_that_is_given_wins(given, expected):
    assert normalizations(dataclasses.replace(OF_CHARACTERS, **given), KOREAN) == expected


def test_other_presets_decompose_if_they_are_asked_to():
    assert normalizations(TrainingOptions(), KOREAN) == ("fold", "fold", True)
    assert normalizations(TrainingOptions(normalization="auto"), KOREAN)[0] == "nfd"


def folding(pairs, say=None, source=None, target=None, **given):
    facts = facts_of(pairs)._replace(source=source, target=target)
    options = inferred(TrainingOptions(**given), facts, say, [infer.infer_folding])
    return options.source_normalization, options.target_normalization, options.joint


CHINESE, PLAIN = [("Hi!", "你好！"), ("So", "所以")], [("ｏｎｅ", "eins  zwei")]


def test_a_joint_vocabulary_folds_where_that_changes_no_target():
    assert folding(PLAIN) == ("nmt_nfkc", "nmt_nfkc", True)
    lines = []
    assert folding(CHINESE, lines.append) == ("identity", "identity", True)
    assert lines == [
        "normalization identity for both sides: nmt_nfkc would change 1 of 2 targets: "
        "'你好！' becomes '你好!' (！ U+FF01 becomes !)"
    ]


def test_separate_vocabularies_fold_the_source_alone():
    for pairs in (PLAIN, CHINESE, []):
        assert folding(pairs, joint=False) == ("nmt_nfkc", "identity", False)
        assert folding(pairs, target_model_type="char") == ("nmt_nfkc", "identity", False)
    source = Subwords.train(["a b"], 9, model_type="char", exact=False)
    assert folding(CHINESE, source=source)[:2] == ("nmt_nfkc", "identity")


def test_a_normalization_of_a_side_that_is_given_stays():
    assert folding(CHINESE, normalization="nfkc") == ("nfkc", "nfkc", True)
    assert folding(CHINESE, target_normalization="nfkc") == ("nmt_nfkc", "nfkc", False)
    assert folding(CHINESE, source_normalization="nfd") == ("nfd", "identity", False)


def test_a_joint_vocabulary_of_two_normalizations_is_refused():
    asked = dataclasses.replace(OF_CHARACTERS, joint=True)
    with pytest.raises(ValueError, match="source_normalization='nfd', target_normalization='none'"):
        normalizations(asked, KOREAN)


def test_one_line_reports_hangul_alone():
    lines, rules = [], [infer.infer_normalizations]
    for pairs in (KOREAN, [("red", "дом")]):
        inferred(OF_CHARACTERS, facts_of(pairs), lines.append, rules)
    assert lines == [
        "normalization, inferred from the text: source nfd (Hangul syllables as letters), "
        "target none"
    ]


def unknown_rate(pairs, say=None, sides=(None, None), symbols=("<PST>",), **given):
    """Return the unknown rate of a training run on the pairs."""
    asked = TrainingOptions(**{"preset": "characters", "normalization": "none", **given})
    facts, lines = Facts(pairs, len(pairs), [*symbols], *sides), []
    options = inferred(asked, facts, lines.append)
    for line in lines:
        if say is not None and line.startswith("defaults"):
            say(line)
    return options.unknown_rate


def test_few_forms_have_unknown_letters_and_one_line_reports_it():
    lines = []
    assert unknown_rate(FORMS, lines.append) == 0.2
    assert lines == ["defaults for sides with many letters in common: unknown_rate 0.2"]
    assert unknown_rate([(f"{source} {text}", text) for source, text in FORMS]) == 0.2


@pytest.mark.parametrize(
    "pairs",
    [
        pytest.param(NAMES, id="another script"),
        pytest.param(SPELLED, id="symbols"),
        pytest.param([("red", "R EH D")], id="letters and symbols"),
        pytest.param([(np.zeros((3, 2), "f"), "red")], id="no text"),
        pytest.param([("ab", " ")], id="no letters"),
        pytest.param([("3/4/2021", "2021-04-03"), ("5 May 2021", "2021-05-05")], id="digits"),
        pytest.param([], id="shards"),
        pytest.param(FORMS * 1_667, id="many"),
    ],
)
def test_other_pairs_have_no_unknown_letters(pairs):
    lines = []
    assert (unknown_rate(pairs, lines.append), lines) == (0.0, [])


def test_half_of_the_letters_are_enough():
    assert unknown_rate([("abc", "abxy")]) == 0.2
    assert unknown_rate([("abc", "axyz")]) == 0.0
    assert unknown_rate([("abc", "axyz"), ("abc", "abc")]) == 0.2
    assert unknown_rate(FORMS * 1_666) == 0.2  # 4,998 pairs


@pytest.mark.parametrize(
    "name, value",
    [
        *(("model_type", "bpe"), ("model_type", "grapheme"), ("target_normalization", "nfd")),
        *(("attention", "none"), ("encoder", "pyramidal"), ("copy", True)),
        ("hard_alignment", "first"),
    ],
)
def test_models_that_copy_no_single_letters_have_no_unknown_letters(name, value):
    assert unknown_rate(FORMS, **{name: value}) == 0.0


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "settings, rate",
    [
        ({"model_type": "char", "normalization": "none"}, 0.2),
        ({"model_type": "char", "normalization": "nfd"}, 0.0),
        ({"model_type": "bpe"}, 0.0),
    ],
)
def test_a_vocabulary_that_is_given_must_be_one_of_whole_characters(settings, rate):
    given = Subwords.train(["walked went cut가"], 30, exact=False, **settings)
    sides = TextSource(given), given
    assert unknown_rate(FORMS, sides=sides, symbols=(), model_type="char") == rate


def test_a_source_of_strings_without_a_vocabulary_copies_nothing():
    source = types.SimpleNamespace(subwords=None)
    assert unknown_rate(FORMS, sides=(source, None), symbols=()) == 0.0


def test_letters_of_symbols_are_not_those_of_the_source():
    pairs = [("<ab> <cd> xyz", "abcdx")]
    assert unknown_rate(pairs) == 0.2
    assert unknown_rate(pairs, symbols=["<ab>", "<cd>"]) == 0.0


def test_a_rate_that_is_given_wins_and_other_presets_have_none():
    assert unknown_rate(FORMS, unknown_rate=0.0) == 0.0
    assert unknown_rate(FORMS, unknown_rate=0.5) == 0.5
    assert unknown_rate(FORMS, preset="small", model_type="char") == 0.0
    with_letters = {name for name, preset in PRESETS.items() if preset.common_letters}
    assert with_letters == {"characters"}


def test_a_run_goes_on_with_the_rate_that_it_began_with(tmp_path):
    assert "unknown_rate" in names_of(OF_LETTERS)
    for rate in (0.0, 0.1):
        run = Run(tmp_path / str(rate))
        begin(run, dataclasses.replace(OF_LETTERS, unknown_rate=rate), FORMS)
        assert resumed(run, OF_LETTERS, FORMS).unknown_rate == rate


COPYING = {
    **{"preset": "characters", "units": 8, "embedding_units": 4, "attention_units": 4},
    **{"epochs": 1, "epoch_steps": 1, "best_by": "perplexity"},
    **{"encoder": "convolutional", "bridge": "zeros", "cell": "ssru"},  # halves the tracing time
}


@pytest.mark.slow
def test_a_model_that_is_trained_further_copies_as_before(tmp_path):
    new, given = TrainingOptions(**COPYING), {"verbose": 0}
    first = train(FORMS, FORMS, tmp_path / "first", new, **given)
    assert Translator.load(first).search.replace_unknown
    assert json.loads((tmp_path / "first" / "run.json").read_text())["options"]["unknown_rate"]
    plain = dataclasses.replace(new, unknown_rate=0.0)
    train(FORMS, FORMS, tmp_path / "plain", plain, **given)
    further = TrainingOptions(epochs=1, epoch_steps=1, best_by="perplexity")
    for name, rate in {"first": 0.2, "plain": 0.0}.items():
        initial, out = tmp_path / name, tmp_path / f"{name}-further"
        train(FORMS, FORMS, out, further, initial=initial, **given)
        assert Run(out).options().unknown_rate == rate


@pytest.mark.slow
def test_a_file_of_phonemes_that_is_trained_further_has_their_error_rate(tmp_path):
    new = {**COPYING, "best_by": "exact", "hard_alignment": "none"}
    first = train(SPELLED, SPELLED, tmp_path / "first", TrainingOptions(**new), verbose=0)
    alone = shutil.copy(first, tmp_path / "copy.keras")  # without the options of its run
    further = TrainingOptions(epochs=1, epoch_steps=1, best_by="exact")
    second = train(SPELLED, SPELLED, tmp_path / "second", further, verbose=0, initial=alone)
    metrics = [Translator.load(path).metrics for path in (first, second)]
    assert metrics == 2 * [("exact", "per")]


@pytest.mark.slow
def test_a_file_with_new_vocabularies_copies_as_before(tmp_path):
    first = train(FORMS, FORMS, tmp_path / "first", TrainingOptions(**COPYING), verbose=0)
    initial = initial_model(Run(tmp_path / "new"), shutil.copy(first, tmp_path / "copy.keras"))
    options = TrainingOptions(update_vocabulary="replace")
    assert initial.inherited(options)["unknown_rate"] == 0.2
    of_words = dataclasses.replace(options, model_type="bpe")
    assert "unknown_rate" not in initial.inherited(of_words)


NEW = {"max_length_ratio": 2.0, "max_length_offset": 10, "max_length": 256}


@pytest.mark.parametrize(
    ("sources", "targets", "reduction", "ratio", "offset", "longest"),
    [
        ([5, 8], [10, 13], 1, 2.0, 10, 256),  # 2 * 10 = 2 * 5 + 10
        ([5, 5], [30, 12], 1, 10.0, 10, 256),  # 2 * 30 = 10 * 5 + 10
        ([20, 20], [30, 12], 4, 10.0, 10, 256),  # the encoder makes one position of four frames
        ([1, *[100] * 999], [80, *[90] * 999], 1, 2.0, 158, 256),  # one pair does not set the ratio
        ([400], [600], 1, 3.0, 10, 1200),
        ([1], [2000], 1, 1000.0, 3000, 4000),
    ],
)
def test_outputs_may_be_twice_as_long_as_the_training_targets(
    sources, targets, reduction, ratio, offset, longest
):
    lengths = [(np.array(sources), np.array(targets))]
    assert infer.infer_output_limits(lengths, reduction, NEW) == {
        "max_length_ratio": ratio,
        "max_length_offset": offset,
        "max_length": longest,
    }


def test_limits_of_an_initial_model_do_not_fall():
    lengths, wide = [(np.array([5]), np.array([5]))], {**NEW, "max_length_ratio": 7.5}
    assert infer.infer_output_limits(lengths, 1, wide) == wide
