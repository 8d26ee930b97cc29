"""Training runs that start from a trained model: weights, vocabularies and frozen parts."""

import dataclasses
import json
import shutil
from pathlib import Path

import keras
import numpy as np
import pytest
from conftest import toy_pairs
from runs import begin
from toy_sources import CASES

from keras_bahdanau.models import Ensemble
from keras_bahdanau.pipelines.tasks import Translator, pipeline_of
from keras_bahdanau.sources.text_source import TextSource, source_of
from keras_bahdanau.text import Subwords
from keras_bahdanau.text.features import position_in_card
from keras_bahdanau.training import Run, TrainingOptions, TrainingPlan, presets, train
from keras_bahdanau.training.data import TrainingData
from keras_bahdanau.training.fine_tuning import Adaptation, freeze
from keras_bahdanau.training.infer import inferred_names
from keras_bahdanau.training.inheritance import (
    InitialModel,
    check_no_adaptation,
    check_vocabulary_pairs,
    initial_model,
    record_of,
)
from keras_bahdanau.training.model import compiled_model
from keras_bahdanau.training.options import resolve
from keras_bahdanau.training.vocabularies import vocabularies

PAIRS = toy_pairs()
NEW = [("zero one", "nöll eins"), ("one zero", "eins nöll"), ("zero", "nöll")]
APPEND = TrainingOptions(update_vocabulary="append", appended_pieces=20)


@pytest.fixture(scope="module")
def model_file(toy_translator, tmp_path_factory):
    path = tmp_path_factory.mktemp("adaptation") / "toy.keras"
    toy_translator.save(path)
    return path


def quiet(_):
    pass


def drafted(options, pairs, source=None, target=None, symbols=()):
    """Return a training plan before its vocabularies are made."""
    data = TrainingData.build(pairs, pairs)
    return TrainingPlan(options, source, target, data, symbols=symbols)


def adapted(path, asked, pairs=NEW, given=(None, None), symbols=()):
    """Return (`Adaptation`, source, target, model) as at the start of a training run."""
    initial = initial_model(Run(path.with_name("new")), path)
    old = Adaptation(initial)
    options = resolve(initial.inherited(asked))
    draft = TrainingPlan(options, *given, symbols=symbols)
    source, target = old.sides(draft, pairs, quiet)
    model = compiled_model(TrainingPlan(options, source, target, initial=old.card), 1e-3)
    old.give_weights(model, source, target)
    return old, source, target, model


@pytest.fixture(scope="module")
def same(model_file):
    return adapted(model_file, TrainingOptions())


@pytest.fixture(scope="module")
def longer(model_file):
    return adapted(model_file, APPEND)


def logits_of(model, source, target, pairs=PAIRS):
    features = source.batch([one for one, _ in pairs])
    rows = target.encode([text for _, text in pairs])
    longest = max(map(len, rows))
    target_in = np.array([[2, *row[:-1], *[0] * (longest - len(row))] for row in rows])
    return keras.ops.convert_to_numpy(model((features, target_in)))


def test_before_the_first_step_an_adapted_model_answers_as_the_old_one(same, toy_translator):
    _, source, target, model = same
    assert (source, target) == (toy_translator.source, toy_translator.target)
    expected = logits_of(toy_translator.model, source, target)
    np.testing.assert_array_equal(logits_of(model, source, target), expected)
    # The optimizer state is new.
    assert all(not value.numpy().any() for value in model.optimizer.variables[2:])


def test_symbols_that_the_vocabulary_splits_are_reported(same):
    old, source, _, _ = same
    tokens = source.subwords.tokens(np.arange(source.size))
    token = max((one for one in tokens if one.startswith("\u2581")), key=len)[1:]
    lines, options = [], TrainingOptions().resolved()
    draft = TrainingPlan(options, symbols=[token, "<bt>", token])
    old.sides(draft, NEW, lines.append)
    (line,) = lines
    assert line.startswith("the source splits or does not know 1 symbol: <bt>; update_voc")
    old.sides(draft._replace(symbols=[token]), NEW, lines.append)
    assert len(lines) == 1


