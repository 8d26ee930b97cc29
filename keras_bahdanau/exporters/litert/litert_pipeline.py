"""Use LiteRT files like a `Pipeline` or `Translator`, but without a Keras model."""

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

    The file processes one input at a time, with its fixed search. An input that is too long is
    truncated, and its result has `truncated` set. The source in the card computes the features
    with TensorFlow, as in training. A file for text does not need TensorFlow: see
    `LiteRTTranslator`. Any number of threads may share the object; they take turns, one input at a
    time.

    ```python
    reader = LiteRTPipeline("formulas.tflite")
    print(reader.decode([pathlib.Path("formula.png")])[0].text)
    ```

    Args:
        path: Path of the file, or an `OnDevicePipeline`.

    Attributes:
        source: The `Source`.
        target: `Subwords` of the target text.
        model: None, because the file can't compute the probabilities of given texts.
        metrics: Tuple of names, the default metrics of `evaluate`.
        card: Dictionary, the card of the file.
        needs_tensorflow: True if TensorFlow computes the features.

    Raises:
        FileNotFoundError: If the file does not exist.
        ImportError: If `ai-edge-litert` is not installed.
        ValueError: If the file is damaged, or its card does not describe a source.
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
            check_value("max_source_length", self._longest, FIXED_LENGTH)  # size of buffers
            check_value("reduction", self._reduction, FIXED_LENGTH)
            self._calibration = calibration_of(card)
            self.target = Subwords(files[card["vocabularies"]["target"]])
            self.source = self._read_source(card, files)
            # cards of older versions have no metrics
            self.metrics = tuple(card.get("metrics") or self.metrics)
            self._decode(self.source.examples[0])  # fails now if the model can't run

    def _read_source(self, card, files):
        """Return the source in a card, and set the metrics from its class of pipelines."""
        from keras_bahdanau.pipelines.file import read_source
        from keras_bahdanau.pipelines.tasks import kind_of

        if "source" not in card:
            raise ValueError(
                f"{self.opened.form} for `{type(self).__name__}` must not read text. Received: "
                f"path={str(self._path)!r}, which reads text. Open it as a translator."
            )
        try:
            source = read_source(card["source"])
        except Exception as error:  # Keras raises various errors for invalid configs
            raise ValueError(
                f"{self.opened.form} that does not read text must describe a known source. "
                f"Received: path={str(self._path)!r}, {type(error).__name__}. Import the modules "
                "of your own sources first, or export it again."
            ) from None
        kind = kind_of(source)
        self.verb, self.noun = kind.verb, kind.noun
        self.metrics, self.plural = kind.metrics, kind.plural
        return source

    @property
    def reads_target(self):
        """True if the target vocabulary contains its normalization: see `conversion.packed`."""
        shared = len({*self.card["vocabularies"].values()}) < len(self.card["vocabularies"])
        return shared or self._runner.longest_prefix > 0

    @property
    def replaces_unknown(self):
        """True if the search replaces unknown tokens by parts of the source."""
        return self._runner.copies

    def longest(self, search=None):
        """Return the maximum number of input positions, including the end token of text."""
        return self._longest

    def decode(self, inputs, batch_size=1, search=None, prefixes=None, say=None):
        """Return the best text for each input, as a list of `Translation`.

        `inputs` are read one at a time, so `batch_size` is ignored. `search` must be None, since
        the search in the file is fixed. `prefixes` contains the beginning of the text for each
        input, or "". `say`, a function of one string, reports progress.

        Raises TypeError if `inputs` is not a list of inputs. Raises ValueError if `search` is
        given, if an input is not valid, if the numbers of prefixes and inputs differ, if a prefix
        is too long for the file, or if the file lacks the signature.
        """
        return [best for (best,) in self.decode_nbest(inputs, 1, 1, search, prefixes, say)]

    def decode_nbest(self, inputs, nbest=None, batch_size=1, search=None, prefixes=None, say=None):
        """Return the best few texts for each input, best first, as lists of `Translation`.

        The default and maximum of `nbest` is the beam width of the file's search, or 1 if the file
        was exported without signatures for lists. Other arguments and errors are as in `decode`.
        """
        check_fixed(self.opened.form, search=search)
        if not hasattr(inputs, "__len__"):  # an iterator can be read only once
            inputs = list(inputs)
        self.source.check(self.plural, inputs)
        nbest = self._runner.most if nbest is None else nbest
        self.check_nbest(nbest)
        prefixes = [""] * len(inputs) if prefixes is None else list(prefixes)
        if len(prefixes) != len(inputs):
            raise ValueError(
                f"There must be as many `prefixes` as {self.plural}. "
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
        """Raise ValueError unless the file can return `nbest` texts for an input."""
        self._runner.check_nbest(nbest)

    def picture(self, source, search=None):
        """Return a picture of the part of an input that is read: see `Pipeline.picture`."""
        picture = self.source.picture(source, self._longest)
        return picture and picture._replace(reduction=self._reduction)

    def words(self, inputs, longest=None):
        """Return the words at each position of the memory: see `Pipeline.words`."""
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
        names = {*OnDeviceTranslation._fields} - {"token_words"}  # see `Translation.words`
        return [
            Translation(**{name: getattr(result, name) for name in names}, **shared)
            for result in results
        ]

    def _padded_length(self, rows):
        """Return the number of positions to which an input is padded."""
        return self._longest

    @contextlib.contextmanager
    def _failing_in_one_line(self):
        """Turn the runtime's multi-line errors into the one-line form of this package."""
        try:
            yield
        except (RuntimeError, ValueError) as error:
            if "Received: " in str(error):
                raise
            raise ValueError(
                f"{self.opened.form} must contain a model that {self.opened.runtime} can run. "
                f"Received: path={str(self._path)!r} ({' '.join(str(error).split())}). Export it "
                "again."
            ) from None


def check_fixed(form=OnDevicePipeline.form, **options):
    """Raise ValueError unless all options that an export fixes are None."""
    forbidden = ", ".join(
        f"{name}={value!r}" for name, value in options.items() if value is not None
    )
    if forbidden:
        raise ValueError(
            f"{form} has a fixed search. "
            f"Received: {forbidden}. Leave it out, or use the .keras file."
        )


class LiteRTTranslator(LiteRTPipeline):
    """A .tflite file that `export_litert` wrote, with the methods of a `Translator`.

    The file translates one sentence at a time, with its fixed search. A sentence that is too long
    is truncated before its end token, and its result has `truncated` set.

    ```python
    translator = LiteRTTranslator("en-de.tflite")
    print(translator.translate(["A man in an orange hat."])[0].text)
    ```

    Arguments, attributes and errors are as in `LiteRTPipeline`, but the source does not need
    TensorFlow. Raises ValueError if the file is not a translator.
    """

    verb = "translate"
    noun = "translation"
    plural = "sentences"
    needs_tensorflow = False
    translate = LiteRTPipeline.decode
    translate_nbest = LiteRTPipeline.decode_nbest

    @property
    def copies_characters(self):
        """True if unknown tokens copy characters instead of whole words."""
        return are_characters(self.source.subwords, self.target)

    def _read_source(self, card, files):
        if "source" not in card["vocabularies"]:
            raise ValueError("it has no source vocabulary: it is not a translator")
        return _Text(Subwords(files[card["vocabularies"]["source"]]), position_in_card(card))


def runner_of(card):
    """Return the class that runs a file with this card: `LiteRTTranslator` if it reads text."""
    return LiteRTPipeline if "source" in card else LiteRTTranslator


def open_litert(path):
    """Open a .tflite file, which is read once, as a `LiteRTTranslator` or `LiteRTPipeline`."""
    runner = OnDevicePipeline(path)
    return runner_of(runner.card)(runner)


class _Text(HostText):
    """The source side of a translator, like `TextSource`, but without loading TensorFlow."""

    examples = [""]

    def named(self, ids):
        """Return a dictionary from the name of the input to the ids."""
        return {"source": ids}
