"""Train with a hand-written `tf.function` loop that you can change line by line.

    python examples/custom_training_loop/train.py --epochs 6

The script trains the same model as `model.fit` on the generated English-French corpus, then
translates three sentences. `training_step` contains everything that `fit` does for a batch.
"""

import argparse

import keras
import tensorflow as tf

import keras_bahdanau as kb


def main():
    arguments = parsed()
    keras.utils.set_random_seed(0)
    training, _, test = kb.demo.split(train=arguments.pairs)
    pairs = [(example.source, example.target) for example in training]
    source, target = kb.text.Subwords.train_pair(pairs, vocabulary_size=1200)
    data = kb.data.BatchedPairs(pairs, source, target, batch_tokens=1200)

    sizes = {"embedding_units": 96, "units": 192, "attention_units": 96}
    model = kb.presets.small(source, target, dropout=0.1, **sizes)
    model.build()
    optimizer = keras.optimizers.Adam(3e-3, global_clipnorm=5.0)
    optimizer.build(model.trainable_variables)
    model.compile(optimizer, kb.losses.TokenCrossentropy(label_smoothing=0.05))
    step = training_step(model, optimizer)

    mean = keras.metrics.Mean()
    for epoch in range(arguments.epochs):
        mean.reset_state()
        for (source_ids, target_in), target_out, weight in data.epoch(epoch):
            loss = step(source_ids, target_in, target_out, weight)
            mean.update_state(loss, sample_weight=tf.reduce_sum(weight))
        print(f"epoch {epoch + 1}: loss {float(mean.result()):.3f}", flush=True)

    translator = kb.Translator(source, model, target)
    for result, example in zip(
        translator.translate([example.source for example in test[:3]]), test, strict=False
    ):
        print(f"{example.source}\n  {result.text}\n  {example.target} (reference)")


def training_step(model, optimizer):
    """Return a function for one update of the weights, traced once for all batch shapes."""
    shape = tf.TensorSpec((None, None), tf.int32)
    weights = tf.TensorSpec((None, None), tf.float32)

    @tf.function(input_signature=[shape, shape, shape, weights])
    def step(source_ids, target_in, target_out, weight):
        with tf.GradientTape() as tape:
            output = model((source_ids, target_in), training=True)  # `model.logits(output)`: logits
            loss = model.compute_loss(y=target_out, y_pred=output, sample_weight=weight)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    return step


def parsed():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=6, help="passes over the pairs (6)")
    parser.add_argument("--pairs", type=int, default=15000, help="training pairs (15000)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
