"""All files named in the Android Gradle project exist; the project is not built here."""

import re
import xml.etree.ElementTree
from pathlib import Path

EXPORT = Path(__file__).parents[3] / "export"
PROJECT, KIT = EXPORT / "android", EXPORT / "jvm"
MAIN = PROJECT / "src" / "main"
ANDROID = "{http://schemas.android.com/apk/res/android}"


def test_the_project_names_a_directory_and_classes_that_exist():
    settings = (PROJECT / "build.gradle.kts").read_text()
    shared = PROJECT / re.search(r'java\.srcDir\("(.*?)"\)', settings)[1]
    assert shared.resolve() == KIT.resolve()
    namespace = re.search(r'namespace = "(.*?)"', settings)[1]
    (activity,) = xml.etree.ElementTree.parse(MAIN / "AndroidManifest.xml").iter("activity")
    name = activity.get(f"{ANDROID}name")
    assert name.startswith(".")
    source = MAIN / "kotlin" / Path(*namespace.split(".")) / f"{name[1:]}.kt"
    assert f"package {namespace}\n" in source.read_text()
    assert f"class {name[1:]} :" in source.read_text()


def test_files_for_android_and_other_machines_import_neither_android_nor_a_library():
    sources = [*KIT.glob("*.kt"), *KIT.glob("*.java")]
    imported = [
        line.split()[1]
        for path in sources
        for line in path.read_text().splitlines()
        if line.startswith("import ")
    ]
    assert len(sources) > 8 and len(imported) > 10
    assert [name for name in imported if not name.startswith(("java.", "kotlin."))] == []
    named = (KIT / "README.md").read_text()
    assert [path.name for path in sources if f"`{path.name}`" not in named] == []
