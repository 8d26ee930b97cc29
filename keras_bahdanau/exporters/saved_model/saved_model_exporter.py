"""The format `saved-model`: SavedModels for TensorFlow Serving that map text to text."""

import dataclasses
import itertools

from keras_bahdanau.exporters.card import (
    describe_parity,
    describe_search,
    describe_source,
    table_of,
)
from keras_bahdanau.exporters.exporter import (
    MOST_LISTED,
    Answer,
    Answers,
    Exporter,
    Listed,
    text_beginnings,
)
from keras_bahdanau.exporters.publishing import (
    newest_version,
    next_version,
    publish_version,
)
from keras_bahdanau.exporters.saved_model.version_card import (
    BATCH,
    find_damage,
    load_card,
    write_card,
)
from keras_bahdanau.search import SearchOptions

SIGNATURES = ("prefix", "alignments")  # optional signatures


class VersionFormat(Exporter):
    """Base of the SavedModel exporters for pipelines and Keras models: numbered versions."""

    purpose = "TensorFlow Serving"
    artefact = "SavedModel"
    file_name = ""
    writes_file = False

    @staticmethod
    def recognizes(path):
        return path.is_dir()

    def require(self, model):
        from keras_bahdanau.exporters.cpp_loader.c_library import find_library

        super().require(model)
        try:
            find_library()
        except RuntimeError as error:
            raise ValueError(
                "An export to a SavedModel needs TensorFlow's C library, to compare the model with "
                f"Keras. {error} An export to LiteRT works everywhere."
            ) from None

    def destination(self, path):
        return next_version(path)

    def publish(self, written, path):
        return publish_version(written, path.parent)

    def damage(self, path):
        version = newest_version(path)
        return [] if version is None else find_damage(version)

    def check(self, path):
        from keras_bahdanau.exporters.saved_model.graph_check import check_saved_model

        return check_saved_model(path)

    def add_parity(self, path, rows):
        write_card(path, {**load_card(path), "parity": table_of(rows)})


