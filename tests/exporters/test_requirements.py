"""What can't be exported says so before anything is traced or written."""

import pytest
from options import Option, new_model, new_tokenizer

import keras_bahdanau as kb
from keras_bahdanau.exporters import export_all
from keras_bahdanau.exporters.exporter import require_exportable

EXPORTS = pytest.mark.parametrize(
    ("export", "name"),
    [
        (kb.export_saved_model, "model"),
        (kb.export_litert, "model.tflite"),
        (export_all, "model"),
    ],
)


@pytest.fixture(scope="module")
def tokenizer():
    return new_tokenizer()


def translator_of(tokenizer, search=None, **attention):
    return kb.Translator(new_model(Option(attention=attention), tokenizer), tokenizer, search)


@EXPORTS
@pytest.mark.parametrize("past", [0, 2])
def test_a_known_alignment_is_in_no_request(export, name, past, tokenizer, tmp_path):
    translator = translator_of(tokenizer, kind="forced", past=past)
    with pytest.raises(ValueError, match="exportable=False. Export a model that learns"):
        export(translator, tmp_path / name)
    assert not any(tmp_path.iterdir())


@EXPORTS
@pytest.mark.parametrize("draws", [{"temperature": 0.5}, {"top_k": 3}, {"top_p": 0.9}])
def test_an_artefact_draws_nothing_at_random(export, name, draws, tokenizer, tmp_path):
    translator = translator_of(tokenizer, kb.SearchOptions(**draws))
    with pytest.raises(ValueError, match="must not draw at random. Received:.*Export a Translator"):
        export(translator, tmp_path / name)
    assert not any(tmp_path.iterdir())


def test_an_ensemble_needs_what_its_members_need(tokenizer):
    models = [new_model(Option(attention={"kind": kind}), tokenizer) for kind in ("dot", "forced")]
    require_exportable(kb.Translator(models[0], tokenizer))
    with pytest.raises(ValueError, match="exportable=False"):
        require_exportable(kb.Translator(kb.models.Ensemble(models), tokenizer))
