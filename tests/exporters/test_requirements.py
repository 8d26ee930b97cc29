"""A model that can't be exported is refused before anything is traced or written."""

import functools

import pytest
from options import Option, new_model, new_subwords

import keras_bahdanau as kb
from keras_bahdanau.exporters import IdsSavedModelExporter, export, export_all
from keras_bahdanau.exporters.exporter import require_exportable

EXPORTS = pytest.mark.parametrize(
    ("export", "name"),
    [
        (kb.export_saved_model, "model"),
        (functools.partial(export, IdsSavedModelExporter()), "model"),
        (kb.export_litert, "model.tflite"),
        (export_all, "model"),
    ],
)


@pytest.fixture(scope="module")
def subwords():
    return new_subwords()


def translator_of(subwords, search=None, **attention):
    model = new_model(Option(attention=attention), subwords)
    return kb.Translator(subwords, model, subwords, search)


@pytest.mark.few(2)
@EXPORTS
@pytest.mark.parametrize("past", [0, 2])
def test_a_known_alignment_is_in_no_request(export, name, past, subwords, tmp_path):
    translator = translator_of(subwords, kind="forced", past=past)
    with pytest.raises(ValueError, match="exportable=False. Export a model that learns"):
        export(translator, tmp_path / name)
    assert not any(tmp_path.iterdir())


@pytest.mark.few(3)
@EXPORTS
@pytest.mark.parametrize("draws", [{"temperature": 0.5}, {"top_k": 3}, {"top_p": 0.9}])
def test_an_artefact_draws_nothing_at_random(export, name, draws, subwords, tmp_path):
    translator = translator_of(subwords, kb.SearchOptions(**draws))
    with pytest.raises(ValueError, match="must not draw at random. Received:.*Export a Translator"):
        export(translator, tmp_path / name)
    assert not any(tmp_path.iterdir())


def test_an_ensemble_needs_what_its_members_need(subwords):
    models = [new_model(Option(attention={"kind": kind}), subwords) for kind in ("dot", "forced")]
    require_exportable(kb.Translator(subwords, models[0], subwords))
    with pytest.raises(ValueError, match="exportable=False"):
        require_exportable(kb.Translator(subwords, kb.models.Ensemble(models), subwords))


def test_a_file_for_devices_has_room_for_the_shortest_text(subwords, tmp_path):
    translator = translator_of(subwords, kb.SearchOptions(min_length=20), kind="dot")
    with pytest.raises(ValueError, match="Received: min_length=20, max_target_length=8. Raise"):
        kb.export_litert(translator, tmp_path / "model.tflite", max_target_length=8)
    assert not any(tmp_path.iterdir())