@dataclasses.dataclass(frozen=True, kw_only=True)
class SavedModelExporter(VersionFormat):
    """The format `saved-model` for pipelines; its fields are settings of `export_saved_model`."""

    max_source_length: int | None = None
    signatures: tuple = ()

    text_operations = True  # the graph contains operations of tensorflow-text
    pads_requests = False  # a server that pads crashes on requests of different rank
    target_length = "target_length"  # name of the output with the length of the target

    def __post_init__(self):
        SearchOptions(max_source_length=self.max_source_length)  # checks the value
        if not set(self.signatures) <= set(SIGNATURES):
            raise ValueError(
                "`signatures`, which are added to those of every SavedModel, must be among "
                f"{', '.join(map(repr, SIGNATURES))}. Received: signatures={self.signatures!r}"
            )

    @classmethod
    def variants(cls, **settings):
        known = tuple(name for name in settings.get("signatures") or () if name in SIGNATURES)
        return [cls(max_source_length=settings["max_source_length"], signatures=known)]

    def require(self, pipeline):
        super().require(pipeline)
        self.resources(pipeline)  # fails now if tensorflow-text is not installed

    def served(self, pipeline):
        """Return the signatures: a dictionary from names to (function, its arguments)."""
        from keras_bahdanau.exporters.saved_model.served_signatures import served

        return served(pipeline, self.signatures)

    def examples(self, pipeline):
        """Return two rows of values for each argument of the signatures, for the warm-up."""
        source = pipeline.source
        return {
            **source.feature_requests(source.batch(source.examples)),
            **source.requests(source.examples),
            "target": [b"a", b"a b c"],
            "prefix": [b"a", b""],
        }

    def resources(self, pipeline):
        """Return a list of the `tf.Module` objects that the graph uses."""
        return [*pipeline.source.resources, pipeline.target.graph]

    def extra_files(self, pipeline):
        """Return additional files for `assets.extra`: a dictionary from names to bytes."""
        return {}

    def write(self, pipeline, path):
        from keras_bahdanau.exporters.saved_model.version import write_version

        options = pipeline.search
        if self.max_source_length is not None:
            options = dataclasses.replace(options, max_source_length=self.max_source_length)
        write_version(self, pipeline.searching(options), path)

    def answers(self, path, pipeline, inputs):
        """Return answers to single inputs, to batches of 64 in two orders, and lists."""
        from keras_bahdanau.exporters.cpp_loader import timed_in_clean_process
        from keras_bahdanau.exporters.saved_model.version import warmup_requests

        requested = self._requests(pipeline, inputs)
        warmup = warmup_requests(self, pipeline)
        requests = (  # created one at a time: files are large
            (name, self.request(pipeline, [inputs[row] for row in rows], prefixes))
            for name, rows, prefixes in requested
        )
        results, seconds = timed_in_clean_process(
            path,
            itertools.chain(warmup, requests),
            threads=1,
            text_operations=self.text_operations,
        )
        received, lists = [[] for _ in inputs], []
        for (_, rows, prefixes), result in zip(requested, results[len(warmup) :], strict=True):
            if "scores" in result:
                prefix_texts = prefixes or [""] * len(rows)
                lists += map(Listed, rows, prefix_texts, self.read_lists(pipeline, result))
                continue
            for answer, row in zip(self.read(pipeline, result), rows, strict=True):
                received[row].append(answer)
        alone = seconds[len(warmup) :][: len(inputs)]
        return Answers(received, alone, longest_source=self.max_source_length, lists=lists)

    def _requests(self, pipeline, inputs):
        """Return a list of requests: (name of a signature, row numbers, prefixes or None)."""
        aligned, nbest, prefix = (
            self.signature(pipeline, kind) for kind in ("with_alignment", "nbest", "prefix")
        )
        requested = [("serving_default", [row], None) for row in range(len(inputs))]
        for step in (1, -1):
            requested += [(aligned, rows, None) for rows in _batches(len(inputs), step)]
        first = range(len(inputs))[:MOST_LISTED]
        endings = ("", "_with_alignment") if "alignments" in self.signatures else ("",)
        requested += [(nbest + ending, first, None) for ending in endings]
        if "prefix" in self.signatures:
            beginnings = text_beginnings(pipeline, [inputs[row] for row in first])
            requested += [(prefix + ending, first, beginnings) for ending in endings]
        return requested

    def signature(self, pipeline, kind):
        """Return the name of a signature; `kind` is "with_alignment", "nbest" or "prefix"."""
        return f"{pipeline.verb}_{kind}"

    def request(self, pipeline, inputs, prefixes=None):
        """Return the arguments of a request with these inputs and prefixes."""
        request = pipeline.source.requests(inputs)
        if prefixes is not None:
            request["prefix"] = [prefix.encode() for prefix in prefixes]
        return request

    def read(self, pipeline, result):
        """Yield the `Answer` in each row of a result; not all signatures return alignments."""
        for row, text in enumerate(self.texts(pipeline, result)):
            tokens = _token_fields(result, self.target_length, row)
            confidence = float(result["confidence"][row])
            yield Answer(text, float(result["score"][row]), *tokens, confidence=confidence)

    def texts(self, pipeline, result):
        """Return the texts in a result, a list of strings."""
        return [text.decode("utf-8", "replace") for text in result[pipeline.noun]]

    def read_lists(self, pipeline, result):
        """Yield a list of `Answer` for each row of a result, without empty entries at the end."""
        from keras_bahdanau.search.beam import IMPOSSIBLE

        lists = self.listed_texts(pipeline, result), result["scores"], result["confidences"]
        for row, (texts, scores, confidences) in enumerate(zip(*lists, strict=True)):
            first, *hypotheses = (
                Answer(
                    texts[rank],
                    float(scores[rank]),
                    *_token_fields(result, f"{self.target_length}s", row, rank),
                    confidence=float(confidences[rank]),
                )
                for rank in range(len(texts))
            )
            yield [first, *(answer for answer in hypotheses if answer.score > IMPOSSIBLE)]

    def listed_texts(self, pipeline, result):
        """Return all texts of each row, a list of lists of strings."""
        rows = result[f"{pipeline.noun}s"]
        return [[text.decode("utf-8", "replace") for text in row] for row in rows]

    def describe(self, path):
        card = load_card(newest_version(path))
        if card is None:
            return "no card.json: nothing to compare the files with"
        hashes = card["vocabulary_sha256"].items()
        signatures = card["signatures"].items()
        return "\n".join(
            [
                f"{card['format']}, by keras_bahdanau {card['keras_bahdanau']}",
                f"TensorFlow {card['tensorflow']}, Keras {card['keras']}",
                *describe_source(card),
                describe_search(card),
                *describe_limits(card),
                *(f"{side} vocabulary, sha256 {digest}" for side, digest in hashes),
                *(f"{name}: {', '.join(inputs)}" for name, inputs in signatures),
                _describe_files(card),
                describe_parity(card),
            ]
        )


def _describe_files(card):
    if "sha256" not in card:  # the card is from version 0.1.0
        return "the card has no sha256 of the files: damage to them may not be found"
    return f"{len(card['sha256'])} files, each with the sha256 in the card"


def describe_limits(card):
    """Yield a line with the limits of a request; cards of version 0.1.0 lack them."""
    if "max_rows" not in card:
        return
    work = "no known number of"
    if "max_batch_operations" in card:
        work = f"{card['max_batch_operations'] / 1e9:,.1f} billion"
    in_bytes = f" or {card['max_source_bytes']:,} bytes" if "max_source_bytes" in card else ""
    yield (
        f"limits: {card['max_rows']} rows; a source is truncated after "
        f"{card['max_source_length']:,} positions{in_bytes}, a given target after "
        f"{card['max_target_length']:,} tokens; "
        f"{card['max_batch_bytes'] / 1e6:,.0f} MB beside the loaded model and "
        f"{work} operations suffice for any batch"
    )


def _token_fields(result, length, row, *rank):
    """Return (alignment, log-probabilities, entropies) of a text; () if the result has none."""
    if "alignment" not in result:
        return ()
    sources, targets = result["source_length"][row], result[length][(row, *rank)]
    names = "alignment", "token_log_probs", "token_entropies"
    alignment, *probabilities = (result[name][(row, *rank)][:targets] for name in names)
    return alignment[:, :sources], *probabilities


def _batches(count, step):
    """Return row numbers in batches of `BATCH`; the first rows fill up the last batch."""
    rows = itertools.cycle(range(count)[::step])
    return [list(itertools.islice(rows, BATCH)) for _ in range(-(-count // BATCH))]
