"""Write checkpoints of TensorFlow Addons and of two tutorials, and the answers of these models.

    PYTHON_OF_ADDONS tests/golden/addons/make.py tests/golden/addons

runs in the environment of benchmarks/requirements/addons.txt (TensorFlow 2.15, Addons 0.23).
"""

import json
import sys
import types
from pathlib import Path

import numpy as np
import tensorflow as tf
import tensorflow_addons as tfa

VOCABULARY, EMBEDDING, ENCODER, UNITS, ATTENTION, LAYER = 12, 5, 6, 8, 7, 9
START, END, STEPS = 1, 2, 12
SOURCE = np.array([[3, 4, 5, 6], [7, 8, 0, 0], [9, 0, 0, 0]], "int32")
TARGET_IN = np.array([[1, 3, 4, 5, 6], [1, 7, 8, 9, 10], [1, 11, 3, 3, 4]], "int32")
PUBLIC = (type, types.FunctionType)
layers, seq2seq = tf.keras.layers, tfa.seq2seq


class Encoder(tf.Module):
    """Embedding and one recurrent layer."""

    def __init__(self, recurrent):
        super().__init__()
        self.embedding = layers.Embedding(VOCABULARY, EMBEDDING)
        self.lstm_layer = recurrent  # the name used in the Addons tutorial

    def __call__(self, source, mask):
        return self.lstm_layer(self.embedding(source), mask=mask)


class Decoder(tf.Module):
    """Embedding, cell in an `AttentionWrapper`, output layer."""

    def __init__(self, cell, mechanism, **wrapper):
        super().__init__()
        self.embedding = layers.Embedding(VOCABULARY, EMBEDDING)
        self.rnn_cell = seq2seq.AttentionWrapper(cell, mechanism, **wrapper)
        self.fc = layers.Dense(VOCABULARY)


class AddonsModel(tf.Module):
    """Encoder and decoder, connected by a tanh layer, by the states, or not at all."""

    def __init__(self, recurrent, cell, mechanism, bridge, **wrapper):
        super().__init__()
        self.encoder = Encoder(recurrent)
        self.decoder = Decoder(cell, mechanism, **wrapper)
        self.mechanism, self.kind = mechanism, bridge
        self.bridge = layers.Dense(UNITS, activation="tanh") if bridge == "dense" else None

    def initial_state(self, source, beam=1):
        mask = tf.not_equal(source, 0)
        values, *states = self.encoder(source, mask)
        if self.kind == "dense":
            state = self.bridge(tf.concat(states, axis=-1))
        else:
            state = states if len(states) > 1 else states[0]
        state = tf.nest.map_structure(lambda one: seq2seq.tile_batch(one, beam), state)
        self.mechanism.setup_memory(
            seq2seq.tile_batch(values, beam), memory_mask=seq2seq.tile_batch(mask, beam)
        )
        rows = tf.shape(source)[0] * beam
        first = self.decoder.rnn_cell.get_initial_state(batch_size=rows, dtype=tf.float32)
        return first if self.kind == "zeros" else first.clone(cell_state=state)

    def logits(self):
        decoder = seq2seq.BasicDecoder(
            self.decoder.rnn_cell, seq2seq.TrainingSampler(), output_layer=self.decoder.fc
        )
        output, _, _ = decoder(
            self.decoder.embedding(TARGET_IN),
            initial_state=self.initial_state(SOURCE),
            sequence_length=tf.fill([len(SOURCE)], TARGET_IN.shape[1]),
        )
        return output.rnn_output.numpy()

    def beam(self, width):
        decoder = seq2seq.BeamSearchDecoder(
            self.decoder.rnn_cell,
            width,
            output_layer=self.decoder.fc,
            maximum_iterations=STEPS,
        )
        output, state, _ = decoder(
            self.decoder.embedding.embeddings,
            start_tokens=tf.fill([len(SOURCE)], START),
            end_token=END,
            initial_state=self.initial_state(SOURCE, width),
        )
        ids = output.predicted_ids.numpy().transpose(0, 2, 1)  # -> (batch, beam, time)
        return {
            "ids": [[cut(row) for row in rows] for rows in ids],
            "ended": state.finished.numpy().tolist(),
            "log_probs": state.log_probs.numpy().tolist(),
        }


def cut(ids):
    """Return the tokens up to the end token, or all tokens if there is none."""
    ids = ids.tolist()
    return ids[: ids.index(END) + 1] if END in ids else ids


class Additive(layers.Layer):
    """Additive attention as in the 2019 tutorial: three dense layers with biases."""

    def __init__(self):
        super().__init__()
        self.W1, self.W2, self.V = (layers.Dense(width) for width in (UNITS, UNITS, 1))

    def call(self, query, values):
        scores = self.V(tf.tanh(self.W1(query[:, None]) + self.W2(values)))
        return tf.reduce_sum(tf.nn.softmax(scores, axis=1) * values, axis=1)


class Tutorial2019(tf.Module):
    """Encoder and decoder of the 2019 tutorial, whose GRU restarts at each step."""

    restarts = True

    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = tf.Module(), tf.Module()
        for side in (self.encoder, self.decoder):
            side.embedding = layers.Embedding(VOCABULARY, EMBEDDING)
            side.gru = layers.GRU(UNITS, return_sequences=True, return_state=True)
        self.decoder.attention = Additive()
        self.decoder.fc = layers.Dense(VOCABULARY)

    def encode(self, source):
        return self.encoder.gru(self.encoder.embedding(source))

    def step(self, tokens, state, values):
        context = self.decoder.attention(state, values)
        inputs = tf.concat([context, self.decoder.embedding(tokens)], axis=-1)[:, None]
        _, state = self.decoder.gru(inputs, initial_state=None if self.restarts else state)
        return self.decoder.fc(state), state

    def logits(self):
        return np.concatenate([self._logits_of(row) for row in range(len(SOURCE))])

    def _logits_of(self, row):
        """Compute the logits of one source without padding, which these models don't mask."""
        source = SOURCE[row : row + 1, : np.count_nonzero(SOURCE[row])]
        values, state = self.encode(source)
        steps = []
        for tokens in TARGET_IN[row]:
            logits, state = self.step(tf.constant([tokens]), state, values)
            steps.append(logits)
        return np.stack(steps, axis=1)


