"""Workers of a training: processes with one device each, and sums over all of them."""

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
    """The strategy of a job whose TF_CONFIG names its workers; None without that variable.

    One process trains on one device: if several GPUs are there, the one of its index.

    Returns:
        `tf.distribute.MultiWorkerMirroredStrategy`, or None.

    Raises:
        ValueError: If TF_CONFIG is no JSON object with "cluster" and "task".
    """
    text = os.environ.get("TF_CONFIG", "")
    if not text:
        return None
    try:
        given = json.loads(text)
        place = _place_on_host(given["cluster"], given["task"])
    except (AttributeError, KeyError, TypeError, ValueError):
        raise ValueError(
            'TF_CONFIG must be JSON with "cluster" and "task". '
            f"Received: TF_CONFIG={text[:200]!r}. Set it as tf.distribute has it, or unset it."
        ) from None
    gpus = tf.config.list_physical_devices("GPU")
    if gpus and place >= len(gpus):
        raise ValueError(
            "Each worker of a machine must have a GPU of its own. "
            f"Received: {place + 1} workers or more, {len(gpus)} GPUs. Start fewer workers."
        )
    if len(gpus) > 1:
        tf.config.set_visible_devices(gpus[place], "GPU")
    return tf.distribute.MultiWorkerMirroredStrategy()


def _place_on_host(cluster, task):
    """The number of workers before this one that have the same machine in their addresses."""
    hosts = {
        (kind, index): address.rpartition(":")[0]
        for kind in ("chief", "worker")
        for index, address in enumerate(cluster.get(kind, ()))
    }
    own = task["type"], int(task["index"])
    before = itertools.takewhile(lambda worker: worker != own, hosts)
    return sum(hosts[worker] == hosts[own] for worker in before)


class Workers:
    """The processes of one training, and what they tell each other.

    All of them call the same methods in the same order: each call waits for the others. The
    first worker is the chief, which alone owns the directory of the run.

    Args:
        strategy: `tf.distribute.Strategy` with one device in each process, such as
            `MultiWorkerMirroredStrategy`; None for one process alone.

    Attributes:
        count: Integer, the number of workers.
        index: Integer, the number of this one; the chief has 0.

    Raises:
        ValueError: If the strategy has several devices in one process.

    Example:
        >>> workers = Workers(tf.distribute.MultiWorkerMirroredStrategy())
        >>> total = workers.sum([gradient])  # in a tf.function
    """

    def __init__(self, strategy=None):
        self.strategy = strategy
        self.count, self.index = 1, 0
        # of one trace for vectors of all lengths
        signature = [tf.TensorSpec([None], tf.float64)]
        self._summed = tf.function(lambda one: self.sum([one])[0], input_signature=signature)
        if strategy is None:
            return
        devices = strategy.extended.worker_devices
        if len(devices) != 1:
            raise ValueError(
                "A strategy of a training must have one device in each process. Received: "
                f"strategy={type(strategy).__name__} with {len(devices)} devices. Start one "
                "process a device, as `keras-bahdanau train --workers` does."
            )
        self.count = strategy.num_replicas_in_sync
        self.index = int(tf.function(lambda: strategy.run(_own_index))())

    @property
    def is_chief(self):
        """True of the worker that writes files and reports."""
        return self.index == 0

    @contextlib.contextmanager
    def together(self):
        """Raise one clear error if another worker is lost while the block lasts.

        Raises:
            ConnectionError: If another worker ended.
        """
        try:
            yield
        except _LOST as error:
            if self.count == 1:
                raise
            reason = str(error).partition("aborted by:")[2] or str(error)
            reason = " ".join(reason.split())[:120]
            raise ConnectionError(
                "All workers of a training must stay until its end. Received: worker "
                f"{self.index} of {self.count} lost another one ({reason}). Start all of them "
                "again: the training resumes from its last checkpoint."
            ) from None

    def sum(self, tensors):
        """Tensors added up over all workers, within a `tf.function`.

        Args:
            tensors: List of float tensors, of the same shapes in each worker.
        """
        if self.count == 1:
            return tensors
        return self.strategy.run(_all_reduced, args=(tensors,))

    def any(self, flag):
        """True if the flag of any worker is."""
        return self.count > 1 and bool(self._sum_of([float(flag)])[0]) or bool(flag)

    def check_same(self, name, number):
        """Raise ValueError if a number is not the same in all workers."""
        first = self.from_chief([number])[0]
        if self.any(first != number):
            raise ValueError(
                f"All workers must have the same {name}. Received: {name}={number} in worker "
                f"{self.index}, {first:g} in the chief. Give all of them the same data."
            )

    def from_chief(self, numbers):
        """The chief's numbers in place of one's own, as a float64 vector of the same length."""
        own = np.asarray(numbers, "float64").reshape(-1)
        if self.count == 1:
            return own
        return self._sum_of(own if self.is_chief else np.zeros_like(own))

    def text_from_chief(self, text=""):
        """The chief's text in place of one's own."""
        if self.count == 1:
            return text
        codes = np.frombuffer(text.encode(), "uint8")
        length = int(self.from_chief([len(codes)])[0])
        codes = self.from_chief(codes if self.is_chief else np.zeros(length))
        return codes.astype("uint8").tobytes().decode()

    def follow_variables(self, variables):
        """Give variables the chief's values."""
        if self.count > 1:
            for variable in variables:
                own = keras.ops.convert_to_numpy(variable)
                values = self.from_chief(own).reshape(own.shape)
                variable.assign(values.astype(own.dtype))

    def follow_progress(self, progress):
        """Give a `Progress` what the chief's has."""
        if self.count > 1:
            text = self.text_from_chief(progress.to_json())
            vars(progress).update(vars(Progress.from_json(text)))

    def run_in(self, directory):
        """The `Run` of a directory, for a worker that is not the chief without its files."""
        return Run(directory) if self.is_chief else _ChiefsRun(directory, self)

    def begin(self, run, model, progress):
        """Begin to train together: all have the chief's weights and progress.

        Dropout differs from worker to worker: their random states are numbered on.

        Args:
            run: `Run`, which has begun.
            model: Compiled Keras model; the chief's is restored if the run is resumed.
            progress: `Progress`.
        """
        if self.count == 1:
            return
        if self.is_chief:
            self.text_from_chief(json.dumps(run.read_card()))
        self.follow_progress(progress)
        self.follow_variables([*model.variables, *model.optimizer.variables])
        for state in random_states(model):
            seed, *rest = keras.ops.convert_to_numpy(state).tolist()
            state.assign([(seed + self.index) % 2**32, *rest])

    def _sum_of(self, numbers):
        return self._summed(tf.constant(numbers, tf.float64)).numpy()


