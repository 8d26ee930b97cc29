"""Settings of a training: one field an option, with check, default and help."""

import argparse
import dataclasses
import functools
import json
from types import SimpleNamespace

from keras_bahdanau.limits import LENGTH, PRECISIONS, VOCABULARY_SIZE, WIDTH
from keras_bahdanau.option import (
    check_option,
    documented,
    flag,
    integer,
    integers,
    names,
    number,
    one_of,
    option,
    optional,
    or_registered,
    some_of,
)
from keras_bahdanau.training.combinations import (
    AUTO,
    PARALLEL_CELLS,
    check_together,
    is_hard,
)
from keras_bahdanau.training.presets import PRESETS

_CELLS = (
    *("simple", "gru", "gru-reset-before", "lstm", "layer-norm-gru", "layer-norm-lstm"),
    *PARALLEL_CELLS,
)
_COUNT = integer(1, 1_000_000)
_MODEL_TYPE = one_of("bpe", "unigram", "char", "grapheme", "word", AUTO)
_NORMALIZATION = one_of(
    *("nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity", "none", "nfd", AUTO)
)
_JUDGE = one_of(  # of `METRICS`, which is slow to import, those that take one text of a source
    *("perplexity", "bleu", "chrf", "ter", "wer", "per", "cer", "ser", "exact"),
    *("exprate", "exprate1", "exprate2", "exprate3"),
)._replace(
    mends=dict.fromkeys(
        ("top2", "top3", "top5", "top10"),
        "Validation decodes greedily, one text of a source, and top-k accuracy takes several. "
        "Judge by 'exact', and measure the trained model with `evaluate`.",
    )
)
_RATE, _WEIGHT = number(0, 1, "[)"), number(0, 1000)


def _of_training(check, help, default=None, **metadata):
    """Option that is None unless given; `default` stands in for what no preset gives.

    A default that is a function of the other options follows them.
    """
    return option(None, check, help, resolved=default, **metadata)


_of_model = functools.partial(_of_training, of_model=True)


def _can_be_joint(options):
    return (
        options.source_model_type == options.target_model_type
        and options.source_normalization == options.target_normalization
        and options.source_vocabulary_size == options.target_vocabulary_size
    )


def _readout_units(options):
    return options.units if options.readout == "plain" else options.embedding_units


