"""The dates example: CLDR's forms, typing errors that leave the date unambiguous, and scores."""

import calendar
import random
import re
from datetime import date
from pathlib import Path

import pytest
from rapidfuzz.distance import OSA

import keras_bahdanau as kb

FOLDER = Path(__file__).parents[2] / "examples" / "dates"
APRIL = date(2021, 4, 3)


@pytest.fixture
def dates(example):
    pytest.importorskip("babel", reason="babel has the locales of CLDR")
    return example("dates")


@pytest.mark.parametrize(
    ("locale", "form", "text"),
    [
        ("en", "full", "Saturday, April 3, 2021"),
        ("en_GB", "short", "03/04/2021"),
        ("fr", "long", "3 avril 2021"),
        ("de", "medium", "03.04.2021"),
        ("ja", "full", "2021年4月3日土曜日"),
        ("hi", "short", "३/४/२१"),
        ("fa", "short", "۲۰۲۱/۴/۳"),
    ],
)
def test_a_date_is_written_as_in_its_locale(dates, locale, form, text):
    assert dates.Written(locale, form, APRIL).in_native_digits().text == text


def test_lines_are_the_same_for_a_seed_and_others_for_another(dates):
    first, again, other = (list(dates.lines("train", 50, seed)) for seed in (1, 1, 2))
    assert first == again != other


def test_no_date_is_in_two_parts_and_each_is_in_one(dates):
    train, dev, test = (set(dates.days(part)) for part in ("train", "dev", "test"))
    assert len(train | dev | test) == len(train) + len(dev) + len(test) == 73049  # 1900 to 2099
    assert {line.date for line in dates.lines("dev", 200)} <= {day.isoformat() for day in dev}


def test_two_digits_stand_for_one_year(dates):
    lines = [line for line in dates.lines("train", 400) if dates.is_short(line.locale, line.form)]
    years = [int(line.date[:4]) for line in lines]
    assert min(years) < 1980 and max(years) > 2050  # in both centuries
    assert all(1969 <= year <= 2068 for year in years)


def test_digits_of_a_line_are_those_of_its_date_with_typing_errors_too(dates):
    for line in dates.lines("train", 400, errors=1.0):
        year, month, day = map(int, line.date.split("-"))
        numbers = sorted(int(one) for one in re.findall(r"\d+", line.text))
        shown = year % 100 if dates.is_short(line.locale, line.form) else year
        assert numbers in (sorted((shown, day)), sorted((shown, month, day))), line


def test_the_nearest_english_month_is_the_right_one(dates):
    names = {n: calendar.month_name[n].lower() for n in range(1, 13)}
    for line in dates.lines("train", 400, errors=1.0, locales=("en",)):
        if line.form in ("long", "medium"):
            word = re.sub("[^a-z]", "", line.text.lower())
            known = {n: name if line.form == "long" else name[:3] for n, name in names.items()}
            distances = {n: OSA.distance(word, name) for n, name in known.items()}
            nearest = [n for n in known if distances[n] == min(distances.values())]
            assert nearest == [int(line.date[5:7])], line


def test_an_error_that_could_be_another_month_is_refused(dates):
    written = dates.Written("en", "medium", date(2021, 6, 3))
    assert dates.is_certain("Junn 3, 2021", written) and dates.is_certain("jun 3, 2021", written)
    assert not dates.is_certain("Ju 3, 2021", written)  # June or July
    assert not dates.is_certain("Jn 3, 2021", written)  # June or January
    assert not dates.is_certain("Jun 32021", written)  # day 3, or day 32
    assert not dates.is_certain("Jun 4, 2021", written)


