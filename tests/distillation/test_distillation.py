"""Distillation: the hypotheses kept from a teacher, and what a student learns from them."""

import dataclasses
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import toy_pairs
from noting import Noting
from runs import begin

from keras_bahdanau import cli
from keras_bahdanau.data import BatchedPairs
from keras_bahdanau.distillation import Distillation, distill
from keras_bahdanau.distillation.choosing import choose_hypotheses, sentence_closeness
from keras_bahdanau.distillation.comparing import Row, table_of
from keras_bahdanau.distillation.hypotheses import Hypothesis, read_external, read_hypotheses
from keras_bahdanau.distillation.teacher import Teacher, teacher_hypotheses
from keras_bahdanau.models.losses import guided_alignment
from keras_bahdanau.pipelines import ensemble
from keras_bahdanau.pipelines.tasks import load_pipeline
from keras_bahdanau.sources import FeatureSource
from keras_bahdanau.sources.text_source import source_of
from keras_bahdanau.text.subwords import Subwords
from keras_bahdanau.text.word_weights import format_weights, parse_weights
from keras_bahdanau.training import Run, TrainingOptions
from keras_bahdanau.training.data import Sides
from keras_bahdanau.training.plan import check_new_model

EXAMPLES = Path(__file__).parents[2] / "examples"
PAIRS = toy_pairs()
WRONG = [(source, "falsch") for source, _ in PAIRS]
SMALL = TrainingOptions(
    vocabulary_size=48,
    embedding_units=24,
    units=48,
    attention_units=24,
    dropout=0.0,
    label_smoothing=0.0,
    learning_rate=1e-2,
    batch_tokens=512,
    epochs=25,
    patience=25,
)


def hypotheses(*texts):
    """Return a list of `Hypothesis` with the scores -1, -2, ..."""
    return [Hypothesis(text, -float(rank)) for rank, text in enumerate(texts, start=1)]


def kept(pairs, found, source=None, **settings):
    """Return ((pair number, text) of each kept hypothesis, counts of dropped hypotheses)."""
    rows, report = choose_hypotheses(
        pairs, found, Distillation(**settings), source, say=lambda line: None
    )
    dropped = {name: count for name, count in report.dropped.items() if count}
    return [(row.pair, row.hypothesis.text) for row in rows], dropped


def test_the_closeness_is_that_of_sacrebleu_and_of_a_count_by_hand():
    # One of two letters and no pair of letters match: the mean of 1/2 and 0.
    assert sentence_closeness("chrf", ["ab", "ac", "xy"], "ac") == pytest.approx([25, 100, 0])
    # 2 of 3 words, 1 of 2 pairs and 0 of 1 triples match; the last is smoothed to 1/2.
    expected = 100 * (2 / 3 * 1 / 2 * 1 / 2) ** (1 / 3)
    assert sentence_closeness("bleu", ["a b x", "a b c"], "a b c") == pytest.approx([expected, 100])


def test_of_the_hypotheses_of_a_source_the_closest_the_best_or_all_are_kept():
    pairs = [("one", "ac"), ("two", "zwei")]
    found = [hypotheses("ab", "ac", "xy"), hypotheses("drei", "zwo")]
    assert kept(pairs, iter(found), n_best=3)[0] == [(0, "ac"), (1, "zwo")]
    assert kept(pairs, found, n_best=3, choose="best")[0] == [(0, "ab"), (1, "drei")]
    texts = [(0, "ab"), (0, "ac"), (0, "xy"), (1, "drei"), (1, "zwo")]
    assert kept(pairs, found, n_best=3, choose="all")[0] == texts


def test_the_closest_is_kept_of_a_file_with_several_though_n_best_is_left_out():
    pairs = [("one", "ac"), ("two", "zwei")]
    found = [hypotheses("ab", "ac"), hypotheses("zwei")]
    assert kept(pairs, found)[0] == [(0, "ac"), (1, "zwei")]
    rows, _ = choose_hypotheses(
        pairs, found[1:] * 2, Distillation(), say=print
    )  # no hypotheses to choose from
    assert all(math.isnan(row.closeness) for row in rows)


