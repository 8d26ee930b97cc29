"""LiteRT files used as a `Pipeline` or `Translator`: the same methods, without a Keras model."""

import contextlib

import numpy as np

from keras_bahdanau.exporters.card import CARD, read_card
from keras_bahdanau.exporters.litert.on_device import OnDevicePipeline, OnDeviceTranslation
from keras_bahdanau.pipelines.confidence import calibration_of
from keras_bahdanau.pipelines.translation import Translation
from keras_bahdanau.settings.checks import counted
from keras_bahdanau.settings.limits import FIXED_LENGTH
from keras_bahdanau.settings.option import check_value
from keras_bahdanau.text.copies import are_characters
from keras_bahdanau.text.features import position_in_card
from keras_bahdanau.text.host_text import HostText
from keras_bahdanau.text.subwords import Subwords


class LiteRTPipeline:
    """A .tflite file that `export_litert` wrote, with the methods of a `Pipeline`.

    The file reads one input at a time, with its own search. An input that is too long is cut, and
    marked by `truncated`. The source in its card computes the features, as in training, which
    loads TensorFlow; a file for text does not need it: see `LiteRTTranslator`. Any number of
    threads may share the object: they take turns, one input at a time.

    ```python
    reader = LiteRTPipeline("formulas.tflite")
    print(reader.decode([pathlib.Path("formula.png")])[0].text)
    ```

    Args:
        path: Path of the file, or the `OnDevicePipeline` of it.

    Attributes:
        source: The `Source`.
        target: `Subwords` of the target text.
        model: None: the file gives no probabilities of given texts.
        metrics: Tuple of names, the default metrics of `evaluate`.
        card: Dictionary, the card of the file.
        needs_tensorflow: True if TensorFlow makes the features.

    Raises:
        FileNotFoundError: If there is no such file.
        ImportError: If `ai-edge-litert` is not installed.
        ValueError: If the file is damaged, or its card describes no source.
    """

    model = None
    metrics = ("bleu", "chrf")
    verb = "decode"
    noun = "text"
    plural = "inputs"
    needs_tensorflow = True
    opened = OnDevicePipeline  # the class that runs a file

    def __init__(self, path):
        is_open = isinstance(path, OnDevicePipeline)
        self._path = path.path if is_open else path
        with self._failing_in_one_line():
            self._runner = path if is_open else self.opened(path)
            files = self._runner.files
            self.card = card = read_card(files[CARD])
            self._longest, self._reduction = card["max_source_length"], card.get("reduction", 1)
            check_value("max_source_length", self._longest, FIXED_LENGTH)  # of buffers below
            check_value("reduction", self._reduction, FIXED_LENGTH)
            self._calibration = calibration_of(card)
            self.target = Subwords(files[card["vocabularies"]["target"]])
            self.source = self._read_source(card, files)
            # cards of older versions have none
            self.metrics = tuple(card.get("metrics") or self.metrics)
            self._decode(self.source.examples[0])  # a model that can't run fails now

    def _read_source(self, card, files):
        """The source of a card; its class of pipelines has the metrics."""
        from keras_bahdanau.pipelines.file import read_source
        from keras_bahdanau.pipelines.tasks import kind_of

        if "source" not in card:
            raise ValueError(
                f"{self.opened.form} of `{type(self).__name__}` must read no text. Received: "
                f"path={str(self._path)!r}, which reads text. Open it as one of a translator."
            )
        try:
            source = read_source(card["source"])
        except Exception as error:  # Keras raises various errors for configs that it can't read
            raise ValueError(
                f"{self.opened.form} that reads no text must describe a source that this version "
                f"knows. Received: path={str(self._path)!r}, {type(error).__name__}. Import the "
                "modules of your own sources first, or export it again."
            ) from None
        kind = kind_of(source)
        self.verb, self.noun = kind.verb, kind.noun
        self.metrics, self.plural = kind.metrics, kind.plural
        return source

    @property
    def reads_target(self):
        """True if the vocabulary of the target has its normalization: see `conversion.packed`."""
        shared = len({*self.card["vocabularies"].values()}) < len(self.card["vocabularies"])
        return shared or self._runner.longest_prefix > 0

    @property
    def replaces_unknown(self):
        """True if its search copies parts of the source in place of unknown tokens."""
        return self._runner.copies

    def longest(self, search=None):
        """Most positions of an input, including the end token of a text."""
        return self._longest

    def decode(self, inputs, batch_size=1, search=None, prefixes=None, say=None):
        """The best text for each input: a list of `Translation`.

        `inputs` are read one at a time: `batch_size` is ignored. `search` must be None: the file
        has its own. `prefixes` are strings, one per input: the beginning of its text, or "". `say`,
        a function of one string, reports progress. Raises TypeError if `inputs` is not a list of
        inputs; ValueError if `search` is given, an input is not valid, there are not as many
        prefixes as inputs, one is too long for the file, or the file lacks the signature.
        """
        return [best for (best,) in self.decode_nbest(inputs, 1, 1, search, prefixes, say)]

    def decode_nbest(self, inputs, nbest=None, batch_size=1, search=None, prefixes=None, say=None):
        """The best few texts for each input, best first: a list of lists of `Translation`.

        `nbest` is at most, and by default, the beam width of the file's search, or 1 if its export
        left the signatures out; else ValueError. Other arguments and errors: as in `decode`.
        """
        check_fixed(self.opened.form, search=search)
        if not hasattr(inputs, "__len__"):  # an iterator, which can be read only once
            inputs = list(inputs)
        self.source.check(self.plural, inputs)
        nbest = self._runner.most if nbest is None else nbest
        self.check_nbest(nbest)
        prefixes = [""] * len(inputs) if prefixes is None else list(prefixes)
        if len(prefixes) != len(inputs):
            raise ValueError(
                f"`prefixes` must be as many as the {self.plural}. "
                f"Received: {len(prefixes)} prefixes, {len(inputs)} {self.plural}."
            )
        results = []
        with self._failing_in_one_line():
            for source, prefix in zip(inputs, prefixes, strict=True):
                results.append(self._decode(source, prefix, nbest))
                if say is not None:
                    say(f"{len(results):,} of {counted(len(inputs), self.plural)}")
        return results

    def check_nbest(self, nbest):
        """Raise ValueError unless the file gives `nbest` texts for an input."""
        self._runner.check_nbest(nbest)

    def picture(self, source, search=None):
        """Picture of the part of an input that is read: see `Pipeline.picture`."""
        picture = self.source.picture(source, self._longest)
        return picture and picture._replace(reduction=self._reduction)

    def words(self, inputs, longest=None):
        """The words of each position of the memory: see `Pipeline.words`."""
        return self.source.words(inputs, longest)

    def _decode(self, source, prefix="", nbest=1):
        _, rows, (truncated,) = self.source.cut([source], self._longest)
        features = rows.padded(np.arange(1), (1, self._padded_length(rows)))
        (labels,) = self.source.labels(features)
        labels = labels[:: self._reduction]
        tensors = {name: tensor[0] for name, tensor in self.source.named(features).items()}
        surfaces = self._runner.surfaces(source) if self.source.positions_are_tokens else ()
        results = self._runner.decode_nbest(tensors, labels, nbest, prefix, surfaces)
        shared = {"truncated": bool(truncated), "calibration": self._calibration}
        names = {*OnDeviceTranslation._fields} - {"token_words"}  # `Translation.words` has them
        return [
            Translation(**{name: getattr(result, name) for name in names}, **shared)
            for result in results
        ]

    def _padded_length(self, rows):
        """Number of positions to which the file pads an input."""
        return self._longest

    @contextlib.contextmanager
    def _failing_in_one_line(self):
        """Turn the runtime's errors of several lines into this package's one-line form."""
        try:
            yield
        except (RuntimeError, ValueError) as error:
            if "Received: " in str(error):
                raise
            raise ValueError(
                f"{self.opened.form} must be one that {self.opened.runtime} can load and run. "
                f"Received: path={str(self._path)!r} ({' '.join(str(error).split())}). Export it "
                "again."
            ) from None


