"""The code blocks of the documentation, and a program that runs those of one page.

A block of a page is run, in order, unless an HTML comment right before it gives a reason:

    <!-- not run: a server must answer at port 8501 -->

What a block needs and no reader has to see stands in such a comment, too, in its language:

    <!-- setup
    small-files model runs/en-de
    -->

`python tests/support/code_blocks.py` prints the count of each page. With a page and a folder it
runs the page there: Python in one namespace, shell by bash, beside the files of `small-files`.
A block of text right behind one of Python is what that one must print.
`keras-bahdanau train` and `distill`, `training.train`, `fit` and `demo.split` are made small.
"""

import contextlib
import dataclasses
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PARTS = ("docs", "examples", "export", "benchmarks")
RUN = ("python", "sh")
SHOWN = ("json", "text")  # output, and contents of files
SMALL = {
    "epochs": 1,
    "units": 8,
    "embedding_units": 8,
    "attention_units": 8,
    "vocabulary_size": 400,
}
_FENCE = re.compile(
    r"(?P<comments>(?:<!--(?:(?!-->).)*-->\s*)*)"
    r"^(?P<indent> *)```(?P<language>\S*)[^\n]*\n(?P<code>.*?)^ *```[ ]*$",
    re.DOTALL | re.MULTILINE,
)
_COMMENT = re.compile(r"<!--\s*(not run:|setup\b)(.*?)-->", re.DOTALL)


class Block(NamedTuple):
    """One fenced block.

    Attributes:
        line: Integer, the line of its fence, from 1.
        language: String behind the fence; "" for none.
        code: String, its lines without their indentation.
        setup: String, code to run before it.
        reason: String, why it is not run; "" if it is.
        output: String, the block of text right behind a block of Python: what it prints.
    """

    line: int
    language: str
    code: str
    setup: str
    reason: str
    output: str = ""

    @property
    def runs(self):
        return self.language in RUN and not self.reason


def pages():
    """The pages whose blocks are collected, as sorted paths; none of a hidden directory.

    `benchmarks/.envs`, which the benchmarks make, has pages of other packages.
    """
    tops = sorted(path for path in ROOT.glob("*.md") if path.name != "CHANGELOG.md")
    nested = sorted(path for part in PARTS for path in (ROOT / part).rglob("*.md"))
    return [*tops, *(path for path in nested if "/." not in name_of(path))]


def name_of(page):
    return page.relative_to(ROOT).as_posix()


def blocks_of(page):
    """The blocks of a page in their order."""
    text = page.read_text(encoding="utf-8")
    blocks, end = [], 0
    for fence in _FENCE.finditer(text):
        notes = {"not run:": [], "setup": []}
        for kind, content in _COMMENT.findall(fence["comments"]):
            notes[kind].append(content.strip("\n") if kind == "setup" else content.strip())
        indent = len(fence["indent"])
        code = "".join(line[indent:] or "\n" for line in fence["code"].splitlines(keepends=True))
        start = text.count("\n", 0, fence.start("indent")) + 1
        if fence["language"] == "text" and blocks and not text[end : fence.start()].strip():
            blocks[-1] = blocks[-1]._replace(output=code)
        end = fence.end()
        blocks.append(
            Block(
                start,
                fence["language"],
                code,
                "\n".join(notes["setup"]),
                "; ".join(notes["not run:"]),
            )
        )
    return blocks


def run_page(page, folder):
    """Run the blocks of a page in a folder; the first that fails raises, with page and line."""
    programs = folder / ".programs"
    programs.mkdir()
    for name, arguments in {
        "keras-bahdanau": f'"{__file__}" --command',
        "small-files": f'"{Path(__file__).with_name("small_files.py")}"',
        "python": "",
        "pip": "-c pass",  # what pages install is there already, or they say that they need it
    }.items():
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n')
        program.chmod(0o755)
    for name in ("examples", "export", "benchmarks", "docs", "keras_bahdanau", "tests"):
        (folder / name).symlink_to(ROOT / name)
    os.environ["PATH"] = f"{programs}{os.pathsep}{os.environ['PATH']}"
    os.environ["PYTHONPATH"] = str(ROOT)
    os.environ["MPLBACKEND"] = "agg"
    os.chdir(folder)
    sys.path.insert(0, "")  # modules that a page writes, as in a session of Python
    _bash("small-files text")
    _make_small()
    namespace = {"__name__": "__main__"}
    for block in filter(lambda block: block.runs, blocks_of(page)):
        place = f"{name_of(page)}:{block.line}"
        print(f"--- {place}", flush=True)
        for code in filter(None, (block.setup, block.code)):
            try:
                if block.language == "sh":
                    _bash(code)
                else:
                    printed = _printed(compile(code, place, "exec"), namespace)
            except BaseException as error:
                raise RuntimeError(f"{place} failed: see above") from error
        if block.language == "python" and block.output and printed != block.output:
            raise RuntimeError(f"{place} must print {block.output!r}. Received: {printed!r}")


def _printed(program, namespace):
    """Run Python; what it writes to standard output."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(program, namespace)
    print(output.getvalue(), end="", flush=True)
    return output.getvalue()


def _bash(code):
    subprocess.run(["bash", "-e", "-o", "pipefail", "-c", code], check=True)


def _make_small():
    """Two epochs for `fit`, one for `train`, whose own settings are small; a small demo corpus."""
    import keras

    from keras_bahdanau import demo, training
    from keras_bahdanau.training import TrainingOptions

    fit, train, split = keras.Model.fit, training.train, demo.split

    def fit_twice(self, *args, epochs=1, **kwargs):
        return fit(self, *args, epochs=min(epochs, 2), **kwargs)

    def train_small(pairs, valid, directory, options=None, **kwargs):
        options = dataclasses.replace(options, epochs=1) if options else TrainingOptions(**SMALL)
        return train(pairs, valid, directory, options, **kwargs)

    keras.Model.fit, training.train = fit_twice, train_small
    demo.split = lambda: split(train=240, valid=24, test=24)


def with_small_settings(arguments):
    """The arguments of `keras-bahdanau`, with small settings behind those of a training."""
    if arguments[:1] not in (["train"], ["distill"]) or "--help" in arguments:
        return arguments
    settings = SMALL if "--from" not in arguments else {"epochs": 1}
    named = {f"--{name.replace('_', '-')}": str(value) for name, value in settings.items()}
    if "--hard-alignment" in arguments:
        del named["--attention-units"]
    if arguments[0] == "distill" or any(Path(word).is_dir() for word in arguments[1:2]):
        named.pop("--vocabulary-size", None)  # that of the teacher, or of the shards
    return [*arguments, *(word for pair in named.items() for word in pair)]


def _count():
    """Print a line for each page: blocks that run, those that do not, and output."""
    line, total = "{:4} run, {:3} with a reason not to, {:3} output: {}", [0, 0, 0]
    for page in filter(blocks_of, pages()):
        blocks = blocks_of(page)
        runs = sum(block.runs for block in blocks)
        reasons = sum(bool(block.reason) for block in blocks)
        counts = runs, reasons, len(blocks) - runs - reasons
        total = [sum(pair) for pair in zip(total, counts, strict=True)]
        print(line.format(*counts, name_of(page)))
    print(line.format(*total, "in all"))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--command"]:
        from keras_bahdanau import cli

        cli.main(with_small_settings(sys.argv[2:]))
    elif len(sys.argv) == 3:
        run_page(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
    else:
        _count()
