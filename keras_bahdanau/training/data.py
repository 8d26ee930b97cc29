"""Data of a training: pairs in memory, shards or several corpora; links, teacher, and batches."""

from typing import Any, NamedTuple

from keras_bahdanau.data.corpora import check_mixed, pairs_of, require_text
from keras_bahdanau.data.pairs import fingerprint_of
from keras_bahdanau.files.integrity import sha256_of
from keras_bahdanau.pipelines.archive import find_translator
from keras_bahdanau.text.features import require_token
from keras_bahdanau.training.infer import SIDES, Facts, types_of
from keras_bahdanau.training.presets.preset import AUTO

LONGEST_VALID = 512  # tokens of a validation pair


class Sides(NamedTuple):
    """Source and target, or None, and symbols that become one token each of a learned source."""

    source: Any = None
    target: Any = None
    symbols: list | tuple = ()


class TrainingData(NamedTuple):
    """Training and validation pairs, links between their words, and paths of a teacher."""

    pairs: Any
    valid_pairs: Any
    alignments: list | None = None
    valid_alignments: list | None = None
    teacher: tuple = ()

    @classmethod
    def build(cls, pairs, valid_pairs, alignments=None, valid_alignments=None, teacher=None):
        """Data of `train`: lists of pairs, shards or corpora; paths of a teacher."""
        pairs, valid_pairs = pairs_of(pairs), pairs_of(valid_pairs)
        require_text(valid_pairs)
        return cls(pairs, valid_pairs, alignments, valid_alignments, teacher_files(teacher))

    @property
    def shards(self):
        """List of the `Shards`: the pairs, or those of some of the corpora."""
        return [part for part in self.pairs.parts() if not part.in_memory]

    @property
    def inputs(self):
        """List of the inputs of the source that are in memory."""
        in_memory = (part for part in self.pairs.parts() if part.in_memory)
        return [source for part in in_memory for source, _ in part]

    @property
    def valid_inputs(self):
        """List of the inputs of the validation pairs."""
        return [source for source, _ in self.valid_pairs]

    def sides(self, source, target, symbols):
        """The `Sides` of a training, with those of its shards and with tags."""
        for shards in self.shards:
            source, target = _sides_of_shards(shards, source, target, symbols)
        return Sides(source, target, [*dict.fromkeys([*symbols, *self.pairs.tags])])

    def facts(self, sides):
        texts = [] if self.shards else self.pairs  # shards have no texts
        return Facts(texts, len(self.pairs), sides.symbols, sides.source, sides.target)

    def fingerprints(self):
        """Dictionary of the fingerprints of all data, which a resumed run compares."""
        prints = {"valid": fingerprint_of(self.valid_pairs)}
        trained = [part.fingerprint for part in self.pairs.parts()]
        if self.pairs.corpora:
            prints |= {"corpora": self.pairs.card(), "train": trained}
        else:
            (prints["train"],) = trained
        for name in ("alignments", "valid_alignments"):
            links = getattr(self, name)
            if links is not None:
                prints[name] = fingerprint_of((_sorted_links(row), "") for row in links)
        if self.teacher:
            prints["teacher"] = teacher_prints(self.teacher)
        return prints

    def write_symbols(self, target):
        """False if the target's vocabulary has symbols that no target text contains."""
        from keras_bahdanau.text.alignments import WORD_START  # which loads NumPy

        symbols = {token.strip(WORD_START) for token in target.tokens(target.symbol_ids)}
        if not symbols or self.shards:  # shards keep no text
            return True
        text = "\n".join(text for _, text in self.pairs)
        return any(target.composed(symbol) in text for symbol in symbols)


def check_data(plan):
    """Raise ValueError if the data of a plan and its options contradict each other."""
    data, options = plan.data, plan.options
    _check_alignments(plan)
    if bool(data.teacher) != (options.word_distillation > 0):
        raise ValueError(
            "Word-level distillation needs a teacher, and its share of the loss. Received: "
            f"teacher={[*map(str, data.teacher)]}, "
            f"word_distillation={options.word_distillation!r}. Give both, such as 0.8 for the "
            "share, or neither."
        )
    check_mixed(data.pairs, options.temperature, data.alignments)
    for shards in data.shards:
        _check_shards(plan, shards)


def training_batches(plan, workers):
    """(training batches, validation batches) of a plan."""
    from keras_bahdanau.data import BatchedPairs  # which loads TensorFlow

    source, target, options, data = plan.source, plan.target, plan.options, plan.data
    for tag in (*data.pairs.tags, *data.valid_pairs.tags):
        require_token(tag, source)
    longest = longest_source(plan)
    measure = "batch_tokens" if options.batch_tokens else "batch_sentences"
    settings = {
        measure: getattr(options, measure),
        "buckets": options.buckets,
        "seed": options.seed,
    }
    shard = workers.index, workers.count
    trained = data.pairs.batches(
        source,
        target,
        max_length=options.max_length,
        max_source_length=longest,
        alignments=data.alignments,
        subword_sampling=options.subword_sampling,
        least_steps=options.epoch_steps,
        temperature=options.temperature,
        shard=shard,
        **settings,
    )
    if options.unknown_rate:
        trained.unknown = _unknown_characters(plan, shard)
    validated = BatchedPairs(
        data.valid_pairs,
        source,
        target,
        max_length=LONGEST_VALID,
        max_source_length=longest_valid_source(source, longest),
        alignments=data.valid_alignments,
        shuffle=False,
        **settings,
    )
    return trained, validated


