"""The settings of a training: the package's own recipe by default."""

import dataclasses
import math

_CHOICES = {"model_type": ("bpe", "unigram", "char", "word"), "cell": ("gru", "lstm")}
_SHARES = ("dropout", "label_smoothing", "warmup", "ema_momentum")


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """What `train` does, vocabulary and model included.

    The command line shows these sentences and defaults as its own.

    Args:
        vocabulary_size: Tokens of each vocabulary.
        model_type: SentencePiece's "bpe", "unigram", "char" or "word".
        joint: Whether both languages have one vocabulary, and so one embedding.
        embedding_units: Width of embeddings and readout.
        units: Width of the decoder state, twice that of each encoder direction.
        attention_units: Width of the attention's hidden layer.
        cell: "gru" or "lstm".
        depth: Encoder layers.
        dropout: Share dropped of embeddings, values and readout.
        label_smoothing: Share of probability given to all tokens alike.
        batch_tokens: Positions of a batch, padding included.
        max_length: Pairs with more tokens on a side are left out, and counted.
        epochs: Most passes over the pairs.
        learning_rate: Of Adam, at its height: after the warm-up and before the
            cosine decay to nothing at the last step.
        warmup: Share of all steps in which the learning rate rises.
        clip_norm: Longest gradient, over all weights.
        ema_momentum: Momentum of the moving average of the weights, which
            validation and the saved translator use; 0 for none.
        patience: Epochs without a better validation perplexity before training ends.
        checkpoint_steps: Batches between checkpoints.
        jit_compile: Whether the training step is compiled with XLA.
        seed: Of weights, dropout and the order of batches.

    Raises:
        ValueError: If a value is out of range.
    """

    vocabulary_size: int = 6000
    model_type: str = "bpe"
    joint: bool = True
    embedding_units: int = 256
    units: int = 512
    attention_units: int = 256
    cell: str = "gru"
    depth: int = 1
    dropout: float = 0.35
    label_smoothing: float = 0.1
    batch_tokens: int = 1500
    max_length: int = 128
    epochs: int = 20
    learning_rate: float = 2e-3
    warmup: float = 0.02
    clip_norm: float = 5.0
    ema_momentum: float = 0.998
    patience: int = 5
    checkpoint_steps: int = 100
    jit_compile: bool = False
    seed: int = 0

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            demand = _unmet(field, value)
            if demand:
                raise ValueError(
                    f"`{field.name}` must be {demand}. Received: {field.name}={value!r}"
                )


def _unmet(field, value):
    """What the field demands of its value, or None if the value fulfils it."""
    if field.name in _CHOICES:
        return None if value in _CHOICES[field.name] else f"one of {_CHOICES[field.name]}"
    if field.type is bool:
        return None if isinstance(value, bool) else "True or False"
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if field.type is int:
        lowest = 0 if field.name == "seed" else 1
        whole = number and isinstance(value, int)
        return None if whole and value >= lowest else f"an integer of at least {lowest}"
    if field.name in _SHARES:
        return None if number and 0 <= value < 1 else "a number from 0 to 1, less than 1"
    return None if number and 0 < value < math.inf else "a number above 0"