def test_of_hypotheses_that_are_as_close_the_first_of_the_best_score_is_kept():
    found = [[Hypothesis("ab", -2.0), Hypothesis("ax", -1.0), Hypothesis("ay", -1.0)]]
    assert kept([("one", "ac")], found, n_best=3)[0] == [(0, "ax")]
    unscored = [[Hypothesis("ab", math.nan), Hypothesis("ax", math.nan)]]
    assert kept([("one", "ac")], unscored, n_best=2)[0] == [(0, "ab")]


def test_a_hypothesis_without_an_end_is_kept_only_to_be_counted():
    open_end = Hypothesis("ac", -0.5, "unfinished")
    found = [[open_end, Hypothesis("ab", -1.0)], [open_end], [Hypothesis("ac", -1.0, "cut")]]
    pairs = [("one", "ac"), ("two", "ac"), ("three", "ac")]
    texts, dropped = kept(pairs, found, n_best=2)
    assert (texts, dropped) == ([(0, "ab")], {"unfinished": 1, "cut": 1})


def test_an_unknown_token_of_the_teacher_teaches_nothing():
    pairs = [("one", "ein Mann"), ("two", "zwei ⁇")]
    found = [hypotheses("ein ⁇"), hypotheses("zwei ⁇")]
    assert kept(pairs, found) == ([(1, "zwei ⁇")], {"unknown": 1})


def test_filters_count_each_pair_once_for_the_first_that_drops_it():
    pairs = [("one", "eins")] * 2 + [
        ("two", "zwei"),
        ("three", "drei"),
        ("four", "vier"),
        ("x", ""),
    ]
    found = [hypotheses("eins"), hypotheses("eins"), hypotheses(""), hypotheses("drei" * 9)]
    found += [[Hypothesis("vier", -3.0)], [Hypothesis("x", -9.0)]]
    texts, dropped = kept(pairs, found)
    assert (texts, dropped) == (
        [(0, "eins"), (3, "drei" * 9), (4, "vier")],
        {"empty": 1, "copy": 1, "duplicate": 1},
    )
    texts, dropped = kept(pairs, found, min_score=-2.0, max_ratio=3, drop_duplicates=False)
    assert (texts, dropped) == (
        [(0, "eins"), (1, "eins")],
        {"empty": 1, "copy": 1, "ratio": 1, "score": 1},
    )


def test_the_report_counts_hypotheses_and_numbers_their_pairs():
    pairs = [("one", "eins"), ("two", "zwei")]
    found = [hypotheses("eins", "ein"), hypotheses("zwei", "")]
    _, report = choose_hypotheses(pairs, found, Distillation(n_best=2, choose="all"), say=print)
    assert report.text().splitlines() == [
        "4 hypotheses read, 3 kept (75.0%)",
        "  empty                  1 dropped",
        "    pair 2: 'two' | ''",
    ]
    assert report.record()["hypotheses"] == 4


def test_the_worst_are_a_share_of_what_no_other_filter_drops():
    pairs = [(f"s{number}", f"t{number}") for number in range(5)]
    scores = [-1.0, -4.0, -2.0, -3.0, -9.0]
    found = [[Hypothesis(f"t{number}", score)] for number, score in enumerate(scores)]
    found[4] = [Hypothesis("", -9.0)]
    texts, dropped = kept(pairs, found, drop_worst=0.5)
    assert (texts, dropped) == ([(0, "t0"), (2, "t2")], {"empty": 1, "worst": 2})


def test_what_is_far_from_the_true_target_is_dropped():
    pairs, found = [("one", "ac"), ("two", "ac")], [hypotheses("ab"), hypotheses("xy")]
    assert kept(pairs, found, min_closeness=25) == ([(0, "ab")], {"closeness": 1})


def test_sources_that_are_no_text_are_filtered_by_their_texts_alone():
    source = FeatureSource(4)
    pairs = [(np.zeros((3, 4), np.float32), "a"), (np.ones((3, 4), np.float32), "b")]
    found = [hypotheses("a"), hypotheses("")]
    assert kept(pairs, found, source=source) == ([(0, "a")], {"empty": 1})


