"""Training in parts: parts of a batch in turn, or several processes that train together."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf
import training_worker
from conftest import toy_pairs
from options import OPTIONS, new_model

from keras_bahdanau.data import BatchedPairs
from keras_bahdanau.demo import generate
from keras_bahdanau.models.losses import SentenceCrossentropy, TokenCrossentropy
from keras_bahdanau.models.metrics import Perplexity
from keras_bahdanau.text import Subwords
from keras_bahdanau.training import Run, TrainingOptions, presets, train
from keras_bahdanau.training.distributed import SummedStep, fit_of
from keras_bahdanau.training.workers import (
    Workers,
    _index_on_host,
    strategy_of_environment,
)

# Rows with 4, 1, 2, 0 and 3 real tokens, so that parts of a batch differ in their numbers.
TARGET_OUT = np.array([[7, 8, 9, 3], [3, 0, 0, 0], [9, 3, 0, 0], [0] * 4, [5, 6, 3, 0]], "int32")
TARGET_IN = np.pad(TARGET_OUT[:, :-1], [(0, 0), (1, 0)], constant_values=2)
SOURCE = np.array([[4, 5, 3], [6, 0, 0], [5, 3, 0], [0, 0, 0], [8, 7, 0]], "int32")
BATCH = ((SOURCE, TARGET_IN), TARGET_OUT, np.float32(TARGET_OUT > 0))

SCRIPT = Path(training_worker.__file__)
PAIRS = [(example.source, example.target) for example in generate(130)]
SETTINGS = {
    **{"vocabulary_size": 150, "embedding_units": 16, "units": 24, "attention_units": 16},
    **{"epochs": 4, "epoch_steps": 50, "batch_tokens": 300, "buckets": 2, "dropout": 0.0},
    **{"learning_rate": 2e-3, "checkpoint_steps": 8, "patience": 4, "clip_norm": 1.0},
}


@pytest.fixture
def eagerly():
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


def toy_model(loss, name="plain"):
    """Return the same small model each time, compiled for SGD with a clipped gradient."""
    keras.utils.set_random_seed(0)
    model = new_model(OPTIONS[name], SimpleNamespace(vocabulary_size=10))
    model.build()
    optimizer = keras.optimizers.SGD(0.5, global_clipnorm=0.1)
    model.compile(optimizer, loss, weighted_metrics=[Perplexity()])
    return model


def weights_after_a_step(model, batch, rate=0.5, norm=0.1):
    """Return the weights after a step of SGD with the clipped gradient of the batch, in NumPy."""
    inputs, target, weight = batch
    with tf.GradientTape() as tape:
        loss = model.compute_loss(inputs, target, model(inputs, training=True), weight)
    gradients = tape.gradient(loss, [one.value for one in model.trainable_variables])
    gradients = [np.float64(tf.convert_to_tensor(one)) for one in gradients]
    scale = min(1, norm / np.sqrt(sum(np.square(one).sum() for one in gradients)))
    assert scale < 1
    weights = [one.numpy() for one in model.trainable_variables]
    return [one - rate * scale * of for one, of in zip(weights, gradients, strict=True)]


@pytest.mark.few(1)
@pytest.mark.parametrize("loss", [TokenCrossentropy, SentenceCrossentropy])
def test_a_step_in_parts_is_that_of_the_whole_batch(eagerly, loss):
    model, batch = toy_model(loss()), tf.nest.map_structure(tf.constant, BATCH)
    expected = weights_after_a_step(model, batch)
    results = model.test_on_batch(*BATCH, return_dict=True)
    model.reset_metrics()
    spec = tf.nest.map_structure(tf.TensorSpec.from_tensor, batch)
    assert SummedStep(model, spec, Workers(), parts=3)(batch) == pytest.approx(results, rel=1e-5)
    for one, other in zip(model.trainable_variables, expected, strict=True):
        np.testing.assert_allclose(one.numpy(), other, atol=1e-6)


def test_the_results_of_an_epoch_have_what_a_checkpoint_adds(eagerly):
    """When a run resumes, the checkpoint adds the sums of earlier batches at the first batch."""
    model, losses = toy_model(TokenCrossentropy()), []
    added = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: model.metrics[0].update_state(
            100.0, sample_weight=9.0
        ),
        on_epoch_end=lambda epoch, logs: losses.append(logs["loss"]),
    )
    data = tf.data.Dataset.from_tensors(BATCH)
    fit_of(Workers(), parts=2)(model, data, epochs=1, callbacks=[added])
    assert losses == [pytest.approx(float(model.metrics[0].result()))] and losses[0] > 10


def test_one_process_with_whole_batches_has_the_fit_of_keras():
    assert fit_of(Workers()) is keras.Model.fit


def test_workers_together_have_the_rows_of_one():
    pairs = toy_pairs()
    source, target = Subwords.train_pair(pairs, vocabulary_size=48)

    def batches(shard):
        data = BatchedPairs(pairs, source, target, 60, buckets=3, seed=1, shard=shard)
        return [tf.nest.flatten(batch) for batch in data.epoch(2).as_numpy_iterator()]

    parts = [batches((index, 3)) for index in range(3)]
    for whole, *shares in zip(batches((0, 1)), *parts, strict=True):
        for array, *arrays in zip(whole, *shares, strict=True):
            assert max(map(len, arrays)) - min(map(len, arrays)) <= 1
            for index, share in enumerate(arrays):
                own = array[index::3]
                np.testing.assert_array_equal(share[: len(own)], own)
                assert not share[len(own) :].any()  # at most one row, which is empty


@pytest.mark.parametrize("shard", [(2, 2), (-1, 2), (0, 0), (0, True)])
def test_a_shard_is_one_of_a_count(shard):
    with pytest.raises(ValueError, match="Received: (shard|index|count)="):
        BatchedPairs([("a", "b")], None, None, shard=shard)


def test_a_strategy_has_one_device_in_each_process():
    devices = SimpleNamespace(worker_devices=("GPU:0", "GPU:1"))
    with pytest.raises(ValueError, match="Received: strategy=SimpleNamespace with 2 devices"):
        Workers(SimpleNamespace(extended=devices))


class LostChief:
    """Strategy of the second of two workers, whose chief ended before they connected."""

    extended = SimpleNamespace(worker_devices=("CPU:0",))
    num_replicas_in_sync = 2

    def run(self, function, args=()):
        if not args:
            return tf.constant(1)  # its index
        raise tf.errors.UnavailableError(None, None, "aborted by: Socket closed")


def test_a_worker_without_a_chief_ends_with_one_clear_error(tmp_path):
    with pytest.raises(ConnectionError, match=r"worker 1 of 2 lost another one .*Socket closed"):
        train(PAIRS[:4], PAIRS[4:6], tmp_path / "run", strategy=LostChief())


def test_workers_of_a_machine_are_counted_by_their_addresses():
    hosts = {"chief": ["a:1"], "worker": ["b:1", "a:2", "b:2", "[::1]:3"], "evaluator": ["a:9"]}
    tasks = [("chief", 0), *(("worker", index) for index in range(4))]
    found = [_index_on_host(hosts, {"type": kind, "index": index}) for kind, index in tasks]
    assert found == [0, 0, 1, 1, 0]


BROKEN = [
    *("{", "[]", '{"task": {}}', '{"task": {"index": "x"}}'),
    '{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 1}}',
    '{"cluster": [], "task": {"type": "worker", "index": 0}}',
]


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_description_of_the_job_is_refused(monkeypatch, text):
    monkeypatch.setenv("TF_CONFIG", text)
    with pytest.raises(ValueError, match=re.escape(f"Received: TF_CONFIG={text!r}")):
        strategy_of_environment()


@pytest.mark.slow
@pytest.mark.parametrize("jit_compile", [False, True])
def test_accumulation_gives_the_curve_of_the_large_batch(jit_compile):
    pairs = toy_pairs()
    source, target = Subwords.train_pair(pairs, vocabulary_size=48)

    def losses(parts):
        keras.utils.set_random_seed(0)
        sizes = {"embedding_units": 8, "units": 12, "attention_units": 8, "dropout": 0.0}
        model = presets.small(source, target, **sizes)
        model.build()
        optimizer = keras.optimizers.Adam(1e-2, global_clipnorm=0.5)
        model.compile(optimizer, TokenCrossentropy(), jit_compile=jit_compile and parts > 1)
        data = BatchedPairs(pairs, source, target, batch_tokens=200, buckets=2)
        fit = fit_of(Workers(), parts)
        settings = {"epochs": 2, "verbose": 0, "shuffle": False, "callbacks": []}
        return fit(model, data.dataset(), **settings).history["loss"]

    assert losses(3) == pytest.approx(losses(1), rel=1e-5)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def environment(index=None, ports=()):
    """Return the environment of a process on the CPU, or of a worker with its place in the job."""
    paths = os.pathsep.join([str(Path(__file__).parents[2]), str(SCRIPT.parent)])
    names = {**os.environ, "PYTHONPATH": paths, "CUDA_VISIBLE_DEVICES": ""}
    if index is not None:
        cluster = {"worker": [f"127.0.0.1:{port}" for port in ports]}
        task = {"type": "worker", "index": index}
        names["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": task})
    return names


def trained_together(count, folder, teacher=None, **more):
    """Train with `count` processes. Return (losses after each batch, history)."""
    ports = [free_port() for _ in range(count)] if count > 1 else []
    given = {**SETTINGS, **more}, PAIRS[:110], PAIRS[110:], teacher and str(teacher)
    arguments = json.dumps([str(folder / "run"), *given])
    workers = [
        subprocess.Popen(
            [sys.executable, SCRIPT, folder / "logs.json"],
            env=environment(*((index, ports) if ports else ())),
            stdin=subprocess.PIPE,
            text=True,
        )
        for index in range(count)
    ]
    for worker in workers:
        worker.stdin.write(arguments)
        worker.stdin.close()
    assert [worker.wait() for worker in workers] == [0] * count
    return json.loads((folder / "logs.json").read_text()), history_of(folder / "run")


def history_of(run):
    return json.loads(Run(run).history.read_text())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("alone")


@pytest.fixture(scope="module")
def alone(folder):
    """(losses, history) of one process that uses Keras' `fit`."""
    return trained_together(1, folder)


