"""Pipeline from raw inputs to texts: source, model, target and search in one object and file."""

import dataclasses
import functools

import numpy as np
import tensorflow as tf

from keras_bahdanau.models import Ensemble
from keras_bahdanau.pipelines.archive import open_pipeline_file
from keras_bahdanau.pipelines.batches import SearchMemory, map_batches
from keras_bahdanau.pipelines.confidence import calibration_of
from keras_bahdanau.pipelines.file import read_pipeline, require_unforked, write_pipeline
from keras_bahdanau.pipelines.graph import GraphPipeline, TracedGraphs
from keras_bahdanau.pipelines.trace import trace
from keras_bahdanau.pipelines.translation import read_translations
from keras_bahdanau.search import SearchOptions, SearchResult
from keras_bahdanau.settings.checks import counted
from keras_bahdanau.settings.guesses import check_keywords
from keras_bahdanau.sources.source import Source
from keras_bahdanau.text.copies import decode_copying
from keras_bahdanau.text.host_text import check_pairs, check_strings
from keras_bahdanau.text.id_rows import are_ids, cut_rows, prefix_rows

_IDS = tf.TensorSpec((None, None), tf.int32)
_EXTRAS = {
    "prefix": _IDS,
    "uniforms": tf.TensorSpec((None, None, None), tf.float32),
}


