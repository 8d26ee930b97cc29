"""Describe an exported LiteRT file and its signatures, for the standard metadata."""

from keras_bahdanau import __version__
from keras_bahdanau.exporters.card import CARD
from keras_bahdanau.exporters.litert.metadata import (
    DESCRIPTIONS,
    VOCABULARY,
    AssociatedFile,
    ModelMetadata,
    SubGraphMetadata,
    TensorMetadata,
)
from keras_bahdanau.exporters.litert.tflite_file import entries_of

_SIGNATURES = {
    "encode": "Input of `decode_step` for the first token.",
    "decode_step": "One target step, for hosts that choose each token themselves.",
}
_TENSORS = {  # name: (description, axes)
    "ids": ("Ids of the text, up to its length.", ("batch", "target_time")),
    "length": ("Number of `ids` used, including the end token.", ("batch",)),
    "lengths": ("`length` of each hypothesis, best first; 0 after the last.", ("batch", "beam")),
    "score": ("log p / length^a: the closer to 0, the better.", ("batch",)),
    "scores": ("`score` of each hypothesis.", ("batch", "beam")),
    "prefix": ("Ids that each text begins with, up to `prefix_length`.", ("batch", "target_time")),
    "prefix_length": (
        "Number of `prefix` ids that count; 0 for an arbitrary text.",
        ("batch",),
    ),
    "alignment": (
        "Attention weight of each source position for each target token.",
        ("batch", "target_time", "source_time"),
    ),
    "confidence": ("The probability that the text is correct, from 0 to 1.", ("batch",)),
    "confidences": ("`confidence` of each hypothesis.", ("batch", "beam")),
    "token_log_probs": (
        "Contribution of each of `ids` to log p, in nats; 0 after the last.",
        ("batch", "target_time"),
    ),
    "token_entropies": (
        "Entropy of the distribution for each of `ids`, in nats; 0 after the last.",
        ("batch", "target_time"),
    ),
    "token_words": (
        "Index of the word that each of `ids` belongs to, from 0; -1 for no word.",
        ("batch", "target_time"),
    ),
    "copied_from": (
        "Source position that each unknown token copies, from 0; -1 if it copies none.",
        ("batch", "target_time"),
    ),
    "finished": ("1 if the text ends with its end token, else 0.", ("batch",)),
    "tokens": ("The token chosen last; 2 at the start.", ("batch",)),
    "log_probs": ("The logarithm of each next token's probability.", ("batch", "vocabulary")),
    "weights": ("Attention weight of each source position in this step.", ("batch", "source_time")),
}
_BETWEEN = (
    "Output of `encode` or `decode_step`, and input of the next `decode_step`. A mask is 1 at "
    "real positions, else 0.",
    (),
)


def describe(model, card, features):
    """Return the `ModelMetadata` of a pipeline."""
    sides = {}
    for side, name in card["vocabularies"].items():
        sides.setdefault(name, []).append(side)
    files = {
        name: AssociatedFile(
            name, f"SentencePiece model of the {' and the '.join(names)}.", VOCABULARY
        )
        for name, names in sides.items()
    }
    source_files = tuple(file for name, file in files.items() if set(sides[name]) != {"target"})
    target_files = (files[card["vocabularies"]["target"]],)
    used = {next(iter(features)): source_files, "ids": target_files, "prefix": target_files}
    verb = card["verb"]
    signatures = {
        verb: "The best text that the search finds.",
        f"{verb}_greedy": "The text with the best token at each step.",
        f"{verb}_nbest": "The best few texts that the search finds, best first.",
        f"{verb}_prefix": "The best few texts that begin with given tokens, best first.",
        **_SIGNATURES,
    }
    about = AssociatedFile(CARD, "Versions, limits, search options, sha256, parity.", DESCRIPTIONS)
    return ModelMetadata(
        name=f"keras_bahdanau {verb}",
        description=f"Maps a source of up to {card['max_source_length']} positions to up "
        f"to {card['max_target_length']} tokens with their attention weights. "
        f"Main signature: {verb}. Weights: {card['quantization']}{_trained(card)}.",
        version=__version__,
        subgraph_metadata=tuple(
            subgraphs(model, signatures, {**_TENSORS, **features}, _TENSORS, used)
        ),
        associated_files=(about, *files.values()),
    )


def _trained(card):
    if not card.get("quantization_aware"):
        return ""
    bits = {"int8": 8, "int4": 4}[card.get("trained_for", "int8")]
    return f", from a model trained with {bits}-bit weights"


def subgraphs(model, descriptions, inputs, outputs, used):
    """Yield one record per subgraph, up to the last one that a signature names.

    `inputs` and `outputs` map names of tensors to pairs (description, names of axes). `used` maps
    names of tensors to the `AssociatedFile` objects that explain their values.
    """
    signatures = {
        signature.SubgraphIndex(): signature for signature in entries_of(model, "SignatureDefs")
    }
    for index in range(max(signatures) + 1):
        if index not in signatures:
            yield SubGraphMetadata()
            continue
        signature, graph = signatures[index], model.Subgraphs(index)
        name = signature.SignatureKey().decode()
        yield SubGraphMetadata(
            name=name,
            description=descriptions[name],
            input_tensor_metadata=_tensors(signature, graph, "Inputs", inputs, used),
            # an output may have the name of an input, such as `lengths`
            output_tensor_metadata=_tensors(signature, graph, "Outputs", outputs, used),
        )


def _tensors(signature, graph, kind, tensors, used):
    """Return records in the order of the subgraph, which may differ from the signature's order."""
    names = {}
    for part in entries_of(signature, kind):
        names.setdefault(part.TensorIndex(), []).append(part.Name().decode())
    return tuple(
        _tensor(names[index].pop(0), graph.Tensors(index).ShapeLength(), tensors, used)
        for index in entries_of(graph, kind)  # the same tensor may be two outputs
    )


def _tensor(name, rank, tensors, used):
    description, axes = tensors.get(name, _BETWEEN)
    if axes and len(axes) == rank - 1:  # one row for each hypothesis
        axes = (*axes[:1], "beam", *axes[1:])
    axes = axes if len(axes) == rank else ()
    return TensorMetadata(name, description, axes, used.get(name, ()))
