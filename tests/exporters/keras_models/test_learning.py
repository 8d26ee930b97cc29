"""A head trained inside a LiteRT file: steps match Keras, can be undone, and reject bad data."""

import os
import signal
import subprocess
import sys
import time

import keras
import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter
from keras import layers as L
from keras_export_matrix import spread_weights as spread
from sealing import flips

import keras_bahdanau as kb
from keras_bahdanau.exporters import check, describe
from keras_bahdanau.runners import Learner

IDS, CLASSES = 30, 3
NAMES = ["bad", "so so", "good"]


def classifier(activation="softmax"):
    ids = keras.Input((None,), dtype="int32", name="ids")
    hidden = L.Embedding(IDS, 4, mask_zero=True)(ids)
    hidden = L.Bidirectional(L.LSTM(5, return_sequences=True))(hidden)
    pooled = kb.AttentionPooling(4)(hidden)
    return keras.Model(ids, L.Dense(CLASSES, activation, name="mood")(pooled))


def tagger():
    ids = keras.Input((None,), dtype="int32", name="ids")
    hidden = L.Embedding(IDS, 4, mask_zero=True)(ids)
    hidden = L.GRU(5, return_sequences=True)(hidden)
    hidden = L.Dense(6, "tanh", name="middle")(hidden)
    return keras.Model(ids, L.Dense(CLASSES, "softmax", name="tag")(hidden))


def regularized():
    sample = keras.Input((4,), name="sample")
    hidden = L.Dense(5, "relu", name="frozen", kernel_regularizer="l2")(sample)
    head = L.Dense(1, "sigmoid", name="yes", kernel_regularizer="l2", activity_regularizer="l1")
    return keras.Model(sample, head(hidden))


def frozen(model, names):
    for layer in model.layers:
        layer.trainable = layer.name in names
    return model


def batches(model, count, rows):
    random = np.random.default_rng(0)
    for _ in range(count):
        if model.input.shape[1:] == (4,):
            inputs = random.normal(size=(rows, 4)).astype("float32")
            yield inputs, random.integers(2, size=(rows, 1)).astype("float32")
            continue
        inputs = random.integers(1, IDS, (rows, random.integers(2, 9))).astype("int32")
        inputs[0, -1] = 0  # padding
        shape = inputs.shape if len(model.output.shape) == 3 else (rows,)
        yield inputs, random.integers(CLASSES, size=shape).astype("int32")


def require_steps_of_keras(model, names, learner, count, rows):
    before = [weight.numpy() for weight in model.weights]
    for inputs, labels in batches(model, count, rows):
        model.reset_metrics()  # the loss is a running mean
        expected = model.train_on_batch(inputs, labels)
        loss = learner.train(inputs, labels)
        assert loss == pytest.approx(float(np.ravel(expected)[0]), abs=1e-5)
    weights = [weight for name in names for weight in model.get_layer(name).weights]
    for weight in weights:
        array = learner.state[weight.path.replace("/", "_")]
        assert array == pytest.approx(weight.numpy(), abs=1e-5)
    inputs, _ = next(batches(model, 1, rows))
    (answer,) = learner.infer(inputs).values()
    assert answer == pytest.approx(model(inputs).numpy(), abs=1e-5)
    moved = {
        weight.path
        for old, weight in zip(before, model.weights, strict=True)
        if not np.array_equal(old, weight.numpy()) and "seed_generator" not in weight.path
    }
    assert moved == {weight.path for weight in weights}


@pytest.fixture(scope="module")
def model():
    return frozen(spread(classifier()), ["mood"])


