"""A generated English-French corpus with gold word alignments, for the demo.

A grammar combines a small number of words into very many sentences. The English sentence determines
the French one, so a model that has learned the grammar can translate unseen sentences.
"""

import random
from pathlib import Path

from keras_bahdanau.demo import grammar, lexicon
from keras_bahdanau.demo.grammar import fixed, pair

LONGEST = 30  # maximum number of English words, including punctuation


def generate(count, seed=0):
    """Generate a list of `Example` in which no English sentence is repeated.

    The same seed always gives the same pairs. With a larger `count`, more pairs are added at the
    end.
    """
    if count < 0:
        raise ValueError(
            "`count`, the number of sentence pairs, must not be negative. "
            f"Received: count={count!r}. Give 0 or more."
        )
    rng = random.Random(seed)
    examples = {}
    while len(examples) < count:
        example = grammar.render(_Writer(rng).sentence())
        if example.source.count(" ") < LONGEST:
            examples.setdefault(example.source, example)
    return list(examples.values())


def split(train=15000, valid=500, test=500, seed=0):
    """Generate three lists of `Example` that have no English sentence in common."""
    examples = generate(train + valid + test, seed)
    return examples[:train], examples[train : train + valid], examples[train + valid :]


def write(directory, name, examples):
    """Write NAME.en, NAME.fr and NAME.align to a directory, one sentence per line.

    Links are in Pharaoh format, such as "0-0 0?1": the source word, the target word, and between
    them "?" if the link is possible but not sure.
    """
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    lines = {
        "en": [example.source for example in examples],
        "fr": [example.target for example in examples],
        "align": [_pharaoh(example) for example in examples],
    }
    for ending, content in lines.items():
        text = "".join(line + "\n" for line in content)
        (directory / f"{name}.{ending}").write_text(text, encoding="utf-8", newline="\n")


def _pharaoh(example):
    links = sorted(example.possible)
    return " ".join(f"{i}{'-' if (i, j) in example.sure else '?'}{j}" for i, j in links)


