"""Page that explains traces step by step: one HTML file that makes no requests."""

import base64
import hashlib
import html
import json
import re
from pathlib import Path

from keras_bahdanau.files.whole_file import replacing
from keras_bahdanau.plotting.figures import is_trace
from keras_bahdanau.plotting.trace_data import trace_data
from keras_bahdanau.settings.option import Check, check_value, integer

PAGE = Path(__file__).parent / "page"
# in this order: each may import those before it
MODULES = (
    *("traces", "elements", "wording", "pictures", "sentences", "step_table"),
    *("next_tokens", "weight_map", "branches", "beam_tree", "player", "explorer"),
)
MOST_INPUTS, MOST_SIDES = 1000, 4
_LONGEST_TITLE = 200  # characters
_IMPORT = re.compile(r'^import (\{.*\}) from "\./(\w+)\.mjs";$', re.MULTILINE)
_PLAYER = re.compile(r'<section id="player".*?</section>', re.DOTALL)
_EXPORT = re.compile(r"^export (?=(?:function|class) (\w+))", re.MULTILINE)


def write_explorer(traces, path, *, labels=None, title="Attention, step by step"):
    """Write a page that explains translations step by step, for any browser.

    The page is one file without network access. It plays the steps with a sentence on each, and
    shows curves from source to target, scores, weights, the weighted sum, the next tokens, and a
    map of the weights. Traces with `explore=True` add the tree of the search and the continuations
    of the second best tokens.

    Args:
        traces: List of at most 1000 items, one an input: a `Trace`, or a list of up to 4 to compare
            side by side, such as a model's output and a reference.
        path: Path of the file to write.
        labels: List of strings, the names of the sides; numbers if left out.
        title: String, the heading of the page, of 1 to 200 characters.

    Raises:
        TypeError: If `traces` holds something else.
        ValueError: If the path ends in neither .html nor .htm; if there is no trace, or too
            many, or fewer labels than sides.

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
        "inputs": [[trace_data(trace) for trace in traces] for traces in inputs],
    }
    path = Path(path)
    with replacing(path, path.with_name(f".unfinished-{path.name}")) as unfinished:
        unfinished.write_text(filled_page(data, title), encoding="utf-8")


def check_page_name(name, path):
    """Raise ValueError unless a path ends in .html or .htm."""
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise ValueError(
            f"A page's name must end in .html. Received: {name}={str(path)!r}. Rename it."
        )


def filled_page(data, title, template="index.html", modules=MODULES):
    """The filled template; the policy allows the script and the style by their hashes."""
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
    # in one pass: no part is searched for names
    return re.sub(r"\{\{([A-Z]+)\}\}", lambda match: parts[match[1]], _read(template))


def _inlined(name):
    """A module as a function that returns its exports."""
    source = _read(f"{name}.mjs")
    exports = ", ".join(_EXPORT.findall(source))
    body = _EXPORT.sub("", _IMPORT.sub(r"const \1 = $\2;", source))
    return f"const ${name} = (() => {{\n{body}return {{ {exports} }};\n}})();"


def _script_json(data):
    """JSON that is safe within a script element."""
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
    """List of lists of traces, one list an input."""
    if is_trace(traces):
        raise TypeError(
            "`traces` must be a list with an item for each input. Received: one Trace. "
            "Give [trace]."
        )
    if isinstance(traces, str) or not hasattr(traces, "__iter__"):
        raise TypeError(
            "`traces` must be a list of Traces. Received: "
            f"{type(traces).__name__}. Give [translator.trace(text)]."
        )
    inputs = [[sides] if is_trace(sides) else sides for sides in traces]
    check_value("number of inputs", len(inputs), integer(1, MOST_INPUTS))
    for sides in inputs:
        if not isinstance(sides, list | tuple) or not all(map(is_trace, sides)):
            raise TypeError(
                "Each item of `traces` must be a Trace or a list of Traces. Received: an item of "
                f"type {type(sides).__name__}. Give what `Pipeline.trace` returns."
            )
        check_value("number of traces of an input", len(sides), integer(1, MOST_SIDES))
    return inputs


def _are_names(sides):
    return lambda labels: len(labels) >= sides and all(isinstance(name, str) for name in labels)


def _is_title(title):
    return isinstance(title, str) and 0 < len(title) <= _LONGEST_TITLE
