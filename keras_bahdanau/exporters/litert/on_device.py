"""Runs an exported LiteRT file: text in, text and alignment out, without TensorFlow.

This module needs `ai-edge-litert`, `sentencepiece` and NumPy only, and nothing
else of this package: copied beside a .tflite file, it runs as it is.
"""

import json
import zipfile
from typing import NamedTuple

import numpy as np
import sentencepiece

PAD, END = 0, 3


class OnDeviceTranslation(NamedTuple):
    """One translation; the fields of `keras_bahdanau.Translation`."""

    text: str
    score: float
    source_tokens: list
    target_tokens: list
    alignment: np.ndarray
    finished: bool


class OnDeviceTranslator:
    """A translator from one .tflite file that `export_litert` wrote.

    ```python
    translator = OnDeviceTranslator("en-de.tflite")
    print(translator.translate(["A man in an orange hat."])[0].text)
    ```

    Args:
        path: Path of the file.
        threads: Positive integer. Processor threads to use.
        greedy: Whether to take the best token at each step, instead of searching as the file says.

    Raises:
        ImportError: If `ai-edge-litert` is not installed.
        ValueError: If the file holds no vocabulary.
    """

    def __init__(self, path, threads=1, greedy=False):
        try:
            from ai_edge_litert.interpreter import Interpreter
        except ImportError:
            raise ImportError(
                "Running a .tflite file needs the package ai-edge-litert. "
                "Install it: pip install 'keras-bahdanau[litert]'"
            ) from None
        self.card, self._source, self._target = _unpack(path)
        self._interpreter = Interpreter(model_path=str(path), num_threads=threads)
        signature = "translate_greedy" if greedy else "translate"
        self._run = self._interpreter.get_signature_runner(signature)

    def translate(self, sentences):
        """The best translation of each sentence.

        Args:
            sentences: List of strings.

        Returns:
            List of `OnDeviceTranslation`.

        Raises:
            ValueError: If a sentence has more tokens than the file was made for.
        """
        return [self._translate(sentence) for sentence in sentences]

    def fits(self, sentence):
        """True if a sentence has no more tokens than the file was made for."""
        return len(self._ids(sentence)) <= self.card["max_source_length"]

    def _ids(self, sentence):
        ids = self._source.encode(sentence)
        return [*ids, END] if ids else []

    def _translate(self, sentence):
        ids = self._ids(sentence)
        longest = self.card["max_source_length"]
        if len(ids) > longest:
            raise ValueError(
                f"A sentence may have {longest} tokens in this file. Received: {len(ids)} tokens "
                f"in {sentence!r}. Split it, or export with a larger max_source_length."
            )
        source = np.full((1, longest), PAD, np.int32)
        source[0, : len(ids)] = ids
        found = {name: value[0] for name, value in self._run(source=source).items()}
        target = found["ids"][: found["length"]].tolist()
        return OnDeviceTranslation(
            text=self._target.decode([token for token in target if token != END]),
            score=float(found["score"]),
            source_tokens=[self._source.id_to_piece(token) for token in ids],
            target_tokens=[self._target.id_to_piece(token) for token in target],
            alignment=found["alignment"][: len(target), : len(ids)],
            finished=bool(found["finished"]),
        )


def _unpack(path):
    """The card and the two SentencePiece processors packed behind the model."""
    try:
        with zipfile.ZipFile(path) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
            card, source = json.loads(files["card.json"]), files["source.spm"]
    except (zipfile.BadZipFile, KeyError):
        raise ValueError(
            "A .tflite file to translate with must have its vocabulary packed inside. "
            f"Received: path={str(path)!r}, which has none. Write it with export_litert."
        ) from None
    processors = [
        sentencepiece.SentencePieceProcessor(model_proto=model)
        for model in (source, files.get("target.spm", source))
    ]
    return card, *processors
