"""SavedModels that complete a prefix, and the clients that request completions."""

import dataclasses
import json

import numpy as np
import pytest
import tensorflow as tf
from serving_double.kit import CLIENTS, programs, served

import keras_bahdanau as kb
from keras_bahdanau.cli.output import Links
from keras_bahdanau.exporters import (
    IdsSavedModelExporter,
    SavedModelExporter,
    check,
    export,
    run_in_clean_process,
)
from keras_bahdanau.exporters.cpp_loader import timed_in_clean_process
from keras_bahdanau.exporters.litert.litert_exporter import LiteRTExporter
from keras_bahdanau.exporters.saved_model.served_signatures import served as signatures_of
from keras_bahdanau.text.alignments import format_pharaoh, word_links

SENTENCES = ["three one two", "", "five", "qqq ☃", "one one four four two"]
PREFIXES = ["vier", "eins", "", "zw☃", "eins eins"]
LONG = "eins " * 300


@pytest.fixture(scope="module")
def version(toy_translator, once):
    """A SavedModel of the toy with prefix and alignment signatures: the path of version 1."""

    def write(path):
        signatures = "prefix", "alignments"
        kb.export_saved_model(toy_translator, path.parent, signatures=signatures)

    return once("begun/1", write)


@pytest.fixture(scope="module")
def expected(toy_translator):
    return toy_translator.translate_nbest(SENTENCES, prefixes=PREFIXES)


def test_the_signature_is_there_if_it_is_asked_for(toy_translator):
    names = set(signatures_of(toy_translator))
    assert set(signatures_of(toy_translator, ("prefix",))) - names == {"translate_prefix"}
    (aligned,) = set(signatures_of(toy_translator, ("alignments",))) - names
    assert aligned == "translate_nbest_with_alignment"
    both = set(signatures_of(toy_translator, ("prefix", "alignments"))) - names
    assert both == {"translate_prefix", aligned, "translate_prefix_with_alignment"}
    settings = {"max_source_length": None, "max_target_length": 64}
    asked = "greedy", "prefix", "alignments"
    (exporter,) = SavedModelExporter.variants(**settings, signatures=asked)
    assert exporter.signatures == ("prefix", "alignments")
    exporters = LiteRTExporter.variants(**settings, signatures=asked)
    assert {one.signatures for one in exporters} == {("greedy", "prefix")}
    with pytest.raises(ValueError, match="must be among 'prefix'.* Received: signatures="):
        SavedModelExporter(signatures=("nbest",))


@pytest.mark.slow
def test_texts_with_a_prefix_are_those_of_keras(version, expected):
    requests = [
        ("translate_prefix", {"text": SENTENCES, "prefix": PREFIXES}),
        ("translate_prefix", {"text": SENTENCES, "prefix": [""] * len(SENTENCES)}),
        ("translate_nbest", {"text": SENTENCES}),
        (
            "translate_prefix",
            {"text": ["one", "one"], "prefix": np.array([LONG.encode(), b"\xff\xfe"], object)},
        ),
    ]
    begun, free, nbest, strange = run_in_clean_process(version, requests)
    for row, hypotheses in enumerate(expected):
        texts = [text.decode() for text in begun["translations"][row]]
        assert texts[: len(hypotheses)] == [one.text for one in hypotheses]
        scores = begun["scores"][row]
        np.testing.assert_allclose(
            scores[: len(hypotheses)], [one.score for one in hypotheses], atol=1e-5
        )
        assert not any(texts[len(hypotheses) :]) and (scores[len(hypotheses) :] < -1e8).all()
    assert not begun["truncated"].any()
    assert free["translations"].tolist() == nbest["translations"].tolist()
    np.testing.assert_allclose(free["scores"], nbest["scores"], atol=1e-5)
    assert strange["truncated"].tolist() == [True, False]
    assert strange["translations"][0, 0].decode() == " ".join(["eins"] * 256)
    assert np.isfinite(strange["scores"]).all()


def numbers_of(one):
    """Return the number of the word of each target token of a `Translation`."""
    numbers = np.full(len(one.target_tokens), -1)
    for number, word in enumerate(one.words):
        numbers[word.first : word.last + 1] = number
    return numbers


