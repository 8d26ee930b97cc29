"""Several corpora on the command line: their options, their files, and a model with tags."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from conftest import toy_pairs

from keras_bahdanau import cli, training
from keras_bahdanau.cli.corpus_files import CorpusOption, hold_out, parsed_corpus
from keras_bahdanau.cli.training_files import held_out
from keras_bahdanau.data.corpora import Corpora, Corpus

SETTINGS = (
    "--model-type word --embedding-units 24 --units 48 --attention-units 24 --dropout 0 "
    "--label-smoothing 0 --learning-rate 0.006 --ema-momentum 0.9 --batch-sentences 16 "
    "--query state,task --checkpoint-steps 1000 --epochs 11"
)


@pytest.fixture
def command(capsys):
    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            cli.main([*map(str, arguments)])
        out, err = capsys.readouterr()
        return ended.value.code, out, err

    return run


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Toy sentences with German translations, and, as a TSV file, with the letters reversed."""
    monkeypatch.chdir(tmp_path)
    pairs = toy_pairs()
    backwards = [(source, " ".join(word[::-1] for word in source.split())) for source, _ in pairs]
    for side, name in enumerate(("good.en", "good.de")):
        Path(name).write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8")
    Path("back.tsv").write_text("".join(f"{pair[0]}\t{pair[1]}\n" for pair in backwards))
    return pairs, backwards


@pytest.mark.parametrize(
    "text, expected",
    [
        ("a=x.tsv", CorpusOption("a", (Path("x.tsv"),))),
        ("a=x.en,x.de", CorpusOption("a", (Path("x.en"), Path("x.de")))),
        ("a=x.tsv:0.25", CorpusOption("a", (Path("x.tsv"),), 0.25)),
        ("a=x.tsv:2:<2de>", CorpusOption("a", (Path("x.tsv"),), 2.0, "<2de>")),
        ("a=x.tsv::<2de>", CorpusOption("a", (Path("x.tsv"),), None, "<2de>")),
        ("a=b=x.tsv", CorpusOption("a", (Path("b=x.tsv"),))),
        (
            r"a=C:\x.en,D:/x.de:2:<2de>",
            CorpusOption("a", (Path(r"C:\x.en"), Path("D:/x.de")), 2.0, "<2de>"),
        ),
    ],
)
def test_a_corpus_is_name_files_weight_and_tag(text, expected):
    assert parsed_corpus(text) == expected


DE, BACK = "de=good.en,good.de", "back=back.tsv"
BAD = {
    "--corpus good.en": "Received: corpus='good.en'",
    "--corpus =good.en": "Received: corpus='=good.en'",
    "--corpus de=": "Received: corpus='de='",
    "--corpus de=a,b,c": "one path, or two separated by a comma. Received: corpus='de=a,b,c'",
    "--corpus de=a:1:<2de>:x": "must be NAME=FILES:WEIGHT:TAG",
    f"--corpus {DE}:<2de>": "weight='<2de>' in 'de=good.en,good.de:<2de>'. To weight",
    f"--corpus {DE}:70%": "must be a number. Received: weight='70%'",
    f"--corpus {DE}:-1": "`weight` must be a number in (0, 1000000]. Received: weight=-1.0",
    f"--corpus {DE}:0": "Received: weight=0.0",
    f"--corpus {DE}:nan": "Received: weight=nan",
    f"--corpus {DE}::<s>": "Received: tag='<s>' for the corpus 'de'",
    f"--corpus {DE}:1 --corpus {BACK}": "no weight for corpus 'back'",
    f"--corpus {DE} --corpus de=back.tsv": "name='de' twice",
    f"--corpus {DE} --valid-corpus fr=back.tsv": "name='fr'. Choose from de.",
    f"--corpus {DE} --valid-corpus {DE}:2": "--valid-corpus must be NAME=FILES,",
    f"--corpus {DE} --valid-corpus {DE} --valid-source good.en": "valid_source='good.en' with",
    f"--corpus {DE} --valid-corpus {DE} --valid-target good.de": "valid_target='good.de' with",
    f"--corpus {DE} --alignments good.de": "alignments='good.de' with corpora",
    f"good.en good.de --corpus {DE}": "source='good.en' with corpora",
    f"good.en good.de --valid-corpus {DE}": "--valid-corpus needs --corpus",
    "": "Received: neither",
    f"--corpus {DE}::<2de> --valid-source good.en --valid-target good.de": (
        "path='good.en', where line 1 begins with 'one'"
    ),
    f"--corpus {DE}:1 --temperature 5": "temperature=5.0, with corpora with weights",
    "good.en good.de --temperature 5": "temperature=5.0, with one list of pairs",
    f"--corpus {DE} --temperature 0.5": "`temperature` must be a number in [1, 1000]",
}


