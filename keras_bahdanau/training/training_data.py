"""Data of a training: pairs in memory, shards on disk, or several corpora; and their batches."""

from typing import Any, NamedTuple

from keras_bahdanau.data import BatchedPairs
from keras_bahdanau.data.corpora import as_pairs, require_text
from keras_bahdanau.data.tags import require_token
from keras_bahdanau.data.unknown_characters import UnknownCharacters
from keras_bahdanau.sources.source import other_sides, refuse_convolutions
from keras_bahdanau.text.alignments import WORD_START
from keras_bahdanau.text.copies import copied_ids
from keras_bahdanau.training.combinations import AUTO
from keras_bahdanau.training.common_letters import with_defaults_of_common_letters
from keras_bahdanau.training.hard_alignments import with_hard_alignment
from keras_bahdanau.training.many_pairs import with_defaults_of_many
from keras_bahdanau.training.model_types import types_of, with_model_types
from keras_bahdanau.training.normalizations import with_normalizations
from keras_bahdanau.training.word_teacher import teacher_files

LONGEST_VALID = 512  # tokens of a validation pair


class Sides(NamedTuple):
    """Source and target as far as they are given, and the symbols of the source.

    Attributes:
        source: `Source`, or the `Subwords` of the source text, or None.
        target: `Subwords`, or None.
        symbols: List of strings, each of which is one token of a source that is learnt.
    """

    source: Any
    target: Any
    symbols: list


class TrainingData(NamedTuple):
    """Pairs to train on and to validate on, wherever they are, and the links of their words.

    Attributes:
        pairs: `Pairs`.
        valid_pairs: `Pairs` that are in memory.
        alignments: List of sets of links of `pairs`, or None.
        valid_alignments: The same of `valid_pairs`.
        teacher: Tuple of the files of a teacher: see `word_teacher.teacher_files`.
    """

    pairs: Any
    valid_pairs: Any
    alignments: list | None = None
    valid_alignments: list | None = None
    teacher: tuple = ()

    @property
    def shards(self):
        """List of the `Shards`: the pairs, or those of some of the corpora."""
        return [part for part in self.pairs.parts() if not part.in_memory]

    @property
    def inputs(self):
        """List of the inputs of the source that are in memory."""
        in_memory = (part for part in self.pairs.parts() if part.in_memory)
        return [one for part in in_memory for one, _ in part]

    @property
    def valid_inputs(self):
        """List of the inputs of the validation pairs."""
        return [one for one, _ in self.valid_pairs]

    def sides(self, source, target, symbols):
        """The `Sides` of a training, with those that shards were prepared with, and with tags.

        Raises:
            ValueError: If others are given than those of the shards.
        """
        for one in self.shards:
            source, target = _sides_of_shards(one, source, target, symbols)
        return Sides(source, target, [*dict.fromkeys([*symbols, *self.pairs.tags])])

    def with_found(self, options, sides, say):
        """Options with those that follow from the pairs: model types, alignments, defaults."""
        texts = [] if self.shards else self.pairs  # shards have no texts to look at
        options = with_model_types(options, texts, sides.symbols, say)
        options = with_normalizations(options, texts, say)
        options = with_defaults_of_many(options, len(self.pairs), say)
        options = with_hard_alignment(options, texts, say)
        return with_defaults_of_common_letters(options, texts, sides, say)

    def write_symbols(self, target):
        """False if the target's vocabulary has symbols, and no target text has one of them."""
        symbols = {one.strip("\u2581") for one in target.tokens(target.symbol_ids)}
        if not symbols or self.shards:  # the text of shards is nowhere
            return True
        text = "\n".join(one for _, one in self.pairs)
        return any(target.composed(symbol) in text for symbol in symbols)

    def batches(self, source, target, options, workers):
        """(training batches, validation batches).

        Args:
            source: `Source`.
            target: `Subwords`.
            options: `TrainingOptions`, resolved.
            workers: `Workers`, each of which trains on its part of a batch.

        Raises:
            ValueError: If no pair can be trained on, a tag is no token of the source, or
                `unknown_rate` is given with a vocabulary that is not one of characters.
        """
        for one in (self.pairs, self.valid_pairs):
            for tag in one.tags:
                require_token(tag, source)
        longest = longest_source(source, options)
        measure = "batch_tokens" if options.batch_tokens else "batch_sentences"
        settings = {
            measure: getattr(options, measure),
            "buckets": options.buckets,
            "seed": options.seed,
        }
        shard = workers.index, workers.count
        trained = self.pairs.batches(
            source,
            target,
            max_length=options.max_length,
            max_source_length=longest,
            alignments=self.alignments,
            subword_sampling=options.subword_sampling,
            least_steps=options.epoch_steps,
            temperature=options.temperature,
            shard=shard,
            **settings,
        )
        if options.unknown_rate:
            trained.unknown = _unknown_characters(source, target, options, shard)
        validated = BatchedPairs(
            self.valid_pairs,
            source,
            target,
            max_length=LONGEST_VALID,
            max_source_length=longest_valid_source(source, longest),
            alignments=self.valid_alignments,
            shuffle=False,
            **settings,
        )
        return trained, validated


