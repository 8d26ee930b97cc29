"""Likelihood of the references, each token given the true ones before it."""

import dataclasses
import math


@dataclasses.dataclass(frozen=True)
class Likelihood:
    """Sums over the target tokens of some pairs, end tokens included.

    Attributes:
        loss: Float, the sum of -log p, natural logarithms.
        tokens: Integer, how many tokens there are.
        correct: Integer, how many of them the model held for the most probable.
    """

    loss: float
    tokens: int
    correct: int

    @property
    def perplexity(self):
        """That of a token: exp of its mean loss."""
        return self.perplexity_of(self.tokens)

    @property
    def accuracy(self):
        """The share of the tokens that the model held for the most probable, from 0 to 1."""
        return self.correct / self.tokens

    def perplexity_of(self, units):
        """That of a unit, such as a word, of which there are so many."""
        mean = self.loss / units
        return math.exp(mean) if mean < 700 else math.inf


def likelihood(model, batches):
    """Read pairs with a model, without dropout.

    Args:
        model: A `Seq2Seq`.
        batches: `BatchedPairs`.

    Returns:
        `Likelihood`.

    Raises:
        ValueError: If all sources turn out to be broken.
    """
    import tensorflow as tf

    dataset = batches.epoch(0)

    @tf.function(input_signature=dataset.element_spec, autograph=False)
    def read(inputs, target_out, weight):
        logits = model(inputs, training=False)  # (rows, target_time, vocabulary)
        # -> (rows, target_time)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(target_out, logits)
        right = tf.equal(tf.argmax(logits, axis=-1, output_type=tf.int32), target_out)
        sums = (losses * weight, tf.cast(right, tf.float32) * weight, weight)
        return tuple(map(tf.reduce_sum, sums))

    loss = correct = tokens = 0.0
    for batch in dataset:
        found = read(*batch)
        loss += float(found[0])
        correct += float(found[1])
        tokens += float(found[2])
    batches.require_readable()
    return Likelihood(loss, round(tokens), round(correct))


def perplexity(model, batches):
    """exp(mean -log p) of the target tokens, each after the true ones before it.

    Args:
        model: A `Seq2Seq`.
        batches: `BatchedPairs`.

    Returns:
        Float.
    """
    return likelihood(model, batches).perplexity