@pytest.mark.parametrize("arguments", BAD)
def test_a_wrong_corpus_gets_one_clear_line(command, files, arguments):
    code, _, err = command("train", *arguments.split(), "--out", "new")
    assert code == 2
    assert err.startswith("keras-bahdanau: ") and err.count("\n") == 1
    assert BAD[arguments] in err
    assert not Path("new").exists()


def test_any_text_is_a_corpus_or_one_line_of_error():
    random, refused = np.random.default_rng(0), 0
    for length in random.integers(0, 12, 300):
        text = "".join(random.choice(list("=,:<>.-1ena \n\udcff\u2581"), length))
        try:
            given = parsed_corpus(text)
            assert given.name and 1 <= len(given.files) <= 2 and (given.weight or 1) > 0
        except ValueError as error:
            assert "Received: " in str(error) and "\n" not in str(error)
            refused += 1
    assert 0 < refused < 300


@pytest.fixture
def trained(monkeypatch):
    """The positional arguments that the command passes to `train`, which is replaced."""
    given = []
    monkeypatch.setattr(
        training, "train", lambda *positional, **named: given.append(positional) or "nothing"
    )
    return given


def test_each_corpus_has_its_own_validation_and_its_tag(command, files, trained):
    toy, backwards = files
    tagged = ("--corpus", f"{DE}:3:<2de>", "--corpus", f"{BACK}:1:<2back>")
    code, out, _ = command("train", *tagged, "--valid-corpus", BACK, "--out", "new")
    ((data, valid, *_),) = trained
    assert code == 0 and "held out" not in out
    assert (data.weights, data.tags) == ((3.0, 1.0), ("<2de>", "<2back>"))
    assert [*data][:1] + [*data][-1:] == [
        ("<2de> one", "eins"),
        ("<2back> five five five", "evif evif evif"),
    ]
    assert [*valid] == [(f"<2back> {source}", target) for source, target in backwards]


def test_pairs_of_each_corpus_are_held_out(command, files, trained):
    toy, backwards = files
    code, out, _ = command("train", "--corpus", DE, "--corpus", f"{BACK}::<2back>", "--out", "new")
    ((data, valid, *_),) = trained
    chosen = toy[::50]
    assert code == 0 and f"{2 * len(chosen)} pairs are held out" in out
    assert data.weights is None
    assert valid.parts()[0] == chosen
    assert valid.parts()[1] == [(f"<2back> {source}", text) for source, text in backwards[::50]]
    assert sorted(itertools.chain(data.parts()[0], chosen)) == sorted(toy)


def corpora_of(**pairs):
    return Corpora([Corpus(name, one) for name, one in pairs.items()])


def test_no_corpus_trains_on_a_source_that_is_held_out_of_another():
    true = [(f"source {i}", f"true {i}") for i in range(1000)]
    again = [(f"source {i}", f"again {i}") for i in range(1200) if i % 7]
    more = [(f"source {i}", text) for i in range(1300, 900, -1) for text in ("a", "b")]
    training, valid = hold_out(corpora_of(true=true, again=again, more=more), held_out)
    assert not {source for source, _ in training} & {source for source, _ in valid}
    assert sorted([*training, *valid]) == sorted(true + again + more)
    for part, whole in zip(valid.parts(), (true, again, more), strict=True):
        assert 0.015 < len(part) / len(whole) < 0.025


