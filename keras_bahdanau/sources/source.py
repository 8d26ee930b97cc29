"""Base class of sources, with the members that the rest of the package uses."""

import abc
import copy
from typing import Any

import keras
import numpy as np

from keras_bahdanau.files.media_forms import Emptiness
from keras_bahdanau.settings.guesses import check_constructor


class Source(abc.ABC):
    """Base class for one kind of input, such as text, frames, images or speech.

    A raw input is a Python object, such as a string or an array. A request is a set of named
    tensors with the batch axis first, as a server receives them. Features are the structure of
    tensors that the front end of an encoder reads.

    To add a source, write a class with these members, register it with
    `keras.saving.register_keras_serializable`, and write a front end for its features.
    `docs/adding_one.md` lists the other files to change.

    Attributes:
        size: Integer, the front end's `source_size`: the number of ids in a vocabulary, or of
            values in a frame.
        inputs: Dictionary from the names of a request's tensors to their `tf.TensorSpec`.
        feature_spec: Structure of named `tf.TensorSpec` `(batch, [source_time, ...])`.
        feature_inputs: Dictionary like `inputs`, for requests that contain features. It equals
            `inputs` if every request contains features.
        assets: Dictionary from file names to bytes: the files that a client needs to compute
            features.
        descriptions: Dictionary from the names of the features to pairs (text, names of axes).
        edge_cases: List of unusual inputs, such as an empty one, on which exports are compared.
        examples: List of two typical inputs of different lengths, for the warm-up of exports.
        subwords: The `Subwords` of a text source, or None.
        card: JSON dictionary with information for runners without Keras, if the source has assets.
        preset: String, name of the default preset for training.
        inputs_are: String, the form of inputs in commands: "lines" (of text), "files" or "arrays".
        unit: String, the name of positions in messages, such as "tokens".
        positions_are_tokens: Bool. True for text, whose positions are tokens.
        counted_in: String, the unit of `sizes`, such as "words".
        length_band: Integer, width of the length bands for which scores are reported (see
            `band_starts`).
        longest: Integer, maximum number of positions of an input, unless a search option overrides
            it.
        fixed_length: Integer, the same for a LiteRT file, which always computes all positions.
        grid_height: Integer, number of positions per column if positions are the cells of a grid
            in column-major order, from the top left; 1 for a sequence.
        cache: `FeatureCache` of a source that `cached` returned, or None.
        page_entry: String, name of the page module in which a visitor enters an input, or None
            (see `exporters.browser`).
    """

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        check_constructor(cls)

    size: int
    inputs: dict
    feature_spec: Any
    feature_inputs: dict
    assets: dict
    descriptions: dict
    edge_cases: list
    examples: list
    subwords = None
    card = {}
    inputs_are = "arrays"
    preset = "small"
    unit: str = "positions"
    positions_are_tokens: bool = False
    length_band: int = 100
    longest: int = 512
    fixed_length: int = 64
    grid_height: int = 1
    cache = None
    page_entry = None

    @property
    def counted_in(self):
        return self.unit

    @property
    def longest_of_training(self):
        """Maximum number of positions of a training input; None for the same limit as targets."""
        return self.longest

    @abc.abstractmethod
    def front_end(self, units, convolutions=None, augmentation=0.0):
        """Return a front end for the features, with vectors of width `units`.

        It is a layer `(features, training=None) -> (vectors, mask)`, with vectors
        `(batch, source_time, units)`, mask `(batch, source_time)`, and the attributes `units` and
        `source_size` (see `layers.front_ends`). `convolutions` are the widths of its convolutions,
        or None for the defaults. `augmentation`, in [0, 1], is the strength of random changes in
        training. Raises ValueError for convolutions or augmentation that it does not support.
        """

    # the structure of features

    def batch_spec(self, rows, source_time):
        """Return `feature_spec` for `rows` rows of `source_time` positions.

        Override this method if features have other shapes.
        """

        def sized(spec):
            shape = (rows, source_time, *spec.shape[2:])[: len(spec.shape)]
            return type(spec)(shape, spec.dtype, spec.name)

        return keras.tree.map_structure(sized, self.feature_spec)

    def named(self, features):
        """Return a dictionary from the names in `feature_spec` to the tensors of a structure."""
        specs = keras.tree.flatten(self.feature_spec)
        tensors = keras.tree.flatten(features)
        return {spec.name: tensor for spec, tensor in zip(specs, tensors, strict=True)}

    def packed(self, tensors):
        """Return the structure of tensors from a dictionary that `named` returned."""
        specs = keras.tree.flatten(self.feature_spec)
        return keras.tree.pack_sequence_as(
            self.feature_spec, [tensors[spec.name] for spec in specs]
        )

    # on the host, with NumPy

    def symbols(self, target):
        """Return the target id that corresponds to each source id, for copying.

        `target` is a `Subwords`. The result is a list of `size` integers, -1 where the target has
        no equal token, or None if the source has no ids to copy. See `Encoder`.
        """
        return None

    @abc.abstractmethod
    def check(self, name, inputs):
        """Raise TypeError or ValueError unless the argument called `name` is a list of inputs."""

    @abc.abstractmethod
    def rows(self, inputs):
        """Return the unpadded features of a list of inputs.

        The result is an object with three members. `lengths`, an int array `(rows,)`, is the number
        of positions of each row. `cut(longest)` returns the same rows with at most `longest`
        positions. `padded(members, (rows, source_time))` returns arrays that contain the rows at
        the indices `members`, an int array, right-padded and followed by empty rows. Rows that are
        decoded on demand may have a fourth member, `broken`, bool `(rows,)`, which marks rows that
        `padded` found empty although their `lengths` are not 0. See `text.id_rows.IdRows` and
        `DecodedRows`.
        """

    def cached(self, directory, gigabytes=32, say=print):
        """Return a copy of the source that caches decoded inputs in `directory`.

        Several processes can share the directory. The total size of its files is at most about
        `gigabytes` GB (10^9 bytes); `say` is called with a message when that limit is reached.
        Raises OSError if the directory can't be created, and ValueError if inputs are not files or
        `gigabytes` is not from 0 to 1,000,000.

        Example:
            >>> source = ImageSource().cached("cache")
        """
        if self.inputs_are != "files":
            raise ValueError(
                "A cache is for inputs that are decoded, such as images or speech. Received: "
                f"cache={str(directory)!r} with a {type(self).__name__}. Omit the cache."
            )
        from keras_bahdanau.sources.decoded_rows import FeatureCache

        source = copy.copy(self)
        source.cache = FeatureCache(self, directory, gigabytes, say)
        return source

    def truncate(self, raw, longest):
        """Remove a part of an input that is certainly after the first `longest` positions.

        Returns the same object if nothing is removed.
        """
        return raw

    def cut(self, inputs, longest):
        """Cut inputs to `longest` positions.

        Returns (cut inputs, their rows, bool `(rows,)` that is True for inputs that were longer).
        """
        short = [self.truncate(raw, longest) for raw in inputs]
        rows = self.rows(short)
        shorter = [after is not before for after, before in zip(short, inputs, strict=True)]
        return short, rows.cut(longest), np.array(shorter, bool) | (rows.lengths > longest)

    def whole_columns(self, longest):
        """Return the largest number of positions, at most `longest`, in whole columns of a grid.

        Raises ValueError if it is 0.
        """
        whole = longest // self.grid_height * self.grid_height
        if not whole:
            raise ValueError(
                "`max_source_length` must be at least one column of the grid. Received: "
                f"max_source_length={longest}, with columns of {self.grid_height} positions. "
                f"Use at least {self.grid_height}."
            )
        return whole

    def limits(self, longest):
        """Return the limits on the length of an input, for the card of an artefact."""
        return {"max_source_length": longest}

    def reading_bytes(self, rows, longest):
        """Return the maximum memory, in bytes, for converting `rows` rows to features."""
        return 0

    def batch(self, inputs, longest=None):
        """Return inputs as padded features with source_time >= 1.

        If `longest` is given, inputs are cut to that many positions.
        """
        rows = self.rows(inputs) if longest is None else self.cut(inputs, longest)[1]
        shape = (len(inputs), int(rows.lengths.max(initial=1)))
        return rows.padded(np.arange(len(inputs)), shape)

    def sampled_rows(self, inputs, rate, seed):
        """Return rows of randomly split inputs, for subword sampling.

        Returns None if the source has no subwords. `rate`, in (0, 1), is the `alpha` of
        `SubwordSampler`, and `seed` is a sequence of integers. These rows have one more member:
        `replaced(where, others)` returns the rows with those of `others` where the bool array
        `where` `(rows,)` is True.
        """
        return None

    @abc.abstractmethod
    def requests(self, inputs):
        """Return a request for a list of inputs: a dictionary of arrays, batch first."""

    def feature_requests(self, features):
        """Return a request that contains features: a dictionary of arrays like `feature_inputs`."""
        return self.named(features)

    def emptiness(self, raw):
        """Return the `Emptiness` (reason and remedy, for reports) of a file without positions."""
        return Emptiness()

    @abc.abstractmethod
    def labels(self, features):
        """Return the names of the real positions of each row, as a list of lists of strings."""

    def words(self, inputs, longest=None):
        """Return the first and last word of each position, int `(source_time, 2)`, per input."""
        rows = self.rows(inputs) if longest is None else self.cut(inputs, longest)[1]
        return [np.repeat(np.arange(n, dtype=np.int32)[:, None], 2, axis=1) for n in rows.lengths]

    def sizes(self, inputs):
        """Return the length of each input in words, symbols or positions, for scores by length."""
        return self.rows(inputs).lengths.tolist()

    def picture(self, raw, longest=None):
        """Return a `Picture` of the first `longest` positions, for plots of alignments, or None."""
        return None

    @abc.abstractmethod
    def key(self, raw):
        """Return an integer that depends only on the content of an input, for seeds."""

    def attended_words(self, raw, alignment, characters=False):
        """Return the word of the input that each target token attends to: strings `(target_time,)`.

        Used by a search with `replace_unknown`, which needs `subwords`. `alignment` is float
        `(target_time, source_time)`. If `characters` is True, the result contains single characters
        instead of words.
        """
        raise NotImplementedError

    # in a TensorFlow graph

    @abc.abstractmethod
    def features(self, **inputs):
        """Return the features of a request from its tensors, with source_time at least 1."""

    def features_from(self, **feature_inputs):
        """Return the features of a request that contains features (see `feature_inputs`)."""
        return self.sanitize(self.packed(feature_inputs))

    def graph_truncate(self, longest, **inputs):
        """Truncate inputs in a graph, like `truncate`.

        Returns (tensors, bool `(batch,)` that is True for truncated inputs). The second is False if
        inputs are never truncated.
        """
        return inputs, False

    @abc.abstractmethod
    def graph_cut(self, features, longest):
        """Cut features to at most `longest` positions.

        Returns (features, bool `(batch,)` that is True for rows that were longer).
        """

    def cut_request(self, longest, **inputs):
        """Cut a request in a graph, like `cut`, to (inputs, features, truncated `(batch,)`)."""
        inputs, shorter = self.graph_truncate(longest, **inputs)
        features, longer = self.graph_cut(self.features(**inputs), longest)
        return inputs, features, shorter | longer

    @abc.abstractmethod
    def sanitize(self, features):
        """Replace invalid values in features, such as ids out of range, with valid ones."""

    def lengths(self, features):
        """Return the number of real positions, int32 `(batch,)`."""
        return features.lengths

    @abc.abstractmethod
    def label_tensor(self, features):
        """Return `labels` as a string tensor `(batch, source_time)`, with "" at padding."""

    def graph_attended_words(self, alignment, characters=False, **inputs):
        """Return `attended_words` in a graph, as a string tensor `(batch, beam, target_time)`."""
        raise NotImplementedError

    @property
    def resources(self):
        """List of `tf.Module` objects that a SavedModel must contain for `features` to run."""
        return []

    # config and equality

    @abc.abstractmethod
    def get_config(self):
        """Return the config as a dictionary that can be converted to JSON."""

    @classmethod
    def from_config(cls, config):
        return cls(**config)

    def __eq__(self, other):
        return type(self) is type(other) and self.get_config() == other.get_config()

    def __hash__(self):
        return hash((type(self), self.size))


def refuse_convolutions(name, convolutions, augmentation):
    """Raise ValueError if convolutions or augmentation are requested; `name` has neither."""
    if convolutions or augmentation:
        raise ValueError(
            f"Convolutions and random changes in training are not available for {name}. "
            f"Received: convolutions={convolutions!r}, augmentation={augmentation!r}. "
            "Omit these arguments."
        )