class Scored(layers.Layer):
    """Additive attention as in the 2021 tutorial: Keras' layer after two projections."""

    def __init__(self):
        super().__init__()
        self.W1, self.W2 = (layers.Dense(UNITS, use_bias=False) for _ in range(2))
        self.attention = layers.AdditiveAttention()

    def call(self, query, values):
        return self.attention([self.W1(query), values, self.W2(values)])


class Tutorial2021(Tutorial2019):
    """Encoder and decoder of the 2021 tutorial, with attention after the GRU."""

    def __init__(self):
        super().__init__()
        self.decoder.attention = Scored()
        self.decoder.Wc = layers.Dense(UNITS, activation="tanh", use_bias=False)

    def step(self, tokens, state, values):
        inputs = self.decoder.embedding(tokens)[:, None]
        outputs, state = self.decoder.gru(inputs, initial_state=state)
        context = self.decoder.attention(outputs, values)
        return self.decoder.fc(self.decoder.Wc(tf.concat([context, outputs], -1)))[:, 0], state


class Tutorial2019Mended(Tutorial2019):
    """The 2019 tutorial with a fix by its users: the GRU continues from its state."""

    restarts = False


def recurrent(kind, both=False):
    """Return a recurrent layer for the encoder: as wide as the decoder, or bidirectional."""
    layer = kind(ENCODER if both else UNITS, return_sequences=True, return_state=True)
    return layers.Bidirectional(layer) if both else layer


def bahdanau(**options):
    return seq2seq.BahdanauAttention(ATTENTION, **options)


def luong(**options):
    return seq2seq.LuongAttention(UNITS, **options)


GRU, LSTM = layers.GRU, layers.LSTM
CASES = {
    "bahdanau_gru": lambda: AddonsModel(
        recurrent(GRU, both=True),
        layers.GRUCell(UNITS),
        bahdanau(),
        "dense",
        attention_layer_size=LAYER,
    ),
    "luong_lstm": lambda: AddonsModel(
        recurrent(LSTM), layers.LSTMCell(UNITS), luong(), "identity", attention_layer_size=LAYER
    ),
    "normalized_reset_before": lambda: AddonsModel(
        recurrent(LSTM, both=True),
        layers.GRUCell(UNITS, reset_after=False),
        bahdanau(normalize=True),
        "zeros",
    ),
    "scaled_cell_output": lambda: AddonsModel(
        recurrent(GRU),
        layers.StackedRNNCells([layers.LSTMCell(UNITS), layers.LSTMCell(UNITS)]),
        luong(scale=True),
        "zeros",
        attention_layer=layers.Dense(LAYER, activation="tanh"),
        output_attention=False,
    ),
    "hardmax": lambda: AddonsModel(
        recurrent(GRU),
        layers.GRUCell(UNITS),
        luong(probability_fn="hardmax"),
        "identity",
        output_attention=False,
    ),
    "bahdanau_monotonic": lambda: AddonsModel(
        recurrent(GRU, both=True),
        layers.GRUCell(UNITS),
        seq2seq.BahdanauMonotonicAttention(ATTENTION, normalize=True, score_bias_init=-0.5),
        "dense",
        attention_layer_size=LAYER,
    ),
    "luong_monotonic_hard": lambda: AddonsModel(
        recurrent(GRU),
        layers.GRUCell(UNITS),
        seq2seq.LuongMonotonicAttention(UNITS, scale=True, score_bias_init=2.0, mode="hard"),
        "identity",
        attention_layer_size=LAYER,
    ),
    "tutorial_2019": Tutorial2019,
    "tutorial_2019_mended": Tutorial2019Mended,
    "tutorial_2021": Tutorial2021,
}


def randomize(variables, random):
    """Give every weight a different value, so that a missing weight is noticed."""
    for variable in variables:
        base = variable.numpy() if variable.shape.rank == 0 else 0.0  # g and r: near initial values
        noise = random.normal(0, 0.1 if variable.shape.rank == 0 else 0.6, variable.shape)
        variable.assign(base + noise)


def main(folder):
    names = [name for name in dir(seq2seq) if isinstance(getattr(seq2seq, name), PUBLIC)]
    (folder / "names.json").write_text(json.dumps(names), encoding="utf-8")
    random = np.random.default_rng(20)
    for name, new in CASES.items():
        model = new()
        model.logits()  # creates the variables
        randomize(model.trainable_variables, random)
        fc = model.decoder.fc
        fc.kernel.assign(0.4 * fc.kernel)
        fc.bias.assign(0.4 * fc.bias + 1.2 * tf.one_hot(END, VOCABULARY))  # so that hypotheses end
        expected = {"logits": np.round(model.logits().astype("float64"), 7).tolist()}
        if isinstance(model, AddonsModel):
            for width in (3, 5):
                expected[f"beam_{width}"] = model.beam(width)
        bridge = {"bridge": model.bridge} if getattr(model, "bridge", None) else {}
        parts = {"encoder": model.encoder, "decoder": model.decoder, **bridge}
        tf.train.Checkpoint(**parts).write(str(folder / name))
        (folder / f"{name}.json").write_text(json.dumps(expected), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
