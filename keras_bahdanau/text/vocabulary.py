"""Training and checking of SentencePiece models."""

import io
import re

import sentencepiece

from keras_bahdanau.settings.guesses import nearest
from keras_bahdanau.settings.limits import MOST_TOKENS
from keras_bahdanau.text.graphemes import DECOMPOSED, add_decomposition, composes, decomposed

PAD, UNKNOWN, START, END = 0, 1, 2, 3
NO_WORD = "\u2047"  # ⁇, SentencePiece's text for an unknown token

_RESERVED = ("<pad>", "<unk>", "<s>", "</s>")
_MODEL_TYPES = ("bpe", "unigram", "char", "grapheme", "word")
_NORMALIZATIONS = ("nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity", "none", DECOMPOSED)
# settings with which a character vocabulary leaves text unchanged, including every space
_KEEPS_SPACES = {"add_dummy_prefix": False, "remove_extra_whitespaces": False}
_LONGEST_SENTENCE = 2**30  # bytes; SentencePiece's maximum: it drops longer sentences


def training_settings(
    vocabulary_size, model_type, character_coverage, normalization, symbols
) -> dict:
    """Check the settings of `Subwords.train` and return them under SentencePiece's names."""
    _check_choice("model_type", model_type, _MODEL_TYPES)
    _check_choice("normalization", normalization, _NORMALIZATIONS)
    if not isinstance(vocabulary_size, int) or not END + 1 < vocabulary_size <= MOST_TOKENS:
        raise ValueError(
            "`vocabulary_size` must be an integer above 4, the number of special tokens, and at "
            f"most {MOST_TOKENS}. Received: vocabulary_size={vocabulary_size!r}"
        )
    if not 0.98 <= character_coverage <= 1:  # SentencePiece's own limits
        raise ValueError(
            "`character_coverage` must be from 0.98 to 1. "
            f"Received: character_coverage={character_coverage!r}"
        )
    keeps_spaces = normalization in ("none", DECOMPOSED) and model_type in ("char", "grapheme")
    return {
        "vocab_size": vocabulary_size,
        "model_type": model_type,
        "character_coverage": character_coverage,
        "normalization_rule_name": "identity" if normalization == "none" else normalization,
        "user_defined_symbols": symbol_forms(symbols, model_type, keeps_spaces),
        **(_KEEPS_SPACES if keeps_spaces else {}),
    }


def checked_symbols(symbols) -> list:
    """Return symbols as a list. Raises ValueError unless they are distinct and each `is_symbol`."""
    listed = None if isinstance(symbols, str | bytes) else list(symbols)
    if listed is None or not all(map(is_symbol, listed)) or len(set(listed)) < len(listed):
        raise ValueError(
            "`symbols` must be distinct UTF-8 strings without white space or `▁`, and not one of "
            f"{', '.join(_RESERVED)}. Received: symbols={symbols!r}"
        )
    return listed


def is_symbol(value) -> bool:
    """Return True for a symbol: one word, without `▁`, that is not a special token."""
    if not isinstance(value, str) or value in _RESERVED:
        return False
    if value != value.encode(errors="ignore").decode():  # undecodable bytes from a command line
        return False
    return value.split() == [value] and "▁" not in value


def symbol_forms(symbols, model_type, keeps_spaces):
    """Return the two forms of each symbol in SentencePiece: inside a word and at its start.

    Without the second form, the mark `▁` before a symbol would be a separate token. With
    `keeps_spaces`, the second form includes the space after the symbol instead. A word model needs
    only the first form.
    """
    symbols = checked_symbols(symbols)
    if model_type == "word":
        return symbols
    second = "{}▁" if keeps_spaces else "▁{}"
    return [form for symbol in symbols for form in (symbol, second.format(symbol))]


def train_model(sentences, name: str, settings: dict, exact: bool = True) -> bytes:
    """Train a SentencePiece model and return its bytes.

    Unless `exact` is True, the model may have fewer tokens than requested.
    """
    sentences = list(sentences)
    wrong = [sentence for sentence in sentences if not isinstance(sentence, str | bytes)]
    if wrong:
        raise TypeError(
            f"A vocabulary must be learned from strings. Received: {wrong[0]!r:.80} in the {name}. "
            "Remove missing values."
        )
    sentences = [sentence for sentence in sentences if sentence.strip()]
    if settings["normalization_rule_name"] == DECOMPOSED:
        parts = [decomposed(sentence) for sentence in sentences]
        symbols = [decomposed(symbol) for symbol in settings["user_defined_symbols"]]
        changed = {"normalization_rule_name": "identity", "user_defined_symbols": symbols}
        model = train_model(parts, name, {**settings, **changed}, exact)
        return add_decomposition(model, {*"".join(symbols)}.union(*parts))
    if not sentences:
        raise ValueError(
            f"Training a vocabulary needs text. Received: only empty sentences in the {name}. "
            "Pass sentences that contain words."
        )
    least = END + 1 + len(settings["user_defined_symbols"])
    if settings["vocab_size"] <= least:
        raise _size_error("at least", least + 1, name, settings)
    try:
        model = _trained(sentences, settings)
    except RuntimeError as error:
        too_large = re.search(r"Vocabulary size too high .*<= (\d+)", str(error))
        if not too_large:
            raise _training_error(str(error), name, settings) from None
        largest = int(too_large[1])
        model = None if exact else _trained(sentences, {**settings, "vocab_size": largest})
    else:
        largest = check_model(model, "model")  # SentencePiece raises no error for char
    if exact and largest < settings["vocab_size"]:
        raise _size_error("at most", largest, name, settings)
    return model


