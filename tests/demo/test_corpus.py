"""The demo corpus: its grammar, its gold links, and its split."""

import doctest

import pytest

from keras_bahdanau.demo import generate, grammar, lexicon, split, write
from keras_bahdanau.demo.grammar import Phrase, clitic, fixed, name, noun_phrase, pair, pronoun

NOUN = {noun.singular: noun for noun in lexicon.NOUNS}
ADJECTIVE = {adjective.english: adjective for adjective in lexicon.ADJECTIVES}
ALL_VERBS = [
    *lexicon.TRANSITIVE,
    *lexicon.GIVING,
    *lexicon.INTRANSITIVE,
    *lexicon.SAYING,
    lexicon.GO,
    lexicon.COME,
    lexicon.STAY,
]
VERB = {verb.base: verb for verb in ALL_VERBS}


def noun(determiner, *words, **options):
    """Build a noun phrase from its English words: adjectives, then the noun in the singular."""
    adjectives = [ADJECTIVE[word] for word in words[:-1]]
    return noun_phrase(determiner, NOUN[words[-1]], adjectives, **options)


def say(subject, verb, *rest, **options):
    """Build a clause from a subject, the English verb, and the phrases that follow it."""
    clause = subject + grammar.predicate(subject, VERB[verb], **options)
    for phrase in rest:
        clause += phrase
    return clause


def be(subject, adjective, **options):
    return (
        subject
        + grammar.being(subject, **options)
        + grammar.describe(ADJECTIVE[adjective], subject.agreement)
    )


def check(phrase, english, french, links):
    """Compare a phrase with its sentences and with its links in Pharaoh form ("0-0 0?1")."""
    example = grammar.render(phrase)
    assert (example.source, example.target) == (english, french)
    shown = {f"{i}{'-' if (i, j) in example.sure else '?'}{j}" for i, j in example.possible}
    assert shown == set(links.split())


@pytest.fixture(scope="module")
def examples():
    return generate(20000)


def test_grammar_docstring_is_true():
    result = doctest.testmod(grammar)
    assert result.attempted > 0 and result.failed == 0


def test_most_adjectives_follow_the_noun():
    check(noun("the", "red", "car"), "the red car", "la voiture rouge", "0-0 1-2 2-1")


def test_some_adjectives_precede_the_noun():
    check(
        noun("a", "small", "red", "car"),
        "a small red car",
        "une petite voiture rouge",
        "0-0 1-1 2-3 3-2",
    )


def test_very_stays_with_its_adjective():
    check(
        noun("the", "red", "car", very=True),
        "the very red car",
        "la voiture très rouge",
        "0-0 1-2 2-3 3-1",
    )
    check(
        noun("a", "old", "red", "car", very=True),
        "a very old red car",
        "une très vieille voiture rouge",
        "0-0 1-1 2-2 3-4 4-3",
    )


@pytest.mark.parametrize(
    ("words", "plural", "french"),
    [
        (("my", "white", "horse"), False, "mon cheval blanc"),
        (("my", "white", "horse"), True, "mes chevaux blancs"),
        (("my", "white", "cow"), False, "ma vache blanche"),
        (("my", "white", "cow"), True, "mes vaches blanches"),
        (("the", "beautiful", "painting"), True, "les beaux tableaux"),
        (("the", "happy", "king"), True, "les rois heureux"),
        (("the", "happy", "queen"), True, "les reines heureuses"),
        (("these", "French", "newspaper"), True, "ces journaux français"),
        (("two", "new", "house"), True, "deux nouvelles maisons"),
    ],
)
def test_determiner_and_adjective_agree_with_the_noun(words, plural, french):
    assert grammar.render(noun(*words, plural=plural)).target == french


@pytest.mark.parametrize(
    ("words", "french"),
    [
        (("the", "man"), "l'homme"),
        (("the", "school"), "l'école"),
        (("the", "egg"), "l'œuf"),
        (("the", "hero"), "le héros"),
        (("this", "man"), "cet homme"),
        (("this", "hero"), "ce héros"),
        (("this", "story"), "cette histoire"),
        (("her", "story"), "son histoire"),
        (("her", "old", "story"), "sa vieille histoire"),
        (("my", "strange", "apple"), "ma pomme étrange"),
        (("a", "old", "man"), "un vieil homme"),
        (("a", "old", "hero"), "un vieux héros"),
        (("a", "new", "hospital"), "un nouvel hôpital"),
        (("the", "beautiful", "bird"), "le bel oiseau"),
        (("the", "beautiful", "school"), "la belle école"),
    ],
)
def test_words_change_before_a_vowel_or_mute_h(words, french):
    assert grammar.render(noun(*words)).target == french


@pytest.mark.parametrize(
    ("words", "english", "french"),
    [
        (("red", "apple"), "some red apples", "des pommes rouges"),
        (("small", "apple"), "some small apples", "de petites pommes"),
        (("old", "apple"), "some old apples", "de vieilles pommes"),
    ],
)
def test_some_is_de_before_an_adjective(words, english, french):
    assert grammar.render(noun("some", *words, plural=True))[:2] == (english, french)


