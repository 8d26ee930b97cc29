"""Training options: user settings, derived values and refusals."""

import argparse
import dataclasses
import inspect
import typing

import code_blocks
import pytest

from keras_bahdanau import layers
from keras_bahdanau.evaluation.corpus_metrics import METRICS, metrics_of
from keras_bahdanau.layers import names
from keras_bahdanau.layers.memory import SUMMARIES
from keras_bahdanau.layers.registry import BRIDGES
from keras_bahdanau.search import SearchOptions
from keras_bahdanau.training import MODEL_OPTIONS, TrainingOptions, training_option
from keras_bahdanau.training.presets import PRESETS

FIELDS = TrainingOptions.__dataclass_fields__
REGISTRIES = {
    "encoder": layers.READERS,
    "encoder_cell": layers.CELLS,
    "cell": {*layers.CELLS, "self-attention"},  # used only in blocks
    "attention": {"bahdanau", "forced", "none", *layers.SCORES},
    "window": layers.WINDOWS,
    "normalizer": layers.NORMALIZERS,
    "coverage": {"none", *(name for name in layers.COVERAGES if name)},
    "when": layers.DECODER_CELLS,
    "query": names.QUERY_PARTS,
    # The option names a kind of summary, or a bridge that ignores it; "identity" ties two widths.
    "bridge": {*SUMMARIES, *BRIDGES} - {"summary", "identity"},
    "readout": layers.READOUTS,
}


def resolved(**asked):
    return TrainingOptions(**asked).resolved()


@pytest.mark.parametrize("name", REGISTRIES)
def test_each_mechanism_has_its_name_at_the_command_line(name):
    assert set(FIELDS[name].metadata["check"].choices) == set(REGISTRIES[name])


@pytest.mark.parametrize("settings", [TrainingOptions, SearchOptions])
def test_each_option_is_documented_and_each_of_its_choices_is_named(settings):
    text = " ".join(inspect.getdoc(settings).split())
    for field in dataclasses.fields(settings):
        assert f"{field.name}: {field.metadata['help']}" in text
        for choice in field.metadata["check"].choices:
            assert f'"{choice}"' in field.metadata["help"]
    assert "Raises: ValueError" in text


@pytest.mark.parametrize("settings", [TrainingOptions, SearchOptions])
def test_every_number_has_an_upper_bound(settings):
    for field in dataclasses.fields(settings):
        if {int, float} & {field.type, *typing.get_args(field.type)}:
            with pytest.raises(
                ValueError, match=rf"`{field.name}` must be .* in [\[(][\de-]+, \d+[\])]"
            ):
                settings(**{field.name: 10**12})


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_says_something_of_every_option(preset):
    options = resolved(preset=preset)
    assert None not in dataclasses.astuple(options)
    assert TrainingOptions(**dataclasses.asdict(options)).resolved() == options


def test_what_was_asked_is_kept_apart_from_what_follows_from_it():
    asked = TrainingOptions(units=64)
    assert (asked.units, asked.encoder_units, asked.epochs) == (64, None, None)
    assert (asked.resolved().units, asked.resolved().encoder_units) == (64, 32)
    assert asked == TrainingOptions(units=64) and hash(asked) == hash(TrainingOptions(units=64))
    assert asked.explicit() == {"units": 64} and not isinstance(asked.resolved(), TrainingOptions)


@pytest.mark.parametrize(
    "changes",
    [
        {"dropout": 0.1},
        {"optimizer": "sgd"},
        {"joint": False},
        {"batch_sentences": 80},
        {"preset": "luong-local"},
        {"readout": "plain", "units": 10},
    ],
)
def test_a_copy_is_changed_as_the_constructor_would(changes):
    plain = TrainingOptions()
    assert plain.resolved().epochs == 54
    copy = dataclasses.replace(plain, **changes)
    assert copy == TrainingOptions(**changes)
    assert copy.resolved() == resolved(**changes)


def test_a_copy_with_another_optimizer_has_no_moving_average():
    assert resolved().ema_momentum == 0.998
    copy = dataclasses.replace(TrainingOptions(units=9), optimizer="sgd").resolved()
    assert (copy.ema_momentum, copy.optimizer, copy.units) == (0.0, "sgd", 9)


def test_what_is_given_stands_and_the_rest_is_the_presets():
    options = resolved(preset="rnnsearch", units=64, epochs=2)
    assert (options.units, options.epochs) == (64, 2)
    assert (options.cell, options.embedding_units) == ("gru-reset-before", 620)


def test_widths_that_are_not_given_follow_the_units():
    assert resolved(units=300).encoder_units == 150
    assert resolved(units=300, encoder_units=7).encoder_units == 7
    search = resolved(preset="rnnsearch", units=64)
    assert (search.encoder_units, search.attention_units, search.readout_units) == (64, 64, 32)


