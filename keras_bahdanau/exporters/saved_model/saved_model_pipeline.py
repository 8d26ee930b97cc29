"""Use a SavedModel like a `Pipeline`: decode many inputs in batches, without Python TensorFlow."""

from pathlib import Path

import numpy as np

from keras_bahdanau.exporters.cpp_loader.session import SavedModelSession
from keras_bahdanau.exporters.saved_model.version_card import load_card
from keras_bahdanau.files.whole_file import content_of, read_or, size_of
from keras_bahdanau.pipelines.confidence import calibration_of
from keras_bahdanau.pipelines.translation import Translation


class SavedModelPipeline:
    """A version that `export_saved_model` wrote, in TensorFlow's C++ loader, as in a server.

    The process must not have imported `tensorflow`: see `SavedModelSession`. Inputs are texts, or
    the content of files; the search is fixed by the export. Threads may share an object, and run
    concurrently.

    Raises `Damage` if the card is invalid. Raises RuntimeError if Python TensorFlow is imported, or
    if the version can't be loaded. Raises ValueError if there is no card, or no signature that
    reads a single tensor of strings.
    """

    def __init__(self, path):
        self.card, self.source = load_card(Path(path)) or {}, self
        self._session = SavedModelSession(path)
        self._signature = f"{self.card.get('verb')}_with_alignment"
        signature = self._session.signatures.get(self._signature)
        if signature is None or [spec.dtype for spec in signature.inputs.values()] != [object]:
            raise ValueError(
                "A SavedModel must have its card, and a signature that reads texts or files. "
                f"Received: path={str(path)!r} with {sorted(self._session.signatures)}. Export "
                "it again, with --format saved-model."
            )
        self._calibration = calibration_of(self.card)
        (self._input,) = signature.inputs
        (self._text,) = _TEXTS & {*signature.outputs}

    def check(self, name, inputs):
        """Raise an error unless all inputs are texts, bytes or paths of files other than FLAC."""
        reads_files = self.card.get("inputs") == "files"
        for content in inputs:
            if not isinstance(content, str | bytes | Path):
                raise TypeError(
                    f"`{name}` must contain texts or files. Received: an item of type "
                    f"{type(content).__name__}."
                )
            if reads_files and content_of(content, len(_FLAC)) == _FLAC:
                raise ValueError(
                    f"A SavedModel of a speech model reads WAV files. Received: `{name}` with "
                    "FLAC. Convert it, or use the .keras file."
                )

    def decode(self, inputs, batch_size=64, search=None):
        """Return the best text for each input (string, bytes or path), a list of `Translation`."""
        inputs = [source.encode() if isinstance(source, str) else source for source in inputs]
        size = min(batch_size, self.card.get("max_rows", batch_size))
        results = [None] * len(inputs)
        sizes = [read_or(0, size_of, source) for source in inputs]
        order = sorted(range(len(inputs)), key=lambda number: -sizes[number])
        for first in range(0, len(order), size):
            members = order[first : first + size]
            contents = [read_or(b"", _content, inputs[member]) for member in members]
            contents_array = np.array(contents, dtype=object)
            answer = self._session.run(self._signature, **{self._input: contents_array})
            for row, member in enumerate(members):
                results[member] = self._read({name: output[row] for name, output in answer.items()})
        return results

    def _read(self, row):
        """Return the `Translation` in one row of an answer."""
        source_time, target_time = int(row["source_length"]), int(row["target_length"])
        return Translation(
            text=row[self._text].decode(),
            score=float(row["score"]),
            source_tokens=[token.decode() for token in row["source_tokens"][:source_time]],
            target_tokens=[token.decode() for token in row["target_tokens"][:target_time]],
            alignment=row["alignment"][:target_time, :source_time],
            finished=bool(row["finished"]),
            truncated=bool(row["truncated"]),
            **self._probabilities(row, target_time),
        )

    def _probabilities(self, row, target_time):
        """Return the fields that versions exported with 0.1.0 lack."""
        if "confidence" not in row:
            return {}
        return {
            "token_log_probs": row["token_log_probs"][:target_time],
            "token_entropies": row["token_entropies"][:target_time],
            "confidence": float(row["confidence"]),
            "calibration": self._calibration,
        }


_FLAC = b"fLaC"  # first bytes of a FLAC file
_TEXTS = {"translation", "text"}  # possible names of the output with the text


def _content(source):
    """Return the bytes of an input."""
    return source.read_bytes() if isinstance(source, Path) else source