def test_many_is_two_words_in_french():
    check(noun("many", "book", plural=True), "many books", "beaucoup de livres", "0-0 0?1 1-2")
    check(noun("many", "man", plural=True), "many men", "beaucoup d'hommes", "0-0 0?1 1-1")


def test_elided_article_links_possibly_to_its_article_and_surely_to_the_noun():
    check(noun("the", "man"), "the man", "l'homme", "0?0 1-0")


def test_possessor_follows_what_it_possesses():
    owner = noun("the", "king", ending="'s")
    thing = grammar.possession(owner, NOUN["car"], [ADJECTIVE["old"]])
    check(thing, "the king's old car", "la vieille voiture du roi", "0?3 1?0 1?3 1-4 2-1 3-2")
    thing = grammar.possession(name("Anna", "'s"), NOUN["book"], [])
    check(thing, "Anna's book", "le livre d'Anna", "0?0 0-2 1-1")


def test_negation_surrounds_the_verb():
    check(
        say(pronoun("he"), "see", noun("the", "dog"), adverb="not"),
        "he does not see the dog",
        "il ne voit pas le chien",
        "0-0 1?1 1?2 2?1 2-3 3-2 4-4 5-5",
    )


def test_negation_in_the_past_surrounds_the_auxiliary():
    check(
        say(pronoun("we"), "find", noun("the", "key"), adverb="never", tense="past"),
        "we never found the key",
        "nous n'avons jamais trouvé la clé",
        "0-0 1?1 1-2 2?1 2-3 3-4 4-5",
    )
    check(
        say(pronoun("I"), "sleep", adverb="not", tense="past"),
        "I did not sleep",
        "je n'ai pas dormi",
        "0-0 1?1 1?3 2?1 2-2 3?1 3-3",
    )


def test_indefinite_object_of_a_negated_verb_is_de():
    egg = noun("a", "egg", negated=True)
    check(
        say(pronoun("she"), "eat", egg, adverb="not"),
        "she does not eat an egg",
        "elle ne mange pas d'œuf",
        "0-0 1?1 1?2 2?1 2-3 3-2 4?4 5-4",
    )
    small_apples = noun("some", "small", "apple", plural=True, negated=True)
    check(small_apples, "any small apples", "de petites pommes", "0?0 1-1 2-2")


def test_adverb_moves_behind_the_finite_verb():
    check(
        say(name("Paul"), "work", adverb="often"),
        "Paul often works",
        "Paul travaille souvent",
        "0-0 1-2 2-1",
    )
    check(
        say(name("Paul"), "work", adverb="always", tense="past"),
        "Paul always worked",
        "Paul a toujours travaillé",
        "0-0 1-2 2?1 2-3",
    )


def test_object_pronoun_moves_before_the_verb():
    check(
        say(name("Marie"), "look", clitic=clitic("him")),
        "Marie looks for him",
        "Marie le cherche",
        "0-0 1-2 2?2 3-1",
    )


def test_elided_pronoun_keeps_its_sure_link_before_an_auxiliary():
    check(
        say(pronoun("I"), "see", clitic=clitic("her"), tense="past"),
        "I saw her",
        "je l'ai vue",
        "0-0 1?1 1-2 2-1",
    )
    check(say(pronoun("I"), "laugh", tense="past"), "I laughed", "j'ai ri", "0-0 1?0 1-1")


@pytest.mark.parametrize(
    ("subject", "french"),
    [
        (pronoun("he"), "il est venu"),
        (pronoun("she"), "elle est venue"),
        (noun("the", "king", plural=True), "les rois sont venus"),
        (noun("the", "queen", plural=True), "les reines sont venues"),
    ],
)
def test_participle_with_etre_agrees_with_the_subject(subject, french):
    assert grammar.render(say(subject, "come", tense="past")).target == french


def test_participle_agrees_with_what_the_relative_pronoun_stands_for():
    letters = noun("the", "letter", plural=True)
    relative = say(name("Anna"), "write", tense="past", antecedent=letters)
    check(
        letters + pair("that", "que") + relative,
        "the letters that Anna wrote",
        "les lettres qu'Anna a écrites",
        "0-0 1-1 2?2 3-2 4?3 4-4",
    )


def test_adjective_after_to_be_agrees_with_the_subject():
    check(
        be(noun("our", "house", plural=True), "white", adverb="not", tense="past"),
        "our houses were not white",
        "nos maisons n'étaient pas blanches",
        "0-0 1-1 2-2 3?2 3-3 4-4",
    )
    assert grammar.render(be(noun("the", "story"), "old")).target == "l'histoire est vieille"
    assert grammar.render(be(noun("the", "man"), "old")).target == "l'homme est vieux"