def test_symbols_that_a_given_vocabulary_splits_are_reported(same, tmp_path):
    _, source, target, _ = same
    lines, options, run = [], TrainingOptions().resolved(), Run(tmp_path / "run")
    for given, symbols in ((source, ["<bt>"]), (CASES["images"].source_of(None), ["<bt>", "a"])):
        draft = drafted(options, PAIRS, given, target, symbols)
        vocabularies(draft, run, None, PAIRS, lines.append)
    text, image = lines
    assert text.endswith("not know 1 symbol: <bt>; an existing vocabulary is not changed")
    assert "not know 2 symbols: <bt>, a; " in image
    begin(run, TrainingOptions(), PAIRS, source=source, target=target)
    draft = drafted(options, PAIRS, symbols=["<bt>"])
    vocabularies(draft, run, None, PAIRS, lines.append)
    assert lines[2].endswith("not know 1 symbol: <bt>; a run that is resumed keeps its vocabulary")


@pytest.mark.parametrize(
    ("sources", "place"),
    [(["walk <V>", "go <V>"], "last"), (["<V> walk", "go", "<V> go"], "first")],
)
def test_the_place_of_features_is_found_from_the_pairs_and_kept(tmp_path, sources, place):
    pairs, run = [(one, "x") for one in sources], Run(tmp_path / "run")
    types = {"model_type": "char", "normalization": "none"}
    asked = TrainingOptions(preset="characters", **types)
    options = asked.resolved()
    given = Subwords.train(sources, 40, model_type="char", exact=False, symbols=["<V>"])
    for one, symbols in ((None, ["<V>"]), (given, ["<V>"]), (given, [])):
        draft = drafted(options, pairs, one, symbols=symbols)
        source, target = vocabularies(draft, run, None, pairs, quiet)
        assert source.feature_place == place
    other = TextSource(given, "first" if place == "last" else "last")  # kept unchanged
    draft = drafted(options, pairs, other, symbols=["<V>"])
    assert vocabularies(draft, run, None, pairs, quiet)[0] is other
    begin(run, asked, pairs, source=source, target=target)
    assert position_in_card(run.read_card()) == place
    kept, _ = vocabularies(drafted(options, pairs, given), run, None, pairs, quiet)
    assert kept.feature_place == place
    with pytest.raises(ValueError, match="another source than"):
        vocabularies(drafted(options, pairs, other), run, None, pairs, quiet)


def test_new_pieces_stand_behind_the_old_ones_with_the_mean_of_their_parts(longer):
    old, source, target, model = longer
    size = old.target.vocabulary_size
    assert target.vocabulary_size > size and source.subwords == target  # they were joint
    before = old.model.decoder.embedding.embeddings.numpy()
    after = model.decoder.embedding.embeddings.numpy()
    np.testing.assert_array_equal(after[:size], before)
    (word,) = np.flatnonzero(target.tokens(np.arange(target.vocabulary_size)) == "▁zero")
    (parts,) = old.target.encode(["zero"])
    expected = np.mean([before[one] for one in parts[:-1]], axis=0, dtype=np.float64)
    assert word >= size
    np.testing.assert_allclose(after[word], expected, rtol=1e-6, atol=1e-7)


def test_old_tokens_keep_their_logits_beside_new_pieces(longer):
    old, source, target, model = longer
    size = old.target.vocabulary_size
    logits = logits_of(model, source, target)
    expected = logits_of(old.model, old.source, old.target)
    # Text without new pieces; a wider product rounds differently.
    np.testing.assert_allclose(logits[..., :size], expected, rtol=1e-4, atol=1e-5)


def test_a_new_vocabulary_keeps_the_rows_of_the_pieces_that_both_have(model_file):
    given = Subwords.train([text for pair in NEW + PAIRS[:9] for text in pair], 40, exact=False)
    options = TrainingOptions(update_vocabulary="replace")
    old, source, target, model = adapted(model_file, options, given=(given, given))
    assert source.subwords == target == given
    names = old.target.tokens(np.arange(old.target.vocabulary_size)).tolist()
    before = old.model.decoder.embedding.embeddings.numpy()
    after = model.decoder.embedding.embeddings.numpy()
    shared = [
        (number, names.index(piece))
        for number, piece in enumerate(target.tokens(np.arange(target.vocabulary_size)))
        if piece in names
    ]
    assert 4 < len(shared) < target.vocabulary_size
    for number, place in shared:
        np.testing.assert_array_equal(after[number], before[place])