@pytest.fixture(scope="module")
def path(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("exported") / "mood.tflite"
    settings = {"optimizer": "adam", "learning_rate": 0.01, "labels": NAMES}
    return kb.export_litert(model, path, signatures=("train",), **settings)


@pytest.fixture
def learner(path):
    return Learner(path)


def same(state, other):
    return all(np.array_equal(state[name], other[name]) for name in other)


def test_few_steps_are_those_of_keras(model, learner):
    twin = frozen(classifier(), ["mood"])
    twin.set_weights(model.get_weights())
    twin.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy")
    require_steps_of_keras(twin, ["mood"], learner, 5, 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("build", "names", "optimizer", "loss", "rows"),
    [
        (classifier, ["mood"], keras.optimizers.SGD(0.1), None, 1),
        (classifier, ["mood"], keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy", 4),
        (
            lambda: classifier(None),
            ["mood"],
            keras.optimizers.SGD(0.05, momentum=0.9, nesterov=True),
            keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            2,
        ),
        (tagger, ["tag"], keras.optimizers.SGD(0.1, momentum=0.5), None, 2),
        (tagger, ["middle", "tag"], keras.optimizers.Adam(0.003), None, 1),
        (regularized, ["yes"], keras.optimizers.SGD(0.1), "binary_crossentropy", 3),
    ],
    ids=["sgd", "adam", "nesterov of logits", "tagger", "two layers", "regularized"],
)
def test_two_hundred_steps_are_those_of_keras(tmp_path, build, names, optimizer, loss, rows):
    model = frozen(spread(build()), names)
    model.compile(optimizer, loss or keras.losses.SparseCategoricalCrossentropy())
    settings = {"signatures": ("train",), "trainable": names, "batch_size": rows}
    learner = Learner(kb.export_litert(model, tmp_path / "a.tflite", **settings))
    require_steps_of_keras(model, names, learner, 200, rows)


@pytest.mark.slow
@pytest.mark.parametrize("quantization", ["float16", "int8", "int4"])
def test_a_head_learns_over_quantized_layers(tmp_path, quantization):
    path = tmp_path / "a.tflite"
    settings = {"signatures": ("train",), "optimizer": "adam", "learning_rate": 0.1}
    kb.export_litert(spread(tagger()), path, quantization=quantization, **settings)
    learner, inputs, labels = Learner(path), [[4, 7, 9]], [[2, 0, 1]]
    learner.train(inputs, labels, steps=100)
    assert learner.infer(inputs)["tag"].argmax(-1).tolist() == labels


def test_the_file_has_built_in_operations_and_no_variable(path):
    assert check(path) == []
    lines = describe(path).split("\n")
    assert [line.partition(":")[0] for line in lines if " -> " in line] == [
        "infer",
        "train",
        "initial_state",
    ]


def test_the_classes_can_be_named(learner):
    assert learner.train([[3, 4]], ["good"]) > 0
    named = learner.state
    learner.reset()
    learner.train({"ids": [[3, 4]]}, [2])
    assert same(named, learner.state)


def test_what_is_learned_is_answered(learner):
    worst = NAMES[int(learner.infer([[5, 6, 7]])["mood"].argmin())]
    learner.train([[5, 6, 7]], [worst], steps=100)
    assert NAMES[int(learner.infer([[5, 6, 7]])["mood"].argmax())] == worst


def test_undo_takes_the_last_training_back(learner):
    learner.train([[1, 2]], [0])
    before, answer = learner.state, learner.infer([[1, 2]])["mood"]
    learner.train([[1, 2]], [1], steps=3)
    assert not same(before, learner.state)
    learner.undo()
    assert same(before, learner.state)
    assert np.array_equal(learner.infer([[1, 2]])["mood"], answer)
    with pytest.raises(ValueError, match="nothing to undo"):
        learner.undo()


def test_a_saved_state_is_restored_by_another_process(path, learner, tmp_path):
    learner.train([[1, 2]], [0], steps=2)
    learner.save(tmp_path / "mood.learned")
    other = Learner(path)
    other.restore(tmp_path / "mood.learned")
    assert same(learner.state, other.state)
    assert learner.train([[3]], [1]) == other.train([[3]], [1])


def test_a_state_that_is_damaged_or_of_another_model_is_refused(learner, tmp_path, other_path):
    file = tmp_path / "mood.learned"
    learner.train([[1, 2]], [0])
    learner.save(file)
    state, content = learner.state, file.read_bytes()
    for _ in flips(file, 40, np.random.default_rng(0)):
        with pytest.raises(ValueError, match="must be a file that `save` wrote") as error:
            learner.restore(file)
        assert "\n" not in str(error.value)
    file.write_bytes(content[:-100])
    with pytest.raises(ValueError, match="must be a file that `save` wrote"):
        learner.restore(file)
    other = Learner(other_path)
    other.save(file)
    with pytest.raises(ValueError, match="from a different model"):
        learner.restore(file)
    with pytest.raises(FileNotFoundError):
        learner.restore(tmp_path / "none")
    assert learner.state is state


@pytest.mark.parametrize(
    ("inputs", "labels", "kind", "message"),
    [
        ([[1, 2]], [3], ValueError, "integer from 0 to 2. Received: 3"),
        ([[1, 2]], [-1], ValueError, "Received: -1"),
        ([[1, 2]], ["god"], ValueError, "bad, so so, good. Received: 'god'. Did you mean 'good'"),
        ([[1, 2]], [0.5], TypeError, "must be an array of int32"),
        ([[1, 2]], [0, 1], ValueError, r"'labels' must be int32 \(1\). Received: shape \(2,\)"),
        ([[1, 2]], 1, ValueError, r"Received: shape \(\)"),
        ({"id": [[1]]}, [1], ValueError, "The inputs must be ids. Received: id"),
        ([1, 2], [1], ValueError, r"Received: shape \(2,\)"),
    ],
    ids=["large", "negative", "name", "float", "rows", "rank", "input", "input rank"],
)
def test_a_wrong_label_or_input_changes_nothing(learner, inputs, labels, kind, message):
    state = learner.state
    with pytest.raises(kind, match=message) as error:
        learner.train(inputs, labels)
    assert "\n" not in str(error.value)
    assert learner.state is state


@pytest.fixture(scope="module")
def other_path(tmp_path_factory):
    path = tmp_path_factory.mktemp("exported") / "yes.tflite"
    settings = {"signatures": ("train", "serving_default"), "loss": "mse"}
    return kb.export_litert(spread(regularized()), path, **settings)


@pytest.mark.parametrize(
    ("value", "message"),
    [(np.nan, "finite float32"), (np.inf, "finite float32"), (3e38, "a finite loss")],
)
def test_a_step_without_a_finite_loss_changes_nothing(other_path, value, message):
    learner = Learner(other_path)
    state = learner.state
    inputs = np.array([[value, value, -value, value]], "float32")
    with pytest.raises(ValueError, match=f"must (have|contain) {message}") as error:
        learner.train(inputs, [[value]])
    assert "\n" not in str(error.value)
    assert learner.state is state
    request = {"sample": inputs, "labels": np.array([[value]], "float32"), **state}
    runner = Interpreter(model_path=str(other_path)).get_signature_runner("train")
    answer = runner(**request)  # a host that ignores these errors
    assert not np.isfinite(answer["loss"][0])
    assert same(answer, state)


def test_a_file_without_the_signature_can_not_learn(tmp_path):
    model = keras.Sequential([keras.Input((2,)), L.Dense(1)])
    path = kb.export_litert(model, tmp_path / "a.tflite")
    with pytest.raises(ValueError, match="must have the signature 'train'"):
        Learner(path)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"trainable": ["moods"]}, "must name layers of the model.*Did you mean 'mood'"),
        ({"trainable": ["ids"]}, "must have trainable weights. Received: 'ids'"),
        ({"optimizer": "rmsprop"}, "must be SGD or Adam"),
        ({"optimizer": keras.optimizers.SGD(clipnorm=1.0)}, "Received: clipnorm=1.0"),
        ({"learning_rate": 0.0}, "`learning_rate` must be a number in"),
        ({"loss": ["mse", "mse"]}, "Received: 2 losses"),
        ({"loss": "mse", "signatures": "step"}, "`loss` is only for files that learn"),
    ],
    ids=["layer", "weights", "optimizer", "clipping", "rate", "losses", "signature"],
)
def test_a_setting_that_does_not_fit_is_refused(model, tmp_path, settings, message):
    settings = {"signatures": ("train",), **settings}
    with pytest.raises(ValueError, match=message) as error:
        kb.export_litert(model, tmp_path / "a.tflite", **settings)
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_another_optimizer_of_a_compiled_model_is_refused(tmp_path):
    model = keras.Sequential([keras.Input((2,)), L.Dense(3, "softmax")])
    model.compile("rmsprop", "sparse_categorical_crossentropy")
    with pytest.raises(ValueError, match="must be SGD or Adam.* Received: optimizer='RMSprop'"):
        kb.export_litert(model, tmp_path / "a.tflite", signatures=("train",))


