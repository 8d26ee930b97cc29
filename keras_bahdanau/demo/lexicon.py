"""The words of the demo corpus.

Every English word form has one French counterpart. Only its agreement can vary, and the rest of the
English sentence determines that, so a translation is either right or wrong.
"""

from typing import NamedTuple

ASPIRATED = {"héros"}  # words without elision before them: "le héros", but "l'homme"
EVERYTHING = "person animal thing text food place"


class Noun(NamedTuple):
    """A noun: English singular and plural, French singular, gender ("m" or "f") and kind."""

    singular: str
    plural: str
    french: str
    gender: str
    kind: str


class Adjective(NamedTuple):
    """An adjective, with the kinds of noun it fits. `before`: True if it precedes French nouns."""

    english: str
    masculine: str
    feminine: str
    kinds: str
    before: bool


class Verb(NamedTuple):
    """A verb.

    `present` contains the French forms for je, il, nous and ils. `objects` contains the kinds of
    noun that can be its object. English may add a `particle` ("wait for"), and French a
    `preposition` ("répondre à"). `etre` is True if the French past tense uses "être".
    """

    base: str
    past: str
    particle: str
    present: tuple[str, ...]
    participle: str
    objects: str
    preposition: str
    etre: bool


def english_s(word):
    """Add the -s of the English plural, or of the third person singular."""
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "ch", "sh", "o")) else "s")


def french_plural(word):
    """Return the plural of a French noun, adjective or participle."""
    if word.endswith("al"):
        return word[:-1] + "ux"
    if word.endswith(("s", "x")):
        return word
    return word + ("x" if word.endswith("eau") else "s")


def french_feminine(word):
    """Return the regular feminine of a French adjective or participle."""
    return word if word.endswith("e") else word + "e"


def starts_with_vowel(word):
    """Return True if a French word begins with a spoken vowel, which may follow a mute h."""
    return word[0].lower() in "aâeéèêiîoôuœ" or (word[0] == "h" and word not in ASPIRATED)


def _rows(table):
    """Return a dictionary from the first word of each row to the other words."""
    return {first: words for first, *words in map(str.split, table.split(", "))}


def _nouns(kind, table):
    for row in table.split(", "):
        english, french, gender = row.split()
        singular, _, plural = english.partition("/")
        yield Noun(singular, plural or english_s(singular), french, gender, kind)


def _adjectives(kinds, table, before=False):
    for row in table.split(", "):
        english, masculine, *feminine = row.split()
        feminine = "".join(feminine) or french_feminine(masculine)
        yield Adjective(english, masculine, feminine, kinds, before)


def _verb(english, french, objects="", preposition="", etre=False):
    base, past, particle = f"{english} ".split(" ", 2)
    if french.endswith("er"):  # a regular verb, given by its infinitive
        stem = french[:-2]
        french = f"{stem}e {stem}e {stem}{'e' * stem.endswith('g')}ons {stem}ent {stem}é"
    *present, participle = french.split()
    particle = particle.strip()
    return Verb(base, past, particle, tuple(present), participle, objects, preposition, etre)


NOUNS = [
    *_nouns(
        "person",
        "man/men homme m, woman/women femme f, boy garçon m, girl fille f, king roi m, "
        "queen reine f, child/children enfant m, doctor médecin m, uncle oncle m, aunt tante f, "
        "actress actrice f, hero héros m",
    ),
    *_nouns("animal", "dog chien m, cat chat m, horse cheval m, bird oiseau m, cow vache f"),
    *_nouns(
        "thing",
        "car voiture f, key clé f, hat chapeau m, umbrella parapluie m, painting tableau m, "
        "flower fleur f, chair chaise f, clock horloge f",
    ),
    *_nouns("text", "book livre m, letter lettre f, newspaper journal m, story histoire f"),
    *_nouns("food", "apple pomme f, egg œuf m, cake gâteau m, pear poire f"),
    *_nouns(
        "place",
        "garden jardin m, park parc m, school école f, church église f, village village m, "
        "hospital hôpital m, hotel hôtel m, museum musée m, library bibliothèque f, "
        "house maison f, castle château m",
    ),
]

ADJECTIVES = [
    *_adjectives(
        EVERYTHING,
        "small petit, big grand, beautiful beau belle, old vieux vieille",
        before=True,
    ),
    *_adjectives("thing text place", "new nouveau nouvelle", before=True),
    *_adjectives("person animal", "young jeune", before=True),
    *_adjectives(EVERYTHING, "strange étrange"),
    *_adjectives("person animal", "tired fatigué, happy heureux heureuse, intelligent intelligent"),
    *_adjectives("person text place", "famous célèbre, French français, Italian italien italienne"),
    *_adjectives("thing food", "green vert, red rouge, heavy lourd"),
    *_adjectives("thing animal", "white blanc blanche, black noir"),
    *_adjectives("thing text food", "expensive cher chère"),
]

