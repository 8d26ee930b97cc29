r"""Make a narrower translator from a trained one: keep the units that matter most for its loss.

    python experiments/multi30k/narrow.py --model MODEL.keras --pairs some.tsv --share 0.75 \
        --out narrow.keras

This works for models with the presets `small` and `characters`. To start training from the
remaining weights instead of random ones, use `train --from narrow.keras`. Each width of the model
(embeddings, each direction of each encoder layer, attention, decoder) keeps the same fraction of
its units. If m_i is a factor of the output of unit i, then

dL/dm_i = sum_w w dL/dw    over the weights w that read unit i,

and the units with the largest sum of squares over batches of training pairs are kept (Molchanov et
al. 2019, "Importance Estimation for Neural Network Pruning"). `--plain` removes the Unicode
normalization tables, 240 kB, from the vocabularies, for texts that are already normalized.
"""

import argparse
import dataclasses
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tensorflow as tf

import keras_bahdanau as kb
from keras_bahdanau.data.epochs import padded_batch
from keras_bahdanau.sources import TextSource
from keras_bahdanau.text.id_rows import IdRows
from keras_bahdanau.training import TrainingOptions, TrainingPlan
from keras_bahdanau.training.model import validated_model

SENTENCES = 32  # per batch
MULTIPLE = 8  # each width is a multiple of this
PRESETS = "small", "characters"
RATES = "dropout", "embedding_dropout", "readout_dropout", "recurrent_dropout", "word_dropout"
FREE, ATTENTION, DECODER = (), ("attention",), ("decoder",)


class Layout(NamedTuple):
    """Positions of the units of a model in its weights.

    Attributes:
        widths: Dictionary from each kind of units to the model option that sets their number.
        axes: Dictionary from the end of a weight's path to the kinds of units in its rows and in
            its columns. Units of three gates are consecutive. A weight that reads units has them in
            its rows; an embedding table has them in its columns.
    """

    widths: dict
    axes: dict

    def axes_of(self, weight):
        """Return the kinds of units on each axis of a weight, or None for other weights."""
        return next((axes for end, axes in self.axes.items() if weight.path.endswith(end)), None)

    def has(self, weight, sizes):
        """Return True if each axis of a weight has the units given by `axes`."""
        axes = self.axes_of(weight)
        if axes is None or len(axes) != len(weight.shape):
            return False
        counts = (sum(sizes[name] for name in names) for names in axes)
        return all(count in (0, size) for count, size in zip(counts, weight.shape, strict=True))


def layout(options):
    """Return the `Layout` of a model with the preset `small` or `characters`."""
    letters = options.preset == "characters"
    target = ("target",)
    source = target if options.share_embeddings else ("source",)
    widths = dict.fromkeys(source + target, "embedding_units")
    widths |= {"attention": "attention_units", "decoder": "units"}
    axes = {
        "encoder/front_end/embedding/embeddings": (FREE, source),
        "embedding/embeddings": (FREE, target),
    }
    below = source
    for layer in range(options.depth):
        above = FREE
        for direction in ("forward", "backward"):
            name = f"{direction}_{layer}"
            widths[name] = "encoder_units"
            axes |= _of_gru(f"rnn_{layer}/{direction}/cell", below, (name,))
            above += (name,)
        below = above
    memory = below
    if letters:
        cells = _of_gru("cell_0", target, DECODER)
        cells["cell_0/context_projection/kernel"] = (memory, DECODER * 3)
    else:
        cells = {**_of_gru("first_cell", target, DECODER), **_of_gru("cell_0", memory, DECODER)}
    return Layout(
        widths,
        {
            **axes,
            **cells,
            "query_projection/kernel": (DECODER + (target if letters else FREE), ATTENTION),
            "key_projection/kernel": (memory, ATTENTION),
            "score/v": (ATTENTION, FREE),
            "bridge/projection/kernel": (memory, DECODER),
            "bridge/projection/bias": (DECODER,),
            "readout/projection/kernel": (DECODER + memory + target, target),
            "readout/projection/bias": (target,),
        },
    )


def _of_gru(name, inputs, units):
    return {
        f"{name}/input_projection/kernel": (inputs, units * 3),
        f"{name}/input_projection/bias": (units * 3,),
        f"{name}/recurrent_projection/kernel": (units, units * 3),
        f"{name}/recurrent_projection/bias": (units * 3,),
    }


def main(arguments=None):
    given = parsed(arguments)
    try:
        narrow(given)
    except (OSError, ValueError) as error:
        raise SystemExit(f"narrow.py: {' '.join(str(error).split())}") from None


