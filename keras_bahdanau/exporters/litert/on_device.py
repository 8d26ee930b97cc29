"""An exported LiteRT file at work: text in, text and alignment out, without TensorFlow.

This module needs `ai-edge-litert`, `sentencepiece` and NumPy only, and nothing
else of this package: copied beside a .tflite file, it runs as it is.
"""

import hashlib
import json
import os
import re
import struct
import zipfile
import zlib
from typing import NamedTuple

import numpy as np
import sentencepiece

PAD, UNKNOWN, START, END = 0, 1, 2, 3
_ONE = {"lengths": "length", "scores": "score", "confidences": "confidence"}  # outputs of lists
_TOKENS = ("token_log_probs", "token_entropies", "token_words")  # which older files lack
_SEAL = 64  # bytes at the end of a file
_MOST_POSITIONS = 100_000  # of a source
_KERAS_WEIGHTS = "model.weights.h5"  # in each .keras file
_COPY = 512  # bytes of an unknown token that are copied
_NO_COPY = "\u2047"  # ⁇, as SentencePiece writes an unknown token
# the mark of a word's beginning, white space of ASCII, and Unicode's separators
_SPACE = re.compile("[▁\t\n\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
_ASCII_SPACE = " \t\n\v\f\r"
_UNREADABLE = (  # errors of `zipfile` and `json` on damaged content
    *(EOFError, IndexError, NotImplementedError, OSError, OverflowError, RuntimeError),
    *(ValueError, struct.error, zipfile.BadZipFile, zlib.error),
)


class OnDeviceTranslation(NamedTuple):
    """One translation; the fields of `keras_bahdanau.Translation`, and the words of its tokens.

    `token_words`, int32 `(len(target_tokens),)`, has the number of the word of each target token,
    from 0, and -1 for tokens of none, such as the end token.
    """

    text: str
    score: float
    source_tokens: list
    target_tokens: list
    alignment: np.ndarray
    finished: bool
    token_log_probs: np.ndarray | None = None
    token_entropies: np.ndarray | None = None
    confidence: float | None = None
    token_words: np.ndarray | None = None


class OnDevicePipeline:
    """A .tflite file that `export_litert` wrote: features of one input in, text out.

    ```python
    pipeline = OnDevicePipeline("digits.tflite")
    features = {"values": frames, "lengths": len(frames)}  # frames: float32 (time, size)
    print(pipeline.decode(features, [str(number) for number in range(len(frames))]).text)
    ```

    Args:
        path: Path of the file.
        threads: Positive integer. Processor threads to use.
        greedy: True to take the best token at each step in `decode`, instead of the search of
            the file.

    Attributes:
        card: Dictionary, the card of the file.
        files: Dictionary from the names of the files packed in it to their bytes.
        most: Integer, the most texts that `decode_nbest` gives: the beam width of the file's
            search, or 1 if its export left the signatures for more out.
        longest_prefix: Integer, the most tokens of a prefix; 0 if it left that signature out.
        reduction: Integer, the number of positions of the source for each column of an alignment:
            1, but of encoders that join some, such as "pyramidal".

    Raises:
        ImportError: If `ai-edge-litert` is not installed.
        OSError: If the file can't be read.
        ValueError: If the file holds no vocabulary, is not as it was exported, holds what the
            installed packages can't load, or lacks the greedy search that is asked for.
    """

    def __init__(self, path, threads=1, greedy=False):
        try:
            from ai_edge_litert.interpreter import Interpreter
        except ImportError:
            raise ImportError(
                "Running a .tflite file needs the package ai-edge-litert. Received: an environment "
                "without it. Install it: pip install 'keras-bahdanau[litert]'"
            ) from None
        self._path = str(path)
        self.card, self.files = _unpack(path)
        self.reduction = self.card.get("reduction", 1)
        self._target = self.vocabulary("target")
        copies = self.card.get("search", {}).get("replace_unknown")
        self._copied_from = self.vocabulary("source") if copies else None
        verb = self.card["verb"]
        try:
            self._interpreter = Interpreter(model_path=str(path), num_threads=threads)
            found = self._interpreter.get_signature_list()
            name = f"{verb}_greedy" if greedy else verb
            lacks_greedy = greedy and name not in found
            self._run = None if lacks_greedy else self._interpreter.get_signature_runner(name)
            self._listing, self._completing = (
                self._interpreter.get_signature_runner(name) if name in found else None
                for name in (f"{verb}_nbest", f"{verb}_prefix")
            )
            lists, given = self._listing or self._completing, self._completing
            self.most = int(lists.get_output_details()["ids"]["shape"][1]) if lists else 1
            prefix = given and given.get_input_details()["prefix"]["shape"][1]
            self.longest_prefix = int(prefix or 0)
        except (IndexError, KeyError, RuntimeError, ValueError) as error:
            raise ValueError(
                "A .tflite file must hold a model that LiteRT can load. Received: "
                f"path={self._path!r} ({error}). Install a newer ai-edge-litert, or export again."
            ) from None
        if lacks_greedy:
            raise ValueError(
                "A file must have a signature for greedy search. Received: "
                f"path={self._path!r} without it. Export it with the signature greedy."
            )

    def vocabulary(self, side):
        """The SentencePiece processor of a side, "source" or "target".

        Raises:
            ValueError: If the file has none, as only the source of a translator is text; or if
                SentencePiece can't load it.
        """
        names = self.card["vocabularies"]
        if side not in names:
            raise ValueError(
                f"A file for text must hold the vocabulary of the {side}. "
                f"Received: vocabularies={names!r}. Give features to OnDevicePipeline.decode."
            )
        try:
            return sentencepiece.SentencePieceProcessor(model_proto=self.files[names[side]])
        except RuntimeError:
            raise ValueError(
                "A .tflite file must hold vocabularies that SentencePiece can load. Received: "
                f"path={self._path!r} with another {names[side]!r}. Export it again."
            ) from None

    def surfaces(self, text):
        """Parts of a text that unknown tokens of its answer may copy; () if the search copies none.

        Args:
            text: String, or bytes in UTF-8.

        Returns:
            List of strings, for each token of the text its part, without spaces.
        """
        if self._copied_from is None:
            return ()
        content = text.encode() if isinstance(text, str) else text
        pieces = self._copied_from.encode(content, out_type="proto").pieces
        found = (_cut(content[one.begin : one.end]).decode(errors="replace") for one in pieces)
        return [_SPACE.sub(" ", one).strip(_ASCII_SPACE) for one in found]

    def decode(self, features, labels, surfaces=()):
        """The best text for the features of one input.

        Args:
            features: Dictionary from the names of the inputs of the file to arrays, without a
                batch: `(source_time, ...)`, or a scalar such as a length. They are padded.
            labels: List of strings, the names of the real positions of the source.
            surfaces: Parts of the source that unknown tokens may copy, from `surfaces`.

        Returns:
            `OnDeviceTranslation`.

        Raises:
            ValueError: If an array has another shape or kind of numbers than the file was made
                for, or more positions.
        """
        result = self._answer(self._run, features)
        outputs = {name: output[0] for name, output in result.items()}
        return self._read(labels, outputs, surfaces)

    def decode_nbest(self, features, labels, nbest=None, prefix="", surfaces=()):
        """The best few texts for the features of one input, best first.

        A prefix is split into subwords and stays as it is; a character that the vocabulary lacks
        counts as unknown. An empty input has one text, which is empty, whatever the prefix.

        Args:
            features: As in `decode`.
            labels: Likewise.
            nbest: Integer, from 1 to `most`, which it is when left out.
            prefix: String that each text begins with; "" for none.
            surfaces: As in `decode`.

        Returns:
            List of `OnDeviceTranslation`: fewer where there are fewer hypotheses.

        Raises:
            ValueError: As in `decode`; or if `nbest` is out of range, the prefix has more tokens
                than the file was made for, or the file has not the signature.
        """
        nbest = self.most if nbest is None else nbest
        self.check_nbest(nbest)
        if nbest == 1 and not prefix:  # for which every file has a signature
            return [self.decode(features, labels, surfaces)]
        run, given = self._listing, {}
        if prefix or run is None:
            run, given = self._completing, self._prefix(prefix)
        outputs = self._answer(run, {**features, **given}).items()
        first, *others = (
            self._read(labels, {_ONE.get(name, name): row[0, k] for name, row in outputs}, surfaces)
            for k in range(self.most)
        )
        return [first, *(one for one in others if one.target_tokens)][:nbest]

    def check_nbest(self, nbest):
        """Raise ValueError if `nbest` is not from 1 to `most`."""
        if not isinstance(nbest, int) or not 1 <= nbest <= self.most:
            raise ValueError(
                f"`nbest` must be from 1 to {self.most} in this file. Received: nbest={nbest!r}. "
                "Give such a number, or export it with the signature nbest, or with a wider beam."
            )

    def check_prefix(self, prefix):
        """Raise ValueError if texts of this file can't begin with that; "" is no prefix."""
        if prefix:
            self._prefix(prefix)

    def _prefix(self, prefix):
        """The inputs of a prefix."""
        if self._completing is None:
            raise ValueError(
                "A file must have a signature for texts with a prefix. "
                f"Received: path={self._path!r} without it. Export it with the signature prefix."
            )
        ids = _encoded(self._target, prefix)
        if len(ids) > self.longest_prefix:
            raise ValueError(
                f"A prefix may have {self.longest_prefix} tokens in this file. Received: "
                f"{len(ids)} tokens in {prefix[:80]!r}. Shorten it, or export with a larger "
                "max_target_length."
            )
        return {"prefix": ids, "prefix_length": len(ids)}

    def _answer(self, run, features):
        """The outputs of a signature, for inputs without a batch."""
        details = run.get_input_details()
        tensors = {
            name: _padded(name, features.get(name), detail["shape"], detail["dtype"])
            for name, detail in details.items()
        }
        return run(**tensors)

    def _read(self, labels, outputs, surfaces):
        """The text in the outputs for one hypothesis, by name."""
        length, confidence = outputs["length"], outputs.get("confidence")
        target = outputs["ids"][:length].tolist()
        other = next((one for one in target if not 0 <= one < len(self._target)), None)
        if other is not None:
            raise ValueError(
                f"A model must give ids of its vocabulary. Received: {other}. Export it again."
            )
        alignment = outputs["alignment"][: len(target), : len(labels)]
        return OnDeviceTranslation(
            text=self._text(target, alignment, surfaces),
            score=float(outputs["score"]),
            source_tokens=list(labels),
            target_tokens=[
                "" if token == PAD else self._target.id_to_piece(token) for token in target
            ],
            alignment=alignment,
            finished=bool(outputs["finished"]),
            confidence=None if confidence is None else float(confidence),
            **{name: outputs[name][:length] for name in _TOKENS if name in outputs},
        )

    def _text(self, target, alignment, surfaces):
        """The text of ids; an unknown one stands for the character that it attends to."""
        kept = [place for place, one in enumerate(target) if one not in (PAD, START, END)]
        ids = [target[place] for place in kept]
        if not surfaces or UNKNOWN not in ids:
            return self._target.decode(ids)
        copied = surfaces[: alignment.shape[1] - 1]  # the end token stands behind them
        pieces = (
            _copy(alignment[place], copied) if one == UNKNOWN else self._target.id_to_piece(one)
            for place, one in zip(kept, ids, strict=True)
        )
        return re.sub("▁+", " ", "".join(pieces)).strip(_ASCII_SPACE)


class OnDeviceTranslator(OnDevicePipeline):
    """A translator from one .tflite file that `export_litert` wrote: text in, text out.

    ```python
    translator = OnDeviceTranslator("en-de.tflite")
    print(translator.translate(["A man in an orange hat."])[0].text)
    ```

    Arguments and errors: see `OnDevicePipeline`.
    """

    def __init__(self, path, threads=1, greedy=False):
        super().__init__(path, threads, greedy)
        self._source = self.vocabulary("source")

    def translate(self, sentences):
        """The best translation of each sentence.

        Args:
            sentences: List of strings.

        Returns:
            List of `OnDeviceTranslation`.

        Raises:
            ValueError: If a sentence has more tokens than the file was made for.
        """
        return [self.decode(*self._features(one), surfaces=self.surfaces(one)) for one in sentences]

    def translate_nbest(self, sentences, nbest=None, prefixes=None):
        """The best few translations of each sentence, best first: see `decode_nbest`.

        ```python
        (suggestions,) = translator.translate_nbest(["A man in a hat."], 3, prefixes=["Ein M"])
        ```

        Args:
            sentences: List of strings.
            nbest: Integer, from 1 to `most`, which it is when left out.
            prefixes: List of strings, one a sentence: the beginning of its translations; "" for
                a free one.

        Returns:
            List of lists of `OnDeviceTranslation`.

        Raises:
            ValueError: As in `translate` and `decode_nbest`, or if there are not as many prefixes
                as sentences.
        """
        prefixes = [""] * len(sentences) if prefixes is None else prefixes
        if len(prefixes) != len(sentences):
            raise ValueError(
                "`prefixes` must be as many as the sentences. "
                f"Received: {len(prefixes)} prefixes, {len(sentences)} sentences."
            )
        return [
            self.decode_nbest(*self._features(one), nbest, prefix, self.surfaces(one))
            for one, prefix in zip(sentences, prefixes, strict=True)
        ]

    def tokens(self, sentence):
        """The tokens of a sentence, a list of strings: with a `reduction` more than columns."""
        return [self._source.id_to_piece(token) for token in self._ids(sentence)]

    def _ids(self, sentence):
        ids = _encoded(self._source, sentence)
        return [*ids, END] if ids else []

    def _features(self, sentence):
        """The features of a sentence, and its tokens that an alignment has columns of."""
        ids = self._ids(sentence)
        longest = self.card["max_source_length"]
        if len(ids) > longest:
            raise ValueError(
                f"A sentence may have {longest} tokens in this file. Received: {len(ids)} tokens "
                f"in {sentence[:80]!r}. Split it, or export with a larger max_source_length."
            )
        groups = (
            ids[first : first + self.reduction] for first in range(0, len(ids), self.reduction)
        )
        return {"source": ids}, [self._label(group) for group in groups]

    def _label(self, ids):
        """The name of a position: its tokens, and the end token where it is alone."""
        named = [ids[0], *(token for token in ids[1:] if token != END)]
        return "".join(self._source.id_to_piece(token) for token in named)


def _cut(content):
    """The first bytes of a text, without half a character at the end."""
    if len(content) <= _COPY:
        return content
    inside = 0  # bytes of a character that begins before the limit
    while inside < 4 and content[_COPY - inside] & 0xC0 == 0x80:
        inside += 1
    return content[: _COPY - inside % 4]


def _copy(weights, surfaces):
    """The surface with the highest weight; ⁇ if that is the end, a space, or of weight 0."""
    place = int(np.argmax(weights))
    attends = weights[place] > 0 and place < len(surfaces)
    return attends and surfaces[place] or _NO_COPY


def _encoded(vocabulary, text):
    """The ids of a text: a string, or bytes that need not be valid UTF-8."""
    try:
        return vocabulary.encode(text.encode() if isinstance(text, str) else text)
    except UnicodeEncodeError:
        raise ValueError(
            "A text must be one that UTF-8 can encode, without surrogates. "
            f"Received: {text[:80]!r}. Decode its bytes anew."
        ) from None


def _padded(name, array, shape, dtype):
    """An array with a batch of 1, padded with 0 to a shape `(1, [source_time, ...])`."""
    tensor, array = np.zeros(shape, dtype), np.asarray(array)
    if array.shape[1:] != tensor.shape[2:] or array.ndim != tensor.ndim - 1:
        demand = ", ".join(["positions", *map(str, shape[2:])][: len(shape) - 1])
        raise ValueError(
            f"`{name}` must have the shape ({demand}) in this file. "
            f"Received: {array.dtype} of the shape {array.shape}."
        )
    if array.size and not np.can_cast(array.dtype, dtype, "same_kind"):
        raise ValueError(
            f"`{name}` must hold numbers that fit {np.dtype(dtype)}. Received: {array.dtype}."
        )
    if not array.ndim:
        tensor[0] = array
        return tensor
    if len(array) > shape[1]:
        raise ValueError(
            f"A source may have {shape[1]} positions in this file. Received: {len(array)}. "
            "Split it, or export with a larger max_source_length."
        )
    tensor[0, : len(array)] = array
    return tensor


def _unpack(path):
    """The card of a file and the files packed behind the model, if all is as it was exported."""
    with open(path, "rb") as file:
        try:
            return _read(file)
        except _UNREADABLE as error:
            raise ValueError(
                "A .tflite file to translate with must have its vocabulary packed inside, and be "
                f"as it was exported. Received: path={str(path)!r} ({error}). Copy it again, or "
                "write it with export_litert."
            ) from None


def _read(file):
    size = file.seek(0, os.SEEK_END)
    with zipfile.ZipFile(file) as archive:
        entries = archive.infolist()
        if _KERAS_WEIGHTS in archive.namelist():
            raise ValueError(
                "it is a .keras file: `keras-bahdanau export` makes a .tflite file of it, and "
                "`keras-bahdanau translate`, `read` and `transcribe` take it as it is"
            )
        if sum(entry.file_size for entry in entries) > size:
            raise ValueError("it unfolds to more than its size")
        files = {entry.filename: archive.read(entry) for entry in entries}
    card = json.loads(files.get("card.json", b"null"))
    _check_card(card, files)
    _check_hashes(card, files, file, min(entry.header_offset for entry in entries))
    return card, files


def _check_card(card, files):
    """Raise ValueError unless the card says how to run the model, and with which vocabularies."""
    if not isinstance(card, dict):
        raise ValueError("it has no card.json, or one that is no object")
    names = card.get("vocabularies")
    if not isinstance(card.get("verb"), str) or not isinstance(names, dict):
        raise ValueError("its card.json does not say how to run it")
    if "target" not in names or not all(isinstance(one, str) for one in names.values()):
        raise ValueError("its card.json does not name its vocabularies")
    if not {*names.values()} <= files.keys():
        raise ValueError("it lacks a vocabulary that its card.json names")
    for name, usual in (("max_source_length", None), ("reduction", 1)):
        value = card.get(name, usual)
        if type(value) is not int or not 1 <= value <= _MOST_POSITIONS:
            raise ValueError(f"its card.json states {name}={value!r:.40}")
    if not isinstance(card.get("sha256", {}), dict):
        raise ValueError("its card.json has hashes that are none")


def _check_hashes(card, files, file, model_size):
    """Raise ValueError if a byte has changed since the export."""
    if card.get("sealed"):  # the last bytes are the sha256 of all others
        length = file.seek(-_SEAL, os.SEEK_END)
        seal = file.read().decode("ascii", "replace")
        if seal != _sha256(file, length):
            raise ValueError("damaged or changed: its last 64 bytes are not its sha256")
        return
    said = card.get("sha256", {})  # of version 0.1.0, which has no seal
    found = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    found["model"] = _sha256(file, model_size)
    if any(found.get(name) != digest for name, digest in said.items()):
        raise ValueError("damaged or changed: its card.json has another sha256")


def _sha256(file, length):
    """The hash of the first bytes of a file, in hexadecimal digits."""
    digest = hashlib.sha256()
    file.seek(0)
    while length > 0:
        chunk = file.read(min(length, 2**20))
        digest.update(chunk)
        length -= len(chunk)
    return digest.hexdigest()