def test_the_weights_of_a_frozen_part_are_not_trained(model_file):
    _, _, _, model = adapted(model_file, TrainingOptions(freeze="encoder,decoder/readout"))
    trained = {one.path.partition("/")[2] for one in model.trainable_variables}
    frozen = {one.path.partition("/")[2] for one in model.weights} - trained
    assert any(path.startswith("encoder/") for path in frozen)
    assert {path.partition("/")[0] for path in trained} == {"decoder"}
    assert all(path.startswith(("encoder/", "decoder/readout/")) for path in frozen)


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize(
    "alone, longest, window", [(False, None, 200), (True, 150, 200), (True, 300, 300)]
)
def test_a_transformer_keeps_as_many_steps_as_before_at_least(tmp_path, alone, longest, window):
    """The window never shrinks, even if the last training run had shorter targets."""
    sizes = {"units": 4, "embedding_units": 4, "encoder_units": 4, "heads": 1}
    sizes |= {"depth": 1, "decoder_depth": 2, "feed_forward_units": 4}
    side = Subwords.train(["eins zwei"], 30, exact=False)
    model = presets.transformer_tiny(side, side, max_length=200, **sizes)
    run = Run(tmp_path / "old")
    if not alone:
        run_of(run.directory, TrainingOptions(preset="transformer-tiny", max_length=100, **sizes))
    run.directory.mkdir(exist_ok=True)
    pipeline_of(source_of(side), model, side).save(run.translator)
    old, _, _, after = adapted(run.translator, TrainingOptions(max_length=longest))
    assert (old.card["model"] is None) != alone
    assert [cell.length for cell in after.decoder.cell.stack.cells] == [window] * 2
    states = after.decoder.cell.stack.state_sizes
    assert states == ((window * 4, window * 4, window),) * 2
    saved = type(after).from_config(after.get_config())
    for one in (after, saved):  # in a search, and restored from its config
        state = one.initial_state(one.encode(source_of(side).batch(["eins"])))
        shapes = [tuple(part.shape) for part in keras.tree.flatten(state.cell)]
        assert shapes == [(1, window * 4), (1, window * 4), (1, window)] * 2


@pytest.mark.parametrize(
    "names, message",
    [
        ("encodr", r"one of attention, .*embeddings, encoder, .* Received: freeze='encodr', with"),
        ("encoder,decoder", "must not be frozen. Received: freeze='encoder,decoder'"),
    ],
)
def test_a_name_that_freezes_nothing_or_all_is_refused(longer, names, message):
    *_, model = longer
    with pytest.raises(ValueError, match=message):
        freeze(model, names)
    for one in model.weights:
        one.trainable = True


def run_of(directory, options):
    """Return a run directory like one after training, but without the weights."""
    run = Run(directory)
    begin(run, options, PAIRS)
    return run


def test_options_that_are_left_out_come_from_the_old_run(tmp_path, model_file):
    options = TrainingOptions(preset="luong", units=48, dropout=0.3, vocabulary_size=48, epochs=7)
    old = run_of(tmp_path / "old", options)
    shutil.copy(model_file, old.translator)
    initial = initial_model(Run(tmp_path / "new"), tmp_path / "old")
    found = resolve(initial.inherited(TrainingOptions(learning_rate=1e-4)))
    kept = ("preset", "units", "dropout", "vocabulary_size", "attention")
    for name in kept:
        assert getattr(found, name) == getattr(options.resolved(), name)
    assert found.learning_rate == 1e-4
    changed = resolve(initial.inherited(TrainingOptions(dropout=0.1)))
    assert (changed.dropout, changed.embedding_dropout) == (0.1, 0.1)
    with pytest.raises(
        ValueError, match=r"keeps its options, units=48\. Received: units=32 with the model in"
    ):
        initial.inherited(TrainingOptions(units=32))


