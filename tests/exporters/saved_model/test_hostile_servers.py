"""Clients and load generator facing hostile servers: a one-line error, an exit code, no hanging."""

import concurrent.futures
import contextlib
import hashlib
import importlib
import io
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import hostile_servers as hostile
import pytest

from keras_bahdanau.text import Subwords

KIT = Path(__file__).parents[3] / "export" / "tf_serving"
TIMEOUT, IN_TIME = 0.3, 2.0  # seconds: the timeout given to clients, and the total time allowed


@pytest.fixture(scope="module")
def kit():
    """The kit's modules by name, importable from each other as its programs import them."""
    names = ("client_rest", "client_grpc", "load")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(KIT)
        yield {name: importlib.import_module(name) for name in names}
    for name in names:
        del sys.modules[name]


def ask(client, capsys, server, *arguments):
    """Run a client within the allowed time. Return (exit code, standard output, standard error)."""
    start = time.monotonic()
    code = client.main(["one", "--server", server, "--timeout", str(TIMEOUT), *arguments])
    assert time.monotonic() - start < IN_TIME
    return code, *capsys.readouterr()


def assert_refused(found, server):
    code, out, said = found
    assert (code, out, said.count("\n")) == (1, "", 1)
    assert said.startswith("error: ") and f"{server}" in said
    assert said.rstrip("\n").isprintable() and len(said) < 700


def test_a_byte_order_mark_is_no_part_of_the_first_line(kit):
    mark = b"\xef\xbb\xbf"
    lines = kit["client_rest"].lines_of(io.BytesIO(mark + b"one\r\n" + mark + b"two\n"))
    assert [*lines] == ["one", "\ufefftwo"]


@pytest.mark.few(2)
@pytest.mark.parametrize("name", hostile.ANSWERS)
def test_a_hostile_answer_is_refused_in_one_line(kit, capsys, name):
    with hostile.hostile_server(hostile.ANSWERS[name]) as port:
        server = f"http://localhost:{port}"
        assert_refused(ask(kit["client_rest"], capsys, server), server)


def test_a_good_answer_of_the_same_server_is_printed(kit, capsys):
    for answer in (hostile.GOOD, {**hostile.GOOD, "truncated": False}):
        with hostile.hostile_server(hostile.predictions(answer)) as port:
            found = ask(kit["client_rest"], capsys, f"http://localhost:{port}")
        assert found == (0, "eins\n", "")


def test_a_row_that_was_cut_gets_a_warning(kit, capsys):
    cut = hostile.predictions({**hostile.GOOD, "truncated": True})
    with hostile.hostile_server(cut) as port:
        found = ask(kit["client_rest"], capsys, f"http://localhost:{port}")
    assert found == (0, "eins\n", "warning: line 1 is too long and was cut\n")


def test_an_answer_has_a_size_limit(kit, capsys, monkeypatch):
    long = {**hostile.GOOD, "translation": "x" * 2**20}
    with hostile.hostile_server(hostile.predictions(long)) as port:
        server = f"http://localhost:{port}"
        assert ask(kit["client_rest"], capsys, server)[0] == 0
        monkeypatch.setattr(kit["client_rest"], "ANSWER_LIMIT", 2**20)
        found = ask(kit["client_rest"], capsys, server)
    assert_refused(found, server)
    assert "at most 1,048,576 bytes" in found[2]


@pytest.mark.parametrize("arguments", [[], ["--json"]])
def test_control_characters_are_escaped(kit, capsys, arguments):
    text = f"a{hostile.ESCAPE}\r\n\b\x7f\x9b31m\u202e\u2028\ud800z é 👩‍👩‍👧"
    answer = {**hostile.GOOD, "translation": text}
    with hostile.hostile_server(hostile.predictions(answer)) as port:
        code, out, said = ask(kit["client_rest"], capsys, f"http://localhost:{port}", *arguments)
    assert (code, out.count("\n"), said) == (0, 1, "")
    assert kit["client_rest"].UNPRINTABLE.search(out.rstrip("\n")) is None
    if arguments:
        assert json.loads(out)["translation"] == text
    else:
        assert out.startswith(
            "a\\u001b[2J\\u001b]0;title\\u0007\\u000d\\u000a\\u0008\\u007f\\u009b31m"
        )
        assert out.endswith("\\u202e\\u2028\\ud800z é 👩‍👩‍👧\n")


