"""Decode features to text and alignments with an exported LiteRT file, one input at a time."""

import os
import threading
from typing import NamedTuple

import numpy as np
import sentencepiece

from .copying import PAD, encoded, surfaces_of, text_of
from .packed_files import unpack

_ONE = {"lengths": "length", "scores": "score", "confidences": "confidence"}  # list -> one
_TOKENS = ("token_log_probs", "token_entropies", "token_words")  # older files lack them


class OnDeviceTranslation(NamedTuple):
    """A `Translation`, and `token_words`, int32, the index of each token's word, or -1."""

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
    """A .tflite file that `export_litert` wrote, which decodes the features of one input to text.

    ```python
    pipeline = OnDevicePipeline("digits.tflite")
    features = {"values": frames, "lengths": len(frames)}  # frames: float32 (time, size)
    print(pipeline.decode(features, [str(number) for number in range(len(frames))]).text)
    ```

    Any number of threads may share an object; they take turns, one input at a time. To run in
    parallel, create an object for each thread; each one needs memory. A forked process reopens the
    file.

    Args:
        path: Path of the file.
        threads: Positive integer. Number of processor threads to use.
        greedy: True to choose the best token at each step in `decode`, instead of the file's
            search.

    Attributes:
        path: String, the path.
        card: Dictionary, the card of the file.
        files: Dictionary from the names of the packed files to their bytes.
        most: Integer, the maximum number of texts that `decode_nbest` returns: the beam width of
            the file's search, or 1 if the file lacks the signature.
        longest_prefix: Integer, the maximum number of tokens in a prefix; 0 if the file lacks the
            signature.
        copies: Bool. True if characters of the source replace unknown tokens.
        reduction: Integer, the number of source positions for each column of an alignment.

    Raises:
        ImportError: If `ai-edge-litert` is not installed.
        OSError: If the file can't be read.
        ValueError: If the file contains no vocabulary, has changed since its export, has a model or
            vocabulary that can't be loaded, or lacks the signature that `greedy=True` needs.
    """

    form, runtime, package = "A .tflite file", "LiteRT", "ai-edge-litert"

    def __init__(self, path, threads=1, greedy=False):
        self.path, self._threads, self._greedy = str(path), threads, greedy
        self.card, self.files = self._unpack(path)
        self.reduction = self.card.get("reduction", 1)
        self._target = self.vocabulary("target")
        self.copies = bool(self.card.get("search", {}).get("replace_unknown"))
        self._copied_from = self.vocabulary("source") if self.copies else None
        try:
            self._open()
            self.most, self.longest_prefix, outputs = self._read_model()
        except (IndexError, KeyError, RuntimeError, ValueError) as error:
            raise ValueError(
                f"{self.form} must contain a model that {self.runtime} can load. Received: "
                f"path={self.path!r} ({error}). Install a newer {self.package}, or export again."
            ) from None
        if self.copies and self._run and "copied_from" not in outputs:
            raise ValueError(
                "A file that copies characters must have the output copied_from. "
                f"Received: path={self.path!r}, which lacks it. Export it again."
            )
        if self._run is None:
            raise ValueError(
                "A file must have a signature for greedy search. Received: "
                f"path={self.path!r}, which lacks it. Export it with the signature greedy."
            )

    def _unpack(self, path):
        """Return the card of a file, and the files packed in it."""
        return unpack(path)

    def _read_model(self):
        """Return (maximum number of texts, maximum number of prefix tokens, names of outputs)."""
        lists, completing = self._listing or self._completing, self._completing
        most = int(lists.get_output_details()["ids"]["shape"][1]) if lists else 1
        prefix = completing and completing.get_input_details()["prefix"]["shape"][1]
        return most, int(prefix or 0), self._run.get_output_details() if self._run else ()

    def _open(self):
        """Create the interpreter for this process, and the runners for its signatures."""
        try:
            from ai_edge_litert.interpreter import Interpreter
        except ImportError:
            raise ImportError(
                "Running a .tflite file needs the package ai-edge-litert. Received: an environment "
                "without it. Install it: pip install 'keras-bahdanau[litert]'"
            ) from None
        verb = self.card["verb"]
        interpreter = Interpreter(model_path=self.path, num_threads=self._threads)
        names = interpreter.get_signature_list()
        name = f"{verb}_greedy" if self._greedy else verb
        lacks_greedy = self._greedy and name not in names
        self._run = None if lacks_greedy else interpreter.get_signature_runner(name)
        self._listing, self._completing = (
            interpreter.get_signature_runner(name) if name in names else None
            for name in (f"{verb}_nbest", f"{verb}_prefix")
        )
        self._turn, self._process = threading.Lock(), os.getpid()

    def _open_after_fork(self):
        """Reopen the file in a forked process: it lacks the threads, and a lock may be held."""
        if self._process != os.getpid():
            self._inherited = self._run, self._listing, self._completing  # freeing them may hang
            self._open()

    def __reduce__(self):
        raise TypeError(
            f"{self.form} that is open can't be pickled. Received: "
            f"path={self.path!r}. Pass the path to the other process, and open it there."
        )

    def vocabulary(self, side):
        """Return the SentencePiece processor for a side.

        Raises ValueError if the vocabulary is missing or damaged.
        """
        names = self.card["vocabularies"]
        if side not in names:
            raise ValueError(
                f"A file for text must contain the vocabulary of the {side}. "
                f"Received: vocabularies={names!r}. Pass features to OnDevicePipeline.decode."
            )
        try:
            return sentencepiece.SentencePieceProcessor(model_proto=self.files[names[side]])
        except RuntimeError:
            raise ValueError(
                f"{self.form} must contain vocabularies that SentencePiece can load. Received: "
                f"path={self.path!r} with an invalid {names[side]!r}. Export it again."
            ) from None

    def surfaces(self, text):
        """Return the part of a text for each of its tokens; () if the search does not copy."""
        return () if self._copied_from is None else surfaces_of(self._copied_from, text)

    def decode(self, features, labels, surfaces=()):
        """Return the best text for the features of one input, an `OnDeviceTranslation`.

        Args:
            features: Dictionary from the names of the file's inputs to arrays without a batch axis:
                `(source_time, ...)`, or a scalar such as a length. They are padded here.
            labels: List of strings, the names of the real positions of the source.
            surfaces: Parts of the source that unknown tokens may copy: see the method `surfaces`.

        Raises:
            ValueError: If an array has a shape or dtype that the file does not accept, or too many
                positions.
        """
        self._open_after_fork()
        result = self._answer(self._run, features)
        outputs = {name: output[0] for name, output in result.items()}
        return self._read(labels, outputs, surfaces)

    def decode_nbest(self, features, labels, nbest=None, prefix="", surfaces=()):
        """Return the best few texts for one input, best first, a list of `OnDeviceTranslation`.

        `nbest` is from 1 to `most`, the default. Each text begins with `prefix`, which is split
        into subwords and kept unchanged; characters that are not in the vocabulary become unknown
        tokens. An empty input has a single, empty text, whatever the prefix. Other arguments are as
        in `decode`.

        Raises ValueError as `decode` does, and also if `nbest` is out of range, if the prefix has
        too many tokens for the file, or if the file lacks the signature.
        """
        nbest = self.most if nbest is None else nbest
        self.check_nbest(nbest)
        if nbest == 1 and not prefix:  # every file has the signature for this
            return [self.decode(features, labels, surfaces)]
        self._open_after_fork()
        run, prefix_inputs = self._listing, {}
        if prefix or run is None:
            run, prefix_inputs = self._completing, self._prefix(prefix)
        outputs = self._answer(run, {**features, **prefix_inputs}).items()
        first, *results = (
            self._read(labels, {_ONE.get(name, name): row[0, k] for name, row in outputs}, surfaces)
            for k in range(self.most)
        )
        return [first, *(result for result in results if result.target_tokens)][:nbest]

    def check_nbest(self, nbest):
        """Raise ValueError if `nbest` is not from 1 to `most`."""
        if not isinstance(nbest, int) or not 1 <= nbest <= self.most:
            raise ValueError(
                f"`nbest` must be from 1 to {self.most} in this file. Received: nbest={nbest!r}. "
                "Use such a number, or export it with the signature nbest or with a wider beam."
            )

    def check_prefix(self, prefix):
        """Raise ValueError if this file can't complete `prefix`; "" is always valid."""
        if prefix:
            self._prefix(prefix)

    def _prefix(self, prefix):
        """Return the inputs for a prefix."""
        if self._completing is None:
            raise ValueError(
                "A file must have a signature for texts with a prefix. Received: "
                f"path={self.path!r}, which lacks it. Export it with the signature prefix."
            )
        ids = encoded(self._target, prefix)
        if len(ids) > self.longest_prefix:
            raise ValueError(
                f"A prefix may have at most {self.longest_prefix} tokens in this file. Received: "
                f"{len(ids)} tokens in {prefix[:80]!r}. Shorten it, or export with a larger "
                "max_target_length."
            )
        return {"prefix": ids, "prefix_length": len(ids)}

    def _answer(self, run, features):
        """Run a signature on inputs without a batch axis, for one thread at a time."""
        with self._turn:  # all signatures share the memory of one interpreter
            tensors = {
                name: _padded(name, features.get(name), detail["shape"], detail["dtype"])
                for name, detail in run.get_input_details().items()
            }
            return run(**tensors)

    def _read(self, labels, outputs, surfaces):
        """Convert the outputs for one hypothesis, a dictionary, to an `OnDeviceTranslation`."""
        length, confidence = outputs["length"], outputs.get("confidence")
        target = outputs["ids"][:length].tolist()
        unknown = next((token for token in target if not 0 <= token < len(self._target)), None)
        if unknown is not None:
            raise ValueError(
                f"A model must return ids in its vocabulary. Received: {unknown}. Export it again."
            )
        alignment = outputs["alignment"][: len(target), : len(labels)]
        return OnDeviceTranslation(
            text=text_of(self._target, target, outputs.get("copied_from", ()), surfaces),
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


def _padded(name, array, shape, dtype):
    """Add a batch axis of size 1, and pad with 0 to a shape `(1, [source_time, ...])`."""
    tensor, array = np.zeros(shape, dtype), np.asarray(array)
    if array.shape[1:] != tensor.shape[2:] or array.ndim != tensor.ndim - 1:
        demand = ", ".join(["positions", *map(str, shape[2:])][: len(shape) - 1])
        raise ValueError(
            f"`{name}` must have the shape ({demand}) in this file. "
            f"Received: {array.dtype} with the shape {array.shape}."
        )
    if array.size and not np.can_cast(array.dtype, dtype, "same_kind"):
        raise ValueError(
            f"`{name}` must contain values that fit {np.dtype(dtype)}. Received: {array.dtype}."
        )
    if not array.ndim:
        tensor[0] = array
        return tensor
    if len(array) > shape[1]:
        raise ValueError(
            f"A source may have at most {shape[1]} positions in this file. Received: {len(array)}. "
            "Split it, or export with a larger max_source_length."
        )
    tensor[0, : len(array)] = array
    return tensor
