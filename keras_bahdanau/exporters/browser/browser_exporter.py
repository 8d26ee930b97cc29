"""The format `browser`: a directory of static files with a page that runs the model."""

import base64
import dataclasses
import re
import shutil
from pathlib import Path

from keras_bahdanau.exporters.card import read_packed_card, vocabulary_files
from keras_bahdanau.exporters.exporter import Finding
from keras_bahdanau.exporters.litert.litert_exporter import LiteRTExporter
from keras_bahdanau.files.integrity import (
    Damage,
    check_fields,
    read_sealed_json,
    sha256_of,
    write_sealed_json,
)
from keras_bahdanau.settings.option import Check, check_value

MODEL, SITE, PAGE, SCRIPT = "model.tflite", "site.json", "index.html", "start.js"
BROWSER = "The page"
MODULES = Path(__file__).parent / "page"
LICENSE = Path(__file__).parent / "apache_license.txt"  # of LiteRT.js: not in its packages
_LONGEST_TITLE = 200  # in characters
_FORMS = {"bytes": {str: int}, "sha256": {str: str}, "model": str, "title": str}
# LiteRT.js: its modules, and its WebAssembly for browsers with and without relaxed SIMD
_PACKAGES = {"core": "@litertjs/core", "wasm-utils": "@litertjs/wasm-utils"}
_LITERT = {
    "core": (
        "package.json",
        "dist/index.js",
        *(
            f"wasm/litert_wasm_{kind}.{end}"
            for kind in ("internal", "compat_internal")
            for end in ("js", "wasm")
        ),
    ),
    "wasm-utils": ("package.json", "dist/index.js"),
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class BrowserExporter(LiteRTExporter):
    """A page that runs a model in the visitor's browser, even offline after the first visit.

    Depending on the model's source, a visitor types text, draws or chooses an image, records sound
    or chooses a file, or writes with a pen. The directory contains `index.html` with its modules,
    the model as `export_litert` writes it, LiteRT.js, and the sealed file `site.json`, which lists
    the size and SHA-256 of each other file. Any static web server can serve it. The signatures
    "nbest" and "prefix" add suggestions and a field for a prefix.

    Args:
        litert_js: Path of the directory that contains `node_modules` with `@litertjs/core`.
        title: String of 1 to 200 printable characters, the heading of the page.

    Other arguments are as in `export_litert`.

    Raises:
        ValueError: If a setting is out of range.

    Example:
        >>> export(BrowserExporter(litert_js="site-tools", title="Pronounce"), translator, "site")
    """

    signatures: tuple = ("nbest", "prefix")
    litert_js: str | Path = "."
    title: str = "Translate"

    purpose = "a page"
    suffix = ""  # the artefact is a directory

    def __post_init__(self):
        super().__post_init__()
        demand = f"a string of 1 to {_LONGEST_TITLE} printable characters that is not blank"
        check_value("title", self.title, Check(demand, _is_title))

    @property
    def artefact(self):
        return f"page {self.precision}"

    @classmethod
    def variants(cls, **settings):
        return []  # a page needs LiteRT.js

    @staticmethod
    def recognizes(path):
        return (path / SITE).is_file() and (path / PAGE).is_file()

    def require(self, pipeline):
        self._packages()  # fails now if they are not installed
        super().require(pipeline)
        source = pipeline.source
        _, vocabularies = vocabulary_files(pipeline)
        # a module computes the features of the class that names it, but not of subclasses
        entered = vars(type(source)).get("page_entry") and (MODULES / source.page_entry).is_file()
        if "source" not in vocabularies and not entered:
            raise ValueError(
                "A page reads text, images, sound or ink: the source of its model must have a "
                "vocabulary, or its class must name a module of the page in `page_entry`. "
                f"Received: a pipeline with {type(source).__name__}, verb={pipeline.verb!r}. "
                "Export it with --format litert."
            )

    def write(self, pipeline, path):
        path.mkdir()
        super().write(pipeline, path / MODEL)
        for file in MODULES.iterdir():
            shutil.copyfile(file, path / file.name)
        _write_page(path)
        for name, folder in self._packages().items():
            for file in _LITERT[name]:
                copy = path / "litert" / name / file
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(folder / file, copy)
        _import_by_path(path / "litert" / "core" / "dist" / "index.js")
        shutil.copyfile(LICENSE, path / "litert" / "LICENSE")
        self._write_site(path)

    def _packages(self):
        """Return a dictionary from the names of the parts of LiteRT.js to their directories."""
        directory = Path(self.litert_js)
        for around in (directory / "node_modules", directory):
            packages = {name: around / package for name, package in _PACKAGES.items()}
            files = [packages[name] / file for name in packages for file in _LITERT[name]]
            if all(file.is_file() for file in files):
                return packages
        raise ImportError(
            "A page needs LiteRT.js, the npm package @litertjs/core, in a directory. Received: "
            f"litert_js={str(directory)!r}, which lacks it. Run npm install @litertjs/core there, "
            "or set --litert-js to the directory that contains its node_modules."
        )

    def _write_site(self, path):
        """Write the list of files, which the page reads first."""
        files = {
            file.relative_to(path).as_posix(): file
            for file in sorted(path.rglob("*"))
            if file.is_file() and file != path / SITE
        }
        site = {
            "title": self.title,
            "model": MODEL,
            "bytes": {name: file.stat().st_size for name, file in files.items()},
            "sha256": {name: _hash(file) for name, file in files.items()},
        }
        write_sealed_json(path / SITE, site)

    def damage(self, path):
        try:
            hashes = {MODEL: "", **_read_site(path)["sha256"]}
        except (Damage, OSError) as error:
            return [_changed(SITE, f"is not a valid list of files: {error}")]
        findings = [
            _changed(name, "is missing or damaged, or was modified")
            for name, digest in hashes.items()
            if not (path / name).is_file() or _hash(path / name) != digest
        ]
        names = (file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file())
        for name in sorted({*names} - {*hashes, SITE}):
            findings.append(_changed(name, f"is not among the files that {SITE} lists"))
        return findings or super().damage(path / MODEL)

    def check(self, path):
        return super().check(path / MODEL)

    def answers(self, path, pipeline, inputs):
        """Return the answers of its model in LiteRT for Python, which equal those of the page."""
        return super().answers(path / MODEL, pipeline, inputs)

    def add_parity(self, path, rows):
        super().add_parity(path / MODEL, rows)
        self._write_site(path)

    def describe(self, path):
        site = _read_site(path)
        sizes = site["bytes"].values()
        heading = f"page {site['title']!r}, {len(sizes)} files, {sum(sizes):,} bytes"
        return f"{heading}\n{super().describe(path / MODEL)}"


def _write_page(path):
    """Write the class of the model's source and the hash of the start script into the page."""
    name = read_packed_card(path / MODEL).get("source", {}).get("class_name")
    digest = base64.b64encode(bytes.fromhex(_hash(path / SCRIPT))).decode()
    page = (path / PAGE).read_text("utf-8")
    if name is not None:  # by default, the page shows a text field
        page = re.sub(r'(?<=<body data-source=")\w+', name, page)
    page = page.replace(f'"{SCRIPT}"', f'"{SCRIPT}" integrity="sha256-{digest}"')
    (path / PAGE).write_text(page, "utf-8")


def _is_title(value):
    if not isinstance(value, str) or len(value) > _LONGEST_TITLE:
        return False
    return value.isprintable() and not value.isspace() and value != ""


def _import_by_path(module):
    """Make a module of LiteRT.js import the other one by path: workers have no import maps."""
    name, module_path = f'"{_PACKAGES["wasm-utils"]}"', '"../../wasm-utils/dist/index.js"'
    notice = f"// Changed by keras_bahdanau: imports {module_path[1:-1]} by its path.\n"
    content = module.read_text("utf-8")
    if name not in content:
        raise ValueError(
            f"LiteRT.js must import the package {name}, as version 2.5.3 does. Received: litert_js "
            f"with a different {module.name}. Run npm install @litertjs/core@2.5.3"
        )
    module.write_text(notice + content.replace(name, module_path), "utf-8")


def _read_site(path):
    """Return the list of files in a site. Raises `Damage` if it is invalid."""
    site = read_sealed_json(path / SITE)
    check_fields(site, _FORMS)
    return site


def _hash(path):
    with open(path, "rb") as file:
        return sha256_of(file)


def _changed(name, why):
    return Finding(BROWSER, f"{name!r}", why, "Copy the directory again, or export it again.")
