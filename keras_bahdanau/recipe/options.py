"""The settings of a training: those of a preset, and what the user has otherwise."""

import dataclasses

from keras_bahdanau.recipe.checks import check_together, check_value
from keras_bahdanau.recipe.recipes import RECIPES


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """What `train` does, vocabulary and model included.

    What is left out is the preset's own, so that an instance always is complete;
    a copy by `dataclasses.replace` keeps all that it is not told to change. The
    command line shows these sentences as its own.

    Args:
        preset: Where the options that are not given come from: "small", "rnnsearch",
            "rnnencdec", "luong", "luong-local" or "conditional-gru".
        vocabulary_size: Tokens of each vocabulary, or as many as the text has.
        model_type: SentencePiece's "bpe", "unigram", "char" or "word".
        subword_sampling: Each epoch splits words anew: of BPE the share of merges left out
            (BPE-dropout), of unigram the smoothing of the probabilities; 0 for none.
        joint: Whether both languages have one vocabulary.
        share_embeddings: Whether both languages have one embedding, which takes one
            vocabulary.
        embedding_units: Width of embeddings.
        units: Width of the decoder state.
        encoder: "bidirectional", "unidirectional", "convolutional" or "convolutional-tanh".
        encoder_units: Width of each encoder direction; half of `units`, or all of it in
            the presets of papers.
        encoder_cell: As `cell`, of the encoder; the same if nothing is said.
        cell: "simple", "gru", "gru-reset-before", "lstm", "layer-norm-gru" or
            "layer-norm-lstm".
        depth: Encoder layers.
        decoder_depth: Decoder cells that stand on each other.
        residual: Whether all layers but the lowest add their input to their output.
        attention: "bahdanau", a score ("additive", "concat", "dot", "general",
            "scaled-dot", "cosine", "location", "pair", "pair-tanh"), "forced" for the
            alignments given, or "none".
        attention_units: Width of the attention's hidden layer, where it has one.
        heads: Attentions side by side.
        window: Where it may look: "everywhere", "local-m" or "local-p".
        normalizer: From scores to weights: "softmax", "monotonic" or "monotonic-hard".
        coverage: What it remembers of where it looked: "none", "sum" or "convolution".
        past: How many of its own earlier states the decoder attends to; 0 for none.
        when: When it attends: "before" the cell moves, "after" it (input feeding), or
            "between" two cells.
        query: What it asks with: "state", "embedding", "context", "task", or several of
            them, such as state,embedding.
        bridge: What the decoder begins with: the "mean" of the encoder's values, its
            "backward" state at the first token, its "last" state, or "zeros".
        readout: "tanh", "maxout", "attentional" or "plain".
        readout_units: Width of the readout.
        readout_state: Whether the readout reads the "current" state or the "previous" one,
            which takes when=before.
        tie_embeddings: Whether the output layer is the target's embedding.
        dropout: Share dropped of values and readout. If nothing is said of the other kinds of
            dropout they follow from it: in the preset "small" 2/3 of it is dropped of
            embeddings, 4/9 of states, and 2/9 of whole words; else as much of embeddings.
        embedding_dropout: Share dropped of embeddings.
        readout_dropout: Share dropped of the readout; that of `dropout` if nothing is said.
        recurrent_dropout: Share dropped of the states, the same at all steps.
        context_dropout: Share dropped of the context, the same at all steps.
        word_dropout: Share of the tokens whose embeddings are dropped whole.
        label_smoothing: Share of probability given to all tokens alike.
        scheduled_sampling: Share of its own tokens that the decoder reads at the end of
            training; it rises evenly from 0.
        guided_alignment: Weight of the loss that pulls the attention towards the
            alignments given.
        r_drop: Weight of the loss that makes two passes with different dropout agree (1 to
            5); each step then takes twice the time.
        l2: Factor of the sum of all squared weights, which is added to the loss.
        weight_decay: Share of each weight, times the learning rate, taken off at each
            step, beside the loss: not of embeddings, biases and norms.
        loss_mean: What the loss is the mean over: "tokens", or "sentences", each the sum of
            its tokens' losses, as in the papers.
        batch_tokens: Positions of a batch, padding included; 0 with batch_sentences.
        batch_sentences: Pairs of a batch, 20 such batches sorted by length at a time; 0
            with batch_tokens.
        buckets: Lengths that batches have, with batch_tokens: more of them have less padding,
            and XLA compiles once for each.
        max_length: Pairs with more tokens on a side are left out, and counted.
        epochs: Most passes over the pairs.
        optimizer: "adam", "adadelta" or "sgd".
        learning_rate: At its height: after the warm-up and before the
            decay that the schedule says.
        schedule: Of the learning rate: "cosine" (to nothing at the last step), "constant",
            "inverse-sqrt" (of the steps), or "halving" (each epoch).
        warmup: Share of all steps in which the learning rate rises.
        halving_after: Epochs before the first one with half the learning rate, for the
            schedule "halving".
        clip_norm: Longest gradient, over all weights.
        ema_momentum: Momentum of the moving average of the weights, which
            validation and the saved translator use; 0 for none.
        average_last: Epochs whose weights are averaged, for validation and the saved
            translator; 0 for none.
        minutes: Most time of training, validation included; it ends before an epoch that would
            last longer than that. The learning rate does not know of it: choose epochs that
            take about as long. 0 for any.
        patience: Epochs without a better validation perplexity before training ends.
        checkpoint_steps: Batches between checkpoints.
        jit_compile: Whether the training step is compiled with XLA, once for each shape
            of a batch: with batch_tokens there are few, with batch_sentences many.
        precision: Of the products in training, "float32" or "bfloat16", which can be faster on
            processors and GPUs that have it, and is slower on others. Weights, validation and
            the saved translator are in float32.
        seed: Of weights, dropout and the order of batches.

    Raises:
        ValueError: If a value is out of range, or does not go with the others.
    """

    preset: str = "small"
    vocabulary_size: int | None = None
    model_type: str | None = None
    subword_sampling: float | None = None
    joint: bool | None = None
    share_embeddings: bool | None = None
    embedding_units: int | None = None
    units: int | None = None
    encoder: str | None = None
    encoder_units: int | None = None
    encoder_cell: str | None = None
    cell: str | None = None
    depth: int | None = None
    decoder_depth: int | None = None
    residual: bool | None = None
    attention: str | None = None
    attention_units: int | None = None
    heads: int | None = None
    window: str | None = None
    normalizer: str | None = None
    coverage: str | None = None
    past: int | None = None
    when: str | None = None
    query: str | None = None
    bridge: str | None = None
    readout: str | None = None
    readout_units: int | None = None
    readout_state: str | None = None
    tie_embeddings: bool | None = None
    dropout: float | None = None
    embedding_dropout: float | None = None
    readout_dropout: float | None = None
    recurrent_dropout: float | None = None
    context_dropout: float | None = None
    word_dropout: float | None = None
    label_smoothing: float | None = None
    scheduled_sampling: float | None = None
    guided_alignment: float | None = None
    r_drop: float | None = None
    l2: float | None = None
    weight_decay: float | None = None
    loss_mean: str | None = None
    batch_tokens: int | None = None
    batch_sentences: int | None = None
    buckets: int | None = None
    max_length: int | None = None
    epochs: int | None = None
    optimizer: str | None = None
    learning_rate: float | None = None
    schedule: str | None = None
    warmup: float | None = None
    halving_after: int | None = None
    clip_norm: float | None = None
    ema_momentum: float | None = None
    average_last: int | None = None
    minutes: float | None = None
    patience: int | None = None
    checkpoint_steps: int | None = None
    jit_compile: bool | None = None
    precision: str | None = None
    seed: int | None = None

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is not None or field.name == "preset":
                check_value(field, value)
        self._fill(RECIPES[self.preset])
        check_together(self)

    def _fill(self, recipe):
        """Sets what is not given, functions of other options last."""
        for name in sorted(recipe, key=lambda name: callable(recipe[name])):
            if getattr(self, name) is None:
                value = recipe[name]
                object.__setattr__(self, name, value(self) if callable(value) else value)


_NAMES = [field.name for field in dataclasses.fields(TrainingOptions)]
MODEL_OPTIONS = tuple(
    name
    for name in _NAMES[_NAMES.index("share_embeddings") : _NAMES.index("weight_decay")]
    if name not in ("label_smoothing", "l2")
)