def test_a_file_of_hypotheses_has_lines_or_an_n_best_list(tmp_path):
    path = tmp_path / "hyp"
    path.write_text("a\n\nb\nc\n")
    texts = [[one.text for one in several] for several in read_external(path, 2, n_best=2)]
    assert texts == [["a", ""], ["b", "c"]]
    path.write_text("1 ||| b ||| -2.5\n0 ||| a x ||| F= 1 ||| -1\n1 ||| c ||| 0-0 1-1\n")
    (first,), (second, third) = read_external(path, 2)
    assert (first, second) == (Hypothesis("a x", -1.0), Hypothesis("b", -2.5))
    assert third.text == "c" and math.isnan(third.score)
    for content, received in (
        ("a\nb\nc\n", "3 lines, n_best=1"),
        ("0 ||| a\n2 ||| b\n", "to 2, 2"),
    ):
        path.write_text(content)
        with pytest.raises(ValueError, match=f"Received: hypotheses='{path}' with .*{received}"):
            read_external(path, 2)


def test_a_list_may_have_spaces_empty_texts_and_alignments(tmp_path):
    path = tmp_path / "list"
    for line, text, score in (
        ("0 |||", "", math.nan),
        ("0 |||  ||| F0= -1 2 ||| -1.5", "", -1.5),
        ("0 ||| ||| F0= -1 ||| -1.5", "", -1.5),
        (" 0 ||| a b ||| -2 ", "a b", -2.0),
        ("0 ||| a  ||| F0= -1 ||| -1.5 ||| 0-0 1-1", "a ", -1.5),
        ("0 ||| a|||b ||| c", "a|||b", math.nan),
        ("0 ||| a", "a", math.nan),
    ):
        path.write_text(f"{line}\n1 ||| x ||| -1\n")
        (found,), _ = read_external(path, 2)
        assert (found.text, str(found.score)) == (text, str(score)), line


def test_a_line_that_is_none_of_the_list_is_named(tmp_path):
    path = tmp_path / "list"
    path.write_text("0 ||| ein Mann ||| -0.1\n1 || zwei\n2 ||| drei ||| -0.3\n\n")
    with pytest.raises(ValueError, match=f"='{path}' with line 2, '1 .. zwei', and 2 lines"):
        read_external(path, 4)


def test_the_table_has_a_line_for_each_model():
    rows = [Row("teacher", {"BLEU": 35.84}, 5_200_000, 20_000_000, 98.21)]
    rows.append(Row("student", {"BLEU": 34.1}, 900_000, 3_600_000, 1400.0))
    assert table_of(rows, "sentences") == [
        "         BLEU  parameters    MB  sentences/s",
        "teacher  35.8   5,200,000  20.0         98.2",
        "student  34.1     900,000   3.6      1,400.0",
    ]


def test_a_damaged_file_of_hypotheses_is_reported(tmp_path):
    path = tmp_path / "hypotheses.tsv"
    whole = "1\t-1\twhole\ta\n1\t-2\twhole\tb\n2\tnan\tcut\t\n"
    path.write_text(whole)
    assert [len(several) for several in read_hypotheses(path, 2)] == [2, 1]
    first, _, third = whole.splitlines()
    for lines in (["1\t-1\twhole"], [first], [first, "9" + third[1:]], [third, first], ["1"] * 2):
        path.write_text("\n".join([*lines, ""]))
        with pytest.raises(ValueError, match="Received: path=.*hypotheses.tsv', which is damaged"):
            list(read_hypotheses(path, 2))


def test_a_temperature_of_corpora_is_refused_before_the_teacher_translates(tmp_path):
    options = dataclasses.replace(SMALL, temperature=1.5)
    with pytest.raises(ValueError, match="`temperature` is for several corpora; sampling uses"):
        distill(PAIRS[:4], PAIRS, tmp_path / "student", hypotheses="list", options=options)
    assert not (tmp_path / "student").exists()


