"""Every code block in the documentation runs, or its page states why it does not."""

import itertools
import os
import re
import shlex
import subprocess
import sys

import code_blocks
import pytest

from keras_bahdanau import cli

PAGES = {code_blocks.name_of(page): page for page in code_blocks.pages()}
BLOCKS = [(name, block) for name, page in PAGES.items() for block in code_blocks.blocks_of(page)]
RUNNING = [name for name in PAGES if any(page == name and block.runs for page, block in BLOCKS)]
COMMANDS = {name: cli.command(name) for name in cli.COMMANDS}


def commands_of(code):
    """Yield the argument lists of the `keras-bahdanau` commands in a shell block."""
    for line in code.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars="<>|;&")
        lexer.whitespace_split, lexer.commenters = True, "#"
        for ends, words in itertools.groupby(lexer, lambda word: not set(word) - set("<>|;&")):
            words = [*words]
            if not ends and "keras-bahdanau" in words:
                yield words[words.index("keras-bahdanau") + 1 :]


def test_each_block_runs_or_is_output_or_says_why_not():
    silent = [
        f"{name}:{block.line}: ```{block.language}"
        for name, block in BLOCKS
        if not block.runs and not block.reason and block.language not in code_blocks.SHOWN
    ]
    assert silent == []


def test_a_reason_is_a_phrase():
    short = [f"{name}:{b.line}" for name, b in BLOCKS if b.reason and len(b.reason.split()) < 3]
    assert short == []


def test_no_comment_of_a_page_gets_lost():
    for name, page in PAGES.items():
        written = len(re.findall(r"^ *<!--\s*not run:", page.read_text(encoding="utf-8"), re.M))
        assert (name, written) == (name, sum(bool(b.reason) for p, b in BLOCKS if p == name))


def test_the_collector_takes_comments_and_indented_fences(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "<!-- not run: needs a GPU -->\n\n```sh\nfalse\n```\n"
        "- item\n\n  <!-- setup\na = 1\n-->\n  ```python\n  if a:\n\n      a = 2\n  ```\n"
        "```text\nout\n```\n\nProse.\n\n```text\nshown\n```\n"
    )
    first, second, third, _ = code_blocks.blocks_of(page)
    assert (first.reason, first.runs, first.line) == ("needs a GPU", False, 3)
    assert (second.setup, second.code) == ("a = 1", "if a:\n\n    a = 2\n")
    assert second.runs and not third.runs and third.language == "text"
    assert (second.output, third.output) == ("out\n", "")


def test_python_blocks_are_python():
    for name, block in BLOCKS:
        if block.language == "python":
            compile(block.setup + "\n" + block.code, f"{name}:{block.line}", "exec")


def test_commands_have_the_options_that_pages_name():
    count = 0
    for name, block in BLOCKS:
        for command, *arguments in commands_of(block.code) if block.language == "sh" else ():
            place = f"{name}:{block.line}: {command} {' '.join(arguments)}"
            assert command in COMMANDS, place
            if "--help" not in arguments:
                try:
                    COMMANDS[command].make_context(command, arguments).close()
                except Exception as error:  # from Click, or from newer Typer's copy of it
                    pytest.fail(f"{place}: {error}")
            count += 1
    assert count > 50


def test_programs_that_pages_start_are_there():
    missing = [
        f"{name}: {path}"
        for name, block in BLOCKS
        if block.language == "sh"
        for path in re.findall(r"\b(?:examples|export|benchmarks|tests)/[\w/.-]+\.py\b", block.code)
        if not (code_blocks.ROOT / path).is_file()
    ]
    assert missing == []


@pytest.mark.slow
@pytest.mark.parametrize("page", RUNNING)
def test_the_blocks_of_a_page_run(page, tmp_path):
    """Each page runs in its own process, so that a block can't affect other pages."""
    program = [sys.executable, code_blocks.__file__, PAGES[page], tmp_path]
    result = subprocess.run(
        program, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": ""}
    )
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-4000:]
