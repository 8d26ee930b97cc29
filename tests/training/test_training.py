import dataclasses
import json
import math
import shutil
import signal
import subprocess
import sys

import keras
import numpy as np
import pytest
import reference
from conftest import TOY, toy_pairs
from sides import joint_sides

from keras_bahdanau.demo import generate
from keras_bahdanau.files.integrity import write_sealed_json
from keras_bahdanau.models.losses import SentenceCrossentropy
from keras_bahdanau.pipelines.archive import write_calibration, write_search
from keras_bahdanau.pipelines.confidence import TEXT_FEATURES, WORD_FEATURES, Calibration
from keras_bahdanau.pipelines.pipeline import Pipeline
from keras_bahdanau.pipelines.tasks import Translator
from keras_bahdanau.search import SearchOptions
from keras_bahdanau.sources import FeatureSource, TextSource
from keras_bahdanau.text import Subwords
from keras_bahdanau.training import (
    Progress,
    Run,
    TrainingOptions,
    TrainingPlan,
    loop,
    train,
    vocabularies,
)
from keras_bahdanau.training.model import compiled_model, learning_rate
from keras_bahdanau.training.presets import PRESETS
from keras_bahdanau.training.validation import ValidateAndSave

OPTIONS = TrainingOptions(
    vocabulary_size=150,
    embedding_units=16,
    units=24,
    attention_units=16,
    epochs=2,
    batch_tokens=300,
    learning_rate=1e-2,
    ema_momentum=0.9,
    checkpoint_steps=8,
)
PAIRS = [(example.source, example.target) for example in generate(130)]
TRAINING, VALIDATION = PAIRS[:110], PAIRS[110:]

KILLED_TRAINING = """
import json, os, signal, sys
import keras
from keras_bahdanau.training import TrainingOptions, train

def kill(batch, logs):
    if batch == 11:
        os.kill(os.getpid(), signal.SIGKILL)

out, options, pairs, valid_pairs = json.load(sys.stdin)
kill = keras.callbacks.LambdaCallback(on_train_batch_end=kill)
train(pairs, valid_pairs, out, TrainingOptions(**options), verbose=0, callbacks=[kill])
"""


def train_quietly(out, options=OPTIONS, callbacks=()):
    return train(
        *(TRAINING, VALIDATION, out, options),
        verbose=0,
        say=lambda _: None,
        callbacks=callbacks,
    )


class Witness(keras.callbacks.Callback):
    """A user's callback that records its calls and copies the run as a kill would leave it."""

    def __init__(self, out):
        super().__init__()
        self.out = out
        self.begins, self.epochs = 0, []

    def copy_at(self, epoch, moment):
        return self.out.with_name(f"{epoch}-{moment}")

    def on_train_begin(self, logs=None):
        self.begins += 1

    def on_train_batch_end(self, batch, logs=None):
        if batch == 11:
            self.copy("in an epoch")
        elif batch + 1 == self.params["steps"]:
            self.copy("before its validation")

    def on_epoch_end(self, epoch, logs=None):
        self.copy("after its validation")
        self.epochs.append((epoch, dict(logs)))

    def copy(self, moment):
        shutil.copytree(self.out, self.copy_at(len(self.epochs), moment))


def history_of(out):
    return json.loads((out / "history.json").read_text())


def weights_of(out):
    return Translator.load(out / "translator.keras").model.get_weights()


@pytest.fixture(scope="module")
def witness(tmp_path_factory):
    return Witness(tmp_path_factory.mktemp("training") / "undisturbed")


@pytest.fixture(scope="module")
def undisturbed(witness):
    assert train_quietly(witness.out, callbacks=[witness]) == witness.out / "translator.keras"
    return witness.out


def test_one_fit_has_all_epochs_and_the_users_callbacks(undisturbed, witness):
    assert witness.begins == 1
    assert witness.epochs == list(enumerate(history_of(undisturbed)))
    assert {"loss", "val_loss", "val_perplexity"} <= set(witness.epochs[0][1])


def check_same_end(out, undisturbed):
    assert history_of(out) == history_of(undisturbed)
    for weights, expected in zip(weights_of(out), weights_of(undisturbed), strict=True):
        np.testing.assert_array_equal(weights, expected)