def _own_index():
    return tf.convert_to_tensor(tf.distribute.get_replica_context().replica_id_in_sync_group)


def _all_reduced(tensors):
    """The sums of tensors, in the context of a replica."""
    context = tf.distribute.get_replica_context()
    placed = [tf.identity(one) for one in tensors]  # on the device of the replica
    return context.all_reduce(tf.distribute.ReduceOp.SUM, placed)


class _ChiefsRun(Run):
    """The run of the chief as another worker knows it: by its card alone."""

    def __init__(self, directory, workers):
        super().__init__(directory)
        self._workers, self._card = workers, None

    def exists(self):
        return True

    def read_card(self):
        if self._card is None:
            self._card = json.loads(self._workers.text_from_chief())
        return self._card

    @contextlib.contextmanager
    def owned(self, say=print):
        yield  # by the chief

    def _check_unfinished(self, options):
        """Leave it to the chief."""


class FollowChief(keras.callbacks.Callback):
    """Keep all workers of a `fit` at one place: the last callback of each of them.

    After each batch they stop if one does. After each epoch they have the weights, the
    optimizer's state and the progress of the chief, whose callbacks may have changed them.

    Args:
        workers: `Workers`.
        progress: `Progress` of the training.
    """

    def __init__(self, workers, progress):
        super().__init__()
        self.workers, self.progress = workers, progress

    def on_train_batch_end(self, batch, logs=None):
        self._follow_stop()

    def on_epoch_end(self, epoch, logs=None):
        self._follow_stop()
        self.workers.follow_progress(self.progress)
        own = {id(variable) for variable in random_states(self.model)}
        variables = [*self.model.variables, *self.model.optimizer.variables]
        self.workers.follow_variables([one for one in variables if id(one) not in own])

    def on_train_end(self, logs=None):
        self.workers.follow_progress(self.progress)

    def _follow_stop(self):
        self.model.stop_training = self.workers.any(self.model.stop_training)