def test_the_encoder_has_the_decoders_cell_unless_it_is_given_its_own():
    assert resolved(cell="lstm").encoder_cell == "lstm"
    assert resolved(cell="lstm", encoder_cell="gru").encoder_cell == "gru"


def test_batches_of_sentences_take_the_place_of_batches_of_tokens():
    assert resolved(batch_sentences=80).batch_tokens == 0
    assert resolved(preset="rnnsearch", batch_tokens=500).batch_sentences == 0


def test_two_vocabularies_have_no_shared_embedding():
    assert resolved().share_embeddings
    assert not resolved(joint=False).share_embeddings


def test_each_side_follows_the_common_options_unless_it_is_given_its_own():
    options = resolved(model_type="unigram", vocabulary_size=500, source_model_type="char")
    assert (options.source_model_type, options.target_model_type) == ("char", "unigram")
    assert (options.source_vocabulary_size, options.target_vocabulary_size) == (500, 500)
    options = resolved(target_vocabulary_size=70)
    assert (options.source_model_type, options.target_model_type) == ("bpe", "bpe")
    assert (options.source_vocabulary_size, options.target_vocabulary_size) == (6000, 70)


@pytest.mark.parametrize(
    "sides",
    [
        {"source_model_type": "char"},
        {"target_normalization": "nfd"},
        {"target_vocabulary_size": 70},
    ],
)
def test_sides_that_differ_have_no_joint_vocabulary(sides):
    assert resolved().joint and not resolved(**sides).joint
    assert not resolved(**sides).share_embeddings
    both = {name.replace("source", "target"): value for name, value in sides.items()}
    both |= {name.replace("target", "source"): value for name, value in sides.items()}
    assert resolved(**sides, **{name: both[name] for name in both.keys() - sides.keys()}).joint


def test_the_page_of_mechanisms_names_the_presets_in_which_other_rates_follow():
    page = (code_blocks.ROOT / "docs" / "mechanisms.md").read_text("utf-8")

    def named(rate, share):
        """Return the presets in which a rate is this fraction of the dropout that was given."""
        options = {name: TrainingOptions(preset=name, dropout=0.9).resolved() for name in PRESETS}
        follows = pytest.approx(share * 0.9)
        found = [name for name, one in options.items() if getattr(one, rate) == follows]
        return " and ".join(filter(None, [", ".join(found[:-1]), *found[-1:]]))

    told = "Embeddings: 2/3 of it in small, characters and speech, 1/2 in images, fixed in "
    assert told in page
    assert named("embedding_dropout", 2 / 3) == "small, characters and speech"
    assert named("embedding_dropout", 1 / 2) == "images"
    for name in ("conditional-gru", "ink"):
        one = TrainingOptions(preset=name, dropout=0.9).resolved()
        assert one.embedding_dropout == TrainingOptions(preset=name).resolved().embedding_dropout
    told = "States: 4/9 in small and characters. Whole words: 2/9 in small, 1/3 in ssru-student and"
    assert told in page
    assert named("recurrent_dropout", 4 / 9) == "small and characters"
    assert named("word_dropout", 2 / 9) == "small"
    assert named("word_dropout", 1 / 3) == "ssru-student and transformer-tiny"


def test_the_smalls_dropout_is_one_knob():
    kinds = ("embedding_dropout", "recurrent_dropout", "word_dropout", "readout_dropout")
    shares = {name: getattr(resolved(dropout=0.45), name) for name in kinds}
    assert [*shares.values()] == [0.3, 0.2, 0.1, 0.45]
    assert not any(getattr(resolved(dropout=0.0), name) for name in kinds)
    assert resolved(word_dropout=0.3).word_dropout == 0.3


def test_the_small_reads_the_previous_state_where_it_is_asked_to():
    assert resolved().when == "between"
    assert resolved(readout_state="previous").when == "before"


def test_characters_are_kept_as_they_are_and_judged_by_whole_texts():
    options = resolved(preset="characters")
    assert (options.source_model_type, options.target_model_type) == ("auto", "auto")
    assert (options.normalization, options.best_by, options.joint) == ("auto", "exact", True)
    phonemes = resolved(preset="characters", target_model_type="word")
    assert not phonemes.joint and not phonemes.share_embeddings
    assert resolved(preset="characters", batch_tokens=500).batch_sentences == 0


def test_the_smalls_embedding_is_tied_where_it_can_be():
    assert resolved(readout="maxout").tie_embeddings
    assert not resolved(readout="plain").tie_embeddings


