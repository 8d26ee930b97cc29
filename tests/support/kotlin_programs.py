"""Compile the Kotlin and Java code of export/jvm if the tools are available, and run it.

The Kotlin compiler is a jar with the class K2JVMCompiler in a directory with the jars that it
needs: either the file named by KOTLIN_COMPILER_JAR, such as lib/kotlin-compiler.jar of kotlinc, or
the one in the installed Python package kotlin-jupyter-kernel.
"""

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

KIT = Path(__file__).parents[2] / "export" / "jvm"
QUICK_START = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")


def compiler():
    """Return the directory of the compiler's jars, or None if there is no compiler."""
    named = os.environ.get("KOTLIN_COMPILER_JAR")
    if named:
        return Path(named).parent if Path(named).is_file() else None
    package = importlib.util.find_spec("run_kotlin_kernel")
    return package and Path(package.origin).parent / "jars"


def lacking(*tools):
    """Return the name of a tool that this machine lacks, or None if it has them all."""
    if "kotlin" in tools and compiler() is None:
        return "KOTLIN_COMPILER_JAR, or the package kotlin-jupyter-kernel"
    return next((tool for tool in tools if tool != "kotlin" and not shutil.which(tool)), None)


def library():
    """Return the jar of Kotlin's standard library."""
    return next(
        jar
        for jar in sorted(compiler().glob("kotlin-stdlib*.jar"))
        if "-sources" not in jar.name and "-jdk" not in jar.name
    )


def compile_kotlin(sources, directory):
    """Compile Kotlin files to a directory of classes; warnings are errors."""
    command = ["java", *QUICK_START, "-cp", f"{compiler()}/*"]
    command += ["org.jetbrains.kotlin.cli.jvm.K2JVMCompiler", "-no-stdlib", "-no-reflect"]
    command += ["-classpath", library(), "-jvm-target", "11", "-Werror", "-d", directory]
    subprocess.run([*command, *sources], check=True)


def command(classes, main, *arguments, libraries=None, kotlin=True):
    """Return the command that runs a class; `libraries` is the directory of native libraries."""
    path = [classes, library()] if kotlin else [classes]
    native = [] if libraries is None else [f"-Djava.library.path={libraries}"]
    places = os.pathsep.join(map(str, path))
    return ["java", *QUICK_START, *native, "-cp", places, main, *map(str, arguments)]
