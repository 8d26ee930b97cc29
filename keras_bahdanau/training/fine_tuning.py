"""Fine-tuning: the vocabularies and weights of the initial model, and the parts to freeze."""

import copy
import dataclasses
import os

import keras
import numpy as np

from keras_bahdanau.layers import SelfAttentionCell
from keras_bahdanau.models import Seq2Seq
from keras_bahdanau.pipelines.archive import read_card
from keras_bahdanau.pipelines.file import read_pipeline
from keras_bahdanau.sources.text_source import changed_sides, source_of
from keras_bahdanau.text.vocabulary_update import appended, parts_of
from keras_bahdanau.training.vocabularies import report_split


class Adaptation:
    """A trained model from which a new training run starts.

    The run gets its weights, vocabularies and search options. A piece that is in both the old and
    the new vocabulary keeps its row of weights bit for bit. A new piece gets the mean of the rows
    of the pieces that the old vocabulary splits it into. If there are no such pieces, as for a new
    letter, it keeps the value from the initializer. The optimizer starts without the old momentum.

    `card` contains everything about the old model that a run needs to resume without its file.
    """

    def __init__(self, initial):
        parts = read_pipeline(initial.path, "float32")
        self.source, self.model, self.target, search, metrics = parts
        if not isinstance(self.model, Seq2Seq):
            raise ValueError(
                "A training run must start from a single model. Received: "
                f"{str(initial.path)!r} with an {type(self.model).__name__}. Give one of its "
                "models."
            )
        has_options = initial.options is not None
        self.card = {
            "path": os.path.abspath(initial.path),  # without "..": see `initial_model`
            "inputs": initial.inputs,
            "search": dataclasses.asdict(search),
            "metrics": metrics,
            "model": None if has_options else self.model.get_config(),
            "training": read_card(initial.path).get("training"),
            "cached_steps": _cached_steps(self.model),
        }

    def sides(self, plan, texts, say=print):
        """Return the source and target of the fine-tuned model; None if still to be learned.

        If the vocabularies are updated, the new pieces come from `texts`, a list of (input, text),
        and each symbol in the plan becomes a single token of the source. `say` reports the number
        of new pieces or, if the vocabularies are kept, the symbols that are split into pieces.
        """
        options, symbols, source, target = plan.options, plan.symbols, plan.source, plan.target
        if options.update_vocabulary == "replace":
            if source is not None:
                return source_of(source), target
            return (self.source if self.source.subwords is None else None), target
        for name, _, _ in changed_sides((self.source, self.target), (source, target)):
            raise ValueError(
                f"A model that is fine-tuned keeps its source and target. Received: another "
                f"{name}. Leave it out, or use another vocabulary with "
                "update_vocabulary='replace'."
            )
        if options.update_vocabulary == "none":
            remedy = "update_vocabulary='append' makes each of them a single token"
            report_split(symbols, self.source, remedy, say)
            return self.source, self.target
        most = options.appended_pieces
        target_texts = [text for _, text in texts]
        subwords = self.source.subwords
        if subwords is None:
            source, target = self.source, appended(self.target, target_texts, most)
        elif subwords == self.target:
            both = [text for pair in texts for text in pair]
            target = appended(self.target, both, most, symbols)
            source = self.source.replace_subwords(target)
        else:
            source_texts = [text for text, _ in texts]
            source = self.source.replace_subwords(appended(subwords, source_texts, most, symbols))
            target = appended(self.target, target_texts, most)
        new = source.size - self.source.size, target.vocabulary_size - self.target.vocabulary_size
        say(f"{new[0]:,} new tokens in the source, {new[1]:,} in the target")
        return source, target

    def give_weights(self, model, source, target):
        before, after = self.model.weights, model.weights
        rows = _rows(model, self.source.subwords, source.subwords, self.target, target)
        values = []
        for weight, old in zip(after, before, strict=False):
            axis, parts = rows.get(id(weight), (0, None))
            new, old = keras.ops.convert_to_numpy(weight), keras.ops.convert_to_numpy(old)
            values.append(old if parts is None else _moved(old, new, axis, parts))
        if len(before) != len(after) or any(
            value.shape != tuple(weight.shape) for value, weight in zip(values, after, strict=True)
        ):
            raise ValueError(
                "A model that is fine-tuned must have the same layers as the old one. Received: "
                f"{len(after)} weights and {len(before)} old ones, or weights of other shapes. "
                "Leave out model options; shared embeddings need a joint vocabulary."
            )
        for weight, value in zip(after, values, strict=True):
            weight.assign(value)