@pytest.mark.parametrize("rate", [0.0, 0.2])
def test_recurrent_dropout_stays_or_stays_away(tmp_path, model_file, rate):
    """Keras' own layers don't support it, so an encoder that uses it has other layers."""
    options = TrainingOptions(recurrent_dropout=rate, dropout=0.3)
    path = tmp_path / "run" / "translator.keras"
    initial = InitialModel(path, "lines", options.resolved(), "small")
    more = resolve(initial.inherited(TrainingOptions(dropout=0.1)))
    assert (more.recurrent_dropout, more.embedding_dropout) == (0.044 if rate else 0, 0.067)
    other = 0.2 if rate == 0 else 0.0
    with pytest.raises(ValueError, match=f"recurrent_dropout={rate}. Received: .*={other} with"):
        initial.inherited(TrainingOptions(recurrent_dropout=other))


def test_normalizations_that_were_found_stay_those_of_the_model(tmp_path, model_file):
    found = {"source_normalization": "nfd", "target_normalization": "none"}
    types = {"preset": "characters", "model_type": "char"}
    old = run_of(tmp_path / "old", TrainingOptions(**types, **found))
    shutil.copy(model_file, old.translator)
    initial = initial_model(Run(tmp_path / "new"), tmp_path / "old")
    options = initial.inherited(TrainingOptions())
    assert {name: options[name] for name in found} == found
    assert not {*found} & {*inferred_names(options, resolve(options))}
    with pytest.raises(ValueError, match="source_normalization='nfd'. Received: .*'nfkc'"):
        initial.inherited(TrainingOptions(source_normalization="nfkc"))


@pytest.mark.parametrize(
    "options",
    [{"units": 48}, {"vocabulary_size": 48}, {"dropout": 0.1}],
)
def test_the_model_of_a_file_alone_is_taken_as_it_is(tmp_path, model_file, options):
    options = TrainingOptions(**options)
    initial = initial_model(Run(tmp_path / "new"), model_file)
    with pytest.raises(ValueError, match="Without the run.json of its training run, a model can't"):
        initial.inherited(options)


@pytest.mark.slow
def test_the_model_of_a_file_alone_goes_on_in_bfloat16(tmp_path, model_file, toy_translator):
    """Weights, validation and the saved file are in float32; products are in bfloat16."""
    options = TrainingOptions(precision="bfloat16", epochs=1, learning_rate=1e-4)
    path = train(PAIRS, PAIRS, tmp_path / "new", options, verbose=0, initial=model_file)
    _, source, target, model = adapted(model_file, options)
    widths = {"embedding_units": 24, "units": 48, "attention_units": 24, "dropout": 0.0}
    fresh = dataclasses.replace(options, preset="small", **widths)
    fresh = compiled_model(TrainingPlan(fresh.resolved(), source, target), 1e-3)
    kinds = [[one.compute_dtype for one in each._flatten_layers()] for each in (model, fresh)]
    assert kinds[0] == kinds[1] and "bfloat16" in kinds[0]
    assert {weight.dtype for weight in model.trainable_variables} == {"float32"}
    expected = logits_of(toy_translator.model, source, target)
    found = logits_of(model, source, target)
    assert 0 < abs(found - expected).max() < 0.05 * abs(expected).max()
    new = Translator.load(path)
    assert {layer.compute_dtype for layer in new.model._flatten_layers()} == {"float32"}
    texts = [source for source, _ in PAIRS[:20]]
    answers = ([one.text for one in each.translate(texts)] for each in (new, toy_translator))
    assert [*next(answers)] == [*next(answers)]


def test_a_file_alone_is_guided_as_the_new_training_says(tmp_path, model_file):
    """Otherwise a model trained with guided attention would always require alignments."""
    old, source, target, _ = adapted(model_file, TrainingOptions())
    config = {**old.card["model"], "guided_alignment": 0.3, "r_drop": 1.0}
    initial = initial_model(Run(tmp_path / "new"), model_file)
    for asked, expected in ((None, 0.0), (0.2, 0.2)):
        options = resolve(initial.inherited(TrainingOptions(guided_alignment=asked)))
        card = {**old.card, "model": config}
        model = compiled_model(TrainingPlan(options, source, target, initial=card), 1e-3)
        assert (model.guided_alignment, model.r_drop) == (expected, 1.0)


def model_of(**options):
    options = TrainingOptions(**options).resolved()
    return InitialModel(Path("old.keras"), "lines", options, options.preset)


