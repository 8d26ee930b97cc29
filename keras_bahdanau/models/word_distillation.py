"""Word-level knowledge distillation: each token of a student learns a teacher's distribution."""

from keras import ops

from keras_bahdanau.settings import checks


class WordDistillation:
    """The loss of a student's distributions beside those of a teacher.

    loss_i = -sum_k q(k | y_1 ... y_{i-1}, x) log p(k | y_1 ... y_{i-1}, x)

    with q of the teacher and p of the student, which both read the true tokens (Kim and Rush
    2016, section 3.1, L_WORD-KD). The teacher has no dropout, and nothing of it is trained. A
    training takes (1 - share) of its own loss of tokens, and this share of the teacher's.

    Args:
        teacher: `Seq2Seq` or `Ensemble` of the same vocabularies.
        share: Float from 0 to 1.

    Raises:
        ValueError: If the share is another one; or, where it is given to a student, if that has
            other sizes of vocabularies.

    Example:
        >>> student.word_distillation = WordDistillation(teacher, 0.8)
        >>> student.fit(data.batches(pairs, source, target), epochs=10)
    """

    def __init__(self, teacher, share):
        self.teacher = teacher
        self.share = checks.fraction("share", "the share of a teacher's loss", share)

    def check(self, student):
        """Raise ValueError if a `Seq2Seq` can't learn from this teacher."""
        sizes = [(one.source_size, one.target_vocabulary_size) for one in (self.teacher, student)]
        if sizes[0] != sizes[1]:
            raise ValueError(
                "A teacher must have its student's vocabularies. Received: a teacher with the "
                f"sizes {sizes[0]} of source and target, a student with {sizes[1]}. Train both "
                "with the same vocabularies."
            )

    def total(self, inputs, logits, weight):
        """The weighted sum of the losses of a batch, the mean of its passes.

        Args:
            inputs: Tuple (features, target_in), or with the alignment, which is not read.
            logits: List of float tensors `(batch, target_time, vocabulary)`, one a pass.
            weight: Float tensor `(batch, target_time)`.

        Returns:
            Float32 scalar.

        Raises:
            ValueError: If the inputs are None.
        """
        if inputs is None:
            raise ValueError(
                "A teacher reads the inputs of its student. Received: compute_loss(x=None) of a "
                "model with `word_distillation`. Give compute_loss the inputs."
            )
        found = self.teacher(tuple(inputs[:2]), training=False)
        # q: (batch, target_time, vocabulary)
        probs = ops.stop_gradient(ops.softmax(ops.cast(found, "float32"), axis=-1))
        log_probs = sum(ops.log_softmax(ops.cast(one, "float32"), axis=-1) for one in logits)
        losses = -ops.sum(probs * log_probs, axis=-1) / len(logits)  # -> (batch, target_time)
        return ops.sum(ops.cast(weight, "float32") * losses)
