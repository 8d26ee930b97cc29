"""An exported LiteRT file at work: text in, text and alignment out, without TensorFlow.

This module needs `ai-edge-litert`, `sentencepiece` and NumPy only, and nothing
else of this package: copied beside a .tflite file, it runs as it is.
"""

import json
import zipfile
from typing import NamedTuple

import numpy as np
import sentencepiece

PAD, START, END = 0, 2, 3


class OnDeviceTranslation(NamedTuple):
    """One translation; the fields of `keras_bahdanau.Translation`."""

    text: str
    score: float
    source_tokens: list
    target_tokens: list
    alignment: np.ndarray
    finished: bool


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
        greedy: True to take the best token at each step, instead of the search of the file.

    Attributes:
        card: Dictionary, the card of the file.
        files: Dictionary from the names of the files packed in it to their bytes.

    Raises:
        ImportError: If `ai-edge-litert` is not installed.
        ValueError: If the file holds no vocabulary.
    """

    def __init__(self, path, threads=1, greedy=False):
        try:
            from ai_edge_litert.interpreter import Interpreter
        except ImportError:
            raise ImportError(
                "Running a .tflite file needs the package ai-edge-litert. Received: an environment "
                "without it. Install it: pip install 'keras-bahdanau[litert]'"
            ) from None
        self.card, self.files = _unpack(path)
        self._target = self.vocabulary("target")
        self._interpreter = Interpreter(model_path=str(path), num_threads=threads)
        signature = self.card["verb"] + ("_greedy" if greedy else "")
        self._run = self._interpreter.get_signature_runner(signature)

    def vocabulary(self, side):
        """The SentencePiece processor of a side, "source" or "target".

        Raises:
            ValueError: If the file has none: only the source of a translator is text.
        """
        names = self.card["vocabularies"]
        if side not in names:
            raise ValueError(
                f"A file for text must hold the vocabulary of the {side}. "
                f"Received: vocabularies={names!r}. Give features to OnDevicePipeline.decode."
            )
        model = self.files[names[side]]
        return sentencepiece.SentencePieceProcessor(model_proto=model)

    def decode(self, features, labels):
        """The best text for the features of one input.

        Args:
            features: Dictionary from the names of the inputs of the file to arrays, without a
                batch: `(source_time, ...)`, or a scalar such as a length. They are padded.
            labels: List of strings, the names of the real positions of the source.

        Returns:
            `OnDeviceTranslation`.

        Raises:
            ValueError: If there are more positions than the file was made for.
        """
        details = self._run.get_input_details()
        tensors = {
            name: self._padded(features[name], detail["shape"], detail["dtype"])
            for name, detail in details.items()
        }
        result = {name: value[0] for name, value in self._run(**tensors).items()}
        target = result["ids"][: result["length"]].tolist()
        return OnDeviceTranslation(
            text=self._target.decode([one for one in target if one not in (PAD, START, END)]),
            score=float(result["score"]),
            source_tokens=list(labels),
            target_tokens=[
                "" if token == PAD else self._target.id_to_piece(token) for token in target
            ],
            alignment=result["alignment"][: len(target), : len(labels)],
            finished=bool(result["finished"]),
        )

    def _padded(self, array, shape, dtype):
        """An array with a batch of 1, padded with 0 to a shape `(1, [source_time, ...])`."""
        tensor, array = np.zeros(shape, dtype), np.asarray(array)
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
        return [self._translate(sentence) for sentence in sentences]

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
        return self.decode({"source": ids}, [self._source.id_to_piece(token) for token in ids])


def _unpack(path):
    """The card of a file, and the files that are packed behind the model."""
    try:
        with zipfile.ZipFile(path) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
            card = json.loads(files["card.json"])
            files[card["vocabularies"]["target"]]  # which must be there
    except (zipfile.BadZipFile, KeyError):
        raise ValueError(
            "A .tflite file to translate with must have its vocabulary packed inside. "
            f"Received: path={str(path)!r}, which has none. Write it with export_litert."
        ) from None
    return card, files