@pytest.mark.slow
@pytest.mark.parametrize(
    "epoch, moment, expected",
    [
        (0, "in an epoch", (0, 8)),
        pytest.param(0, "after its validation", (1, 0), marks=pytest.mark.slow),
        pytest.param(0, "before its validation", (0, 16), marks=pytest.mark.slow),
        pytest.param(1, "in an epoch", (1, 8), marks=pytest.mark.slow),
    ],
)
def test_a_resumed_training_ends_as_an_undisturbed_one(
    undisturbed, witness, epoch, moment, expected
):
    out = witness.copy_at(epoch, moment)
    progress = Run(out).progress()
    assert (progress.epoch, progress.step) == expected  # those of the last checkpoint
    train_quietly(out)
    check_same_end(out, undisturbed)


@pytest.mark.slow
@pytest.mark.parametrize("sampling", [0.0, 0.2])
def test_a_killed_training_ends_as_an_undisturbed_one(tmp_path, sampling):
    """Its first part runs in another process."""
    out, undisturbed = tmp_path / "killed", tmp_path / "undisturbed"
    options = dataclasses.replace(OPTIONS, subword_sampling=sampling)
    train_quietly(undisturbed, options)
    arguments = json.dumps([str(out), dataclasses.asdict(options), TRAINING, VALIDATION])
    command = [sys.executable, "-c", KILLED_TRAINING]
    killed = subprocess.run(command, input=arguments, capture_output=True, text=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    progress = Run(out).progress()
    assert (progress.epoch, progress.step) == (0, 8)  # killed after batch 12
    train_quietly(out, options)
    check_same_end(out, undisturbed)


def check_best_is_saved(out):
    best = min(epoch["val_perplexity"] for epoch in history_of(out))
    translator = Translator.load(out / "translator.keras")
    losses = [
        -result.score * len(result.target_tokens) ** translator.search.length_normalization
        for result in translator.align(VALIDATION)
    ]
    tokens = sum(len(result.target_tokens) for result in translator.align(VALIDATION))
    assert math.exp(sum(losses) / tokens) == pytest.approx(best, rel=1e-3)
    return translator.model


def test_the_saved_translator_is_the_best_epochs(undisturbed):
    check_best_is_saved(undisturbed)


@pytest.mark.slow
def test_a_training_in_bfloat16_leaves_a_translator_in_float32(tmp_path):
    train_quietly(tmp_path, dataclasses.replace(OPTIONS, precision="bfloat16", epochs=1))
    model = check_best_is_saved(tmp_path)
    assert {layer.compute_dtype for layer in model._flatten_layers()} == {"float32"}
    assert keras.config.dtype_policy().name == "float32"


def test_training_lowers_the_perplexity(undisturbed):
    first, second = (epoch["val_perplexity"] for epoch in history_of(undisturbed))
    assert second < first < OPTIONS.vocabulary_size


def test_a_finished_training_is_left_alone(undisturbed):
    before = {path: path.stat().st_mtime_ns for path in undisturbed.iterdir()}
    with pytest.raises(FileExistsError, match="run ended after 2 epochs. Received: out="):
        train_quietly(undisturbed)
    assert {path: path.stat().st_mtime_ns for path in undisturbed.iterdir()} == before


WORDS = [(source.lower(), target.lower()) for source, target in toy_pairs()]
LINKS = [{(i, i) for i in range(len(source.split()))} for source, _ in WORDS]
CHARACTERS = {"model_type": "char", "vocabulary_size": 16, "max_length": 60, "seed": 3}
TINY = {**CHARACTERS, "embedding_units": 8, "units": 8, "batch_sentences": 40}
OF_FILES = {"images", "ink", "speech"}  # presets with convolutions, which text does not use


def trained(out, options, **data):
    train(WORDS[:120], WORDS[120:], out, options, verbose=0, say=lambda _: None, **data)
    return Translator.load(out / "translator.keras").model


@pytest.mark.slow
def test_each_side_has_the_vocabulary_asked_for(tmp_path):
    settings = {"source_model_type": "char", "target_model_type": "bpe"}
    sizes = {"source_vocabulary_size": 16, "target_vocabulary_size": 30}
    trained(tmp_path / "run", TrainingOptions(epochs=1, **{**TINY, **settings, **sizes}))
    translator = Translator.load(tmp_path / "run" / "translator.keras")
    assert (translator.source.size, translator.target.vocabulary_size) == (16, 30)
    (result,) = translator.align([("one two", "eins zwei")])
    assert result.source_tokens == [*"▁one▁two", "</s>"]
    assert result.target_tokens == ["▁eins", "▁zwei", "</s>"]


@pytest.mark.slow
def test_vocabularies_can_be_given(tmp_path):
    """The one that is not given is trained."""
    given = Subwords.train([source for source, _ in WORDS], 12, model_type="word", exact=False)
    options = TrainingOptions(epochs=1, **TINY)
    trained(tmp_path / "source", options, source=given)
    trained(tmp_path / "both", options, source=TextSource(given), target=given)
    first, second = (
        Translator.load(tmp_path / name / "translator.keras") for name in ("source", "both")
    )
    assert first.source.subwords == second.source.subwords == second.target == given
    assert first.target.tokens(first.target.encode(["eins"])[0]).tolist() == [*"▁eins", "</s>"]


@pytest.mark.few(1)
@pytest.mark.parametrize("share", [0.0, 0.4])
def test_the_search_has_the_share_of_ctc_of_the_training(tmp_path, monkeypatch, share):
    kept = []  # the callbacks; the training itself is replaced
    fit = lambda *_, callbacks, **__: kept.extend(callbacks)  # noqa: E731
    monkeypatch.setattr(loop, "fit_of", lambda *_: fit)
    options = TrainingOptions(epochs=1, ctc_weight=share, **TINY)
    train(WORDS[:120], WORDS[120:], tmp_path / "run", options, verbose=0, say=lambda _: None)
    (validate,) = (each for each in kept if isinstance(each, ValidateAndSave))
    assert validate.translator.search == SearchOptions(ctc_weight=share)
    validate.translator.save(tmp_path / "joint.keras")
    assert Translator.load(tmp_path / "joint.keras").search.ctc_weight == share


DIGITS = {"7": "seven", "77": "seventy-seven", "707": "seven hundred seven"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "limits", "count"),
    [
        ({}, (6.4, 10, 256), 0),
        ({"max_length_offset": 4}, (2.0, 4, 256), 2),
        ({"max_length_ratio": 8.0}, (8.0, 10, 256), 0),
    ],
)
def test_limits_of_outputs_follow_from_the_pairs_or_from_options(
    tmp_path, monkeypatch, options, limits, count
):
    """Sources of 3, 4, 5 tokens have targets of 7, 15, 21 tokens: 2 * 21 = 42 = 6.4 * 5 + 10."""
    kept, lines = [], []
    fit = lambda *_, callbacks, **__: kept.extend(callbacks)  # noqa: E731
    monkeypatch.setattr(loop, "fit_of", lambda *_: fit)
    given = {**TINY, "vocabulary_size": 60, **options}
    pairs = [*DIGITS.items()]
    train(pairs, pairs, tmp_path, TrainingOptions(epochs=1, **given), 0, lines.append)
    (validate,) = (each for each in kept if isinstance(each, ValidateAndSave))
    search = validate.translator.search
    found = (search.max_length_ratio, search.max_length_offset, search.max_length)
    assert found == limits
    told = "limits of the outputs, inferred from the pairs: max_length_ratio"
    assert any(line.startswith(told) for line in lines) == (not options)
    assert sum(f"validation: {count} of 3 target" in line for line in lines) == bool(count)