@pytest.mark.slow
def test_a_layer_under_a_loop_can_not_learn(tmp_path):
    model = spread(classifier())
    names = [layer.name for layer in model.layers if isinstance(layer, L.Bidirectional)]
    with pytest.raises(ValueError, match="Set trainable= to layers after the recurrent ones"):
        kb.export_litert(model, tmp_path / "a.tflite", signatures=("train",), trainable=names)


SAVING = """
import sys
from keras_bahdanau.runners import Learner
learner = Learner(sys.argv[1])
print("ready", flush=True)
number = 0
while True:
    number += 1
    learner.reset()
    learner.train([[1, 2]], [number % 3])
    learner.save(sys.argv[2])
    print(number, flush=True)
"""


@pytest.mark.slow
def test_a_kill_while_saving_loses_nothing(path, tmp_path):
    file, random = tmp_path / "mood.learned", np.random.default_rng(0)
    learner, states = Learner(path), []
    for number in range(3):
        learner.reset()
        learner.train([[1, 2]], [number])
        states.append(learner.state)
    for _ in range(8):
        command = [sys.executable, "-c", SAVING, str(path), str(file)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ) as child:
            lines = [child.stdout.readline() for _ in range(2)]  # "ready", then the first save
            assert lines[0] == b"ready\n" and lines[1].strip().isdigit()
            time.sleep(random.uniform(0, 0.05))
            child.send_signal(signal.SIGKILL)
        learner.reset()
        learner.restore(file)
        assert any(same(learner.state, state) for state in states)
