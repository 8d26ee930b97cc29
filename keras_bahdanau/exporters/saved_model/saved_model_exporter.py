"""SavedModels as a format: text in, text out, for TensorFlow Serving."""

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

SIGNATURES = ("prefix", "alignments")  # in addition to those of every version


class VersionFormat(Exporter):
    """Base of SavedModels of pipelines and of Keras models: numbered versions."""

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
                "A SavedModel is compared with Keras in TensorFlow's C library before it is "
                f"published. {error} LiteRT files can be exported everywhere."
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
    """The format of `export_saved_model` for pipelines."""

    max_source_length: int | None = None
    signatures: tuple = ()

    text_operations = True  # the graph has operations of tensorflow-text
    pads_requests = False  # a padding server crashes on two requests of different rank
    target_length = "target_length"  # name of an output with the alignment

    def __post_init__(self):
        SearchOptions(max_source_length=self.max_source_length)  # which checks it
        if not set(self.signatures) <= set(SIGNATURES):
            raise ValueError(
                f"`signatures` of a SavedModel must be some of {', '.join(map(repr, SIGNATURES))}, "
                f"besides those that all have. Received: signatures={self.signatures!r}"
            )

    @classmethod
    def variants(cls, **settings):
        known = tuple(name for name in settings.get("signatures") or () if name in SIGNATURES)
        return [cls(max_source_length=settings["max_source_length"], signatures=known)]

    def require(self, pipeline):
        super().require(pipeline)
        self.resources(pipeline)  # or fail now if tensorflow-text is not installed

    def served(self, pipeline):
        """Signatures: dictionary from a name to (function, its arguments)."""
        from keras_bahdanau.exporters.saved_model.served_signatures import served

        return served(pipeline, self.signatures)

    def examples(self, pipeline):
        """Values of all arguments of the signatures, for the warm-up: two rows."""
        source = pipeline.source
        return {
            **source.feature_requests(source.batch(source.examples)),
            **source.requests(source.examples),
            "target": [b"a", b"a b c"],
            "prefix": [b"a", b""],
        }

    def resources(self, pipeline):
        """List of `tf.Module` that the graph reads."""
        return [*pipeline.source.resources, pipeline.target.graph]

    def extra_files(self, pipeline):
        """Dictionary from a name in `assets.extra` to the bytes of an additional file."""
        return {}

    def write(self, pipeline, path):
        from keras_bahdanau.exporters.saved_model.version import write_version

        options = pipeline.search
        if self.max_source_length is not None:
            options = dataclasses.replace(options, max_source_length=self.max_source_length)
        write_version(self, pipeline.searching(options), path)

    def answers(self, path, pipeline, inputs):
        """Answers to single inputs, in batches of 64, and in another order; and lists."""
        from keras_bahdanau.exporters.cpp_loader import timed_in_clean_process
        from keras_bahdanau.exporters.saved_model.version import warmup_requests

        requested = self._requests(pipeline, inputs)
        warmup = warmup_requests(self, pipeline)
        requests = (  # created one by one: files are large
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
        """List of (name of a signature, row numbers, their prefixes or None), one per request."""
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
        """Name of the signature of a kind: "with_alignment", "nbest" or "prefix"."""
        return f"{pipeline.verb}_{kind}"

    def request(self, pipeline, inputs, prefixes=None):
        """Arguments of a request: inputs, and prefixes of their texts."""
        request = pipeline.source.requests(inputs)
        if prefixes is not None:
            request["prefix"] = [prefix.encode() for prefix in prefixes]
        return request

    def read(self, pipeline, result):
        """The `Answer` of each row of a result; not all signatures give an alignment."""
        for row, text in enumerate(self.texts(pipeline, result)):
            tokens = _token_fields(result, self.target_length, row)
            confidence = float(result["confidence"][row])
            yield Answer(text, float(result["score"][row]), *tokens, confidence=confidence)

    def texts(self, pipeline, result):
        """The texts of a result: a list of strings."""
        return [text.decode("utf-8", "replace") for text in result[pipeline.noun]]

    def read_lists(self, pipeline, result):
        """A list of `Answer` for each row of a result, without the empty entries at its end."""
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
        """All texts of each row: a list of lists of strings."""
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
    if "sha256" not in card:  # of version 0.1.0
        return "the card has no sha256 of the files: damage to them may not be found"
    return f"{len(card['sha256'])} files, each with the sha256 of the card"


def describe_limits(card):
    """Lines of text with the limits of a request, if the card has them (not in 0.1.0)."""
    if "max_rows" not in card:
        return
    work = "no known number of"
    if "max_batch_operations" in card:
        work = f"{card['max_batch_operations'] / 1e9:,.1f} billion"
    in_bytes = f" or {card['max_source_bytes']:,} bytes" if "max_source_bytes" in card else ""
    yield (
        f"limits: {card['max_rows']} rows; a source is cut at {card['max_source_length']:,} "
        f"positions{in_bytes}, a given target at {card['max_target_length']:,} tokens; "
        f"{card['max_batch_bytes'] / 1e6:,.0f} MB beside the loaded model and "
        f"{work} operations suffice for any batch"
    )


def _token_fields(result, length, row, *rank):
    """The alignment, log-probabilities and entropies of a text; none if the result has none."""
    if "alignment" not in result:
        return ()
    sources, targets = result["source_length"][row], result[length][(row, *rank)]
    names = "alignment", "token_log_probs", "token_entropies"
    alignment, *probabilities = (result[name][(row, *rank)][:targets] for name in names)
    return alignment[:, :sources], *probabilities


def _batches(count, step):
    """Row numbers in batches of `BATCH`, the last batch filled up with the first rows."""
    rows = itertools.cycle(range(count)[::step])
    return [list(itertools.islice(rows, BATCH)) for _ in range(-(-count // BATCH))]