def assert_same_history(found, expected):
    assert len(found) == len(expected) == SETTINGS["epochs"]
    for logs, others in zip(found, expected, strict=True):
        assert logs == pytest.approx(others, abs=1e-4, rel=1e-4)


@pytest.mark.slow
def test_two_workers_have_the_loss_curve_of_one(alone, tmp_path):
    losses, history = trained_together(2, tmp_path)
    assert len(losses) >= 200
    np.testing.assert_allclose(losses, alone[0], atol=1e-4)
    assert_same_history(history, alone[1])
    assert {path.name for path in (tmp_path / "run").iterdir()} == {
        *("run.json", "checkpoint.weights.h5", "translator.keras", "history.json"),
    }


@pytest.mark.slow
def test_two_workers_learn_of_a_teacher_as_one_does(alone, folder, tmp_path):
    teacher, settings = folder / "run", {"word_distillation": 0.8, "epochs": 1}
    found = []
    for count in (1, 2):
        (tmp_path / f"{count}").mkdir()
        found.append(trained_together(count, tmp_path / f"{count}", teacher, **settings)[0])
    np.testing.assert_allclose(*found, atol=1e-4)
    assert np.abs(np.subtract(found[0], alone[0][: len(found[0])])).max() > 0.01


def children_of(process):
    """Return the process ids of the workers, in order."""
    path = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return [int(number) for number in path.read_text().split()]