def test_sizes_of_vocabularies_are_refused_where_those_of_the_teacher_are_taken(teacher, tmp_path):
    settings = Distillation(vocabulary="teacher")
    # The teacher's vocabularies have 48 words.
    for name, value in {"vocabulary_size": 30, "model_type": "char"}.items():
        options = dataclasses.replace(SMALL, **{name: value})
        with pytest.raises(ValueError, match=f"from the pairs. Received: {name}={value!r} with"):
            distill(PAIRS, PAIRS, tmp_path / "out", teacher, options, settings)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "asked, message",
    [
        ({"attention": "own>Typo"}, "unknown class 'own>Typo'. Import its module first"),
        ({"convolutions": "3,3"}, "Convolutions and random changes"),
        ({"unknown_rate": 0.1}, "Received: unknown_rate=0.1 with 'bpe' and 'bpe'"),
    ],
)
def test_a_student_that_cannot_be_made_is_refused_before_the_teacher_translates(
    teacher, tmp_path, asked, message
):
    options = dataclasses.replace(SMALL, **asked)
    with pytest.raises(ValueError, match=message):
        distill(PAIRS, PAIRS, tmp_path / "out", teacher, options)
    assert not (tmp_path / "out").exists()


@pytest.mark.few(1)
@pytest.mark.parametrize("vocabulary", ["student", "teacher"])
@pytest.mark.parametrize("preset", ["characters", "ssru-student"])
def test_a_student_that_can_be_made_is_not_refused(toy_translator, preset, vocabulary):
    sides = (None, None)
    if vocabulary == "teacher":
        sides = source_of(toy_translator.source), toy_translator.target
    check_new_model(TrainingOptions(preset=preset), Sides(*sides))


def test_other_filters_are_refused_before_files_of_the_student_are_overwritten(tmp_path):
    pairs, run = [("one", "eins"), ("two", "zwei")], Run(tmp_path / "student")
    (tmp_path / "list").write_text("0 ||| eins ||| -0.1\n1 ||| zwei ||| -2\n")
    begin(run, SMALL, pairs, PAIRS)
    run.distilled.mkdir()
    names = ("source.txt", "target.txt", "scores.txt", "report.json")
    for name in names:
        (run.distilled / name).write_text("of the student\n")
    settings = Distillation(min_score=-1.0)
    given = {"settings": settings, "hypotheses": tmp_path / "list", "say": lambda line: None}
    with pytest.raises(ValueError, match="A run resumes with the data it began with"):
        distill(pairs, PAIRS, run.directory, options=SMALL, **given)
    assert {(run.distilled / name).read_text() for name in names} == {"of the student\n"}
    assert len([*run.distilled.iterdir()]) == len(names)


def test_weights_of_words_are_read_as_they_were_written_or_not_at_all():
    weights = np.array([[0.875, 0.125, 0], [0, 0, 0]])
    np.testing.assert_array_equal(parse_weights(format_weights(weights)), weights)
    for line in ("0-0:1 x", "1-1:1.0 0-0:1.0", "99999-99999:1.0"):
        with pytest.raises(ValueError, match=f"Received: line='{line}'"):
            parse_weights(line)


def test_the_loss_of_guided_attention_is_the_cross_entropy_of_the_teachers_weights(toy_translator):
    random = np.random.default_rng(0)
    pairs = [("one two", "eins zwei"), ("three", "drei")]
    given = [random.dirichlet(np.ones(3), 3), random.dirichlet(np.ones(2), 2)]  # with end tokens
    source, target = toy_translator.source, toy_translator.target
    sides = (pairs, source, target, 64)
    batches = BatchedPairs(*sides, alignments=given, shuffle=False, buckets=1)
    ((_, _, alignment), target_out, _), *_ = batches.arrays(0)
    student = random.dirichlet(np.ones(alignment.shape[2]), alignment.shape[:2])
    losses = []
    for row, (pair, weights) in enumerate(zip(pairs, given, strict=True)):
        (source_words,), (target_words,) = source.words([pair[0]]), target.words([pair[1]])
        for place, word in enumerate(target_words[:, 0]):
            shared = np.array(
                [
                    weights[word, one] / np.sum(source_words[:, 0] == one)
                    for one in source_words[:, 0]
                ]
            )
            losses.append(-np.sum(shared * np.log(student[row, place, : len(shared)])))
    assert target_out.shape[1] > 3  # some words have several tokens
    loss = guided_alignment(alignment, student.astype("float32"))
    np.testing.assert_allclose(loss, np.mean(losses), rtol=1e-5)
    with pytest.raises(ValueError, match=r"alignments\[1\]` must have a row .* \(2, 2\). Rec"):
        BatchedPairs(*sides, alignments=[given[0], given[0]])


