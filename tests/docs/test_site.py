"""The site: reference pages that match the code, and a build without warnings."""

import importlib
import inspect
import os
import re
import subprocess
import sys
import types

import code_blocks
import pytest

import keras_bahdanau as kb
from keras_bahdanau.layers.names import SCORES

GENERATOR = code_blocks.ROOT / "docs" / "generator"


@pytest.fixture(scope="module")
def reference():
    sys.path.insert(0, str(GENERATOR))
    try:
        yield importlib.import_module("generated_pages")
    finally:
        sys.path.remove(str(GENERATOR))
        sys.modules.pop("generated_pages", None)


def test_every_public_name_stands_on_its_page(reference):
    pages = reference.api_pages()
    assert len(pages) == len(kb._PARTS)
    for part in kb._PARTS:
        module, page = getattr(kb, part), pages[f"reference/api/{part}.md"]
        for name in module.__all__:
            value = getattr(module, name)
            if not isinstance(value, types.ModuleType):
                assert re.search(rf"^(::: .*\.|## ){name}$", page, re.MULTILINE), (part, name)


def test_names_of_the_top_are_names_of_a_part(reference):
    pages = "".join(reference.api_pages().values())
    for name in kb._MODULE_OF:
        value = getattr(kb, name)
        if not isinstance(value, types.ModuleType):
            assert f"::: {value.__module__}.{value.__qualname__}\n" in pages


def test_a_family_of_layers_stands_there_with_its_names(reference):
    pages = "".join(reference.api_pages().values())
    names = ", ".join(f"`{name}`" for name in SCORES)
    assert f"{names}. `SCORES.get(name)` creates" in pages
    assert " object at 0x" not in pages  # addresses are useless and differ between builds


def test_a_public_name_without_a_docstring_is_refused(reference):
    class Silent:
        pass

    with pytest.raises(ValueError, match="docstring. Received: package.Silent"):
        reference._entry("package", "Silent", Silent)


def test_commands_and_options_have_a_row_each(reference):
    commands, options = reference.commands_page(), reference.options_page()
    for command in ("train", "translate", "transcribe", "export", "check"):
        assert f"## {command}\n" in commands
    assert "| `--batch-tokens`" in commands and "| `--nbest`" in commands
    assert "| `beam_width` | `5` | an integer in [1, 1000] |" in options
    assert "| `epochs` | `54` |" in options and "| `units` | `512` |" in options


def test_tables_are_safe_from_bars_and_tags(reference):
    assert reference._row("a|b", None, "<2de> \n x") == "| a\\|b |  | &lt;2de> x |"


@pytest.fixture
def docstrings(monkeypatch):
    pytest.importorskip("griffe", reason='needs the extra "docs": pip install -e ".[all,docs]"')
    monkeypatch.syspath_prepend(GENERATOR)
    return importlib.import_module("docstrings")


def test_call_arguments_become_a_list(docstrings):
    text = (
        "A layer.\n\nCall arguments:\n    query: Float tensor, of\n        one axis.\n"
        "    mask: Bool tensor.\n\nOutput:\n    mask: Bool tensor."
    )
    expected = text.replace("    query:", "    - `query`:").replace("    mask", "    - `mask`", 1)
    assert docstrings.with_listed_arguments(text) == expected


def test_a_layer_shows_the_call_arguments_that_it_leaves_to_its_base(docstrings):
    text = inspect.getdoc(kb.layers.HardAlignment)
    shown = docstrings.with_call_arguments(text)
    assert "see `AttentionBase`" in text and "see `AttentionBase`" not in shown
    for argument in ("query", "value_mask", "return_attention_scores"):
        assert f"\n    {argument}: " in shown
    assert docstrings.with_call_arguments("A layer.") == "A layer."


def test_the_additive_layer_has_call_arguments_of_its_own():
    text = inspect.getdoc(kb.BahdanauAttention)
    arguments = inspect.signature(kb.layers.AttentionBase.__call__).parameters
    for argument in ("query", "value", "key", "query_mask", "value_mask", "attention_mask"):
        assert argument in arguments and f"\n    {argument}: " in text, argument


def test_equations_get_a_fence_and_prose_does_not(docstrings):
    fenced = docstrings.with_fenced_equations
    equations = "e_ij     = v tanh(W s + U h)     (eq. 5)\nalpha_ij = softmax_j(e_ij)"
    text = f"One line.\n\n{equations}\n\nArgs:\n    units: Width,    of both."
    assert fenced(text) == text.replace(equations, f"```text\n{equations}\n```")
    assert fenced("D = 1/2 (p + q)") == "```text\nD = 1/2 (p + q)\n```"
    sentence = "v = g w needs no weights of its own."
    assert fenced(sentence) == sentence


@pytest.mark.slow
def test_the_site_builds_without_a_warning_and_asks_no_other_host(tmp_path):
    pytest.importorskip("mkdocs", reason='needs the extra "docs": pip install -e ".[all,docs]"')
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", tmp_path]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "CUDA_VISIBLE_DEVICES": ""}
    result = subprocess.run(
        command, cwd=code_blocks.ROOT, capture_output=True, text=True, env=environment
    )
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-4000:]
    pages = [*tmp_path.rglob("*.html")]
    assert len(pages) > 50
    for page in pages:
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|img|iframe|link)\b[^>]*?\s(?:src|href)=\"?(\S*)", text)
        remote = [one for one in loaded if re.match(r"(https?:)?//", one)]
        assert remote == [], page.name
    framed = re.search(
        r'<iframe class="?explorer"? src="?([\w.]+)', (tmp_path / "attention.html").read_text()
    )
    assert "2021-04-03" in (tmp_path / framed[1]).read_text(encoding="utf-8")
    layers = (tmp_path / "reference" / "api" / "layers.html").read_text(encoding="utf-8")
    assert 'id="keras_bahdanau.layers.attention.attention.Attention"' in layers
    assert "BahdanauAttention" in (tmp_path / "search" / "search_index.js").read_text()