@check_keywords(search=SearchOptions)
class Pipeline(GraphPipeline):
    """A trained model with its source and target, which is saved as one `.keras` file.

    ```python
    pipeline = keras_bahdanau.Pipeline(source, model, target)
    result = pipeline.decode([frames])[0]
    pipeline.save("digits.keras")
    pipeline = keras_bahdanau.Pipeline.load("digits.keras")
    ```

    Any number of threads can share a pipeline. It can't be forked or pickled, so another process
    must load the file itself.

    Args:
        source: A `Source`, or the `Subwords` of the source text.
        model: A `Seq2Seq`, or an `Ensemble` of several.
        target: The `Subwords` of the target text.
        search: `SearchOptions`, or None for the default options.
        metrics: Tuple of metric names, which is saved in the file, or None for the metrics of the
            class.

    Attributes:
        verb: String, the name of the signatures in exports, such as "decode".
        noun: String, the name of a result in the outputs of exports.
        plural: String, the name of the inputs in errors.
        source_class: Class that the source must be an instance of.
        metrics: Tuple of metric names, the defaults for `evaluate`.
        training: Dictionary of the resolved `TrainingOptions` of the model, saved in files;
            None for a model that was not trained by `train`.
        calibration: `Calibration` of the confidences, saved in files and exports (see
            `keras_bahdanau.evaluation.calibrate`), or None.

    Raises:
        TypeError: If a part has the wrong type.
        ValueError: If the sizes of source, model and target don't match, or if the search replaces
            unknown words but the source is not text.
    """

    verb = "decode"
    noun = "text"
    plural = "inputs"
    source_class = Source
    metrics = ("bleu", "chrf")
    reads_target = True  # False for a .tflite file that can't split target text
    training = None
    calibration = None

    def __init__(self, source, model, target, search=None, metrics=None):
        require_unforked()
        self._graphs = TracedGraphs()
        super().__init__(source, model, target, search)
        if not isinstance(self.source, self.source_class):
            raise TypeError(
                f"The source of a {type(self).__name__} must be of class "
                f"{self.source_class.__name__}. Received: {type(self.source).__name__}. "
                "Use a Pipeline."
            )
        if isinstance(metrics, str) or metrics is not None and not metrics:
            raise ValueError(
                "`metrics` must be a list of names, or None for the metrics of the pipeline. "
                f'Received: metrics={metrics!r}. Pass a list such as ["exact", "cer"].'
            )
        if metrics is not None:
            self.metrics = tuple(metrics)

    def decode(self, inputs, batch_size=64, search=None, prefixes=None, say=None):
        """Find the best text for each input, or draw one at random, depending on the options.

        Args:
            inputs: List of inputs of the source, in any order. An empty input gives an empty text.
            batch_size: Positive integer. Number of inputs that are decoded together.
            search: `SearchOptions` to use instead of the pipeline's own.
            prefixes: List with one string per input, the beginning of its text, or "" for no
                prefix. Or a list of lists of target ids, as returned by `Subwords.encode` but
                without the end token.
            say: Function of one string, which is called to report progress, or None.

        Returns:
            List of `Translation`, one per input. `truncated` is True if the input was cut at
            `max_source_length` of the search.

        Raises:
            TypeError: If `inputs` is not a list of inputs, or `prefixes` is not a list of strings.
            ValueError: If an input is not valid for the source, if the numbers of prefixes and
                inputs differ, or if `replace_unknown` is set for a source that is not text.

        Example:
            >>> [result.text for result in pipeline.decode(["a man", "a cat"])]
            ['ein Mann', 'eine Katze']
        """
        results = self.decode_nbest(inputs, 1, batch_size, search, prefixes, say)
        return [best for best, *_ in results]

    def decode_nbest(self, inputs, nbest=None, batch_size=64, search=None, prefixes=None, say=None):
        """Find the best few texts for each input.

        Returns a list of lists of `Translation`, best first. Random draws are not sorted; they
        depend on the seed and the input, but not on the batch. An empty input has a single, empty
        text. `nbest` is from 1 to the beam width, which is the default; any other value raises
        ValueError. See `decode` for the other arguments and errors.
        """
        inputs = _listed(inputs)
        self.source.check(self.plural, inputs)
        if prefixes is not None:
            prefixes = _listed(prefixes)
            self._check_prefixes(prefixes, inputs)
        options = search or self.search
        self.check_options(options)
        nbest = options.beam_width if nbest is None else nbest
        options.check_nbest(nbest)
        if options.random:  # draws are independent of each other
            options = dataclasses.replace(options, beam_width=nbest)

        inputs, rows, truncated = self.source.cut(inputs, self.longest(options))

        def decoded(members, features):
            batch, extras = [inputs[member] for member in members], {}
            if prefixes is not None:
                chosen = [prefixes[member] for member in members]
                extras["prefix"] = self.prefix_ids(chosen, options.max_length)
            if options.random:
                extras["uniforms"] = self._uniforms(batch, options)
            result = self._search_graph(options, extras)(features, extras)
            return self._read(batch, features, truncated[members], result, nbest, options)

        tell = say and (lambda done: say(f"{done:,} of {counted(len(inputs), self.plural)}"))
        memory = SearchMemory(self.model, options)
        return map_batches(rows, batch_size, decoded, memory, tell=tell)

    def align(self, pairs, batch_size=64, search=None):
        """Align given texts with their inputs by forced decoding.

        Returns a `Translation` for each pair. `pairs` is a list of (input, target string), and
        `search` replaces the pipeline's options, such as penalties. `truncated` is True if the
        input was longer than `max_source_length` of the search, or the text longer than
        `max_length`. Raises TypeError if `pairs` is not a list of pairs of an input and a string,
        and ValueError if an input is not valid for the source, or if `replace_unknown` is set for a
        source that is not text.

        Example:
            >>> result = pipeline.align([("a man", "ein Mann")])[0]
            >>> result.alignment.shape == (len(result.target_tokens), len(result.source_tokens))
            True
        """
        pairs, options = list(pairs), search or self.search
        check_pairs(pairs)
        inputs, targets = [source for source, _ in pairs], [target for _, target in pairs]
        self.source.check(self.plural, inputs)
        self.check_options(options)
        inputs, rows, truncated = self.source.cut(inputs, self.longest(options))
        target_rows, longer = cut_rows(self.target, targets, options.max_length)
        truncated |= longer

        def forced(members, features):
            shape = (len(members), int(target_rows.lengths[members].max()))
            result = self._forced_graph(options)(features, target_rows.padded(members, shape))
            batch = [inputs[member] for member in members]
            return self._read(batch, features, truncated[members], result, 1, options)

        memory = SearchMemory(
            self.model,
            dataclasses.replace(options, beam_width=1),
            logits_at_once=int(target_rows.lengths.max(initial=1)),
        )
        return [result for (result,) in map_batches(rows, batch_size, forced, memory)]

    def score(self, pairs, batch_size=64, search=None):
        """Score given texts by forced decoding, like `align`.

        Returns one float per pair: log p, with CTC mixed in as in the search, divided by the length
        penalty, plus the coverage penalty.

        Example:
            >>> translator.score([("one two", "eins zwei"), ("one two", "zwei eins")])
            [-0.01, -4.7]
        """
        return [result.score for result in self.align(pairs, batch_size, search)]

    def trace(self, example, target=None, top=5, explore=False, prefix=None, importance=False):
        """Trace the values that the model computes at each step of one result.

        Args:
            example: An input of the source.
            target: Text to follow: a string, which is split as in `align`, a `Translation` of the
                input, or None for the best text.
            top: Positive integer. Number of most probable next tokens to record at each step.
            explore: Boolean. If True, also record the search tree, and the texts that follow if a
                step chooses its second best token, for `plotting.write_explorer`.
            prefix: String that the text must begin with, or None.
            importance: Boolean. If True, also compute leave-one-out and gradient x input for each
                step, for `plotting.write_explorer`. The model then runs twice for each pair of a
                source token and a target token, and no other thread may use it meanwhile.

        Returns:
            `Trace`.

        Raises:
            TypeError: If `example` is not an input, or `target` or `prefix` has the wrong type.
            ValueError: If `top` is not from 1 to the size of the vocabulary, if the model is an
                `Ensemble`, or if `importance` is True for a model without attention weights.

        Example:
            >>> kb.plot_trace(translator.trace("the red car")).savefig("trace.png")
        """
        if isinstance(self.model, Ensemble):
            name = type(self).__name__
            raise ValueError(
                "A trace shows the computation of a single model. "
                f"Received: an ensemble of {len(self.model.models)}. "
                f"Trace one of them: {name}(source, ensemble.models[0], target).trace(...)."
            )
        return trace(self, example, target, top, explore, prefix, importance)

    def picture(self, example, search=None):
        """Return a `sources.Picture` of the part of an input that is read, for `plot_alignment`.

        Returns None for an empty input, and for a source without pictures, such as text. Raises
        TypeError or ValueError if the source does not accept `example`.

        Example:
            >>> kb.plot_alignment(pipeline.decode([example])[0], pipeline.picture(example))
        """
        self.source.check(self.plural, [example])
        picture = self.source.picture(example, self.longest(search))
        return picture and picture._replace(reduction=self.model.source_limits.reduction)

    def words(self, inputs, longest=None):
        """Return the first and last word of memory positions: int arrays `(source_time, 2)`."""
        return self.source.words(inputs, longest)

    def _check_prefixes(self, prefixes, inputs):
        if not are_ids(prefixes):
            check_strings("prefixes", prefixes)
        if len(prefixes) != len(inputs):
            raise ValueError(
                f"There must be one prefix for each of the {self.plural}. "
                f"Received: {len(prefixes)} prefixes, {len(inputs)} {self.plural}. "
                f'Pass "" for a {self.noun} without a prefix.'
            )

    def _search_graph(self, options, extras):
        # the graph does not depend on the seed: only `_uniforms` reads it
        options = dataclasses.replace(options, seed=0)
        inputs = self.source.feature_spec, {name: _EXTRAS[name] for name in extras}
        # a `partial`, since TensorFlow would warn that a lambda is retraced too often
        return self._graphs.get(
            (options, *extras), functools.partial(self._search, options), inputs
        )

    def _search(self, options, features, extras):
        return self.search_features(features, options, drop_ended=True, **extras)

    def _forced_graph(self, options):
        def force(features, target_out):
            return self.force_features(features, target_out, options)

        return self._graphs.get(("forced", options), force, (self.source.feature_spec, _IDS))

    def __copy__(self):
        copied = object.__new__(type(self))
        vars(copied).update(vars(self))
        return copied

    def __reduce__(self):
        name = type(self).__name__
        raise TypeError(
            f"A {name} can't be pickled. Received: pickle of a {name}. Call `save(path)` here and "
            f"`{name}.load(path)` in the other process."
        )

    def prefix_ids(self, prefixes, longest):
        """Return the target ids of prefixes, strings or ids, cut to `longest` ids.

        The result is int32 `(batch, prefix_time)`.
        """
        rows = prefix_rows(self.target, prefixes, longest)
        shape = (len(prefixes), int(rows.lengths.max(initial=0)))
        return rows.padded(np.arange(len(prefixes)), shape)

    def _uniforms(self, inputs, options):
        """Draw random numbers from the seed and the key of each input.

        The result is float32 `(batch, beam_width, max_length)`.
        """
        shape = (options.beam_width, options.max_length)
        seeds = ([options.seed, self.source.key(example)] for example in inputs)
        return np.stack([np.random.default_rng(seed).random(shape, np.float32) for seed in seeds])

    def _read(self, inputs, features, truncated, result, nbest, options):
        """Convert the result of the graph to lists of the `nbest` best translations of each row."""
        # -> (batch, nbest, ...)
        result = SearchResult(*(field.numpy()[:, :nbest] for field in result))
        batch, beam, time = result.ids.shape
        if options.replace_unknown:
            characters, copies = self.copies_characters, self._attended_words(inputs, result)
            texts = [
                [decode_copying(self.target, *pair, characters) for pair in zip(*row, strict=True)]
                for row in zip(result.ids, copies, strict=True)
            ]
        else:
            flat = self.target.decode(result.ids.reshape(batch * beam, time))
            texts = [flat[row * beam : (row + 1) * beam] for row in range(batch)]
        labels = self.labels(features)
        parts = texts, labels, truncated, self.target, self.calibration
        return read_translations(result, *parts)

    def _attended_words(self, inputs, result):
        """Yield, for each row, a list with the attended source words of each hypothesis."""
        characters = self.copies_characters
        for example, alignments in zip(inputs, result.alignment, strict=True):
            yield [
                self.source.attended_words(example, alignment, characters)
                for alignment in alignments
            ]

    def save(self, path, weights="float32"):
        """Atomically write source, model, target and search options to one `.keras` file.

        With `weights="float16"`, the file is less than half as large and keeps 11 significant bits
        per weight; the weights are loaded as float32. A model in bfloat16 stays in bfloat16. Raises
        ValueError if `path` does not end in ".keras", if `weights` is neither "float32" nor
        "float16", if a weight is too large for float16, or if the pipeline does not support the
        search options.
        """
        self.check_options(self.search)
        metrics = vars(self).get("metrics")  # None if they are the defaults of the class
        parts = (self.source, self.model, self.target, self.search)
        record = {"training": self.training, "calibration": self.calibration}
        write_pipeline(path, *parts, metrics=metrics, weights=weights, **record)

    @classmethod
    def load(cls, path, precision=None):
        """Load a pipeline from a file that `save` wrote. This needs no `custom_objects`.

        First import the modules that define custom sources and layers, so that these are registered
        with Keras. See `load_pipeline` for the arguments and errors.
        """
        file = open_pipeline_file(path)
        return cls(*read_pipeline(file, precision)).set_record(file.card)

    def set_record(self, card):
        """Set `training` and `calibration` from the card of a file, and return the pipeline."""
        self.training, self.calibration = card.get("training"), calibration_of(card)
        return self


def _listed(inputs):
    """Convert an iterator of inputs to a list; return anything else unchanged, for the checks."""
    return inputs if hasattr(inputs, "__len__") else list(inputs)
