"""Vocabularies made from the words of an old program, for translating with a migrated model."""

import copy

import keras
import numpy as np

from keras_bahdanau.models import Seq2Seq
from keras_bahdanau.pipelines import Translator
from keras_bahdanau.text.subwords import Subwords
from keras_bahdanau.text.vocabulary import END, PAD, START, UNKNOWN

NEVER = -1e4  # logit of a token that the old program does not have: exp(NEVER) is 0 in float32


def to_translator(
    model, source_words, target_words, *, start="<start>", end="<end>", unknown=None, search=None
):
    """Return a `Translator` for a migrated model, with the words of the old program.

    The vocabularies have one token per word. Padding, the unknown word, start and end get the ids
    0, 1, 2 and 3. For this, the rows of the embeddings and of the output layer are reordered in a
    new model, which predicts the same probabilities. Preprocess texts as the old program did, for
    example to lowercase with spaces around punctuation, and separate words by spaces. The end token
    is added to sources automatically, but the start token must be written as a word.

    ```python
    words = ["", *tokenizer.index_word.values()]  # with Keras' Tokenizer
    words = layer.get_vocabulary()  # with TextVectorization
    translator = kb.migrate.to_translator(model, words, words_of_target)
    translator.translate(["<start> hace mucho frio aqui ."])[0].text
    ```

    Args:
        model: `Seq2Seq` from `from_addons` or `from_tutorial`.
        source_words: List of strings. The word of each source id, starting with padding; "" for an
            id without a word.
        target_words: List of strings. The word of each target id, in the same form.
        start: String. First word of every target.
        end: String. Last word of every source and target.
        unknown: String. Word that represents unknown words, or None.
        search: `SearchOptions`; None for the defaults.

    Raises ValueError if the number of words differs from the number of ids, if a word is repeated
    or invalid, or if `start`, `end` or `unknown` is missing.
    """
    source_words, target_words = list(source_words), list(target_words)
    source_size = model.source_limits.size
    source_ids = _ids_of("source_words", source_words, source_size, (unknown, None, end))
    target_ids = _ids_of(
        "target_words", target_words, model.target_vocabulary_size, (unknown, start, end)
    )
    source = _vocabulary(source_words, source_ids)
    target = _vocabulary(target_words, target_ids)
    renumbered = _resized(model, len(source_ids), len(target_ids))
    decoder, output = renumbered.decoder, renumbered.decoder.output_layer
    moved = {  # (axis of the ids, old ids, value for a new id)
        id(renumbered.encoder.front_end.embedding.embeddings): (0, source_ids, 0.0),
        id(decoder.embedding.embeddings): (0, target_ids, 0.0),
        id(output.kernel): (1, target_ids, 0.0),
        id(output.bias): (0, target_ids, NEVER),
    }
    for weight, previous in zip(renumbered.weights, model.weights, strict=True):
        array = keras.ops.convert_to_numpy(previous)
        weight.assign(_moved(array, *moved[id(weight)]) if id(weight) in moved else array)
    return Translator(source, renumbered, target, search)


def _resized(model, source_size, target_size):
    config = copy.deepcopy(model.get_config())
    for part in ("encoder", "decoder"):
        config[part].pop("build_config", None)  # it may contain the old sizes
    config["encoder"]["config"]["front_end"]["config"]["vocabulary_size"] = source_size
    config["decoder"]["config"]["vocabulary_size"] = target_size
    resized = Seq2Seq.from_config(config)
    resized.build()
    return resized


def _ids_of(name, words, size, special):
    """Return the old id, or None, of each new id; `special` are the words for the ids 1, 2, 3."""
    present = [word for word in words if word]
    if len(words) != size or len(set(present)) < len(present):
        raise ValueError(
            f"`{name}` must contain a different word for each of the {size} ids of the model. "
            f"Received: {len(words)} words, of which {len(set(present))} are different. Put "
            'padding first, and use "" for an id without a word.'
        )
    broken = [word for word in present if word.split() != [word] or "▁" in word]
    if broken:
        raise ValueError(
            f"`{name}` must be words without whitespace or `▁`. Received: {broken[0]!r}. Use "
            '"" for this id.'
        )
    missing = [word for word in special if word is not None and word not in present]
    if missing:
        raise ValueError(
            f"`{name}` must contain the words `start`, `end` and `unknown`. Received: "
            f"{name} without {missing[0]!r}, beginning with {words[:5]}. Set these arguments to "
            "words of the old program."
        )
    fixed = [PAD, *(None if word is None else words.index(word) for word in special)]
    return [*fixed, *(index for index in range(size) if index not in fixed)]


def _vocabulary(words, ids):
    """Return `Subwords` of whole words: first the special tokens, then the other words by id."""
    from sentencepiece import sentencepiece_model_pb2  # this import loads protobuf

    proto = sentencepiece_model_pb2.ModelProto()
    trainer = proto.trainer_spec
    trainer.model_type, trainer.vocab_size = trainer.WORD, len(ids)
    trainer.pad_id, trainer.unk_id, trainer.bos_id, trainer.eos_id = PAD, UNKNOWN, START, END
    proto.normalizer_spec.name = "identity"
    kinds = {"<pad>": "CONTROL", "<unk>": "UNKNOWN", "<s>": "CONTROL", "</s>": "CONTROL"}
    ordinary = {f"▁{words[index] or f'<{index}>'}": "NORMAL" for index in ids[END + 1 :]}
    for text, kind in {**kinds, **ordinary}.items():
        piece = proto.pieces.add()
        piece.piece, piece.type = text, piece.Type.Value(kind)
    return Subwords(proto.SerializeToString(deterministic=True))


def _moved(array, axis, ids, value):
    """Reorder the ids along an axis of an array; new ids get `value`."""
    old = np.moveaxis(array, axis, 0)
    empty = np.full_like(old[0], value)
    return np.moveaxis(np.stack([empty if index is None else old[index] for index in ids]), 0, axis)
