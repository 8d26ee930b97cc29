"""Twenty attention scripts as people post them, with the error of each and the lines to change.

Each script is written for Keras 2. It runs in a namespace with small data: `texts`, ids padded
with 0 `(16, 8)`; `answers` `(16, 5)`; `labels` `(16,)`; `tags` `(16, 8)`; `series` `(16, 10, 3)`;
`images` `(16, 8, 8, 1)`.
"""

from typing import NamedTuple

import numpy as np


class Script(NamedTuple):
    """A script and its repair.

    Attributes:
        code: String. The script as posted.
        fails: String. A regular expression that matches the error of the posted script.
        changes: Dictionary from a line to its replacement, or to "" to delete it; at most three.
        inputs: String. An expression for the inputs of `model`.
        mistake: Pair of strings: a part of the repaired script, and a user's mistake in its place.
        told: String. A regular expression that matches the one-line error for the mistake.
    """

    code: str
    fails: str
    changes: dict
    inputs: str = "texts"
    mistake: tuple = ()
    told: str = ""

    def repaired(self):
        code = self.code
        for old, new in self.changes.items():
            assert code.count(old) == 1, old
            code = code.replace(old, new)
        return code

    def mistaken(self):
        right, wrong = self.mistake
        code = self.repaired()
        assert code.count(right) == 1, right
        return code.replace(right, wrong)


def data():
    """Return the namespace in which a script runs."""
    random = np.random.default_rng(81)
    texts = random.integers(1, 30, (16, 8))
    texts[::2, 5:] = 0
    return {
        "np": np,
        "texts": texts,
        "answers": random.integers(1, 20, (16, 5)),
        "labels": random.integers(0, 2, 16),
        "tags": random.integers(0, 4, (16, 8)),
        "series": random.normal(size=(16, 10, 3)).astype("float32"),
        "images": random.normal(size=(16, 8, 8, 1)).astype("float32"),
    }


