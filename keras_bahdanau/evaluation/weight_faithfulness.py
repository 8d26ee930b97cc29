"""Faithfulness of attention: whether the weights show on which positions the output depends."""

import dataclasses

import keras
import numpy as np

from keras_bahdanau.evaluation.attention_quality import alignment_error, row_entropies
from keras_bahdanau.evaluation.importance import (
    Estimate,
    adversarial,
    estimate,
    overlap,
    permutations,
    removal_curves,
    uniform,
)
from keras_bahdanau.pipelines.model_probe import ModelProbe
from keras_bahdanau.pipelines.probe import require_rows
from keras_bahdanau.pipelines.step_probe import StepProbe
from keras_bahdanau.settings import checks
from keras_bahdanau.settings.checks import counted

PERMUTATIONS = 10
REMOVALS = {"attention": "hidden from the attention", "input": "replaced in the input"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Faithfulness:
    """Measures of `faithfulness`. Most of them are an `Estimate` (value, low, high).

    Attributes:
        areas: Dictionary from the place where positions are removed, "attention" or "input", to a
            dictionary from an order of positions, "weights", "gradient", "leave-one-out" or
            "random", to the area between its insertion and deletion curves, in nats. A random order
            has area 0.
        shares: Dictionary from the place to the area of "weights" relative to that of
            "leave-one-out".
        curves: Dictionary like `areas`, but of float arrays `(2, 11)`: the mean change in log p
            with 0, 10, ... 100% of the positions removed, and added.
        permuted: Change in the output if the weights are permuted, from 0 to 1.
        uniform: Change in the output if the weights are equal, from 0 to 1.
        adversarial: Distance, from 0 to 1, of other weights with almost the same output; None if
            weights can't be replaced for a single output.
        entropy: Entropy of the weights as a fraction of its maximum.
        agreement: Overlap of the weights with the weights of the peers, or None.
        alignment_error_rate: Float from 0 to 1, or None without alignments.
        inputs, rows: Integers, numbers of inputs and of outputs that were measured.
        unit: String, the name of positions, such as "source tokens".
    """

    areas: dict
    shares: dict
    curves: dict = dataclasses.field(repr=False)
    permuted: Estimate
    uniform: Estimate
    adversarial: Estimate | None
    entropy: Estimate
    agreement: Estimate | None
    alignment_error_rate: float | None
    inputs: int
    rows: int
    unit: str

    @property
    def sentence(self):
        """The main finding in one sentence, for the last place in `shares`."""
        place, share = [*self.shares.items()][-1]
        if not self.areas[place]["leave-one-out"].low > 0:
            return f"The output of this model depends on none of its {self.unit}."
        order = f"For this model the weights order the {self.unit}"
        if not share.low > 0:
            return f"{order} no better than chance."
        degree = "far worse than"
        if share.value >= 0.5:
            degree = "nearly as well as" if share.value >= 0.8 else "less well than"
        return f"{order} {degree} leaving each of them out does: {share.value:.2f} of its area."

    def scores(self):
        """Return all measures except the curves, as a JSON dictionary."""
        measures = dataclasses.asdict(self)
        del measures["curves"]
        return measures

    def table(self):
        """Return the measures as a Markdown table."""
        rows = [("measure", "value", "95% interval"), ("---", "--:", "--:")]
        for place, orders in self.areas.items():
            measures = {f"area: {order}, nats": area for order, area in orders.items()}
            measures["share of the area of leave-one-out: weights"] = self.shares[place]
            rows += [
                (f"{REMOVALS[place]}, {name}", *_cells(part)) for name, part in measures.items()
            ]
        measures = {
            "change of the output: weights permuted": self.permuted,
            "change of the output: weights equal": self.uniform,
            "distance of other weights, same output": self.adversarial,
            "entropy of the weights, of its maximum": self.entropy,
            "overlap with the weights of other models": self.agreement,
            "alignment error rate": self.alignment_error_rate,
        }
        rows += [(name, *_cells(part)) for name, part in measures.items() if part is not None]
        return "\n".join(f"| {' | '.join(row)} |" for row in rows)

    def __str__(self):
        count = f"{counted(self.rows, 'outputs')} of {counted(self.inputs, 'inputs')}"
        return f"{self.sentence}\n\n{self.table()}\n\n{count}"


def _cells(measure):
    if not isinstance(measure, Estimate):
        return f"{measure:.3f}", ""
    return f"{measure.value:.3f}", f"{measure.low:.3f} to {measure.high:.3f}"


def faithfulness(
    model,
    data,
    *,
    targets=None,
    alignments=None,
    peers=(),
    layer=None,
    from_logits=None,
    steps=2,
    batch_size=256,
    seed=0,
    say=None,
):
    """Measure whether attention weights show on which positions the output depends.

    Positions are removed in several orders, in two ways: they are hidden from the attention, or
    their input vectors are replaced by the mean vector. See docs/faithfulness.md. No other thread
    may use the model meanwhile.

    Args:
        model: A `Translator` or other `Pipeline` with a single model, or a `keras.Model` that
            classifies and has an attention layer of this package.
        data: List of inputs of the pipeline, or inputs as in `model.predict`. Inputs with fewer
            than two positions, or without an output, are ignored.
        targets: List of strings, texts to use instead of the output of the pipeline; or None.
        alignments: (sure, possible) links between the words of inputs and targets, from
            `read_alignments`, for the alignment error rate; or None.
        peers: Models of the same kind, for example with other seeds, whose weights are compared.
        layer: String, name of the attention layer in a Keras model; None if there is only one.
        from_logits: Bool. True if the outputs of a Keras model are logits; None to infer it from
            the loss or the outputs.
        steps: Positive integer. Number of target tokens to measure per input, drawn at random.
        batch_size: Positive integer. Number of model runs per batch.
        seed: Integer, random seed for all draws.
        say: Function of one string, which is called to report progress, or None.

    Returns:
        `Faithfulness`.

    Raises:
        TypeError: If `model` is neither a pipeline nor a Keras model.
        ValueError: If no input can be measured, if the model or its attention is not supported, if
            a peer has another vocabulary, or if an argument is for the other kind of model.

    Example:
        >>> result = kb.evaluation.faithfulness(translator, sentences)
        >>> print(result.sentence)
        For this model the weights order the source tokens nearly as well as leaving each of them
        out does: 0.91 of its area.
        >>> kb.plotting.plot_faithfulness(result).savefig("faithfulness.png")
    """
    checks.positive_integer("steps", "the outputs of an input", steps)
    checks.positive_integer("batch_size", "the model runs per batch", batch_size)
    random, error = np.random.default_rng(seed), None
    if isinstance(model, keras.Model):
        _refuse("a Keras model", targets=targets, alignments=alignments)
        settings = (layer, from_logits, steps, batch_size)
        probe, *members = (
            ModelProbe(member, data, *settings, np.random.default_rng(seed))
            for member in (model, *peers)
        )
    else:
        _refuse("a pipeline", layer=layer, from_logits=from_logits)
        probe, *members = _step_probes(model, data, targets, peers, (steps, batch_size), random)
        if alignments is not None and targets is None:
            raise ValueError(
                "`alignments` needs `targets`, because it links their words. Received: "
                "targets=None. Pass the texts that were aligned."
            )
        if alignments is not None:
            error = alignment_error(model, [*zip(data, targets, strict=True)], *alignments)
    for member in members:
        if member.weights.shape != probe.weights.shape:
            raise ValueError(
                "Peers must have weights of the same shape. Received: weights of shapes "
                f"{probe.weights.shape} and {member.weights.shape}. Pass models with equal layers."
            )
    return _measured(probe, members, error, random, say or (lambda line: None))


def _measured(probe, members, error, random, say):
    def mean(values, per=None):
        return estimate(values, probe.inputs, per)

    weights, mask, orders = probe.weights, probe.mask, {"weights": probe.weights}
    removals = {"attention": probe.hide}
    if probe.reads_vectors:
        removals["input"] = probe.replace
        say("computing gradients")
        orders["gradient"] = probe.gradients()
    areas, shares, curves = {}, {}, {}
    for place, remove in removals.items():
        say(f"removing positions: {REMOVALS[place]}")

        def answer(rows, visible, remove=remove):
            return remove(rows, visible)[0]

        effects = probe.leave_one_out(remove)
        scores = {**orders, "leave-one-out": effects, "random": random.random(mask.shape)}
        measured = removal_curves(answer, scores, mask, probe.log_probs, random)
        by_order = {order: pair.areas() for order, pair in measured.items()}
        areas[place] = {order: mean(values) for order, values in by_order.items()}
        shares[place] = mean(by_order["weights"], by_order["leave-one-out"])
        curves[place] = {order: pair.means() for order, pair in measured.items()}
    say("replacing weights")
    rows, reached = np.arange(len(mask)), None
    if probe.weighs_rows:
        reached = adversarial(lambda *request: probe.reweigh(*request)[1], weights, mask, random)
    order = permutations(mask, PERMUTATIONS, random).reshape(-1, mask.shape[1])
    _, permuted = probe.permute(np.repeat(rows, PERMUTATIONS), order)
    overlaps = [overlap(weights, member.weights) for member in members]
    return Faithfulness(
        areas=areas,
        shares=shares,
        curves=curves,
        permuted=mean(permuted.reshape(-1, PERMUTATIONS).mean(axis=1)),
        uniform=mean(probe.reweigh(rows, uniform(weights, mask))[1]),
        adversarial=None if reached is None else mean(reached),
        entropy=mean(row_entropies(weights.astype(float)) / np.log(mask.sum(axis=1))),
        agreement=mean(np.mean(overlaps, axis=0)) if overlaps else None,
        alignment_error_rate=error,
        inputs=len(np.unique(probe.inputs)),
        rows=len(rows),
        unit=probe.unit,
    )


def _step_probes(pipeline, data, targets, peers, sizes, random):
    """Return a list with a `StepProbe` for each pipeline, on the same target tokens."""
    if not hasattr(pipeline, "decode") or not hasattr(pipeline, "target"):
        raise TypeError(
            "`model` must be a pipeline or a keras.Model. Received: "
            f"{type(pipeline).__name__}. Load the .keras file: kb.load_pipeline(path)."
        )
    from keras_bahdanau.pipelines.trace import ids_of_tokens  # loads TensorFlow

    steps, batch_size = sizes
    for peer in peers:
        if peer.target != pipeline.target or peer.source != pipeline.source:
            raise ValueError(
                "A peer must have the source and the target vocabulary of the model. Received: a "
                f"{type(peer).__name__} with other vocabularies. Train the peer with the same ones."
            )
    sources = list(data)
    if targets is None:
        results = pipeline.decode(sources)
    else:
        results = pipeline.align([*zip(sources, targets, strict=True)])
    pieces = pipeline.target.tokens(np.arange(pipeline.target.vocabulary_size)).tolist()
    pairs = [
        (source, ids_of_tokens(result.target_tokens, pieces))
        for source, result in zip(sources, results, strict=True)
        if len(result.source_tokens) > 1 and result.target_tokens
    ]
    require_rows(pairs)
    sources, outputs = zip(*pairs, strict=True)
    draws = [random.permutation(len(ids))[:steps] for ids in outputs]
    inputs = np.repeat(np.arange(len(outputs)), [len(draw) for draw in draws])
    rows = inputs, np.concatenate(draws)
    members = (pipeline, *peers)
    return [StepProbe(member, [*sources], outputs, rows, batch_size) for member in members]


def _refuse(kind, **arguments):
    names = [name for name, value in arguments.items() if value is not None]
    if names:
        raise ValueError(
            f"`{names[0]}` is not for {kind}. Received: {names[0]} with {kind}. Omit it."
        )