def _trained(sentences, settings):
    if settings["model_type"] == "grapheme":
        return _trained(*_add_clusters(sentences, settings))
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences),
        model_writer=model,
        pad_id=PAD,
        unk_id=UNKNOWN,
        bos_id=START,
        eos_id=END,
        max_sentence_length=_LONGEST_SENTENCE,
        minloglevel=3,
        **settings,
    )
    return model.getvalue()


def _add_clusters(sentences, settings):
    """Return (sentences, settings) with frequent grapheme clusters as symbols.

    Other clusters are split into characters, which are all in the returned sentences.
    """
    from keras_bahdanau.text.graphemes import frequent_clusters  # loads regex

    symbols = settings["user_defined_symbols"]
    clusters = frequent_clusters(sentences, settings["normalization_rule_name"])
    sentences = [*sentences, *sorted(set().union(*clusters))]
    settings = {**settings, "model_type": "char"}
    without = check_model(_trained(sentences, settings), "model")
    chosen = [cluster for cluster in clusters if cluster not in symbols][
        : settings["vocab_size"] - without
    ]
    return sentences, {**settings, "user_defined_symbols": [*symbols, *chosen]}


def _training_error(message, name, settings):
    too_small = re.search(r"smaller than required_chars\. \d+ vs (\d+)", message)
    if too_small:
        return _size_error("at least", int(too_small[1]), name, settings)
    summary = {**settings, "user_defined_symbols": len(settings["user_defined_symbols"])}
    return ValueError(
        f"SentencePiece could not train a vocabulary from the {name}. "
        f"Received: settings={summary}. It reported: {message}"
    )


def _size_error(relation, size, name, settings):
    return ValueError(
        f"`vocabulary_size` must be {relation} {size} for this {name} with "
        f"model_type={settings['model_type']!r}. "
        f"Received: vocabulary_size={settings['vocab_size']}. "
        f"Set it to {relation} {size}" + (", or use more text." if relation == "at most" else ".")
    )


def check_model(model: bytes, name: str) -> int:
    """Return the vocabulary size of a serialized model.

    Raises TypeError unless `model` is bytes, and ValueError if it is not a SentencePiece model or
    its special ids are different.
    """
    if not isinstance(model, bytes):
        raise TypeError(
            f"`{name}` must be the bytes of a SentencePiece model. "
            f"Received: {name} of type {type(model).__name__}. Read the file with 'rb'."
        )
    processor = sentencepiece.SentencePieceProcessor()
    try:
        loaded = bool(model) and processor.LoadFromSerializedProto(model)
    except RuntimeError:
        loaded = False
    if not loaded:
        raise ValueError(
            f"`{name}` must be a complete serialized SentencePiece model. "
            f"Received: {len(model)} bytes that are not one. Train a model with Subwords.train."
        )
    ids = (processor.pad_id(), processor.unk_id(), processor.bos_id(), processor.eos_id())
    if ids != (PAD, UNKNOWN, START, END):
        raise ValueError(
            f"The padding, unknown, start and end ids of `{name}` must be 0, 1, 2 and 3. "
            f"Received: {', '.join(map(str, ids))} (-1 means absent). Train the model with "
            "pad_id=0, unk_id=1, bos_id=2, eos_id=3, or with Subwords.train."
        )
    return processor.vocab_size()


def drop_normalization(model: bytes) -> bytes:
    """Remove the Unicode table, about 240 kB, from a model that only writes text."""
    from sentencepiece import sentencepiece_model_pb2  # loads protobuf

    proto = sentencepiece_model_pb2.ModelProto.FromString(model)
    proto.normalizer_spec.name = "identity"
    proto.normalizer_spec.ClearField("precompiled_charsmap")
    return proto.SerializeToString(deterministic=True)


def drop_composition(model: bytes) -> bytes:
    """Remove the table that composes written text, about 120 kB for Hangul, from a model."""
    from sentencepiece import sentencepiece_model_pb2

    if not composes(model):
        return model
    proto = sentencepiece_model_pb2.ModelProto.FromString(model)
    proto.ClearField("denormalizer_spec")
    return proto.SerializeToString(deterministic=True)


def _check_choice(name, value, choices):
    if value not in choices:
        raise ValueError(
            f"`{name}` must be one of {', '.join(choices)}. Received: {name}={value!r}"
            f"{nearest(value, choices)}"
        )
