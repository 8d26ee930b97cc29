"""The C++, Kotlin and JavaScript runners read blank text as empty, as Python does."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from keras_bahdanau.text.features import INVISIBLE, is_blank

ROOT = Path(__file__).parents[2]
NORMALIZER = ROOT / "keras_bahdanau" / "exporters" / "browser" / "page" / "normalizer.mjs"
BLANK = {code for first, last in INVISIBLE for code in range(first, last + 1)}
IN_NODE = """
const {{ isBlank }} = await import({path!r});
const codes = [...Array(0x20000).keys()].filter((code) => isBlank(String.fromCodePoint(code)));
console.log([...codes, isBlank(""), isBlank(" \\u200b"), isBlank(" a"), isBlank("\\n")].join(" "));
"""
IN_CPP = """
#include <iostream>
#include <string>
#include "utf8.h"
int main() {
  for (std::string line; std::getline(std::cin, line, '|');) std::cout << utf8::IsBlank(line);
}
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")
def test_javascript_calls_the_same_characters_blank():
    program = IN_NODE.format(path=str(NORMALIZER))
    command = ["node", "--input-type=module", "--eval", program]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    *codes, empty, spaces, letter, line_end = answer.stdout.split()
    assert {*map(int, codes)} == BLANK
    assert (empty, spaces, letter, line_end) == ("true", "true", "false", "true")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_cpp_calls_the_same_texts_blank(tmp_path):
    (tmp_path / "blank.cc").write_text(IN_CPP)
    program, kit = tmp_path / "blank", ROOT / "export" / "on_device"
    command = ["g++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-I", kit, "-o", program]
    subprocess.run([*command, tmp_path / "blank.cc"], check=True)
    codes = [code for code in range(0x20000) if not 0xD800 <= code < 0xE000 and code != ord("|")]
    texts = ["".join(part) for code in codes for part in (chr(code), f" {chr(code)}\u3000")]
    texts += ["", "\U0001f642 ", "  \u200b"]
    content = "".join(f"{text}|" for text in texts).encode()
    answer = subprocess.run([program], input=content, capture_output=True, check=True)
    assert answer.stdout.decode() == "".join(str(int(is_blank(text))) for text in texts)


def test_kotlin_calls_the_same_characters_blank():
    text = (ROOT / "export" / "jvm" / "Translator.kt").read_text()
    parts = re.search(r"val BLANK =\s+Regex\((.*?)\n    \)", text, re.DOTALL)[1]
    pattern = "".join(re.findall(r'"(.*?)"', parts)).replace("\\\\", "\\")
    codes = (code for code in range(0x20000) if not 0xD800 <= code < 0xE000)
    assert {code for code in codes if re.fullmatch(pattern, chr(code))} == BLANK