@pytest.mark.slow
@pytest.mark.parametrize("victim", [1, 0])
def test_a_killed_worker_ends_the_job_which_then_resumes(alone, tmp_path, victim):
    files = {"train": PAIRS[:110], "valid": PAIRS[110:]}
    for name, pairs in files.items():
        lines = "".join(f"{source}\t{target}\n" for source, target in pairs)
        (tmp_path / f"{name}.tsv").write_text(lines, encoding="utf-8")
    run = Run(tmp_path / "run")
    options = [f"--{name.replace('_', '-')}={value}" for name, value in SETTINGS.items()]
    command = [
        *(sys.executable, "-m", "keras_bahdanau.cli", "train", tmp_path / "train.tsv"),
        *("--valid-source", tmp_path / "valid.tsv", "--out", run.directory, "--workers", "2"),
        *options,
    ]
    job = subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE, text=True)
    while not (run.checkpoint.is_file() and run.progress().step):
        assert job.poll() is None
        time.sleep(0.05)
    os.kill(children_of(job)[victim], signal.SIGKILL)
    killed = time.monotonic()
    _, errors = job.communicate(timeout=60)
    assert time.monotonic() - killed < 30
    assert job.returncode == 2
    assert f"worker {victim} ended by signal SIGKILL. Run the same command" in errors
    progress = run.progress()
    assert progress.step or progress.epoch
    # A different number of workers is allowed, too.
    command[command.index("--workers") + 1] = str(2 - victim)
    assert subprocess.run(command, env=environment()).returncode == 0
    # Each epoch's mean covers every batch once, so the history is the same.
    assert_same_history(history_of(run.directory), alone[1])


