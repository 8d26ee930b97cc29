"""Workers that train together: processes with one device each, and sums over all of them."""

import contextlib
import itertools
import json
import os

import keras
import numpy as np
import tensorflow as tf

from keras_bahdanau.callbacks.checkpoint import random_states
from keras_bahdanau.training.progress import Progress
from keras_bahdanau.training.run import Run

_LOST = (
    *(tf.errors.AbortedError, tf.errors.CancelledError, tf.errors.DeadlineExceededError),
    tf.errors.UnavailableError,
)


def strategy_of_environment():
    """Create the strategy for a job whose TF_CONFIG lists its workers; None without TF_CONFIG.

    Each process trains on one device. If the machine has several GPUs, this is the GPU with the
    process's index on that machine.

    Raises:
        ValueError: If TF_CONFIG is not a JSON object with "cluster" and "task".
    """
    text = os.environ.get("TF_CONFIG", "")
    if not text:
        return None
    try:
        job = json.loads(text)
        index = _index_on_host(job["cluster"], job["task"])
    except (AttributeError, KeyError, TypeError, ValueError):
        raise ValueError(
            'TF_CONFIG must be JSON with "cluster" and "task". '
            f"Received: TF_CONFIG={text[:200]!r}. Set it as documented in `tf.distribute`, or "
            "unset it."
        ) from None
    gpus = tf.config.list_physical_devices("GPU")
    if gpus and index >= len(gpus):
        raise ValueError(
            "Each worker on a machine must have its own GPU. "
            f"Received: {index + 1} workers or more, {len(gpus)} GPUs. Start fewer workers."
        )
    if len(gpus) > 1:
        tf.config.set_visible_devices(gpus[index], "GPU")
    return tf.distribute.MultiWorkerMirroredStrategy()


def _index_on_host(cluster, task):
    """Count the earlier workers in the cluster whose addresses are on the same machine."""
    hosts = {
        (kind, index): address.rpartition(":")[0]
        for kind in ("chief", "worker")
        for index, address in enumerate(cluster.get(kind, ()))
    }
    this = task["type"], int(task["index"])
    before = itertools.takewhile(lambda worker: worker != this, hosts)
    return sum(hosts[worker] == hosts[this] for worker in before)