def narrow(given):
    """Write the narrower translator.

    Raises:
        ValueError: If MODEL has another preset, or layers that its preset lacks.
    """
    wide = kb.Translator.load(given.model)
    training = wide.training or {"preset": "no known preset"}
    if training["preset"] not in PRESETS:
        raise ValueError(
            f"The translator must have the preset {' or '.join(PRESETS)}. "
            f"Received: {given.model}, of {training['preset']}. Use another translator."
        )
    options = TrainingOptions(**training).resolved()
    places = layout(options)
    sizes = {name: getattr(options, own) for name, own in places.widths.items()}
    if unknown := [one.path for one in wide.model.weights if not places.has(one, sizes)]:
        raise ValueError(
            f"The translator must have the GRUs and the soft attention of `{options.preset}`, and "
            f"no other layers. Received: {given.model} with {len(unknown)} other weights, "
            f"such as {unknown[0]}. Use another translator."
        )
    importance = importances(wide, options, kb.data.read_pairs(given.pairs))
    kept = {
        name: np.sort(np.argsort(-importance[name], kind="stable")[: _narrowed(size, given.share)])
        for name, size in sizes.items()
    }
    own = {option: len(kept[name]) for name, option in places.widths.items()}
    own["readout_units"] = len(kept["target"])  # the embeddings are also the output layer
    own |= {name: given.dropout_share * getattr(options, name) for name in RATES}
    options = dataclasses.replace(options, **own)
    source, target = wide.source, wide.target
    if given.plain:
        target = plain(wide.target)
        source = target if wide.model.share_embeddings else plain(wide.source.subwords)
        source = TextSource(source, wide.source.feature_place)
    made = kb.Translator(
        source, validated_model(TrainingPlan(options, source, target)), target, wide.search
    )
    for weight, old in zip(made.model.weights, wide.model.weights, strict=True):
        weight.assign(_selected(old.numpy(), places.axes_of(old), sizes, kept))
    made.training = dataclasses.asdict(options)
    made.save(given.out)
    print(f"{made.model.count_params():,} of {wide.model.count_params():,} weights: {given.out}")


def importances(translator, options, pairs):
    """Return the importance of each unit: a dictionary from each kind to a vector."""
    model = validated_model(TrainingPlan(options, translator.source, translator.target))
    model.set_weights(translator.model.get_weights())
    sources, targets = zip(*pairs, strict=True)
    rows = [
        IdRows.encoded(translator.source.subwords, sources),
        IdRows.encoded(translator.target, targets),
    ]
    weights = model.trainable_variables

    @tf.function(reduce_retracing=True)
    def gradients(features, target_in, target_out, weight):
        with tf.GradientTape() as tape:
            inputs = features, target_in
            logits = model(inputs, training=False)
            loss = model.compute_loss(inputs, target_out, logits, weight, training=False)
        return [tf.convert_to_tensor(one) for one in tape.gradient(loss, weights)]

    places = layout(options)
    sizes = {name: getattr(options, own) for name, own in places.widths.items()}
    total = {name: np.zeros(size) for name, size in sizes.items()}
    longer = np.maximum(rows[0].lengths, rows[1].lengths)
    for batch in np.array_split(np.argsort(longer), len(longer) // SENTENCES + 1):
        shape = len(batch), *(int(side.lengths[batch].max()) for side in rows)
        features, *others = padded_batch(rows, batch, shape)
        found = gradients(tf.constant(features), *map(tf.constant, others))
        slopes = {name: np.zeros(size) for name, size in sizes.items()}
        for weight, gradient in zip(weights, found, strict=True):
            axes = places.axes_of(weight)
            axis = 1 if axes[0] == FREE else 0
            if len(axes) == 1 or axes[axis] == FREE:
                continue
            products = (weight.numpy() * gradient.numpy()).sum(1 - axis)
            for name, part in _parts(products, axes[axis], sizes):
                slopes[name] += part
        for name, slope in slopes.items():
            total[name] += np.square(slope)
    return total


def plain(subwords):
    """Return the same vocabulary for texts that are already normalized."""
    from sentencepiece import sentencepiece_model_pb2  # loads protobuf

    proto = sentencepiece_model_pb2.ModelProto.FromString(subwords.model)
    proto.normalizer_spec.name = "identity"
    proto.normalizer_spec.precompiled_charsmap = b""
    return kb.text.Subwords(proto.SerializeToString(deterministic=True))


def _narrowed(width, share):
    return min(width, max(1, round(width * share / MULTIPLE)) * MULTIPLE)


def _parts(vector, names, sizes):
    """Split a vector with units of several names into pairs of a name and its part."""
    ends = np.cumsum([sizes[name] for name in names])[:-1]
    return zip(names, np.split(vector, ends), strict=True)


def _selected(weight, axes, sizes, kept):
    """Return the rows and columns of the kept units."""
    for axis, names in enumerate(axes):
        if names:
            places = _parts(np.arange(weight.shape[axis]), names, sizes)
            places = np.concatenate([part[kept[name]] for name, part in places])
            weight = np.take(weight, places, axis=axis)
    return weight


def parsed(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add(
        "--model",
        type=Path,
        required=True,
        help="translator with the preset `small` or `characters`",
    )
    add("--pairs", type=Path, required=True, help="TSV with some training pairs")
    add(
        "--share",
        type=float,
        default=0.75,
        help="fraction of units to keep, above 0 and up to 1 (0.75)",
    )
    add("--dropout-share", type=float, default=1.0, help="fraction of MODEL's dropout rates (1.0)")
    add("--plain", action="store_true", help="remove Unicode normalization from the vocabularies")
    add("--out", type=Path, required=True, help=".keras file to write")
    parsed = parser.parse_args(arguments)
    if not 0 < parsed.share <= 1:
        parser.error(f"--share must be above 0 and at most 1. Received: {parsed.share}")
    if not 0 <= parsed.dropout_share <= 1:
        parser.error(f"--dropout-share must be from 0 to 1. Received: {parsed.dropout_share}")
    if parsed.out.suffix != ".keras" or not parsed.out.parent.is_dir():
        parser.error(
            f"--out must be a .keras file in an existing directory. Received: {parsed.out}"
        )
    return parsed


if __name__ == "__main__":
    sys.exit(main())