def test_prepositions_contract_with_the_article():
    check(
        say(name("Paul"), "talk", noun("the", "king")),
        "Paul talks to the king",
        "Paul parle au roi",
        "0-0 1-1 2-2 3?2 4-3",
    )
    check(
        say(name("Paul"), "answer", noun("the", "king", plural=True)),
        "Paul answers the kings",
        "Paul répond aux rois",
        "0-0 1-1 1?2 2?2 3-3",
    )
    check(fixed("near|près de|0-0 0?1") + noun("the", "park"), "near the park", "près du parc",
          "0-0 0?1 1?1 2-2")  # fmt: skip
    assert grammar.render(pair("to", "à") + noun("the", "school")).target == "à l'école"
    assert grammar.render(pair("to", "à") + noun("the", "hero")).target == "au héros"
    assert grammar.render(pair("from", "de") + noun("the", "park", plural=True)).target == (
        "des parcs"
    )


def test_de_swallows_an_indefinite_article():
    some_parks = noun("some", "park", plural=True)
    some_old_parks = noun("some", "old", "park", plural=True)
    assert grammar.render(pair("from", "de") + some_parks).target == "de parcs"
    assert grammar.render(pair("from", "de") + some_old_parks).target == "de vieux parcs"
    some_schools = noun("some", "school", plural=True)
    assert grammar.render(pair("from", "de") + some_schools).target == "d'écoles"
    assert grammar.render(pair("from", "de") + noun("a", "park")).target == "d'un parc"


def test_giving_has_a_direct_and_an_indirect_object():
    check(
        say(pronoun("she"), "give", noun("a", "book"), pair("to", "à"), noun("the", "child")),
        "she gives a book to the child",
        "elle donne un livre à l'enfant",
        "0-0 1-1 2-2 3-3 4-4 5?5 6-5",
    )


def test_conjunction_elides_before_a_pronoun():
    because = fixed("because|parce que|0-0 0?1")
    check(
        because + say(pronoun("he"), "love", name("Anna")),
        "because he loves Anna",
        "parce qu'il aime Anna",
        "0-0 0?1 1-1 2-2 3-3",
    )


@pytest.mark.parametrize(
    ("english", "plural"),
    [("story", "stories"), ("key", "keys"), ("church", "churches"), ("hero", "heroes")],
)
def test_english_plural_is_spelled_right(english, plural):
    assert lexicon.english_s(english) == plural


def test_empty_phrase_changes_nothing():
    check(Phrase() + name("Paul") + Phrase(), "Paul", "Paul", "0-0")


def test_same_seed_gives_the_same_sentences_and_more_only_adds():
    assert generate(50, seed=3) == generate(80, seed=3)[:50]
    assert generate(50, seed=3) != generate(50, seed=4)


def test_negative_count_is_refused():
    with pytest.raises(ValueError, match=r"must not be negative\. Received: count=-1"):
        generate(-1)


def test_split_shares_no_sentence():
    parts = split(train=600, valid=200, test=200)
    assert [len(part) for part in parts] == [600, 200, 200]
    sources = [example.source for part in parts for example in part]
    assert len(set(sources)) == 1000


@pytest.mark.slow
def test_one_english_sentence_has_one_french_sentence_whatever_the_seed(examples):
    french = {example.source: example.target for example in examples}
    for example in generate(5000, seed=1):
        assert french.setdefault(example.source, example.target) == example.target


@pytest.mark.slow
def test_links_are_in_range_and_sure_links_are_possible(examples):
    for example in examples:
        source, target = example.source.split(" "), example.target.split(" ")
        assert example.sure <= example.possible
        assert all(0 <= i < len(source) and 0 <= j < len(target) for i, j in example.possible)


def test_every_word_of_either_language_has_a_link(examples):
    for example in examples:
        assert {j for _, j in example.possible} == set(range(len(example.target.split())))
        assert {i for i, _ in example.possible} == set(range(len(example.source.split())))


def test_lengths_spread_from_three_to_thirty_words(examples):
    lengths = [len(example.source.split()) for example in examples]
    assert (min(lengths), max(lengths)) == (3, 30)
    assert 8 < sum(lengths) / len(lengths) < 12
    assert sum(length > 20 for length in lengths) > 0.05 * len(lengths)


def test_every_english_word_is_frequent_enough_to_learn(examples):
    counts = {}
    for example in examples[:10000]:
        for word in example.source.split():
            counts[word] = counts.get(word, 0) + 1
    rare = {word: count for word, count in counts.items() if count < 10}
    assert not rare
    assert len(counts) < 320


def test_no_french_word_is_left_unelided_or_uncontracted(examples):
    for example in examples:
        words = example.target.split()
        for word, following in zip(words, words[1:], strict=False):
            assert not (word in grammar.ELIDED and lexicon.starts_with_vowel(following))
            assert (word, following) not in grammar.CONTRACTED


def test_files_are_written_line_by_line(tmp_path):
    phrase = say(noun("the", "man"), "sleep", adverb="not") + pair(".", ".")
    write(tmp_path / "data", "test", [grammar.render(phrase), grammar.render(name("Anna"))])
    read = {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "data").iterdir()}
    assert read == {
        "test.en": "the man does not sleep .\nAnna\n",
        "test.fr": "l'homme ne dort pas .\nAnna\n",
        "test.align": "0?0 1-0 2?1 2?2 3?1 3-3 4-2 5-4\n0-0\n",
    }
