"""Every signature of a SavedModel of ids answers any request as Keras does."""

import concurrent.futures
import functools
import json
import re
import urllib.request
from pathlib import Path

import numpy as np
import pytest
import sentencepiece
import tensorflow as tf
from serving_double.process import started

from keras_bahdanau.exporters.cpp_loader import timed_in_clean_process

README = Path(__file__).parents[3] / "export" / "tf_serving" / "README.md"
SENTENCES = ["three one two", "", "five", "one one four four two", "  ", "qqq ☃", "a b", "two"]
WRONG = ["eins", "zwei", "", "fünf fünf", "drei", "qqq ☃", "vier", "eins zwei drei"]
UNKNOWN, END, LARGEST = 1, 3, 2**31 - 1
SIGNATURES = {
    "serving_default": {"source", "source_length"},
    "decode_ids_with_alignment": {"source", "source_length"},
    "decode_ids_nbest": {"source", "source_length"},
    "score_ids": {"source", "source_length", "target", "target_length"},
}
EACH_SIGNATURE = [  # the graphs between the first and the last take the same ids
    pytest.param(name, marks=pytest.mark.slow if name.startswith("decode_ids_") else ())
    for name in SIGNATURES
]
HOSTILE = [  # (ids, source_length, the ids that they are read as)
    ([LARGEST, -5, -LARGEST - 1, END], 4, [UNKNOWN, UNKNOWN, UNKNOWN, END]),
    ([5, 6, 7, END], -1, []),
    ([5, 6, 7, END], -LARGEST - 1, []),
    ([5, 6, 7, END], LARGEST, [5, 6, 7, END]),
    ([5, 6, 7, END], 0, []),
    ([0, 0, 0, 0], 4, []),
    ([5, 6, 48, 47], 4, [5, 6, UNKNOWN, 47]),
    ([END, 2, UNKNOWN, 2], 4, [END, 2, UNKNOWN, 2]),
]
EMPTY = [(0, 3), (0, 0), (2, 0)]  # (rows, columns)


def ask(version, requests):
    """Return answers computed with TensorFlow's C library, without text operations."""
    return timed_in_clean_process(version, requests, text_operations=False)[0]


def padded(name, rows):
    """Return a request's two arguments, padded as on a server: with the first id of each row."""
    lengths = [len(row) for row in rows]
    width = max(1, *lengths)
    ids = [[*row, *[row[0] if len(row) else 0] * (width - len(row))] for row in rows]
    return {name: np.array(ids, np.int32), f"{name}_length": np.array(lengths, np.int32)}


@pytest.fixture(scope="module")
def client(toy_ids_model):
    """Function `client(side)` that returns a SentencePiece processor, as in any language."""
    extra = toy_ids_model / "assets.extra"
    vocabularies = json.loads((extra / "card.json").read_bytes())["vocabularies"]
    files = {side: str(extra / name) for side, name in vocabularies.items()}
    return lambda side: sentencepiece.SentencePieceProcessor(model_file=files[side])


def with_end(rows):
    return [[*ids, END] if ids else [] for ids in rows]


def warm_up(version):
    """Yield the warm-up requests that a server replays."""
    from tensorflow_serving.apis import prediction_log_pb2

    file = version / "assets.extra" / "tf_serving_warmup_requests"
    for record in tf.data.TFRecordDataset(str(file)):
        request = prediction_log_pb2.PredictionLog.FromString(record.numpy()).predict_log.request
        arguments = {name: tf.make_ndarray(value) for name, value in request.inputs.items()}
        yield request.model_spec.signature_name, arguments


def hostile_requests():
    """Yield two requests per signature: one with invalid values, one with what they are read as."""
    ids, lengths, tame = zip(*HOSTILE, strict=True)
    plain = {**padded("source", [[5, 6, END]] * len(HOSTILE)), **padded("target", tame)}
    for name in SIGNATURES:
        side = "target" if name == "score_ids" else "source"
        wild = {side: np.array(ids, np.int32), f"{side}_length": np.array(lengths, np.int32)}
        for kind, given in (("wild", wild), ("tame", padded(side, tame))):
            given = {**plain, **given}
            yield f"{kind} {name}", (name, {key: given[key] for key in SIGNATURES[name]})


def empty_requests():
    for rows, columns in EMPTY:
        ids, lengths = np.zeros((rows, columns), np.int32), np.zeros(rows, np.int32)
        given = {"source": ids, "target": ids, "source_length": lengths, "target_length": lengths}
        for name, arguments in SIGNATURES.items():
            request = (name, {key: given[key] for key in arguments})
            yield f"{rows} by {columns} {name}", request