def test_what_a_training_leaves_out_is_the_models_but_guided_alignment():
    initial = model_of(guided_alignment=0.3, r_drop=1.0, model_type="char")
    found = initial.inherited(TrainingOptions())
    assert "guided_alignment" not in found
    assert (found["r_drop"], found["model_type"]) == (1.0, "char")
    assert initial.inherited(TrainingOptions(guided_alignment=0.2))["guided_alignment"] == 0.2
    resumed = initial._replace(resumed=True)
    assert resumed.inherited(TrainingOptions())["guided_alignment"] == 0.3


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {"target_model_type": "char", "source_vocabulary_size": 99, "joint": False}),
        ({"vocabulary_size": 50}, {"target_model_type": "char", "source_vocabulary_size": 50}),
        ({"model_type": "bpe"}, {"source_model_type": "bpe", "target_vocabulary_size": 99}),
        ({"joint": True}, {"joint": True, "source_model_type": "char"}),
        ({"target_model_type": "bpe"}, {"source_model_type": "char", "joint": False}),
    ],
)
def test_new_vocabularies_are_made_as_the_old_ones_but_for_what_is_given(given, expected):
    initial = model_of(model_type="char", vocabulary_size=99, joint=False)
    options = resolve(initial.inherited(TrainingOptions(update_vocabulary="replace", **given)))
    assert {name: getattr(options, name) for name in expected} == expected


def test_the_file_of_a_training_alone_says_how_its_vocabularies_are_made_anew():
    made = {"source_model_type": "char", "target_vocabulary_size": 99, "joint": False}
    trained = TrainingOptions(model_type="char", vocabulary_size=99, joint=False, units=48)
    record = dataclasses.asdict(trained.resolved())
    initial = InitialModel(Path("old.keras"), "lines", None, "small", record=record)
    for asked, expected in (("replace", made), ("none", dict.fromkeys(made))):
        options = initial.inherited(TrainingOptions(update_vocabulary=asked))
        assert {name: options.get(name) for name in made} == expected
        assert "units" not in options  # the model is kept unchanged
    sizes = initial.inherited(TrainingOptions(update_vocabulary="replace", vocabulary_size=50))
    assert sizes["vocabulary_size"] == 50 and "target_vocabulary_size" not in sizes


def test_the_record_of_a_file_alone_has_the_model_of_the_training_before():
    before = {**dataclasses.asdict(TrainingOptions(units=48).resolved()), "learning_rate": 0.5}
    options = TrainingOptions(learning_rate=0.1).resolved()
    card = {"model": {"name": "seq2seq"}, "training": before}
    found = record_of(options, card)
    assert (found["units"], found["learning_rate"]) == (48, 0.1)
    unknown = record_of(options, {**card, "training": None})
    assert "units" not in unknown and unknown["learning_rate"] == 0.1
    replaced = TrainingOptions(update_vocabulary="replace", vocabulary_size=99).resolved()
    assert record_of(replaced, card)["vocabulary_size"] == 99
    for initial in (None, {**card, "model": None}):
        assert record_of(options, initial) == dataclasses.asdict(options)


def test_vocabularies_that_are_replaced_are_learnt_from_the_new_text(tmp_path, model_file):
    options = TrainingOptions(
        update_vocabulary="replace",
        vocabulary_size=30,
        model_type="char",
        joint=False,
        normalization="nmt_nfkc",
    ).resolved()
    old = Adaptation(initial_model(Run(tmp_path / "new"), model_file))
    new = [("xylophon", "quartz")]
    draft = drafted(options, PAIRS)
    source, target = vocabularies(draft, Run(tmp_path / "new"), old, new, quiet)
    pieces = {*source.subwords.tokens(np.arange(source.size))}
    assert {"x", "y"} <= pieces and "w" not in pieces
    assert "q" in {*target.tokens(np.arange(target.vocabulary_size))}


def test_a_number_of_new_pieces_needs_an_update(tmp_path, model_file):
    initial = initial_model(Run(tmp_path / "new"), model_file)
    with pytest.raises(ValueError, match="`appended_pieces` needs update_vocabulary='append'"):
        initial.inherited(TrainingOptions(appended_pieces=500))
    initial.inherited(TrainingOptions(appended_pieces=500, update_vocabulary="append"))