@pytest.fixture(scope="module")
def teacher(toy_translator, tmp_path_factory):
    path = tmp_path_factory.mktemp("teacher") / "toy.keras"
    toy_translator.save(path)
    return path


def lines_of(path):
    return path.read_text().split("\n")[:-1]


@pytest.mark.slow
def test_a_student_learns_the_mapping_of_its_teacher_though_the_references_are_wrong(
    teacher, tmp_path
):
    lines, out = [], tmp_path / "student"
    settings = Distillation(n_best=2, choose="best", vocabulary="teacher", beam_width=3)
    given = {"options": SMALL, "settings": settings, "baseline": teacher, "say": lines.append}
    path = distill(WRONG, PAIRS[::5], out, teacher, verbose=0, **given)
    student = load_pipeline(path)
    assert student.target == load_pipeline(teacher).target
    assert Run(out).options().target_model_type == student.target.model_type
    texts = [one.text for one in student.translate([source for source, _ in PAIRS])]
    assert np.mean([text == target for text, (_, target) in zip(texts, PAIRS, strict=True)]) > 0.95
    written = out / "distilled"
    sides = (lines_of(written / f"{side}.txt") for side in ("source", "target"))
    taught_pairs = [*zip(*sides, strict=True)]
    report = json.loads((written / "report.json").read_text())
    assert len(taught_pairs) == report["kept"] == len(lines_of(written / "scores.txt"))
    assert np.mean([pair in PAIRS for pair in taught_pairs]) > 0.95
    heading, *rows = lines[-1].split("\n")
    assert heading.split() == ["BLEU", "chrF", "parameters", "MB", "sentences/s"]
    assert [row.split()[0] for row in rows] == ["teacher", "undistilled", "student"]
    again = distill(WRONG, PAIRS[::5], out, teacher, verbose=0, **given)  # computes only the table
    assert again == path and "the training of the student has already ended" in lines[-4:]


@pytest.mark.slow
def test_the_command_teaches_what_a_file_of_hypotheses_says_without_its_worst(tmp_path, capsys):
    """Every sixth text in the file is nonsense with a low score, and the references are wrong."""
    texts = [target for _, target in PAIRS]
    texts[5::6] = ["unsinn"] * 25  # for arbitrary sources
    lines = {
        "hypotheses": [
            f"{number} ||| {text} ||| {-9 if text == 'unsinn' else -1}"
            for number, text in enumerate(texts)
        ],
        "train.tsv": ["\t".join(pair) for pair in WRONG],
        "valid.tsv": ["\t".join(pair) for pair in PAIRS[::5]],
    }
    for name, rows in lines.items():
        (tmp_path / name).write_text("\n".join([*rows, ""]), "utf-8")
    out, train, valid = (tmp_path / name for name in ("student", "train.tsv", "valid.tsv"))
    given = {name: value for name, value in dataclasses.asdict(SMALL).items() if value is not None}
    options = [word for name in given for word in (f"--{name.replace('_', '-')}", given[name])]
    options += ["--hypotheses", tmp_path / "hypotheses", "--drop-worst", 25.5 / 155]
    with pytest.raises(SystemExit) as ended:
        cli.main([*map(str, ["distill", train, "--valid-source", valid, "--out", out, *options])])
    printed = capsys.readouterr()
    assert ended.value.code == 0, printed.err
    report = json.loads((out / "distilled" / "report.json").read_text())
    assert (report["dropped"]["worst"], report["kept"]) == (25, 130)
    sides = (lines_of(out / "distilled" / f"{side}.txt") for side in ("source", "target"))
    assert [*zip(*sides, strict=True)] == [
        pair for pair, text in zip(PAIRS, texts, strict=True) if text != "unsinn"
    ]
    student = load_pipeline(out / "translator.keras")
    found = [one.text for one in student.translate([source for source, _ in PAIRS])]
    assert np.mean([text == true for text, (_, true) in zip(found, PAIRS, strict=True)]) > 0.7
    assert not {"unsinn", "falsch"} & {*" ".join(found).split()}
    heading, row = printed.out.splitlines()[-3:-1]  # no row for a teacher
    assert heading.split()[0] == "BLEU" and row.split()[0] == "student"