class Workers:
    """The processes that train together, and the sums and values that they exchange.

    All workers must call the same methods in the same order, and each call blocks until the others
    make it, too. The first worker is the chief, and only the chief owns the run directory.

    Args:
        strategy: `tf.distribute.Strategy` with one device in each process, such as
            `MultiWorkerMirroredStrategy`; None for a single process.

    Attributes:
        count: Integer, the number of workers.
        index: Integer, the index of this worker; the index of the chief is 0.

    Raises:
        ValueError: If the strategy has several devices in one process.

    Example:
        >>> workers = Workers(tf.distribute.MultiWorkerMirroredStrategy())
        >>> total = workers.sum([gradient])  # in a tf.function
    """

    def __init__(self, strategy=None):
        self.strategy = strategy
        self.count, self.index = 1, 0
        # a single trace for vectors of all lengths
        signature = [tf.TensorSpec([None], tf.float64)]
        self._summed = tf.function(lambda vector: self.sum([vector])[0], input_signature=signature)
        if strategy is None:
            return
        devices = strategy.extended.worker_devices
        if len(devices) != 1:
            raise ValueError(
                "`strategy` must have one device in each process. Received: "
                f"strategy={type(strategy).__name__} with {len(devices)} devices. Start one "
                "process per device, as `keras-bahdanau train --workers` does."
            )
        self.count = strategy.num_replicas_in_sync
        self.index = int(tf.function(lambda: strategy.run(_replica_index))())

    @property
    def is_chief(self):
        """True for the worker that writes files and reports progress."""
        return self.index == 0

    @contextlib.contextmanager
    def together(self):
        """Context manager that raises ConnectionError if another worker is lost in its block."""
        try:
            yield
        except _LOST as error:
            if self.count == 1:
                raise
            reason = str(error).partition("aborted by:")[2] or str(error)
            reason = " ".join(reason.split())[:120]
            raise ConnectionError(
                "All workers must run until the end of training. Received: worker "
                f"{self.index} of {self.count} lost another one ({reason}). Start all workers "
                "again to resume from the last checkpoint."
            ) from None

    def sum(self, tensors):
        """Sum float tensors over all workers. Call this in a `tf.function`."""
        if self.count == 1:
            return tensors
        return self.strategy.run(_all_reduced, args=(tensors,))

    def any(self, flag):
        """Return True if the flag of any worker is True."""
        return self.count > 1 and bool(self._sum_of([float(flag)])[0]) or bool(flag)

    def check_same(self, name, number):
        """Raise ValueError unless a number is the same in all workers."""
        first = self.chiefs_values([number])[0]
        if self.any(first != number):
            raise ValueError(
                f"All workers must have the same {name}. Received: {name}={number} in worker "
                f"{self.index}, {first:g} in the chief. Give all of them the same data."
            )

    def chiefs_values(self, numbers):
        """Return the chief's numbers as a float64 vector. All workers must pass equally many."""
        vector = np.asarray(numbers, "float64").reshape(-1)
        if self.count == 1:
            return vector
        return self._sum_of(vector if self.is_chief else np.zeros_like(vector))

    def chiefs_text(self, text=""):
        """Return the chief's text, instead of this worker's."""
        if self.count == 1:
            return text
        codes = np.frombuffer(text.encode(), "uint8")
        length = int(self.chiefs_values([len(codes)])[0])
        codes = self.chiefs_values(codes if self.is_chief else np.zeros(length))
        return codes.astype("uint8").tobytes().decode()

    def follow_variables(self, variables):
        """Assign the chief's values to this worker's variables."""
        if self.count > 1:
            for variable in variables:
                array = keras.ops.convert_to_numpy(variable)
                values = self.chiefs_values(array).reshape(array.shape)
                variable.assign(values.astype(array.dtype))

    def follow_progress(self, progress):
        """Copy the chief's progress into this worker's `Progress`."""
        if self.count > 1:
            text = self.chiefs_text(progress.dumps())
            vars(progress).update(vars(Progress.loads(text)))

    def run_in(self, directory):
        """Return the `Run` for a directory. Workers other than the chief don't use its files."""
        return Run(directory) if self.is_chief else _ChiefsRun(directory, self)

    def begin(self, run, model, progress):
        """Start training together, with the chief's weights and progress.

        The seed of each random state is offset by the worker's index, so that dropout differs
        between workers.
        """
        if self.count == 1:
            return
        if self.is_chief:
            self.chiefs_text(json.dumps(run.read_card()))
        self.follow_progress(progress)
        self.follow_variables([*model.variables, *model.optimizer.variables])
        for state in random_states(model):
            seed, *counters = keras.ops.convert_to_numpy(state).tolist()
            state.assign([(seed + self.index) % 2**32, *counters])

    def _sum_of(self, numbers):
        return self._summed(tf.constant(numbers, tf.float64)).numpy()


def _replica_index():
    return tf.convert_to_tensor(tf.distribute.get_replica_context().replica_id_in_sync_group)


def _all_reduced(tensors):
    context = tf.distribute.get_replica_context()
    placed = [tf.identity(tensor) for tensor in tensors]  # on the device of the replica
    return context.all_reduce(tf.distribute.ReduceOp.SUM, placed)


class _ChiefsRun(Run):
    """The chief's run, as seen by another worker, which receives only its card."""

    def __init__(self, directory, workers):
        super().__init__(directory)
        self._workers, self._card = workers, None

    def exists(self):
        return True

    def read_card(self):
        if self._card is None:
            self._card = json.loads(self._workers.chiefs_text())
        return self._card

    @contextlib.contextmanager
    def owned(self, say=print):
        yield  # the chief owns the directory

    def _check_unfinished(self, plan):
        """Do nothing, because the chief makes this check."""


class FollowChief(keras.callbacks.Callback):
    """Last callback of each worker, which keeps the workers synchronized.

    After each batch, all workers stop if one of them does. After each epoch, they copy the chief's
    weights, optimizer state and progress, because its callbacks may have changed these.
    """

    def __init__(self, workers, progress):
        super().__init__()
        self.workers, self.progress = workers, progress

    def on_train_batch_end(self, batch, logs=None):
        self._follow_stop()

    def on_epoch_end(self, epoch, logs=None):
        self._follow_stop()
        self.workers.follow_progress(self.progress)
        random = {id(variable) for variable in random_states(self.model)}
        variables = [*self.model.variables, *self.model.optimizer.variables]
        self.workers.follow_variables([each for each in variables if id(each) not in random])

    def on_train_end(self, logs=None):
        self.workers.follow_progress(self.progress)

    def _follow_stop(self):
        self.model.stop_training = self.workers.any(self.model.stop_training)
