"""Models of images, sound and ink give the same text in every format."""

import itertools

import extract
import keras
import numpy as np
import pytest
import toy_sources
from decoders import new_decoder

import keras_bahdanau as kb
from keras_bahdanau.data.readers.manifest import read_manifest
from keras_bahdanau.exporters import LiteRTPipeline, run_in_clean_process
from keras_bahdanau.pipelines.tasks import load_pipeline

pytestmark = pytest.mark.slow
NUMBERS = [
    *(numbers for count in (1, 2, 3) for numbers in itertools.product(range(4), repeat=count)),
    *itertools.product((0, 3), repeat=4),
]
ROWS = 64  # the maximum number of rows in a request


def assert_same_answers(pipeline, saved_model, litert, inputs):
    """Assert that Keras, the SavedModel and the LiteRT file give the same answers."""
    expected = pipeline.decode(inputs)
    requests = [
        ("serving_default", pipeline.source.requests(inputs[first : first + ROWS]))
        for first in range(0, len(inputs), ROWS)
    ]
    answers = run_in_clean_process(saved_model, requests)
    served = [text.decode() for answer in answers for text in answer["text"]]
    scores = np.concatenate([answer["score"] for answer in answers])
    on_device = LiteRTPipeline(litert).decode(inputs)
    for one, result, text, score in zip(on_device, expected, served, scores, strict=True):
        assert one.text == text == result.text
        assert one.source_tokens == result.source_tokens
        assert one.target_tokens == result.target_tokens
        np.testing.assert_allclose([one.score, score], result.score, atol=1e-4)
        np.testing.assert_allclose(one.alignment, result.alignment, atol=1e-4)
    return [result.text for result in expected]


@pytest.mark.parametrize("name", ["images", "audio", "ink"])
def test_a_hundred_inputs_have_the_same_texts_in_keras_on_a_server_and_on_a_device(
    name, toy_source, toy_artefact, tmp_path
):
    case = toy_sources.CASES[name]
    if case.write is None:
        inputs = [case.input_of(numbers) for numbers in NUMBERS]
        texts = [toy_sources.text_of(numbers) for numbers in NUMBERS]
    else:
        inputs, texts = zip(
            *read_manifest(toy_sources.write_manifest(name, NUMBERS, tmp_path)), strict=True
        )
    assert len(set(texts)) == 100
    artefacts = (toy_artefact(name, format) for format in ("saved-model", "litert"))
    found = assert_same_answers(load_pipeline(toy_source(name)), *artefacts, inputs)
    read = dict(zip(texts, found, strict=True))
    learnt = {toy_sources.text_of(numbers) for numbers in toy_sources.NUMBERS}
    assert {text: read[text] for text in learnt} == {text: text for text in learnt}


def export_both(pipeline, directory):
    version = kb.export_saved_model(pipeline, directory / "served")
    return version, kb.export_litert(pipeline, directory / "model.tflite")


def test_a_hundred_images_of_real_handwriting_have_the_same_texts_in_every_format(tmp_path):
    pytest.importorskip("sklearn", reason="its handwritten digits are on the images")
    from keras_bahdanau.demo import images_task

    train, _, test = images_task.split(train=1500, valid=0, test=100)
    pairs = [(one.image, one.text) for one in train]
    keras.utils.set_random_seed(0)
    source = kb.sources.ImageSource(images_task.HEIGHT, images_task.WIDTH)
    texts = [text for _, text in pairs]
    target = kb.text.Subwords.train(texts, 24, model_type="word", exact=False)
    sizes = {"embedding_units": 32, "units": 64, "encoder_units": 32, "attention_units": 32}
    model = kb.presets.images(source, target, **sizes, convolutions="8,16,32", dropout=0.0)
    model.compile(keras.optimizers.Adam(4e-3), kb.losses.TokenCrossentropy())
    model.build()
    model.optimizer.build(model.trainable_variables)
    data = kb.data.batches(pairs, source, target, batch_sentences=50, buckets=1)
    model.fit(data, epochs=8, verbose=0, shuffle=False)  # until the outputs differ from each other
    pipeline = kb.ImageToText(source, model, target, kb.SearchOptions(beam_width=2, max_length=20))

    images_task.ImagesTask().write(tmp_path, "test", test)
    paths = [path for path, _ in read_manifest(tmp_path / "test.tsv")]
    found = assert_same_answers(pipeline, *export_both(pipeline, tmp_path), paths)
    assert len(found) == 100 and len(set(found)) >= 5


def own_grid():
    """Return a custom Keras model and its cell size in pixels: 8 x 8."""
    inputs = keras.Input((16, 48, 1))
    grid = keras.layers.Conv2D(6, 8, 8, activation="relu")(inputs / 255)
    grid = keras.layers.BatchNormalization()(grid)
    return keras.Model(inputs, grid), 8


def mobile_net():
    """Return a model from `keras.applications` and its cell size in pixels: 32 x 32."""
    return keras.applications.MobileNetV3Small((32, 96, 3), include_top=False, weights=None), 32


def learn_statistics(front_end, features):
    """Set the model's batch normalization statistics to those of a batch."""
    for layer in front_end.model.layers:
        if isinstance(layer, keras.layers.BatchNormalization):
            layer.momentum = 0.0
    front_end(features, training=True)


@pytest.mark.parametrize("grid_of", [own_grid, mobile_net])
def test_a_keras_model_as_front_end_has_the_same_texts_in_every_format(grid_of, tmp_path):
    keras.utils.set_random_seed(0)
    grid, cell = grid_of()
    source = kb.sources.ImageSource(*grid.input_shape[1:], cell=cell)
    case = toy_sources.CASES["images"]
    images = [case.input_of(numbers) for numbers in toy_sources.NUMBERS]
    files = [case.write(one, tmp_path / f"{number}") for number, one in enumerate(images)]
    texts = [toy_sources.text_of(numbers) for numbers in toy_sources.NUMBERS]
    target = kb.text.Subwords.train(texts, 8, model_type="word")
    front_end = kb.layers.KerasGrid(grid, units=8)
    model = kb.Seq2Seq(
        kb.Encoder(front_end=front_end, units=8, kind="rows"),
        new_decoder(target.vocabulary_size, 8, 16),
    )
    model.build()
    for part in (front_end.cells, model.decoder):
        extract.randomize(part)
    learn_statistics(front_end, source.features([path.read_bytes() for path in files]))
    # `min_length` prevents empty outputs.
    search = kb.SearchOptions(beam_width=2, min_length=3, max_length=6)
    pipeline = kb.ImageToText(source, model, target, search)
    found = assert_same_answers(pipeline, *export_both(pipeline, tmp_path), [*files, case.empty])
    assert len(set(found)) >= 3 and found[-1] == ""

    pipeline.save(tmp_path / "model.keras")
    again = load_pipeline(tmp_path / "model.keras").decode(files)
    assert [one.text for one in again] == found[:-1]