def check_fixed(form=OnDevicePipeline.form, **options):
    """Raise ValueError unless all options that the export has fixed are None."""
    forbidden = ", ".join(
        f"{name}={value!r}" for name, value in options.items() if value is not None
    )
    if forbidden:
        raise ValueError(
            f"{form} searches as it was exported to. "
            f"Received: {forbidden}. Leave it out, or give the .keras file."
        )


class LiteRTTranslator(LiteRTPipeline):
    """A .tflite file that `export_litert` wrote, with the methods of a `Translator`.

    The file translates one sentence at a time, with its own search. A sentence that is too long is
    cut before its end token, and marked by `truncated`.

    ```python
    translator = LiteRTTranslator("en-de.tflite")
    print(translator.translate(["A man in an orange hat."])[0].text)
    ```

    Arguments, attributes and errors: as in `LiteRTPipeline`; the source needs no TensorFlow. A file
    that is not a translator raises ValueError.
    """

    verb = "translate"
    noun = "translation"
    plural = "sentences"
    needs_tensorflow = False
    translate = LiteRTPipeline.decode
    translate_nbest = LiteRTPipeline.decode_nbest

    @property
    def copies_characters(self):
        """True if characters are copied, not whole words."""
        return are_characters(self.source.subwords, self.target)

    def _read_source(self, card, files):
        if "source" not in card["vocabularies"]:
            raise ValueError("it has no vocabulary of the source: it is not a translator")
        return _Text(Subwords(files[card["vocabularies"]["source"]]), position_in_card(card))


def runner_of(card):
    """The class that runs a file, by its card: `LiteRTTranslator` of texts, else the base."""
    return LiteRTPipeline if "source" in card else LiteRTTranslator


def open_litert(path):
    """The `LiteRTTranslator` or `LiteRTPipeline` of a .tflite file, which is read once."""
    runner = OnDevicePipeline(path)
    return runner_of(runner.card)(runner)


class _Text(HostText):
    """The source side like `TextSource`, which would load TensorFlow."""

    examples = [""]

    def named(self, ids):
        """Dictionary from the name of the input to the ids."""
        return {"source": ids}
