"""Training data: pairs in memory, shards or several corpora, with links, a teacher and batches."""

from typing import Any, NamedTuple

from keras_bahdanau.data.corpora import check_mixed, pairs_of, require_text
from keras_bahdanau.data.pairs import fingerprint_of
from keras_bahdanau.files.integrity import sha256_of
from keras_bahdanau.pipelines.archive import find_translator
from keras_bahdanau.text.features import require_token
from keras_bahdanau.training.infer import SIDES, Facts, types_of
from keras_bahdanau.training.presets.preset import AUTO

LONGEST_VALID = 512  # maximum number of tokens on a side of a validation pair


class Sides(NamedTuple):
    """Source and target, and symbols that a learned source vocabulary keeps as single tokens.

    The source and the target are None if they are to be learned.
    """

    source: Any = None
    target: Any = None
    symbols: list | tuple = ()


class TrainingData(NamedTuple):
    """Training and validation pairs, links between their words, and the files of a teacher."""

    pairs: Any
    valid_pairs: Any
    alignments: list | None = None
    valid_alignments: list | None = None
    teacher: tuple = ()

    @classmethod
    def build(cls, pairs, valid_pairs, alignments=None, valid_alignments=None, teacher=None):
        """Create the data from the arguments of `train`."""
        pairs, valid_pairs = pairs_of(pairs), pairs_of(valid_pairs)
        require_text(valid_pairs)
        return cls(pairs, valid_pairs, alignments, valid_alignments, teacher_files(teacher))

    @property
    def shards(self):
        """List of the `Shards` among the training data: the pairs, or those of some corpora."""
        return [part for part in self.pairs.parts() if not part.in_memory]

    @property
    def inputs(self):
        """List of the source's inputs that are in memory."""
        in_memory = (part for part in self.pairs.parts() if part.in_memory)
        return [source for part in in_memory for source, _ in part]

    @property
    def valid_inputs(self):
        """List of the inputs of the validation pairs."""
        return [source for source, _ in self.valid_pairs]

    def sides(self, source, target, symbols):
        """Return the `Sides` of a training run, with the sides of its shards and with all tags."""
        for shards in self.shards:
            source, target = _sides_of_shards(shards, source, target, symbols)
        return Sides(source, target, [*dict.fromkeys([*symbols, *self.pairs.tags])])

    def facts(self, sides):
        texts = [] if self.shards else self.pairs  # shards contain no text
        return Facts(texts, len(self.pairs), sides.symbols, sides.source, sides.target)

    def fingerprints(self):
        """Return a dictionary of the fingerprints of all data, which a resumed run compares."""
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
        """Return False if the target vocabulary has symbols that no target text contains."""
        from keras_bahdanau.text.alignments import WORD_START  # which loads NumPy

        symbols = {token.strip(WORD_START) for token in target.tokens(target.symbol_ids)}
        if not symbols or self.shards:  # shards contain no text
            return True
        text = "\n".join(text for _, text in self.pairs)
        return any(target.composed(symbol) in text for symbol in symbols)


def check_data(plan):
    """Raise ValueError if a plan's data and options contradict each other."""
    data, options = plan.data, plan.options
    _check_alignments(plan)
    if bool(data.teacher) != (options.word_distillation > 0):
        raise ValueError(
            "Word-level distillation needs both a teacher and `word_distillation`. Received: "
            f"teacher={[*map(str, data.teacher)]}, "
            f"word_distillation={options.word_distillation!r}. Give both, such as a "
            "word_distillation of 0.8, or neither."
        )
    check_mixed(data.pairs, options.temperature, data.alignments)
    for shards in data.shards:
        _check_shards(plan, shards)


def training_batches(plan, workers):
    """Return (training batches, validation batches) for a plan."""
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
    # a space is in every vocabulary, so it is never made unknown
    copies = [-1 if token == WORD_START else copy for token, copy in pairs]
    return UnknownCharacters(copies, options.unknown_rate, options.seed, shard)


def check_characters(rate, source, types):
    """Raise ValueError if `unknown_rate` is given, but not both vocabularies are of characters.

    `types` is a dictionary as from `types_of`. A type that has not been inferred yet is accepted.
    """
    if rate and {types.get(side) for side in ("source", "target")} - {"char", "grapheme", AUTO}:
        raise ValueError(
            "`unknown_rate` needs character vocabularies on both sides. Received: "
            f"unknown_rate={rate!r} with {types.get('source', type(source).__name__)!r} and "
            f"{types['target']!r}. Leave it out, or give the model type 'char'."
        )


def check_sides(plan):
    """Raise ValueError if the options of a new model contradict the source or target of a plan."""
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
    """Return the maximum number of positions in a training source.

    None means that the limit for targets also applies to sources.
    """
    return plan.options.max_source_length or plan.source.longest_of_training


def longest_valid_source(source, longest):
    """Return the maximum number of positions in a validation source.

    `longest` is the limit for training sources.
    """
    return max(longest, source.longest) if longest else None


def teacher_files(teacher):
    """Return a tuple of the files of a teacher."""
    paths = teacher if isinstance(teacher, list | tuple) else [teacher]
    return tuple(find_translator(path) for path in paths if path is not None)


def teacher_prints(files):
    """Return a list of the SHA-256 digests of a teacher's files."""
    prints = []
    for path in files:
        with open(path, "rb") as file:
            prints.append(sha256_of(file))
    return prints


def _sides_of_shards(shards, source, target, symbols):
    """Return the (source, target) that shards were prepared with.

    Raises ValueError if `source`, `target` or `symbols` contradict them.
    """
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
            "Shards can only be used with the source and target that they were prepared with. "
            f"Received: {', '.join(wrong)}, with pairs={str(shards.directory)!r}. Leave out "
            "source, target and symbols, or prepare the corpus again."
        )
    return sides


def _described(side):
    """Format the class name of a source or target with its numeric settings."""
    settings = side.get_config().items()
    numbers = [f"{name}={value}" for name, value in settings if isinstance(value, int | float)]
    return f"{type(side).__name__}({', '.join(numbers)})"


def _check_alignments(plan):
    """Check that alignments are given if, and only if, an option needs them."""
    options, alignments = plan.options, plan.data.alignments
    valid_alignments = plan.data.valid_alignments
    forced = options.attention == "forced"
    needed = forced or options.guided_alignment > 0
    if needed and alignments is None or forced and valid_alignments is None:
        missing = "no alignments" if alignments is None else "none for the validation pairs"
        raise ValueError(
            "Guided alignment needs alignments for the training pairs; the attention 'forced' "
            f"also needs them for the validation pairs. Received: {missing}, with "
            f"guided_alignment={options.guided_alignment!r}, attention={options.attention!r}. "
            "Give the alignments, or leave these options out."
        )
    if valid_alignments is not None and alignments is None:
        raise ValueError(
            "Alignments for the validation pairs need alignments for the training pairs. Received: "
            "only valid_alignments. Give both, or neither."
        )
    if alignments is not None and not needed:
        raise ValueError(
            "Alignments are only for guided alignment or the attention 'forced'. Received: "
            f"alignments, with guided_alignment={options.guided_alignment!r}, "
            f"attention={options.attention!r}. Set guided_alignment to a weight such as 0.1, or "
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
                "Shards contain token ids, so their text can't be split again. Received: "
                f"pairs={str(pairs.directory)!r}, with {name}={value!r}. Leave out {name} (set "
                "subword_sampling to 0), or give the pairs as a list."
            )


def _sorted_links(links):
    """Return links in a fixed order; return an array of word weights unchanged."""
    return links if hasattr(links, "tobytes") else sorted(links)
