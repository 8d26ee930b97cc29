"""Scripts posted by users whose models failed in the plain LiteRT runtime, and one-line fixes.

Each script builds and trains a model, exports it, runs the file in the interpreter of
`ai-edge-litert`, and prints the largest difference from Keras. The scripts reproduce LiteRT#6458,
litert-torch#1062, tensorflow#126061, #73254 and #77704, and the example in Keras' guide on LiteRT.
"""

import subprocess
import sys
from typing import NamedTuple

import pytest

pytestmark = pytest.mark.slow
FLEX = "FlexTensorListReserve"  # an operation that the plain runtime doesn't have


class Script(NamedTuple):
    """A script in the form in which a user would post it.

    Attributes:
        code: String.
        changes: Dictionary from each line that exports to the line that replaces it.
        ends: String, part of the error that the unchanged script raises; "" if it succeeds.
    """

    code: str
    changes: dict
    ends: str = FLEX

    def repaired(self):
        """Return the script with its export lines replaced."""
        code = f"import keras_bahdanau as kb\n{self.code}"
        for line, ours in self.changes.items():
            assert code.count(line) == 1, line
            code = code.replace(line, ours)
        return code


SCRIPTS = {
    # Detect a voice while a person is still speaking: LiteRT#6458.
    "a frame at a time": Script(
        """
import keras
import numpy as np
from ai_edge_litert.interpreter import Interpreter

frames = np.random.default_rng(0).normal(size=(32, 30, 12)).astype("float32")
voice = (frames.mean(axis=-1, keepdims=True).cumsum(axis=1) > 0).astype("float32")
model = keras.Sequential(
    [
        keras.Input((None, 12), name="frame"),
        keras.layers.GRU(24, return_sequences=True),
        keras.layers.GRU(16, return_sequences=True),
        keras.layers.Dense(1, "sigmoid", name="voice"),
    ]
)
model.compile("adam", "binary_crossentropy")
model.fit(frames, voice, verbose=0)
model.export("model.tflite", format="litert")

interpreter = Interpreter("model.tflite")
run = interpreter.get_signature_runner([*interpreter.get_signature_list()][-1])
details = run.get_input_details()
states = {n: np.zeros(d["shape"], d["dtype"]) for n, d in details.items() if n != "frame"}
heard = []
for step in range(30):
    outputs = run(frame=frames[:1, step], **states)
    heard.append(outputs.pop("voice"))
    states = outputs
print(abs(np.stack(heard, axis=1) - model.predict(frames[:1], verbose=0)).max())
""",
        {
            'model.export("model.tflite", format="litert")': (
                'kb.export_litert(model, "model.tflite", signatures=("step",))'
            )
        },
        ends="failed to prepare",  # fails before the Flex operation: the file reads whole sequences
    ),
    # Read the prosody of a voice, for text of any length: litert-torch#1062.
    "two directions, any length": Script(
        """
import keras
import numpy as np
from ai_edge_litert.interpreter import Interpreter

inputs = keras.Input((None, 8), name="phonemes")
hidden = keras.layers.Bidirectional(keras.layers.LSTM(8, return_sequences=True))(inputs)
model = keras.Model(inputs, hidden)
model.export("model.tflite", format="litert")

interpreter, distances = Interpreter("model.tflite"), []
(place,), (result,) = interpreter.get_input_details(), interpreter.get_output_details()
for length in (16, 5, 33, 1):
    text = np.random.default_rng(length).normal(size=(1, length, 8)).astype("float32")
    interpreter.resize_tensor_input(place["index"], text.shape)
    interpreter.allocate_tensors()
    interpreter.set_tensor(place["index"], text)
    interpreter.invoke()
    received = interpreter.get_tensor(result["index"])
    distances.append(abs(received - model.predict(text, verbose=0)).max())
print(max(distances))
""",
        {
            'model.export("model.tflite", format="litert")': (
                'kb.export_litert(model, "model.tflite")'
            )
        },
    ),
    # A stack of LSTM layers with a fixed batch size and length: tensorflow#126061.
    "four layers, 100 steps": Script(
        """
import keras
import numpy as np
from ai_edge_litert.interpreter import Interpreter

model = keras.Sequential([keras.Input((100, 32), batch_size=1, name="series")])
for number in range(4):
    model.add(keras.layers.LSTM(128, return_sequences=number < 3))
model.add(keras.layers.Dense(1))
model.export("model.tflite", format="litert")

interpreter = Interpreter("model.tflite")
interpreter.allocate_tensors()
series = np.random.default_rng(0).normal(size=(1, 100, 32)).astype("float32")
interpreter.set_tensor(interpreter.get_input_details()[0]["index"], series)
interpreter.invoke()
received = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
print(abs(received - model.predict(series, verbose=0)).max())
""",
        {
            'model.export("model.tflite", format="litert")': (
                'kb.export_litert(model, "model.tflite")'
            )
        },
    ),
    # A trained text classifier for a phone without Flex: tensorflow#73254.
    "a trained LSTM": Script(
        """
import keras
import numpy as np
from ai_edge_litert.interpreter import Interpreter

random = np.random.default_rng(0)
texts = random.integers(1, 500, (256, 24)).astype("int32")
texts[::3, 15:] = 0
labels = (texts.sum(axis=1) % 2).astype("float32")
model = keras.Sequential(
    [
        keras.Input((24,), dtype="int32"),
        keras.layers.Embedding(500, 32, mask_zero=True),
        keras.layers.LSTM(64),
        keras.layers.Dropout(0.5),
        keras.layers.Dense(32, "relu"),
        keras.layers.Dense(1, "sigmoid"),
    ]
)
model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
model.fit(texts, labels, epochs=2, verbose=0)
model.export("model.tflite", format="litert")

interpreter, received = Interpreter("model.tflite"), []
interpreter.allocate_tensors()
for text in texts[:9]:
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], text[np.newaxis])
    interpreter.invoke()
    received.append(interpreter.get_tensor(interpreter.get_output_details()[0]["index"])[0])
print(abs(np.array(received) - model.predict(texts[:9], verbose=0)).max())
""",
        {
            'model.export("model.tflite", format="litert")': (
                'kb.export_litert(model, "model.tflite")'
            )
        },
    ),
    # Consecutive camera images, read by convolutions: tensorflow#77704.
    "convolutions at each step": Script(
        """
import keras
import numpy as np
from ai_edge_litert.interpreter import Interpreter
from keras.layers import LSTM, Conv2D, Dense, Flatten, Input, MaxPooling2D, TimeDistributed

random = np.random.default_rng(0)
films = random.uniform(size=(16, 6, 24, 24, 3)).astype("float32")
gestures = random.integers(0, 5, 16)
film = Input((6, 24, 24, 3), name="film")
x = TimeDistributed(Conv2D(8, 3, activation="relu"))(film)
x = TimeDistributed(MaxPooling2D())(x)
x = TimeDistributed(Conv2D(8, 3, activation="relu"))(x)
x = LSTM(32)(TimeDistributed(Flatten())(x))
model = keras.Model(film, Dense(5, "softmax")(x))
model.compile("adam", "sparse_categorical_crossentropy")
model.fit(films, gestures, verbose=0)
model.export("model.tflite", format="litert")

interpreter = Interpreter("model.tflite")
interpreter.allocate_tensors()
interpreter.set_tensor(interpreter.get_input_details()[0]["index"], films[:1])
interpreter.invoke()
received = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
print(abs(received - model.predict(films[:1], verbose=0)).max())
""",
        {
            'model.export("model.tflite", format="litert")': (
                'kb.export_litert(model, "model.tflite")'
            )
        },
    ),
    "the guide of Keras": Script(
        """
import keras
import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

layers, random, distances = keras.layers, np.random.default_rng(0), []

def compare(interpreter, model, arrays, inputs):
    details = interpreter.get_input_details()
    for detail in details:  # by what is in its name, and else in turn
        named = [name for name in arrays if name in detail["name"]]
        array = arrays[named[0] if named else [*arrays][details.index(detail)]]
        interpreter.resize_tensor_input(detail["index"], array.shape)
    interpreter.allocate_tensors()
    for detail in details:
        named = [name for name in arrays if name in detail["name"]]
        array = arrays[named[0] if named else [*arrays][details.index(detail)]]
        interpreter.set_tensor(detail["index"], array)
    interpreter.invoke()
    received = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    return abs(received - np.asarray(model(inputs))).max()

def rows(count):
    return random.uniform(size=(count, 10)).astype("float32")

plain = keras.Sequential(
    [
        layers.Input((10,)),
        layers.Dense(64, activation="relu"),
        layers.Dense(64, activation="relu"),
        layers.Dense(10, activation="softmax"),
    ]
)
plain.compile("adam", "sparse_categorical_crossentropy")
plain.fit(rows(64), random.integers(0, 10, 64), verbose=0)
plain.export("plain.tflite", format="litert")
for count in (1, 4):  # a larger batch by resizing
    array = rows(count)
    distances.append(compare(Interpreter("plain.tflite"), plain, {"x": array}, array))
runner = Interpreter("plain.tflite").get_signature_runner("serving_default")
(name,), array = runner.get_input_details(), rows(1)
(received,) = runner(**{name: array}).values()
distances.append(abs(received - np.asarray(plain(array))).max())

class Tiny(keras.Model):
    def __init__(self):
        super().__init__()
        self.hidden, self.last = layers.Dense(16, activation="relu"), layers.Dense(1)

    def call(self, inputs):
        return self.last(self.hidden(inputs))

tiny = Tiny()
tiny(np.zeros((1, 10), "float32"))
tiny.export("tiny.tflite", format="litert")
array = rows(1)
distances.append(compare(Interpreter("tiny.tflite"), tiny, {"x": array}, array))

a, b = keras.Input((10,), name="input_a"), keras.Input((10,), name="input_b")
two = keras.Model([a, b], layers.Dense(1)(layers.Concatenate()([a, b])))
two.export("two.tflite", format="litert")
left, right = rows(1), rows(1)
arrays = {"input_a": left, "input_b": right}
distances.append(compare(Interpreter("two.tflite"), two, arrays, [left, right]))

x, y = keras.Input((10,), name="left"), keras.Input((10,), name="right")
named = keras.Model({"left": x, "right": y}, layers.Subtract()([x, y]))
named.export("named.tflite", format="litert")
arrays = {"left": left, "right": right}
distances.append(compare(Interpreter("named.tflite"), named, arrays, arrays))

spec = [layers.InputSpec(shape=(None, 10), dtype="float32")]
plain.export("any.tflite", format="litert", input_signature=spec)
array = rows(7)
distances.append(compare(Interpreter("any.tflite"), plain, {"x": array}, array))

plain.export("small.tflite", format="litert", optimizations=[tf.lite.Optimize.DEFAULT])
array = rows(1)
assert compare(Interpreter("small.tflite"), plain, {"x": array}, array) < 0.01
print(max(distances))
""",
        {
            'plain.export("plain.tflite", format="litert")': (
                'kb.export_litert(plain, "plain.tflite", batch_size=None)'
            ),
            'tiny.export("tiny.tflite", format="litert")': 'kb.export_litert(tiny, "tiny.tflite")',
            'two.export("two.tflite", format="litert")': 'kb.export_litert(two, "two.tflite")',
            'named.export("named.tflite", format="litert")': (
                'kb.export_litert(named, "named.tflite")'
            ),
            'plain.export("any.tflite", format="litert", input_signature=spec)': (
                'kb.export_litert(plain, "any.tflite", batch_size=None)'
            ),
            'plain.export("small.tflite", format="litert", '
            "optimizations=[tf.lite.Optimize.DEFAULT])": (
                'kb.export_litert(plain, "small.tflite", quantization="int8")'
            ),
        },
        ends="",
    ),
}


def outcome(code, directory):
    """Run a script in a separate process. Return (exit code, standard output, standard error)."""
    (directory / "script.py").write_text(code)
    command = [sys.executable, "script.py"]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_runs_in_the_plain_runtime_with_our_export(name, tmp_path):
    code, output, error = outcome(SCRIPTS[name].repaired(), tmp_path)
    assert code == 0, error[-2000:]
    assert float(output.split()[-1]) <= 1e-5


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_export_of_keras_ends_in_the_runtime_or_runs(name, tmp_path):
    code, output, error = outcome(SCRIPTS[name].code, tmp_path)
    if SCRIPTS[name].ends:
        assert code and SCRIPTS[name].ends in error
    else:
        assert code == 0 and float(output.split()[-1]) <= 1e-5, error[-2000:]
