"""The grammar of the demo corpus: phrases in both languages, with their links.

Every French word refers to the English words that it translates. Each language can therefore order
its words freely, and the alignment follows automatically:

>>> from keras_bahdanau.demo.lexicon import TRANSITIVE
>>> he, see = pronoun("he"), TRANSITIVE[0]
>>> example = render(he + predicate(he, see, adverb="not", clitic=clitic("her")))
>>> example.source, example.target
('he does not see her', 'il ne la voit pas')
>>> sorted(example.sure)
[(0, 0), (2, 4), (3, 3), (4, 2)]
"""

from dataclasses import dataclass
from typing import NamedTuple

from keras_bahdanau.demo.lexicon import (
    BEFORE_VOWEL,
    CLITICS,
    DETERMINERS,
    NAMES,
    PLURAL_DETERMINERS,
    PRONOUNS,
    english_s,
    french_feminine,
    french_plural,
    starts_with_vowel,
)

ADVERBS = {"not": "pas", "never": "jamais", "often": "souvent", "always": "toujours"}
NEGATIONS = ("not", "never")
AVOIR, ETRE = ("ai", "a", "avons", "ont"), ("suis", "est", "sommes", "sont")
BE = {  # tense -> English and French forms, by person
    "present": (("am", "is", "are", "are"), ETRE),
    "past": (("was", "was", "were", "were"), ("étais", "était", "étions", "étaient")),
}
ELIDED = {"le": "l'", "la": "l'", "je": "j'", "ne": "n'", "de": "d'", "que": "qu'"}
CONTRACTED = {
    ("à", "le"): "au",
    ("à", "les"): "aux",
    ("de", "le"): "du",
    ("de", "les"): "des",
    ("de", "des"): "de",
    ("de", "de"): "de",
}


class Example(NamedTuple):
    """A sentence pair with its gold word alignment.

    Links are (source word, target word), counted from 0. All annotators would mark the `sure`
    links. The `possible` links are the sure links and those that only some annotators would mark.
    """

    source: str
    target: str
    sure: frozenset[tuple[int, int]]
    possible: frozenset[tuple[int, int]]


@dataclass(eq=False)
class English:
    """An English word. French words refer to this object, not to its text."""

    text: str


class French(NamedTuple):
    """A French word, with the English words that it translates."""

    text: str
    sure: tuple[English, ...] = ()
    possible: tuple[English, ...] = ()


class Agreement(NamedTuple):
    """Agreement with a noun.

    `person` is 0 (je), 1 (il), 2 (nous) or 3 (ils). `gender` is "m", "f" or "".
    """

    person: int
    gender: str

    def inflect(self, masculine, feminine):
        """Return the form of an adjective or participle that agrees."""
        word = feminine if self.gender == "f" else masculine
        return french_plural(word) if self.person > 1 else word


@dataclass(frozen=True)
class Phrase:
    """A phrase in both languages. The agreement of `a + b` is that of `a`."""

    english: tuple[English, ...] = ()
    french: tuple[French, ...] = ()
    agreement: Agreement | None = None

    def __add__(self, phrase):
        """Join two phrases in the same order in both languages."""
        return Phrase(self.english + phrase.english, self.french + phrase.french, self.agreement)


def fixed(expression):
    """Build a phrase from "English words|French words|links" ("on Monday|lundi|0?0 1-0")."""
    source, target, links = expression.split("|")
    english = tuple(English(word) for word in source.split())

    def linked(position, mark):
        pairs = [link.split(mark) for link in links.split() if mark in link]
        return tuple(english[int(i)] for i, j in pairs if int(j) == position)

    words = enumerate(target.split())
    return Phrase(english, tuple(French(w, linked(j, "-"), linked(j, "?")) for j, w in words))


def pair(english, french, *agreement):
    """Build a phrase of one English and one French word with a sure link."""
    word = English(english)
    return Phrase((word,), (French(french, (word,)),), Agreement(*agreement) if agreement else None)


def name(text, ending=""):
    """Build the name of a person. `ending` is "" or "'s"."""
    return pair(text + ending, text, 1, NAMES[text])


def pronoun(english):
    """Build a subject pronoun."""
    return pair(english, *PRONOUNS[english])


def clitic(english):
    """Build an object pronoun, which precedes the French verb. Past participles agree with it."""
    return pair(english, *CLITICS[english])


def describe(adjective, agreement, very=False):
    """Build an adjective that agrees, optionally after "very"."""
    form = agreement.inflect(adjective.masculine, adjective.feminine)
    phrase = pair(adjective.english, form)
    return pair("very", "très") + phrase if very else phrase


def noun_phrase(
    determiner, noun, adjectives=(), *, plural=False, very=False, negated=False, ending=""
):
    """Build a phrase of a determiner, adjectives and a noun.

    `determiner` is a key in `DETERMINERS`, or in `PLURAL_DETERMINERS` if `plural` is True.
    `adjectives` are in English order, and at most one of them comes before the French noun. With
    `very`, "very" comes before the first one. `negated` is True for the object of a negated verb,
    as in "pas de livre". `ending` is "" or "'s", for the English noun.
    """
    agreement = Agreement(3 if plural else 1, noun.gender)
    french = french_plural(noun.french) if plural else noun.french
    core = pair((noun.plural if plural else noun.singular) + ending, french)
    words, french = (), core.french
    for adjective in adjectives:
        modifier = describe(adjective, agreement, very and not words)
        words += modifier.english
        if adjective.before:
            *adverb, word = modifier.french
            french = (*adverb, word if plural else _before(word, french[0]), *french)
        else:
            french += modifier.french
    words += core.english
    prenominal = any(adjective.before for adjective in adjectives)
    article = _determiner(determiner, agreement, words[0], french[0], prenominal, negated)
    return Phrase(article.english + words, article.french + french, agreement)


