"""Files of images and of sound through every format: the same texts from each of them."""

import itertools

import numpy as np
import pytest
import toy_sources

from keras_bahdanau.data.manifest import read_manifest
from keras_bahdanau.exporters import LiteRTPipeline, run_in_clean_process
from keras_bahdanau.pipelines.by_source import load_pipeline

NUMBERS = [
    *(numbers for count in (1, 2, 3) for numbers in itertools.product(range(4), repeat=count)),
    *itertools.product((0, 3), repeat=4),
]
ROWS = 64  # of a request, at most


@pytest.mark.slow
@pytest.mark.parametrize("name", ["images", "audio"])
def test_a_hundred_files_have_the_same_texts_in_keras_on_a_server_and_on_a_device(
    name, toy_source, toy_artefact, tmp_path
):
    inputs, texts = zip(
        *read_manifest(toy_sources.write_manifest(name, NUMBERS, tmp_path)), strict=True
    )
    assert len(set(texts)) == 100
    pipeline = load_pipeline(toy_source(name))
    expected = pipeline.decode(inputs)
    learnt = {toy_sources.text_of(numbers) for numbers in toy_sources.NUMBERS}
    read = {text: result.text for text, result in zip(texts, expected, strict=True)}
    assert {text: read[text] for text in learnt} == {text: text for text in learnt}

    requests = [
        ("serving_default", pipeline.source.requests(inputs[first : first + ROWS]))
        for first in range(0, len(inputs), ROWS)
    ]
    answers = run_in_clean_process(toy_artefact(name, "saved-model"), requests)
    served = [text.decode() for answer in answers for text in answer["text"]]
    scores = np.concatenate([answer["score"] for answer in answers])
    on_device = LiteRTPipeline(toy_artefact(name, "litert")).decode(inputs)
    for one, result, text, score in zip(on_device, expected, served, scores, strict=True):
        assert one.text == text == result.text
        assert one.source_tokens == result.source_tokens
        assert one.target_tokens == result.target_tokens
        np.testing.assert_allclose([one.score, score], result.score, atol=1e-4)
        np.testing.assert_allclose(one.alignment, result.alignment, atol=1e-4)
