"""Vocabularies for training: from the run, given by the user, or learned from the pairs."""

from keras_bahdanau.files.integrity import Damage
from keras_bahdanau.settings.checks import counted
from keras_bahdanau.sources.named_source import read_sides
from keras_bahdanau.sources.text_source import changed_sides, source_of
from keras_bahdanau.text.features import infer_position
from keras_bahdanau.text.host_text import HostText
from keras_bahdanau.text.subwords import Subwords
from keras_bahdanau.text.vocabulary import UNKNOWN

NAMED = 5  # maximum number of symbols to name in a message


def vocabularies(plan, run, old, texts, say):
    """Return (source, target): from a run's card, given by the user, or learned from the pairs.

    `old` is the `Adaptation` of the initial model, or None. `texts` are pairs that can update its
    vocabularies.
    """
    source, target, symbols, pairs = plan.source, plan.target, plan.symbols, plan.data.pairs
    if run.exists():
        source, target = _sides_recorded(plan, run)
        report_split(symbols, source, "a run that is resumed keeps its vocabulary", say)
        return source, target
    if old is not None:
        source, target = old.sides(plan, texts, say)
        pairs = texts  # from which replaced vocabularies are learned
    if source is None and target is None and plan.options.joint:
        texts = [pair[side] for side in (0, 1) for pair in pairs]
        target = source = learned("joint", texts, plan, "source", say)
    if source is None:
        sources = [pair[0] for pair in pairs]
        source = learned("source", sources, plan, "source", say)
    if target is None:
        target = learned("target", [pair[1] for pair in pairs], plan, "target", say)
    if plan.source is not None and (old is None or plan.options.update_vocabulary == "replace"):
        report_split(symbols, source, "an existing vocabulary is not changed", say)
    if old is None:
        _report_rare((plan.source, plan.target), (source, target), len(pairs), say)
    if isinstance(source, Subwords):
        feature_place = infer_position(
            (text for text, _ in plan.data.pairs), {*source.symbols, *symbols}
        )
        source = source_of(source, feature_place=feature_place)
    _report_misplaced(source, plan.data.pairs, say)
    return source_of(source), target


def _sides_recorded(plan, run):
    """Read (source, target) from the card of a run.

    Raises ValueError if the user gives a different source or target.
    """
    card = run.read_card()
    if not {"source", "target"} <= card.keys():
        raise ValueError(
            "The card of a run must contain its source and target. Received: the card "
            f"{str(run.card)!r} without them, for example from an older version of this package. "
            "To start over, choose another output directory."
        )
    try:
        recorded = read_sides(card)
    except Damage as error:
        raise run.damaged(run.card, error) from None
    for name, _, _ in changed_sides(recorded, (plan.source, plan.target)):
        raise ValueError(
            "A run resumes with the source and target it began with. Received: another "
            f"{name} than that of out={str(run.directory)!r}. Leave it out, or choose "
            "another output directory."
        )
    return recorded


def _report_misplaced(source, pairs, say):
    """Report the first source whose features are not where the model reads them."""
    if isinstance(source, HostText) and getattr(pairs, "in_memory", True):
        moved = ((text, source.misplaced(text)) for text, _ in pairs)
        text, better = next((pair for pair in moved if pair[1] is not None), (None, None))
        if text is not None:
            say(f"features are not where the model reads them: {text!r:.80}, not {better!r:.80}")


def report_split(symbols, source, reason, say):
    """Report the symbols that are not single tokens of a source, with the reason or a remedy."""
    subwords = source_of(source).subwords
    rows = [[]] * len(symbols) if subwords is None else subwords.encode([*symbols])
    # a symbol that is one token has two ids: its own and that of the end token
    split = [
        symbol
        for symbol, ids in zip(symbols, rows, strict=True)
        if len(ids) != 2 or ids[0] == UNKNOWN
    ]
    if split:
        names = ", ".join(split[:NAMED]) + (", ..." if len(split) > NAMED else "")
        count = counted(len(split), "symbols")
        say(f"the source splits or does not know {count}: {names}; {reason}")


def _report_rare(sides, vocabularies, count, say):
    """Report, at most once, that a learned vocabulary has more subwords than there are pairs."""
    for name, side, vocabulary in zip(("source", "target"), sides, vocabularies, strict=False):
        size = 0 if side is not None else getattr(vocabulary, "vocabulary_size", 0)
        if size > count and vocabulary.model_type in ("bpe", "unigram"):
            say(
                f"{size:,} tokens for {count:,} pairs: most subwords occur only once. Try "
                f"--{name}-model-type char, or a smaller --vocabulary-size"
            )
            return


def learned(name, texts, plan, side, say):
    """Learn `Subwords` from texts, according to the options for a side."""
    options = plan.options
    size = getattr(options, f"{side}_vocabulary_size")
    subwords = Subwords.train(
        texts,
        size,
        model_type=getattr(options, f"{side}_model_type"),
        normalization=getattr(options, f"{side}_normalization"),
        symbols=() if name == "target" else plan.symbols,
        exact=False,
        name="source and target text" if name == "joint" else f"{name} text",
    )
    if subwords.vocabulary_size < size:
        say(
            f"the {name} vocabulary has {subwords.vocabulary_size:,} tokens, not {size:,}: "
            "the text has no more"
        )
    return subwords