@pytest.fixture(scope="module")
def answers(toy_ids_model):
    """Function that returns a signature's answers to hostile and empty requests."""

    @functools.cache
    def answers_of(signature):
        requests = {**dict(hostile_requests()), **dict(empty_requests())}
        requests = {name: one for name, one in requests.items() if one[0] == signature}
        return dict(zip(requests, ask(toy_ids_model, [*requests.values()]), strict=True))

    return answers_of


@pytest.fixture(scope="module")
def client_answers(toy_ids_model, client, toy_translator):
    """Answers to a client's requests, from one process; the client tokenizes `SENTENCES`."""
    source = padded("source", with_end(client("source").encode(SENTENCES)))
    requests = {name: (name, source) for name in SIGNATURES if name != "score_ids"}
    best = [result.text for result in toy_translator.translate(SENTENCES)]
    for name, texts in {"score best": best, "score wrong": WRONG}.items():
        targets = padded("target", [[*ids, END] for ids in client("target").encode(texts)])
        requests[name] = ("score_ids", {**source, **targets})
    requests |= {f"warm-up {name}": (name, given) for name, given in warm_up(toy_ids_model)}
    return dict(zip(requests, ask(toy_ids_model, list(requests.values())), strict=True))


def text_of(client, ids):
    return client("target").decode([int(token) for token in ids if token != END])


def words_of(result):
    """Return, for each target token of a `Translation`, the number of its word, or -1."""
    numbers = {
        place: number
        for number, word in enumerate(result.words)
        for place in range(word.first, word.last + 1)
    }
    return (numbers.get(place, -1) for place in range(len(result.target_tokens)))


@pytest.mark.slow
def test_a_client_gets_the_texts_and_alignments_of_keras(client_answers, client, toy_translator):
    plain, aligned = client_answers["serving_default"], client_answers["decode_ids_with_alignment"]
    for row, result in enumerate(toy_translator.translate(SENTENCES)):
        length = plain["length"][row]
        assert text_of(client, plain["ids"][row, :length]) == result.text
        assert length == aligned["length"][row] == len(result.target_tokens)
        assert plain["ids"][row].tolist() == aligned["ids"][row].tolist()
        assert not plain["ids"][row, length:].any()
        for answer in (plain, aligned):
            assert answer["score"][row] == pytest.approx(result.score, abs=1e-5)
            assert answer["finished"][row] == result.finished
            assert answer["confidence"][row] == pytest.approx(result.confidence, abs=1e-5)
            for name in ("token_log_probs", "token_entropies"):
                found = answer[name][row, :length]
                np.testing.assert_allclose(found, getattr(result, name), atol=1e-4)
                assert not answer[name][row, length:].any()
            words = answer["token_words"][row].tolist()
            assert words[:length] == [*words_of(result)]
            assert set(words[length:]) <= {-1}
        sources, alignment = aligned["source_length"][row], aligned["alignment"][row]
        assert sources == len(result.source_tokens)
        np.testing.assert_allclose(alignment[:length, :sources], result.alignment, atol=1e-5)
        assert not alignment[length:].any() and not alignment[:, sources:].any()


@pytest.mark.slow
def test_a_client_gets_all_hypotheses_of_keras(client_answers, client, toy_translator):
    found = client_answers["decode_ids_nbest"]
    assert found["ids"].shape[:2] == (len(SENTENCES), toy_translator.search.beam_width)
    for row, hypotheses in enumerate(toy_translator.translate_nbest(SENTENCES)):
        for rank, hypothesis in enumerate(hypotheses):
            length = found["lengths"][row, rank]
            assert text_of(client, found["ids"][row, rank, :length]) == hypothesis.text
            assert found["scores"][row, rank] == pytest.approx(hypothesis.score, abs=1e-5)
            assert found["finished"][row, rank] == hypothesis.finished


@pytest.mark.slow
def test_a_client_gets_the_scores_of_keras(client_answers, toy_translator):
    best = [result.text for result in toy_translator.translate(SENTENCES)]
    for name, texts in {"score best": best, "score wrong": WRONG}.items():
        expected = toy_translator.align([*zip(SENTENCES, texts, strict=True)])
        scores = [result.score for result in expected]
        np.testing.assert_allclose(client_answers[name]["score"], scores, atol=1e-5)
        assert client_answers[name]["length"].tolist() == [len(r.target_tokens) for r in expected]
    assert scores == toy_translator.score([*zip(SENTENCES, WRONG, strict=True)])