@pytest.mark.parametrize(
    "teacher, baseline, message",
    [
        (
            ["pronounce/models/ice", "inflect/models/turkish-medium"],
            None,
            "translator 2 with vocabularies that differ from",
        ),
        (["pronounce/models/ice"], "captions", "of ['ImageSource'], with teacher=['"),
    ],
)
def test_models_that_do_not_go_together_leave_no_directory(tmp_path, teacher, baseline, message):
    """Once created, a directory can be resumed only with its own teacher."""
    teacher = [EXAMPLES / f"{name}.keras" for name in teacher]
    baseline = baseline and EXAMPLES / "captions" / "models" / f"{baseline}.keras"
    with pytest.raises(ValueError, match=re.escape(message)):
        distill(PAIRS, PAIRS, tmp_path / "new", teacher, baseline=baseline)
    assert not (tmp_path / "new").exists()


def test_a_run_of_train_is_refused_before_the_teacher_translates(tmp_path):
    run = Run(tmp_path / "run")
    begin(run, SMALL, PAIRS)
    before = sorted(path.name for path in run.directory.iterdir())
    with pytest.raises(FileExistsError, match="only in a directory of a distillation. Received: "):
        distill(PAIRS, PAIRS, run.directory, EXAMPLES / "pronounce" / "models" / "ice.keras")
    assert sorted(path.name for path in run.directory.iterdir()) == before


def test_a_baseline_that_reads_other_inputs_is_refused_before_the_training(tmp_path):
    given = tmp_path / "hypotheses.txt"
    given.write_text("".join(f"{target}\n" for _, target in PAIRS))
    images = EXAMPLES / "captions" / "models" / "captions.keras"
    with pytest.raises(TypeError, match="valid_pairs"):
        distill(PAIRS, PAIRS, tmp_path / "new", hypotheses=given, baseline=images)
    assert not (tmp_path / "new").exists()


@pytest.mark.slow
@pytest.mark.parametrize("place", ["first", "last"])
def test_a_student_with_a_vocabulary_finds_where_its_features_stand(tmp_path, place):
    pairs = [(f"<V> {one}" if place == "first" else f"{one} <V>", text) for one, text in PAIRS]
    (tmp_path / "texts").write_text("".join(f"{text}\n" for _, text in pairs))
    options = dataclasses.replace(SMALL, units=8, embedding_units=8, attention_units=8, epochs=1)
    source = Subwords.train([one for one, _ in pairs], 48, exact=False, symbols=["<V>"])
    given = {"hypotheses": tmp_path / "texts", "source": source, "verbose": 0}
    path = distill(pairs, pairs[:4], tmp_path / "out", options=options, **given)
    assert load_pipeline(path).source.feature_place == place


@pytest.mark.slow
def test_an_ensemble_teaches_what_it_translates_in_two_processes(teacher, tmp_path):
    other = tmp_path / "other.keras"
    shutil.copy(teacher, other)
    settings, inputs = Distillation(batch_size=4), [source for source, _ in PAIRS[:70]]
    one = Teacher((teacher, other), settings)
    directory = tmp_path / "distilled"
    directory.mkdir()
    loaded = tmp_path / "loaded"
    one = one._replace(load=Noting(loaded))
    found = [*teacher_hypotheses(one, inputs, directory, workers=2, say=lambda line: None)]
    # Three pieces: each process loads TensorFlow and the models only once.
    assert 1 <= len(loaded.read_text()) <= 2
    expected = ensemble([teacher, other]).translate(inputs, batch_size=4)
    assert [best.text for (best,) in found] == [best.text for best in expected]
    assert [best.score for (best,) in found] == pytest.approx(
        [best.score for best in expected], abs=1e-4
    )
    assert not (directory / "pieces").exists()
    with pytest.raises(ValueError, match="Received: arguments that differ from .*: teacher. "):
        teacher_hypotheses(Teacher((teacher,), settings), inputs, directory)


