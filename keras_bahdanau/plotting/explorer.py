"""Page that explains attention step by step: a single HTML file that makes no requests."""

import base64
import dataclasses
import hashlib
import html
import json
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from keras_bahdanau.files.whole_file import replacing
from keras_bahdanau.plotting.figures import is_trace, wrong_type
from keras_bahdanau.plotting.labels import WORD_START
from keras_bahdanau.plotting.trace_data import steps_data, trace_data, word_marks
from keras_bahdanau.plotting.weights import read_numbers
from keras_bahdanau.settings.option import Check, check_value, integer

PAGE = Path(__file__).parent / "page"
# in import order: a module may import only earlier ones
MODULES = (
    *("traces", "elements", "wording", "pictures", "sentences", "step_table"),
    *("next_tokens", "weight_map", "branches", "beam_tree", "player", "explorer"),
)
MOST_INPUTS, MOST_SIDES = 1000, 4
_LONGEST_TITLE = 200  # characters
_AXES = "target tokens", "source tokens"
_IMPORT = re.compile(r'^import (\{.*\}) from "\./(\w+)\.mjs";$', re.MULTILINE)
_PLAYER = re.compile(r'<section id="player".*?</section>', re.DOTALL)
_EXPORT = re.compile(r"^export (?=(?:function|class) (\w+))", re.MULTILINE)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class AttentionSteps:
    """Tokens, outputs and attention weights of any model, for `write_explorer`.

    S is the number of source positions, and T is the number of outputs.

    Args:
        source_tokens: List of S strings, one for each position that the model attends to. A piece
            that begins a word starts with "▁". If no piece does, each token is a word, or a letter
            if all tokens are single characters.
        target_tokens: List of T strings: the tokens of a text in the same form, or a single class.
        weights: Array `(T, S)` of weights from 0 to 1, after the softmax, of one head or averaged
            over several heads.
        importance: Dictionary from the name of a measure, such as "leave-one-out", to an array
            `(T, S)`. The larger a value, the more the output depends on the position.
        log_probs: Array `(T,)` of the log-probability of each output, or None.
        text: String, the heading of the input. By default, the target tokens.

    Raises:
        TypeError: If tokens are not lists of strings, or an array does not contain numbers.
        ValueError: If a shape does not match the tokens, or a value is out of range.

    Example:
        >>> weights = kb.attention_weights(classifier, ids[:1])["pooling"]  # (1, source_time)
        >>> steps = AttentionSteps(
        ...     source_tokens=["not", "bad", "."], target_tokens=["positive"], weights=weights
        ... )
        >>> write_explorer([steps], "review.html")
    """

    source_tokens: list
    target_tokens: list
    weights: np.ndarray
    importance: dict = dataclasses.field(default_factory=dict)
    log_probs: np.ndarray | None = None
    text: str | None = None

    def __post_init__(self):
        for name in ("source_tokens", "target_tokens"):
            self._set(name, _strings(name, getattr(self, name)))
        target, source = len(self.target_tokens), len(self.source_tokens)
        self._set("weights", _fitting("weights", self.weights, target, source))
        if (wrong := self.weights[(self.weights < 0) | (self.weights > 1)]).size:
            raise ValueError(
                f"`weights` must be from 0 to 1. Received: {wrong[0]:.4g} in weights. Pass the "
                "weights after the softmax."
            )
        if not isinstance(self.importance, Mapping):
            advice = 'Pass {"leave-one-out": array}.'
            raise wrong_type("importance", self.importance, "a dictionary of arrays", advice)
        measures = {
            str(name): _fitting(f"importance[{name!r}]", array, target, source)
            for name, array in self.importance.items()
        }
        self._set("importance", measures)
        if self.log_probs is not None:
            self._set("log_probs", _fitting("log_probs", self.log_probs, target))
            if self.log_probs.max(initial=0) > 0:
                raise ValueError(
                    f"`log_probs` must be at most 0. Received: {self.log_probs.max():.4g} in "
                    "log_probs. Pass the logarithms of probabilities."
                )
        if self.text is None:
            text = "".join(word_marks(self.target_tokens)).replace(WORD_START, " ").strip()
            self._set("text", text)
        elif not isinstance(self.text, str):
            raise wrong_type("text", self.text, "a string", "Omit it to use the target tokens.")

    def _set(self, name, value):
        object.__setattr__(self, name, value)