@pytest.mark.parametrize(("signature", "changed"), hostile.WRONG)
def test_an_output_of_a_wrong_type_or_size_is_refused(kit, signature, changed):
    rest = kit["client_rest"]
    good = hostile.ALIGNED if signature == "translate_with_alignment" else {}
    good = hostile.LISTED if signature.count("_") == 3 else good
    with pytest.raises(rest.ServerError, match="must answer as .* Received: .* in answer 1"):
        rest.checked(signature, 1, [{**good, **changed}], "it")
    rest.checked("translate_with_alignment", 1, [hostile.ALIGNED], "it")


MANY = 320_000  # tokens; a quadratic client would take 50 seconds


@pytest.mark.few(1)
@pytest.mark.parametrize("token", ["a", "\u2581a", "a\u2581", "<unk>"])
@pytest.mark.parametrize("words", [{}, {"token_words": [0] * MANY}])
def test_the_links_of_a_long_answer_take_no_longer_than_its_tokens(kit, token, words):
    long, short = {"tokens": [token] * MANY, "length": MANY}, {"tokens": ["a"], "length": 1}
    start = time.process_time()
    for source, target in ((short, long), (long, short)):
        answer = {f"source_{name}": value for name, value in source.items()}
        answer |= {f"target_{name}": value for name, value in target.items()}
        answer["alignment"] = [[1] * source["length"]] * target["length"]
        links = kit["client_rest"].word_links({**answer, **words}, "a")
        assert links.startswith("0-0")
    assert time.process_time() - start < 15


def test_the_links_of_a_long_list_take_no_longer_than_its_texts(kit):
    texts, tokens = 20_000, 20_000
    answer = {
        "translations": ["x"] * texts,
        "scores": [0.0] * texts,
        "source_tokens": ["a"] * tokens,
        "source_length": tokens,
        "target_tokens": [[]] * texts,
        "target_lengths": [0] * texts,
        "alignment": [[]] * texts,
    }
    start = time.process_time()
    lines = kit["client_rest"].to_lines("translate_nbest_with_alignment", answer, 0, "a")
    assert len(lines) == texts and time.process_time() - start < 10


@pytest.mark.parametrize(
    "server",
    [
        *("http://localhost:99999", "http://localhost:x", "http://localhost:0", "http://[::1"),
        *("http://", "ftp://localhost", "", "http://localhost:-1", "http://a b"),
    ],
)
@pytest.mark.parametrize("name", ["client_rest", "load"])
def test_a_bad_address_is_refused_before_anything_is_asked(kit, capsys, name, server):
    arguments = ["one"] if name == "client_rest" else ["--seconds", "0.1"]
    assert kit[name].main([*arguments, "--server", server]) == 2
    out, said = capsys.readouterr()
    assert (out, said.count("\n")) == ("", 1) and "must be a URL" in said


@pytest.mark.parametrize("server", [f"http://{'a' * 64}.localhost", "http://é\udcff"])
def test_a_strange_host_gets_one_line(kit, capsys, server):
    assert kit["client_rest"].main(["one", "--server", server, "--timeout", "1"]) == 1
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        *(["--timeout", value] for value in ("inf", "nan", "1e20", "-1", "0")),
        *(["--batch", value] for value in ("100000000000000000000", "0", "1e3")),
        *(["--version", value] for value in ("100000000000000000000", "-1", "9" * 5000)),
    ],
)
@pytest.mark.parametrize("name", ["client_rest", "client_grpc"])
def test_a_number_out_of_range_ends_with_2(kit, capsys, name, arguments):
    with pytest.raises(SystemExit) as stopped:
        kit[name].main(["one", *arguments])
    assert stopped.value.code == 2
    assert "number above 0 and up to" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["client_rest", "client_grpc"])
def test_a_line_without_end_is_refused(kit, capsys, name, monkeypatch):
    monkeypatch.setattr(kit["client_rest"], "LINE_LIMIT", 100)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"x" * 1000)))
    assert kit[name].main(["--server", {"client_rest": "http://x.invalid"}.get(name, "x")]) == 2
    assert "at most 100 bytes. Received: line 1" in capsys.readouterr().err


def test_ids_of_more_than_32_bits_are_refused(kit):
    for line in ("2147483648", "-2147483649", "9" * 5000):
        with pytest.raises(kit["client_rest"].InputError, match="must consist of 32-bit ids"):
            kit["client_rest"].to_rows("decode_ids", [line])


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["closes at once", "is a page", "answers no row"])
def test_a_load_with_failures_ends_with_1(kit, capsys, name):
    with hostile.hostile_server(hostile.ANSWERS[name]) as port:
        flags = ["--clients", "2", "--seconds", "0.2", "--timeout", "0.2"]
        assert kit["load"].main([*flags, "--server", f"http://localhost:{port}"]) == 1
    out, said = capsys.readouterr()
    assert json.loads(out)["failures"] == json.loads(out)["requests"] >= 2
    assert "error: The server must answer. Received: no answer at all." in said


