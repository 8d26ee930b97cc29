"""Generate pages from the code: the API of each part, commands, options and signatures."""

import collections.abc
import dataclasses
import functools
import importlib
import inspect
import tempfile
import types
from pathlib import Path

import keras_bahdanau as kb
from keras_bahdanau import cli
from keras_bahdanau.layers.registry import Registry

_TITLES = {
    "callbacks": "Callbacks",
    "data": "Data",
    "demo": "Demo corpus",
    "evaluation": "Evaluation",
    "exporters": "Exporters",
    "layers": "Layers",
    "losses": "Losses",
    "metrics": "Metrics",
    "migrate": "Trained models of other packages",
    "models": "Models",
    "pipelines": "Pipelines",
    "plotting": "Plotting",
    "search": "Search",
    "sources": "Sources",
    "text": "Text",
    "training": "Training",
}


@functools.cache
def api_pages():
    """Return a page with all public names for each part of the package, by path in the site."""
    return {f"reference/api/{part}.md": _api_page(part) for part in _parts()}


def _parts():
    modules = {name: getattr(kb, name) for name in kb.__all__}
    own = (name for name, value in modules.items() if _is_part(name, value))
    return sorted(own)


def _is_part(name, value):
    return isinstance(value, types.ModuleType) and value.__name__ == f"{kb.__name__}.{name}"


def public_names(module):
    """Return the public names of a part: its `__all__`, or the names that its only file defines."""
    names = getattr(module, "__all__", None)
    if names is not None:
        return sorted(names, key=str.lower)
    own = [name for name, value in vars(module).items() if _module_of(value) == module.__name__]
    return sorted((name for name in own if not name.startswith("_")), key=str.lower)


def _module_of(value):
    return getattr(value, "__module__", None)


def _api_page(part):
    module = importlib.import_module(f"{kb.__name__}.{part}")
    title = _TITLES.get(part, part.capitalize())
    intro = inspect.cleandoc(module.__doc__).split("\n\n")
    lines = [f"# {title}", "", f"`keras_bahdanau.{part}`: {intro[0]}", *_paragraphs(intro[1:])]
    families = getattr(module, "PUBLIC", {"": public_names(module)})
    for family, names in families.items():
        lines += ["", f"## {family}"] if family else []
        for name in names:
            lines += ["", *_entry(f"{kb.__name__}.{part}", name, getattr(module, name))]
    return "\n".join(lines) + "\n"


def _paragraphs(texts):
    return [line for text in texts for line in ("", text)]


def _entry(package, name, value):
    """Return the lines for one public name.

    Raises:
        ValueError: If a public class or function has no docstring.
    """
    if inspect.isclass(value) or inspect.isfunction(value):
        if not (value.__doc__ or "").strip():
            raise ValueError(f"Every public name must have a docstring. Received: {package}.{name}")
        return [f"::: {value.__module__}.{value.__qualname__}"]
    if isinstance(value, types.ModuleType):
        inner = [_entry(value.__name__, one, getattr(value, one)) for one in public_names(value)]
        return [line for entry in inner for line in (*entry, "")]
    if isinstance(value, Registry):
        return _registry_entry(name, value)
    if isinstance(value, collections.abc.Mapping):
        names = ", ".join(f"`{key}`" for key in sorted(value, key=str))
        return [f"## {name}", "", f"Names: {names}."]
    return [f"## {name}", "", f"`{value!r}`"]


def _registry_entry(name, registry):
    """Return lines with the names in a registry, and its classes that are not public elsewhere."""
    names = ", ".join(f"`{key}`" for key in sorted(registry, key=str))
    lines = [f"## {name}", "", f"Names: {names}. `{name}.get(name)` creates a layer."]
    for class_name in registry.class_names():
        if class_name not in kb.layers.__all__:
            value = getattr(kb.layers, class_name)
            lines += ["", *_entry(kb.layers.__name__, class_name, value)]
    return lines