IMPORT = "import keras_bahdanau as kb"
SCRIPTS = {
    "text classifier with GloVe": Script(
        """
from keras.layers import Attention
from keras.layers import LSTM, Bidirectional, Dense, Embedding, Input
from keras.models import Model

embedding_matrix = np.random.rand(30, 12)
inp = Input(shape=(8,))
x = Embedding(30, 12, weights=[embedding_matrix], mask_zero=True, trainable=False)(inp)
x = Bidirectional(LSTM(8, return_sequences=True))(x)
x = Attention()(x)
out = Dense(1, activation="sigmoid")(x)
model = Model(inp, out)
model.compile(loss="binary_crossentropy", optimizer="adam")
history = model.fit(texts, labels, epochs=1, verbose=0)
""",
        "must be called on a list",
        {
            "from keras.layers import Attention": IMPORT,
            "x = Attention()(x)": "x = kb.AttentionPooling(16)(x)",
        },
        mistake=("LSTM(8, return_sequences=True)", "LSTM(8)"),
        told=r"must be \(batch, source_time, units\).*return_sequences=True",
    ),
    "hierarchical attention network": Script(
        """
from keras import backend as K
from keras.layers import GRU, Bidirectional, Dense, Embedding, Input, Layer, TimeDistributed
from keras.models import Model

class AttLayer(Layer):
    def __init__(self, attention_dim):
        super().__init__()
        self.attention_dim = attention_dim

    def build(self, input_shape):
        self.W = K.variable(np.random.normal(size=(input_shape[-1], self.attention_dim)))
        self.u = K.variable(np.random.normal(size=(self.attention_dim, 1)))

    def call(self, x, mask=None):
        ait = K.exp(K.squeeze(K.dot(K.tanh(K.dot(x, self.W)), self.u), -1))
        return K.sum(x * K.expand_dims(ait / K.sum(ait, axis=1, keepdims=True)), axis=1)

sentence_input = Input(shape=(4,), dtype="int32")
l_lstm = Bidirectional(GRU(6, return_sequences=True))(Embedding(30, 8)(sentence_input))
l_att = AttLayer(10)(l_lstm)
sentEncoder = Model(sentence_input, l_att)
review_input = Input(shape=(2, 4), dtype="int32")
review_encoder = TimeDistributed(sentEncoder)(review_input)
l_lstm_sent = Bidirectional(GRU(6, return_sequences=True))(review_encoder)
l_att_sent = AttLayer(10)(l_lstm_sent)
model = Model(review_input, Dense(2, activation="softmax")(l_att_sent))
model.compile(loss="sparse_categorical_crossentropy", optimizer="rmsprop")
history = model.fit(texts.reshape(16, 2, 4), labels, verbose=0)
""",
        "has no attribute 'variable'",
        {
            "from keras import backend as K": IMPORT,
            "l_att = AttLayer(10)(l_lstm)": "l_att = kb.AttentionPooling(10)(l_lstm)",
            "l_att_sent = AttLayer(10)(l_lstm_sent)": (
                "l_att_sent = kb.AttentionPooling(10)(l_lstm_sent)"
            ),
        },
        inputs="texts.reshape(16, 2, 4)",
        mistake=("kb.AttentionPooling(10)(l_lstm_sent)", "kb.BahdanauAttention(10)(l_lstm_sent)"),
        told="needs `query` and `value`. Received: one tensor. .*AttentionPooling",
    ),
    "multivariate forecaster": Script(
        """
from attention import Attention
from tensorflow.keras.layers import LSTM, Dense, Dropout, Input
from tensorflow.keras.models import Model

model_input = Input(shape=(10, 3))
x = LSTM(16, return_sequences=True)(model_input)
x = Attention(units=16)(x)
x = Dropout(0.2)(x)
model = Model(model_input, Dense(1)(x))
model.compile(loss="mae", optimizer="adam")
history = model.fit(series, series[:, -1, 0], verbose=0)
""",
        "No module named 'attention'",
        {
            "from attention import Attention": IMPORT,
            "x = Attention(units=16)(x)": "x = kb.AttentionPooling(16)(x)",
        },
        inputs="series",
        mistake=("return_sequences=True)", "return_sequences=True, return_state=True)"),
        told="must be one tensor.*Received: a list of 3 tensors",
    ),
    "chatbot": Script(
        """
from tensorflow.keras.layers import AdditiveAttention
from tensorflow.keras.layers import LSTM, Concatenate, Dense, Embedding, Input
from tensorflow.keras.models import Model

encoder_inputs, decoder_inputs = Input(shape=(8,)), Input(shape=(5,))
enc_emb = Embedding(30, 8, mask_zero=True)(encoder_inputs)
encoder_outputs, state_h, state_c = LSTM(16, return_sequences=True, return_state=True)(enc_emb)
dec_emb = Embedding(20, 8)(decoder_inputs)
decoder_lstm = LSTM(16, return_sequences=True, return_state=True)
decoder_outputs, _, _ = decoder_lstm(dec_emb, initial_state=[state_h, state_c])
attn_out = AdditiveAttention()([encoder_outputs, decoder_outputs])
decoder_concat = Concatenate(axis=-1)([decoder_outputs, attn_out])
decoder_outputs = Dense(20, activation="softmax")(decoder_concat)
model = Model([encoder_inputs, decoder_inputs], decoder_outputs)
model.compile(optimizer="rmsprop", loss="sparse_categorical_crossentropy")
history = model.fit([texts, answers], answers, verbose=0)
""",
        "Concatenate.*matching shapes",
        {
            "from tensorflow.keras.layers import AdditiveAttention": IMPORT,
            "attn_out = AdditiveAttention()([encoder_outputs, decoder_outputs])": (
                "attn_out = kb.BahdanauAttention(16)([decoder_outputs, encoder_outputs])"
            ),
        },
        inputs="[texts, answers]",
        mistake=("[decoder_outputs, encoder_outputs])\n", "[decoder_outputs, state_h])\n"),
        told=r"`value` \(`values`\) must be \(batch, source_time, units\)",
    ),
    "image captioner": Script(
        """
import tensorflow as tf
from keras.layers import GRU, Conv2D, Dense, Embedding, Input
from keras.models import Model

image, caption = Input(shape=(8, 8, 1)), Input(shape=(5,))
features = Conv2D(16, 3, strides=2, activation="relu")(image)
hidden = GRU(16)(Embedding(20, 8)(caption))
query = tf.reshape(hidden, (-1, 1, 1, 16))
weights = tf.nn.softmax(Dense(1)(tf.nn.tanh(Dense(16)(features) + query)))
context = tf.reduce_sum(weights * features, axis=[1, 2])
model = Model([image, caption], Dense(20, activation="softmax")(context))
model.compile("adam", "sparse_categorical_crossentropy")
history = model.fit([images, answers], answers[:, -1], verbose=0)
""",
        "KerasTensor cannot be used as input to a TensorFlow function",
        {
            "import tensorflow as tf": IMPORT,
            "query = tf.reshape(hidden, (-1, 1, 1, 16))\n"
            "weights = tf.nn.softmax(Dense(1)(tf.nn.tanh(Dense(16)(features) + query)))\n": "",
            "context = tf.reduce_sum(weights * features, axis=[1, 2])": (
                "context = kb.BahdanauAttention(16)(hidden, features)"
            ),
        },
        inputs="[images, answers]",
        mistake=("(hidden, features)", "(features, hidden)"),
        told="Query and value may be swapped",
    ),
    "text reader": Script(
        """
from keras_self_attention import SeqSelfAttention
from keras.layers import LSTM, Bidirectional, Conv2D, Dense, Input, MaxPooling2D, Reshape
from keras.models import Model

input_img = Input(shape=(8, 8, 1))
conv = Conv2D(4, (3, 3), activation="relu", padding="same")(input_img)
conv = MaxPooling2D((2, 1))(conv)
seq = Reshape((8, 16))(conv)
seq = Bidirectional(LSTM(8, return_sequences=True))(seq)
att = SeqSelfAttention(attention_activation="sigmoid")(seq)
model = Model(input_img, Dense(5, activation="softmax")(att))
model.compile("adam", "sparse_categorical_crossentropy")
history = model.fit(images, tags, verbose=0)
""",
        "No module named 'keras_self_attention'",
        {
            "from keras_self_attention import SeqSelfAttention": IMPORT,
            'att = SeqSelfAttention(attention_activation="sigmoid")(seq)': (
                "att = kb.BahdanauAttention(32)(seq, seq)"
            ),
        },
        inputs="images",
        mistake=("(seq, seq)", "(conv, seq)"),
        told="Reshape a grid of queries",
    ),
    "named entity tagger": Script(
        """
from keras.layers import Attention
from keras.layers import LSTM, Bidirectional, Dense, Embedding, Input
from keras.models import Model, Sequential

model = Sequential()
model.add(Embedding(30, 8, mask_zero=True))
model.add(Bidirectional(LSTM(8, return_sequences=True, recurrent_dropout=0.1)))
model.add(Attention())
model.add(Dense(4, activation="softmax"))
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
history = model.fit(texts, tags, verbose=0)
""",
        "must be called on a list",
        {
            "from keras.layers import Attention": IMPORT,
            "model = Sequential()": "model, words = Sequential(), Input((None, 16))",
            "model.add(Attention())": (
                "model.add(kb.migrate.MaskedModel(words, kb.BahdanauAttention(16)(words, words)))"
            ),
        },
        mistake=(
            "model.add(kb.migrate.MaskedModel(words, kb.BahdanauAttention(16)(words, words)))",
            "model.add(kb.BahdanauAttention(16))",
        ),
        told="Sequential model, use AttentionPooling, or keras.Model",
    ),
    "layer of machinelearningmastery": Script(
        """
import keras.backend as K
from keras.layers import Dense, Input, Layer, SimpleRNN
from keras.models import Model

class attention(Layer):
    def build(self, input_shape):
        self.W = self.add_weight(name="attention_weight", shape=(input_shape[-1], 1))
        self.b = self.add_weight(name="attention_bias", shape=(input_shape[1], 1))

    def call(self, x):
        alpha = K.softmax(K.squeeze(K.tanh(K.dot(x, self.W) + self.b), axis=-1))
        return K.sum(x * K.expand_dims(alpha, axis=-1), axis=1)

x = Input(shape=(10, 3))
RNN_layer = SimpleRNN(4, return_sequences=True, activation="tanh")(x)
attention_layer = attention()(RNN_layer)
outputs = Dense(1, trainable=True, activation="tanh")(attention_layer)
model = Model(x, outputs)
model.compile(loss="mse", optimizer="adam")
history = model.fit(series, series[:, -1, 0], verbose=0)
""",
        "has no attribute 'softmax'",
        {
            "import keras.backend as K": IMPORT,
            "attention_layer = attention()(RNN_layer)": (
                'attention_layer = kb.AttentionPooling(1, "pair-tanh")(RNN_layer)'
            ),
        },
        inputs="series",
        mistake=("(RNN_layer)\n", "(RNN_layer[:, 0])\n"),
        told=r"must be \(batch, source_time, units\)",
    ),
    "chapter of d2l": Script(
        """
from d2l import tensorflow as d2l
import keras

class Seq2SeqAttentionDecoder(keras.Model):
    def __init__(self, vocab_size, embed_size, num_hiddens):
        super().__init__()
        self.encoder = keras.layers.GRU(num_hiddens, return_sequences=True, return_state=True)
        self.attention = d2l.AdditiveAttention(num_hiddens, num_hiddens, num_hiddens, 0.1)
        self.embedding = keras.layers.Embedding(vocab_size, embed_size)
        self.rnn = keras.layers.GRUCell(num_hiddens)
        self.dense = keras.layers.Dense(vocab_size)

    def call(self, inputs):
        source, X = inputs
        enc_valid_lens = keras.ops.sum(source > 0, axis=1)
        enc_outputs, hidden_state = self.encoder(self.embedding(source))
        X, outputs = self.embedding(X), []
        for step in range(X.shape[1]):
            query = keras.ops.expand_dims(hidden_state, axis=1)
            context = self.attention(query, enc_outputs, enc_outputs, enc_valid_lens)
            x = keras.ops.concatenate((context[:, 0], X[:, step]), axis=-1)
            out, hidden_state = self.rnn(x, hidden_state)
            outputs.append(self.dense(out))
        return keras.ops.stack(outputs, axis=1)

model = Seq2SeqAttentionDecoder(30, 8, 16)
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
history = model.fit((texts, answers), answers, verbose=0)
""",
        "No module named 'd2l'",
        {
            "from d2l import tensorflow as d2l": IMPORT,
            "d2l.AdditiveAttention(num_hiddens, num_hiddens, num_hiddens, 0.1)": (
                "kb.BahdanauAttention(num_hiddens, dropout=0.1)"
            ),
            "(query, enc_outputs, enc_outputs, enc_valid_lens)": (
                "(query, enc_outputs, value_mask=source > 0)"
            ),
        },
        inputs="(texts, answers)",
        mistake=("value_mask=source > 0", "value_mask=enc_valid_lens"),
        told=r"`mask` must be \(batch, source_time\).*lengths",
    ),
    "tutorial of TensorFlow": Script(
        """
from tensorflow.keras.layers import AdditiveAttention
import tensorflow as tf

class Decoder(tf.keras.Model):
    def __init__(self, vocab_size, embedding_dim, dec_units):
        super().__init__()
        self.embedding = tf.keras.layers.Embedding(vocab_size, embedding_dim)
        self.gru = tf.keras.layers.GRU(dec_units, return_sequences=True, return_state=True)
        self.fc = tf.keras.layers.Dense(vocab_size)
        self.attention = AdditiveAttention()

    def call(self, x, hidden, enc_output):
        context_vector, attention_weights = self.attention(hidden, enc_output)
        x = tf.concat([tf.expand_dims(context_vector, 1), self.embedding(x)], axis=-1)
        output, state = self.gru(x, initial_state=hidden)
        return self.fc(output[:, 0]), state, attention_weights

embedding = tf.keras.layers.Embedding(30, 8)
encoder = tf.keras.layers.GRU(16, return_sequences=True, return_state=True)
decoder, optimizer = Decoder(20, 8, 16), tf.keras.optimizers.Adam()
loss_object = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

@tf.function
def train_step(inp, targ):
    loss = 0.0
    with tf.GradientTape() as tape:
        enc_output, dec_hidden = encoder(embedding(inp))
        for t in range(1, targ.shape[1]):
            predictions, dec_hidden, _ = decoder(targ[:, t - 1 : t], dec_hidden, enc_output)
            loss += loss_object(targ[:, t], predictions)
    variables = embedding.trainable_variables + encoder.trainable_variables
    variables += decoder.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss

loss = train_step(tf.constant(texts), tf.constant(answers))
""",
        "must be called on a list",
        {
            "from tensorflow.keras.layers import AdditiveAttention": IMPORT,
            "self.attention = AdditiveAttention()": (
                "self.attention = kb.BahdanauAttention(dec_units)"
            ),
            "self.attention(hidden, enc_output)": (
                "self.attention(hidden, enc_output, return_attention_scores=True)"
            ),
        },
        inputs="",
        mistake=("self.attention(hidden, enc_output,", "self.attention(enc_output, hidden,"),
        told="Query and value may be swapped",
    ),
    "sentiment": Script(
        """
from keras.layers import attention
from keras.layers import LSTM, Dense, Embedding, GlobalAveragePooling1D, Input
from keras.models import Model

inputs = Input(shape=(None,))
x = Embedding(30, 16, mask_zero=True)(inputs)
x = LSTM(16, return_sequences=True)(x)
x = attention()([x, x])
x = GlobalAveragePooling1D()(x)
model = Model(inputs, Dense(1, activation="sigmoid")(x))
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
history = model.fit(texts, labels, verbose=0)
""",
        "cannot import name 'attention'",
        {
            "from keras.layers import attention": IMPORT,
            "x = attention()([x, x])": "x = kb.BahdanauAttention(16)([x, x])",
        },
        mistake=("x = kb.", "x = x * 2.0\nx = kb."),
        told="The values have no mask.*'multiply.*drops.*mask=",
    ),
    "anomaly autoencoder": Script(
        """
from keras import ops as K
from keras.layers import LSTM, Dense, Input, Layer, RepeatVector, TimeDistributed
from keras.models import Model

class AttentionLayer(Layer):
    def build(self, input_shape):
        self.W = self.add_weight("W", shape=(input_shape[-1], 1), initializer="normal")

    def call(self, x):
        return K.sum(x * K.softmax(K.dot(x, self.W), axis=1), axis=1)

inputs = Input(shape=(10, 3))
encoded = LSTM(8, return_sequences=True)(inputs)
encoded = AttentionLayer()(encoded)
decoded = LSTM(8, return_sequences=True)(RepeatVector(10)(encoded))
model = Model(inputs, TimeDistributed(Dense(3))(decoded))
model.compile("adam", "mae")
history = model.fit(series, series, verbose=0)
""",
        "`name` must be passed as a keyword argument",
        {
            "from keras import ops as K": IMPORT,
            "encoded = AttentionLayer()(encoded)": (
                'encoded = kb.AttentionPooling(1, "dot")(encoded)'
            ),
        },
        inputs="series",
        mistake=(
            'kb.AttentionPooling(1, "dot")(encoded)',
            "kb.BahdanauAttention(8)(encoded, encoded)",
        ),
        told="repeat_vector.*expected ndim=2, found ndim=3",
    ),
    "siamese similarity": Script(
        """
from keras import backend as K
from keras.layers import LSTM, Dense, Embedding, Input, Lambda, Permute, multiply
from keras.models import Model

left_input, right_input = Input(shape=(8,)), Input(shape=(8,))
embedding, shared_lstm = Embedding(30, 8, mask_zero=True), LSTM(8, return_sequences=True)
pool = Lambda(lambda x: K.sum(K.softmax(x, axis=1) * x, axis=1))
left = pool(shared_lstm(embedding(left_input)))
right = pool(shared_lstm(embedding(right_input)))
distance = multiply([left, right])
model = Model([left_input, right_input], Dense(1, activation="sigmoid")(distance))
model.compile(loss="binary_crossentropy", optimizer="adam")
history = model.fit([texts, texts[::-1]], labels, verbose=0)
""",
        "infer the shape of the Lambda's output",
        {
            "from keras import backend as K": IMPORT,
            "pool = Lambda(lambda x: K.sum(K.softmax(x, axis=1) * x, axis=1))": (
                "pool = kb.AttentionPooling(8)"
            ),
        },
        inputs="[texts, texts[::-1]]",
        mistake=(
            "left = pool(shared_lstm(embedding(left_input)))",
            "left = pool([embedding(left_input), embedding(right_input)])",
        ),
        told="must be one tensor.*list of 2 tensors.*BahdanauAttention",
    ),
    "question answering": Script(
        """
from keras.layers.merge import dot
from keras.layers import LSTM, Activation, Dense, Embedding, Input, concatenate
from keras.models import Model

story, question = Input(shape=(8,)), Input(shape=(5,))
encoded_story = LSTM(16, return_sequences=True)(Embedding(30, 8, mask_zero=True)(story))
encoded_question = LSTM(16)(Embedding(20, 8)(question))
match = dot([encoded_story, encoded_question], axes=(2, 1))
match = Activation("softmax")(match)
response = dot([match, encoded_story], axes=(1, 1))
answer = Dense(20, activation="softmax")(concatenate([response, encoded_question]))
model = Model([story, question], answer)
model.compile(optimizer="rmsprop", loss="sparse_categorical_crossentropy")
history = model.fit([texts, answers], answers[:, 0], verbose=0)
""",
        "No module named 'keras.layers.merge'",
        {
            "from keras.layers.merge import dot": IMPORT,
            "match = dot([encoded_story, encoded_question], axes=(2, 1))\n"
            'match = Activation("softmax")(match)\n': "",
            "response = dot([match, encoded_story], axes=(1, 1))": (
                "response = kb.BahdanauAttention(16)(encoded_question, encoded_story)"
            ),
        },
        inputs="[texts, answers]",
        mistake=(
            "(encoded_question, encoded_story)",
            "(encoded_question, encoded_story, use_causal_mask=True)",
        ),
        told="`use_causal_mask=True` needs queries",
    ),
    "music generation": Script(
        """
from keras import backend as K
from keras.layers import LSTM, Activation, Dense, Embedding, Flatten, Input, Lambda
from keras.layers import Permute, RepeatVector, multiply
from keras.models import Model

notes_in = Input(shape=(None,))
x = LSTM(16, return_sequences=True)(Embedding(30, 8)(notes_in))
x = LSTM(16, return_sequences=True)(x)
e = Activation("softmax")(Flatten()(Dense(1, activation="tanh")(x)))
c = Lambda(lambda xin: K.sum(xin, axis=1))(multiply([x, Permute([2, 1])(RepeatVector(16)(e))]))
model = Model(notes_in, Dense(30, activation="softmax")(c))
model.compile(loss="sparse_categorical_crossentropy", optimizer="rmsprop")
history = model.fit(texts, texts[:, 0], verbose=0)
""",
        "infer the shape of the Lambda's output",
        {
            "from keras import backend as K": IMPORT,
            'e = Activation("softmax")(Flatten()(Dense(1, activation="tanh")(x)))': "",
            "c = Lambda(lambda xin: K.sum(xin, axis=1))(multiply([x, Permute([2, 1])"
            "(RepeatVector(16)(e))]))": 'c = kb.AttentionPooling(1, "pair-tanh")(x)',
        },
        mistake=('(1, "pair-tanh")', '("pair-tanh")'),
        told="`units`.*positive integer. Received: units='pair-tanh'",
    ),
    "speech commands": Script(
        """
from keras import backend as K
from keras import layers as L
from keras.models import Model

inputs = L.Input(shape=(8, 8, 1))
x = L.Conv2D(10, (5, 1), activation="relu", padding="same")(inputs)
x = L.Conv2D(1, (5, 1), activation="relu", padding="same")(x)
x = L.Lambda(lambda q: K.squeeze(q, -1), name="squeeze_last_dim")(x)
x = L.Bidirectional(L.LSTM(8, return_sequences=True))(x)
query = L.Dense(16)(x[:, -1])
attScores = L.Softmax()(L.Dot(axes=[1, 2])([query, x]))
attVector = L.Dot(axes=[1, 1])([attScores, x])
model = Model(inputs, L.Dense(4, activation="softmax")(attVector))
model.compile("adam", "sparse_categorical_crossentropy")
history = model.fit(images, labels, verbose=0)
""",
        "infer the shape of the Lambda's output",
        {
            "from keras import backend as K": IMPORT,
            'x = L.Lambda(lambda q: K.squeeze(q, -1), name="squeeze_last_dim")(x)': (
                "x = L.Reshape((8, 8))(x)"
            ),
            "attVector = L.Dot(axes=[1, 1])([attScores, x])": (
                "attVector = kb.BahdanauAttention(16)(query, x)"
            ),
        },
        inputs="images",
        mistake=("(query, x)\n", "(x)\n"),
        told="needs `query` and `value`",
    ),
    "knowledge tracing": Script(
        """
from tensorflow.keras.layers import Attention
from tensorflow.keras.layers import LSTM, Dense, Embedding, Input
from tensorflow.keras.models import Model

interactions = Input(shape=(None,))
x = Embedding(30, 16, mask_zero=True)(interactions)
x = LSTM(16, return_sequences=True)(x)
x = Attention(causal=True)([x, x])
model = Model(interactions, Dense(1, activation="sigmoid")(x))
model.compile("adam", "binary_crossentropy")
history = model.fit(texts, (tags > 1)[..., None], verbose=0)
""",
        "causal",
        {
            "from tensorflow.keras.layers import Attention": IMPORT,
            "x = Attention(causal=True)([x, x])": (
                "x = kb.BahdanauAttention(16)([x, x], use_causal_mask=True)"
            ),
        },
        mistake=("(16)([x, x], use_causal_mask=True)", "(16, causal=True)([x, x])"),
        told="causal",
    ),
    "protein classifier": Script(
        """
from keras.layers import CuDNNLSTM
from keras.layers import LSTM, Bidirectional, Conv1D, Dense, Embedding, Input
from keras.models import Model

sequence = Input(shape=(None,))
x = Conv1D(16, 3, padding="same", activation="relu")(Embedding(30, 8)(sequence))
x = Bidirectional(CuDNNLSTM(8, return_sequences=True))(x)
x = AttentionWithContext()(x)
model = Model(sequence, Dense(2, activation="softmax")(x))
model.compile("adam", "sparse_categorical_crossentropy")
history = model.fit(texts, labels, verbose=0)
""",
        "cannot import name 'CuDNNLSTM'",
        {
            "from keras.layers import CuDNNLSTM": IMPORT,
            "x = Bidirectional(CuDNNLSTM(8, return_sequences=True))(x)": (
                "x = Bidirectional(LSTM(8, return_sequences=True))(x)"
            ),
            "x = AttentionWithContext()(x)": "x = kb.AttentionPooling(16)(x, mask=sequence > 0)",
        },
        mistake=("mask=sequence > 0", "mask=(sequence > 0)[:, 0]"),
        told=r"`mask` must be \(batch, source_time\).*For lengths, pass",
    ),
    "label-wise attention": Script(
        """
from keras import backend as K
from keras.layers import GRU, Bidirectional, Dense, Embedding, Input, dot
from keras.models import Model

document, label_ids = Input(shape=(8,)), Input(shape=(5,))
h = Bidirectional(GRU(8, return_sequences=True))(Embedding(30, 8, mask_zero=True)(document))
queries = Embedding(20, 16)(label_ids)
attention = K.softmax(K.batch_dot(queries, K.permute_dimensions(h, (0, 2, 1))))
context = dot([attention, h], axes=(2, 1))
model = Model([document, label_ids], Dense(1, activation="sigmoid")(context))
model.compile("adam", "binary_crossentropy")
history = model.fit([texts, answers], answers[..., None] % 2, verbose=0)
""",
        "has no attribute 'softmax'",
        {
            "from keras import backend as K": IMPORT,
            "attention = K.softmax(K.batch_dot(queries, K.permute_dimensions(h, (0, 2, 1))))": "",
            "context = dot([attention, h], axes=(2, 1))": (
                "context = kb.BahdanauAttention(16)(queries, h)"
            ),
        },
        inputs="[texts, answers]",
        mistake=("(16)(queries, h)", '(16)(np.ones((5, 16), "float32"), h)'),
        told="`query` must have the batch axis of `value`",
    ),
    "stock prediction": Script(
        """
import keras.backend as K
from keras.layers import LSTM, Dense, Layer
from keras.models import Sequential

class Attention(Layer):
    def build(self, input_shape):
        self.W = self.add_weight("att_weight", (input_shape[-1], 1), "normal")
        self.b = self.add_weight("att_bias", (input_shape[1], 1), "zeros")

    def call(self, x):
        e = K.tanh(K.dot(x, self.W) + self.b)
        return K.sum(x * K.softmax(e, axis=0), axis=1)

model = Sequential()
model.add(LSTM(8, return_sequences=True, input_shape=(10, 3)))
model.add(Attention())
model.add(Dense(1))
model.compile(optimizer="adam", loss="mean_squared_error")
history = model.fit(series, series[:, -1, 0], verbose=0)
""",
        "`name` must be passed as a keyword argument",
        {
            "import keras.backend as K": IMPORT,
            "model.add(Attention())": "model.add(kb.AttentionPooling(8))",
        },
        inputs="series",
        mistake=("return_sequences=True, ", ""),
        told=r"must be \(batch, source_time, units\).*return_sequences=True",
    ),
}
