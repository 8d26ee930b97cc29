"""The browser format: the files of an exported site, and the options and models it refuses."""

import base64
import hashlib
import json
import random
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from sealing import flips

from keras_bahdanau import presets
from keras_bahdanau.exporters import BrowserExporter, LiteRTExporter, check, describe
from keras_bahdanau.exporters.all_formats import exporter_of
from keras_bahdanau.exporters.browser.browser_exporter import _LITERT, _PACKAGES, MODULES
from keras_bahdanau.pipelines import tasks
from keras_bahdanau.sources import (
    AudioSource,
    FeatureSource,
    ImageSource,
    InkSource,
    TextSource,
)
from keras_bahdanau.text import Subwords

CHECKOUT = Path(__file__).parents[3]
MODEL = CHECKOUT / "examples" / "dates" / "models" / "dates.tflite"
LINKS = (
    r'(?:src|href)(?:=| = )"([^":]+)"|'
    r'(?:import|from|fetched|register|URL)\(?\s*["`]\./([^"`$]+\w)["`]'
)
# A browser that has no space left to store the files that a service worker fetches.
FULL = """
const [listeners, waiting] = [{}, []];
const put = async () => { throw new Error("no room"); };
globalThis.self = { registration: { scope: "http://host/a/" } };
self.addEventListener = (name, listener) => { listeners[name] = listener; };
globalThis.caches = { open: async (name) => ({ put, match: async () => new Response(name) }) };
globalThis.fetch = async ({ lost }) => {
  if (lost) throw new TypeError("no network");
  return new Response("new");
};
(0, eval)(process.argv[1]);
const answer = async (lost) => {
  let response;
  const request = { url: "http://host/a/app.mjs", method: "GET", lost };
  const waitUntil = (promise) => waiting.push(promise);
  listeners.fetch({ request, waitUntil, respondWith: (promise) => { response = promise; } });
  return (await response).text();
};
const texts = [await answer(false), await answer(true)];
await Promise.all(waiting);
console.log(JSON.stringify(texts));
"""

# Visits to a site with one flipped bit per visit: [name, position, bit].
FLIPPED = """
const { readFileSync } = require("node:fs");
const [script, site, flips] = process.argv.slice(1);
globalThis.location = { protocol: "https:" };
globalThis.HTMLScriptElement = class { get noModule() { return false; } };
const visit = ([name, position, bit]) => new Promise((resolve) => {
  const problem = { set textContent(text) { resolve(text); } };
  globalThis.window = { addEventListener() {}, crypto };
  globalThis.document = {
    addEventListener() {},
    createElement: () => ({}),
    documentElement: { dataset: {} },
    getElementById: (id) => id === "problem" ? problem : {},
    head: { appendChild: ({ src }) => resolve(src === "app.mjs" ? "started" : src) },
  };
  globalThis.fetch = async (path) => {
    const content = new Uint8Array(readFileSync(`${site}/${path}`));
    if (path.replace("./", "") === name) content[position] ^= 1 << bit;
    return new Response(content);
  };
  (0, eval)(script);
});
(async () => {
  const told = [];
  for (const flip of JSON.parse(flips)) told.push(await visit(flip));
  console.log(JSON.stringify(told));
})();
"""

# A page whose modules have not loaded: Enter is pressed twice, and one script fails to load.
EARLY = """
const [listeners, said, presses] = [{}, {}, []];
globalThis.location = { protocol: "https:" };
globalThis.HTMLScriptElement = class { get noModule() { return false; } };
globalThis.window = { addEventListener: (name, listener) => { listeners[name] = listener; } };
globalThis.document = {
  ...globalThis.window,
  createElement: () => ({}),
  documentElement: { dataset: {} },
  getElementById: (id) => (said[id] ??= {}),
  head: { appendChild() {} },
};
(0, eval)(process.argv[1]);
const form = { dataset: {}, requestSubmit: () => presses.push("submitted") };
const press = (more) => listeners.keydown({
  key: "Enter", target: { id: "source", form }, preventDefault: () => presses.push("kept"), ...more,
});
press({ shiftKey: true });
press({ isComposing: true });
press({ target: { id: "prefix", form } });
press();
const early = { ...form.dataset };
form.dataset.listens = "";
press();
listeners.error({ target: { type: "module", getAttribute: () => "app.mjs" } });
console.log(JSON.stringify({ early, presses, problem: said.problem.textContent }));
"""


@pytest.fixture
def packages(tmp_path):
    """A directory with stub files at the paths where LiteRT.js has its files."""
    for name, files in _LITERT.items():
        for file in files:
            path = tmp_path / "npm" / "node_modules" / _PACKAGES[name] / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f'import {{ one }} from "@litertjs/wasm-utils";  // {file}')
    return tmp_path / "npm"


