"""Runtimes for exported models: each builds itself, or returns the reason why it can't."""

import contextlib
import functools
import importlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import builds
from lane import HERE
from line_programs import InPage, Runner

ROOT = HERE.parent
KIT, JVM, SERVING = (ROOT / "export" / name for name in ("on_device", "jvm", "tf_serving"))
PAGE = ROOT / "keras_bahdanau" / "exporters" / "browser" / "page"
WASM = "litert_wasm_internal"  # the module for browsers with relaxed SIMD
END = 3


class Runtime:
    """A program that loads a model, and answers each line with a line of JSON.

    Args:
        scratch: Path of a directory; a runtime that builds anything does so in a subdirectory.
        node_modules: Path of the directory where npm packages are installed, or None.

    Attributes:
        name: Name in the table.
        test: Command that runs the test against Python.
        kind: Class for the process.
        model: Kind of artefact that the program loads: "tflite", "saved_model" or
            "saved_model_ids".
        searches: Names of the searches that the program supports.
    """

    kind, model, searches = Runner, "tflite", ("beam", "greedy", "suggestions")

    def __init__(self, scratch, node_modules=None):
        self.scratch, self.node_modules = Path(scratch) / type(self).__name__, node_modules

    def lacking(self):
        """Build the program; return the reason why it can't run, or ""."""
        return ""

    def program(self):
        """Return the command line without options and model."""
        raise NotImplementedError

    def ships(self):
        """Return the files to ship, without the model and the language's own runtime."""
        raise NotImplementedError

    def line(self, text, model):
        """Return the line to send for a text."""
        return text

    def hypotheses(self, answer, model):
        """Return pairs of a text and its score from an answer, best first."""
        return [(one["text"], one["score"]) for one in answer["hypotheses"]]


class OnDevicePython(Runtime):
    name = "Python runner"
    test = "make test-all ARGS=tests/exporters/litert/test_on_device.py"

    def program(self):
        return [sys.executable, KIT / "translate.py", "--json"]

    def ships(self):
        package = ROOT / "keras_bahdanau"
        runner = (package / "exporters/litert/on_device").glob("*.py")
        return [
            KIT / "translate.py",
            *runner,
            package / "text/alignments.py",
            *builds.files("ai-edge-litert", "numpy", "sentencepiece"),
        ]


class SavedModelPython(Runtime):
    name = "TensorFlow SavedModel in Python"
    test = "make test-all ARGS=tests/exporters/saved_model/test_serving.py"
    model, searches = "saved_model", ("beam", "suggestions")

    def lacking(self):
        missing = [name for name in ("tensorflow", "tensorflow_text") if not builds.has(name)]
        return f"needs {' and '.join(missing)}" if missing else ""

    def program(self):
        return [sys.executable, HERE / "workers" / "saved_model.py"]

    def ships(self):
        return builds.files("tensorflow", "tensorflow-text", "numpy")


class Cplusplus(Runtime):
    name = "C++"
    test = "make test-all ARGS=tests/exporters/litert/test_cpp_programs.py"

    def lacking(self):
        return builds.compiled(KIT, self.scratch, "translate")

    def program(self):
        return [self.scratch / "translate", "--json"]

    def ships(self):
        program, _ = self.program()
        return [program, builds.litert(), *builds.linked(program, "sentencepiece")]


class Kotlin(Runtime):
    name = "JVM (Kotlin)"
    test = "make test-all ARGS=tests/exporters/jvm"

    @functools.cached_property
    def tools(self):
        """The test support module that compiles Kotlin."""
        sys.path.append(str(ROOT / "tests" / "support"))
        return importlib.import_module("kotlin_programs")

    def lacking(self):
        with contextlib.suppress(ImportError):
            missing = self.tools.lacking("java", "kotlin")
            return f"needs {missing}" if missing else self._build()
        return "needs tests/support/kotlin_programs.py"

    def _build(self):
        try:
            self.tools.compile_kotlin(sorted(JVM.glob("*.kt")), self.scratch / "classes")
        except subprocess.CalledProcessError:
            return "the Kotlin compiler failed"
        return builds.compiled(JVM, self.scratch, "translation_litert")

    def program(self):
        main = (self.scratch / "classes", "translation.TranslateKt")
        return self.tools.command(*main, "--json", libraries=self.scratch)

    def ships(self):
        classes = [one for one in (self.scratch / "classes").rglob("*") if one.is_file()]
        return [*classes, *self.scratch.glob("*.so"), self.tools.library(), builds.litert()]


