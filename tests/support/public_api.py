"""Print the public API as lines of text: names, signatures, commands and their options.

`make api` rewrites tests/public_api.txt, so that each change of the API shows up in a diff.
"""

import collections.abc
import functools
import inspect
import re
import types
from pathlib import Path

import keras_bahdanau as kb
from keras_bahdanau import cli
from keras_bahdanau.layers.registry import Registry

FILE = Path(__file__).parents[1] / "public_api.txt"
PACKAGE = kb.__name__
ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def text():
    """Return all lines as a string."""
    lines = [f"{name} = {module}" for name, module in sorted(kb._MODULE_OF.items())]
    for part in sorted({*kb._PARTS, *kb._MODULES}):
        lines += ["", f"{PACKAGE}.{part}", *module_lines(getattr(kb, part))]
    for command in sorted(cli.COMMANDS):
        lines += ["", f"$ keras-bahdanau {command}", *command_lines(command)]
    return "\n".join(lines) + "\n"


def module_lines(module):
    """Yield the lines of a module's public names, without those of its submodules."""
    names = getattr(module, "__all__", None)
    if names is None:
        own = (name for name, value in vars(module).items() if is_defined_in(value, module))
        names = [name for name in own if not name.startswith("_")]
    for name in sorted(names):
        value = getattr(module, name)
        if not isinstance(value, types.ModuleType):
            yield from value_lines(name, value)


def is_defined_in(value, module):
    return getattr(value, "__module__", None) == module.__name__


def value_lines(name, value):
    if inspect.isclass(value):
        yield f"{name}{constructor(value)}"
        yield from member_lines(value)
    elif callable(value) and not isinstance(value, Registry):
        yield f"{name}{parameters(value)}"
    elif isinstance(value, Registry | collections.abc.Mapping):
        yield f"{name}: {', '.join(sorted(map(str, value)))}"
    else:
        yield f"{name}: {type(value).__name__}"


def constructor(kind):
    """Return a class's parameters; the `__new__` of Keras layers, which accepts any, is ignored."""
    has_init = "keras_bahdanau" in getattr(kind.__init__, "__module__", "")
    return parameters(kind.__init__, bound=True) if has_init else parameters(kind)


def member_lines(kind):
    """Yield the methods and properties that the package adds to a class, and its `call`."""
    bases = [base for base in kind.__mro__ if base.__module__.startswith(PACKAGE)]
    foreign = {name for base in kind.__mro__ if base not in bases for name in vars(base)}
    members = {}
    for base in reversed(bases):
        members.update(vars(base))
    for name, member in sorted(members.items()):
        if name.startswith("_") or (name in foreign and name != "call"):
            continue
        if isinstance(member, property | functools.cached_property):
            yield f"    .{name}"
        elif isinstance(member, staticmethod):
            yield f"    .{name}{parameters(member.__func__)}"
        elif isinstance(member, classmethod):
            yield f"    .{name}{parameters(member.__func__, bound=True)}"
        elif inspect.isfunction(member):
            yield f"    .{name}{parameters(member, bound=True)}"


def parameters(function, bound=False):
    """Return the parameters with their defaults, without annotations and `self`."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a class implemented in C
        return ""
    found = [*signature.parameters.values()][int(bound) :]
    plain = [one.replace(annotation=one.empty, default=default_of(one)) for one in found]
    return str(inspect.Signature(plain))


def default_of(parameter):
    """Return the default of a parameter, without a memory address in its repr."""
    default = parameter.default
    if default is parameter.empty or default is None:
        return default
    return Shown(getattr(default, "__name__", None) or ADDRESS.sub("", repr(default)))


class Shown(str):
    """A string that is its own repr."""

    def __repr__(self):
        return str(self)


def command_lines(name):
    """Yield the arguments and options of a command; defaults are shown if they are plain values."""
    for parameter in cli.command(name).params:
        if getattr(parameter, "hidden", False):
            continue
        flags = ", ".join((*parameter.opts, *parameter.secondary_opts))
        plain = isinstance(parameter.default, bool | int | float | str) and parameter.default != ""
        is_option = parameter.param_type_name == "option"
        default = f" = {parameter.default}" if plain and is_option else ""
        yield f"    {flags if is_option else flags.upper()}{default}"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