def test_a_client_of_the_load_that_dies_is_counted(kit):
    class Broken:
        def connect(self):
            raise LookupError("a bug")

    latencies, failures = kit["load"].load(Broken(), [{"text": "one"}], 3, 0.1)
    assert latencies == [] and failures == ["A client ended. Received: LookupError: a bug"] * 3


@contextlib.contextmanager
def grpc_server(reply):
    """Yield the address of a gRPC server whose `Predict` returns a given reply."""
    import grpc
    from tensorflow_serving.apis import prediction_service_pb2_grpc

    class Service(prediction_service_pb2_grpc.PredictionServiceServicer):
        def Predict(self, request, context):
            return reply(context)

    server = grpc.server(concurrent.futures.ThreadPoolExecutor(2))
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(Service(), server)
    port = server.add_insecure_port("localhost:0")
    server.start()
    yield f"localhost:{port}"
    server.stop(None)


def response(**outputs):
    """Return a function that makes a `PredictResponse` with valid outputs, some of them changed."""

    def reply(context):
        import tensorflow as tf
        from tensorflow_serving.apis import predict_pb2

        found = predict_pb2.PredictResponse()
        for name, value in {"translation": [b"eins"], "score": [-0.5], **outputs}.items():
            if value is not None:
                tensor = value() if callable(value) else tf.make_tensor_proto(value)
                found.outputs[name].CopyFrom(tensor)
        return found

    return reply


def proto(*shape, **fields):
    """Return a `TensorProto` with any shape, regardless of its content; float32 by default."""
    from tensorflow.core.framework import tensor_pb2

    found = tensor_pb2.TensorProto(**{"dtype": 1, **fields})
    for size in shape:
        found.tensor_shape.dim.add(size=size)
    return found


GRPC = {
    "gives an error": lambda context: context.abort(5, f"no\n{hostile.ESCAPE}"),
    "has a bug": lambda context: 1 / 0,
    "gives another type": lambda context: None,
    "never answers": lambda context: time.sleep(1),
    "has no outputs": response(translation=None, score=None),
    "has another output": response(translation=None, ids=[[3]]),
    "answers no row": response(translation=[], score=[]),
    "answers more rows": response(translation=[b"a", b"b"], score=[0.0, 0.0]),
    "answers two numbers of rows": response(score=[0.0, 0.0]),
    "gives a scalar": response(score=-0.5),
    "gives a number as text": response(translation=[1.0]),
    "gives a list as text": response(translation=[[b"a"]]),
    "gives a large answer": response(translation=[b"x" * 2**21]),
    "gives a huge shape": response(score=lambda: proto(1, 10**12, float_val=[1.0])),
    "gives a huge product": response(score=lambda: proto(1, 2**40, 2**40, float_val=[1.0])),
    "gives a negative shape": response(score=lambda: proto(1, -1, float_val=[1.0])),
    "gives bytes of another size": response(score=lambda: proto(1, 3, tensor_content=b"\0")),
    "gives no such type": response(score=lambda: proto(1, dtype=99, float_val=[1.0])),
    "gives a resource": response(score=lambda: proto(1, dtype=20)),
    "gives a number too large for its type": response(
        score=lambda: proto(1, dtype=6, int_val=[300])
    ),
    "gives too many values": response(score=lambda: proto(1, float_val=[1.0] * 9)),
    "gives NaN to a score": response(
        translation=None, translations=[[b"a"]], scores=[[float("nan")]]
    ),
}


@pytest.mark.few(6)
@pytest.mark.parametrize("name", GRPC)
def test_a_hostile_answer_over_grpc_is_refused_in_one_line(kit, capsys, name, monkeypatch):
    monkeypatch.setattr(kit["client_grpc"], "ANSWER_LIMIT", 2**20)
    nbest = ["--nbest"] * ("NaN" in name)
    with grpc_server(GRPC[name]) as server:
        assert_refused(ask(kit["client_grpc"], capsys, server, *nbest), server)


def test_control_characters_are_escaped_over_grpc(kit, capsys):
    text = f"a{hostile.ESCAPE}".encode() + b"\xff"
    with grpc_server(response(translation=[text], truncated=[True])) as server:
        code, out, said = ask(kit["client_grpc"], capsys, server)
    assert (code, out) == (0, "a\\u001b[2J\\u001b]0;title\\u0007�\n")
    assert said == "warning: line 1 is too long and was cut\n"


