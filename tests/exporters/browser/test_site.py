"""A complete site, built on the command line and run in Node and headless Chromium."""

import json
import random
import subprocess
import sys
from pathlib import Path

import conformance_file
import node_packages
import numpy as np
import pytest

from keras_bahdanau import cli
from keras_bahdanau.exporters import OnDeviceTranslator

CHECKOUT = Path(__file__).parents[3]
SUPPORT = CHECKOUT / "tests" / "support"
PROGRAM = CHECKOUT / "export" / "on_device" / "translate.mjs"
LITERT_JS = "@litertjs/core"
CHROMIUM = (LITERT_JS, "@sparticuz/chromium", "puppeteer-core")
DATES = CHECKOUT / "examples" / "dates" / "models" / "dates.tflite"
LACKING = node_packages.lacking(*CHROMIUM)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(LACKING), reason=f"needs {LACKING}"),
]


def ran(program, *arguments, package=LITERT_JS, content=None):
    """Return the last line that a program in `tests/support` prints, parsed as JSON."""
    done = subprocess.run(
        ["node", SUPPORT / program, *map(str, arguments)],
        input=content,
        capture_output=True,
        encoding="utf-8",
        cwd=node_packages.directory_of(package),
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def site(toy_translator, tmp_path_factory):
    """The site of a toy translator of number words, with every signature for text."""
    folder = tmp_path_factory.mktemp("site")
    toy_translator.save(folder / "toy.keras")
    options = f"--format browser --out {folder / 'site'} --max-source-length 24 --title Count"
    options += " --signatures greedy --signatures nbest --signatures prefix"
    options += f" --litert-js {node_packages.directory_of(LITERT_JS)}"
    with pytest.raises(SystemExit) as ended:
        cli.main(["export", "--model", str(folder / "toy.keras"), *options.split()])
    assert ended.value.code in (0, None)
    return folder / "site"


@pytest.fixture(scope="module")
def visit(site, tmp_path_factory):
    """The results of a visit to the site; see `page.mjs`."""
    return ran(
        *("page.mjs", sys.executable, site, "two three one", "one " * 40),
        tmp_path_factory.mktemp("pictures"),
        package="puppeteer-core",
    )


def sentences(count):
    draw = random.Random(7)
    words = ("one", "two", "three", "four", "five", "Two", "ｆｉｖｅ", "six", " ", "☃")
    return [" ".join(draw.choices(words, k=draw.randint(0, 6))) for _ in range(count)]


def test_fifty_sentences_get_the_texts_and_scores_of_python_in_node(site, tmp_path):
    inputs = [*sentences(50), "one " * 40]
    answers = conformance_file.answers_of(site / "model.tflite", inputs)
    path = tmp_path / "conformance.json"
    path.write_text(json.dumps({"answers": answers}), encoding="utf-8")
    found = ran("answers.mjs", PROGRAM, site / "model.tflite", path)
    assert found["wrong"] == 0, found["first"]
    assert (found["answers"], found["refused"]) == (150, 1)
    assert found["difference"] < 1e-5


def test_dates_in_eight_bits_get_the_texts_of_python_in_node(tmp_path):
    draw = random.Random(3)
    days = [
        f"{draw.randint(1, 28)} {draw.choice(('March', 'Mai', 'juin'))} {draw.randint(1950, 2030)}"
        for _ in range(50)
    ]
    path = tmp_path / "conformance.json"
    path.write_text(json.dumps({"answers": conformance_file.answers_of(DATES, days)}))
    found = ran("answers.mjs", PROGRAM, DATES, path)
    assert (found["wrong"], found["answers"]) == (0, 50), found["first"]
    assert found["difference"] < 0.01  # 8-bit products round differently


def test_a_typed_text_is_answered_as_in_python(site, visit):
    (expected,) = OnDeviceTranslator(site / "model.tflite").translate_nbest(["two three one"])
    assert visit["title"] == "Count"
    assert visit["answer"]["text"] == visit["again"] == "zwei drei eins"
    assert visit["answer"]["suggestions"] == [one.text for one in expected]
    assert visit["emptyIsHidden"]
    assert visit["shares"] > 0  # the progress bar showed values between 0 and 1


def test_the_heat_map_has_the_weights_of_python(site, visit):
    (expected,) = OnDeviceTranslator(site / "model.tflite").translate(["two three one"])
    np.testing.assert_allclose(visit["answer"]["weights"], expected.alignment, atol=6e-4)
    shown = [token.removeprefix("▁") for token in expected.source_tokens[:-1]]
    assert visit["answer"]["columns"] == [*shown, "end"]
    assert len(visit["answer"]["rows"]) == len(expected.target_tokens)


def test_suggestions_are_chosen_copied_and_begun(visit):
    assert visit["second"] == visit["answer"]["suggestions"][1]
    assert visit["pressed"][:3] == ["false", "true", "false"]
    assert visit["copied"] == visit["answer"]["text"]
    begun = visit["begun"]["suggestions"]
    assert begun and all(text.startswith(visit["second"][:3].strip()) for text in begun)


def test_a_text_that_is_too_long_is_told_and_never_cut(visit):
    assert visit["problem"] == (
        "The text is too long: it has 41 tokens (words, parts of words, or characters), but this "
        "page accepts at most 24. Shorten it."
    )
    assert visit["answerIsHidden"]


def test_what_the_vocabulary_lacks_is_named(visit):
    assert visit["known"] == ""
    assert visit["unknown"] == "The model does not know: ☃. The answer may be wrong."


def test_what_the_vocabulary_lacks_of_a_given_beginning_is_named(visit):
    assert visit["unknownBeginning"] == (
        "The model does not know in the beginning: ☃. The answer may be wrong."
    )


def test_a_text_that_is_entered_while_it_loads_is_answered(visit):
    assert visit["early"] == {
        "said": "Still loading: your text is next.",
        "field": "two three one",
        "text": "zwei drei eins",
    }


def test_a_server_that_sends_modules_with_a_wrong_type_is_suspected(visit):
    assert visit["wrongType"] == (
        "A part of this page did not load: app.mjs. Load it again; its server may send it with a "
        "wrong type: see export/browser/README.md."
    )


def test_the_model_runs_beside_the_page_under_its_policy(visit):
    assert visit["workers"] == 1
    assert visit["workerIsRefused"] == "connect-src"


def test_it_answers_without_a_network_after_the_first_load(visit):
    assert visit["offline"] == visit["answer"]
    # Sites on the same host must not share a cache.
    assert visit["caches"] == [visit["ownCache"]]


def test_it_says_in_words_what_a_browser_lacks(visit):
    assert visit["lacking"].startswith("This page needs a secure address")
    assert "python -m http.server" in visit["fromFile"]


def test_a_keyboard_and_a_screen_reader_reach_all_of_it(visit):
    assert {"source", "prefix", "run", "copy", "map", "BUTTON"} <= set(visit["stops"])
    assert visit["unnamed"] == []


def test_it_fits_its_window_and_asks_one_host_only(visit):
    assert visit["wider"] == {"wide": 0, "narrow": 0, "dark": 0}
    assert (visit["errors"], visit["hosts"]) == ([], 1)


def test_a_flipped_bit_in_200_of_200_places_of_the_page_is_told_in_one_line(site):
    draw = random.Random(0)
    names = ["site.json", *json.loads((site / "site.json").read_bytes())["sha256"]]
    flips = [["", 0, 0]]
    for number in range(200):
        name = names[number % len(names)]
        flips.append([name, draw.randrange((site / name).stat().st_size), draw.randrange(8)])
    first, *seen = ran(
        *("flips.mjs", site, "two three one"), package="puppeteer-core", content=json.dumps(flips)
    )
    assert first == {"answer": "zwei drei eins"}
    unread = [name for name in names if name.endswith("compat_internal.wasm")]
    for (name, *_), end in zip(flips[1:], seen, strict=True):
        assert end == first if name in unread else "problem" in end, (name, end)
        damaged = ("has changed since its export", "start: a part of it did not load")
        assert name in unread or any(words in end["problem"] for words in damaged)
        assert "\n" not in end.get("problem", "")