def _determiner(english, agreement, next_english, next_french, prenominal, negated):
    """Build the form of a determiner that fits the next word in each language."""
    article = "an" if english == "a" and next_english.text[0] in "aeiouAEIOU" else english
    if english in ("a", "some") and negated:
        return fixed(f"{'any' if english == 'some' else article}|de|0?0")
    if english == "some" and prenominal:  # "des pommes", but "de petites pommes"
        return pair(english, "de")
    if english == "many":
        return fixed("many|beaucoup de|0-0 0?1")
    if agreement.person > 1:
        return pair(english, *PLURAL_DETERMINERS[english])
    phrase = pair(article, DETERMINERS[english][agreement.gender == "f"])
    return Phrase(phrase.english, (_before(phrase.french[0], next_french),))


def _before(word, following):
    """Return the form that a singular word has before the following word."""
    if not starts_with_vowel(following.text):
        return word
    return word._replace(text=BEFORE_VOWEL.get(word.text, word.text))


def possession(owner, noun, adjectives=()):
    """Build "the king's old car", "la vieille voiture du roi", from the owner "the king's"."""
    thing = noun_phrase("the", noun, adjectives)
    mark = owner.english[-1:]
    article, link = French(thing.french[0].text, (), mark), French("de", (), mark)
    french = (article, *thing.french[1:], link, *owner.french)
    return Phrase(owner.english + thing.english[1:], french, thing.agreement)


def predicate(subject, verb, tense="present", adverb="", *, clitic=None, antecedent=None):
    """Build the verb with its adverb and clitic, but without the subject.

    `tense` is "present" or "past" (the French passé composé). `adverb` is a key in `ADVERBS`, or
    "". `antecedent` is the `Phrase` that a relative "that" refers to, or None.
    """
    person = subject.agreement.person
    past, third = tense == "past", person == 1
    if adverb == "not":
        helper, text = _words("did" if past else "does" if third else "do"), verb.base
    else:
        helper, text = (), verb.past if past else english_s(verb.base) if third else verb.base
    head, particle, adverbs = _words(text), _words(verb.particle), _words(adverb)
    doubtful = helper if verb.preposition else helper + particle
    if past:
        auxiliary = (ETRE if verb.etre else AVOIR)[person]
        controller = subject if verb.etre else clitic or antecedent
        agreement = controller.agreement if controller else Agreement(1, "m")
        participle = agreement.inflect(verb.participle, french_feminine(verb.participle))
        forms = (French(auxiliary, (), helper + head), French(participle, head, doubtful))
    else:
        forms = (French(verb.present[person], head, doubtful),)
    clitic = clitic or Phrase()
    french = _surrounded(forms, clitic.french, adverbs, helper)
    if verb.preposition:
        french += (French(verb.preposition, particle, () if particle else head),)
    return Phrase(helper + adverbs + head + particle + clitic.english, french)


def being(subject, tense="present", adverb=""):
    """Build the form of "to be" that agrees with the subject, and the adverb after it."""
    english, french = (forms[subject.agreement.person] for forms in BE[tense])
    form, adverbs = pair(english, french), _words(adverb)
    return Phrase(form.english + adverbs, _surrounded(form.french, (), adverbs))


def _words(text):
    return tuple(English(word) for word in text.split())


def _surrounded(forms, clitic, adverbs, helper=()):
    """Put "ne", a clitic and "pas" around the finite verb, the first of `forms`."""
    finite, *participle = forms
    ne = (French("ne", (), (*helper, word)) for word in adverbs if word.text in NEGATIONS)
    pas = (French(ADVERBS[word.text], (word,)) for word in adverbs)
    return (*ne, *clitic, finite, *pas, *participle)


def render(phrase):
    """Convert a phrase to an `Example`, with elided and contracted French words."""
    french = _liaised(phrase.french)
    index = {word: i for i, word in enumerate(phrase.english)}
    sure = {(index[e], j) for j, word in enumerate(french) for e in word.sure}
    possible = {(index[e], j) for j, word in enumerate(french) for e in word.possible}
    source = " ".join(word.text for word in phrase.english)
    target = " ".join(word.text for word in french)
    return Example(source, target, frozenset(sure), frozenset(sure | possible))


def _liaised(words):
    """Contract "à le" to "au", and "le homme" to "l'homme", from the last word to the first.

    "au" has a sure link to "to" and a possible link to "the"; "l'homme" has a sure link to "man"
    and a possible link to "the".
    """
    joined = []
    for word in reversed(words):
        if joined and (word.text, joined[-1].text) in CONTRACTED:
            following = joined.pop()
            text = CONTRACTED[word.text, following.text]
            word = French(text, word.sure, word.possible + following.sure + following.possible)
        if joined and word.text in ELIDED and starts_with_vowel(joined[-1].text):
            text, sure, possible = joined.pop()
            text = ELIDED[word.text] + text
            word = French(text, sure or word.sure, word.sure + word.possible + possible)
        joined.append(word)
    return tuple(reversed(joined))