@pytest.mark.parametrize("reply", [b"", b"HTTP/1.1 200 OK\r\n\r\n", bytes(range(256)) * 99])
def test_a_server_without_grpc_is_refused(kit, capsys, reply):
    with hostile.hostile_server(reply) as port:
        server = f"localhost:{port}"
        assert_refused(ask(kit["client_grpc"], capsys, server), server)


@pytest.mark.parametrize(
    "arguments", [["--model", "\udcff"], ["--label", "\udcff"], ["--server", "\udcff"]]
)
def test_names_that_are_no_text_are_refused(kit, capsys, arguments):
    assert kit["client_grpc"].main(["one", *arguments, "--timeout", "0.2"]) in (1, 2)
    assert capsys.readouterr().err.count("\n") == 1


@pytest.fixture(scope="module")
def assets(tmp_path_factory):
    """A directory with a card and a vocabulary, like the one of a SavedModel of ids."""
    folder, model = tmp_path_factory.mktemp("assets"), Subwords.train(["one two"], 20).model
    (folder / "source.spm").write_bytes(model)
    sides = ("source", "target")
    card = {"vocabularies": dict.fromkeys(sides, "source.spm")}
    card["vocabulary_sha256"] = dict.fromkeys(sides, hashlib.sha256(model).hexdigest())
    (folder / "card.json").write_text(json.dumps(card))
    return folder


def ask_in_javascript(assets, port, *options, timeout=TIMEOUT):
    """Run the client of ids. Return (exit code, standard output, standard error)."""
    command = ["node", KIT / "client_ids.mjs", "--server", f"http://localhost:{port}"]
    command += [*options, "--timeout", str(timeout), assets, "one"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=60)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
@pytest.mark.parametrize("name", [*hostile.ANSWERS, "ids that are no integers"])
def test_a_hostile_answer_to_ids_is_refused_in_one_line(assets, name):
    replies = {**hostile.ANSWERS, "answers another signature": hostile.predictions({"ids": [3]})}
    replies["ids that are no integers"] = hostile.predictions({"ids": [5.5], "length": 1})
    with hostile.hostile_server(replies[name]) as port:
        assert_refused(ask_in_javascript(assets, port), f"http://localhost:{port}")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_wrong_lists_of_ids_are_refused_in_one_line(assets):
    listed = {"ids": [[5, 3], [0]], "lengths": [2, 0], "scores": [-0.5, -1e9]}
    for scores, number in ((listed["scores"], "-0.5000"), ([-0.5, "0"], None)):
        with hostile.hostile_server(hostile.predictions({**listed, "scores": scores})) as port:
            found = ask_in_javascript(assets, port, "--nbest", "2", timeout=9)
        if number is None:
            assert_refused(found, f"http://localhost:{port}")
            assert "no valid scores from" in found[2]
        else:
            assert (found[0], found[1].split(" ||| ")[::2], found[2]) == (
                0,
                ["0", f"{number}\n"],
                "",
            )


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_a_row_that_was_cut_gets_a_warning_in_javascript(assets):
    ids = hostile.predictions({"ids": [1, 5, 3, 0], "length": 4, "truncated": True})
    with hostile.hostile_server(ids) as port:
        code, text, warning = ask_in_javascript(assets, port, timeout=32.3)  # 32299.999... ms
    assert (code, text.count("\n")) == (0, 1)
    assert warning == "warning: line 1 is too long and was cut\n"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
@pytest.mark.parametrize("other", [-1, 10**15])
def test_ids_outside_of_the_vocabulary_are_refused(assets, other):
    with hostile.hostile_server(hostile.predictions({"ids": [5, other, 3], "length": 3})) as port:
        found = ask_in_javascript(assets, port)
    assert_refused(found, f"http://localhost:{port}")
    assert "ids outside of the vocabulary" in found[2]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_another_card_is_refused_in_one_line(assets, tmp_path):
    shutil.copytree(assets, tmp_path, dirs_exist_ok=True)
    names = json.dumps({"vocabularies": dict.fromkeys(("source", "target"), "source.spm")})
    for card, why in (
        ("{", "must be an object of JSON"),
        ("null", "must be an object of JSON"),
        ("{}", "must name the vocabulary of the source"),
        ('{"vocabularies": {"source": 5}}', "must name the vocabulary of the source"),
        (names, "must be the one of its card"),
    ):
        (tmp_path / "card.json").write_text(card)
        code, text, error = ask_in_javascript(tmp_path, 9)
        assert (code, text, error.count("\n")) == (2, "", 1)
        assert error.startswith("error: A ") and why in error and ". Received: " in error
