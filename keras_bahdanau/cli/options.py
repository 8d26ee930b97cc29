"""Options shared by several commands, and the decorator that turns a function into a command."""

import dataclasses
import enum
import functools
import inspect
import re
from pathlib import Path
from typing import Annotated, get_args

import typer

from keras_bahdanau.cli.console import BAD_INPUT, ends_well, warn
from keras_bahdanau.cli.imports import ImportOption, load_modules
from keras_bahdanau.settings.guesses import nearest
from keras_bahdanau.settings.limits import PRECISIONS

ModelOption = Annotated[
    Path,
    typer.Option(help="Output directory of a training run, or a .keras file.", show_default=False),
]
AnyModelOption = Annotated[
    Path,
    typer.Option(
        help="Output directory of a training run, or a .keras, .tflite or .onnx file.",
        show_default=False,
    ),
]
ModelsOption = Annotated[
    list[Path],
    typer.Option(
        help="Output directory of a training run, or a .keras, .tflite or .onnx file. Give the "
        "option several times, with directories or .keras files, to use an ensemble.",
        show_default=False,
    ),
]
PrefixOption = Annotated[
    str | None,
    typer.Option(
        help="Text that each translation must begin with. In Hangul, the letters that follow may "
        "join its last syllable.",
        show_default=False,
    ),
]
TagOption = Annotated[
    str | None,
    typer.Option(
        help="Tag to put before each source, such as <2de>. For a model trained with tags in "
        "--corpus.",
        show_default=False,
    ),
]
RejectOption = Annotated[
    float | None,
    typer.Option(
        help="Lowest confidence of an output, from 0 to 1. Outputs below it are replaced by empty "
        "lines, and their number is printed on standard error. See calibrate.",
        show_default=False,
    ),
]
JsonOption = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Print a JSON object for each output: its text, score and confidence, and whether it "
        "was rejected; its tokens with their log-probabilities and entropies; its words with "
        "their first and last token, log-probability and confidence.",
    ),
]
Precision = enum.Enum("Precision", {name: name for name in PRECISIONS}, type=str)
PrecisionOption = Annotated[
    Precision | None,
    typer.Option(
        help="Precision of weights and matrix products. bfloat16 is faster on processors that "
        "support it, but changes some of the outputs.  [default: the precision in the file]",
        show_default=False,
        rich_help_panel="Run",
    ),
]
BatchOption = Annotated[
    int,
    typer.Option(
        help="Number of inputs to decode at a time.",
        rich_help_panel="Run",
    ),
]
TokenizeOption = Annotated[
    str | None,
    typer.Option(help="sacreBLEU's tokenization for BLEU.  [default: 13a]", show_default=False),
]
CacheOption = Annotated[
    Path | None,
    typer.Option(
        help="Cache directory for decoded images or recordings. Several commands may share it.",
        show_default=False,
        rich_help_panel="Data",
    ),
]
ColumnsOption = Annotated[
    str | None,
    typer.Option(
        help="Names of the columns of the TSV, in order and separated by commas: source; target; "
        "features, such as V;PST, each of which becomes a source token after the text; "
        "features-first, to put them before the text; count or - for a column to "
        "ignore. For JSON lines or TMX, the source and the target: two keys, such as "
        "translation.en,translation.de, or two languages.  [default: source,target, and features "
        "or count if a column contains them; for TMX, srclang and the other language]",
        show_default=False,
        rich_help_panel="Data",
    ),
]
AnswerSeparatorOption = Annotated[
    str | None,
    typer.Option(
        help="Separator between several correct targets in one cell of the TSV.  [default: a cell "
        "has one target, and several lines may have the same source]",
        show_default=False,
        rich_help_panel="Data",
    ),
]
TargetArgument = Annotated[
    Path | None, typer.Argument(help="Translations of the source sentences, line by line.")
]
HELD_OUT = 50  # one in this many pairs is held out for validation,
MOST_HELD_OUT = 1000  # but no more than this many pairs
ValidSourceOption = Annotated[
    Path | None,
    typer.Option(
        help="Validation sources, or a TSV with both languages, for choosing the best epoch. "
        f"[default: every {HELD_OUT}th training pair, at most {MOST_HELD_OUT:,}, is held out]"
    ),
]
ValidTargetOption = Annotated[
    Path | None, typer.Option(help="Translations of the validation sources.")
]
HeldOutSource = Annotated[
    Path,
    typer.Argument(
        help="Sentences that the model was not trained on, or a .tsv, .jsonl or .tmx file with "
        "both languages; for a model that reads files, a manifest."
    ),
]
LowercaseOption = Annotated[bool, typer.Option("--lowercase", help="Ignore case in all metrics.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Leave the model unchanged.")]
ExploreOption = Annotated[
    Path | None,
    typer.Option(
        help="HTML file for a page that explains the result step by step in a browser.",
        show_default=False,
    ),
]
ImportanceOption = Annotated[
    bool,
    typer.Option(
        "--importance",
        help="On the page of --explore, also show how much each source token matters at each step, "
        "measured by leave-one-out and by gradient x input.",
    ),
]


