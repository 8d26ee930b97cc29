"""A SavedModel gives the same answers in TensorFlow's C++ loader as in Python."""

import io
import json
import os
import pathlib
import subprocess
import sys
import time
import weakref

import numpy as np
import pytest
import sentencepiece
import tensorflow as tf
import tensorflow_text as tf_text

from keras_bahdanau.exporters import cpp_loader

LINES = ["a red house", "the green tree", "a man sees the tree", "the house is red"]


def text_spec(shape):
    return tf.TensorSpec(shape, tf.string, "text")


class Toy(tf.Module):
    """A module with one signature for each kind of operation in a translator's graph."""

    def __init__(self):
        super().__init__()
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(LINES * 3),
            model_writer=model,
            vocab_size=30,
            hard_vocab_limit=False,
            minloglevel=2,
        )
        self.tokenizer = tf_text.SentencepieceTokenizer(model.getvalue(), out_type=tf.int32)
        self.kernel = tf.Variable(np.random.default_rng(0).normal(size=(3, 3)), dtype=tf.float32)

    @tf.function(input_signature=[text_spec([None])])
    def tokenize(self, text):
        ids = self.tokenizer.tokenize(text).to_tensor(-1)
        kept = tf.ragged.boolean_mask(ids, ids >= 0)
        return {"ids": ids, "again": self.tokenizer.detokenize(kept)}

    @tf.function(input_signature=[text_spec([None, None]), tf.TensorSpec([], tf.string, "end")])
    def append(self, text, end):
        return {"text": tf.strings.join([text, end]), "end": end}

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, 3], tf.float32, "values"),
            tf.TensorSpec([None], tf.int32, "lengths"),
            tf.TensorSpec([None, 2, 1], tf.int64, "ids"),
            tf.TensorSpec([None, 2], tf.bool, "mask"),
        ]
    )
    def compute(self, values, lengths, ids, mask):
        return {
            "values": tf.tanh(values @ self.kernel),
            "lengths": lengths * 2,
            "ids": tf.transpose(ids),
            "mask": ~mask,
            "half": tf.cast(values, tf.float16),
            "batch": tf.shape(values)[0],
        }

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, "state")])
    def recur(self, state):
        steps, state = tf.while_loop(
            lambda step, state: tf.reduce_any(tf.abs(state) > 1e-3) & (step < 20),
            lambda step, state: (step + 1, tf.tanh(state @ self.kernel)),
            [0, state],
        )
        return {"steps": steps, "state": state}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, "x")], jit_compile=True)
    def compiled(self, x):
        return {"y": x * 2.0}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, "x")])
    def ragged(self, x):
        return {"y": tf.RaggedTensor.from_row_lengths(x, [tf.size(x)])}


@pytest.fixture(scope="module")
def toy():
    return Toy()


@pytest.fixture(scope="module")
def saved(toy, tmp_path_factory):
    directory = str(tmp_path_factory.mktemp("models") / "1")
    names = ["tokenize", "append", "compute", "recur", "compiled", "ragged"]
    tf.saved_model.save(toy, directory, signatures={name: getattr(toy, name) for name in names})
    return directory


def strings(items):
    return np.array(items, dtype=object)


def numbers(batch):
    generator = np.random.default_rng(batch)
    return {
        "values": generator.normal(size=(batch, 3)).astype(np.float32),
        "lengths": np.arange(batch, dtype=np.int32),
        "ids": generator.integers(-(2**62), 2**62, size=(batch, 2, 1)),
        "mask": generator.random((batch, 2)) < 0.5,
    }


def assert_identical(array, tensor):
    expected = np.asarray(tensor.numpy(), dtype=object if tensor.dtype == tf.string else None)
    assert array.dtype == expected.dtype
    assert array.shape == expected.shape
    if tensor.dtype == tf.string:
        assert array.tolist() == expected.tolist()
    else:
        assert array.tobytes() == expected.tobytes()


AWKWARD = [b"", b"a\0b\0", b"\xff\xfe", "grün".encode(), b"x" * 5000]
REQUESTS = [
    ("tokenize", {"text": strings([b"the red tree", *AWKWARD])}),
    ("tokenize", {"text": strings([])}),
    ("append", {"text": strings([b"z", *AWKWARD]).reshape(2, 3), "end": strings(b"!\0")}),
    ("compute", numbers(5)),
    ("compute", numbers(0)),
    ("recur", {"state": np.asfortranarray(numbers(4)["values"])}),
]


@pytest.fixture(scope="module")
def kept():
    """For each request, the number of requests still in memory when the next one was made."""
    return []


@pytest.fixture(scope="module")
def answered(saved, kept):
    """The answers to `REQUESTS` and their times in seconds."""

    def requests():
        made = []
        for signature, inputs in REQUESTS:
            request = {name: array.copy() for name, array in inputs.items()}
            made.append(weakref.ref(next(iter(request.values()))))
            yield signature, request
            del request
            kept.append(sum(one() is not None for one in made))

    return cpp_loader.timed_in_clean_process(saved, requests(), threads=1)


def test_answers_equal_pythons_bit_for_bit(toy, answered):
    answers, _ = answered
    for (signature, inputs), answer in zip(REQUESTS, answers, strict=True):
        tensors = {name: tf.constant(array) for name, array in inputs.items()}
        expected = getattr(toy, signature)(**tensors)
        assert answer.keys() == expected.keys()
        for name in expected:
            assert_identical(answer[name], expected[name])
    assert answers[0]["again"][0] == b"the red tree"
    assert answers[2]["text"][0, 2] == b"a\0b\0!\0"
    assert 0 < answers[5]["steps"] <= 20


