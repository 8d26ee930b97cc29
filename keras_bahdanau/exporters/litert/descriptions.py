"""Descriptions of an exported LiteRT file and its signatures, for the standard metadata."""

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
from keras_bahdanau.exporters.litert.tflite_file import SOURCE, TARGET, entries_of

_SIGNATURES = {
    "translate": "The best translation that the search finds.",
    "translate_greedy": "The translation that takes the best token at each step.",
    "encode": "What `decode_step` needs, before the first token.",
    "decode_step": "One target token, for hosts that choose each one themselves.",
}
_TENSORS = {  # name: (description, axes)
    "source": (
        "Ids of the sentence, the end token 3 behind them, then 0.",
        ("batch", "source_time"),
    ),
    "ids": ("Ids of the translation, up to `length`.", ("batch", "target_time")),
    "length": ("How many of `ids` count, the end token 3 included.", ("batch",)),
    "score": ("log p / length^a: the nearer to 0, the better.", ("batch",)),
    "alignment": (
        "How much each target token looked at each source token.",
        ("batch", "target_time", "source_time"),
    ),
    "finished": ("1 if the translation ended by itself, else 0.", ("batch",)),
    "tokens": ("The token chosen last; 2 at the start.", ("batch",)),
    "log_probs": ("The logarithm of each next token's probability.", ("batch", "vocabulary")),
    "weights": ("How much this step looked at each source token.", ("batch", "source_time")),
}
_BETWEEN = (
    "Given by `encode` or the last `decode_step`, taken by the next; a mask is 1 where "
    "something is real, else 0.",
    (),
)


def describe(model, card, files):
    """The `ModelMetadata` of a translator.

    Args:
        model: The `Model` that LiteRT's schema reads from the file.
        card: Dictionary, the file's card.
        files: Names of the files that are packed beside it.
    """
    vocabulary = {
        name: AssociatedFile(name, f"SentencePiece model of the {side}.", VOCABULARY)
        for name, side in zip(files, _sides(files), strict=True)
    }
    used = {"source": (vocabulary[SOURCE],), "ids": (vocabulary.get(TARGET, vocabulary[SOURCE]),)}
    about = AssociatedFile(CARD, "Versions, limits, search options, sha256, parity.", DESCRIPTIONS)
    return ModelMetadata(
        name="keras_bahdanau translator",
        description=f"Translates a sentence of up to {card['max_source_length']} tokens into up to "
        f"{card['max_target_length']}, and says what it looked at. Main signature: translate. "
        f"Weights: {card['quantization']}.",
        version=__version__,
        subgraph_metadata=tuple(_subgraphs(model, used)),
        associated_files=(about, *vocabulary.values()),
    )


def _sides(files):
    return ["source language", "target language"] if TARGET in files else ["two languages"]


def _subgraphs(model, used):
    """One record a subgraph, up to the last that a signature names."""
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
            description=_SIGNATURES[name],
            input_tensor_metadata=_tensors(signature, graph, "Inputs", used),
            output_tensor_metadata=_tensors(signature, graph, "Outputs", used),
        )


def _tensors(signature, graph, kind, used):
    """A tuple of records in the order of the subgraph, which need not be the signature's."""
    names = {}
    for part in entries_of(signature, kind):
        names.setdefault(part.TensorIndex(), []).append(part.Name().decode())
    return tuple(
        _tensor(names[index].pop(0), graph.Tensors(index).ShapeLength(), used)
        for index in entries_of(graph, kind)  # one tensor may be two outputs
    )


def _tensor(name, rank, used):
    description, axes = _TENSORS.get(name, _BETWEEN)
    axes = axes if len(axes) == rank else ()
    return TensorMetadata(name, description, axes, used.get(name, ()))