def test_a_small_corpus_has_validation_pairs_and_those_to_train_on():
    true = [(f"source {i}", f"true {i}") for i in range(100)]
    empty = [("source 7", ""), ("source 8", "again"), ("source 7", "again")]
    training, valid = hold_out(corpora_of(true=true, few=empty), held_out)
    assert [*map(list, valid.parts())] == [[true[0], true[8], true[50]], [empty[1]]]
    assert list(training.parts()[1]) == [empty[0], empty[2]]
    both = [("source 0", "a"), ("source 50", "b")]
    with pytest.raises(ValueError, match="corpus 'few' with 2 pairs, all held out. Add pairs"):
        hold_out(corpora_of(true=true, few=both), held_out)


def test_one_validation_file_serves_all(command, files, trained):
    Path("valid.tsv").write_text("<2de> one\teins\n")
    code, *_ = command(
        *("train", "--corpus", f"{DE}::<2de>", "--valid-source", "valid.tsv", "--out", "new")
    )
    ((_, valid, *_),) = trained
    assert (code, valid) == (0, [("<2de> one", "eins")])


@pytest.mark.slow
def test_one_model_translates_into_two_languages_by_their_tags(command, files):
    toy, backwards = files
    given = ("--corpus", f"{DE}::<2de>", "--corpus", f"{BACK}::<2back>", "--temperature", "2")
    code, _, err = command("train", *given, "--out", "run", *SETTINGS.split())
    assert code == 0, err
    sources = [source for source, _ in toy]
    for name, tag, expected in (("de", "<2de>", toy), ("back", "<2back>", backwards)):
        _, out, _ = command("translate", "good.en", "--model", "run", "--tag", tag)
        right = sum(
            line == text for line, (_, text) in zip(out.splitlines(), expected, strict=True)
        )
        assert right > 0.9 * len(sources), name
        Path("tagged.en").write_text("".join(f"{tag} {source}\n" for source in sources))
        assert command("translate", "tagged.en", "--model", "run")[1] == out
        target = ("good.en", "good.de") if name == "de" else ("back.tsv",)
        _, report, err = command(
            *("evaluate", *target, "--model", "run", "--tag", tag, "--metrics", "exact")
        )
        assert float(report.split()[1]) > 90, (report, err)
    links = ("--model", "run", "--alignment", "--max-length", "4")
    _, plain, _ = command("translate", "tagged.en", *links)
    _, out, _ = command("translate", "good.en", *links, "--tag", "<2back>")
    # The links count the sentence's own words; the tag shifts them by one.
    for line, other in zip(out.splitlines(), plain.splitlines(), strict=True):
        own = [link.split("-") for link in line.split(" ||| ")[1].split()]
        moved = [link.split("-") for link in other.split(" ||| ")[1].split()]
        assert own == [[str(int(i) - 1), j] for i, j in moved if i != "0"]
    # The model's own links serve as the gold standard.
    links = [line.split(" ||| ")[1] for line in out.splitlines()]
    texts = [line.split(" ||| ")[0] for line in out.splitlines()]
    Path("gold").write_text("".join(f"{line}\n" for line in links))
    Path("own.de").write_text("".join(f"{line}\n" for line in texts))
    judged = ("evaluate", "good.en", "own.de", "--model", "run", "--tag", "<2back>")
    code, *_ = command(*judged, "--alignments", "gold", "--json", "aer.json", "--max-length", "4")
    assert code == 0 and json.loads(Path("aer.json").read_text())["alignment_error_rate"] < 0.01
    code, out, err = command("translate", "good.en", "--model", "run", "--tag", "<2fr>")
    assert (code, out) == (2, "") and "tag='<2fr>', which is unknown there" in err