@pytest.mark.slow
def test_frames_are_trained_on_too(tmp_path):
    """Each word is a frame that encodes its number."""
    numbers = {word: number for number, word in enumerate(TOY)}
    pairs = [
        (np.eye(len(TOY))[[numbers[word] for word in source.split()]], target)
        for source, target in toy_pairs()
    ]
    source, options = FeatureSource(len(TOY)), TrainingOptions(epochs=1, **TINY)
    out = tmp_path / "run"
    train(pairs[:120], pairs[120:], out, options, 0, lambda _: None, source=source)
    loaded = Pipeline.load(out / "translator.keras")
    assert loaded.source == source
    assert len(loaded.decode([one for one, _ in pairs[:3]])) == 3


def test_convolutions_of_text_are_refused_before_vocabularies_are_learnt(tmp_path):
    told = []
    options = TrainingOptions(convolutions="3,3")
    with pytest.raises(ValueError, match="not available for text. Received: convolutions='3,3'"):
        train(PAIRS, PAIRS[:9], tmp_path / "run", options, say=told.append)
    assert not told and not (tmp_path / "run").exists()


def test_a_vocabulary_that_is_smaller_than_asked_for_is_reported():
    settings = {"vocabulary_size": 6000, "model_type": "word", "normalization": "identity"}
    options = TrainingOptions(**settings).resolved()
    plan, lines = TrainingPlan(options), []
    subwords = vocabularies.learned("joint", ["one two", "eins"], plan, "source", lines.append)
    assert subwords.vocabulary_size == 7
    assert lines == ["the joint vocabulary has 7 tokens, not 6,000: the text has no more"]