def test_files_beside_the_data_are_no_modules_of_the_process(saved, tmp_path, monkeypatch):
    (tmp_path / "numbers.py").write_text("raise SystemExit(1)")
    monkeypatch.chdir(tmp_path)
    (answer,) = cpp_loader.run_in_clean_process(saved, REQUESTS[:1])
    assert answer["again"][0] == b"the red tree"


def test_requests_are_sent_one_by_one(answered, kept):
    assert kept == [1] * len(REQUESTS)


def test_each_request_is_timed(answered):
    _, seconds = answered
    assert len(seconds) == len(REQUESTS) and all(0 < taken < 60 for taken in seconds)


def test_compiled_signature_is_refused_as_by_the_server(saved):
    with pytest.raises(RuntimeError, match="XLA compilation disabled"):
        cpp_loader.run_in_clean_process(saved, [("compiled", {"x": np.ones(2, np.float32)})])


def test_missing_model_is_named():
    with pytest.raises(RuntimeError, match="Received: path='no/such/model' .*Could not find"):
        cpp_loader.run_in_clean_process("no/such/model", [])


ASKS_FOR_LONG = """
import sys
import numpy as np
from keras_bahdanau.exporters.cpp_loader import run_in_clean_process

request = ("recur", {"state": np.ones((500, 3), np.float32)})
run_in_clean_process(sys.argv[1], [request] * 100_000)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks for the process in /proc")
def test_the_process_ends_with_a_killed_one_and_nothing_is_left(saved, tmp_path):
    asking = subprocess.Popen(
        [sys.executable, "-c", ASKS_FOR_LONG, saved], env={**os.environ, "TMPDIR": str(tmp_path)}
    )
    children = pathlib.Path(f"/proc/{asking.pid}/task/{asking.pid}/children")
    while not (child := children.read_text().split()):
        assert asking.poll() is None
        time.sleep(0.01)
    asking.kill()
    asking.wait()
    until = time.monotonic() + 30
    while pathlib.Path(f"/proc/{child[0]}/cmdline").exists():
        assert time.monotonic() < until, "it would take minutes"
        time.sleep(0.01)
    assert not list(tmp_path.iterdir())


def test_session_is_refused_beside_python_tensorflow(saved):
    with pytest.raises(RuntimeError, match="run_in_clean_process"):
        cpp_loader.SavedModelSession(saved)


CHILD = """
import json, sys
import numpy as np
from keras_bahdanau.exporters import cpp_loader

def error(function, *arguments, **inputs):
    try:
        function(*arguments, **inputs)
    except Exception as error:
        return f"{type(error).__name__}: {error}"

with cpp_loader.SavedModelSession(sys.argv[1]) as session:
    one = np.ones(2, np.float32)
    told = {
        "signatures": {
            name: [{key: [str(spec.dtype), spec.shape] for key, spec in specs.items()}
                   for specs in signature]
            for name, signature in session.signatures.items()
        },
        "list": session.run("tokenize", text=["a man", b"\\xff"])["again"][0].decode(),
        "unknown signature": error(session.run, "translate"),
        "unknown argument": error(session.run, "compiled", z=one),
        "wrong dtype": error(session.run, "compiled", x=np.ones(2)),
        "not an array": error(session.run, "compiled", x=[1.0]),
        "wrong shape": error(session.run, "recur", state=np.ones((1, 7), np.float32)),
        "ragged": error(session.run, "ragged", x=one),
    }
session.close()
told["closed"] = error(session.run, "compiled", x=one)
told["no such tag"] = error(cpp_loader.SavedModelSession, sys.argv[1], tags=["train"])
told["imported"] = sorted({"tensorflow", "tensorflow_text", "keras"} & set(sys.modules))
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def told(saved):
    root = pathlib.Path(cpp_loader.__file__).parents[3]
    child = subprocess.run(
        [sys.executable, "-c", CHILD, saved],
        env={**os.environ, "PYTHONPATH": str(root)},
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(child.stdout)


def test_session_imports_neither_tensorflow_nor_keras(told):
    assert told["imported"] == []


def test_signatures_are_read_from_the_model(told):
    assert told["signatures"].keys() == {
        "tokenize",
        "append",
        "compute",
        "recur",
        "compiled",
        "ragged",
    }
    inputs, outputs = told["signatures"]["compute"]
    assert inputs == {
        "values": ["float32", [None, 3]],
        "lengths": ["int32", [None]],
        "ids": ["int64", [None, 2, 1]],
        "mask": ["bool", [None, 2]],
    }
    assert outputs["half"] == ["float16", [None, 3]]
    assert outputs["batch"] == ["int32", []]
    assert told["signatures"]["append"][0] == {
        "text": ["object", [None, None]],
        "end": ["object", []],
    }


def test_text_may_be_a_list_of_str_and_bytes(told):
    assert told["list"] == "a man"


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        ("unknown signature", "ValueError: `signature` must be one of ['append', 'compiled'"),
        ("unknown argument", "ValueError: The arguments of signature 'compiled' must be ['x']"),
        ("wrong dtype", "TypeError: `x` of signature 'compiled' must have dtype float32"),
        ("not an array", "TypeError: An input must be a numeric NumPy array"),
        ("wrong shape", "RuntimeError: "),
        ("ragged", "RuntimeError: Each argument and result must be a dense tensor"),
        ("closed", "RuntimeError: The session must be open"),
        ("no such tag", "RuntimeError: Could not find meta graph def matching supplied tags"),
    ],
)
def test_a_mistake_is_named(told, mistake, message):
    assert told[mistake].startswith(message)