def resized(config, source, target, steps=0):
    """Create a model from the config of an old one, with the sizes of new vocabularies.

    The cache of a self-attention decoder holds at least `steps` steps. No weight depends on this.
    """
    config = copy.deepcopy(config)
    encoder, decoder = config["encoder"]["config"], config["decoder"]["config"]
    decoder["vocabulary_size"] = target.vocabulary_size
    if source.subwords is not None:
        encoder["front_end"]["config"]["vocabulary_size"] = source.size
    if encoder.get("symbols") is not None:
        encoder["symbols"] = source.symbols(target)
    for part in ("encoder", "decoder"):
        config[part].pop("build_config", None)  # it may record the old sizes
    pattern = decoder["cell"]["config"]["cell"]  # config of the cell in each layer, or a name
    if isinstance(pattern, dict) and pattern["class_name"] == SelfAttentionCell.__name__:
        pattern["config"]["length"] = max(pattern["config"]["length"], steps)
    return Seq2Seq.from_config(config)


def _cached_steps(model):
    """Return the number of steps in the cache of a self-attention decoder; 0 for others."""
    cells = model.decoder.cell.stack.cells
    return max((cell.length for cell in cells if isinstance(cell, SelfAttentionCell)), default=0)


def freeze(model, names):
    """Freeze parts of a built model.

    `names` is a string of names separated by commas: of weights, of layers ("encoder", "attention",
    "embeddings"), or paths ("decoder/cell"). A shared embedding belongs to the encoder. Running
    means of features are still updated.
    """
    for name in filter(None, names.split(",")):
        weights = [weight for weight in model.weights if f"/{name}/" in f"/{_path(weight)}/"]
        if not weights:
            parts = {part for weight in model.weights for part in _path(weight).split("/")}
            raise ValueError(
                f"A part to freeze must be one of {', '.join(sorted(parts))}, or a path such as "
                f"decoder/cell. Received: freeze={names!r}, with {name!r}."
            )
        for weight in weights:
            weight.trainable = False
    if not model.trainable_variables:
        raise ValueError(
            "At least one part of the model must not be frozen. "
            f"Received: freeze={names!r}. Leave out one of the names."
        )


def _path(weight):
    """Return the path of a weight without the model's name, as "decoder/embedding/embeddings"."""
    return weight.path.partition("/")[2]


def _rows(model, *vocabularies):
    """Return a dictionary from the id of a weight to (token axis, `parts_of` its vocabulary)."""
    old_source, source, old_target, target = vocabularies
    rows = {}
    if source is not None and source != old_source:
        rows[id(model.encoder.front_end.embedding.embeddings)] = 0, parts_of(old_source, source)
    if target != old_target:
        parts = parts_of(old_target, target)
        rows[id(model.decoder.embedding.embeddings)] = 0, parts
        for layer in filter(None, (model.decoder.output_layer, model.ctc_layer)):
            rows[id(layer.kernel)] = 1, parts  # (units, vocabulary)
            rows[id(layer.bias)] = 0, parts
    return rows


def _moved(old, new, axis, parts):
    """Return new values, where the row of a token is the mean of the old rows of its parts."""
    old, new = np.moveaxis(old, axis, 0), np.moveaxis(new, axis, 0).copy()
    if new.shape != (len(parts), *old.shape[1:]):
        return old  # whose shape is wrong, which the caller reports
    for number, ids in enumerate(parts):
        if ids:
            new[number] = old[ids].mean(axis=0)
    return np.moveaxis(new, 0, axis)
