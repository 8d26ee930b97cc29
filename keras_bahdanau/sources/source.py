"""The protocol of a source: its members, used by the rest of the package."""

import abc
import copy
from typing import Any

import keras
import numpy as np

from keras_bahdanau.files.media_forms import Emptiness
from keras_bahdanau.settings.guesses import check_constructor


class Source(abc.ABC):
    """One kind of input: text, frames, images, speech.

    A raw input is a Python object: a string, an array. A request is a set of named tensors, batch
    first, as a server receives them. Features are the structure of tensors that the front end of
    an encoder reads.

    A new source is one class with these members, registered with
    `keras.saving.register_keras_serializable`, and a front end for its features.
    `docs/adding_one.md` lists the other files that a source touches.

    Attributes:
        size: Integer, the front end's `source_size`: number of ids of a vocabulary, or of values of
            a frame.
        inputs: Dictionary from the names of a request's tensors to their `tf.TensorSpec`.
        feature_spec: Structure of named `tf.TensorSpec` `(batch, [source_time, ...])`.
        feature_inputs: Dictionary like `inputs`, for requests that hold features; the same as
            `inputs` if every request holds features.
        assets: Dictionary from names to bytes: the files with which a client makes features.
        descriptions: Dictionary from the names of the features to pairs (text, names of axes).
        edge_cases: List of unusual inputs, such as an empty one, on which exports are compared.
        examples: List of two typical inputs of different lengths, for the warm-up of exports.
        subwords: The `Subwords` of a source that is text, or None.
        card: Dictionary for JSON: information for runners without Keras on a source with assets.
        preset: String, name of the default preset of a training.
        inputs_are: "lines" of text, "files" or "arrays": the form of inputs in commands.
        unit: String, the name of positions in messages, such as "tokens".
        positions_are_tokens: Bool. True for text, whose positions are tokens.
        counted_in: String, the unit of `sizes`, such as "words".
        length_band: Integer, the step in which scores by length count: see `band_starts`.
        longest: Integer, most positions of an input unless a search option sets another number.
        fixed_length: Integer, the same for a LiteRT file, which computes all of them.
        grid_height: Integer, positions per column if positions are cells of a grid, column by
            column from the left, each from the top; 1 for a sequence.
        cache: `FeatureCache` of a source from `cached`, or None.
        page_entry: String, name of the module of a page in which a visitor enters an input, or
            None: see `exporters.browser`.
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
        """Most positions of a training input; None for the limit of targets."""
        return self.longest

    @abc.abstractmethod
    def front_end(self, units, convolutions=None, augmentation=0.0):
        """Return a front end for the features, with vectors of width `units`.

        A layer `(features, training=None) -> (vectors, mask)`, vectors
        `(batch, source_time, units)` and mask `(batch, source_time)`, with the attributes `units`
        and `source_size`: see `layers.front_ends`. `convolutions` are the widths of its
        convolutions, None for defaults; `augmentation`, in [0, 1], is the strength of random
        changes in training. Raises ValueError if it does not support a requested one.
        """

    # the structure of features

    def batch_spec(self, rows, source_time):
        """`feature_spec` for given rows and positions; features of other shapes override it."""

        def sized(spec):
            shape = (rows, source_time, *spec.shape[2:])[: len(spec.shape)]
            return type(spec)(shape, spec.dtype, spec.name)

        return keras.tree.map_structure(sized, self.feature_spec)

    def named(self, features):
        """Dictionary from the names in `feature_spec` to the tensors of a structure."""
        specs = keras.tree.flatten(self.feature_spec)
        tensors = keras.tree.flatten(features)
        return {spec.name: tensor for spec, tensor in zip(specs, tensors, strict=True)}

    def packed(self, tensors):
        """The structure of a dictionary from `named`."""
        specs = keras.tree.flatten(self.feature_spec)
        return keras.tree.pack_sequence_as(
            self.feature_spec, [tensors[spec.name] for spec in specs]
        )

    # Python's side, with NumPy

    def symbols(self, target):
        """Ids of a target, `Subwords`, as which the ids of the source can be copied, or None.

        List of `size` integers, -1 where the target has no equal token. See `Encoder`.
        """
        return None

    @abc.abstractmethod
    def check(self, name, inputs):
        """Raise TypeError or ValueError unless an argument of this name is a list of inputs."""

    @abc.abstractmethod
    def rows(self, inputs):
        """Features of a list of inputs, unpadded.

        An object with three members. `lengths`, an int array `(rows,)`, is the number of positions
        of each row. `cut(longest)` returns the same rows with at most `longest`
        positions. `padded(members, (rows, source_time))` returns arrays: the rows with the numbers
        in the int array `members`, right-padded, then empty rows. Rows that are decoded late may
        have a fourth member, `broken`, bool `(rows,)`: rows that `padded` found empty, though their
        `lengths` are not 0. See `text.id_rows.IdRows` and `DecodedRows`.
        """

    def cached(self, directory, gigabytes=32, say=print):
        """A copy of the source that caches decoded inputs in `directory`, shared by processes.

        All files together have at most about `gigabytes` of 10^9 bytes; `say` reports the limit.
        Raises OSError if the directory can't be made; ValueError if its inputs are not files, or
        `gigabytes` is not from 0 to 1,000,000.

        Example:
            >>> source = ImageSource().cached("cache")
        """
        if self.inputs_are != "files":
            raise ValueError(
                "A cache is for inputs that are decoded, such as images or speech. Received: "
                f"cache={str(directory)!r} with a {type(self).__name__}. Leave it out."
            )
        from keras_bahdanau.sources.decoded_rows import FeatureCache

        source = copy.copy(self)
        source.cache = FeatureCache(self, directory, gigabytes, say)
        return source

    def truncate(self, raw, longest):
        """Remove the part of an input far after `longest` positions; the same object if none."""
        return raw

    def cut(self, inputs, longest):
        """(inputs, rows, truncated): inputs cut to `longest`, their rows, bool `(rows,)`."""
        short = [self.truncate(raw, longest) for raw in inputs]
        rows = self.rows(short)
        shorter = [after is not before for after, before in zip(short, inputs, strict=True)]
        return short, rows.cut(longest), np.array(shorter, bool) | (rows.lengths > longest)

    def whole_columns(self, longest):
        """Most positions in whole columns of a grid, at most `longest`; ValueError if 0."""
        whole = longest // self.grid_height * self.grid_height
        if not whole:
            raise ValueError(
                "A grid is cut into whole columns. Received: "
                f"max_source_length={longest}, and columns of {self.grid_height} positions. "
                f"Give at least {self.grid_height}."
            )
        return whole

    def limits(self, longest):
        """Dictionary for the card of an artefact: how long an input may be."""
        return {"max_source_length": longest}

    def reading_bytes(self, rows, longest):
        """Most memory that a request of so many rows takes until it is features."""
        return 0

    def batch(self, inputs, longest=None):
        """Inputs as padded features, source_time >= 1, cut to `longest` positions, if given."""
        rows = self.rows(inputs) if longest is None else self.cut(inputs, longest)[1]
        shape = (len(inputs), int(rows.lengths.max(initial=1)))
        return rows.padded(np.arange(len(inputs)), shape)

    def sampled_rows(self, inputs, rate, seed):
        """Rows of randomly split inputs, for subword sampling; None if the source has no subwords.

        `rate`, in (0, 1): see `SubwordSampler`. `seed` is a sequence of integers. An extra member,
        `replaced(where, others)`, returns rows of `others` where the bool `where` `(rows,)` is
        True.
        """
        return None

    @abc.abstractmethod
    def requests(self, inputs):
        """Dictionary of arrays, the batch first: one request of a list of inputs."""

    def feature_requests(self, features):
        """Dictionary of arrays: one request of features, with the names of `feature_inputs`."""
        return self.named(features)

    def emptiness(self, raw):
        """`Emptiness` of a file without positions: reason and remedy, for reports."""
        return Emptiness()

    @abc.abstractmethod
    def labels(self, features):
        """Names of the real positions of each row: a list of lists of strings."""

    def words(self, inputs, longest=None):
        """The first and the last word of each position, int `(source_time, 2)`, for each input."""
        rows = self.rows(inputs) if longest is None else self.cut(inputs, longest)[1]
        return [np.repeat(np.arange(n, dtype=np.int32)[:, None], 2, axis=1) for n in rows.lengths]

    def sizes(self, inputs):
        """Length of each input, for scores by length: words, symbols, or positions."""
        return self.rows(inputs).lengths.tolist()

    def picture(self, raw, longest=None):
        """`Picture` of the first `longest` positions, for plots of alignments; None without one."""
        return None

    @abc.abstractmethod
    def key(self, raw):
        """Integer that depends only on the content of an input, for seeds."""

    def attended_words(self, raw, alignment, characters=False):
        """Strings `(target_time,)`: the word of the input that each target token attends to.

        For a search with `replace_unknown`, which needs `subwords`. `alignment` is float
        `(target_time, source_time)`. `characters` is True for single characters.
        """
        raise NotImplementedError

    # the side of a TensorFlow graph

    @abc.abstractmethod
    def features(self, **inputs):
        """Features of a request, given by its tensors; source_time is at least 1."""

    def features_from(self, **feature_inputs):
        """Features of a request that already holds features; see `feature_inputs`."""
        return self.sanitize(self.packed(feature_inputs))

    def graph_truncate(self, longest, **inputs):
        """As `truncate`, in a graph: (tensors, cut bool `(batch,)`, or False if never cut)."""
        return inputs, False

    @abc.abstractmethod
    def graph_cut(self, features, longest):
        """Features of at most `longest` positions, and bool `(batch,)`: which had more."""

    def cut_request(self, longest, **inputs):
        """As `cut`, for a request in a graph: (inputs, features, truncated bool `(batch,)`)."""
        inputs, shorter = self.graph_truncate(longest, **inputs)
        features, longer = self.graph_cut(self.features(**inputs), longest)
        return inputs, features, shorter | longer

    @abc.abstractmethod
    def sanitize(self, features):
        """The features with invalid numbers, such as unknown ids, replaced by valid ones."""

    def lengths(self, features):
        """Int32 tensor `(batch,)`, number of real positions."""
        return features.lengths

    @abc.abstractmethod
    def label_tensor(self, features):
        """String tensor `(batch, source_time)`: as `labels`, "" after the real positions."""

    def graph_attended_words(self, alignment, characters=False, **inputs):
        """As `attended_words`, in a graph: string tensor `(batch, beam, target_time)`."""
        raise NotImplementedError

    @property
    def resources(self):
        """List of `tf.Module` that a SavedModel must hold for `features` to run."""
        return []

    # its config

    @abc.abstractmethod
    def get_config(self):
        """Dictionary that JSON holds."""

    @classmethod
    def from_config(cls, config):
        return cls(**config)

    def __eq__(self, other):
        return type(self) is type(other) and self.get_config() == other.get_config()

    def __hash__(self):
        return hash((type(self), self.size))


def refuse_convolutions(name, convolutions, augmentation):
    """Raise ValueError if convolutions or random changes are requested without support."""
    if convolutions or augmentation:
        raise ValueError(
            f"A {name} has neither convolutions nor random changes in training. "
            f"Received: convolutions={convolutions!r}, augmentation={augmentation!r}. "
            "Leave them out."
        )
