"""TensorFlow Addons as in its tutorial: AttentionWrapper, BasicDecoder, BeamSearchDecoder."""

import protocol
import sentences
import tensorflow as tf
import tensorflow_addons as tfa

CLIP_NORM = 5.0
_IDS = tf.TensorSpec((None, None), tf.int32)


class Model(tf.Module):
    """Model with a bidirectional GRU encoder and a GRU decoder in an `AttentionWrapper`.

    The wrapper's attention layer is the readout, and its output is fed to the next step.

    Args:
        sizes: Dictionary of sizes; `readout_fed` is chosen so that the model is as large as ours.
        output_in_loop: Whether the output layer is given to `BasicDecoder`, as in the tutorial. If
            False, it is applied to all steps together after the loop.
    """

    def __init__(self, sizes, output_in_loop=True):
        super().__init__()
        tf.keras.utils.set_random_seed(0)
        layers = tf.keras.layers
        self.source = layers.Embedding(sizes["vocabulary"], sizes["embedding"], mask_zero=True)
        self.target = layers.Embedding(sizes["vocabulary"], sizes["embedding"])
        encoder = layers.GRU(sizes["encoder"], return_sequences=True, return_state=True)
        self.encoder = layers.Bidirectional(encoder)
        self.bridge = layers.Dense(sizes["decoder"], activation="tanh")
        self.mechanism = tfa.seq2seq.BahdanauAttention(sizes["attention"])
        self.cell = tfa.seq2seq.AttentionWrapper(
            layers.GRUCell(sizes["decoder"]),
            self.mechanism,
            attention_layer_size=sizes["readout_fed"],
        )
        self.output = layers.Dense(sizes["vocabulary"])
        self.output_in_loop = output_in_loop
        self.sampler = tfa.seq2seq.TrainingSampler()
        self.decoder = tfa.seq2seq.BasicDecoder(
            self.cell, self.sampler, output_layer=self.output if output_in_loop else None
        )

    def initial_state(self, source, beam=1):
        """Set up the attention's memory, and return the wrapper's state before the first token."""
        mask = tf.not_equal(source, sentences.PAD)
        values, forward, backward = self.encoder(self.source(source), mask=mask)
        state = self.bridge(tf.concat([forward, backward], axis=-1))
        if beam > 1:
            values, mask, state = (
                tfa.seq2seq.tile_batch(one, beam) for one in (values, mask, state)
            )
        self.mechanism.setup_memory(values, memory_mask=mask)
        first = self.cell.get_initial_state(batch_size=tf.shape(state)[0], dtype=tf.float32)
        return first.clone(cell_state=state)

    def logits(self, source, target_in, lengths):
        found, _, _ = self.decoder(
            self.target(target_in),
            initial_state=self.initial_state(source),
            sequence_length=lengths,
        )
        return found.rnn_output if self.output_in_loop else self.output(found.rnn_output)


class Training:
    """A model, its optimizer, and the `tf.function` that trains on a batch."""

    def __init__(self, sizes, output_in_loop=True):
        self.model = Model(sizes, output_in_loop)
        self.optimizer = tf.keras.optimizers.Adam(1e-3)
        self.step = tf.function(self._step, input_signature=[_IDS, _IDS, _IDS])

    def _step(self, source, target_in, target_out):
        real = tf.cast(target_out != sentences.PAD, tf.float32)
        lengths = tf.reduce_sum(tf.cast(real, tf.int32), axis=1)
        with tf.GradientTape() as tape:
            logits = self.model.logits(source, target_in, lengths)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(target_out, logits)
            loss = tf.reduce_sum(losses * real) / tf.reduce_sum(real)
        variables = self.model.trainable_variables
        gradients, _ = tf.clip_by_global_norm(tape.gradient(loss, variables), CLIP_NORM)
        self.optimizer.apply_gradients(zip(gradients, variables))  # noqa: B905 (autograph)
        return loss

    @property
    def parameters(self):
        return _count(self.model)


