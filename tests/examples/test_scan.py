"""The SCAN example: its parts, syntactic attention in NumPy, and both models end to end."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "scan"
VERBS = {"walk": "I_WALK", "look": "I_LOOK", "run": "I_RUN", "jump": "I_JUMP"}
TURNS = {"": "", " left": "I_TURN_LEFT ", " right": "I_TURN_RIGHT "}
TIMES = {"": 1, " twice": 2, " thrice": 3}
TINY = "epochs=1 units=8 attention_units=8 embedding_units=8 encoder_units=4 batch_sentences=8"


def pairs_of(verbs):
    """Return commands with some verbs, such as "walk left twice", and their actions."""
    turns = [("turn left", "I_TURN_LEFT"), ("turn right", "I_TURN_RIGHT")]
    return turns + [
        (f"{verb}{turn}{count}", " ".join([f"{TURNS[turn]}{VERBS[verb]}"] * TIMES[count]))
        for verb in verbs
        for turn in TURNS
        for count in TIMES
    ]


@pytest.fixture
def command(example, tmp_path):
    """`command(*more)`: run the script on commands with "walk", "look", "run" and plain "jump"."""
    data = tmp_path / "data"
    text = "".join(f"IN: {source} OUT: {target}\n" for source, target in pairs_of(VERBS))
    (data / "simple_split").mkdir(parents=True)
    (data / "simple_split" / "tasks_train_simple.txt").write_text(text)
    known = [*pairs_of(verb for verb in VERBS if verb != "jump"), ("jump", "I_JUMP")]
    lines = "".join(f"{source}\t{target}\n" for source, target in known)
    (data / "addprim_jump_train.tsv.gz").write_bytes(gzip.compress(lines.encode()))
    sets = [word for value in TINY.split() for word in ("--set", value)]
    places = [str(data), "--out", str(tmp_path / "runs"), *sets]
    return lambda *more: example("scan").main([*places, *more])


def test_a_dev_part_differs_from_its_training_as_the_test_does(example):
    hold_out, whole = example("scan").hold_out, pairs_of(VERBS)
    training, dev = hold_out("simple", whole)
    assert dev == [whole[0], whole[20]] and training == whole[1:20] + whole[21:]
    training, dev = hold_out("addprim_jump", whole)
    assert ("look", "I_LOOK") not in dev and len(dev) == 8
    assert all("look" in source for source, _ in dev)
    alone = [pair for pair in training if "look" in pair[0]]
    assert alone == [("look", "I_LOOK")] * (len(training) // 10)
    whole += [("walk and turn right", "I_WALK I_TURN_RIGHT"), ("walk", "I_WALK " * 17)]
    training, dev = hold_out("addprim_turn_left", whole)
    assert dev == [("walk and turn right", "I_WALK I_TURN_RIGHT")]
    assert ("turn right", "I_TURN_RIGHT") in training and (
        "walk right",
        TURNS[" right"] + "I_WALK",
    ) in training
    training, dev = hold_out("length", whole)
    assert dev == whole[-1:] and training == whole[:-1]


def test_both_forms_of_lines_are_read_and_others_refused(example, tmp_path):
    scan, path = example("scan"), tmp_path / "lines.txt"
    path.write_text("IN: jump twice OUT: I_JUMP I_JUMP\njump\tI_JUMP\n")
    assert scan.read_file(path) == [("jump twice", "I_JUMP I_JUMP"), ("jump", "I_JUMP")]
    path.write_text("jump\n")
    with pytest.raises(SystemExit, match="a command and actions. Received: 'jump'"):
        scan.read_file(path)
    with pytest.raises(SystemExit, match="must have a file tasks_train_length.txt"):
        scan.read(tmp_path, "length")


@pytest.fixture
def streams(example):
    """(built model with syntactic attention and random weights, source ids, target ids)."""
    import keras

    import keras_bahdanau as kb

    keras.utils.set_random_seed(1)
    words = {"model_type": "word", "normalization": "identity", "exact": False, "joint": False}
    source, target = kb.text.Subwords.train_pair(pairs_of(VERBS), **words)
    model = example("two_streams").two_streams(
        source,
        target,
        embedding_units=6,
        encoder_units=4,
        semantic_units=3,
        units=5,
        attention_units=7,
    )
    model.build()
    for variable in model.trainable_variables:
        variable.assign(keras.random.normal(variable.shape, seed=len(variable.path)))
    ids = source.encode(["jump left twice", "walk"])
    padded = np.zeros((2, 4), np.int32)
    for row, values in zip(padded, ids, strict=True):
        row[: len(values)] = values
    return model, padded, np.array([[2, 5, 4, 6, 5], [2, 4, 4, 0, 0]], np.int32)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def expected(model, ids, steps):
    """Compute (logits, weights) by the equations in `two_streams.py`, in float64."""
    double = lambda tensor: np.asarray(tensor, np.float64)  # noqa: E731
    reader, cell = model.encoder.readers[0], model.decoder.cell
    values = double(model.encoder(ids).values)  # [h_j; m_j]: (batch, source_time, 8 + 3)
    embedded = double(model.encoder.front_end.embedding.embeddings)[ids]
    real = (ids > 0)[..., None]
    h, m = values[..., :8], (embedded @ double(reader.semantics.kernel)) * real
    np.testing.assert_allclose(values[..., 8:], m, atol=1e-5)

    recurrent, score = cell.stack.cells[0], cell.attention.score
    first = h[:, 0, 4:] @ double(cell.bridge.projection.kernel)
    s, memory = np.split(np.tanh(first + double(cell.bridge.projection.bias)), 2, axis=-1)
    c, logits, weights = np.zeros((len(ids), 8)), [], []
    for _ in range(steps):
        gates = c @ double(recurrent.context_projection.kernel)
        gates += s @ double(recurrent.recurrent_projection.kernel)
        gates += double(recurrent.input_projection.bias)
        i, f, g, o = np.split(gates, 4, axis=-1)
        memory = sigmoid(f + 1) * memory + sigmoid(i) * np.tanh(g)
        s = sigmoid(o) * np.tanh(memory)
        query = (s @ double(score.query_projection.kernel))[:, None]
        e = np.tanh(query + h @ double(score.key_projection.kernel)) @ double(score.v)
        alpha = np.where(real, np.exp(e), 0)
        alpha /= alpha.sum(axis=1, keepdims=True)  # (batch, source_time, 1)
        c, d = (alpha * h).sum(axis=1), (alpha * m).sum(axis=1)
        output = model.decoder.output_layer
        logits.append(d @ double(output.kernel) + double(output.bias))
        weights.append(alpha[..., 0])
    return np.stack(logits, axis=1), np.stack(weights, axis=1)


@pytest.mark.slow
def test_syntactic_attention_is_that_of_its_equations(streams):
    model, ids, target_in = streams
    logits, weights = model((ids, target_in), return_attention_scores=True)
    expected_logits, expected_weights = expected(model, ids, steps=5)
    np.testing.assert_allclose(weights, expected_weights, atol=1e-4)
    np.testing.assert_allclose(logits, expected_logits, atol=1e-3)


@pytest.mark.slow
def test_neither_semantics_nor_actions_move_the_attention(streams):
    model, ids, target_in = streams
    before, weights = model((ids, target_in), return_attention_scores=True)
    other_actions = np.where(target_in > 3, 9 - target_in % 3, target_in)
    np.testing.assert_array_equal(model((ids, other_actions)), before)
    semantics = model.encoder.readers[0].semantics.kernel
    semantics.assign(-2 * semantics)
    after, same_weights = model((ids, target_in), return_attention_scores=True)
    np.testing.assert_array_equal(same_weights, weights)
    assert np.abs(np.asarray(after) - np.asarray(before)).max() > 0.1


@pytest.mark.slow
@pytest.mark.parametrize("model", ["attention-rnn", "two-streams"])
def test_a_model_is_trained_saved_and_decodes_the_test_once(
    command, example, tmp_path, monkeypatch, capsys, model
):
    arguments = ["--split", "addprim_jump", "--model", model, "--seed", "2"]
    test = tmp_path / "test.txt"
    test.write_text("".join(f"IN: {s} OUT: {t}\n" for s, t in pairs_of(["jump"])[2:]))
    with pytest.raises(SystemExit, match="no trained model. Train it first"):
        command(*arguments, "--test", str(test))
    command(*arguments, "--dev")
    command(*arguments)
    with pytest.raises(SystemExit, match="has a trained model. Choose another"):
        command(*arguments)
    directory = tmp_path / "runs" / f"addprim_jump-{model}-2"
    with pytest.raises(SystemExit, match="must have 7,706 lines. Received: .* with 9"):
        command(*arguments, "--test", str(test))
    monkeypatch.setitem(example("scan").TEST_LINES, "addprim_jump", 9)
    command(*arguments, "--test", str(test))
    with pytest.raises(SystemExit, match="decodes the test once"):
        command(*arguments, "--test", str(test))
    record = json.loads((directory / "scores.json").read_text())
    assert 0 <= record["test"] <= 100 and "dev" not in record and record["epochs"] == 1

    report = example("report")
    out = tmp_path / "results.jsonl"
    report.main(["results", str(tmp_path / "runs"), "--out", str(out)])
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    (row,) = (row for row in rows if row["weights"])
    assert (row["split"], row["model"], row["seeds"]) == ("addprim_jump", model, 1)
    assert {row["dev"] for row in rows} - {report.UNMEASURED} == {row["dev"]}
    capsys.readouterr()
    picture = tmp_path / "alignment.png"
    report.main(["attention", str(directory), str(directory), "--out", str(picture)])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "jump around left twice" and picture.stat().st_size > 1000
    assert lines[2] == f"| step | {directory.name} | {directory.name} |"


@pytest.mark.slow
def test_a_wrong_setting_ends_in_one_line(command):
    for model in ("attention-rnn", "two-streams"):
        with pytest.raises(SystemExit, match="--set: .*width"):
            command("--split", "simple", "--model", model, "--set", "width=3")
