"""Misspelled names suggest the right ones: packages, keywords, values, options, commands."""

import dataclasses
import inspect
import subprocess
import sys

import pytest

import keras_bahdanau as kb
from keras_bahdanau import cli
from keras_bahdanau.search import SearchOptions
from keras_bahdanau.settings.guesses import check_keywords, nearest, nearest_name
from keras_bahdanau.sources.named_source import parsed_source
from keras_bahdanau.training import TrainingOptions


@pytest.mark.parametrize(
    ("guess", "names", "right"),
    [
        ("lstmm", ("gru", "lstm"), "lstm"),
        ("LSTM", ("gru", "lstm"), "lstm"),
        ("--max-len", ("--max-length", "--min-length"), "--max-length"),
        ("tflite", ("saved-model", "litert"), "litert"),
        ("beam_size", ("batch_size", "beam_width"), "beam_width"),
        ("smoothing", ("label_smoothing", "seed"), "label_smoothing"),
        ("penalty", ("length_penalty", "coverage_penalty"), "length_penalty"),
        ("zebra", ("gru", "lstm"), None),
        (7, ("gru", "lstm"), None),
        ("gru", (None, "grru"), "grru"),
    ],
)
def test_a_guess_is_nearest_by_its_spelling_or_as_a_synonym(guess, names, right):
    assert nearest_name(guess, names) == right
    assert nearest(guess, names) == ("" if right is None else f". Did you mean {right!r}?")


@pytest.mark.parametrize(
    ("package", "guess", "right"),
    [
        (kb, "Translater", "Translator"),
        (kb, "TrainingOptions", "training.TrainingOptions"),
        (kb, "train", "training.train"),
        (kb, "fit", "training.train"),
        (kb, "load_model", "load_pipeline"),
        (kb, "exporter", "exporters"),
        (kb.layers, "BahdanauAtention", "BahdanauAttention"),
        (kb.training, "fit", "train"),
        (kb.search, "SearchOption", "SearchOptions"),
        (kb.evaluation, "evalute", "evaluate"),
    ],
)
def test_a_wrong_name_of_a_package_leads_to_the_right_one(package, guess, right):
    with pytest.raises(AttributeError, match=f"has no attribute '{guess}'. Did you mean '{right}'"):
        getattr(package, guess)


@pytest.mark.parametrize("name", ["__wrapped__", "_ipython_display_", "zebra"])
def test_a_name_that_is_near_nothing_gets_no_advice(name):
    assert not hasattr(kb, name)
    with pytest.raises(AttributeError, match=f"has no attribute '{name}'$"):
        getattr(kb, name)


def test_a_wrong_name_loads_no_backend():
    program = (
        "import sys, keras_bahdanau as kb\n"
        "assert not hasattr(kb, 'TrainingOption') and not hasattr(kb, 'zebra')\n"
        "print(*{'keras', 'tensorflow', 'numpy'} & {*sys.modules})\n"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (answer.stdout, answer.stderr) == ("\n", "")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Heat:
    """Settings of a toaster."""

    degrees: int = 7
    beam_width: int = 1


@check_keywords(heat=Heat)
def toast(slices, heat=None, nbest=1):
    """Toasted slices."""
    return slices * nbest


@check_keywords(heat=Heat)
class Toaster:
    """Toasts."""

    def toast(self, slices, heat=None):
        return slices

    def toast_nbest(self, slices, nbest=None, heat=None):
        return slices


@pytest.mark.parametrize(
    ("call", "keyword", "right"),
    [
        (toast, "slice", "slices"),
        (toast, "n_best", "nbest"),
        (toast, "degree", "heat=Heat(degrees=...)"),
        (toast, "beam_size", "heat=Heat(beam_width=...)"),
        (Toaster().toast, "n_best", "toast_nbest(..., nbest=...)"),
        (Toaster().toast, "num_beams", "heat=Heat(beam_width=...)"),
    ],
)
def test_an_unknown_keyword_leads_to_the_right_one(call, keyword, right):
    with pytest.raises(TypeError) as error:
        call(2, **{keyword: 3})
    assert str(error.value) == (
        f"`{call.__name__}` has no argument `{keyword}`. Received: {keyword}=3. "
        f"Did you mean `{right}`?"
    )


def test_an_unknown_keyword_that_is_near_nothing_leads_to_the_arguments():
    with pytest.raises(TypeError, match="Received: zebra=1. Give one of slices, heat, nbest.$"):
        toast(2, zebra=1)


def test_checked_functions_keep_signature_and_answer():
    assert toast(2, nbest=3) == 6 and Toaster().toast(1) == 1
    assert str(inspect.signature(toast)) == "(slices, heat=None, nbest=1)"


@pytest.mark.parametrize(
    ("settings", "guess", "right"),
    [
        (TrainingOptions, "lr", "learning_rate"),
        (TrainingOptions, "epoch", "epochs"),
        (TrainingOptions, "hidden_size", "units"),
        (SearchOptions, "beam_size", "beam_width"),
        (SearchOptions, "temprature", "temperature"),
    ],
)
def test_an_unknown_option_in_python_leads_to_the_right_one(settings, guess, right):
    with pytest.raises(TypeError, match=f"Received: {guess}=2. Did you mean `{right}`"):
        settings(**{guess: 2})
    with pytest.raises(TypeError, match=f"Did you mean `{right}`"):
        dataclasses.replace(settings(), **{guess: 2})


@pytest.mark.parametrize(
    ("call", "arguments", "right"),
    [
        (kb.Translator.translate, {"beam_width": 4}, r"search=SearchOptions\(beam_width=...\)"),
        (kb.Translator.translate, {"beam_size": 4}, r"search=SearchOptions\(beam_width=...\)"),
        (kb.Pipeline.decode, {"temperature": 1}, r"search=SearchOptions\(temperature=...\)"),
        (kb.training.train, {"lr": 1}, r"options=TrainingOptions\(learning_rate=...\)"),
        (kb.training.train, {"epochs": 1}, r"options=TrainingOptions\(epochs=...\)"),
        (kb.training.train, {"valid": []}, "valid_pairs"),
        (kb.export_litert, {"path": "a", "quantize": "int8"}, "quantization"),
        (kb.export_saved_model, {"directory": "x", "metrics": []}, None),
        (kb.evaluation.evaluate, {"metric": "bleu"}, "metrics"),
        (kb.load_pipeline, {"dtype": "bfloat16"}, "precision"),
    ],
)
def test_public_functions_explain_unknown_keywords(call, arguments, right):
    with pytest.raises(TypeError, match=f"Did you mean `{right}`" if right else "Give one of"):
        call(None, **arguments)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: kb.Translator.translate(None, ["a"], search={"beam_width": 4}), "SearchOptions"),
        (lambda: kb.training.train([], [], "x", {"epochs": 1}), "options=TrainingOptions.name=val"),
        (lambda: kb.training.train("a.en", "a.de", "x"), "Received: 'a.en'. Read a file first"),
        (lambda: kb.training.train(["a"], ["b"], "x"), r"pairs\[0\]='a'. Pass a list of tuples"),
        (lambda: kb.export_litert("runs/a", "x.tflite"), "model='runs/a'. Pass load_pipeline"),
        (lambda: kb.export_all("runs/a", "x"), "pipeline='runs/a'. Pass load_pipeline"),
        (lambda: kb.Encoder(vocab_size=9, units=8), "`Encoder` .* Did you mean `vocabulary_size`"),
        (lambda: kb.sources.ImageSource(hight=3), "`ImageSource` .* Did you mean `height`"),
        (lambda: kb.data.batches([], None, None, batch_size=3), "Did you mean `batch_tokens`"),
    ],
)
def test_a_value_of_a_wrong_kind_is_explained_in_one_line(call, message):
    with pytest.raises(TypeError, match=message) as error:
        call()
    assert "Received: " in str(error.value) and "\n" not in str(error.value)