def test_an_error_is_what_its_name_says(dates):
    draw = random.Random(0)

    def all_of(error, text):
        return {dates.CHANGES[error](text, draw) for _ in range(100)}

    assert all_of("dropped", "3 mai") == {"3 ai", "3 mi", "3 ma"}
    assert all_of("doubled", "3 mai") == {"3 mmai", "3 maai", "3 maii"}
    assert all_of("swapped", "3 mai") == {"3 ami", "3 mia", "3 mai"}
    assert all_of("neighbour", "3 Mi") == {"3 Ni", "3 Mu", "3 Mo"}
    assert all_of("spacing", "3. m") == {"3 m", "3.. m", "3.m", "3.  m"}
    assert all_of("case", "3 Mai") == {"3 mai", "3 MAI"}
    assert all_of("diacritics", "3 août Ιουνίου май") == {"3 aout Ιουνιου май"}
    assert all_of("typed", "3 d’abril\u202fг.") == {"3 d'abril г."}


def test_each_form_has_its_row_of_exact_answers(example, tmp_path):
    exact = example("score")
    lines = [
        exact.Line("3.4.21", "2021-04-03", "sl", "short", "none"),
        exact.Line("3..4.21", "2021-04-03", "sl", "short", "spacing"),
        exact.Line("4.4.21", "2021-04-04", "sl", "short", "none"),
    ]
    path = tmp_path / "dates.tsv"
    path.write_text("".join("\t".join(line) + "\n" for line in lines), encoding="utf-8")
    assert exact.read(path) == lines
    table = exact.table(lines, ["2021-04-03", "", "2021-03-04"]).split("\n")
    assert table[4].split() == ["short", "50.00", "0.00", "33.33", "3"]
    assert table[5].split() == ["all", "50.00", "0.00", "33.33", "3"]
    assert table[3].split() == ["medium", "-", "-", "-", "0"]
    assert table[7] == "error     spacing 0.00, none 50.00"


def test_a_file_that_is_there_is_not_written_over(dates, tmp_path, capsys):
    path = tmp_path / "dev.tsv"
    path.write_text("mine")
    with pytest.raises(SystemExit) as ended:
        dates.main(["dev", "--count", "1", "--locales", "en", "--out", str(path)])
    assert ended.value.code == 2 and "File exists" in capsys.readouterr().err
    assert path.read_text() == "mine"


def test_a_model_that_does_not_know_the_locales_is_refused(example, tmp_path, capsys):
    pytest.importorskip("ai_edge_litert", reason="ai-edge-litert runs the file")
    path = tmp_path / "dev.tsv"
    path.write_text("April 3, 2021\t2021-04-03\ten\tlong\tnone\n")
    italian = Path(__file__).parents[2] / "examples" / "pronounce" / "models" / "ita.tflite"
    with pytest.raises(SystemExit) as ended:
        example("score").main([str(path), "--model", str(italian)])
    assert ended.value.code == 2 and "Received: tag='<en>'" in capsys.readouterr().err


@pytest.mark.slow
def test_lines_are_trained_on_exported_and_scored(dates, example, tmp_path, capsys):
    pytest.importorskip("ai_edge_litert", reason="ai-edge-litert runs the file")
    for part in ("train", "dev"):
        arguments = [part, "--count", "64", "--locales", "en,fr"]
        dates.main([*arguments, "--out", str(tmp_path / f"{part}.tsv")])
    columns = "source,target,features-first,-,-"
    (pairs, symbols), (valid, _) = (
        kb.data.read_table(tmp_path / f"{part}.tsv", columns) for part in ("train", "dev")
    )
    options = kb.training.TrainingOptions(
        preset="characters", joint=False, units=8, embedding_units=8, epochs=1, epoch_steps=1
    )
    model = kb.training.train(pairs, valid, tmp_path / "run", options, symbols=symbols)
    small = tmp_path / "dates.tflite"
    kb.export_litert(kb.load_pipeline(model), small, max_target_length=128)  # longer than any line
    capsys.readouterr()  # the output of training
    printed = []
    for path in (model, small):
        example("score").main([str(tmp_path / "dev.tsv"), "--model", str(path), "--wrong", "64"])
        out = capsys.readouterr().out.splitlines()
        printed.append([line for line in out if "ms per line" not in line])
    assert printed[0] == printed[1]
    assert any(line.startswith("all ") and line.endswith(" 64") for line in printed[0])
