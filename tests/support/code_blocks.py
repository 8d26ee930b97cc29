"""Collect the code blocks of the documentation, and run those of a page.

The blocks of a page are run in order. A block is skipped if an HTML comment directly before it
gives a reason:

    <!-- not run: a server must answer at port 8501 -->

Setup code that readers don't need to see is also in a comment, in the language of the block:

    <!-- setup
    small-files model runs/en-de
    -->

`python tests/support/code_blocks.py` prints the number of blocks of each page. With a page and a
folder as arguments, it runs the page in that folder, next to the files that `small-files` writes:
Python blocks share a namespace, and bash runs the shell blocks. A text block that directly follows
a Python block is the output that the Python block must print.
`keras-bahdanau train` and `distill`, `training.train`, `fit` and `demo.split` run with small
settings.
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
SHOWN = ("json", "text")  # output and file contents
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
    """A fenced code block.

    Attributes:
        line: Integer. The line number of its opening fence, from 1.
        language: String. The language after the fence; "" if there is none.
        code: String. Its lines without their common indentation.
        setup: String. Code to run before the block.
        reason: String. Why the block is not run; "" if it is run.
        output: String. The text block directly after a Python block: the output it must print.
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
    """Return the sorted paths of the pages to collect, without those in hidden directories.

    The benchmarks create `benchmarks/.envs`, which contains pages of other packages.
    """
    tops = sorted(path for path in ROOT.glob("*.md") if path.name != "CHANGELOG.md")
    nested = sorted(path for part in PARTS for path in (ROOT / part).rglob("*.md"))
    return [*tops, *(path for path in nested if "/." not in name_of(path))]


def name_of(page):
    return page.relative_to(ROOT).as_posix()


def blocks_of(page):
    """Return the blocks of a page in order."""
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
    """Run the blocks of a page in a folder.

    Raises:
        RuntimeError: At the first block that fails, with its page and line.
    """
    programs = folder / ".programs"
    programs.mkdir()
    for name, arguments in {
        "keras-bahdanau": f'"{__file__}" --command',
        "small-files": f'"{Path(__file__).with_name("small_files.py")}"',
        "python": "",
        "pip": "-c pass",  # packages are already installed, or the page says that it needs them
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
    sys.path.insert(0, "")  # to import modules that the page writes
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
    """Run Python code, and return its standard output."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(program, namespace)
    print(output.getvalue(), end="", flush=True)
    return output.getvalue()


def _bash(code):
    subprocess.run(["bash", "-e", "-o", "pipefail", "-c", code], check=True)


def _make_small():
    """Make training small.

    `fit` runs at most two epochs, `train` one epoch or with small settings, and `demo.split`
    returns a small corpus.
    """
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
    """Return arguments of `keras-bahdanau`; those of a training run get small settings appended."""
    if arguments[:1] not in (["train"], ["distill"]) or "--help" in arguments:
        return arguments
    settings = SMALL if "--from" not in arguments else {"epochs": 1}
    named = {f"--{name.replace('_', '-')}": str(value) for name, value in settings.items()}
    if "--hard-alignment" in arguments:
        del named["--attention-units"]
    if arguments[0] == "distill" or any(Path(word).is_dir() for word in arguments[1:2]):
        named.pop("--vocabulary-size", None)  # the teacher or the shards set it
    return [*arguments, *(word for pair in named.items() for word in pair)]


def _count():
    """Print for each page how many blocks run, how many don't, and how many are output."""
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