@pytest.fixture
def site(packages, tmp_path, monkeypatch):
    """The directory of a site built from an example's model."""
    copied = lambda self, pipeline, path: shutil.copyfile(MODEL, path)  # noqa: E731
    monkeypatch.setattr(LiteRTExporter, "write", copied)
    BrowserExporter(litert_js=packages, title="Days & months").write(None, tmp_path / "site")
    return tmp_path / "site"


def test_a_site_holds_all_that_its_page_asks_for(site):
    files = {one.relative_to(site).as_posix() for one in site.rglob("*") if one.is_file()}
    asked = {
        found[1] or found[2]
        for file in site.iterdir()
        if file.suffix in (".html", ".mjs", ".js")
        for found in re.finditer(LINKS, file.read_text("utf-8"))
    }
    assert {"app.mjs", "sentencepiece.mjs", "style.css", "worker.js", "site.json"} <= asked
    assert "service_worker.js" in asked
    assert asked <= files
    listed = json.loads((site / "site.json").read_bytes())
    assert listed["title"] == "Days & months"
    assert set(listed["sha256"]) == set(listed["bytes"]) == files - {"site.json"}
    for name, digest in listed["sha256"].items():
        content = (site / name).read_bytes()
        assert (hashlib.sha256(content).hexdigest(), len(content)) == (
            digest,
            listed["bytes"][name],
        )


def test_the_policy_of_a_page_allows_its_own_files_and_no_script_inside(site):
    page = (site / "index.html").read_text("utf-8")
    assert not re.findall(r"<script(?![^>]*src=)", page)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1]
    assert "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; " in policy
    assert "unsafe-inline" not in policy and "'unsafe-eval'" not in policy
    assert not re.search(r"https?://", page)  # nothing is loaded from another host


def test_litert_js_is_found_by_a_worker_and_has_its_licence_beside_it(site, packages):
    core = packages / "node_modules" / "@litertjs" / "core" / "dist" / "index.js"
    notice, rest = (site / "litert/core/dist/index.js").read_text("utf-8").split("\n", 1)
    assert notice.startswith("// Changed by keras_bahdanau: ")
    asked = re.search(r'from "(.+)"', rest)[1]
    assert (site / "litert/core/dist" / asked).is_file()
    assert rest == core.read_text("utf-8").replace("@litertjs/wasm-utils", asked)
    assert (site / "litert/LICENSE").read_bytes() == (CHECKOUT / "LICENSE").read_bytes()


def test_a_litert_js_that_imports_nothing_by_name_is_refused(packages, site):
    core = packages / "node_modules" / "@litertjs" / "core" / "dist" / "index.js"
    core.write_text("import './other.js'")
    with pytest.raises(ValueError, match="Received: litert_js with a different index.js"):
        BrowserExporter(litert_js=packages).write(None, site.with_name("other"))


def test_a_changed_or_lost_file_of_a_site_is_named(site):
    assert exporter_of(site) is BrowserExporter
    assert check(site) == []
    assert describe(site).startswith("page 'Days & months', ")
    (site / "app.mjs").write_text("changed")
    (site / "litert" / "core" / "dist" / "index.js").unlink()
    assert [one.part for one in check(site)] == ["'app.mjs'", "'litert/core/dist/index.js'"]
    (site / "site.json").write_text("[]")
    assert [one.part for one in check(site)] == ["'site.json'"]


def test_a_script_that_was_added_and_each_flipped_bit_of_the_list_are_named(site):
    (site / "litert" / "more.js").write_text("alert(1)")
    (finding,) = check(site)
    assert finding.part == "'litert/more.js'" and "not among the files" in finding.why
    (site / "litert" / "more.js").unlink()
    for position in flips(site / "site.json", 40, np.random.default_rng(0)):
        assert [one.part for one in check(site)] == ["'site.json'"], position
    assert check(site) == []


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_a_flipped_bit_in_200_of_200_places_of_a_site_is_told_before_its_modules_start(site):
    draw = random.Random(0)
    names = ["site.json", *json.loads((site / "site.json").read_bytes())["sha256"]]
    names = [name for name in names if not name.endswith((".wasm", ".tflite"))]
    flips = [(names[number % len(names)], draw.randrange(8)) for number in range(200)]
    flips = [(name, draw.randrange((site / name).stat().st_size), bit) for name, bit in flips]
    script = (MODULES / "start.js").read_text("utf-8")
    command = ["node", "-e", FLIPPED, script, site, json.dumps([*flips, ("", 0, 0)])]
    done = subprocess.run(command, capture_output=True, encoding="utf-8")
    *told, started = json.loads(done.stdout)
    assert started == "started"
    for (name, *_), text in zip(flips, told, strict=True):
        assert text.startswith(f"The files of this page are damaged: {name} has"), (name, text)