def test_options_of_an_adaptation_need_a_model(tmp_path):
    with pytest.raises(ValueError, match="`freeze` is only for fine-tuning an existing model"):
        train(PAIRS, PAIRS, tmp_path / "new", TrainingOptions(freeze="encoder"))
    with pytest.raises(ValueError, match="155 vocabulary_pairs with update_vocabulary='none'"):
        train(PAIRS, PAIRS, tmp_path / "new", vocabulary_pairs=PAIRS)
    with pytest.raises(ValueError, match="155 vocabulary_pairs with existing vocabularies"):
        check_vocabulary_pairs(TrainingOptions(update_vocabulary="replace"), PAIRS, are_known=True)
    check_no_adaptation(TrainingOptions(update_vocabulary="none"))
    assert not (tmp_path / "new").exists()


def test_a_run_resumes_with_the_model_it_began_with(tmp_path, model_file):
    initial = {"path": "/old/translator.keras", "inputs": "lines", "model": None}
    initial |= {"search": {}, "metrics": None}
    run = Run(tmp_path / "run")
    begin(run, TrainingOptions(units=48), PAIRS, initial=initial)
    for path in (None, "/old", "/old/translator.keras"):  # the old files may no longer exist
        found = initial_model(run, path)
        assert found.inherited(TrainingOptions())["units"] == 48
    with pytest.raises(ValueError, match="the model it began with, '/old/translator.ke"):
        initial_model(run, model_file)


def test_a_run_resumes_by_the_path_that_it_began_with(tmp_path, model_file):
    path = model_file.parent / ".." / model_file.parent.name / model_file.name
    run = Run(tmp_path / "run")
    begin(run, TrainingOptions(), PAIRS, initial=Adaptation(initial_model(run, path)).card)
    for same_file in (path, model_file, model_file.parent):
        assert initial_model(run, same_file).path == model_file


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_model_of_any_source_keeps_its_encoder_and_gets_new_target_pieces(name, tmp_path):
    case = CASES[name]
    inputs = [case.input_of(numbers) for numbers in [(0, 1), (2, 3), (1,)]]
    target = Subwords.train(["eins zwei", "drei vier", "zwei"], 30, exact=False)
    source = source_of(case.source_of(inputs))
    sizes = {"embedding_units": 8, "units": 8, "encoder_units": 4}
    model = presets.new_model(source.preset, source, target, **sizes)
    pipeline_of(source, model, target).save(tmp_path / "old.keras")
    new = [(one, "fünf zwei") for one in inputs]
    old, same, longer, after = adapted(tmp_path / "old.keras", APPEND, new)
    assert same.size == source.size or source.subwords is not None
    assert longer.decode(longer.encode(["fünf zwei"])) == ["fünf zwei"]
    features = same.batch(inputs)
    values = [keras.ops.convert_to_numpy(one.encoder(features).values) for one in (model, after)]
    np.testing.assert_array_equal(*values)
    size = target.vocabulary_size
    weights = (one.decoder.embedding.embeddings.numpy()[:size] for one in (model, after))
    np.testing.assert_array_equal(*weights)


@pytest.mark.slow
def test_an_ensemble_is_not_trained_further(model_file, tmp_path):
    both = [Translator.load(model_file).model for _ in range(2)]
    one = Translator.load(model_file)
    Translator(one.source, Ensemble(both), one.target).save(tmp_path / "both.keras")
    with pytest.raises(ValueError, match="from a single model. Received: .*an Ensemble"):
        train(PAIRS, PAIRS, tmp_path / "new", initial=tmp_path / "both.keras", say=quiet)


class AtTheBeginning(keras.callbacks.Callback):
    """Record the model's outputs before its first step."""

    def __init__(self, translator):
        super().__init__()
        self.translator = translator

    def on_train_begin(self, logs=None):
        old = self.translator
        new = Translator(old.source, self.model, old.target, old.search)
        self.logits = logits_of(self.model, old.source, old.target)
        self.found = new.translate_nbest([one for one, _ in PAIRS[::7]], 3)


