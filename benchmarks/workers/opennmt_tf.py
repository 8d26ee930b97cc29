"""OpenNMT-tf with its RNN encoder, attentional RNN decoder, inputters, pipeline and search."""

import pathlib
import tempfile

import opennmt
import protocol
import sentences
import tensorflow as tf
import tensorflow_addons as tfa

CLIP_NORM = 5.0
SPECIAL = ("<blank>", "<s>", "</s>")  # OpenNMT-tf's ids 0, 1, 2; its unknown token comes last


class Model(opennmt.models.SequenceToSequence):
    """Model with GRU cells instead of the catalog's LSTM cells, and a `Dense` bridge.

    In OpenNMT-tf, attention and readout are as wide as the decoder. `sizes["decoder_all"]` is
    chosen so that the model is as large as ours.
    """

    def __init__(self, sizes):
        inputter = opennmt.inputters.WordEmbedder
        super().__init__(
            source_inputter=inputter(embedding_size=sizes["embedding"]),
            target_inputter=inputter(embedding_size=sizes["embedding"]),
            encoder=opennmt.encoders.RNNEncoder(
                1,
                sizes["encoder"],
                bidirectional=True,
                dropout=0.0,
                cell_class=tf.keras.layers.GRUCell,
            ),
            decoder=opennmt.decoders.AttentionalRNNDecoder(
                1,
                sizes["decoder_all"],
                bridge_class=opennmt.layers.DenseBridge,
                attention_mechanism_class=tfa.seq2seq.BahdanauAttention,
                cell_class=tf.keras.layers.GRUCell,
                dropout=0.0,
            ),
        )


def _model(sizes, vocabulary_file=None, **params):
    tf.keras.utils.set_random_seed(0)
    if vocabulary_file is None:
        words = [*SPECIAL, *map(str, range(len(SPECIAL) + 1, sizes["vocabulary"]))]
        folder = tempfile.mkdtemp()
        vocabulary_file = pathlib.Path(folder) / "vocabulary.txt"
        vocabulary_file.write_text("\n".join(words) + "\n")
    data = {"source_vocabulary": str(vocabulary_file), "target_vocabulary": str(vocabulary_file)}
    model = Model(sizes)
    model.initialize(data, params={"optimizer": "Adam", "learning_rate": 1e-3, **params})
    return model


class Training:
    """A model and its optimizer, with OpenNMT-tf's own `compute_gradients` and loss."""

    def __init__(self, sizes, vocabulary_file=None):
        self.model = _model(sizes, vocabulary_file)
        self.optimizer = self.model.get_optimizer()

    def step(self, features, labels):
        loss, gradients = self.model.compute_gradients(features, labels, self.optimizer)
        gradients, _ = tf.clip_by_global_norm(gradients, CLIP_NORM)
        variables = self.model.trainable_variables
        self.optimizer.apply_gradients(zip(gradients, variables))  # noqa: B905 (autograph)
        return loss

    @property
    def parameters(self):
        return _count(self.model)


def _count(model):
    return sum(variable.shape.num_elements() for variable in model.trainable_variables)


def _fed(source, target_in, target_out):
    """Return features and labels for ids, in the form of OpenNMT-tf's inputters."""
    features = {"ids": source, "length": tf.math.count_nonzero(source, 1, dtype=tf.int32)}
    length = tf.math.count_nonzero(target_out, 1, dtype=tf.int32)
    return features, {"ids": target_in, "ids_out": target_out, "length": length}


def _step(step, batch, source_time, target_time, vocabulary):
    arrays = sentences.random_batch(batch, source_time, target_time, vocabulary)
    fed = _fed(*(tf.constant(array, tf.int64) for array in arrays))

    def run():
        step(*fed).numpy()
        return batch * target_time

    return run


def training_step(sizes, warm_up=True):
    """Prepare forward pass, loss, gradients, clipping and Adam in one `tf.function`."""
    training = Training(sizes)
    step = tf.function(training.step, reduce_retracing=True)
    shape = sizes["batch"], sizes["source_time"], sizes["target_time"]
    small = _step(step, 2, 4, 4, sizes["vocabulary"])
    small()  # creates the variables
    run = _step(step, *shape, sizes["vocabulary"])
    if warm_up:
        run(), run()
    note = f"decoder, attention and readout {sizes['decoder_all']}"
    return protocol.Job(run, training.parameters, note=note, small=small)


def epoch(sizes, corpus, batch=64):
    """Prepare an epoch of its training pipeline, with length buckets of 1 as it sets by default."""
    folder = pathlib.Path(corpus)
    training = Training(sizes, folder / "vocabulary.txt")
    _, target = sentences.read_corpus(corpus, "train")
    dataset = training.model.examples_inputter.make_training_dataset(
        str(folder / "train.source"),
        str(folder / "train.target"),
        batch_size=batch,
        shuffle_buffer_size=len(target),
        length_bucket_width=1,
        single_pass=True,
    )
    step = tf.function(training.step, input_signature=dataset.element_spec)

    def run(limit=-1):
        for features, labels in dataset.take(limit):
            loss = step(features, labels)
        loss.numpy()
        return sentences.real_tokens(target)

    run(10)
    return protocol.Job(run, training.parameters, note=f"batches of {batch}, buckets of length")


def decode(sizes, corpus, beam, batch=64):
    """Prepare the model's own search, from ids to tokens, up to the limit."""
    source, _ = sentences.read_corpus(corpus, "test")
    model = _model(sizes, beam_width=beam)
    batches = []
    for ids, steps in sentences.search_batches(source, batch):
        features = {"ids": tf.constant(ids, tf.int64)}
        features["length"] = tf.math.count_nonzero(features["ids"], 1, dtype=tf.int32)
        batches.append((features, steps))
    graphs = {}

    def found(features, steps):
        if steps not in graphs:  # the limit is a model setting that is fixed in the graph
            model.params["maximum_decoding_length"] = steps
            model.params["minimum_decoding_length"] = steps
            graphs[steps] = tf.function(model.infer, reduce_retracing=True)
        return graphs[steps](features)

    def run():
        for features, steps in batches:
            found(features, steps)["length"].numpy()
        return len(source)

    run()
    return protocol.Job(run, _count(model))


if __name__ == "__main__":
    protocol.serve(
        {"training_step": training_step, "epoch": epoch, "decode": decode},
        ["tensorflow", "OpenNMT-tf", "tensorflow-addons"],
    )