def write_explorer(traces, path, *, labels=None, title="Attention, step by step"):
    """Write a page that explains translations step by step, for any browser.

    The page is a single file that needs no network access. It plays the steps, describes each in a
    sentence, and shows curves from source to target, scores, weights, the weighted sum, the next
    tokens, and a map of the weights. For traces with `explore=True`, it also shows the search tree,
    and how the text continues after the second best token of each step. For traces with
    `importance=True`, it can show, next to the weights, measures of how much each output depends on
    each position. For an `AttentionSteps`, which contains the arrays of any model, the page shows
    the weights, the measures and the probabilities.

    Args:
        traces: List of at most 1000 items, one per input. An item is a `Trace`, an
            `AttentionSteps`, or a list of up to 4 of these to compare side by side, such as a
            model's output and a reference.
        path: Path of the file to write.
        labels: List of strings, the names of the sides. By default, numbers.
        title: String, the heading of the page, of 1 to 200 characters.

    Raises:
        TypeError: If `traces` contains anything else.
        ValueError: If the path ends in neither .html nor .htm, if there are no traces or too many,
            or if there are fewer labels than sides.

    Example:
        >>> output = translator.trace("the red car", explore=True)
        >>> reference = translator.trace("the red car", "la voiture rouge", explore=True)
        >>> write_explorer([[output, reference]], "explorer.html", labels=["output", "reference"])
    """
    check_page_name("path", path)
    inputs = _sides_of_inputs(traces)
    sides = max(map(len, inputs))
    labels = [f"{side + 1}" for side in range(sides)] if labels is None else [*labels]
    check_value("labels", labels, Check(f"at least {sides} strings", _are_names(sides)))
    check_value("title", title, Check(f"a string of 1 to {_LONGEST_TITLE} characters", _is_title))
    data = {
        "labels": labels[:sides],
        "inputs": [[*map(_data_of, sides)] for sides in inputs],
    }
    path = Path(path)
    with replacing(path, path.with_name(f".unfinished-{path.name}")) as unfinished:
        unfinished.write_text(filled_page(data, title), encoding="utf-8")


def check_page_name(name, path):
    """Raise ValueError unless a path, called `name` in the error, ends in .html or .htm."""
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise ValueError(
            f"The name of a page must end in .html. Received: {name}={str(path)!r}. Rename it."
        )


def filled_page(data, title, template="index.html", modules=MODULES):
    """Return the filled template; its policy allows its script and style by their hashes."""
    style, program = _read("style.css"), "\n".join(map(_inlined, modules))
    parts = {
        "TITLE": html.escape(title),
        "POLICY": (
            f"default-src 'none'; script-src {_hash(program)}; style-src {_hash(style)}; "
            "img-src data:; base-uri 'none'; form-action 'none'"
        ),
        "STYLE": style,
        "PROGRAM": program,
        "DATA": _script_json(data),
        "PLAYER": _PLAYER.search(_read("index.html"))[0],
    }
    # replace in a single pass, so that names inside the parts are not replaced
    return re.sub(r"\{\{([A-Z]+)\}\}", lambda match: parts[match[1]], _read(template))


def _inlined(name):
    """Return the source of a module, wrapped in a function that returns its exports."""
    source = _read(f"{name}.mjs")
    exports = ", ".join(_EXPORT.findall(source))
    body = _EXPORT.sub("", _IMPORT.sub(r"const \1 = $\2;", source))
    return f"const ${name} = (() => {{\n{body}return {{ {exports} }};\n}})();"


def _script_json(data):
    """Convert data to JSON that is safe inside a script element."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _hash(text):
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def _read(name):
    return (PAGE / name).read_text(encoding="utf-8")


def _sides_of_inputs(traces):
    """Check `traces`, and return a list of lists of traces, one list per input."""
    if _is_side(traces):
        raise TypeError(
            "`traces` must be a list with an item for each input. Received: one "
            f"{type(traces).__name__}. Pass [trace]."
        )
    if isinstance(traces, str) or not hasattr(traces, "__iter__"):
        raise TypeError(
            "`traces` must be a list of Traces. Received: "
            f"{type(traces).__name__}. Pass [translator.trace(text)]."
        )
    inputs = [[sides] if _is_side(sides) else sides for sides in traces]
    check_value("number of inputs", len(inputs), integer(1, MOST_INPUTS))
    for sides in inputs:
        if not isinstance(sides, list | tuple) or not all(map(_is_side, sides)):
            raise TypeError(
                "Each item of `traces` must be a Trace or a list of Traces. Received: an item of "
                f"type {type(sides).__name__}. Pass the result of `Pipeline.trace`, or an "
                "AttentionSteps."
            )
        check_value("number of traces of an input", len(sides), integer(1, MOST_SIDES))
    return inputs


def _is_side(trace):
    return is_trace(trace) or isinstance(trace, AttentionSteps)


def _data_of(trace):
    return steps_data(trace) if isinstance(trace, AttentionSteps) else trace_data(trace)


def _strings(name, tokens):
    """Return tokens as a list of strings, or raise TypeError."""
    if isinstance(tokens, str) or not hasattr(tokens, "__iter__"):
        raise wrong_type(name, tokens, "a list of strings", "Pass a string for each position.")
    tokens = [*tokens]
    for number, token in enumerate(tokens):
        if not isinstance(token, str):
            raise wrong_type(f"{name}[{number}]", token, "a string", "Pass str(token).")
    return tokens


def _fitting(name, array, *shape):
    """Return a finite float array of the given shape, or raise TypeError or ValueError."""
    array = read_numbers(name, array, (len(shape),))
    if array.shape != shape:
        raise ValueError(
            f"`{name}` must have the shape {shape}: {' x '.join(_AXES[: len(shape)])}. Received: "
            f"{name}.shape={array.shape}. Remove padding."
        )
    return array


def _are_names(sides):
    return lambda labels: len(labels) >= sides and all(isinstance(name, str) for name in labels)


def _is_title(title):
    return isinstance(title, str) and 0 < len(title) <= _LONGEST_TITLE