def _count(model):
    return sum(variable.shape.num_elements() for variable in model.trainable_variables)


def _step(training, batch, source_time, target_time, vocabulary):
    arrays = sentences.random_batch(batch, source_time, target_time, vocabulary)
    tensors = [*map(tf.constant, arrays)]

    def run():
        training.step(*tensors).numpy()
        return batch * target_time

    return run


def training_step(sizes, output_in_loop=True, warm_up=True):
    """Prepare forward pass, loss, gradients, clipping and Adam in one `tf.function`."""
    training = Training(sizes, output_in_loop)
    shape = sizes["batch"], sizes["source_time"], sizes["target_time"]
    small = _step(training, 2, 4, 4, sizes["vocabulary"])
    small()  # creates the variables
    run = _step(training, *shape, sizes["vocabulary"])
    if warm_up:
        run(), run()
    where = "in BasicDecoder" if output_in_loop else "after the loop"
    note = f"output layer {where}, attention layer {sizes['readout_fed']}"
    return protocol.Job(run, training.parameters, note=note, small=small)


def epoch(sizes, corpus, batch=64, output_in_loop=True):
    """Prepare an epoch of shuffled batches, each padded to its longest sentence.

    The tutorial pads all batches to the longest sentence of the corpus, which takes three times as
    long.
    """
    source, target = sentences.read_corpus(corpus, "train")
    training, seeds = Training(sizes, output_in_loop), iter(range(1000))

    def batches(seed):
        for rows in sentences.random_order(source, batch, seed):
            target_out = sentences.padded([target[row] for row in rows])
            padded = sentences.padded([source[row] for row in rows])
            yield padded, sentences.shifted(target_out), target_out

    def dataset(seed):
        signature = (_IDS, _IDS, _IDS)
        made = tf.data.Dataset.from_generator(lambda: batches(seed), output_signature=signature)
        return made.prefetch(tf.data.AUTOTUNE)

    def run(limit=-1):
        for tensors in dataset(next(seeds)).take(limit):
            loss = training.step(*tensors)
        loss.numpy()
        return sentences.real_tokens(target)

    run(10)
    note = (
        f"batches of {batch}, padded, output layer {'in' if output_in_loop else 'after'} the loop"
    )
    return protocol.Job(run, training.parameters, note=note)


def decode(sizes, corpus, beam, batch=64):
    """Prepare a search from ids to ids, up to the limit."""
    source, _ = sentences.read_corpus(corpus, "test")
    training = Training(sizes)
    _step(training, 2, 4, 4, sizes["vocabulary"])()  # creates the variables
    model = training.model
    never = tf.one_hot(sentences.END, sizes["vocabulary"]) * -1e4
    model.output.bias.assign(never)
    embedding = model.target.embeddings

    @tf.function(input_signature=[_IDS, tf.TensorSpec((), tf.int32)])
    def search(source, steps):
        first = model.initial_state(source, beam)
        common = {"output_layer": model.output, "maximum_iterations": steps}
        tokens = {
            "start_tokens": tf.fill([tf.shape(source)[0]], sentences.START),
            "end_token": sentences.END,
            "initial_state": first,
        }
        if beam == 1:
            sampler = tfa.seq2seq.GreedyEmbeddingSampler()
            decoder = tfa.seq2seq.BasicDecoder(model.cell, sampler, **common)
            return decoder(embedding, **tokens)[0].sample_id
        decoder = tfa.seq2seq.BeamSearchDecoder(model.cell, beam, **common)
        return decoder(embedding, **tokens)[0].predicted_ids

    batches = [
        (tf.constant(ids), tf.constant(steps))
        for ids, steps in sentences.search_batches(source, batch)
    ]

    def run():
        for ids, steps in batches:
            search(ids, steps).numpy()
        return len(source)

    run()
    return protocol.Job(run, _count(model))


if __name__ == "__main__":
    protocol.serve(
        {"training_step": training_step, "epoch": epoch, "decode": decode},
        ["tensorflow", "tensorflow-addons"],
    )