@pytest.mark.slow
def test_the_workers_of_a_killed_parent_end_within_seconds(tmp_path):
    for name, pairs in {"train": PAIRS[:110], "valid": PAIRS[110:]}.items():
        lines = "".join(f"{source}\t{target}\n" for source, target in pairs)
        (tmp_path / f"{name}.tsv").write_text(lines, encoding="utf-8")
    run = Run(tmp_path / "run")
    settings = {**SETTINGS, "epochs": 1000, "patience": 1000}
    job = subprocess.Popen(
        [
            *(sys.executable, "-m", "keras_bahdanau.cli", "train", tmp_path / "train.tsv"),
            *("--valid-source", tmp_path / "valid.tsv", "--out", run.directory, "--workers", "2"),
            *(f"--{name.replace('_', '-')}={value}" for name, value in settings.items()),
        ],
        env=environment(),
    )
    while not (run.checkpoint.is_file() and run.progress().step):
        assert job.poll() is None
        time.sleep(0.05)
    workers = children_of(job)
    assert len(workers) == 2
    job.kill()
    job.wait()
    killed = time.monotonic()
    while any(is_at_work(worker) for worker in workers):
        assert time.monotonic() - killed < 10
        time.sleep(0.1)


def is_at_work(number):
    stat = Path(f"/proc/{number}/stat")
    try:
        return ") Z" not in stat.read_text()  # a zombie process is not at work
    except (FileNotFoundError, ProcessLookupError):
        return False


DEVICES = """
import json, sys
import tensorflow as tf
(cpu,) = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
import keras
from keras_bahdanau.training import TrainingOptions, train

class Places(keras.callbacks.Callback):
    def on_train_end(self, logs=None):
        parts = {"encoder": self.model.encoder, "attention": self.model.decoder.cell.attention}
        parts["decoder"] = self.model.decoder.readout
        places = {name: {one.value.device[-5:] for one in part.trainable_variables}
                  for name, part in parts.items()}
        slots = {one.value.device[-5:] for one in self.model.optimizer.variables
                 if "encoder" in one.path}
        places["slots of the encoder"] = slots
        print(json.dumps({name: sorted(on) for name, on in places.items()}))

out, options, pairs, valid_pairs = json.load(sys.stdin)
placed = json.loads(sys.argv[1])
train(pairs, valid_pairs, out, TrainingOptions(**options), verbose=0, say=lambda line: None,
      callbacks=[Places()], devices=placed)
"""


def trained_on(devices, folder):
    """Train on two logical devices. Return (devices of the weights of each part, history)."""
    options = {**SETTINGS, "epochs": 1, "epoch_steps": 0}
    arguments = json.dumps([str(folder), options, PAIRS[:40], PAIRS[120:]])
    command = [sys.executable, "-c", DEVICES, json.dumps(devices)]
    done = subprocess.run(
        command, input=arguments, env=environment(), stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout), json.loads(Run(folder).history.read_text())


