"""Translate sentences with an exported LiteRT file."""

from .copying import END, encoded, is_blank
from .on_device_pipeline import OnDevicePipeline


class OnDeviceTranslator(OnDevicePipeline):
    """A translator from text to text, in one .tflite file that `export_litert` wrote.

    ```python
    translator = OnDeviceTranslator("en-de.tflite")
    print(translator.translate(["A man in an orange hat."])[0].text)
    ```

    Arguments, errors and the use of threads are as in `OnDevicePipeline`.
    """

    def __init__(self, path, threads=1, greedy=False):
        super().__init__(path, threads, greedy)
        self._source = self.vocabulary("source")

    def translate(self, sentences):
        """Return the best translation of each sentence, as a list of `OnDeviceTranslation`.

        Raises ValueError if a sentence has more tokens than the file allows.
        """
        return [
            self.decode(*self._features(sentence), surfaces=self.surfaces(sentence))
            for sentence in sentences
        ]

    def translate_nbest(self, sentences, nbest=None, prefixes=None):
        """Return the best few translations of each sentence, best first, as a list of lists.

        `prefixes` contains the beginning of the translations of each sentence, or "". `nbest` and
        errors are as in `decode_nbest`.
        """
        prefixes = [""] * len(sentences) if prefixes is None else prefixes
        if len(prefixes) != len(sentences):
            raise ValueError(
                "`prefixes` must contain one prefix for each sentence. "
                f"Received: {len(prefixes)} prefixes, {len(sentences)} sentences."
            )
        return [
            self.decode_nbest(*self._features(sentence), nbest, prefix, self.surfaces(sentence))
            for sentence, prefix in zip(sentences, prefixes, strict=True)
        ]

    def tokens(self, sentence):
        """Return the tokens of a sentence, a list of strings."""
        return [self._source.id_to_piece(token) for token in self._ids(sentence)]

    def pieces(self, sentence):
        """Return the SentencePiece pieces of a sentence with positions, without the end token."""
        return self._source.encode(
            sentence[:0] if is_blank(sentence) else sentence, out_type="proto"
        ).pieces

    def _ids(self, sentence):
        ids = [] if is_blank(sentence) else encoded(self._source, sentence)
        return [*ids, END] if ids else []

    def _features(self, sentence):
        """Return the features of a sentence, and its tokens."""
        ids = self._ids(sentence)
        longest = self.card["max_source_length"]
        if len(ids) > longest:
            raise ValueError(
                f"A sentence may have at most {longest} tokens in this file. Received: {len(ids)} "
                f"tokens in {sentence[:80]!r}. Split it, or export with a larger max_source_length."
            )
        return {"source": ids}, [self._source.id_to_piece(token) for token in ids]
