"""Batches that a callback has seen, where Keras calls it after several of them."""


class BatchCount:
    """Count of the batches from one call of a callback to the next.

    With `steps_per_execution` of `compile`, Keras calls `on_train_batch_end` once for so many
    batches, and in the last call of an epoch counts those, too, that the epoch lacks.

    Example:
        >>> count = BatchCount()
        >>> count.since_last(3, steps=6), count.since_last(7, steps=6)
        (4, 2)
    """

    def __init__(self):
        self.begin_epoch()

    def begin_epoch(self):
        """Begin with the first batch of an epoch of `fit`."""
        self.last = -1  # index of the last batch

    def since_last(self, batch, steps):
        """The number of batches since the last call.

        Args:
            batch: Integer, as Keras gives it to `on_train_batch_end`.
            steps: Integer, batches of the epoch, `params["steps"]` of a callback; None if unknown.
        """
        before, self.last = self.last, batch if steps is None else min(batch, steps - 1)
        return self.last - before