@pytest.mark.parametrize(
    "name, value",
    [
        ("preset", "large"),
        ("preset", "large"),
        ("vocabulary_size", 0),
        ("units", 2.5),
        ("depth", True),
        ("seed", -1),
        ("dropout", 1.0),
        ("readout_dropout", 1),
        ("subword_sampling", -0.1),
        ("ema_momentum", -0.1),
        ("learning_rate", float("nan")),
        ("l2", -1e-5),
        ("clip_norm", 0),
        ("cell", "rnn"),
        ("model_type", "words"),
        ("normalization", "nfc"),
        ("epoch_steps", -1),
        ("accumulate", 0),
        ("best_by", "top5"),
        ("joint", "yes"),
        ("query", "state,states"),
        ("query", "state,state"),
        ("heads", "two"),
        ("seed", 2**32),
        ("learning_rate", float("inf")),
        ("minutes", True),
        ("cell", ["gru"]),
    ],
)
def test_values_out_of_range_are_refused(name, value):
    with pytest.raises(ValueError, match=f"`{name}` must be .* Received: {name}="):
        TrainingOptions(**{name: value})


def test_every_metric_of_one_text_can_judge_the_epochs_and_top_k_says_why_not():
    check, metrics = FIELDS["best_by"].metadata["check"], metrics_of(METRICS)
    assert check.choices == ("perplexity", *(one.name for one in metrics if one.nbest == 1))
    assert {*check.advice} == {one.name for one in metrics if one.nbest > 1}
    for name in check.choices:
        assert TrainingOptions(best_by=name).resolved().best_by == name
    with pytest.raises(ValueError, match="best_by='top2'. Validation decodes greedily, .*'exact'"):
        TrainingOptions(best_by="top2")


@pytest.mark.parametrize(
    "given, received",
    [
        ({"batch_tokens": 0}, "batch_tokens=0, batch_sentences=0"),
        ({"batch_tokens": 9, "batch_sentences": 9}, "batch_tokens=9, batch_sentences=9"),
        ({"joint": False, "share_embeddings": True}, "share_embeddings=True, joint=False"),
        (
            {"joint": True, "source_model_type": "char"},
            "joint=True, source_model_type='char', target_model_type='bpe', "
            "source_normalization='fold', target_normalization='fold', "
            "source_vocabulary_size=6000, target_vocabulary_size=6000",
        ),
        (
            {"joint": True, "source_normalization": "nfd"},
            "joint=True, source_model_type='bpe', target_model_type='bpe', "
            "source_normalization='nfd', target_normalization='fold', "
            "source_vocabulary_size=6000, target_vocabulary_size=6000",
        ),
        (
            {"joint": True, "target_vocabulary_size": 70},
            "joint=True, source_model_type='bpe', target_model_type='bpe', "
            "source_normalization='fold', target_normalization='fold', "
            "source_vocabulary_size=6000, target_vocabulary_size=70",
        ),
        (
            {"target_model_type": "word", "subword_sampling": 0.1},
            "subword_sampling=0.1, target_model_type='word'",
        ),
        ({"readout_state": "previous", "when": "after"}, "readout_state='previous', when='after'"),
        (
            {"readout_state": "previous", "readout": "plain"},
            "readout='plain', readout_.*'previous'",
        ),
        ({"readout_state": "previous", "readout": "attentional"}, "readout='atte.*'previous'"),
        ({"when": "apart", "readout": "plain"}, "readout='plain', when='apart'"),
        ({"optimizer": "sgd", "ema_momentum": 0.9}, "ema_momentum=0.9, optimizer='sgd'"),
        ({"quantization": "int4"}, "quantization='int4', quantization_aware=False"),
        ({"attention": "none", "guided_alignment": 0.1}, "guided_alignment=0.1, attention='none'"),
        ({"attention": "none", "window": "local-p"}, "window='local-p', attention='none'"),
        (
            {"subword_sampling": 0.1, "model_type": "char"},
            "subword_sampling=0.1, source_model_type='char'",
        ),
        ({"subword_sampling": 0.1, "guided_alignment": 1.0}, "subword_sampling=0.1, guided_.*=1.0"),
        (
            {"subword_sampling": 0.1, "attention": "forced"},
            "subword_sampling=0.1, attention='forced'",
        ),
        ({"attention": "forced", "heads": 2}, "heads=2, attention='forced'"),
        ({"copy": True, "attention": "none"}, "copy=True, attention='none'"),
        ({"when": "blocks", "query": "embedding"}, "query='embedding', when='blocks'"),
        (
            {"when": "blocks", "units": 9000},
            "feed_forward_units=36000, depth=1, decoder_depth=1, units=9000, encoder_units=4500",
        ),
        ({"cell": "self-attention"}, "cell='self-attention', when='between'"),
        (
            {"cell": "self-attention", "when": "blocks", "bridge": "last"},
            "cell='self-attention', bridge='last'",
        ),
        (
            {"tie_embeddings": True, "readout_units": 9},
            "tie_embeddings=True, readout_units=9, embedding_units=256",
        ),
        ({"readout": "plain", "readout_units": 9}, "readout_units=9, units=512"),
        (
            {"cell": "self-attention", "when": "blocks", "heads": 5},
            "heads=5, units=512, cell='self-attention'",
        ),
        (
            {"encoder": "transformer", "heads": 3},
            "heads=3, encoder_units=256, encoder='transformer'",
        ),
        ({"cell": "sru", "recurrent_dropout": 0.1}, "recurrent_dropout=0.1, cell='sru'"),
        (
            {"encoder_cell": "min-gru", "recurrent_dropout": 0.1},
            "recurrent_dropout=0.1, encoder_cell='min-gru'",
        ),
        ({"copy": True, "encoder": "pyramidal"}, "copy=True, encoder='pyramidal'"),
        ({"attention": "none", "preset": "luong-local"}, "window='local-p', attention='none'"),
        ({"hard_alignment": "first", "when": "after"}, "when='after', hard_alignment='first'"),
        ({"hard_alignment": "zeroth", "coverage": "sum"}, "coverage='sum', hard_.*='zeroth'"),
        (
            {"hard_alignment": "zeroth", "attention": "none"},
            "attention='none', hard_alignment='zeroth'",
        ),
        (
            {"hard_alignment": "zeroth", "query": "context"},
            "query='context', hard_alignment='zeroth'",
        ),
        (
            {"hard_alignment": "first", "vocabulary_size": 10_001},
            "target_vocabulary_size=10001, batch_tokens=1500, batch_sentences=0, hard_.*='first'",
        ),
        (
            {
                **{"hard_alignment": "first", "target_model_type": "word", "batch_tokens": 0},
                **{"batch_sentences": 300, "max_source_length": 10_000},
            },
            "target_vocabulary_size=6000, batch_tokens=0, batch_sentences=300, hard_.*='first'",
        ),
        (
            {"hard_alignment": "first", "batch_tokens": 100_000},
            "target_vocabulary_size=6000, batch_tokens=100000, batch_sentences=0, hard_.*='first'",
        ),
    ],
)
def test_options_that_do_not_go_together_are_refused(given, received):
    with pytest.raises(ValueError, match=f"Received: {received}. [A-Z]"):
        TrainingOptions(**given)