def assert_aligned(found, lists, texts=None):
    """Assert that an answer's lists equal Keras', including each text's tokens and alignment."""
    lengths = found["target_lengths" if texts else "lengths"]
    for row, hypotheses in enumerate(lists):
        sources = found["source_length"][row]
        assert sources == len(hypotheses[0].source_tokens)
        if texts:
            tokens = [token.decode() for token in found["source_tokens"][row]]
            assert tokens[:sources] == hypotheses[0].source_tokens and not any(tokens[sources:])
        for rank, one in enumerate(hypotheses):
            place, targets = (row, rank), len(one.target_tokens)
            assert lengths[place] == targets
            if texts:
                assert found["translations"][place].decode() == one.text
                tokens = [token.decode() for token in found["target_tokens"][place]]
                assert tokens[:targets] == one.target_tokens and not any(tokens[targets:])
            assert found["token_words"][place][:targets].tolist() == numbers_of(one).tolist()
            assert set(found["token_words"][place][targets:].tolist()) <= {-1}
            alignment = found["alignment"][place]
            np.testing.assert_allclose(alignment[:targets, :sources], one.alignment, atol=1e-5)
            assert not alignment[targets:].any() and not alignment[:, sources:].any()
            for name in ("token_log_probs", "token_entropies"):
                values = found[name][place]
                np.testing.assert_allclose(values[:targets], getattr(one, name), atol=1e-4)
                assert not values[targets:].any()
        assert not lengths[row, len(hypotheses) :].any()
        assert not found["alignment"][row, len(hypotheses) :].any()


@pytest.mark.slow
def test_lists_with_alignments_are_those_of_keras(version, toy_translator, expected):
    free, begun = {"text": SENTENCES}, {"text": SENTENCES, "prefix": PREFIXES}
    names = "translate_nbest", "translate_prefix"
    requests = [(names[0], free), (names[1], begun)]
    requests += [(f"{name}_with_alignment", given) for name, given in requests]
    plain, plainly_begun, nbest, prefix = run_in_clean_process(version, requests)
    assert_aligned(nbest, toy_translator.translate_nbest(SENTENCES), texts=True)
    assert_aligned(prefix, expected, texts=True)
    assert any(-1 < word for word in prefix["token_words"][3, 0])  # the word of an unknown token
    for short, whole in ((plain, nbest), (plainly_begun, prefix)):
        for name, value in short.items():
            np.testing.assert_array_equal(whole[name], value, err_msg=name)


@pytest.mark.slow
def test_words_are_those_of_the_text_where_unknown_ones_are_copied(toy_translator):
    """Both the answer and a client's links assign "er" to the copied word before it."""
    search = dataclasses.replace(toy_translator.search, beam_width=1, replace_unknown=True)
    copying = toy_translator.searching(search)
    function, _ = signatures_of(copying, ("prefix", "alignments"))[
        "translate_prefix_with_alignment"
    ]
    given = {"text": tf.constant(["one two"]), "prefix": tf.constant(["☃er zwei"])}
    answer = {}
    for name, value in function(copying, **given).items():
        row = value.numpy()[0]
        texts = row.dtype == object
        answer[name] = (np.char.decode(row.astype(bytes)) if texts else row).tolist()
    assert answer["translations"][0].split() == ["oneer", "zwei"]
    tokens, numbers = (np.array(answer[name][0]) for name in ("target_tokens", "token_words"))
    words = ["".join(tokens[numbers == number]) for number in range(numbers.max() + 1)]
    assert words == ["▁<unk>er", "▁zwei"]
    with programs() as kit:
        (line,) = kit["client_rest"].to_lines("translate_prefix_with_alignment", answer, 0)
    (result,) = copying.translate(["one two"], prefixes=["☃er zwei"])
    links = Links(copying, ["one two"], search)(0, result)
    assert line.split(" ||| ")[3] == links != ""


@pytest.mark.slow
def test_ids_with_a_prefix_are_those_of_keras(toy_translator, expected, tmp_path):
    exporter = IdsSavedModelExporter(signatures=("prefix", "alignments"))
    version = export(exporter, toy_translator, tmp_path / "ids")
    assert check(version) == []
    source = toy_translator.source.batch(SENTENCES)
    request = exporter.request(toy_translator, SENTENCES, PREFIXES)
    wild = {
        "source": source[:1],
        "source_length": np.array([9], np.int32),
        "prefix": np.array([[10**6, -3, 7]], np.int32),
        "prefix_length": np.array([99], np.int32),
    }
    requests = [("decode_ids_prefix", request), ("decode_ids_prefix", wild)]
    requests.append(("decode_ids_prefix_with_alignment", request))
    free = {name: request[name] for name in ("source", "source_length")}
    requests.append(("decode_ids_nbest_with_alignment", free))
    answers, _ = timed_in_clean_process(version, requests, text_operations=False)
    found, strange, aligned, listed = answers
    assert_aligned(aligned, expected)
    assert_aligned(listed, toy_translator.translate_nbest(SENTENCES))
    for row, hypotheses in enumerate(expected):
        for rank, one in enumerate(hypotheses):
            ids = found["ids"][row, rank, : found["lengths"][row, rank]]
            assert toy_translator.target.tokens(ids).tolist() == one.target_tokens
            assert found["scores"][row, rank] == pytest.approx(one.score, abs=1e-5)
    assert strange["ids"][0, :, :3].tolist() == [[1, 1, 7]] * 5


