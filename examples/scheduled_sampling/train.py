"""Scheduled sampling: in training, the decoder reads more and more of its own predictions.

    python examples/scheduled_sampling/train.py --epochs 6

A subclass of `Seq2Seq` makes two passes (Duckworth et al. 2019, "Parallel scheduled sampling"). The
first reads the reference tokens; the second reads predictions of the first at some positions. The
schedule is the inverse sigmoid of Bengio et al. 2015 (section 2.4).
"""

import argparse
import math

import keras
from keras import ops

import keras_bahdanau as kb


@keras.saving.register_keras_serializable(package="examples")
class ScheduledSampling(kb.Seq2Seq):
    """`Seq2Seq` with a decoder that reads some of its own predictions in training.

    Attributes:
        rate: Variable. Fraction of positions that read a prediction, initially 0.
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.rate = keras.Variable(0.0, trainable=False, name="rate")
        self.seeds = keras.random.SeedGenerator(0)

    def call(self, inputs, return_attention_scores=False, training=None):
        if training:
            features, target_in, *others = inputs
            output = super().call(inputs, training=True)
            inputs = (features, self.sampled(target_in, output), *others)
        return super().call(inputs, return_attention_scores, training=training)

    def sampled(self, target_in, output):
        """Return tokens `(batch, target_time)`, some replaced by predictions of the first pass."""
        logits = ops.stop_gradient(self.logits(output))  # (batch, target_time, vocabulary)
        tokens = ops.cast(ops.argmax(logits, axis=-1), target_in.dtype)
        # the output of a step is the input of the next; the first input is the start token
        own = ops.concatenate([target_in[:, :1], tokens[:, :-1]], axis=1)
        drawn = keras.random.uniform(ops.shape(target_in), seed=self.seeds) < self.rate
        return ops.where(ops.logical_and(drawn, target_in > 0), own, target_in)  # 0 is padding


class Schedule(keras.callbacks.Callback):
    """Set the rate before each batch: 1 - k / (k + exp(step / k)), which is 1/2 at k log k."""

    def __init__(self, k):
        super().__init__()
        self.k = k

    def on_train_batch_begin(self, batch, logs=None):
        step = int(self.model.optimizer.iterations)
        teacher = self.k * math.exp(-step / self.k)
        self.model.rate.assign(1 - teacher / (teacher + 1))


def main(arguments=None):
    arguments = parsed(arguments)
    keras.utils.set_random_seed(0)
    training, _, test = kb.demo.split(train=arguments.pairs, test=200)
    pairs, test = ([(one.source, one.target) for one in part] for part in (training, test))
    subwords, _ = kb.text.Subwords.train_pair(pairs, vocabulary_size=arguments.vocabulary)
    data = kb.data.BatchedPairs(pairs, subwords, subwords, batch_tokens=1200)

    sizes = dict.fromkeys(("embedding_units", "units", "attention_units"), arguments.units)
    plain = kb.presets.small(subwords, subwords, dropout=0.1, **sizes)
    model = ScheduledSampling.from_config(plain.get_config())
    model.compile(
        keras.optimizers.Adam(3e-3, global_clipnorm=5.0), kb.losses.TokenCrossentropy(0.05)
    )
    steps = arguments.epochs * data.steps
    model.fit(
        data.dataset(),
        epochs=arguments.epochs,
        shuffle=False,
        verbose=2,
        callbacks=[Schedule(k=max(1.0, steps / 6))],
    )
    # a plain model: the same weights, without the subclass
    plain.build()
    plain.encoder.set_weights(model.encoder.get_weights())
    plain.decoder.set_weights(model.decoder.get_weights())
    translator = kb.Translator(subwords, plain, subwords)
    if arguments.out:
        translator.save(arguments.out)
    print(kb.evaluation.evaluate(translator, test, metrics=("bleu", "exact"), tokenize="none"))


def parsed(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=6, help="passes over the pairs (6)")
    parser.add_argument("--pairs", type=int, default=15000, help="training pairs (15000)")
    parser.add_argument("--units", type=int, default=128, help="width of all layers (128)")
    parser.add_argument(
        "--vocabulary", type=int, default=1200, help="size of the joint vocabulary (1200)"
    )
    parser.add_argument("--out", metavar="FILE", help="a .keras file to write")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