class Interrupt(keras.callbacks.Callback):
    """Interrupt training after its first checkpoint, as an error would."""

    def on_train_batch_end(self, batch, logs=None):
        raise KeyboardInterrupt


class InterruptSecond(keras.callbacks.Callback):
    """Interrupt training after its first epoch, as an error would."""

    def on_epoch_begin(self, epoch, logs=None):
        if epoch:
            raise KeyboardInterrupt


@pytest.mark.slow
def test_a_resumed_training_keeps_the_search_that_was_tuned(tmp_path):
    options, path, lines = TrainingOptions(epochs=2, **TINY), Run(tmp_path).translator, []
    with pytest.raises(KeyboardInterrupt):
        trained(tmp_path, options, callbacks=[InterruptSecond()])
    tuned = SearchOptions(beam_width=3, length_penalty="gnmt")
    write_search(path, dataclasses.asdict(tuned))
    text, word = (dict.fromkeys(("bias", *names), 0.0) for names in (TEXT_FEATURES, WORD_FEATURES))
    write_calibration(path, Calibration(text=text, word=word))
    train(WORDS[:120], WORDS[120:], tmp_path, options, verbose=0, say=lines.append)
    first, second = (epoch["val_perplexity"] for epoch in history_of(tmp_path))
    after = Translator.load(path)
    assert second < first  # so a new file was saved
    assert (after.search, after.calibration) == (tuned, None)
    (line,) = [line for line in lines if "without" in line]
    assert f"without the calibration in {str(path)!r}" in line


@pytest.fixture(scope="module")
def interrupted_once(tmp_path_factory):
    """(directory, options, given vocabularies) of a run that was killed after its first step."""
    out = tmp_path_factory.mktemp("interrupted") / "run"
    given = Subwords.train_pair(WORDS, 14, joint=False, model_type="word", exact=False)
    options = TrainingOptions(epochs=1, checkpoint_steps=1, **TINY)
    with pytest.raises(KeyboardInterrupt):
        sides = {"source": given[0], "target": given[1]}
        trained(out, options, callbacks=[Interrupt()], **sides)
    return out, options, given


@pytest.fixture
def interrupted(interrupted_once, tmp_path):
    """The tuple of `interrupted_once`, with a copy of the run directory."""
    out, options, given = interrupted_once
    return shutil.copytree(out, tmp_path / "run"), options, given


@pytest.mark.slow
def test_a_resumed_training_keeps_its_vocabularies(interrupted):
    out, options, (source, target) = interrupted
    assert Run(out).progress().step == 1
    trained(out, options, source=source)
    translator = Translator.load(out / "translator.keras")
    assert (translator.source.subwords, translator.target) == (source, target)


@pytest.mark.slow
def test_a_training_does_not_resume_with_other_vocabularies(interrupted):
    out, options, (source, target) = interrupted
    for name, other in (("source", target), ("target", source)):
        with pytest.raises(ValueError, match=f"it began with. Received: another {name} than"):
            trained(out, options, **{name: other})


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage",
    [
        {"source": None},
        {"source": {"module": "os", "class_name": "system", "config": {}}},
        {"target": {}},
        {"target": {"model": "AAAA"}},
    ],
)
def test_a_run_whose_vocabularies_are_damaged_is_named(interrupted, damage):
    out, options, _ = interrupted
    write_sealed_json(Run(out).card, {**Run(out).read_card(), **damage})
    with pytest.raises(ValueError, match="Received: ") as refused:
        trained(out, options)
    assert "safe_mode" not in str(refused.value)