class Node(Runtime):
    name = "Node (LiteRT.js)"
    test = "make test-all ARGS=tests/exporters/litert/test_node_program.py"
    packages = ("@litertjs/core",)

    def lacking(self):
        folder = self.node_modules
        there = folder and all((folder / "node_modules" / name).is_dir() for name in self.packages)
        found = there and shutil.which("node")
        return "" if found else f"needs node and --node-modules with {', '.join(self.packages)}"

    def program(self):
        return ["node", KIT / "translate.mjs", "--json"]

    def ships(self):
        litert = self.node_modules / "node_modules" / "@litertjs"
        modules = [litert / package / "dist/index.js" for package in ("core", "wasm-utils")]
        modules += [litert / "core/wasm" / f"{WASM}.{end}" for end in ("js", "wasm")]
        own = ("pipeline", "translator", "tflite_file", "sentencepiece", "normalizer", "unigram")
        own += ("byte_pairs", "protobuf", "reader", "image_source", "scaling", "audio_source")
        own += ("wav", "ink_source")
        return [*modules, *(PAGE / f"{name}.mjs" for name in own), *self._program_files()]

    def _program_files(self):
        return [
            KIT / f"{name}.mjs" for name in ("translate", "file_input", "png_file", "resampling")
        ]


class Browser(Node):
    name = "browser (headless Chromium)"
    test = "make test-all ARGS=tests/exporters/browser"
    packages = ("@litertjs/core", "@sparticuz/chromium", "puppeteer-core")
    kind = InPage

    def program(self):
        return ["node", HERE / "workers" / "browser.mjs"]

    def _program_files(self):
        names = ("index.html", "style.css", "start.js", "app.mjs", "heat_map.mjs", "loading.mjs")
        names += ("text_entry.mjs",)
        more = ("offline.mjs", "working.mjs", "worker.js", "service_worker.js")
        return [PAGE / name for name in (*names, *more)]


class SavedModelC(Runtime):
    name = "SavedModel from C with ids"
    test = "make test-all ARGS=tests/exporters/saved_model/test_decode_ids_in_c.py"
    model, searches = "saved_model_ids", ("beam",)

    def lacking(self):
        if not (SERVING / "decode_ids.c").is_file():
            return "needs export/tf_serving/decode_ids.c"
        if not builds.has("tensorflow") or not shutil.which("gcc"):
            return "needs tensorflow and gcc"
        self.scratch.mkdir()
        libraries, folder = builds.tensorflow_libraries(), builds.tensorflow()
        command = ["gcc", "-std=c11", "-O2", SERVING / "decode_ids.c", "-o", *self.program()]
        command += ["-I", folder / "include", f"-Wl,-rpath,{folder}", *libraries]
        return builds.failure(command)

    def program(self):
        return [self.scratch / "decode_ids"]

    def ships(self):
        return [*self.program(), *builds.tensorflow_libraries()]

    def line(self, text, model):
        ids = _vocabulary(model, "source").encode(text)
        return " ".join(map(str, [*ids, END] if ids else []))

    def hypotheses(self, answer, model):
        ids = [one for one in answer["ids"] if one != END]
        return [(_vocabulary(model, "target").decode(ids), answer["score"])]


RUNTIMES = (OnDevicePython, SavedModelPython, Cplusplus, Kotlin, Node, Browser, SavedModelC)


@functools.cache
def _vocabulary(model, side):
    """Return the SentencePiece processor for one side of a SavedModel for ids."""
    import sentencepiece

    extra = Path(model) / "assets.extra"
    name = json.loads((extra / "card.json").read_bytes())["vocabularies"][side]
    return sentencepiece.SentencePieceProcessor(model_file=str(extra / name))