def card_of(version):
    return json.loads((version / "assets.extra" / "card.json").read_bytes())


@pytest.mark.slow
def test_the_version_is_compared_checked_and_states_its_memory(version, toy_saved_model):
    assert check(version) == []
    card, plain = card_of(version), card_of(toy_saved_model)
    for ending in ("", "_with_alignment"):
        assert card["signatures"].pop(f"translate_prefix{ending}") == ["prefix", "text"]
    assert card["signatures"].pop("translate_nbest_with_alignment") == ["text"]
    assert card["signatures"] == plain["signatures"]
    assert card["max_batch_bytes"] > plain["max_batch_bytes"]
    assert card["parity"][1]["nbest"] == plain["parity"][1]["nbest"] == 1
    assert 0 < card["parity"][1]["alignment"] < 1e-5  # the lists are compared, too


@pytest.mark.slow
@pytest.mark.parametrize("program", CLIENTS)
def test_a_client_prints_what_begins_with_a_prefix(
    version, toy_translator, tmp_path, program, capsys
):
    sentences = ["three one two", "five"]
    lists = toy_translator.translate_nbest(sentences, prefixes=["vier"] * 2)
    expected = [(str(row), one) for row, hypotheses in enumerate(lists) for one in hypotheses]
    with programs() as kit, served(version.parent, tmp_path) as ports:
        server = ["--server", CLIENTS[program].format(**ports)]
        for options in (["--prefix", "vier"], ["--prefix", "vier", "--nbest"]):
            assert kit[program].main([*server, *options, *sentences]) == 0
            lines = [line.split(" ||| ") for line in capsys.readouterr().out.splitlines()]
            assert [line[:2] for line in lines] == [[row, one.text] for row, one in expected]
            scores = [float(line[2]) for line in lines]
            assert scores == pytest.approx([one.score for _, one in expected], abs=1.1e-4)
        for options in (["--prefix", "vier", "--alignment"], ["--nbest", "--alignment"]):
            assert kit[program].main([*server, *options, *sentences]) == 0
            lines = [line.split(" ||| ") for line in capsys.readouterr().out.splitlines()]
            if "--prefix" not in options:
                lists = toy_translator.translate_nbest(sentences)
                expected = [(str(row), one) for row, several in enumerate(lists) for one in several]
            links = [
                format_pharaoh(word_links(one.source_tokens, one.target_tokens, one.alignment))
                for _, one in expected
            ]
            texts = [[row, one.text] for row, one in expected]
            assert [line[:2] for line in lines] == texts
            assert [line[3] for line in lines] == links and any(links)


@pytest.mark.parametrize(
    "options",
    [
        *("--signature translate_prefix", "--signature read_prefix"),
        *("--signature score_pair --nbest", "--prefix a --signature score_pair"),
        "--alignment --signature translate_prefix_with_alignment --prefix a",
    ],
)
def test_a_client_refuses_options_that_do_not_go_together(options):
    with programs() as kit, pytest.raises(SystemExit, match="2"):
        kit["client_rest"].main([*options.split(), "one"])


def test_a_client_leaves_the_empty_places_of_a_beam_out():
    answer = {"translations": ["", "", ""], "scores": [0.0, -1e9, -1e9]}
    alignment = {"source_tokens": [], "source_length": 0, "target_tokens": [[""]] * 3}
    alignment |= {"target_lengths": [0] * 3, "alignment": [[[]]] * 3}
    with programs() as kit:
        to_lines = kit["client_rest"].to_lines
        assert to_lines("translate_nbest", answer, 7) == ["7 |||  ||| 0.0000"]
        lines = to_lines("translate_nbest_with_alignment", answer | alignment, 7)
    assert lines == ["7 |||  ||| 0.0000 ||| "]


def test_a_client_sends_the_prefix_with_each_row():
    with programs() as kit:
        client = kit["client_rest"]
        options = client.parse("", "http://localhost:8501", ["--prefix", "ein", "one", "two"])
        rows = client.to_rows(options.signature, options.text, options.bytes, options.prefix)
    assert options.signature == "translate_prefix"
    assert rows == [{"text": "one", "prefix": "ein"}, {"text": "two", "prefix": "ein"}]