@pytest.mark.slow
def test_a_run_of_an_older_version_is_named(interrupted):
    out, options, _ = interrupted
    card = json.loads(Run(out).card.read_text())
    del card["target"]
    write_sealed_json(Run(out).card, card)
    with pytest.raises(ValueError, match="Received: the card .*run.json' without them"):
        trained(out, options)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        name if name == "rnnsearch" else pytest.param(name, marks=pytest.mark.slow)
        for name in PRESETS
        if name not in OF_FILES
    ],
)
def test_each_preset_of_text_trains(tmp_path, name):
    model = trained(tmp_path / "run", TrainingOptions(preset=name, epochs=1, **TINY))
    (logs,) = history_of(tmp_path / "run")
    assert all(math.isfinite(value) for value in logs.values())
    assert model.decoder.units == 8


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """A run with many of the options that training supports."""
    options = TrainingOptions(
        epochs=3,
        patience=9,
        ema_momentum=0.0,
        label_smoothing=0.0,
        average_last=2,
        guided_alignment=1.0,
        **TINY,
    )
    out = tmp_path_factory.mktemp("training") / "mixed"
    return out, options, trained(out, options, alignments=LINKS[:120])


@pytest.mark.slow
def test_the_last_epochs_are_averaged(mixed):
    out, _, model = mixed
    perplexities = [logs["val_perplexity"] for logs in history_of(out)]
    assert min(perplexities) == perplexities[-1]  # so the saved translator is the last one
    first, second = (np.load(path) for path in sorted((out / "epochs").iterdir()))
    for variable, name in zip(model.trainable_variables, first.files, strict=True):
        mean = (first[name] + second[name]) / 2
        np.testing.assert_allclose(variable.numpy(), mean, atol=1e-6)


@pytest.mark.slow
def test_the_loss_has_the_alignments_part(mixed):
    for logs in history_of(mixed[0]):
        assert logs["loss"] - math.log(logs["perplexity"]) > 0.1


@pytest.mark.slow
def test_a_run_goes_on_with_the_alignments_it_began_with(mixed):
    out, options, _ = mixed
    with pytest.raises(ValueError, match="tags, alignments or a teacher"):
        trained(out, options, alignments=[set()] * 120)


@pytest.mark.slow
@pytest.mark.parametrize("when", ["on_train_batch_end", "on_epoch_end"])
def test_a_callback_may_end_the_training(tmp_path, when):
    def stop(number, logs):
        callback.model.stop_training = True

    callback = keras.callbacks.LambdaCallback(**{when: stop})
    options = TrainingOptions(epochs=9, **TINY)
    trained(tmp_path / "run", options, callbacks=[callback])
    assert len(history_of(tmp_path / "run")) == 1
    with pytest.raises(FileExistsError, match="run ended after 1 epoch. Received"):
        trained(tmp_path / "run", options)


@pytest.mark.slow
def test_known_alignments_can_be_all_that_is_attended_to(tmp_path):
    links = {"alignments": LINKS[:120], "valid_alignments": LINKS[120:]}
    options = TrainingOptions(attention="forced", epochs=1, **TINY)
    assert not trained(tmp_path / "run", options, **links).exportable


@pytest.mark.parametrize(
    "options, data, received",
    [
        ({"guided_alignment": 0.1}, {}, "no alignments, with guided_alignment=0.1"),
        ({}, {"alignments": LINKS[:120]}, "alignments, with guided_alignment=0.0"),
        ({"attention": "forced"}, {"alignments": LINKS[:120]}, "none for the validation"),
    ],
)
def test_alignments_and_options_must_go_together(tmp_path, options, data, received):
    with pytest.raises(ValueError, match=f"Received: {received}"):
        trained(tmp_path / "run", TrainingOptions(**options, **TINY), **data)
    assert not (tmp_path / "run").exists()


def test_a_checkpoint_of_another_model_is_named(tmp_path):
    path = tmp_path / "checkpoint.weights.h5"
    checkpoint = loop.Checkpoint(path, Progress())
    checkpoint.set_model(compiled(cell="lstm"))
    checkpoint.save()
    loop.restore(path, compiled(cell="lstm"))
    for other in ({"cell": "gru"}, {"cell": "lstm", "units": 7}, {"cell": "lstm", "depth": 2}):
        with pytest.raises(ValueError, match="with the model it began with. Received: the check"):
            loop.restore(path, compiled(**other))