class _Writer:
    """Random content for one sentence, in one tense. The grammar turns it into words."""

    def __init__(self, rng):
        self.rng = rng
        self.tense = self.choose(["present", "past"])

    def chance(self, probability):
        return self.rng.random() < probability

    def choose(self, items):
        return self.rng.choice(list(items))

    def weigh(self, weights):
        return self.rng.choices(list(weights), list(weights.values()))[0]

    def sentence(self):
        when, where = fixed(self.choose(lexicon.TIMES[self.tense])), self.rng.random()
        count = self.weigh({1: 74, 2: 16, 3: 10})
        if count == 2 and self.chance(0.3):
            sentence = pair("when", "quand") + self.clause() + pair(",", ",") + self.clause()
        else:
            sentence = when + self.clause() if where < 0.15 else self.clause()
            for _ in range(1, count):
                sentence += fixed(self.choose(lexicon.CONJUNCTIONS)) + self.clause()
        if where > 0.83:
            sentence += when
        return sentence + pair(".", ".")

    def clause(self):
        if self.chance(0.06):
            subject = self.subject()
            verb = grammar.predicate(subject, self.choose(lexicon.SAYING))
            return subject + verb + pair("that", "que") + self.clause()
        adverb = self.weigh({"": 60, "not": 24, "never": 6, "often": 5, "always": 5})
        return self.state(adverb) if self.chance(0.2) else self.deed(adverb)

    def state(self, adverb):
        """Build a clause with "to be" and an attribute or a place."""
        kind = "person" if self.chance(0.4) else self.choose(lexicon.EVERYTHING.split())
        subject = self.subject() if kind == "person" else self.thing(kind)
        phrase = subject + grammar.being(subject, self.tense, adverb)
        if not subject.agreement.gender or (kind != "place" and self.chance(0.4)):
            return phrase + self.location()
        adjective = self.choose(a for a in lexicon.ADJECTIVES if kind in a.kinds)
        return phrase + grammar.describe(adjective, subject.agreement, self.chance(0.25))

    def deed(self, adverb):
        subject = self.subject()
        verb, clitic, end = self.action(subject, negated=adverb in grammar.NEGATIONS)
        return subject + grammar.predicate(subject, verb, self.tense, adverb, clitic=clitic) + end

    def action(self, subject, negated=False, plain=False):
        """Choose a verb, an object pronoun or None, and what follows the verb."""
        kind = self.weigh({"transitive": 60, "giving": 13, "alone": 12, "motion": 15})
        if kind == "motion" and (self.tense == "present" or subject.agreement.gender):
            return self.motion()
        if kind == "giving":
            verb = self.choose(lexicon.GIVING)
            gift = self.thing(verb.objects, negated, plain=True)
            return verb, None, gift + pair("to", "à") + self.person(plain=True)
        if kind == "transitive":
            verb = self.choose(lexicon.TRANSITIVE)
            if "person" in verb.objects and not verb.preposition and self.chance(0.3):
                return verb, grammar.clitic(self.choose(lexicon.CLITICS)), grammar.Phrase()
            if verb.preposition:
                return verb, None, self.person(plain=plain)
            if "person" in verb.objects and self.chance(0.3):
                return verb, None, self.person(negated, plain=plain)
            return verb, None, self.thing(verb.objects, negated, plain=plain)
        return self.choose(lexicon.INTRANSITIVE), None, grammar.Phrase()

    def motion(self):
        verb = self.choose([lexicon.GO, lexicon.COME, lexicon.STAY])
        if verb is lexicon.STAY:
            return verb, None, self.location()
        if verb is lexicon.GO and self.chance(0.25):
            return verb, None, self.country("to")
        preposition = pair("to", "à") if verb is lexicon.GO else pair("from", "de")
        if self.chance(0.25):
            return verb, None, preposition + fixed(self.choose(lexicon.CITIES))
        return verb, None, preposition + self.thing("place", plain=True)

    def location(self):
        if self.chance(0.25):
            return pair("in", "à") + fixed(self.choose(lexicon.CITIES))
        if self.chance(0.25):
            return self.country("in")
        return fixed(self.choose(lexicon.LOCATIONS)) + self.thing("place", plain=True)

    def country(self, preposition):
        return fixed(f"{preposition} {self.choose(lexicon.COUNTRIES)}|0-0 1-1")

    def subject(self):
        if self.chance(0.35):
            return grammar.pronoun(self.choose(lexicon.PRONOUNS))
        return self.thing("animal") if self.chance(0.1) else self.person()

    def person(self, negated=False, *, plain=False):
        if self.chance(0.4):
            return grammar.name(self.choose(lexicon.NAMES))
        return self.thing("person", negated, plain=plain)

    def thing(self, kinds, negated=False, *, plain=False):
        """Choose a noun of one of the `kinds`. With `plain`, it has no relative clause."""
        noun = self.choose(noun for noun in lexicon.NOUNS if noun.kind in kinds)
        adjectives, plural = self.adjectives(noun), self.chance(0.25)
        if not plural and noun.kind != "person" and self.chance(0.08):
            return grammar.possession(self.owner(), noun, adjectives)
        weights = dict.fromkeys(lexicon.PLURAL_DETERMINERS if plural else lexicon.DETERMINERS, 4)
        weights |= {"the": 30} | ({"some": 12} if plural else {"a": 12})
        determiner, very = self.weigh(weights), bool(adjectives) and self.chance(0.12)
        phrase = grammar.noun_phrase(
            determiner, noun, adjectives, plural=plural, very=very, negated=negated
        )
        if plain or self.chance(0.9):
            return phrase
        return phrase + (self.who(phrase) if noun.kind == "person" else self.that(phrase, noun))

    def adjectives(self, noun):
        suited = [a for a in lexicon.ADJECTIVES if noun.kind in a.kinds]
        count = self.weigh({0: 60, 1: 32, 2: 8})
        if count < 2:
            return self.rng.sample(suited, count)
        before = self.choose(a for a in suited if a.before)
        return [before, self.choose(a for a in suited if not a.before)]

    def owner(self):
        if self.chance(0.5):
            return grammar.name(self.choose(lexicon.NAMES), "'s")
        noun = self.choose(noun for noun in lexicon.NOUNS if noun.kind == "person")
        return grammar.noun_phrase("the", noun, ending="'s")

    def who(self, phrase):
        """Build the relative clause for a person: "who loves Anna"."""
        verb, clitic, end = self.action(phrase, plain=True)
        clause = grammar.predicate(phrase, verb, self.tense, clitic=clitic) + end
        return pair("who", "qui") + clause

    def that(self, phrase, noun):
        """Build the relative clause for a thing: "that Anna loves"."""
        subject = grammar.pronoun(self.choose(lexicon.PRONOUNS))
        if self.chance(0.5):
            subject = grammar.name(self.choose(lexicon.NAMES))
        verb = self.choose(v for v in lexicon.TRANSITIVE if noun.kind in v.objects)
        action = grammar.predicate(subject, verb, self.tense, antecedent=phrase)
        return pair("that", "que") + subject + action
