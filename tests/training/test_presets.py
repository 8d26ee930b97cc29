"""The presets; those of Bahdanau et al. 2015 follow the appendix, equation by equation."""

import inspect
from typing import NamedTuple

import keras
import numpy as np
import pytest
from sides import joint_sides, separate_sides

from keras_bahdanau import HardDecoder, layers, presets
from keras_bahdanau.sources import AudioSource, FeatureSource, ImageSource, InkSource, TextSource
from keras_bahdanau.text import Subwords
from keras_bahdanau.training import TrainingOptions, TrainingPlan
from keras_bahdanau.training.model import compiled_model
from keras_bahdanau.training.presets.models import draw_as_bahdanau, draw_as_luong

SIZES = {"units": 6, "embedding_units": 4}
SOURCE = [5, 3, 8, 3, 7]
TARGET_IN = [2, 6, 4, 9]


def sigma(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    return np.exp(x - x.max()) / np.exp(x - x.max()).sum()


class Unit(NamedTuple):
    """Weights of one gated hidden unit, as matrices to the left of a vector, as in the paper.

    The model's update gate is the paper's 1 - z, and 1 - sigma(a) = sigma(-a): the paper's W_z,
    U_z, C_z and their bias are the model's with the opposite sign.
    """

    W: np.ndarray
    W_z: np.ndarray
    W_r: np.ndarray
    U: np.ndarray
    U_z: np.ndarray
    U_r: np.ndarray
    b: np.ndarray
    b_z: np.ndarray
    b_r: np.ndarray
    C: np.ndarray = 0.0
    C_z: np.ndarray = 0.0
    C_r: np.ndarray = 0.0

    @classmethod
    def of(cls, kernel, recurrent, bias, context=None):
        """Take the weights from kernels whose columns are the blocks z, r and candidate."""
        W_z, W_r, W = np.split(kernel.T, 3)
        U_z, U_r, U = np.split(recurrent.T, 3)
        b_z, b_r, b = np.split(bias, 3)
        C_z, C_r, C = np.split(np.zeros((len(bias), 1)) if context is None else context.T, 3)
        return cls(W, -W_z, W_r, U, -U_z, U_r, b, -b_z, b_r, C, -C_z, C_r)

    def __call__(self, Ey, s, c):
        """s_i = (1 - z_i) s_{i-1} + z_i s~_i      (A.1.1; the encoder's, A.2.1, has no c)."""
        z = sigma(self.W_z @ Ey + self.U_z @ s + self.C_z @ c + self.b_z)
        r = sigma(self.W_r @ Ey + self.U_r @ s + self.C_r @ c + self.b_r)
        proposed = np.tanh(self.W @ Ey + self.U @ (r * s) + self.C @ c + self.b)
        return (1 - z) * s + z * proposed


class Appendix:
    """RNNsearch as in appendix A, with the weights of a model, in float64."""

    def __init__(self, model):
        self.weights = {
            variable.path.removeprefix("seq2seq/"): np.float64(variable.numpy())
            for variable in model.trainable_variables
        }
        w = self.weights
        self.E_x = w["encoder/front_end/embedding/embeddings"]
        self.E_y = w["decoder/embedding/embeddings"]
        cell = "decoder/cell/stack/cell_0"
        self.unit = Unit.of(
            w[f"{cell}/input_projection/kernel"],
            np.hstack(
                [
                    w[f"{cell}/recurrent_projection/kernel"],
                    w[f"{cell}/candidate_projection/kernel"],
                ]
            ),
            w[f"{cell}/input_projection/bias"],
            w[f"{cell}/context_projection/kernel"],
        )

    def read(self, direction, tokens):
        """Return the states of one direction of the encoder, in the order of `tokens`."""
        names = ("kernel", "recurrent_kernel", "bias")
        cell = f"encoder/rnn_0/{direction}/gru_cell"
        unit = Unit.of(*(self.weights[f"{cell}/{name}"] for name in names))
        h, states = np.zeros(len(unit.b)), []
        for token in tokens:
            h = unit(self.E_x[token], h, np.zeros(1))
            states.append(h)
        return np.array(states)

    def annotations(self, source):
        """h_j = [forward_j; backward_j]      (eq. 7)."""
        backward = self.read("backward", source[::-1])[::-1]
        return np.hstack([self.read("forward", source), backward])

    def initial_state(self, h):
        """s_0 = tanh(W_s h)      (A.2.2, which omits the bias)."""
        bridge = "decoder/cell/bridge/projection"
        return np.tanh(self.weights[f"{bridge}/kernel"].T @ h + self.weights[f"{bridge}/bias"])

    def attend(self, s, annotations):
        """c_i and alpha_i      (A.1.2 and A.2.2)."""
        score = "decoder/cell/attention/score"
        W_a = self.weights[f"{score}/query_projection/kernel"].T
        U_a = self.weights[f"{score}/key_projection/kernel"].T
        v_a = self.weights[f"{score}/v"][:, 0]
        alpha = softmax(np.array([v_a @ np.tanh(W_a @ s + U_a @ h) for h in annotations]))
        return sum(a * h for a, h in zip(alpha, annotations, strict=True)), alpha

    def probabilities(self, s, y, c):
        """p(y_i | s_{i-1}, y_{i-1}, c_i)      (A.2.2): maxout over pairs, then softmax."""
        n, m = len(s), self.E_y.shape[1]
        joined = self.weights["decoder/readout/projection/kernel"].T
        U_o, C_o, V_o = joined[:, :n], joined[:, n : n + len(c)], joined[:, n + len(c) :]
        assert V_o.shape[1] == m
        proposed = U_o @ s + V_o @ self.E_y[y] + C_o @ c
        t = np.array([max(proposed[2 * j], proposed[2 * j + 1]) for j in range(len(proposed) // 2)])
        return softmax(
            self.weights["decoder/output/kernel"].T @ t + self.weights["decoder/output/bias"]
        )

    def translate(self, s, tokens, context_of):
        """p(y_i) for each i, with the teacher's tokens as inputs."""
        found = []
        for y in tokens:
            c = context_of(s)
            found.append(self.probabilities(s, y, c))
            s = self.unit(self.E_y[y], s, c)
        return np.array(found)


def with_random_weights(model):
    """Make all weights large enough to matter: the preset initializes v_a to zero."""
    model.build()
    random = np.random.default_rng(0)
    for variable in model.trainable_variables:
        variable.assign(random.normal(scale=0.5, size=variable.shape))
    return model


@pytest.fixture(scope="module")
def rnnsearch():
    return with_random_weights(presets.rnnsearch(*separate_sides(), **SIZES))


def probabilities_of(model, run):
    source, target_in = np.array([[*SOURCE, 0, 0]], "int32"), np.array([TARGET_IN], "int32")
    return run(lambda *inputs: keras.ops.softmax(model(inputs)), source, target_in)[0]


def test_the_encoder_is_that_of_appendix_a_2_1(rnnsearch):
    memory = rnnsearch.encoder(np.array([SOURCE]))
    expected = Appendix(rnnsearch).annotations(SOURCE)
    np.testing.assert_allclose(memory.values[0], expected, rtol=1e-4, atol=1e-6)


def test_one_step_is_that_of_appendix_a_2_2(rnnsearch):
    paper = Appendix(rnnsearch)
    annotations = paper.annotations(SOURCE)
    s = paper.initial_state(annotations[0, SIZES["units"] :])
    c, alpha = paper.attend(s, annotations)
    prepared = rnnsearch.encode(np.array([SOURCE])).projected
    state = rnnsearch.decoder.initial_state(prepared)
    np.testing.assert_allclose(state.cell[0][0][0], s, rtol=1e-4, atol=1e-6)
    embedded = rnnsearch.decoder.embedding(np.array([TARGET_IN[0]]))
    shown, state = rnnsearch.decoder.cell(embedded, state, prepared)
    np.testing.assert_allclose(shown.weights[0], alpha, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(shown.context[0], c, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(shown.output[0], s, rtol=1e-4, atol=1e-6)  # the readout uses s_{i-1}
    after = paper.unit(paper.E_y[TARGET_IN[0]], s, c)
    np.testing.assert_allclose(state.cell[0][0][0], after, rtol=1e-4, atol=1e-6)


def test_a_whole_sentence_is_that_of_appendix_a(run, rnnsearch):
    paper = Appendix(rnnsearch)
    annotations = paper.annotations(SOURCE)
    expected = paper.translate(
        paper.initial_state(annotations[0, SIZES["units"] :]),
        TARGET_IN,
        lambda s: paper.attend(s, annotations)[0],
    )
    np.testing.assert_allclose(probabilities_of(rnnsearch, run), expected, rtol=1e-4, atol=1e-6)


def test_rnnencdec_is_rnnsearch_with_the_last_state_as_every_context(run):
    model = with_random_weights(presets.rnnencdec(*separate_sides(), **SIZES))
    paper = Appendix(model)
    last = paper.read("forward", SOURCE)[-1]
    expected = paper.translate(paper.initial_state(last), TARGET_IN, lambda s: last)
    np.testing.assert_allclose(probabilities_of(model, run), expected, rtol=1e-4, atol=1e-6)


def weights_of(model):
    return {variable.path: variable.numpy() for variable in model.trainable_variables}


@pytest.mark.slow
def test_first_weights_are_those_of_appendix_b_1():
    model = presets.rnnsearch(*separate_sides(), seed=1, units=64, embedding_units=100)
    deviations = {"orthogonal": 0, "zero": 0, 0.001: 0, 0.01: 0}
    for path, weight in weights_of(model).items():
        if "recurrent" in path or "candidate" in path:
            for block in np.split(weight, weight.shape[1] // 64, axis=1):
                np.testing.assert_allclose(block @ block.T, np.eye(64), atol=1e-5)
            deviations["orthogonal"] += 1
        elif path.endswith(("bias", "/v")):
            assert not weight.any()
            deviations["zero"] += 1
        else:
            deviation = 0.001 if "/score/" in path else 0.01
            assert weight.std() == pytest.approx(deviation, rel=0.05)
            assert abs(weight.mean()) < 0.1 * deviation
            deviations[deviation] += 1
    assert deviations == {"orthogonal": 4, "zero": 6, 0.001: 2, 0.01: 9}


@pytest.mark.slow
def test_first_weights_of_luong_are_uniform():
    model = presets.luong(*separate_sides(), seed=1, units=32, embedding_units=32)
    drawn = np.concatenate([weight.ravel() for weight in weights_of(model).values()])
    assert drawn.min() > -0.1 and drawn.max() < 0.1
    assert drawn.std() == pytest.approx(0.2 / 12**0.5, rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("draw", [draw_as_bahdanau, draw_as_luong])
def test_first_weights_are_the_seeds_and_no_two_are_alike(draw):
    model = presets.small(*separate_sides(), dropout=0.0, **SIZES)
    first = weights_of(draw(model, seed=1))
    for path, weight in weights_of(draw(model, seed=1)).items():
        np.testing.assert_array_equal(weight, first[path])
    drawn = [weight for path, weight in first.items() if "recurrent_kernel" in path]
    assert len(drawn) == 2 and not np.allclose(*drawn)
    draw(model, seed=2)
    assert not np.allclose(weights_of(model)["seq2seq/encoder/front_end/embedding/embeddings"], 0.0)
    keras.utils.set_random_seed(3)
    third = weights_of(draw(model))
    keras.utils.set_random_seed(3)
    for path, weight in weights_of(draw(model)).items():
        np.testing.assert_array_equal(weight, third[path])


def test_gains_of_layer_normalization_are_not_drawn():
    model = presets.rnnsearch(*separate_sides(), cell="layer-norm-gru", **SIZES)
    gains = [weight for path, weight in weights_of(model).items() if path.endswith("gamma")]
    assert len(gains) > 4 and all((gain == 1).all() for gain in gains)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", presets.PRESETS)
def test_each_preset_gives_a_model_of_the_sizes_asked_for(name):
    model = presets.new_model(name, *separate_sides(), **SIZES)
    logits = model((np.array([SOURCE]), np.array([TARGET_IN])))
    assert logits.shape == (1, 4, 10)
    assert model.decoder.units == 6 and model.encoder.front_end.units == 4
    restored = type(model).from_config(model.get_config())
    restored.build()
    assert weights_of(restored).keys() == weights_of(model).keys()


@pytest.mark.parametrize("name", presets.PRESETS)
def test_each_preset_has_its_options_and_cites_its_equations(name):
    preset = presets.PRESETS[name]
    options = vars(TrainingOptions(preset=name).resolved())
    for option, value in preset.settings.items():
        assert callable(value) or options[option] == value
    text = inspect.getdoc(getattr(presets, name.replace("-", "_")))
    assert preset.equations.partition("\n")[0] in text and ("c_i" in text or "p_i" in text)


def test_the_mechanisms_are_those_of_the_papers():
    luong = presets.luong(*separate_sides(), **SIZES).decoder.cell
    assert type(luong) is layers.InputFeedingCell and len(luong.stack.cells) == 4
    assert type(luong.attention.score).__name__ == "DotScore"
    local = presets.luong_local(*separate_sides(), **SIZES).decoder.cell.attention
    assert type(local.score).__name__ == "GeneralScore"
    assert type(local.window) is layers.LocalPredictive and local.window.width == 10
    model = presets.conditional_gru(*joint_sides(), **SIZES)
    assert type(model.decoder.cell) is layers.ConditionalCell
    assert model.decoder.embedding is not model.encoder.front_end.embedding
    assert [reader.cell for reader in model.encoder.readers] == ["layer-norm-gru"]
    shares = [model.encoder.dropouts[0].rate, model.encoder.dropouts[1].rate]
    assert shares == [0.3, 0.5], "of embeddings, of values"
    assert (model.decoder.embedding_dropout.rate, model.decoder.readout.dropout) == (0.3, 0.5)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "order", "monotonic"),
    [
        ("zeroth", 0, False),
        ("zeroth-monotonic", 0, True),
        ("first", 1, False),
        ("first-monotonic", 1, True),
    ],
)
def test_a_hard_alignment_is_made_by_its_name(name, order, monotonic):
    model = presets.small(*joint_sides(), **SIZES, hard_alignment=name)
    attention = model.decoder.cell.attention
    assert isinstance(model.decoder, HardDecoder)
    assert (attention.order, attention.monotonic) == (order, monotonic)
    assert isinstance(attention.score, layers.AdditiveScore)


def test_equal_vocabularies_are_one_whatever_objects_hold_them():
    sentences = ["a b c", "x y z"]
    source, target = (Subwords.train(sentences, 10, model_type="word") for _ in "st")
    other = Subwords.train(sentences, 10, model_type="word", normalization="nfkc_cf")
    shared = presets.small(source, target, **SIZES)
    assert shared.decoder.embedding is shared.encoder.front_end.embedding
    apart = presets.small(source, other, **SIZES)
    assert apart.decoder.embedding is not apart.encoder.front_end.embedding


def test_frames_have_no_embedding_to_share():
    model = presets.small(FeatureSource(5), separate_sides()[1], **SIZES)
    assert type(model.encoder.front_end) is layers.FrameProjection
    frames = layers.Frames(np.ones((1, 6, 5), "float32"), np.array([6], "int32"))
    assert model((frames, np.array([TARGET_IN]))).shape == (1, 4, 10)


def test_a_hard_alignment_is_checked_by_the_vocabulary_that_there_is():
    options = {"hard_alignment": "zeroth", "readout": "tanh", "when": "apart"}
    # The preset itself assumes 30,000 tokens.
    model = presets.rnnsearch(*joint_sides(), **SIZES, **options)
    assert isinstance(model.decoder, HardDecoder)
    assert presets.characters(*joint_sides(), **SIZES, hard_alignment="first", max_length=3000)


def test_copying_takes_a_source_of_tokens_that_the_target_has():
    one, two, other = (
        Subwords.train([text], 8, model_type="word", exact=False) for text in ("a b", "b c", "x y")
    )
    model = presets.small(TextSource(one), two, copy=True, **SIZES)
    assert model.decoder.copies
    assert model.encoder.symbols == tuple(TextSource(one).symbols(two))
    for source, target in ((FeatureSource(5), two), (TextSource(one), other)):
        received = f"copy=True with a {type(source).__name__} and a target that have none. Leave"
        with pytest.raises(ValueError, match=received):
            presets.small(source, target, copy=True, **SIZES)


class GridSource(FeatureSource):
    """Frames that are the cells of a grid, like those of an image."""

    grid_height = 4


def test_coverage_of_a_grid_has_the_height_of_the_source():
    _, target = separate_sides()
    options = {"attention": "general", "coverage": "grid", "context_gate": True}
    model = presets.small(GridSource(7), target, units=8, embedding_units=4, **options)
    assert model.decoder.cell.attention.coverage.grid_height == 4
    assert model.decoder.cell.context_gate is not None


def test_the_small_shares_one_matrix_three_times_where_there_is_one_vocabulary():
    joint = presets.small(*joint_sides(), **SIZES)
    assert joint.decoder.embedding is joint.encoder.front_end.embedding
    assert joint.decoder.output_layer is None
    separate = presets.small(*separate_sides(), **SIZES)
    assert separate.decoder.embedding is not separate.encoder.front_end.embedding


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["rnnsearch", "luong", "conditional_gru"])
def test_presets_with_two_vocabularies_can_share_an_embedding(name):
    make = getattr(presets, name)
    assert make(*joint_sides(), **SIZES, share_embeddings=True).share_embeddings
    assert not make(*separate_sides(), **SIZES, share_embeddings=True).share_embeddings
    assert not make(*joint_sides(), **SIZES).share_embeddings


def test_any_mechanism_can_be_put_into_any_preset():
    model = presets.rnnsearch(*separate_sides(), attention=None, bridge="zeros", **SIZES)
    assert type(model.decoder.cell.attention) is layers.FixedContext
    model = presets.small(
        *separate_sides(), heads=2, coverage="sum", query="state,context", past=3, **SIZES
    )
    logits = model((np.array([SOURCE]), np.array([TARGET_IN])))
    assert logits.shape == (1, 4, 10)


@pytest.mark.few(2)
@pytest.mark.parametrize("encoder", layers.READERS)
def test_the_small_can_have_any_encoder(encoder):
    model = presets.small(*separate_sides(), encoder=encoder, **SIZES)
    assert model.decoder.cell.recurrent_dropout > 0, "whatever the encoder has"
    model.build()


@pytest.mark.slow
@pytest.mark.parametrize(("longest", "window"), [(40, 128), (200, 200)])
def test_a_transformer_keeps_as_many_steps_as_a_target_of_its_training_has(longest, window):
    """The window is at least 128. One block sees no further, so forgotten tokens have no effect."""
    one = {**SIZES, "depth": 1, "decoder_depth": 1}
    options = TrainingOptions(preset="transformer-tiny", max_length=longest, **one).resolved()
    model = compiled_model(TrainingPlan(options, *separate_sides()), 1e-3)
    target = np.tile(TARGET_IN, 50)[None]  # 200 tokens
    other = np.concatenate([[[7]], target[:, 1:]], axis=1)
    of_both = [np.asarray(model((np.array([SOURCE]), ids))) for ids in (target, other)]
    changed = (of_both[0] != of_both[1]).any(axis=-1)[0]
    assert changed[:window].mean() > 0.9 and not changed[window:].any()
    copy = type(model).from_config(model.get_config())
    assert copy.decoder.cell.stack.cells[0].length == window


def test_an_override_that_is_no_setting_of_a_model_is_named():
    with pytest.raises(TypeError, match="must be among .*units.* Received: epochs, unit$"):
        presets.small(*separate_sides(), unit=6, epochs=3)
    with pytest.raises(ValueError, match="`units` must be .* Received: units=0"):
        presets.rnnsearch(*separate_sides(), units=0)


@pytest.mark.parametrize(("width", "grid_height"), [(48, 2), (320, 1)])
def test_coverage_convolves_the_grid_of_the_memory(width, grid_height):
    """An image of one line of text has one memory position per column of cells."""
    model = presets.images(ImageSource(16, width), separate_sides()[1], **SIZES)
    assert model.decoder.cell.attention.coverage.grid_height == grid_height
    assert model.source_limits.reduction == 2 // grid_height


@pytest.mark.few(3)
@pytest.mark.parametrize("name", presets.PRESETS)
def test_no_layer_of_a_preset_stays_unbuilt(name):
    """With JAX, Keras would otherwise retrace the model at each `fit` and not compile `predict`."""
    source, target = joint_sides()
    others = {"images": ImageSource(16, 48), "speech": AudioSource(20), "ink": InkSource()}
    source = others.get(name, source)
    model = presets.new_model(name, source, target, **SIZES)
    model.build()
    assert [layer.path for layer in model._flatten_layers() if not layer.built] == []