@pytest.fixture(scope="module")
def old_run(tmp_path_factory):
    out = tmp_path_factory.mktemp("adapted") / "old"
    options = TrainingOptions(
        vocabulary_size=48, embedding_units=24, units=48, attention_units=24, dropout=0.0,
        epochs=25, batch_tokens=512, learning_rate=1e-2, ema_momentum=0.9,
    )  # fmt: skip
    train(PAIRS, PAIRS, out, options, verbose=0, say=quiet)
    return out


@pytest.mark.slow
def test_logits_and_beam_are_bit_equal_before_the_first_step(old_run, tmp_path):
    old = Translator.load(old_run / "translator.keras")
    seen, lines = AtTheBeginning(old), []
    options = TrainingOptions(epochs=1, learning_rate=1e-5)
    train(
        *(PAIRS, PAIRS, tmp_path / "new", options),
        verbose=0, say=lines.append, callbacks=[seen], initial=old_run,
    )  # fmt: skip
    np.testing.assert_array_equal(seen.logits, logits_of(old.model, old.source, old.target))
    new = Translator.load(tmp_path / "new" / "translator.keras")
    assert (old.training["epochs"], new.training["epochs"]) == (25, 1)
    assert new.training == dataclasses.asdict(Run(tmp_path / "new").options())
    first, *_ = [line for line in lines if "perplexity" in line]
    assert first.startswith("before the first step: validation perplexity")
    expected = old.translate_nbest([one for one, _ in PAIRS[::7]], 3)
    for rows in zip(seen.found, expected, strict=True):
        for one, other in zip(*rows, strict=True):
            assert (one.text, one.score) == (other.text, other.score)
            np.testing.assert_array_equal(one.alignment, other.alignment)


@pytest.mark.slow
def test_a_word_that_was_unknown_is_learnt(old_run, tmp_path):
    """Its letter is missing from the old vocabulary and is learned, too; the old words are kept."""
    words = [("zero " + source, "Ø " + target) for source, target in PAIRS[:30]] + [("zero", "Ø")]
    before = Translator.load(old_run / "translator.keras")
    assert "⁇" in before.target.decode(before.target.encode(["Ø"]))[0]
    options = dataclasses.replace(
        APPEND, epochs=12, learning_rate=5e-3, batch_tokens=256, ema_momentum=0.9
    )
    path = train(
        *(words + PAIRS, words, tmp_path / "new", options),
        verbose=0, say=quiet, initial=old_run, vocabulary_pairs=words,
    )  # fmt: skip
    after = Translator.load(path)
    texts = [one.text for one in after.translate(["zero", "zero one", "zero two one", "two one"])]
    assert texts == ["Ø", "Ø eins", "Ø zwei eins", "zwei eins"]


@pytest.mark.slow
@pytest.mark.parametrize("alone", [False, True])
def test_an_adaptation_resumes_without_the_old_model(old_run, tmp_path, alone):
    """It ends like an uninterrupted run. If only a file was given, the card contains its model."""
    old = tmp_path / "old"
    old.mkdir()
    for name in ["translator.keras"] if alone else ["translator.keras", "run.json"]:
        shutil.copy(old_run / name, old)
    options = dataclasses.replace(APPEND, epochs=2, learning_rate=1e-3, freeze="attention")
    settings = {"verbose": 0, "say": quiet}
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    train(NEW * 9, NEW, whole, options, initial=old, **settings)

    class Stop(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(NEW * 9, NEW, parts, options, initial=old, callbacks=[Stop()], **settings)
    card = json.loads((parts / "run.json").read_text())
    assert (card["initial"]["model"] is not None) == alone
    shutil.rmtree(old)
    train(NEW * 9, NEW, parts, options, **settings)
    one, other = (Translator.load(out / "translator.keras") for out in (whole, parts))
    for weight, expected in zip(other.model.get_weights(), one.model.get_weights(), strict=True):
        np.testing.assert_array_equal(weight, expected)
    before = Translator.load(old_run / "translator.keras").model
    for part in ("query_projection", "key_projection"):
        frozen, same = (
            getattr(model.decoder.cell.attention.score, part).kernel.numpy()
            for model in (other.model, before)
        )
        np.testing.assert_array_equal(frozen, same)
