"""The Hindi example: from files of pairs to scores, placeholders, and images with Devanagari."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import keras_bahdanau as kb

FOLDER = Path(__file__).parents[2] / "examples" / "hindi"
NAMES = {"राम": "Ram", "सीता": "Sita", "मोहन": "Mohan", "गीता": "Gita", "रवि": "Ravi"}
PHRASES = {
    "{} घर पर है।": "{} is at home.",
    "{} कहाँ है?": "Where is {}?",
    "क्या {} यहाँ है?": "Is {} here?",
    "{} को %1$s पसंद है।": "{} likes %1$s.",
}
NO_FONT = (  # without a Devanagari font, the image shows boxes and a warning is given
    "ignore:No installed font",
    "ignore:Glyph",
    "ignore:Matplotlib currently does not support Devanagari",
)


@pytest.fixture
def prepare(example):
    return example("prepare")


@pytest.fixture
def score(example):
    return example("score")


def test_columns_are_found_by_their_script_and_texts_have_one_form(prepare, tmp_path, capsys):
    # The word qalam, a pen: its first letter as one character and as two.
    first, second = "\u0958लम", "क\u093cलम"
    path = tmp_path / "pairs.tsv.gz"
    lines = [
        "Eng\tHin\tOth",
        f"A  pen.\t{first}\tsomebody",
        f"7\t1 2 3 4\tA pen.\t {second}\t7\tएक पेन",
        f"A pen.\t{first}\t{second}",
        f"\t{first}",
    ]
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    assert prepare.read(path) == [
        ("A pen.", [second]),
        ("A pen.", [second, "एक पेन"]),
        ("A pen.", [second]),
    ]
    assert "3 rows; 2 lines are not pairs" in capsys.readouterr().out


def test_a_file_without_hindi_is_refused(prepare, tmp_path):
    path = tmp_path / "de.tsv"
    path.write_text("A pen.\tStift\n")
    with pytest.raises(SystemExit, match=r"Received: .*de.tsv, where no line does"):
        prepare.read(path)


def test_no_held_out_text_is_in_the_training(prepare):
    """20 rows; each shares its Hindi with the next row, or its English with the previous one."""
    rows = [(f"en{number // 3}", [f"हिं{number // 2}", f"हि{number}"]) for number in range(20)]
    training, held_out = prepare.hold_out(rows, 4)
    assert held_out == rows[::5] and training
    english, hindi = ({row[0] for row in part} for part in (training, held_out))
    assert not english & hindi
    answers = [{text for row in part for text in row[1]} for part in (training, held_out)]
    assert not answers[0] & answers[1]


@pytest.mark.parametrize("count", [0, 1, 4])
def test_each_pair_is_the_first_and_the_second_of_a_joined_pair(prepare, count):
    pairs = [(f"en{number}", f"हि{number}") for number in range(count)]
    joined = prepare.joined(pairs)
    halves = [[*zip(*map(str.split, pair), strict=True)] for pair in joined]
    assert [first for first, _ in halves] == pairs
    assert sorted(second for _, second in halves) == pairs


def test_joined_texts_have_only_answers_with_their_placeholders(prepare):
    rows = [("Open %s", ["खोलें", "%s खोलें"]), ("Close", ["%s बंद", "बंद"])]
    assert prepare.matching(rows) == [("Open %s", "%s खोलें"), ("Close", "बंद")]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("%1$s of %2$d, %s and %.2f", ["%1$s", "%2$d", "%s", "%.2f"]),
        ("{app_name} has ^1%, {+^2} and {0}", ["{app_name}", "^1", "^2", "{0}"]),
        ("^1^2", ["^1", "^2"]),
        ("%sमें %1$s's %d%%", ["%s", "%1$s", "%d"]),
        ("%1$dh %2$dm on %1$tB, %%d, 100%%", ["%1$d", "%2$d", "%1$tB"]),
        ("100% complete, 50%discount, {count, plural, other {x y}}, 2^x, 2^10", []),
    ],
)
def test_placeholders_are_those_of_programs(prepare, text, found):
    assert prepare.placeholders(text) == found


@pytest.mark.parametrize(
    ("source", "translation", "kept"),
    [
        ("%1$s of %2$d, {a}", "{a}: %2$d का %1$s", True),
        ("%s has %d files", "%s में %d फ़ाइलें हैं", True),
        ("%s has %d files", "%d फ़ाइलें %s में हैं", False),  # printf would exchange the values
        ("{a} and {a}", "{a}", False),
        ("1 hour", "%d घंटा", False),
    ],
)
def test_kept_placeholders_are_as_frequent_and_in_an_order_that_programs_understand(
    prepare, source, translation, kept
):
    assert prepare.keeps(source, translation) == kept


def test_stand_ins_are_numbered_in_the_order_of_either_side(prepare):
    pairs = [
        ("{name} sent %1$s to {name}", "{name} ने {name} को %1$s भेजा"),
        ("1 hour", "एक घंटा"),
        ("^2 of %d", "%d का ^2"),
        ("{a} {b} {c} {d} {e} {f}", "{a} {b} {c} {d} {e} {f}"),  # no stand-in is left for {f}
        ("α of {a}", "{a} का α"),  # a letter of the text is no stand-in for another one
    ]
    assert prepare.with_stand_ins(pairs) == [
        ("α sent ж to α", "α ने α को ж भेजा"),
        ("1 hour", "एक घंटा"),
        ("α of ж", "ж का α"),
        ("ж of α", "α का ж"),
        ("α ж ա ა あ {f}", "α ж ա ა あ {f}"),
        ("ж of ա", "ա का ж"),
        ("ա of ж", "ж का ա"),
    ]


def test_each_stand_in_is_a_token(prepare):
    """Next to each other, to words and to punctuation, where characters of one script merge."""
    letters = prepare.STAND_INS
    text = " ".join([letters, *(f"({letter}), {letter}%a {letter}क" for letter in letters)])
    subwords = kb.text.Subwords.train([text] * 50, 60, exact=False)
    tokens = [token.strip("▁") for token in subwords.tokens(subwords.encode([text])[0])]
    assert ")," in tokens  # characters of one script do merge
    assert [token for token in tokens if {*token} & {*letters}] == [*filter(letters.count, text)]


def test_the_first_translation_that_keeps_all_placeholders_is_taken(score):
    texts = ["%1$s", "%1$s और %2$s", "%2$s और %1$s", "%1$s, %1$s और %2$s"]
    assert score.first_that_keeps("%2$s and %1$s", texts) == texts[1]
    assert score.first_that_keeps("only %3$s", texts) is None
    assert score.first_that_keeps("both", texts) is None
    assert score.first_that_keeps("(%3$s)", texts) == "(%3$s)"


class Reverser:
    """Return two results for a source: its words reversed; and `α`, the stand-in, for all words."""

    def __init__(self):
        self.sources = []

    def translate_nbest(self, sources, nbest):
        self.sources += sources
        texts = [(" ".join(source.split()[::-1]), "α") for source in sources]
        return [[self.result(text) for text in row[:nbest]] for row in texts]

    def result(self, text):
        parts = {"source_tokens": [], "target_tokens": [], "alignment": np.zeros((0, 0))}
        return kb.pipelines.Translation(text=text, score=0.0, finished=True, **parts)


def test_stand_ins_are_read_and_placeholders_are_written(score):
    reverser = Reverser()
    best, chosen = score.translate(reverser, ["{a} or %1$s", "^1"], "<2hi>", nbest=2)
    assert reverser.sources == ["<2hi> α or ж", "<2hi> α"]
    assert best == ["%1$s or {a} <2hi>", "^1 <2hi>"]
    assert chosen == ["%1$s or {a} <2hi>", "^1"]


def test_a_text_is_translated_in_parts_if_no_translation_keeps_its_placeholders(score):
    class Forgetful(Reverser):
        """Reverse the words of a short source; repeat the stand-in of a longer one."""

        def translate_nbest(self, sources, nbest):
            rows = super().translate_nbest(sources, nbest)
            longest = max(map(len, rows))
            return [
                row if len(source.split()) < 4 else [self.result("α α")] * longest
                for source, row in zip(sources, rows, strict=True)
            ]

    text = "Delete {app} now? All the data of {app}, and %d files, will be lost. Really delete?"
    best, chosen = score.translate(Forgetful(), [text], nbest=2)
    assert best == ["{app} {app}"]
    # one sentence is too long; one part between its placeholders is short enough
    sentence = "All the data of {app}and , %d files, will be lost."
    assert chosen == [f"now? {{app}} Delete {sentence} delete? Really"]
    assert score.keeps(text, chosen[0])


@pytest.mark.parametrize("text", ["घंटे%dघंटे में", "बैटरी%d में", "^1फ़ाइल में"])
def test_a_text_stays_as_it_is_if_its_translated_parts_spoil_a_placeholder(score, text):
    class Spoiler(Reverser):
        """Translate words in a way that changes the meaning of a placeholder next to them."""

        def translate_nbest(self, sources, nbest):
            words = {"घंटे": "hours", "घंटे में": "hours", "बैटरी": "50%", "फ़ाइल में": "5"}
            return [[self.result(words.get(source, ""))] * nbest for source in sources]

    assert score.translate(Spoiler(), [text], nbest=2) == ([""], [text])


def test_figures_replace_those_of_the_same_model_and_texts(score, tmp_path):
    path = tmp_path / "results.jsonl"
    first = {"model": "en-hi", "to": "Hindi", "texts": "captions", "BLEU": "not measured yet"}
    second = {**first, "texts": "interface", "BLEU": 27.1}
    score.add_results(path, [first, second])
    score.add_results(path, [{**first, "BLEU": 38.2}])
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert rows == [{**first, "BLEU": 38.2}, second]


def test_links_of_the_aligned_pairs_are_between_their_words():
    rows = [line.split("\t") for line in kb.data.read_lines(FOLDER / "aligned.tsv")]
    assert len(rows) == 20
    for english, hindi, links in rows:
        sure, possible = kb.text.alignments.parse_pharaoh(links)
        assert sure <= possible
        assert {target for _, target in possible} == {*range(len(hindi.split()))}, hindi
        assert {source for source, _ in possible} <= {*range(len(english.split()))}, english


@pytest.mark.slow
@pytest.mark.filterwarnings(*NO_FONT)
def test_it_runs_from_end_to_end(prepare, score, tmp_path, capsys):
    pytest.importorskip("ai_edge_litert", reason="ai-edge-litert runs the file")
    lines = [
        f"{english.format(translation)}\t{hindi.format(name)}\tmade up"
        for hindi, english in PHRASES.items()
        for name, translation in NAMES.items()
    ]
    data, out, run = tmp_path / "hin.txt", tmp_path / "data", tmp_path / "both"
    data.write_text("\n".join(["Eng\tHin\tOth", *lines]), encoding="utf-8")
    pair = [str(data), str(data)]
    arguments = ["--captions", *pair, "--interface", *pair, "--sentences", str(data)]
    prepare.main([*arguments, "--held-out", "2", "--out", str(out)])
    names = {f"{name}.tsv" for name in ("captions", "new-captions", "interface", "sentences")}
    files = {f"{part}.{language}" for part in ("train", "dev") for language in ("en", "hi")}
    assert {path.name for path in out.iterdir()} == names | files
    assert (out / "new-captions.tsv").read_text() == ""  # all of them are in the training part
    assert "train: 78 pairs; 0 with other placeholders left out" in capsys.readouterr().out

    def corpora(part):
        sides = [out / f"{part}.en", out / f"{part}.hi"]
        return [
            kb.data.Corpus("hi", kb.data.read_pairs(*sides), tag="<2hi>"),
            kb.data.Corpus("en", kb.data.read_pairs(*sides[::-1]), tag="<2en>"),
        ]

    options = kb.training.TrainingOptions(
        vocabulary_size=90,
        units=8,
        embedding_units=8,
        attention_units=8,
        query="state,task",
        epochs=1,
    )
    kb.training.train(corpora("train"), corpora("dev"), run, options)
    files, pictures = [out / "interface.tsv", out / "sentences.tsv"], tmp_path / "pictures"
    extra = ["--aligned", str(FOLDER / "aligned.tsv"), "--pictures", str(pictures)]
    results = tmp_path / "results.jsonl"
    for to in ("hi", "en"):
        arguments = [*map(str, files), "--model", str(run), "--to", to, "--tag", f"<2{to}>"]
        score.main([*arguments, *extra, "--results", str(results)])
        extra = []
    rows = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    assert [(row["to"], row["texts"], row["lines"]) for row in rows] == [
        *(("Hindi", "interface", 20), ("Hindi", "sentences", 2), ("Hindi", "aligned", 20)),
        *(("English", "interface", 20), ("English", "sentences", 2)),
    ]
    assert {row["with placeholders"] for row in rows if row["texts"] == "interface"} == {5}
    assert 0 <= rows[2]["alignment error"] <= 100 and rows[0]["epochs"] == 1
    assert len([*pictures.iterdir()]) == 20

    small = tmp_path / "both.tflite"
    sizes = {"max_source_length": 48, "max_target_length": 32}
    translator = kb.Translator.load(run / "translator.keras")
    kb.export_litert(translator, small, **sizes, signatures=("nbest",))
    capsys.readouterr()
    score.main([str(files[0]), "--model", str(small), "--to", "hi", "--tag", "<2hi>"])
    device = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (device["model"], device["lines"], device["with placeholders"]) == (small.name, 20, 5)
    assert "epochs" not in device