def test_a_loss_over_sentences_sums_their_tokens():
    random = np.random.default_rng(0)
    logits = random.normal(size=(3, 4, 5)).astype("float32")
    tokens = random.integers(0, 5, size=(3, 4))
    weight = np.array([[1, 1, 1, 1], [1, 0, 0, 0], [0, 0, 0, 0]], "float32")
    sums = [
        sum(
            reference.token_loss(tokens[n, i], np.float64(logits[n, i]), 0.1) for i in range(length)
        )
        for n, length in enumerate([4, 1])
    ]
    loss = SentenceCrossentropy(0.1)
    assert float(loss(tokens, logits, weight)) == pytest.approx(sum(sums) / 2, rel=1e-5)
    again = keras.losses.deserialize(keras.losses.serialize(loss))
    assert float(again(tokens, logits, weight)) == float(loss(tokens, logits, weight))
    assert float(loss(tokens, logits, 0 * weight)) == 0


def rates(steps, **options):
    options = TrainingOptions(learning_rate=0.5, **options).resolved()
    schedule = learning_rate(TrainingPlan(options), steps)
    return lambda step: float(schedule(step))


def test_the_cosine_rises_and_falls_to_nothing():
    rate = rates(10, epochs=10, warmup=0.2)
    assert (rate(0), rate(10), rate(20)) == (0, 0.25, 0.5)
    assert rate(60) == pytest.approx(0.25) and rate(100) == pytest.approx(0, abs=1e-7)


def test_the_constant_rate_stays_after_its_warm_up():
    rate = rates(10, epochs=10, warmup=0.2, schedule="constant")
    found = [rate(step) for step in (0, 9, 19, 20, 99)]
    assert found == pytest.approx([0.025, 0.25, 0.5, 0.5, 0.5])
    assert rates(10, warmup=0.0, schedule="constant")(0) == 0.5


def test_the_rate_is_halved_in_each_epoch_after_the_full_ones():
    """Luong et al. 2015: "after 5 epochs, we begin to halve the learning rate every epoch"."""
    rate = rates(10, epochs=12, warmup=0.0, schedule="halving", halving_after=5)
    assert [rate(step) for step in (0, 49, 50, 59, 60, 110)] == [
        *(0.5, 0.5, 0.25, 0.25, 0.125),
        0.5 / 2**7,
    ]


def test_the_rate_falls_with_the_root_of_the_steps():
    rate = rates(10, epochs=10, warmup=0.25, schedule="inverse-sqrt")
    assert rate(24) == 0.5 and rate(99) == pytest.approx(0.25)


def compiled(**options):
    settings = {"units": 6, "embedding_units": 4, **options}
    options = TrainingOptions(**settings).resolved()
    plan = TrainingPlan(options, *joint_sides())
    return compiled_model(plan, learning_rate(plan, 5))


def optimizer_of(**options):
    return compiled(**options).optimizer


def test_adadelta_is_zeilers_with_the_papers_constants():
    config = optimizer_of(preset="rnnsearch").get_config()
    assert (config["rho"], config["epsilon"], config["global_clipnorm"]) == (0.95, 1e-6, 1.0)
    assert float(optimizer_of(preset="rnnsearch").learning_rate) == 1.0


def test_plain_descent_takes_one_step_of_the_rate():
    model = compiled(optimizer="sgd", schedule="constant", warmup=0.0, learning_rate=0.5)
    variables = model.trainable_variables
    before = [variable.numpy() for variable in variables]
    gradients = [0 * value + 1e-3 for value in before]
    model.optimizer.apply(gradients, variables)
    for variable, value in zip(variables, before, strict=True):
        np.testing.assert_allclose(variable.numpy(), value - 0.5e-3, atol=1e-7)


def test_the_penalty_is_on_all_weights_and_in_the_loss():
    model = compiled(l2=0.1)
    squares = sum(np.sum(variable.numpy() ** 2) for variable in model.trainable_variables)
    assert float(sum(model.losses)) == pytest.approx(0.1 * squares, rel=1e-5)
    assert not compiled().losses


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "parts", [{}, {"cell": "layer-norm-gru", "tie_embeddings": False}, {"encoder": "convolutional"}]
)
def test_weight_decay_spares_embeddings_biases_and_gains(parts):
    steady = {"learning_rate": 0.5, "schedule": "constant", "warmup": 0.0}
    model = compiled(weight_decay=0.1, **steady, **parts)
    for variable in model.trainable_variables:
        variable.assign(0 * variable + 1)
    model.optimizer.apply([0 * variable for variable in model.trainable_variables])
    spared = ("bias", "beta", "gamma", "embeddings", "positions")
    for variable in model.trainable_variables:
        expected = 1.0 if variable.path.endswith(spared) else 0.95
        np.testing.assert_allclose(variable.numpy(), expected, rtol=1e-6, err_msg=variable.path)