def _unknown_characters(source, target, options, shard):
    """The `UnknownCharacters` of a training.

    Raises:
        ValueError: If a vocabulary is not one of characters.
    """
    check_characters(options.unknown_rate, source, types_of(source, target))
    tokens = source.subwords.tokens(range(source.size)).tolist()
    pairs = zip(tokens, copied_ids(source.subwords, target), strict=True)
    copies = [
        -1 if token == WORD_START else one for token, one in pairs
    ]  # each vocabulary has a space
    return UnknownCharacters(copies, options.unknown_rate, options.seed, shard)


def check_characters(rate, source, types):
    """Raise ValueError if characters shall be unknown in a vocabulary that is not one of them.

    Args:
        rate: Float, the `unknown_rate`.
        source: `Source`, or None.
        types: Dictionary of model types: see `types_of`. One that is to be found may be right.
    """
    if rate and {types.get(side) for side in ("source", "target")} - {"char", "grapheme", AUTO}:
        raise ValueError(
            "Characters are unknown where both vocabularies are of characters. Received: "
            f"unknown_rate={rate!r} with {types.get('source', type(source).__name__)!r} and "
            f"{types['target']!r}. Leave it out, or give the model type 'char'."
        )


def check_sides(options, source, target):
    """Raise ValueError if options do not go with the sides, before vocabularies are learnt.

    Args:
        options: `TrainingOptions`, resolved, of a training that begins with no model.
        source: `Source` or `Subwords`; None for a text whose vocabulary is yet to be learnt.
        target: `Subwords`; None likewise.
    """
    if source is None:
        refuse_convolutions("text", options.convolutions, options.augmentation)
    sides = {"source": source, "target": target}
    learnt = {one: getattr(options, f"{one}_model_type") for one in sides if sides[one] is None}
    check_characters(options.unknown_rate, source, learnt | types_of(source, target))


def longest_source(source, options):
    """Most positions of a source that is trained on; None for those of a target."""
    return options.max_source_length or source.longest_of_training


def longest_valid_source(source, longest):
    """Most positions of a source that is validated on, by those that are trained on."""
    return max(longest, source.longest) if longest else None


def training_data(pairs, valid_pairs, alignments=None, valid_alignments=None, teacher=None):
    """`TrainingData` of what a user gives: lists of `data.Corpus`, too.

    Raises:
        FileNotFoundError: If there is no such teacher.
        ValueError: If validation pairs are not text in memory.
    """
    pairs, valid_pairs = as_pairs(pairs), as_pairs(valid_pairs)
    require_text(valid_pairs)
    return TrainingData(pairs, valid_pairs, alignments, valid_alignments, teacher_files(teacher))


def _sides_of_shards(shards, source, target, symbols):
    """(source, target) that the ids of shards belong to."""
    own = (shards.source, shards.target)
    others = [
        f"{name}={_described(other)} in place of {_described(one)}"
        for name, one, other in other_sides(own, (source, target))
    ]
    if symbols:
        others.append(f"symbols={list(symbols)!r:.80}")
    if others:
        raise ValueError(
            "Shards have the source and target that they were prepared with. Received: "
            f"{', '.join(others)}, with pairs={str(shards.directory)!r}. Give the same or none, "
            "and no symbols, or prepare the corpus again."
        )
    return own


def _described(side):
    """The class of a source or target, with the settings that are numbers."""
    settings = side.get_config().items()
    numbers = [f"{name}={value}" for name, value in settings if isinstance(value, int | float)]
    return f"{type(side).__name__}({', '.join(numbers)})"