@pytest.mark.slow
def test_parts_of_a_model_train_on_devices_of_their_own(tmp_path):
    _, expected = trained_on({}, tmp_path / "one")
    devices = {"encoder": "CPU:1", "decoder": "CPU:0", "attention": "CPU:1"}
    places, history = trained_on(devices, tmp_path / "two")
    assert places == {
        **{name: [device] for name, device in devices.items()},
        "slots of the encoder": ["CPU:1"],
    }
    for logs, others in zip(history, expected, strict=True):
        assert logs == pytest.approx(others, rel=1e-5)


@pytest.mark.parametrize(
    "devices, message",
    [
        ({"readout": "CPU:0"}, "must be one of encoder, decoder, attention. Received: devices="),
        ({"encoder": "GPU:7"}, r"A device must be one of .*CPU:0.*\. Received: devices="),
    ],
)
def test_unknown_parts_and_devices_are_refused(tmp_path, devices, message):
    options = TrainingOptions(epochs=1, model_type="char", vocabulary_size=16, units=4)
    with pytest.raises(ValueError, match=message):
        train(PAIRS[:4], PAIRS[:4], tmp_path / "run", options, say=len, devices=devices)


def test_xla_and_several_devices_do_not_go_together(tmp_path):
    options = TrainingOptions(epochs=1, model_type="char", vocabulary_size=16, jit_compile=True)
    with pytest.raises(ValueError, match="Received: devices=.*jit_compile=True"):
        train(
            PAIRS[:4], PAIRS[:4], tmp_path / "run", options, say=len, devices={"encoder": "CPU:0"}
        )


REPLICAS = """
import sys
import numpy as np
import tensorflow as tf
(cpu,) = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
import keras
import keras_bahdanau as kb

def trained(strategy):
    keras.utils.set_random_seed(1)
    with strategy.scope():
        model = new_model()
    history = model.fit(DATA.batch(4), verbose=0).history
    return [*history["loss"], *model.get_weights()]

{}
alone = trained(tf.distribute.get_strategy())
two = trained(tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]))
for found, expected in zip(two, alone, strict=True):
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
"""
PLAIN = """
ids = np.array([[1, 2], [3, 4], [1, 1], [2, 3]])
targets = np.array([[1, 2], [3, 3], [4, 1], [2, 2]])
DATA = tf.data.Dataset.from_tensor_slices((ids, targets, np.ones_like(ids, "float32")))

def new_model():
    start = keras.initializers.Constant(0.1)
    model = keras.Sequential([keras.layers.Embedding(5, 5, embeddings_initializer=start)])
    model.compile(keras.optimizers.SGD(0.5), getattr(kb.losses, sys.argv[1])())
    return model
"""
REGULARIZED = """
source, given, target = np.random.default_rng(1).integers(4, 8, (3, 4, 5))
weight = np.ones((4, 5), "float32")
DATA = tf.data.Dataset.from_tensor_slices(((source, given), target, weight))

def new_model():
    parts = kb.Encoder(8, 4, 3), kb.Decoder(8, 4, kb.layers.DecoderCell(4))
    model = kb.Seq2Seq(*parts, ctc_weight=float(sys.argv[1]))
    model.build()
    model.decoder.output_layer.kernel.regularizer = keras.regularizers.L2(1.0)
    model.compile(keras.optimizers.SGD(0.5), kb.losses.TokenCrossentropy())
    return model
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "model, argument",
    [
        *((PLAIN, loss) for loss in ("TokenCrossentropy", "SentenceCrossentropy")),
        *((REGULARIZED, ctc_weight) for ctc_weight in ("0", "0.3")),
    ],
    ids=["tokens", "sentences", "regularizer", "regularizer and CTC"],
)
def test_two_replicas_with_equal_parts_have_the_loss_of_the_whole_batch(model, argument):
    command = [sys.executable, "-c", REPLICAS.replace("{}", model), argument]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
