"""Griffe extension for this package's docstrings: it keeps the lines of equations and arguments."""

import importlib
import inspect
import re

import griffe

_SEE_BASE = re.compile(
    r"For\s+(?:call\s+arguments,\s+output\s+and\s+errors|calls),\s+see\s+`AttentionBase`\."
)
_ALIGNED = re.compile(r"\S {3,}\S")
_CALL_ARGUMENTS = re.compile(r"^Call arguments:\n(?:    .*\n?|\n)+", re.MULTILINE)
_EQUATION = re.compile(r"^ *\S{1,24}( \S+)? +[=~] ", re.MULTILINE)


class Docstrings(griffe.Extension):
    """Extension that fences equations, lists call arguments, and adds text from decorators."""

    def on_instance(self, *, obj, **kwargs):
        """Change the docstring of one object before it is parsed into sections."""
        if obj.is_alias or obj.docstring is None:
            return
        if any("documented" in str(one.value) for one in getattr(obj, "decorators", ())):
            module = importlib.import_module(obj.module.path)
            obj.docstring.value = inspect.getdoc(getattr(module, obj.name))
        text = with_call_arguments(obj.docstring.value)
        text = re.sub(r"^( *)Example:$", r"\1Examples:", text, flags=re.MULTILINE)
        obj.docstring.value = with_listed_arguments(with_fenced_equations(text))


def with_call_arguments(text):
    """Add the call arguments and the output for which a docstring refers to `AttentionBase`."""
    from keras_bahdanau.layers import AttentionBase  # loads Keras

    if not _SEE_BASE.search(text):
        return text
    sections = inspect.getdoc(AttentionBase).partition("Call arguments:\n")
    plain = _SEE_BASE.sub("Calls are as in `AttentionBase`:", inspect.cleandoc(text))
    return f"{plain}\n\n{sections[1]}{sections[2]}"


def with_fenced_equations(text):
    """Put each paragraph of equations in a docstring into a separate fence."""
    paragraphs = re.split(r"(```.*?```|\n{2,})", inspect.cleandoc(text), flags=re.DOTALL)
    return "".join(map(_fenced, paragraphs))


def with_listed_arguments(text):
    """Format the call arguments in a docstring as a list; Griffe has no section for them."""
    return _CALL_ARGUMENTS.sub(
        lambda section: re.sub(r"^    (\w+): ", r"    - `\1`: ", section[0], flags=re.MULTILINE),
        text,
    )


def _fenced(paragraph):
    lines = paragraph.splitlines()
    plain = not paragraph.startswith("```") and lines and not lines[0].startswith(" ")
    if plain and not lines[0].endswith(":"):
        aligned = sum(bool(_ALIGNED.search(line)) for line in lines)
        alone = len(lines) > 1 or lines[0][-1] not in ".,"  # a sentence may begin like an equation
        if aligned > len(lines) / 2 or (alone and _EQUATION.match(paragraph)):
            return f"```text\n{paragraph}\n```"
    return paragraph
