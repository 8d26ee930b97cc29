"""The keyboards example: its commands on a toy script, and its page in headless Chromium."""

import itertools
import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

import node_packages
import pytest

import keras_bahdanau as kb
from keras_bahdanau import cli

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "tests" / "support" / "keyboard_page.mjs"
MODEL = ROOT / "examples" / "transliterate" / "models" / "wd-russian.tflite"
WORD = "moskva"
LACKING = node_packages.lacking("@litertjs/core", "@sparticuz/chromium", "puppeteer-core")
CONSONANTS = {"k": "क", "g": "ग", "t": "तट", "d": "दड", "n": "न", "p": "प", "m": "म", "s": "स"}
VOWELS = {"a": ("", "ा"), "i": ("ि", "ी"), "u": ("ु", "ू"), "e": ("े",)}
# Trains for a few seconds.
TINY = (
    "--units 32 --embedding-units 16 --attention-units 16 --dropout 0 --label-smoothing 0 "
    "--learning-rate 0.01 --batch-sentences 32 --epoch-steps 60 --epochs 2 --seed 1"
)

pytestmark = pytest.mark.slow


def lexicon(seed, count):
    """Return lines of native word, romanization and count; romanizations are ambiguous."""
    draw = random.Random(seed)
    lines = []
    for _ in range(count):
        syllables = [
            (draw.choice([*CONSONANTS]), draw.choice([*VOWELS])) for _ in range(draw.randint(1, 3))
        ]
        native = "".join(
            draw.choice(CONSONANTS[consonant]) + draw.choice(VOWELS[vowel])
            for consonant, vowel in syllables
        )
        lines.append(f"{native}\t{''.join(map(''.join, syllables))}\t{draw.randint(1, 4)}\n")
    return lines


@pytest.fixture
def command(capsys):
    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            cli.main([*map(str, arguments)])
        out, error = capsys.readouterr()
        assert ended.value.code in (0, None), error
        return out

    return run


def test_the_commands_of_the_page_train_score_and_export(command, tmp_path):
    files = {"train": lexicon(1, 600), "dev": lexicon(2, 60)}
    for name, lines in files.items():
        (tmp_path / f"{name}.tsv").write_text("".join(lines), encoding="utf-8")
    table = ("--columns", "target,source,count")
    options = ("--preset", "characters", "--valid-source", tmp_path / "dev.tsv", *table)
    run = tmp_path / "run"
    command("train", tmp_path / "train.tsv", *options, *TINY.split(), "--out", run)
    vocabulary = kb.load_pipeline(run / "translator.keras").target
    natives = [line.split("\t")[0] for line in files["train"]]
    assert vocabulary.decode(vocabulary.encode(natives)) == natives

    limits = "--max-source-length 32 --max-target-length 40"
    signatures = "--signatures greedy --signatures nbest --signatures prefix"
    export = f"--format litert --quantization int8 {limits} {signatures}".split()
    file = tmp_path / "toy.tflite"
    command("export", "--model", run, *export, "--out", file)
    scores = tmp_path / "scores.json"
    metrics = ("--metrics", "exact,top3,top5,cer", "--json", scores)
    command("evaluate", "--model", file, tmp_path / "dev.tsv", *table, *metrics)
    found = json.loads(scores.read_text("utf-8"))
    romanizations = {line.split("\t")[1] for line in files["dev"]}
    assert found["sources"] == len(romanizations) < found["sentences"] == 60
    assert found["exact"] <= found["top3"] <= found["top5"]
    assert 0 < found["top5"] <= 100

    translator = kb.exporters.OnDeviceTranslator(file)
    ((first, *others),) = translator.translate_nbest(["kimasu"])
    assert len(others) == 4
    (kept,) = translator.translate_nbest(["kimasu"], prefixes=[first.text[:2]])
    assert all(one.text.startswith(first.text[:2]) for one in kept)


@pytest.fixture(scope="module")
def visit(tmp_path_factory):
    """The results of typing a name into the page; see `keyboard_page.mjs`."""
    if LACKING:
        pytest.skip(f"needs {LACKING}")
    folder = tmp_path_factory.mktemp("server")
    for name in ("examples", "keras_bahdanau"):
        (folder / name).symlink_to(ROOT / name)
    installed = node_packages.directory_of("@litertjs/core")
    (folder / "node_modules").symlink_to(installed / "node_modules")
    exporter = kb.exporters.BrowserExporter(litert_js=installed)
    with pytest.MonkeyPatch.context() as patch:  # build the site from an existing model file
        write = kb.exporters.LiteRTExporter
        patch.setattr(write, "write", lambda self, _, path: shutil.copyfile(MODEL, path))
        exporter.write(None, folder / "site")
    address = MODEL.relative_to(ROOT).as_posix()
    done = subprocess.run(
        ["node", PROGRAM, sys.executable, folder, address, WORD, "site"],
        capture_output=True,
        encoding="utf-8",
        cwd=node_packages.directory_of("puppeteer-core"),
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def expected():
    """Python's texts for each beginning of the name, best first."""
    translator = kb.exporters.OnDeviceTranslator(MODEL)
    beginnings = [*itertools.accumulate(WORD)]
    return [[one.text for one in found] for found in translator.translate_nbest(beginnings)]


def test_each_keystroke_has_the_suggestions_of_python(visit, expected):
    for place in (visit, visit["site"]):
        texts = [keystroke["texts"] for keystroke in place["keystrokes"]]
        assert [len(found) for found in texts] == [5] * len(WORD)
        assert texts[-1] == expected[-1]
        # 8-bit products round differently, which can reorder words with nearly equal scores.
        assert [found[0] for found in texts] == [found[0] for found in expected]
    assert all(keystroke["milliseconds"] > 0 for keystroke in visit["keystrokes"])
    assert visit["site"]["workers"] == 1 and visit["errors"] == []


def test_a_space_takes_the_first_suggestion_and_a_digit_another(visit, expected):
    first, second, *_ = expected[-1]
    assert visit["space"] == visit["site"]["space"] == f"{first} "
    assert visit["second"] == f" {second}"
    assert visit["escaped"] == f" {WORD} "


def test_words_typed_faster_than_the_answers_are_all_replaced(visit, expected):
    first, *_ = expected[-1]
    assert visit["fast"] == f" {first} {first}."


def test_a_chosen_beginning_stays(visit, expected):
    beginning = expected[-1][0][:2]
    translator = kb.exporters.OnDeviceTranslator(MODEL)
    (kept,) = translator.translate_nbest([WORD], prefixes=[beginning])
    assert visit["kept"]["texts"][0] == kept[0].text == visit["kept"]["comma"].strip(" ,")
    assert all(text.startswith(beginning) for text in visit["kept"]["texts"])


def test_what_the_page_can_not_answer_is_told_and_stays_as_typed(visit):
    assert "Received: 101 tokens" in visit["long"]["problem"]
    assert visit["long"]["text"].strip() == "x" * 100
    assert visit["missing"].startswith("A model must be on this server. Received: ")