def test_the_name_of_a_source_may_be_guessed():
    with pytest.raises(ValueError, match="Received: source='imgae'. Did you mean 'image'"):
        parsed_source("imgae")
    with pytest.raises(ValueError, match="Did you mean 'speech'"):
        parsed_source("audio:rate=8000")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("train a b --out x --lr 0.1", "No such option: --lr. Did you mean '--learning-rate'?"),
        ("train a b --out x --epoch 2", "No such option: --epoch. Did you mean '--epochs'?"),
        ("train a b --out x --zebra 2", "No such option: --zebra. `keras-bahdanau train"),
        ("translate --model x --beam-size 4", "--beam-size. Did you mean '--beam-width'?"),
        ("translate --model x --n-best 4", "--n-best. Did you mean '--nbest'?"),
        ("evaluate --model x a b --metric bleu", "--metric. Did you mean '--metrics'?"),
        ("export --model x --out y --format tflite", "'browser', 'all'. Did you mean 'litert'?"),
        ("export --model x --out y --format saved", "'all'. Did you mean 'saved-model'?"),
        ("train a b --out x --preset smal", "Received: preset='smal'. Did you mean 'small'?"),
        ("train a b --out x --cell LSTM", "Received: cell='LSTM'. Did you mean 'lstm'?"),
        ("train a b --out x --source pictures", "Did you mean 'image'?"),
        ("train a b --out x --best-by acc", "Received: best_by='acc'. Did you mean 'exact'?"),
        ("train a b --out x --units many", "Invalid value for '--units'"),
        ("train a b", "Missing option '--out'. `keras-bahdanau train --help` lists"),
        ("trian", "No such command: 'trian'. Did you mean 'train'?"),
        ("predict", "No such command: 'predict'. Did you mean 'translate'?"),
        ("--vesrion", "No such option: '--vesrion'. Did you mean '--version'?"),
    ],
)
def test_a_guess_on_the_command_line_is_one_line_with_the_right_name(words, message, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(words.split())
    output = capsys.readouterr()
    assert (ended.value.code, output.out) == (2, "")
    assert output.err.startswith("keras-bahdanau: ") and output.err.count("\n") == 1
    assert message in output.err


def test_a_short_option_shows_help(capsys):
    for words in (["-h"], ["check", "-h"]):
        with pytest.raises(SystemExit) as ended:
            cli.main(words)
        assert not ended.value.code
        assert capsys.readouterr().out.startswith("Usage: keras-bahdanau ")


def test_options_of_training_have_headings_with_the_most_needed_first(capsys):
    with pytest.raises(SystemExit):
        cli.main(["train", "--help"])
    sections = capsys.readouterr().out.split("\n\n")
    headings = [text.splitlines()[0] for text in sections if text.splitlines()[0].endswith(":")]
    assert headings == [
        *("Arguments:", "Options:", "Data:", "Text:", "Model:", "Training:", "Adaptation:", "Run:"),
    ]