def _unknown_characters(plan, shard):
    from keras_bahdanau.data.rows import UnknownCharacters
    from keras_bahdanau.text.alignments import WORD_START
    from keras_bahdanau.text.copies import copied_ids

    source, target, options = plan.source, plan.target, plan.options
    check_characters(options.unknown_rate, source, types_of(source, target))
    tokens = source.subwords.tokens(range(source.size)).tolist()
    pairs = zip(tokens, copied_ids(source.subwords, target), strict=True)
    # each vocabulary has a space
    copies = [-1 if token == WORD_START else copy for token, copy in pairs]
    return UnknownCharacters(copies, options.unknown_rate, options.seed, shard)


def check_characters(rate, source, types):
    """Raise ValueError if `unknown_rate` is given for a vocabulary other than characters.

    `types` are those of `types_of`. A type that is not inferred yet passes.
    """
    if rate and {types.get(side) for side in ("source", "target")} - {"char", "grapheme", AUTO}:
        raise ValueError(
            "Characters are unknown where both vocabularies are of characters. Received: "
            f"unknown_rate={rate!r} with {types.get('source', type(source).__name__)!r} and "
            f"{types['target']!r}. Leave it out, or give the model type 'char'."
        )


def check_sides(plan):
    """Raise ValueError if options of a new model contradict the sides of its draft."""
    source, target, options = plan.source, plan.target, plan.options
    if source is None:
        from keras_bahdanau.sources.source import refuse_convolutions

        refuse_convolutions("text", options.convolutions, options.augmentation)
    learned = {
        side: getattr(options, f"{side}_model_type")
        for side, value in zip(SIDES, (source, target), strict=True)
        if value is None
    }
    check_characters(options.unknown_rate, source, learned | types_of(source, target))


def longest_source(plan):
    """Most positions of a training source; None for the limit of targets."""
    return plan.options.max_source_length or plan.source.longest_of_training


def longest_valid_source(source, longest):
    """Most positions of a validation source, given the limit of training sources."""
    return max(longest, source.longest) if longest else None


def teacher_files(teacher):
    """Tuple of the files of a teacher."""
    paths = teacher if isinstance(teacher, list | tuple) else [teacher]
    return tuple(find_translator(path) for path in paths if path is not None)


def teacher_prints(files):
    """List of the SHA-256 of the files of a teacher."""
    prints = []
    for path in files:
        with open(path, "rb") as file:
            prints.append(sha256_of(file))
    return prints


def _sides_of_shards(shards, source, target, symbols):
    """(source, target) that the ids of shards belong to."""
    from keras_bahdanau.sources.text_source import changed_sides

    sides = (shards.source, shards.target)
    wrong = [
        f"{name}={_described(wrong_side)} in place of {_described(side)}"
        for name, side, wrong_side in changed_sides(sides, (source, target))
    ]
    if symbols:
        wrong.append(f"symbols={list(symbols)!r:.80}")
    if wrong:
        raise ValueError(
            "Shards have the source and target that they were prepared with. Received: "
            f"{', '.join(wrong)}, with pairs={str(shards.directory)!r}. Give the same or none, "
            "and no symbols, or prepare the corpus again."
        )
    return sides


def _described(side):
    """The class of a source or target, with its numeric settings."""
    settings = side.get_config().items()
    numbers = [f"{name}={value}" for name, value in settings if isinstance(value, int | float)]
    return f"{type(side).__name__}({', '.join(numbers)})"


def _check_alignments(plan):
    """Check that alignments and the options that need alignments are given together."""
    options, alignments = plan.options, plan.data.alignments
    valid_alignments = plan.data.valid_alignments
    forced = options.attention == "forced"
    needed = forced or options.guided_alignment > 0
    if needed and alignments is None or forced and valid_alignments is None:
        missing = "no alignments" if alignments is None else "none of the validation pairs"
        raise ValueError(
            "Guided alignment needs alignments of the training pairs, and the attention "
            f"'forced' those of the validation pairs too. Received: {missing}, with "
            f"guided_alignment={options.guided_alignment!r}, attention={options.attention!r}. "
            "Give them, or leave both out."
        )
    if valid_alignments is not None and alignments is None:
        raise ValueError(
            "Alignments of the validation pairs go with those of the training pairs. Received: "
            "valid_alignments alone. Give both, or neither."
        )
    if alignments is not None and not needed:
        raise ValueError(
            "Alignments are for guided alignment, or for the attention 'forced'. Received: "
            f"alignments, with guided_alignment={options.guided_alignment!r}, "
            f"attention={options.attention!r}. Give guided_alignment a weight such as 0.1, or "
            "leave the alignments out."
        )


def _check_shards(plan, pairs):
    options = plan.options
    needs_text = {
        "subword_sampling": options.subword_sampling,
        "alignments": plan.data.alignments is not None,
        "update_vocabulary": options.update_vocabulary == "append" and "append",
    }
    for name, value in needs_text.items():
        if value:
            raise ValueError(
                "Shards hold ids, which can't be split anew. Received: "
                f"pairs={str(pairs.directory)!r}, with {name}={value!r}. Leave that out (0 for "
                "subword_sampling), or give the pairs as a list."
            )


def _sorted_links(links):
    """Links in a fixed order, or the weights of words unchanged."""
    return links if hasattr(links, "tobytes") else sorted(links)