@documented
@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """Settings of `train`, vocabulary and model included.

    An instance holds the options that were given: one that is left out is None, and
    `dataclasses.replace` changes it as the constructor would. `resolved()` fills in the
    rest, from the preset and from the options on which others depend.

    Raises:
        ValueError: If a value is out of range, or does not go with the others.
    """

    preset: str | None = option(
        None,
        optional(one_of(*PRESETS)),
        "Source of the options left out: {choices}. That of the source if it is left out, too: "
        '"small" for text, "images", "ink" or "speech".',
        resolved="small",
    )

    # the text
    vocabulary_size: int | None = _of_training(
        VOCABULARY_SIZE, "Tokens of each vocabulary, or as many as the text has."
    )
    model_type: str | None = _of_training(
        _MODEL_TYPE,
        'Vocabulary of SentencePiece: {choices}. "grapheme" has characters, each with its '
        'combining marks, "word" what stands between spaces, such as phonemes; "auto" is "word" '
        'for a side whose text is single symbols with spaces between, and else "char".',
        "bpe",
    )
    normalization: str | None = _of_training(
        _NORMALIZATION,
        'Unicode normalization of both sides: {choices}. "identity" and "none" leave characters as '
        'they are, which phonemes need; with "none" a vocabulary of characters keeps every space, '
        'too. "nfd" does, and decomposes characters, such as Hangul syllables into letters; '
        'targets are composed again. "auto" is "nfd" for a side of Hangul, and else "none".',
        "nmt_nfkc",
    )
    source_vocabulary_size: int | None = _of_training(
        VOCABULARY_SIZE,
        "Tokens of the source vocabulary; `vocabulary_size` if left out.",
        lambda options: options.vocabulary_size,
    )
    target_vocabulary_size: int | None = _of_training(
        VOCABULARY_SIZE,
        "Tokens of the target vocabulary; `vocabulary_size` if left out.",
        lambda options: options.vocabulary_size,
    )
    source_model_type: str | None = _of_training(
        _MODEL_TYPE,
        "Vocabulary of the source: {choices}; `model_type` if left out.",
        lambda options: options.model_type,
    )
    target_model_type: str | None = _of_training(
        _MODEL_TYPE,
        "Vocabulary of the target: {choices}; `model_type` if left out.",
        lambda options: options.model_type,
    )
    source_normalization: str | None = _of_training(
        _NORMALIZATION,
        "Unicode normalization of the source: {choices}; `normalization` if left out.",
        lambda options: options.normalization,
    )
    target_normalization: str | None = _of_training(
        _NORMALIZATION,
        "Unicode normalization of the target: {choices}; `normalization` if left out.",
        lambda options: options.normalization,
    )
    subword_sampling: float | None = _of_training(
        _RATE,
        "New split of the words in each epoch: for BPE the rate of merges left out "
        "(BPE-dropout), for unigram the smoothing of the probabilities; 0 for none.",
        0.0,
    )
    unknown_rate: float | None = _of_training(
        _RATE,
        "Rate of the pairs in which one character of both sides becomes the unknown token, so that "
        "the model learns to copy characters that it has never seen. The saved search then has "
        "replace_unknown. For sides that share characters, such as inflection: up to 5,000 such "
        "pairs have 0.2 in the preset characters.",
        0.0,
    )
    joint: bool | None = _of_training(
        flag(),
        "One vocabulary for both languages; only if both have one model type, one normalization "
        "and one size.",
        _can_be_joint,
        off="separate",
    )

    # the model
    share_embeddings: bool | None = _of_model(
        flag(),
        "One embedding for both languages, which takes one vocabulary.",
        lambda options: options.joint,
    )
    embedding_units: int | None = _of_model(WIDTH, "Width of embeddings.")
    convolutions: str | None = _of_model(
        integers(1, 4096, 12),
        "Widths of the convolutions of a source that has some, such as 32,64,96 for images; "
        "the source's own if left out.",
        "",
    )
    augmentation: float | None = _of_model(
        number(0, 1),
        "Strength of the random changes that a source such as an image or speech has in training; "
        "0 for none.",
        0.0,
    )
    units: int | None = _of_model(WIDTH, "Width of the decoder state.")
    encoder: str | None = _of_model(
        one_of(
            *("bidirectional", "unidirectional", "pyramidal", "rows"),
            *("transformer", "convolutional", "convolutional-tanh"),
        ),
        "Encoder: {choices}.",
        "bidirectional",
    )
    encoder_units: int | None = _of_model(
        WIDTH,
        "Width of each encoder direction; half of `units`, or all of it in the presets of papers.",
        lambda options: options.units,
    )
    encoder_cell: str | None = _of_model(
        one_of(*_CELLS),
        "Cell of the encoder: {choices}; that of the decoder if left out, if it is one of these.",
        lambda options: options.cell if options.cell in _CELLS else "gru",
    )
    cell: str | None = _of_model(
        one_of(*_CELLS, "self-attention"),
        "Cell of the decoder: {choices}. Self-attention stands in blocks.",
        "gru",
    )
    depth: int | None = _of_model(integer(1, 100), "Encoder layers.", 1)
    decoder_depth: int | None = _of_model(integer(1, 100), "Decoder cells on top of each other.", 1)
    residual: bool | None = _of_model(
        flag(), "Residual connections around all layers but the lowest.", False
    )
    attention: str | None = _of_model(
        or_registered(
            one_of(
                *("bahdanau", "additive", "concat", "cosine", "dot", "general", "location"),
                *("pair", "pair-tanh", "scaled-dot", "forced", "none"),
            )
        ),
        'Attention, by name or by its score: {choices}. "forced" takes the alignments given. '
        'A score of one\'s own, registered with Keras, is "package>Class": see --import.',
        "bahdanau",
    )
    attention_units: int | None = _of_model(
        WIDTH,
        "Width of the attention's hidden layer, where it has one.",
        lambda options: options.units,
    )
    heads: int | None = _of_model(
        integer(1, 128), "Attentions side by side, also in an encoder of self-attention.", 1
    )
    feed_forward_units: int | None = _of_model(
        integer(1, 40_000),
        "Inner width of the feed-forward networks of self-attention and of decoder blocks.",
        lambda options: 4 * options.units,
    )
    window: str | None = _of_model(
        one_of("everywhere", "local-m", "local-p", "local-median"),
        "Positions that it may attend to: {choices}.",
        "everywhere",
    )
    normalizer: str | None = _of_model(
        one_of(
            *("softmax", "softmax-sharp", "sigmoid"),
            *("monotonic", "monotonic-hard", "mocha", "mocha-hard", "hard"),
        ),
        'From scores to weights: {choices}. "hard" is one place a step, drawn in training.',
        "softmax",
    )
    coverage: str | None = _of_model(
        one_of("none", "sum", "convolution", "grid"),
        'Memory of the positions attended to: {choices}. "grid" convolves their sum, over '
        "both axes where the source is a grid, such as an image.",
        "none",
    )
    past: int | None = _of_model(
        integer(0, 1000),
        "Number of earlier decoder states that the decoder attends to; 0 for none.",
        0,
    )
    hard_alignment: str | None = _of_model(
        one_of("none", "zeroth", "zeroth-monotonic", "first", "first-monotonic", AUTO),
        "Exact hard attention: each token comes from one position, and all alignments are summed "
        'up. {choices}: of zeroth or first order, which has scores of jumps; "monotonic" ones '
        'never go back; "auto" is "first-monotonic" from letters to symbols with spaces between, '
        'such as phonemes, and else "none". For characters and other small vocabularies.',
        "none",
    )
    when: str | None = _of_model(
        one_of("before", "after", "between", "apart", "blocks"),
        'Time of attention: "before" the cell moves, "after" it (input feeding), "between" '
        'two cells, "apart": after it, without feeding, as hard alignments need it; or in '
        '"blocks" of a cell, attention and a feed-forward network, as in a Transformer.',
        lambda options: "apart" if is_hard(options) else "before",
    )
    query: str | None = _of_model(
        some_of("state", "embedding", "context", "task"),
        "Parts of the query: {choices}, or several of them, such as state,embedding.",
        "state",
    )
    # not "identity", which needs a summary exactly as wide as all states of the decoder
    bridge: str | None = _of_model(
        one_of("mean", "backward", "last", "zeros"),
        "Source of the decoder's initial state: the \"mean\" of the encoder's values, its "
        '"backward" state at the first token, its "last" state, or "zeros".',
        lambda options: "zeros" if options.cell == "self-attention" else "mean",
    )
    readout: str | None = _of_model(
        one_of("tanh", "maxout", "attentional", "plain"), "Readout: {choices}.", "tanh"
    )
    readout_units: int | None = _of_model(WIDTH, "Width of the readout.", _readout_units)
    readout_state: str | None = _of_model(
        one_of("current", "previous"),
        'State that the readout reads: "current", or "previous", which takes when=before.',
        "current",
    )
    tie_embeddings: bool | None = _of_model(
        flag(), "The target's embedding as output layer.", False
    )
    dropout: float | None = _of_model(
        _RATE,
        "Dropout rate of the encoder's values, of the readout, and in blocks of self-attention. "
        "Other rates that are left out follow from it, as the preset says. Embeddings: 2/3 of it "
        "in small, characters and speech, 1/2 in images, fixed in conditional-gru and ink, else "
        "the same. States: 4/9 in small and characters. Whole words: 2/9 in small, 1/3 in "
        "ssru-student and transformer-tiny.",
        0.0,
    )
    embedding_dropout: float | None = _of_model(
        _RATE, "Dropout rate of embeddings.", lambda options: options.dropout
    )
    readout_dropout: float | None = _of_model(
        _RATE,
        "Dropout rate of the readout; that of `dropout` if left out.",
        lambda options: options.dropout,
    )
    recurrent_dropout: float | None = _of_model(
        _RATE, "Dropout rate of the states, with one mask for all steps.", 0.0
    )
    context_dropout: float | None = _of_model(
        _RATE, "Dropout rate of the context, with one mask for all steps.", 0.0
    )
    context_gate: bool | None = _of_model(
        flag(), "A learned gate that scales the context of each step.", False
    )
    copy: bool | None = _of_model(
        flag(),
        "Copy tokens of the source to which the decoder attends, beside generating tokens (a "
        "pointer-generator). Source and target are texts with common tokens, such as characters, "
        "or characters and symbols with spaces between. The attention is soft.",
        False,
    )
    word_dropout: float | None = _of_model(
        _RATE, "Rate of the tokens whose embeddings are dropped whole.", 0.0
    )
    scheduled_sampling: float | None = _of_model(
        _RATE,
        "Rate of its own tokens that the decoder reads at the end of training; it rises evenly "
        "from 0.",
        0.0,
    )
    guided_alignment: float | None = _of_model(
        _WEIGHT, "Weight of the loss that pulls the attention towards the alignments given.", 0.0
    )
    doubly_stochastic: float | None = _of_model(
        _WEIGHT,
        "Weight of the loss by which all positions of a source shall get about as much attention.",
        0.0,
    )
    r_drop: float | None = _of_model(
        _WEIGHT,
        "Weight of the loss that makes two passes with different dropout agree (1 to 5); each "
        "step then takes twice the time.",
        0.0,
    )

    ctc_weight: float | None = _of_model(
        number(0, 1),
        "Share of the CTC loss of the encoder, beside that of the decoder's tokens: 0.2 to 0.5 for "
        "speech and other sources that are longer than their texts and in the same order; 0 for "
        "none. The saved search has the same share.",
        0.0,
    )

    # the model that it begins with
    freeze: str | None = _of_training(
        names(100),
        "Parts of an adapted model that stay as they are, by the names of layers, such as "
        "encoder,embeddings.",
        "",
    )
    update_vocabulary: str | None = _of_training(
        one_of("none", "append", "replace"),
        "Vocabularies of an adapted model: {choices}: its own, its own with pieces of the new "
        "text behind them, or new ones, in which the pieces that both have keep their weights.",
        "none",
    )
    appended_pieces: int | None = _of_training(
        integer(1, 100_000), "Most pieces that update_vocabulary appends to a vocabulary.", 1000
    )

    # the loss and the batches
    temperature: float | None = _of_training(
        number(1, 1000),
        "Temperature T of several corpora without weights: each has a share of the batches in "
        "proportion to its size to the power of 1/T. 1 is once an epoch for each pair; a higher "
        "one lifts the small corpora.",
        1.0,
    )
    label_smoothing: float | None = _of_training(
        _RATE, "Probability that is spread over all tokens alike.", 0.0
    )
    word_distillation: float | None = _of_training(
        number(0, 1),
        "Share of the loss by which the student learns the teacher's distribution of each token "
        "(word-level knowledge distillation), such as 0.8; 0 for none.",
        0.0,
    )
    l2: float | None = _of_training(
        _WEIGHT, "Factor of the sum of all squared weights, which is added to the loss.", 0.0
    )
    weight_decay: float | None = _of_training(
        _WEIGHT,
        "Part of each weight, times the learning rate, that each step takes off beside the loss; "
        "embeddings, biases and norms keep theirs.",
        0.0,
    )
    loss_mean: str | None = _of_training(
        one_of("tokens", "sentences"),
        'Unit that the loss is the mean over: "tokens", or "sentences", each with the sum of its '
        "tokens' losses, as in the papers.",
        "sentences",
    )
    batch_tokens: int | None = _of_training(
        integer(0, 1_000_000),
        "Positions of a batch, padding included; 0 with batch_sentences.",
        0,
    )
    batch_sentences: int | None = _of_training(
        integer(0, 10_000),
        "Pairs of a batch, 20 such batches sorted by length at a time; 0 with batch_tokens.",
        0,
    )
    buckets: int | None = _of_training(
        integer(1, 1000),
        "Number of different lengths of batches, with batch_tokens: more of them have less "
        "padding, and XLA compiles once for each.",
        lambda options: 7 if options.jit_compile else 16,
    )
    accumulate: int | None = _of_training(
        integer(1, 1024),
        "Number of parts of each batch that are computed one after another, for batches that do "
        "not fit in memory: the gradient is that of the whole batch.",
        1,
    )
    max_length: int | None = _of_training(
        LENGTH, "Most tokens on a side; longer pairs are left out, and counted.", 128
    )
    max_source_length: int | None = _of_training(
        integer(0, 100_000),
        "Most positions of a source, likewise; 0 for max_length where it is text, else for "
        "the source's own limit.",
        0,
    )

    # the optimizer
    epochs: int | None = _of_training(
        _COUNT, "Most epochs: passes over the pairs, or several passes each by `epoch_steps`."
    )
    epoch_steps: int | None = _of_training(
        integer(0, 1_000_000),
        "Least batches of an epoch: it passes over few pairs several times, and validation, "
        "patience and schedule count such epochs; 0 for one pass.",
        0,
    )
    optimizer: str | None = _of_training(
        one_of("adam", "adadelta", "sgd"), "Optimizer: {choices}.", "adam"
    )
    learning_rate: float | None = _of_training(
        number(0, 1000, "(]"),
        "Highest learning rate: after the warm-up and before the decay of the schedule.",
    )
    schedule: str | None = _of_training(
        one_of("cosine", "constant", "inverse-sqrt", "halving"),
        'Schedule of the learning rate: "cosine" (to zero at the last step), "constant", '
        '"inverse-sqrt" (of the steps), or "halving" (each epoch).',
        "constant",
    )
    warmup: float | None = _of_training(
        _RATE, "Part of all steps in which the learning rate rises.", 0.0
    )
    halving_after: int | None = _of_training(
        _COUNT,
        'Epochs before the first one with half the learning rate, for the schedule "halving".',
        5,
    )
    clip_norm: float | None = _of_training(
        number(0, 1_000_000_000, "(]"), "Longest gradient, over all weights.", 5.0
    )
    ema_momentum: float | None = _of_training(
        _RATE,
        "Momentum of the moving average of the weights, which validation and the saved "
        "translator use; 0 for none.",
        0.0,
    )
    average_last: int | None = _of_training(
        integer(0, 1000),
        "Epochs whose weights are averaged, for validation and the saved translator; 0 for none.",
        0,
    )

    # the run
    minutes: float | None = _of_training(
        number(0, 10_000_000),
        "Most time of training, validation included; it ends before an epoch that would last "
        "longer than that. The cosine schedule ends with it, if the epochs do not end before. "
        "0 for no limit.",
        0.0,
    )
    best_by: str | None = _of_training(
        _JUDGE,
        "Judge of the best epoch: {choices}. A metric decodes the validation pairs greedily "
        "after each epoch, which top-k accuracy can't judge; texts of few words, such as speech, "
        "can get better by it long after their perplexity has.",
        "perplexity",
    )
    patience: int | None = _of_training(
        _COUNT, "Epochs that are not better than the best before training ends.", 5
    )
    checkpoint_steps: int | None = _of_training(
        integer(1, 1_000_000_000), "Batches between checkpoints.", 100
    )
    jit_compile: bool | None = _of_training(
        flag(),
        "Compile the training step with XLA, once for each shape of a batch: with batch_tokens "
        "there are few, with batch_sentences many.",
        False,
    )
    precision: str | None = _of_training(
        one_of(*PRECISIONS),
        "Precision of the products in training: {choices}, which can be faster on processors "
        "and GPUs that have it, and is slower on others. Weights, validation and the saved "
        "translator are in float32.",
        "float32",
    )
    quantization_aware: bool | None = _of_training(
        flag(),
        "Train with the weights rounded to 8 bits as the export int8 rounds them, so that it takes "
        "nothing more off them. For the last epochs of a trained model (--from), such as "
        "learning_rate=2e-4 and epochs=3.",
        False,
    )
    seed: int | None = _of_training(
        integer(0, 2**32 - 1), "Seed of weights, dropout and the order of batches.", 0
    )

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is not None or field.default is not None:
                check_option(field, value)
        if self.resolved() is self:
            check_together(self)

    def resolved(self):
        """The same options with a value for each: as given, or of the preset, or the default."""
        return self._resolved

    def undecided(self):
        """Names of the options that follow from the pairs: those that are "auto", and defaults.

        Returns:
            List of strings.

        Example:
            >>> TrainingOptions(model_type="auto", target_model_type="char").undecided()
            ['model_type', 'source_model_type']
        """
        resolved = self.resolved()
        names = [field.name for field in dataclasses.fields(self)]
        found = [name for name in names if getattr(resolved, name) == AUTO]
        # what is off stays off: batches of sentences where there are batches of tokens
        preset = PRESETS[resolved.preset]
        several = preset.of_many_pairs.values()
        follow = dict.fromkeys(name for settings in several for name in settings)
        follow = [name for name in follow if getattr(resolved, name)]
        follow += preset.of_common_letters
        return found + [name for name in follow if getattr(self, name) is None]

    @functools.cached_property
    def _resolved(self):
        asked = {name: value for name, value in vars(self).items() if value is not None}
        fields = dataclasses.fields(self)
        if len(asked) == len(fields):
            return self
        defaults = {field.name: field.metadata.get("resolved") for field in fields}
        preset = PRESETS[asked.get("preset", defaults["preset"])]
        values = {**defaults, **preset.settings, **asked}
        follows = [name for name, value in values.items() if callable(value)]
        known = SimpleNamespace(**values)
        for name in follows:  # in the order of the fields, after all that follows nothing
            setattr(known, name, values[name](known))
        return TrainingOptions(**vars(known))


MODEL_OPTIONS = tuple(
    field.name for field in dataclasses.fields(TrainingOptions) if "of_model" in field.metadata
)


def training_option(text):
    """An option of a training from one string, such as `argparse` asks of a `type`.

    Args:
        text: String NAME=VALUE, the value in the spelling of JSON or Python, or a plain word.

    Returns:
        (name, value).

    Raises:
        argparse.ArgumentTypeError: If there is no such option; `argparse` prints its text.

    Example:
        >>> TrainingOptions(**dict(map(training_option, ["units=256", "cell=lstm"])))
    """
    name, equals, value = text.partition("=")
    if not equals or name not in TrainingOptions.__dataclass_fields__:
        raise argparse.ArgumentTypeError(
            f"An option must be NAME=VALUE, the name a field of TrainingOptions. Received: {text!r}"
        )
    plain = {"true": True, "false": False}.get(value.lower(), value)
    try:
        return name, json.loads(value) if plain is value else plain
    except ValueError:
        return name, value