def test_cells_without_a_product_of_the_state_bring_no_recurrent_dropout():
    for given in ({"cell": "ssru"}, {"encoder_cell": "sru"}):
        assert resolved(**given).recurrent_dropout == 0
    assert resolved(encoder="transformer").recurrent_dropout > 0


def test_widths_without_feed_forward_networks_are_not_bound_by_them():
    assert resolved(units=9000, encoder_units=4500).units == 9000


def test_hard_alignments_bring_the_time_of_attention_that_they_take():
    assert resolved(hard_alignment="first-monotonic").when == "apart"
    assert resolved(hard_alignment="none").when == "between"


def test_model_options_are_those_of_a_model():
    assert {"units", "attention", "readout", "dropout", "guided_alignment"} < set(MODEL_OPTIONS)
    assert not {"epochs", "joint", "label_smoothing", "l2", "seed"} & set(MODEL_OPTIONS)


def test_the_papers_numbers():
    """Bahdanau et al. 2015, appendices A.2.3 and B; Luong et al. 2015, section 4.1."""
    search, luong = resolved(preset="rnnsearch"), resolved(preset="luong")
    sizes = ("units", "encoder_units", "attention_units", "readout_units", "embedding_units")
    assert [getattr(search, name) for name in sizes] == [1000, 1000, 1000, 500, 620]
    assert (search.optimizer, search.learning_rate, search.clip_norm) == ("adadelta", 1.0, 1.0)
    assert (search.batch_sentences, search.loss_mean) == (80, "sentences")
    assert (luong.depth, luong.decoder_depth, luong.units, luong.dropout) == (4, 4, 1000, 0.2)
    assert (luong.optimizer, luong.learning_rate, luong.halving_after) == ("sgd", 1.0, 8)


def test_each_setting_of_a_preset_is_an_option():
    for preset in PRESETS.values():
        assert set(preset.settings) <= set(FIELDS)


def test_an_option_in_one_string_has_the_kind_of_its_field():
    texts = ("units=8", "dropout=0.1", "cell=lstm", "joint=false", "buckets=3", "query=state,task")
    given = dict(map(training_option, texts))
    assert given == {
        **{"units": 8, "dropout": 0.1, "cell": "lstm", "joint": False},
        **{"buckets": 3, "query": "state,task"},
    }
    TrainingOptions(**given)
    for text in ("unit=8", "units", ""):
        with pytest.raises(
            argparse.ArgumentTypeError, match=f"must be NAME=VALUE.*Received: {text!r}"
        ):
            training_option(text)