@pytest.mark.slow
def test_a_student_is_guided_and_sees_true_targets_as_it_is_asked(teacher, tmp_path):
    small = {"vocabulary_size": 48, "embedding_units": 16, "units": 16, "depth": 1, "epochs": 1}
    guided = TrainingOptions(preset="ssru-student", guided_alignment=1.0, **small)
    quiet = {"verbose": 0, "say": lambda line: None}
    path = distill(WRONG, PAIRS[::5], tmp_path / "guided", teacher, guided, **quiet)
    attention = lines_of(path.parent / "distilled" / "attention.txt")
    assert len(attention) == len(lines_of(path.parent / "distilled" / "target.txt"))
    assert attention[-1].split()[-1].startswith("3-3:")  # the end tokens of three words
    mixed = dataclasses.replace(SMALL, epochs=1)
    path = distill(
        WRONG, PAIRS[::5], tmp_path / "mixed", teacher, mixed, Distillation(mix=0.25), **quiet
    )
    corpora = json.loads((path.parent / "run.json").read_text())["data"]["corpora"]
    assert [(one["name"], one["weight"]) for one in corpora] == [
        ("distilled", 0.75),
        ("true", 0.25),
    ]


@pytest.mark.slow
def test_a_reader_of_files_teaches_one_with_its_own_source(toy_source, tmp_path):
    from toy_sources import NUMBERS, write_manifest

    from keras_bahdanau.data import read_manifest

    write_manifest("images", NUMBERS, tmp_path)
    pairs, teacher = read_manifest(tmp_path / "list.tsv"), toy_source("images")
    options = TrainingOptions(
        preset="images", units=8, embedding_units=8, epochs=1, batch_tokens=500
    )
    path = distill(pairs, pairs[:4], tmp_path / "out", teacher, options, verbose=0)
    assert load_pipeline(path).source == load_pipeline(teacher).source
    manifest = read_manifest(path.parent / "distilled" / "manifest.tsv")
    assert {one.resolve() for one, _ in manifest} <= {one.resolve() for one, _ in pairs}
    with pytest.raises(ValueError, match="for the teacher, and TextSource"):
        source = load_pipeline(teacher).target
        distill(pairs, pairs[:4], tmp_path / "other", teacher, options, source=source)


PROGRAM = """
import json, sys
from keras_bahdanau.distillation import Distillation, distill
from keras_bahdanau.training import TrainingOptions

if __name__ == "__main__":
    out, teacher, pairs, options, settings = json.loads(sys.argv[1])
    options, settings = TrainingOptions(**options), Distillation(**settings)
    distill(pairs, pairs[::5], out, teacher, options, settings, workers=2, verbose=0)
"""


@pytest.mark.slow
def test_a_distillation_that_was_killed_twice_ends_as_one_that_was_not(teacher, tmp_path):
    options = {"vocabulary_size": 48, "embedding_units": 8, "units": 8, "attention_units": 8}
    options |= {"epochs": 3, "batch_tokens": 200, "checkpoint_steps": 2, "seed": 3}
    settings = {"n_best": 2, "sample": True, "choose": "all", "batch_size": 1, "drop_copies": False}
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)

    def begin(out):
        given = json.dumps([str(out), str(teacher), PAIRS, options, settings])
        return subprocess.Popen(
            [sys.executable, program, given], env={**os.environ, "PYTHONPATH": str(ROOT)}
        )

    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    assert begin(undisturbed).wait() == 0
    for sign in ("distilled/pieces/000001.tsv", "checkpoint.weights.h5"):
        process = begin(killed)
        while not (killed / sign).is_file():
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        assert not (killed / "distilled" / "comparison.json").exists()
    assert begin(killed).wait() == 0
    for name in ("hypotheses.tsv", "source.txt", "target.txt", "scores.txt", "report.json"):
        one, other = (out / "distilled" / name for out in (undisturbed, killed))
        assert one.read_bytes() == other.read_bytes(), name
    assert not (killed / "distilled" / "pieces").exists()
    weights = [load_pipeline(out / "translator.keras") for out in (undisturbed, killed)]
    for one, other in zip(*(one.model.get_weights() for one in weights), strict=True):
        np.testing.assert_array_equal(one, other)


ROOT = Path(__file__).parents[2]