@functools.cache
def explorer_of_dates():
    """Return the HTML page that attention.md writes, for the dates model in this repository."""
    dates = kb.load_pipeline(Path(__file__).parents[2] / "examples/dates/models/dates.keras")
    trace = dates.trace("<fr> samdi 3 avril 2021", explore=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "explorer.html")
        kb.write_explorer([trace], path, title="samdi 3 avril 2021")
        return path.read_text(encoding="utf-8")


def generated_pages():
    """Return the other generated pages, by path in the site."""
    return {
        "reference/commands.md": commands_page(),
        "reference/options.md": options_page(),
        "reference/signatures.md": signatures_page(),
    }


def commands_page():
    """Return a page with the output of `--help` for all commands."""
    lines = [
        "# Commands",
        "",
        "This page shows what `keras-bahdanau COMMAND --help` prints for each command.",
        "",
    ]
    for name in sorted(cli.COMMANDS):
        command = cli.command(name)
        lines += [f"## {name}", "", inspect.cleandoc(command.help or ""), ""]
        lines += ["| option | default | meaning |", "|---|---|---|"]
        lines += [_row(_flags(one), _default(one), one.help) for one in _parameters(command)]
        lines.append("")
    return "\n".join(lines)


def _parameters(command):
    return [one for one in command.params if not getattr(one, "hidden", False)]


def _flags(parameter):
    if parameter.param_type_name == "argument":
        return f"`{parameter.name.upper()}`"
    return ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))


def _default(parameter):
    shown = parameter.default
    plain = isinstance(shown, (bool, int, float, str))
    return f"`{shown}`" if plain and shown != "" else ""


def _row(*cells):
    texts = (" ".join(str(cell or "").split()).replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(text.replace('<', '&lt;') for text in texts)} |"


def options_page():
    """Return a page with all fields of the settings: their defaults, checks and help."""
    resolved = dataclasses.asdict(kb.training.TrainingOptions().resolved())
    lines = ["# Options", ""]
    lines += [
        "This page lists the settings for training, search, preparation and distillation. They are",
        "also options on the command line: `TrainingOptions` of `train` and `distill`,",
        "`SearchOptions` of `translate`, `evaluate` and `align`, `Preparation` of `prepare`, and",
        "`Distillation` of `distill`. For example, `batch_tokens` is `--batch-tokens`.",
    ]
    training = kb.training
    for settings in (
        *(training.TrainingOptions, kb.SearchOptions),
        *(kb.data.Preparation, kb.distillation.Distillation),
    ):
        values = resolved if settings is training.TrainingOptions else {}
        lines += ["", f"## {settings.__name__}", "", "| option | default | must be | meaning |"]
        lines.append("|---|---|---|---|")
        lines += [
            _row(
                f"`{field.name}`",
                f"`{values.get(field.name, field.default)!r}`",
                field.metadata["check"].demand,
                field.metadata["help"],
            )
            for field in dataclasses.fields(settings)
            if "check" in field.metadata
        ]
    return "\n".join(
        [*lines, "", "The defaults of `TrainingOptions` are those of the preset `small`.", ""]
    )


def signatures_page():
    """Return a page with the inputs and outputs of exported models."""
    return "\n".join(
        [
            "# Signatures",
            "",
            "Each function on this page describes one signature of an export. Signatures and",
            "outputs are named after the verb and the noun of the source: `decode` is called",
            "`translate` for text, `read` for images and ink, and `transcribe` for speech. To see",
            "the signatures of a model, run `saved_model_cli show` or read the card of the export.",
            "",
            *_section("SavedModel", "keras_bahdanau.exporters.saved_model.served_signatures"),
            *_section("LiteRT", "keras_bahdanau.exporters.litert.device_signatures"),
            *_section("Outputs of both", "keras_bahdanau.exporters.answer_fields", members="false"),
        ]
    )


def _section(heading, module, **options):
    """Return the lines of a section: a module's docstring, and its functions in source order."""
    hidden = {"show_root_heading": "false", "show_root_toc_entry": "false"}
    options = {**hidden, "members_order": "source", **options}
    lines = [f"## {heading}", "", f"::: {module}", "    options:"]
    return [*lines, *(f"      {name}: {value}" for name, value in options.items()), ""]