def command(arguments, *settings, on_interrupt="", imports=True, threads=None):
    """Decorator that gives a function the options of a command.

    The function is called with an instance of `arguments`, and then, for each item of `settings`,
    with a dictionary of the options given on the command line. It is wrapped by `ends_well`.

    Args:
        arguments: Dataclass with annotations for Typer.
        *settings: Pairs of a settings dataclass, with fields made by `settings.option.option`, and
            an object with the defaults to show in the help. The object is None if the defaults are
            those of the model.
        on_interrupt: String, as in `ends_well`.
        imports: Bool. True to add the option `--import`.
        threads: Integer. The argument of `load_tensorflow` when modules are imported.
    """
    parameters = [_argument(field) for field in dataclasses.fields(arguments)]
    parameters += [_parameter("modules", ImportOption, None)] if imports else []
    names = [[field.name for field in dataclasses.fields(group)] for group, _ in settings]
    for group, defaults in settings:
        parameters += [_option(field, defaults) for field in dataclasses.fields(group)]

    def decorate(function):
        @functools.wraps(function)
        def run(**values):
            modules = values.pop("modules", None) if imports else None
            if modules:
                load_modules(modules, threads)
            chosen = [{name: values.pop(name) for name in group} for group in names]
            chosen = [{name: v for name, v in group.items() if v is not None} for group in chosen]
            function(arguments(**values), *chosen)

        run.__signature__ = inspect.Signature(parameters)
        return ends_well(on_interrupt)(run)

    return decorate


HEADINGS = "Arguments", "Options", "Data", "Text", "Model", "Training", "Adaptation", "Run"
_USAGE_ERROR = typer.BadParameter.__base__  # from Typer's copy of click, or from click itself


class SectionedCommand(typer.core.TyperCommand):
    """Command that groups options by heading in its help, and prints usage errors on one line."""

    def format_options(self, ctx, formatter):
        sections = {heading: [] for heading in HEADINGS}
        for parameter in self.get_params(ctx):
            is_argument = parameter.param_type_name == "argument"
            heading = getattr(parameter, "rich_help_panel", None) or "Options"
            record = parameter.get_help_record(ctx)
            sections.setdefault("Arguments" if is_argument else heading, []).append(record)
        for heading, records in sections.items():
            if records := [*filter(None, records)]:
                with formatter.section(heading):
                    formatter.write_dl(records)

    def parse_args(self, ctx, args):
        try:
            return super().parse_args(ctx, args)
        except _USAGE_ERROR as error:
            warn(f"{self._explain(error)} `{ctx.command_path} --help` lists all options.")
            raise SystemExit(BAD_INPUT) from None

    def _explain(self, error):
        """Return the message of a usage error, with a suggestion for a wrong option or choice."""
        if hasattr(error, "possibilities"):
            names = [name for option in self.params for name in option.opts if name[0] == "-"]
            name = error.option_name
            return f"No such option: {name}{nearest(name, names) or '.'}"
        message = error.format_message().replace("Value error, ", "").rstrip(".")
        choice = re.search(r"'([^']*)' is not one of (.*)", message)
        return message + (choice and nearest(choice[1], re.findall("'([^']*)'", choice[2])) or ".")


def _argument(field):
    default = field.default
    return _parameter(
        field.name,
        field.type,
        inspect.Parameter.empty if default is dataclasses.MISSING else default,
    )


def _option(field, defaults):
    """Create a command parameter for a field of a settings dataclass. Its default is None."""
    default = "the model's own" if defaults is None else getattr(defaults, field.name)
    switches = []
    if bool in (field.type, *get_args(field.type)):
        switch = field.name.replace("_", "-")
        pair = [switch, field.metadata.get("off", f"no-{switch}")]
        switches = ["/".join(f"--{name}" for name in pair)]
        default = pair[not default] if isinstance(default, bool) else default
    help = f"{field.metadata['help']} [default: {default}]"
    heading = field.metadata.get("heading")
    option = typer.Option(*switches, help=help, show_default=False, rich_help_panel=heading)
    return _parameter(field.name, Annotated[field.type | None, option], None)


def _parameter(name, annotation, default):
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=default, annotation=annotation)


DOWNLOADED = "flores101", "flores200", "spm"  # tokenizations for which sacreBLEU downloads a model


def check_tokenization(name):
    """Raise a one-line error unless sacreBLEU supports a tokenization; None is its default."""
    if name is None:
        return
    from sacrebleu.metrics import BLEU

    if name not in BLEU.TOKENIZERS:
        raise ValueError(
            f"`tokenize` must be one of {', '.join(sorted(BLEU.TOKENIZERS))}. "
            f"Received: tokenize={name!r}"
        )
    if name in DOWNLOADED or name.endswith("-mecab"):  # these need a download or a package
        try:
            BLEU(tokenize=name)
        except OSError as error:
            raise ConnectionError(
                "sacreBLEU must download a model for this tokenization. Received: "
                f"tokenize={name!r} ({error}). Connect to the internet once, or choose another "
                "tokenization."
            ) from None
        except RuntimeError:
            raise ImportError(
                f"sacreBLEU needs MeCab for this tokenization. Received: tokenize={name!r}. "
                f"Install it: pip install 'sacrebleu[{name[:2]}]'."
            ) from None