def test_a_browser_refuses_another_first_script(site):
    (digest,) = re.findall(
        r'<script src="start.js" integrity="sha256-(.+)">', (site / "index.html").read_text("utf-8")
    )
    content = (site / "start.js").read_bytes()
    assert base64.b64decode(digest) == hashlib.sha256(content).digest()


def test_a_page_without_litert_js_tells_how_to_get_it(tmp_path):
    with pytest.raises(ImportError, match="npm install @litertjs/core") as caught:
        BrowserExporter(litert_js=tmp_path).require(None)
    assert f"Received: litert_js={str(tmp_path)!r}" in str(caught.value)


@pytest.mark.parametrize("title", ["", " ", "x" * 201, "a\nb", "\ud800", 3, None])
def test_a_title_is_a_short_text(title):
    with pytest.raises(ValueError, match=re.escape(f"Received: title={title!r}")):
        BrowserExporter(title=title)


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_a_file_that_there_is_no_room_to_keep_is_served_as_it_is_now():
    worker = (MODULES / "service_worker.js").read_text("utf-8")
    command = ["node", "--input-type=module", "-e", FULL, worker]
    done = subprocess.run(command, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    # The second answer comes without a network, from this page's cache only.
    assert json.loads(done.stdout) == ["new", "keras_bahdanau http://host/a/"]


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_key_enter_works_before_the_modules_are_there_and_a_wrong_type_is_suspected():
    script = (MODULES / "start.js").read_text("utf-8")
    command = ["node", "--input-type=module", "-e", EARLY, script]
    done = subprocess.run(command, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["early"] == {"entered": ""}  # remembered, and no line break remains
    assert found["presses"] == ["kept", "kept", "submitted"]
    assert "did not load: app.mjs" in found["problem"] and "a wrong type" in found["problem"]


def pipeline_of(source):
    """A pipeline with random weights and everything that an export reads before conversion."""
    target = Subwords.train(["a b"], 8, model_type="word", exact=False)
    model = presets.small(source, target, embedding_units=8, units=8, attention_units=8)
    return tasks.pipeline_of(source, model, target)


class OwnSource(ImageSource):
    """A source whose features no page can compute."""


@pytest.mark.parametrize("source", [FeatureSource(3), OwnSource(16, 48)])
def test_a_source_that_no_page_can_enter_is_refused(source, packages):
    name = type(source).__name__
    with pytest.raises(ValueError, match="A page reads text, images, sound or ink") as caught:
        BrowserExporter(litert_js=packages).require(pipeline_of(source))
    assert f"Received: a pipeline with {name}, verb=" in str(caught.value)
    assert "Export it with --format litert." in str(caught.value)


@pytest.mark.few(1)
@pytest.mark.parametrize("source", [ImageSource(16, 48), AudioSource(20), InkSource()])
def test_images_sound_and_ink_can_be_entered(source, packages):
    BrowserExporter(litert_js=packages).require(pipeline_of(source))


@pytest.mark.parametrize("source", [TextSource, ImageSource, AudioSource, InkSource])
def test_the_page_has_the_module_by_which_a_source_says_that_it_is_entered(source):
    assert "export class Entry" in (MODULES / source.page_entry).read_text("utf-8")
    assert f'"./{source.page_entry}"' in (MODULES / "app.mjs").read_text("utf-8")


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["formulas/models/ink", "an4/models/an4"])
def test_the_page_says_of_which_source_it_is(name, packages, tmp_path, monkeypatch):
    model = CHECKOUT / "examples" / f"{name}.tflite"
    monkeypatch.setattr(LiteRTExporter, "write", lambda self, _, path: shutil.copyfile(model, path))
    BrowserExporter(litert_js=packages).write(None, tmp_path / "site")
    page = (tmp_path / "site" / "index.html").read_text("utf-8")
    source = {"ink": "InkSource", "an4": "AudioSource"}[model.stem]
    assert f'<body data-source="{source}">' in page
    for field in re.findall(r'data-for="([^"]+)"', page):
        assert set(field.split()) <= {"TextSource", "ImageSource", "AudioSource", "InkSource"}
    assert check(tmp_path / "site") == []


def test_a_site_needs_no_end_of_its_name(packages, tmp_path):
    assert BrowserExporter(litert_js=packages).destination(tmp_path / "site") == tmp_path / "site"