# No verb has the same present and past form ("they put"), because the tense must be unambiguous.
TRANSITIVE = [
    _verb("see saw", "vois voit voyons voient vu", EVERYTHING),
    _verb("love loved", "aimer", EVERYTHING),
    _verb("look looked for", "chercher", EVERYTHING),
    _verb("find found", "trouver", EVERYTHING),
    _verb("forget forgot", "oublier", EVERYTHING),
    _verb("watch watched", "regarder", "person animal place"),
    _verb("wait waited for", "attends attend attendons attendent attendu", "person animal"),
    _verb("help helped", "aider", "person animal"),
    _verb("buy bought", "achète achète achetons achètent acheté", "animal thing text food"),
    _verb("sell sold", "vends vend vendons vendent vendu", "animal thing text food"),
    _verb("take took", "prends prend prenons prennent pris", "thing text food"),
    _verb("write wrote", "écris écrit écrivons écrivent écrit", "text"),
    _verb("eat ate", "manger", "food"),
    _verb("talk talked to", "parler", "person", preposition="à"),
    _verb("answer answered", "réponds répond répondons répondent répondu", "person", "à"),
]
GIVING = [
    _verb("give gave", "donner", "animal thing text food"),
    _verb("show showed", "montrer", "animal thing text food"),
    _verb("send sent", "envoie envoie envoyons envoient envoyé", "thing text food"),
]
INTRANSITIVE = [
    _verb("sleep slept", "dors dort dormons dorment dormi"),
    _verb("work worked", "travailler"),
    _verb("sing sang", "chanter"),
    _verb("dance danced", "danser"),
    _verb("laugh laughed", "ris rit rions rient ri"),
]
GO = _verb("go went", "vais va allons vont allé", etre=True)
COME = _verb("come came", "viens vient venons viennent venu", etre=True)
STAY = _verb("stay stayed", "rester", etre=True)
SAYING = [_verb("think thought", "penser"), _verb("say said", "dis dit disons disent dit")]

DETERMINERS = _rows(  # English, French masculine and feminine
    "the le la, a un une, this ce cette, my mon ma, his son sa, her son sa, our notre notre, "
    "their leur leur"
)
PLURAL_DETERMINERS = _rows(
    "the les, some des, these ces, two deux, many beaucoup, my mes, his ses, her ses, our nos, "
    "their leurs"
)
BEFORE_VOWEL = {  # singular forms that change before a vowel: "cet homme", "son histoire"
    "ce": "cet",
    "ma": "mon",
    "sa": "son",
    "beau": "bel",
    "nouveau": "nouvel",
    "vieux": "vieil",
}
NAMES = {
    **dict.fromkeys(["Paul", "Marc", "Antoine", "David", "Simon"], "m"),
    **dict.fromkeys(["Marie", "Anna", "Alice", "Claire", "Julie"], "f"),
}
# "They" and "them" are left out because English does not mark their gender. "I" and "we" have only
# a person.
PRONOUNS = {  # English -> French, person (the index into `Verb.present`), gender
    "I": ("je", 0, ""),
    "he": ("il", 1, "m"),
    "she": ("elle", 1, "f"),
    "we": ("nous", 2, ""),
}
CLITICS = {"him": ("le", 1, "m"), "her": ("la", 1, "f")}

# Fixed expressions: English | French | links (0-0 sure, 0?0 possible).
CITIES = ["Paris|Paris|0-0", "London|Londres|0-0", "Lyon|Lyon|0-0", "Rome|Rome|0-0"]
COUNTRIES = ["France|en France", "Spain|en Espagne", "Canada|au Canada", "Japan|au Japon"]
LOCATIONS = [
    "in|dans|0-0",
    "near|près de|0-0 0?1",
    "behind|derrière|0-0",
    "in front of|devant|0?0 1-0 2?0",
]
TIMES = {
    "present": [
        "today|aujourd'hui|0-0",
        "now|maintenant|0-0",
        "every day|tous les jours|0-0 0?1 1-2",
    ],
    "past": [
        "yesterday|hier|0-0",
        "last night|hier soir|0-0 1-1",
        "this morning|ce matin|0-0 1-1",
        "on Monday|lundi|0?0 1-0",
    ],
}
CONJUNCTIONS = [
    ", and|, et|0-0 1-1",
    ", but|, mais|0-0 1-1",
    "because|parce que|0-0 0?1",
    "when|quand|0-0",
]