@pytest.mark.parametrize("name", EACH_SIGNATURE)
def test_any_ids_and_lengths_get_the_answer_of_what_they_count_as(answers, toy_translator, name):
    assert toy_translator.source.size == toy_translator.target.vocabulary_size == 48
    wild, tame = answers(name)[f"wild {name}"], answers(name)[f"tame {name}"]
    for key in wild:
        if name == "score_ids" and wild[key].ndim == 2:  # one entry per column of the target
            width = min(wild[key].shape[1], tame[key].shape[1])
            wild[key], tame[key] = wild[key][:, :width], tame[key][:, :width]
        # The sums have different widths.
        np.testing.assert_allclose(wild[key], tame[key], rtol=1e-6, atol=1e-6, err_msg=key)
    score = wild["scores"][:, 0] if "scores" in wild else wild["score"]
    assert score.shape == (len(HOSTILE),) and np.isfinite(score).all()
    if "ids" in wild:
        assert 0 <= wild["ids"].min() and wild["ids"].max() < 48
    if name == "score_ids":
        assert wild["length"].tolist() == [len(row) for *_, row in HOSTILE]


@pytest.mark.parametrize("name", EACH_SIGNATURE)
@pytest.mark.parametrize(("rows", "columns"), EMPTY)
def test_no_row_and_no_column_get_an_empty_answer(answers, rows, columns, name):
    answer = answers(name)[f"{rows} by {columns} {name}"]
    assert {len(value) for value in answer.values()} == {rows}
    assert not answer["lengths" if "lengths" in answer else "length"].any()


@pytest.mark.slow
def test_the_warm_up_asks_every_signature_and_is_answered(toy_ids_model, client_answers):
    asked = dict(warm_up(toy_ids_model))
    assert {name: set(arguments) for name, arguments in asked.items()} == SIGNATURES
    for name in SIGNATURES:
        answer = client_answers[f"warm-up {name}"]
        assert {len(value) for value in answer.values()} == {2}
        assert (answer["lengths" if "lengths" in answer else "length"] > 0).any()


SERVED = """
model_config_list {{ config {{ name: "en-de-ids" base_path: "{}" model_platform: "tensorflow" }} }}
"""


@pytest.fixture(scope="module")
def server(toy_ids_model, tmp_path_factory):
    """URL of a test double of the server that batches requests."""
    config = tmp_path_factory.mktemp("config") / "models.config"
    config.write_text(SERVED.format(toy_ids_model.parent))
    flags = ["--enable_batching", "--enable_per_model_batching_parameters"]
    with started([f"--model_config_file={config}", *flags]) as ports:
        yield f"http://localhost:{ports['rest']}"


@pytest.mark.slow
def test_requests_of_any_width_share_a_batch(client, client_answers, server):
    sources = with_end(client("source").encode(SENTENCES))
    targets = [[*ids, END] for ids in client("target").encode(WRONG)]

    def score(ids, target):
        row = {"source": ids or [0], "source_length": len(ids)}
        row |= {"target": target, "target_length": len(target)}
        body = json.dumps({"signature_name": "score_ids", "instances": [row]}).encode()
        with urllib.request.urlopen(f"{server}/v1/models/en-de-ids:predict", body) as response:
            return json.load(response)["predictions"][0]["score"]

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        scores = list(pool.map(score, sources * 4, targets * 4))
    np.testing.assert_allclose(scores, [*client_answers["score wrong"]["score"]] * 4, atol=1e-5)
    with urllib.request.urlopen(f"{server}/serving_double/batches") as response:
        sizes = json.load(response)["en-de-ids"]["1"]["score_ids"]
    assert max(map(int, sizes)) > 1


@pytest.mark.slow
def test_the_client_of_the_readme_gets_the_text_of_keras(server, toy_ids_model, toy_translator):
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    (code,) = [block for block in blocks if "import sentencepiece" in block]
    here = {
        "models/en-de-ids/1": str(toy_ids_model),
        "http://localhost:8501": server,
        "Two dogs run.": "three one two",
    }
    for written, ours in here.items():
        assert written in code
        code = code.replace(written, ours)
    exec(code, names := {})
    assert names["text"] == toy_translator.translate(["three one two"])[0].text
