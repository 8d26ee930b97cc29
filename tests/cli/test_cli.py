import functools
import gzip
import hashlib
import io
import json
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import threading
import typing
import urllib.error
import zipfile
from pathlib import Path

import pytest
import sacrebleu
from terminal import Terminal

import keras_bahdanau as kb
from keras_bahdanau import __version__, cli
from keras_bahdanau.cli import inputs, sentences, training_files, warnings
from keras_bahdanau.cli.commands import translate
from keras_bahdanau.cli.model_file import ModelFile, search_of
from keras_bahdanau.cli.options import check_tokenization
from keras_bahdanau.data import read_table
from keras_bahdanau.data.readers import lines as text_lines
from keras_bahdanau.search import SearchOptions
from keras_bahdanau.text import Subwords
from keras_bahdanau.text.alignments import format_pharaoh, word_links
from keras_bahdanau.training import TrainingOptions

PROGRAM = [sys.executable, "-m", "keras_bahdanau.cli"]
COMMANDS = [
    *("prepare", "train", "distill", "translate", "evaluate", "tune", "calibrate", "align"),
    *("export", "check"),
    "demo",
]
TINY = "--vocabulary-size 30 --embedding-units 8 --units 8 --attention-units 8 --epochs 1".split()
DISTILL = "distill single.tsv --valid-source single.tsv --out new"
SENTENCES = ["one two three", "", "four", "five one"]


class Answer(typing.NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture(scope="module")
def loaded_once():
    """While active, a model file is loaded and its search traced only for the first command."""
    from keras_bahdanau.pipelines import tasks
    from keras_bahdanau.pipelines.archive import PipelineFile, find_translator

    load = tasks.load_pipeline

    @functools.cache
    def load_once(path, changed, precision):
        return load(path, precision)

    def load_pipeline(path, precision=None):
        path = path.path if isinstance(path, PipelineFile) else find_translator(path)
        path = path.resolve()
        return load_once(path, path.stat().st_mtime_ns, precision)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tasks, "load_pipeline", load_pipeline)
        yield


@pytest.fixture
def command(capsys, monkeypatch, loaded_once):
    """`command(*arguments, stdin=b"")`: the result of `keras-bahdanau`, run in this process."""

    def run(*arguments, stdin=b""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as ended:
            cli.main([str(argument) for argument in arguments])
        return Answer(ended.value.code, *capsys.readouterr())

    return run


@pytest.fixture(scope="module")
def model(toy_translator, tmp_path_factory):
    """A directory like the output directory of a training run."""
    directory = tmp_path_factory.mktemp("run")
    toy_translator.save(directory / "translator.keras")
    return directory


@pytest.fixture(scope="module")
def expected(toy_translator):
    return [result.text for result in toy_translator.translate(SENTENCES)]


@pytest.fixture
def files(tmp_path, model, monkeypatch):
    """A directory with valid and invalid files, which is also the current directory."""
    monkeypatch.chdir(tmp_path)
    with zipfile.ZipFile("model.keras", "w") as archive:
        archive.writestr("config.json", "{}")
    whole = (model / "translator.keras").read_bytes()
    content = {
        "good.en": b"one\n\ntwo three\n",
        "good.de": b"eins\n\nzwei drei\n",
        "short.de": b"eins\nzwei\n",
        "latin1.de": "eins\n\nfünf\n".encode("latin-1"),
        "empty.de": b"",
        "cut.de.gz": gzip.compress(b"eins\n\nzwei drei\n")[:-6],
        "links": b"0-0\n\n",
        "nul.en": b"one\n\ntwo\0three\n",
        "cr.de": b"eins\rzwei\r",
        "utf16.en": "one\ntwo\n".encode("utf-16-le"),
        "single.tsv": b"one\teins\n\t\n",
        "textless.tsv": b"one\t\n\teins\n",
        "bad.tsv": b"one\teins\ntwo zwei\nthree\tdrei\n",
        "sounds.tsv": b"one.wav\teins\ntwo.wav\tzwei\n",
        "one.wav": b"RIFF",
        "cut.keras": whole[: len(whole) // 2],
        "damaged.keras": whole.replace(b"\x89HDF", b"\x89HDG", 1),
        "translator.zip": whole,
    }
    for name, data in content.items():
        (tmp_path / name).write_bytes(data)
    return tmp_path


def names_in(directory):
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*"))


BAD_INPUT = {
    "train absent.en good.de --out new": "path='absent.en'",
    "train good.en . --out new": "path='.', which is a directory",
    "train . --out new": "path='.', which has none. Give a text file, a TSV or a manifest",
    "train /dev/stdin --out new --workers 2": (
        "path='/dev/stdin' with workers=2. Write the data to a file first"
    ),
    "train good.en good.de --out new --workers 2 --valid-source /dev/null": "path='/dev/null' with",
    "train --corpus a=/dev/fd/63 --out new --workers 2": "path='/dev/fd/63' with workers=2",
    "train good.en good.de --out new --workers 257": "workers=257",
    "train good.en short.de --out new": "source='good.en' with 3 lines, target='short.de' with 2",
    "train good.en latin1.de --out new": "path='latin1.de', whose line 3 contains the byte 0xfc",
    "train good.en empty.de --out new": "path='empty.de', which is empty",
    "train good.en cut.de.gz --out new": "path='cut.de.gz'",
    "train bad.tsv --out new": "path='bad.tsv', whose line 2 has 1",
    "train nul.en good.de --out new": "path='nul.en', whose line 3 contains the byte 0x00",
    "train good.en cr.de --out new": r"path='cr.de', whose lines end only in \r",
    "train single.tsv --out new": "Received: 1 source with text on both sides",
    "train sounds.tsv --out new": "first source is the file 'one.wav'. Give --source speech",
    "train textless.tsv --out new": "path='textless.tsv' with 2 pairs, none of which does",
    "train good.en good.de --out new --valid-source textless.tsv": "path='textless.tsv' with 2",
    "train good.en good.de --out new --alignments utf16.en": "path='utf16.en', whose line 1",
    "train good.en good.de --out new --columns source,target": "'source,target' with two files",
    "train single.tsv --out new --columns source,lemma": "columns='source,lemma'",
    "train single.tsv --out new --columns source,target,features": "line 1 has 2. Correct",
    "train single.tsv --out new --answer-separator=": "answer_separator=''",
    "train x.tsv --source image --out new --columns target,source": "with files. Omit it",
    "prepare good.en good.de": "out=None, dry_run=False. Give either --out or",
    "prepare good.en good.de --out new --dry-run": "out='new', dry_run=True",
    "prepare good.en good.de --out good.en": "out='good.en'",
    "prepare good.en good.de --out new --report ./new": "out='new', report='new'. Rename one",
    "prepare good.en good.de --dry-run --report good.en": "report='good.en'",
    "prepare good.en good.de --dry-run --workers 0": "workers=0",
    "prepare good.en good.de --out new --sample 0": "sample=0",
    "prepare good.en good.de --out new --symbols a,a": "symbols=('a', 'a')",
    "prepare good.en good.de --out new --vocabulary cut.keras": "path='cut.keras'",
    "prepare good.en good.de --out new --vocabulary good.en": "'good.en': `model` must be a",
    "prepare good.en short.de --dry-run --workers 1": "'short.de' with 2 lines, but 'good.en'",
    "prepare cut.de.gz good.de --dry-run --workers 1": "path='cut.de.gz'",
    "prepare bad.tsv --dry-run --workers 1": "path='bad.tsv', whose line 2 has 1",
    "prepare nul.en --dry-run": "path='nul.en'. Rename it",
    "prepare . --dry-run": "path='.'",
    "prepare x.tsv good.de --source image --dry-run": "target='good.de' with source='image'",
    "prepare x.tsv --source ink --dry-run": "source='ink'",
    "translate --model RUN --columns source,-": "with standard input. Give the path",
    "translate - --model RUN --columns source,-": "with standard input. Give the path",
    "translate --model RUN single.tsv --columns features,target": "columns='features,target'",
    "evaluate --model RUN good.en good.de --metrics top10": "nbest=10",
    "evaluate --model RUN good.en good.de --metrics top2 --compare good.de": "metrics='top2'",
    "translate --model RUN utf16.en": "path='utf16.en', whose line 1 contains the byte 0x00",
    "evaluate --model RUN textless.tsv": "path='textless.tsv' with 2 pairs",
    "evaluate --model RUN good.en good.de --compare nul.en": "path='nul.en', whose line 3",
    "tune --model RUN textless.tsv": "path='textless.tsv' with 2 pairs",
    "align --model RUN one\x1b[2J": "path='SENTENCE', whose line 1 contains the byte 0x1b",
    "export --model RUN --format all --out new --sentences nul.en": "path='nul.en', whose line 3",
    "train good.en good.de --out new --valid-target good.de": "--valid-target needs --valid-source",
    "train good.en good.de --out new --valid-source bad.tsv": "path='bad.tsv'",
    "train good.en good.de --out new --valid-source good.en": (
        "Give a TSV with both languages, or add --valid-target."
    ),
    "train good.en good.de --out new --attention additve": "Did you mean 'additive'?",
    "train good.en good.de --out new --units 0": "units=0",
    "train good.en good.de --out new --cell rnn": "cell='rnn'",
    "train good.en good.de --out new --preset big": "preset='big'",
    "train good.en good.de --out new --preset luong-local --attention none": "window='local-p'",
    "train good.en good.de --out new --joint --source-model-type char": "joint=True, source_model",
    "train good.en good.de --out new --batch-tokens 0": "batch_tokens=0, batch_sentences=0",
    "train good.en good.de --out new --alignments good.en": "item='one'",
    "train good.en good.de --out new --alignments links": "'links' with 2 lines for 3 pairs",
    "train good.en good.de --out new --guided-alignment 1": "no alignments, with guided_alignment",
    "train good.en good.de --out new --valid-alignments links": "needs --valid-source",
    "train good.en good.de --out new --word-distillation 2": "word_distillation=2.0",
    "train good.en good.de --out new --word-distillation .8": "teacher=[], word_distillation=0.8",
    "train good.en good.de --out new --teacher absent": "No model at 'absent'",
    "train good.en good.de --out new --teacher RUN": "word_distillation=0.0. Give both, such as",
    "train good.en good.de --out new --cache kept": "cache='kept' with lines. Omit it.",
    "train x.tsv --source image --out new --cache good.en": "cache='good.en', which is a file",
    "evaluate --model RUN good.en good.de --cache kept": "cache='kept' with lines",
    "tune --model RUN good.en good.de --cache kept": "cache='kept' with lines",
    "train good.en good.de --out .": "out='.', which contains other",
    "train bad.tsv --out .": "out='.', which contains other",  # reported before any file is read
    "train good.en good.de --out good.en": "out='good.en', which contains other",
    "train good.en good.de --out new --freeze encoder": "freeze='encoder' without a model. Add",
    "train good.en good.de --out new --freeze a..b": "freeze='a..b'",
    "train good.en good.de --out new --from absent": (
        "No model at 'absent'. Pass the directory of a training run, or a .keras file."
    ),
    "train good.en good.de --out new --from cut.keras": "path='cut.keras'",
    "train good.en good.de --out new --from RUN --units 9": "units=9 with the model in",
    "train good.en good.de --out new --from RUN --source image": "source='image' with the model in",
    "train good.en good.de --out new --from RUN --vocabulary-pairs bad.tsv": "line 2 has 1",
    DISTILL: "teacher=[], hypotheses=None. Pass one of them",
    f"{DISTILL} --teacher RUN --hypotheses good.de": "hypotheses='good.de'",
    f"{DISTILL} --teacher absent": "No model at 'absent'",
    f"{DISTILL} --teacher cut.keras": "path='cut.keras'",
    f"{DISTILL} --teacher RUN --baseline absent": "No model at 'absent'",
    f"{DISTILL} --teacher RUN --source image": "which reads lines. Omit --source",
    f"{DISTILL} --teacher RUN --mix 1": "mix=1.0",
    f"{DISTILL} --teacher RUN --n-best 0": "n_best=0",
    f"{DISTILL} --teacher RUN --n-best 1000 --batch-size 66": "n_best=1000, batch_size=66. Lower",
    f"{DISTILL} --teacher RUN --freeze encoder": "freeze='encoder' without a model",
    f"{DISTILL} --teacher RUN --n-best 4 --beam-width 3": "beam_width=3. Raise `beam_width`",
    f"{DISTILL} --teacher RUN --sample --beam-width 3": "sample=True, beam_width=3",
    f"{DISTILL} --teacher RUN --workers 0": "workers=0",
    f"{DISTILL} --teacher RUN --attention forced": "attention='forced'",
    f"{DISTILL} --teacher RUN --units 0": "units=0",
    f"{DISTILL} --teacher RUN --symbol <s>": "symbols=['<s>']",
    f"{DISTILL} --teacher RUN --guided-alignment 1 --mix .5": "mix=0.5",
    f"{DISTILL} --teacher RUN --word-distillation .5": "vocabulary='own'. Use vocabulary='te",
    f"{DISTILL} --hypotheses good.de --sample": "sample=True, hypotheses='good.de'",
    f"{DISTILL} --hypotheses good.de --guided-alignment 1": "hypotheses='good.de'",
    f"{DISTILL} --hypotheses good.de": "3 lines, n_best=1, for 2 sources",
    f"{DISTILL} --hypotheses short.de --min-score -1": "without scores, and {'min_score': -1",
    "distill good.en good.de --out new --hypotheses good.de": "without validation pairs. Add --v",
    "distill good.en good.de --out . --teacher RUN": "out='.', which contains other",
    "distill good.en short.de --out new --teacher RUN": "target='short.de' with 2 lines",
    "translate --model RUN good.en --reversed": "reversed=True without a file of pairs. Add",
    "translate --model RUN good.en --write-pairs new --pair-tag <s>": "symbols=['<s>']",
    "translate --model RUN good.en --write-pairs good.en": "write_pairs='good.en'",
    "translate --model RUN good.en --write-pairs new --alignment": "alignment=True with",
    "translate --model absent good.en": (
        "No model at 'absent'. Give the output directory of a training run, or a .keras, "
        ".tflite or .onnx file."
    ),
    "translate --model . good.en": "model='.', a directory without translator.keras",
    "translate --model cut.keras good.en": "path='cut.keras'",
    "translate --model damaged.keras good.en": "path='damaged.keras'",
    "translate --model model.keras good.en": "path='model.keras', a Keras model without v",
    "translate --model translator.zip good.en": "path='translator.zip'",
    "translate --model good.en good.en": "path='good.en'",
    "translate --model RUN absent.en": "path='absent.en', no such file. Use `align` for one",
    "translate --model RUN latin1.de": "path='latin1.de', whose line 3",
    "translate --model RUN good.en --top-p 2": "top_p=2.0",
    "translate --model RUN good.en --beam-width 0": "beam_width=0",
    "translate --model RUN good.en --nbest 9": "nbest=9. Use a number in that range, or a wider",
    "translate --model RUN good.en --nbest 0": "nbest=0. Use a number in that",
    "translate --model RUN good.en --length-penalty wu": "length_penalty='wu'",
    "evaluate --model RUN good.en good.de --min-length 9 --max-length 5": "min_length=9",
    "align --model RUN one --prefix \udcff": "line 1 contains the byte 0xff",
    "evaluate --model RUN good.en short.de": "target='short.de' with 2 lines",
    "evaluate --model RUN good.en good.de --hypotheses good.en": "hypotheses='good.en'",
    "evaluate --model RUN good.en good.de --hypotheses absent/new": "hypotheses='absent/new'",
    "evaluate --model RUN good.en good.de --json good.en": "json='good.en'",
    "evaluate --model RUN good.en good.de --json new --hypotheses ./new": (
        "Each output must have its own file. Received: json='new', hypotheses='new'. Rename one"
    ),
    "evaluate --model RUN good.en good.de --json new --cache new": "json='new', cache='new'",
    "evaluate --model RUN good.en good.de --tag \udcff": "'TAG', whose line 1 contains the byte",
    "tune --model RUN good.en good.de --tag \udcff": "'TAG', whose line 1 contains the byte 0xff",
    "calibrate --model RUN good.en good.de --tag \udcff": "'TAG', whose line 1 contains",
    "translate --model RUN good.en --write-pairs new --pair-tag \udcff": r"symbols=['\udcff']",
    "train --corpus a=good.en,good.de:1:\udcff --out new": r"tag='\udcff' for the corpus 'a'",
    "evaluate --model RUN good.en good.de --plot new.doc": "plot='new.doc'",
    "evaluate --model RUN good.en good.de --compare empty.de": "path='empty.de', which is empty",
    "evaluate --model RUN good.en good.de --compare short.de": "'short.de' with 2 lines for 3",
    "evaluate --model RUN good.en good.de --compare absent.keras": "No model at 'absent.keras'",
    "evaluate --model RUN good.en good.de --alignments links": "'links' with 2 lines for 3 pairs",
    "evaluate --model RUN good.en good.de --metrics bleu,rouge": "metrics=['bleu', 'rouge']",
    "evaluate --model RUN good.en good.de --metrics wer,wer": "metrics=['wer', 'wer']",
    "evaluate --model RUN good.en good.de --tokenize words": "tokenize='words'",
    "evaluate --model RUN good.en good.de --tokenize ja-mecab": "pip install 'sacrebleu[ja]'",
    "tune --model RUN good.en good.de --beam-widths 5,": "beam_widths='5,'",
    "tune --model RUN good.en good.de --length-normalizations -1": "length_normalization=-1.0",
    "tune --model RUN good.en good.de --length-penalties wu": "length_penalty='wu'",
    "tune --model RUN good.en good.de --ctc-weights 0,x": "ctc_weights='0,x'",
    "tune --model RUN good.en good.de --metric rouge": "metrics=['rouge']",
    "calibrate --model RUN good.en good.de --metric bleu": "metric='bleu'",
    "calibrate --model RUN good.en good.de --plot new.doc": "plot='new.doc'",
    "calibrate --model RUN good.en good.de --plot x.png --cache x.png": "cache='x.png'. Rename",
    "calibrate --model RUN good.en good.de --plot good.en": "plot='good.en'",
    "calibrate --model RUN textless.tsv": "path='textless.tsv' with 2 pairs",
    "translate --model RUN good.en --reject-below -1": "reject_below=-1.0",
    "translate --model RUN good.en --json --alignment": "json=True with alignment=True",
    "align --model RUN one --plot good.en": "plot='good.en'",
    "align --model RUN one --plot picture.doc": "plot='picture.doc'",
    "align --model RUN one --trace picture.doc": "trace='picture.doc'",
    "align --model RUN one --plot absent/picture.png": "plot='absent/picture.png'",
    "align --model RUN one --plot new.png --trace new.png": "plot='new.png', trace='new.png'",
    "align --model RUN one --explore page.doc": "explore='page.doc'",
    "translate --model RUN good.en --explore good.en": "explore='good.en'",
    "translate --model RUN good.en --explore new.html --write-pairs new.html": (
        "write_pairs='new.html', explore='new.html'"
    ),
    "translate --model RUN good.en --explore new.html --reference absent.de": "path='absent.de'",
    "translate --model RUN good.en --explore new.html --reference short.de": (
        "source='good.en' with 3 lines, reference='short.de' with 2 lines"
    ),
    "translate --model RUN links --explore new.html --reference good.de": (
        "source='links' with 2 lines, reference='good.de' with 3 lines"
    ),
    "translate --model RUN good.en --reference good.de": "reference='good.de' without --explore",
    "align --model RUN \udcff": "line 1 contains the byte 0xff",
    "export --model RUN --format litert --out good.en": "out='good.en'",
    "export --model RUN --format saved-model --out .": "directory='.', which holds other things",
    "export --model RUN --format all --out .": "directory='.', which holds other things",
    "export --model RUN --format litert --out new": "end in .tflite. Received: out='new'",
    "check absent": "path='absent'. Check the spelling, or export a translator first.",
    "check model.keras": "path='model.keras', which is not exported",
    "demo --out good.en": "out='good.en'",
    "demo --out .": "out='.', which contains other files. Choose another one with",
    "export --model RUN --format saved-model --out good.en": "out='good.en'",
    "export --model RUN --format saved-model --out new --quantization int8": "quantization='int8'",
    "export --model RUN --format all --out new --quantization int8": "quantization='int8'",
    "export --model RUN --format saved-model --out new --max-target-length 9": "length='9' with f",
    "export --model RUN --format litert --out new.tflite --title A": "title='A' with format='li",
    "export --model RUN --format all --out new --litert-js .": "litert_js='.' with format='all'",
    "export --model RUN --format all --out good.en": "out='good.en'",
    "export --model RUN --format all --out new --sentences absent.en": "path='absent.en'",
    "export --model RUN --format all --out new --references good.de": "references='good.de'",
    "export --model RUN --format all --out new --sentences good.en --references short.de": (
        "target='short.de' with 2 lines"
    ),
}
LATE = {  # found only after TensorFlow is loaded
    "train good.en good.de --out new --vocabulary-size 5": "`vocabulary_size` must be at least",
}


@pytest.mark.few(12)
@pytest.mark.parametrize("arguments", [*LATE, *BAD_INPUT])
def test_bad_input_gets_one_clear_line_and_leaves_nothing(command, files, model, arguments):
    before = names_in(files)
    answer = command(*arguments.replace("RUN", str(model)).split())
    assert answer.code == 2
    assert answer.err.startswith("keras-bahdanau: ")
    assert answer.err.endswith("\n") and answer.err.count("\n") == 1
    assert {**BAD_INPUT, **LATE}[arguments] in answer.err
    # Two lines are printed before the error.
    assert answer.out.count("\n") == ("`vocabulary_size`" in answer.err) * 2
    assert names_in(files) == before


def test_bad_input_is_found_before_tensorflow_is_loaded(files, model):
    before = names_in(files)
    program = (
        "import json, sys; from keras_bahdanau.cli import main\n"
        "for arguments in json.load(sys.stdin):\n"
        "    try: main(arguments)\n"
        "    except SystemExit as ended: assert ended.code == 2, arguments\n"
        "    assert not {'tensorflow', 'keras'} & set(sys.modules), arguments\n"
    )
    inputs = json.dumps([line.replace("RUN", str(model)).split() for line in BAD_INPUT])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    answer = subprocess.run(
        [sys.executable, "-c", program],
        input=inputs,
        capture_output=True,
        text=True,
        env=environment,
    )
    assert answer.returncode == 0, answer.stderr
    for line, message in zip(answer.stderr.splitlines(), BAD_INPUT.values(), strict=True):
        assert line.startswith("keras-bahdanau: ") and message in line
    assert names_in(files) == before


def test_a_bug_keeps_its_traceback(monkeypatch, model):
    monkeypatch.setattr(translate, "open_models", lambda paths: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        cli.main(["translate", "--model", str(model)])


def test_help_loads_nothing_slow():
    program = (
        "import sys\n"
        "from keras_bahdanau.cli import main\n"
        "for name in sys.argv[1:]:\n"
        "    try: main([*name.split(), '--help'])\n"
        "    except SystemExit as ended: assert not ended.code\n"
        "    slow = {'tensorflow', 'keras', 'numpy', 'matplotlib', 'sacrebleu'}\n"
        "    assert not slow & set(sys.modules), name\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    answer = subprocess.run(
        [sys.executable, "-c", program, "", *COMMANDS],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert answer.returncode == 0, answer.stderr
    for name in COMMANDS:
        assert f"Usage: keras-bahdanau {name} " in answer.stdout


def test_every_training_option_is_an_option_with_its_default_and_help(command):
    text = " ".join(command("train", "--help").out.split())
    for name in TrainingOptions.__dataclass_fields__:
        assert f"--{name.replace('_', '-')} " in text
    assert "fewer if the text does not have that many. [default: 6000]" in text
    assert "Use one vocabulary for both languages, which requires the same model type" in text
    assert "normalization and size for both. [default: joint]" in text
    assert "after warm-up and before decay" in text
    assert "the defaults shown are those of the preset" in text


def test_every_metric_is_named_in_the_help(command):
    from keras_bahdanau.evaluation.corpus_metrics import METRICS

    text = " ".join(command("evaluate", "--help").out.split())
    assert f"{', '.join(METRICS)}. The first is used for the scores by length." in text


def test_version_is_shown(command):
    assert command("--version") == (0, f"keras-bahdanau {__version__}\n", "")


@pytest.mark.slow
def test_translation_is_a_filter_with_a_clean_terminal(model, expected):
    answer = subprocess.run(
        [*PROGRAM, "translate", "--model", model],
        input="".join(f"{line}\n" for line in SENTENCES),
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={name: value for name, value in os.environ.items() if name != "TF_CPP_MIN_LOG_LEVEL"},
    )
    assert answer.stdout.splitlines() == expected
    assert (answer.returncode, answer.stderr) == (0, "")


@pytest.mark.parametrize("end", [pytest.param("\n", marks=pytest.mark.slow), ""])
def test_each_line_in_gives_a_line_out(command, model, expected, end):
    stdin = ("\n".join(SENTENCES) + end).encode()
    answer = command("translate", "--model", model / "translator.keras", stdin=stdin)
    assert answer == (0, "".join(f"{line}\n" for line in expected), "")


@pytest.mark.slow
def test_many_lines_come_in_pieces_and_stay_in_order(command, model, expected, monkeypatch):
    monkeypatch.setattr(sentences, "ARRIVING", 7)  # bytes
    stdin = ("\n".join(SENTENCES) + "\n").encode()
    assert command("translate", "--model", model, "-", stdin=stdin).out.splitlines() == expected
    stdin += b"one\n\xff\n"
    answer = command("translate", "--model", model, stdin=stdin)
    assert answer.code == 2 and "'standard input', whose line 6 contains" in answer.err


@pytest.mark.slow
def test_models_given_one_after_the_other_are_an_ensemble(command, files, model, expected):
    shutil.copy(model / "translator.keras", "copy.keras")
    both = ("--model", model, "--model", "copy.keras")
    stdin = ("\n".join(SENTENCES) + "\n").encode()
    assert command("translate", *both, stdin=stdin).out.splitlines() == expected
    assert "BLEU" in command("evaluate", "good.en", "good.de", *both).out
    answer = command("translate", "--model", model, "--model", "cut.keras")
    assert answer.code == 2 and "cut.keras" in answer.err


def test_an_ensemble_searches_with_what_all_its_models_have():
    saved = [
        {"beam_width": 7, "ctc_weight": 0.3},
        {"beam_width": 5},
        {"beam_width": 5, "ctc_weight": 0.2},
    ]
    a, b, c = (ModelFile(Path("model.keras"), {"search": search}) for search in saved)
    with_ctc, without = SearchOptions(**saved[0]), SearchOptions(beam_width=7)
    assert search_of([a], {}) == search_of([a, c], {}) == with_ctc
    assert search_of([a, b], {}) == without
    assert search_of([b, a], {}) == SearchOptions(beam_width=5)
    assert search_of([a, b], {"ctc_weight": 0.3}) == with_ctc


@pytest.mark.slow
def test_what_the_model_does_not_know_is_named_by_its_line(command, files, model, monkeypatch):
    monkeypatch.setattr(warnings, "MOST_LINES", 2)
    (files / "unknown.en").write_text("one <b>\none\ntwo ☃ ☃\n<\n☃\n")
    answer = command("translate", "--model", model, "unknown.en", "--prefix", "ein%")
    told = "the model does not know:"
    assert answer.code == 0 and answer.out.count("\n") == 5
    assert answer.err.splitlines() == [
        f"keras-bahdanau: the prefix: {told} %. The output may be wrong.",
        f"keras-bahdanau: line 1: {told} <b>. The output may be wrong.",
        f"keras-bahdanau: line 3: {told} ☃. The output may be wrong.",
        "keras-bahdanau: 2 more lines have parts that the model does not know",
    ]
    answer = command("align", "--model", model, "one ☃")
    assert answer.err == f"keras-bahdanau: the sentence: {told} ☃. The output may be wrong.\n"


def test_of_features_in_the_other_place_a_line_is_told_and_a_tag_is_to_stay(capsys):
    symbols = ["<2de>", "<V>", "<PST>"]
    settings = {"model_type": "char", "exact": False, "symbols": symbols}
    source = kb.sources.TextSource(Subwords.train(["walk"], 20, **settings), "last")
    elsewhere = warnings.FeatureWarnings(source)
    elsewhere.warn(["<2de> walk", "<2de> walk <V> <PST>", "walk", ""])
    assert capsys.readouterr().err == ""
    elsewhere.warn(["<2de> <V> <PST> walk"] * 2)
    assert capsys.readouterr().err == (
        "keras-bahdanau: the features of '<2de> <V> <PST> walk' are not where they were in "
        "training: give 'walk <2de> <V> <PST>'; a tag stays in front\n"
    )


def test_a_picture_of_nothing_is_refused(command, files, model):
    answer = command("align", "--model", model, "", "--plot", "map.png")
    assert (answer.code, answer.out) == (2, "") and not (files / "map.png").exists()
    assert "must not be empty. Received: input='' with plot='map.png'." in answer.err


def test_no_lines_give_no_lines(command, files, model):
    for given in ([], ["-"], ["empty.de"]):
        assert command("translate", "--model", model, *given) == (0, "", "")


@pytest.mark.parametrize(
    "stdin", [b"one\n\0", pytest.param(b"one\ntwo\0" + b"three" * 9, marks=pytest.mark.slow)]
)
def test_a_stream_that_is_no_text_is_refused_at_once(command, model, monkeypatch, stdin):
    monkeypatch.setattr(sentences, "ARRIVING", 8)  # bytes
    answer = command("translate", "--model", model, stdin=stdin)
    assert answer.code == 2 and "'standard input', whose line 2 contains the byte" in answer.err


def test_a_line_without_end_is_refused(command, model, monkeypatch):
    monkeypatch.setattr(text_lines, "LONGEST_LINE", 2**17)
    answer = command("translate", "--model", model, stdin=b"one\n" + b"x " * 2**17)
    assert answer.code == 2 and "at most 131,072 bytes" in answer.err
    assert "whose line 2 has more" in answer.err


@pytest.mark.slow
def test_a_compressed_file_is_translated(command, files, model, expected):
    (files / "text.gz").write_bytes(gzip.compress("\r\n".join(SENTENCES).encode()))
    assert command("translate", "--model", model, "text.gz").out.splitlines() == expected


@pytest.mark.parametrize(
    "ending, columns, behind",
    [
        ("\tx\t2", "source,target,count", ""),
        ("\tx", "source,target", ""),
        ("\tx\tN;SG", "source,target,features", " <N> <SG>"),
        ("\tN;SG", "source,features", " <N> <SG>"),
    ],
)
def test_a_file_named_tsv_is_a_table_if_its_columns_are_known(
    tmp_path, monkeypatch, capsys, ending, columns, behind
):
    monkeypatch.chdir(tmp_path)
    path = Path("table.tsv")
    path.write_text(f"one two{ending}\n\nthree{ending}\n")
    lines, symbols, _ = sentences.sentences_of(path, None)
    assert lines == [f"one two{behind}", "", f"three{behind}"]
    assert symbols == {*behind.split()}
    told = f"columns of 'table.tsv', inferred from its text: {columns}; only the sources are"
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1) and told in err


@pytest.mark.parametrize("columns", [None, "source,target", "source,-"])
def test_a_header_of_a_table_to_translate_is_told(tmp_path, monkeypatch, capsys, columns):
    monkeypatch.chdir(tmp_path)
    Path("table.tsv").write_text("Word\tPronunciation\nred\tR EH D\n")
    assert sentences.sentences_of(Path("table.tsv"), columns)[0] == ["Word", "red"]
    told = (
        "line 1 of 'table.tsv' is read as a pair: 'Word\\tPronunciation'. If it is a header, "
        "remove it"
    )
    assert capsys.readouterr().err.endswith(f"keras-bahdanau: {told}\n")


@pytest.mark.parametrize(
    "text, columns, is_told",
    [
        ("walk\tPST\n\ngo\tV;PST\n", None, True),
        ("walk\twalked\n", None, False),
        ("walk\tPL\n", None, False),  # the model does not have this symbol
        ("walk\tPST\n", "source,-", False),
        ("walk\tV;PST\n", None, False),  # recognized as features
    ],
)
def test_a_single_feature_that_is_taken_for_a_target_is_told(
    tmp_path, monkeypatch, capsys, text, columns, is_told
):
    monkeypatch.chdir(tmp_path)
    path = Path("table.tsv")
    path.write_text(text)
    symbols = ["<V>", "<PST>"]
    subwords = Subwords.train(["<V> <PST> walk", "go"], 40, exact=False, symbols=symbols)
    *_, targets = sentences.sentences_of(path, columns)
    capsys.readouterr()
    sentences.warn_of_features(path, targets, subwords)
    told = (
        "keras-bahdanau: the second column of 'table.tsv' is ignored as a target. To read it as "
        "features, give `--columns source,features`\n"
    )
    assert capsys.readouterr().err == told * is_told


@pytest.mark.parametrize("name", ["table.txt", "mixed.tsv", "empty.tsv"])
def test_a_text_with_tabs_stays_one(tmp_path, capsys, name):
    lines = {"table.txt": ["one\ttwo", "four\tfive"], "mixed.tsv": ["one\ttwo", "four"]}
    path = tmp_path / name
    path.write_text("".join(f"{line}\n" for line in lines.get(name, [])))
    assert sentences.sentences_of(path, None) == (lines.get(name, []), (), ())
    told = capsys.readouterr()
    whole = "translated with their tabs. If tabs separate columns, name them with --columns."
    assert told.out == "" and (whole in told.err) == (name != "empty.tsv")


def test_tabs_of_standard_input_are_told_of_once(capsys):
    chunks = [["one", "two"], ["one\ttwo", "four\tfive"], ["four\tfive"]]
    assert [*sentences._whole_lines(chunks)] == chunks
    told = capsys.readouterr().err
    assert told.count("\n") == told.count("lines of standard input are translated with") == 1


@pytest.mark.parametrize("table", ["a", "b", None])
def test_a_table_beside_a_second_file_is_told(tmp_path, monkeypatch, table):
    monkeypatch.chdir(tmp_path)
    for name in "ab":  # a single line with a tab is plain text
        rows = "one\teins\n\ntwo\tzwei\n" if name == table else "one\n\ntwo\ttabs\n"
        Path(name).write_text(rows)
    told = []
    pairs, _ = inputs.read_examples("lines", "a", "b", say=told.append)
    assert len(pairs) == 3
    line = f"two files were given, 'a' and 'b', so each line of {table!r} is read as one text, tabs"
    assert [one.startswith(line) for one in told] == [True] * (table is not None)


@pytest.mark.slow
def test_a_table_is_scored_without_a_word_on_its_columns(command, files, model, expected):
    (files / "plain.tsv").write_text("one\teins\nfour two\tvier zwei\n")
    (files / "counted.tsv").write_text("one\teins\t7\nfour two\tvier zwei\t1\n")
    plain, counted = (
        command("evaluate", f"{name}.tsv", "--model", model, "--metrics", "exact,cer")
        for name in ("plain", "counted")
    )
    scores = [
        [line for line in answer.out.splitlines() if not line.startswith("speed")]
        for answer in (plain, counted)
    ]
    assert scores[0] == scores[1] and scores[0][0].startswith("exact ")
    told = "columns of 'counted.tsv', inferred from its text: source,target,count"
    assert told in counted.err and "columns" not in plain.err
    (files / "given.tsv").write_text("".join(f"{one}\tx\t1\n" for one in SENTENCES))
    answer = command("translate", "given.tsv", "--model", model)
    assert answer.out == "".join(f"{text}\n" for text in expected)


def test_the_best_few_come_in_the_form_of_moses(command, model, toy_translator):
    stdin = b"one two\n\nfour\n"
    answer = command("translate", "--model", model, "--nbest", 2, stdin=stdin)
    fields = [line.split(" ||| ") for line in answer.out.splitlines()]
    assert [number for number, *_ in fields] == ["0", "0", "1", "2", "2"]
    best, second = toy_translator.translate_nbest(["one two"], 2)[0]
    assert fields[0][1:] == [best.text, f"{best.score:.4f}"]
    assert fields[1][1:] == [second.text, f"{second.score:.4f}"]


def test_translations_are_written_as_pairs_that_training_reads(command, files, model):
    asked = [
        "--write-pairs",
        "back.tsv",
        "--reversed",
        "--pair-tag",
        "<bt>",
        "--scores",
        "--nbest",
        2,
    ]
    answer = command("translate", "good.en", "--model", model, *asked)
    assert (answer.code, answer.out) == (0, "4 pairs in 'back.tsv'; left out: 1 empty\n")
    pairs, _ = read_table("back.tsv")
    assert [text for _, text in pairs] == ["one", "one", "two three", "two three"]
    assert pairs[0][0] == "<bt> eins" and pairs[2][0] == "<bt> zwei drei"


def test_pairs_written_before_an_error_are_kept_and_named(command, files, model, monkeypatch):
    monkeypatch.setattr(sentences, "ARRIVING", 8)  # bytes
    asked = ["translate", "--model", model, "--write-pairs", "back.tsv"]
    answer = command(*asked, stdin=b"one\ntwo\n\xff\n")
    kept, error = answer.err.splitlines()
    assert (answer.code, answer.out) == (2, "") and "whose line 3 contains the byte 0xff" in error
    assert "the pairs of the first 2 sources are kept in '.unfinished-back.tsv'" in kept
    assert Path(".unfinished-back.tsv").read_text() == "one\teins\ntwo\tzwei\n"
    again = command(*asked, stdin=b"one\n")
    assert again.code == 2 and "'.unfinished-back.tsv' next to it. Rename" in again.err
    assert not Path("back.tsv").exists()


@pytest.mark.slow
def test_a_model_is_trained_further_and_resumes(command, files, model):
    """It learns a new word and keeps the words that it already had."""
    from conftest import TOY, toy_pairs

    new = [("zero", "nöll")]
    new += [(f"zero {word}", f"nöll {TOY[word]}") for word in TOY]
    new += [(f"{word} zero", f"{TOY[word]} nöll") for word in TOY]
    lines = [f"{source}\t{target}\n" for source, target in new] * 3
    Path("new.tsv").write_text("".join(lines))
    Path("all.tsv").write_text("".join(lines + [f"{a}\t{b}\n" for a, b in toy_pairs()]))
    options = ["--learning-rate", 0.01, "--epochs", 14, "--batch-tokens", 128]
    options += ["--ema-momentum", 0.9]
    updated = ["--update-vocabulary", "append", "--vocabulary-pairs", "new.tsv"]
    asked = ["train", "all.tsv", "--valid-source", "new.tsv", "--from", model, "--out", "run"]
    answer = command(*asked, *options, *updated)
    assert answer.code == 0, answer.err
    assert "new tokens in the source" in answer.out
    stdin = b"one zero\nthree four\n"
    assert command("translate", "--model", "run", stdin=stdin).out == "eins nöll\ndrei vier\n"
    again = command(*asked, *options, *updated)
    assert again.code == 2 and "run ended after" in again.err
    other = command(*asked[:4], "--from", "cut.keras", "--out", "run", *options)
    assert other.code == 2 and "A run resumes with the model it began with" in other.err


@pytest.mark.slow
def test_links_between_words_are_appended_in_pharaoh_form(command, model, toy_translator):
    """Source first: with a prefix, the text has more words than the source."""
    asked = ["translate", "--model", model, "--alignment"]
    answer = command(*asked, stdin=b"one two\n\n")
    (found,) = toy_translator.translate(["one two"])
    assert answer.out == f"eins zwei ||| {links_of(found)}\n ||| \n"
    answer = command(*asked, "--prefix", "vier drei", stdin=b"one\n")
    (found,) = toy_translator.translate(["one"], prefixes=["vier drei"])
    assert answer.out == f"{found.text} ||| {links_of(found)}\n"
    assert {link.split("-")[0] for link in links_of(found).split()} == {"0"}


@pytest.mark.slow
def test_links_are_to_the_words_of_a_text_with_copies(command, model):
    """Letters after an unknown token belong to the word that is copied in its place."""
    asked = ["--alignment", "--prefix", "☃er", "--beam-width", 1]
    plain, copied = (
        command("translate", "--model", model, *asked, *more, stdin=b"one two\n").out.split(" ||| ")
        for more in ([], ["--replace-unknown"])
    )
    unknown, letters, *rest = plain[0].split()
    assert (unknown, letters) == ("⁇", "er") and copied[0].split() == ["oneer", *rest]
    for text, links in (plain, copied):
        targets = {int(link.split("-")[1]) for link in links.split()}
        assert targets == {*range(len(text.split()))}


def links_of(one):
    return format_pharaoh(word_links(one.source_tokens, one.target_tokens, one.alignment))


@pytest.mark.slow
def test_the_search_can_be_changed(command, model, toy_translator):
    options = ["--beam-width", 2, "--length-normalization", 0, "--nbest", 2]
    answer = command("translate", "--model", model, *options, stdin=b"one two\n")
    first, second = (float(line.split(" ||| ")[2]) for line in answer.out.splitlines())
    (forced,) = toy_translator.align([("one two", "eins zwei")])
    assert second < first == pytest.approx(forced.score * len(forced.target_tokens), abs=2e-4)


def test_every_search_option_is_an_option_of_the_commands_that_search(command):
    for name in ("translate", "evaluate", "align"):
        text = " ".join(command(name, "--help").out.split())
        for option in SearchOptions.__dataclass_fields__:
            assert f"--{option.replace('_', '-')} " in text
        assert "Minimum number of tokens in a translation, including the end token." in text
        assert "[default: the model's own]" in text


@pytest.mark.slow
def test_translations_are_drawn_and_begin_as_they_are_told_to(command, model, toy_translator):
    options = ["--temperature", 2, "--top-k", 9, "--beam-width", 3, "--seed", 4, "--nbest", 3]
    answer = command("translate", "--model", model, *options, stdin=b"one two\nfive\n")
    search = SearchOptions(temperature=2.0, top_k=9, beam_width=3, seed=4)
    drawn = toy_translator.translate_nbest(["one two", "five"], search=search)
    assert [line.split(" ||| ")[1] for line in answer.out.splitlines()] == [
        draw.text for draws in drawn for draw in draws
    ]
    answer = command("translate", "--model", model, "--prefix", "vier", stdin=b"one two\n\none\n")
    first, empty, second = answer.out.splitlines()
    assert first.startswith("vier") and second.startswith("vier") and not empty
    (expected,) = toy_translator.translate(["one two"], prefixes=["vier"])
    answer = command("align", "--model", model, "one two", "--prefix", "vier")
    assert answer.out.splitlines()[0] == expected.text == first


@pytest.mark.slow
def test_evaluation_as_json_and_as_text(command, files, model):
    pairs = ["good.en", "good.de"]
    asked = ["--json", "new.json", "--hypotheses", "new.de", "--plot", "new.png"]
    asked += ["--metrics", "bleu,chrf,wer"]
    answer = command("evaluate", "--model", model, *pairs, *asked, "--compare", "good.en")
    scores = json.loads((files / "new.json").read_text())
    assert "against good.en\nBLEU" in answer.out and len(scores["compared"]) == 3
    assert scores["wer"] == 0 and scores["compared"][2]["baseline"] > 0
    assert scores["wer_interval"] == [0, 0]
    assert f"WER         0.00   95% from 0.00 to 0.00   {scores['wer_signature']}\n" in answer.out
    assert (files / "new.png").read_bytes().startswith(b"\x89PNG")
    assert (scores["sentences"], scores["skipped"], scores["cut"]) == (3, 1, 0)
    assert scores["chrf"] > 90 and scores["perplexity"] < 1.5
    assert (files / "new.de").read_text() == "eins\n\nzwei drei\n"
    (files / "gold").write_text("0-0\n\n0-0 1-1\n")
    both = ["--compare", model, "--alignments", "gold"]
    answer = command("evaluate", "--model", model, *pairs, *both)
    assert "alignment   " in answer.out and "p = " in answer.out
    low, high = scores["bleu_interval"]
    line = f"BLEU        {scores['bleu']:.2f}   95% from {low:.2f} to {high:.2f}   "
    assert f"{line}{scores['bleu_signature']}\n" in answer.out


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_models_with_features_in_different_places_are_compared_on_a_pipe(
    command, files, model, toy_translator
):
    from keras_bahdanau import Translator
    from keras_bahdanau.sources import TextSource

    source = TextSource(toy_translator.source.subwords, "first")
    Translator(source, toy_translator.model, toy_translator.target).save(files / "first.keras")
    text = "one\teins\tN;SG\ntwo four\tzwei vier\tN;PL\n" * 2
    (files / "table.tsv").write_text(text)
    os.mkfifo(files / "pipe.tsv")
    writer = threading.Thread(target=(files / "pipe.tsv").write_text, args=[text], daemon=True)
    writer.start()
    metrics = ["--metrics", "chrf", "--tag", "two", "--json"]
    asked = ["--model", model, "--compare", "first.keras", *metrics, "both.json"]
    assert command("evaluate", "pipe.tsv", *asked).code == 0
    asked = ["--model", "first.keras", *metrics, "one.json"]
    assert command("evaluate", "table.tsv", *asked).code == 0
    both, one = (json.loads((files / f"{name}.json").read_text()) for name in ("both", "one"))
    assert both["compared"][0]["baseline"] == pytest.approx(one["chrf"])


LONG = {  # commands, and the beginning of a line that the terminal shows
    "evaluate --model RUN good.en good.de --batch-size 1": "2 of 3 sentences",
    "evaluate --model RUN good.en good.de": "computing scores",
    "tune --model RUN good.en good.de --beam-widths 1 --metric chrf --dry-run": (
        "search 2 of 2: 3 of 3 sentences"
    ),
    "calibrate --model RUN good.en good.de --dry-run": "3 of 3 sentences",
    "train good.en good.de --out new --epochs 1 --units 8": "making vocabularies",
}


@pytest.mark.slow
@pytest.mark.parametrize("asked", LONG)
def test_the_progress_of_long_work_is_shown_on_a_terminal(
    command, files, model, monkeypatch, asked
):
    stderr = Terminal()
    monkeypatch.setattr(sys, "stderr", stderr)
    answer = command(*asked.replace("RUN", str(model)).split())
    shown = stderr.shown()
    assert any(line.startswith(LONG[asked]) for line in shown) and "\033" not in answer.out
    # All progress lines are removed.
    assert shown[-1] == "" or shown[-1].startswith("keras-bahdanau: ")


def test_the_scores_of_a_model_stay_if_the_other_one_fails(command, files, model, monkeypatch):
    from keras_bahdanau.cli.compared_system import ComparedSystem

    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(ComparedSystem, "lines", interrupted)
    outputs = ["--json", "first.json", "--hypotheses", "first.de"]
    answer = command(
        *("evaluate", "--model", model, "good.en", "good.de", "--compare", model, *outputs)
    )
    assert answer.code == 130 and answer.out.startswith("BLEU ") and "against" not in answer.out
    scores = json.loads((files / "first.json").read_text())
    assert scores["chrf"] > 90 and "compared" not in scores
    assert (files / "first.de").read_text() == "eins\n\nzwei drei\n"


def test_a_model_to_compare_with_is_loaded_before_the_first_one_decodes(
    command, files, model, monkeypatch
):
    from keras_bahdanau import evaluation
    from keras_bahdanau.pipelines.archive import read_card, write_search

    other = files / "other.keras"
    shutil.copyfile(model / "translator.keras", other)
    write_search(other, {**read_card(other)["search"], "ctc_weight": 0.3})  # the model has no CTC
    monkeypatch.setattr(evaluation, "evaluate", None)  # calling it would raise an error
    answer = command("evaluate", "--model", model, "good.en", "good.de", "--compare", other)
    assert answer.code == 2 and "Received: ctc_weight=0.3" in answer.err


def test_the_processes_of_a_distillation_load_what_the_command_has(
    command, files, model, monkeypatch
):
    """They also recognize it, because the loading function is equal after pickling."""
    from keras_bahdanau.distillation import student

    given = []

    def distill(*_, load, **__):
        given.append(load)
        return "new"

    monkeypatch.setattr(student, "distill", distill)
    pairs = ["good.en", "good.de", "--valid-source", "good.en", "--valid-target", "good.de"]
    asked = ["--teacher", model, "--out", "new", "--import", "json"]
    assert command("distill", *pairs, *asked).code == 0
    (load,) = given
    assert pickle.loads(pickle.dumps(load)) == load and load.modules == ("json",)


@pytest.fixture
def short(toy_translator, tmp_path):
    """A translator that stops after two tokens unless its search options improve."""
    from keras_bahdanau.pipelines.tasks import Translator

    path = tmp_path / "short.keras"
    search = SearchOptions(beam_width=1, length_normalization=0.0)
    source, target = toy_translator.source, toy_translator.target
    Translator(source, toy_translator.model, target, search).save(path)
    return path


def test_a_tokenization_that_must_be_downloaded_says_so_without_a_network(monkeypatch):
    class Offline:
        TOKENIZERS = sacrebleu.metrics.BLEU.TOKENIZERS

        def __init__(self, tokenize):
            raise urllib.error.URLError("offline")

    monkeypatch.setattr(sacrebleu.metrics, "BLEU", Offline)
    with pytest.raises(OSError, match="must download a model .* tokenize='flores101' .*offline"):
        check_tokenization("flores101")


@pytest.mark.slow
def test_tuning_leaves_a_model_whose_options_are_as_good(command, files, short):
    before = short.read_bytes()
    grid = ["--beam-widths", "1,2", "--length-normalizations", "1", "--length-penalties", "power"]
    answer = command("tune", "--model", short, "good.en", "good.de", *grid)
    assert answer.code == 2 and "Received: metric='bleu'. BLEU is meaningless for" in answer.err
    answer = command("tune", "--model", short, "good.en", "good.de", *grid, "--metric", "chrf")
    assert answer.code == 0
    header, *rows, conclusion = answer.out.splitlines()
    assert header.split() == ["beam", "penalty", "exponent", "chrF", "length", "seconds"]
    assert [row.split()[0] for row in rows] == ["1", "2"] and rows[0].endswith("(now)")
    assert "keeps its own options" in conclusion and short.read_bytes() == before


def wider_is_better(pipeline, pairs, searches, batch_size, tell, metric, **_):
    """Replace `evaluation.tune` with a function whose score depends only on the search options."""
    from keras_bahdanau import evaluation

    metric = metric or pipeline.metrics[0]
    sign = 1 if evaluation.metrics_of([metric])[0].higher_is_better else -1
    trials = [
        evaluation.Trial(
            each, 50 + sign * (each.beam_width + 10 * each.ctc_weight), 1.0, 1.0, metric
        )
        for each in searches
    ]
    [*map(tell, trials)]
    return sorted(trials, key=lambda trial: trial.loss)


@pytest.mark.few(1)
@pytest.mark.parametrize("dry", [False, True])
def test_tuning_writes_what_is_better_unless_it_is_a_trial(command, files, short, dry, monkeypatch):
    from keras_bahdanau import evaluation
    from keras_bahdanau.pipelines.archive import read_card, write_calibration
    from keras_bahdanau.pipelines.confidence import TEXT_FEATURES, WORD_FEATURES, Calibration

    kinds = TEXT_FEATURES, WORD_FEATURES
    write_calibration(short, Calibration(*({"bias": 0, **dict.fromkeys(k, 1)} for k in kinds)))
    monkeypatch.setattr(evaluation, "tune", wider_is_better)
    before = short.read_bytes()
    grid = ["--beam-widths", "3", "--length-normalizations", "1.2", "--length-penalties", "gnmt"]
    answer = command("tune", "--model", short, "good.en", "good.de", *grid, *["--dry-run"] * dry)
    chosen = "chosen: beam_width=3, length_penalty=gnmt, length_normalization=1.2: BLEU 53.00, now "
    assert f"{chosen}51.00, the highest is 53.00\n" in answer.out
    assert ("`calibrate` the model again" in answer.err) == (not dry)
    if dry:
        assert short.read_bytes() == before
    else:
        search = SearchOptions(beam_width=3, length_penalty="gnmt", length_normalization=1.2)
        assert SearchOptions(**read_card(short)["search"]) == search


@pytest.mark.slow
def test_a_model_with_ctc_is_tuned_by_its_own_metric_with_shares_of_ctc(
    command, tmp_path, monkeypatch
):
    import numpy as np
    import tensorflow as tf

    from keras_bahdanau import ImageToText, evaluation, presets
    from keras_bahdanau.pipelines.archive import read_card
    from keras_bahdanau.sources import ImageSource

    monkeypatch.setattr(evaluation, "tune", wider_is_better)
    target = Subwords.train(["a b c"], 8, model_type="word", exact=False)
    source = ImageSource(16, 48)
    model = presets.small(
        source, target, embedding_units=4, units=4, attention_units=4, ctc_weight=0.2
    )
    search = SearchOptions(beam_width=1, ctc_weight=0.3)
    path = tmp_path / "images.keras"
    ImageToText(source, model, target, search).save(path)
    image = tf.io.encode_png(np.eye(16, 8, dtype=np.uint8)[..., np.newaxis] * 255).numpy()
    (tmp_path / "a.png").write_bytes(image)
    (tmp_path / "valid.tsv").write_text("a.png\ta b\n")
    grid = ["--beam-widths", "2", "--length-normalizations", "1", "--length-penalties", "power"]
    answer = command("tune", "--model", path, tmp_path / "valid.tsv", *grid)
    header, *rows, chosen, _ = answer.out.splitlines()
    assert header.split() == ["beam", "penalty", "exponent", "CTC", "exact", "length", "seconds"]
    columns = [(row.split()[0], row.split()[3]) for row in rows]
    assert columns == [("1", "0.3"), ("2", "0.3"), ("2", "0.4"), ("2", "0.5")]
    assert chosen.endswith(", ctc_weight=0.5: exact 57.00, now 54.00, the highest is 57.00")
    assert read_card(path)["search"]["ctc_weight"] == 0.5
    errors = [*grid, "--metric", "wer", "--ctc-weights", "0", "--tolerance", "0"]
    answer = command("tune", "--model", path, tmp_path / "valid.tsv", *errors)
    assert answer.out.splitlines()[-1].endswith("its own options: WER 43.00, the lowest is 43.00")
    few = ["--beam-widths", "3", "--length-penalties", "power", "--ctc-weights", "0", "--dry-run"]
    answer = command("tune", "--model", path, tmp_path / "valid.tsv", *few)
    rows = [line.split() for line in answer.out.splitlines()]
    assert [row[2] for row in rows if row[0] == "3"] == ["0.5", "1", "1.5", "2"]


@pytest.mark.parametrize(
    "ending, start",
    [("png", b"\x89PNG"), pytest.param("pdf", b"%PDF", marks=pytest.mark.slow)],
)
def test_an_alignment_is_printed_and_drawn(command, tmp_path, model, toy_translator, ending, start):
    picture = tmp_path / f"alignment.{ending}"
    answer = command("align", "--model", model, "one two", "--plot", picture, "--subwords")
    text, links = answer.out.splitlines()
    assert (answer.code, text) == (0, "eins zwei")
    assert links == links_of(*toy_translator.translate(["one two"]))
    assert picture.read_bytes().startswith(start)


@pytest.mark.slow
@pytest.mark.parametrize("sentence", ["one two", ""])
def test_the_steps_of_a_translation_are_drawn(command, tmp_path, model, sentence):
    picture = tmp_path / "trace.png"
    answer = command("align", "--model", model, sentence, "--trace", picture)
    assert answer.code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_steps_that_a_translation_lacks_are_told(command, tmp_path, model):
    asked = ["one two", "--trace", tmp_path / "trace.png", "--trace-steps"]
    assert command("align", "--model", model, *asked, "2-3").code == 0
    (tmp_path / "trace.png").unlink()
    answer = command("align", "--model", model, *asked, "2-9")
    assert answer.code == 2 and "Received: trace_steps='2-9'" in answer.err
    assert answer.out.startswith("eins zwei\n") and [*tmp_path.iterdir()] == []


@pytest.mark.slow
def test_an_empty_sentence_has_an_empty_alignment(command, model):
    assert command("align", "--model", model, "") == (0, "\n\n", "")


@pytest.mark.slow
def test_a_saved_model_gets_the_next_version(command, tmp_path, model):
    out = tmp_path / "served"
    (out / "1").mkdir(parents=True)
    answer = command("export", "--model", model, "--format", "saved-model", "--out", out)
    assert (answer.code, answer.out) == (0, f"{out / '2'}\n")
    assert (out / "2" / "saved_model.pb").is_file()


@pytest.mark.slow
def test_a_litert_file_is_written_in_8_bits(command, tmp_path, model):
    out = tmp_path / "translator.tflite"
    options = ["--format", "litert", "--quantization", "int8", "--out", out]
    answer = command("export", "--model", model, *options)
    assert (answer.code, answer.out) == (0, f"{out}\n")
    assert json.loads(zipfile.ZipFile(out).read("card.json"))["quantization"] == "int8"


@pytest.mark.slow
def test_all_formats_are_written_and_compared(command, files, model):
    from keras_bahdanau.sources import TextSource

    compared = ["--sentences", "good.en", "--references", "good.de"]
    answer = command("export", "--model", model, "--format", "all", "--out", "all", *compared)
    assert answer.code == 0
    assert answer.out.splitlines() == [
        os.path.join("all", name)
        for name in ("1", "model.float32.tflite", "model.float16.tflite", "model.int8.tflite")
    ]
    lines = [line.split() for line in answer.err.splitlines()]
    inputs = str(len(TextSource.edge_cases) + 3)
    for row in ("Keras", "SavedModel", "LiteRT float32", "LiteRT float16", "LiteRT int8"):
        begins = [*f"{row}:".split(), inputs, "inputs", "to", "translate,"]
        assert begins in [line[: len(begins)] for line in lines]
    (columns,) = (line for line in lines if line[:2] == ["size", "MB"])
    assert {*"equal n-best refused score alignment p50 BLEU chrF".split()} <= {*columns}
    assert len(json.loads((files / "all" / "parity.json").read_bytes())) == 5
    digest = hashlib.sha256((files / "all" / "model.int8.tflite").read_bytes()).hexdigest()
    assert [digest, "all/model.int8.tflite"] in lines


def test_check_tells_what_an_artefact_says_of_itself(
    command, toy_saved_model, toy_litert, tmp_path
):
    served, phone = command("check", toy_saved_model), command("check", toy_litert)
    assert (served.code, phone.code) == (0, 0)
    assert "translate_nbest: text\n" in served.out and "SavedModel " in served.out
    outputs = "alignment, confidence, finished, ids, length, score"
    assert (
        f"translate: source -> {outputs}, token_entropies, token_log_probs, token_words\n"
        in phone.out
    )
    digest = json.loads(zipfile.ZipFile(toy_litert).read("card.json"))["sha256"]["model"]
    assert f"sha256 {digest}\n" in phone.out
    changed = bytearray(toy_litert.read_bytes())
    changed[len(changed) // 4] ^= 1
    (tmp_path / "changed.tflite").write_bytes(changed)
    answer = command("check", tmp_path / "changed.tflite")
    assert answer.code == 1 and answer.out.count("\n") == 1 and "sha256" in answer.out


@pytest.mark.slow
def test_training_holds_pairs_out_and_is_left_alone_when_it_has_ended(command, tmp_path):
    from conftest import toy_pairs

    data, out = tmp_path / "pairs.tsv", tmp_path / "run"
    data.write_text("".join(f"{source}\t{target}\n" for source, target in toy_pairs()))
    types = ["--source-model-type", "char", "--target-model-type", "word"]
    options = ["--batch-tokens", 512, *TINY, "--vocabulary-size", 6000, *types]
    answer = command("train", data, "--out", out, *options)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("4 pairs are held out for validation\n")
    assert re.search("^training on the [CG]PU$", answer.out, re.M)
    for side, size in (("source", 16), ("target", 9)):
        line = f"the {side} vocabulary has {size} tokens, not 6,000: the text has no more\n"
        assert answer.out.count(line) == 1
    assert answer.out.endswith(f"\nThe model: {out / 'translator.keras'}\n")
    assert command("translate", "--model", out, stdin=b"one\n").out.count("\n") == 1
    again = command("train", data, "--out", out, *options)
    assert again.code == 2 and "run ended after 1 epoch. Received: out=" in again.err


@pytest.mark.slow
def test_each_side_has_a_vocabulary_of_its_own(command, tmp_path):
    from conftest import toy_pairs

    from keras_bahdanau import Translator

    data, out = tmp_path / "pairs.tsv", tmp_path / "run"
    data.write_text("".join(f"{source}\t{target}\n" for source, target in toy_pairs()))
    types = ["--source-model-type", "char", "--target-model-type", "bpe"]
    sizes = ["--source-vocabulary-size", 16, "--target-vocabulary-size", 6000]
    answer = command("train", data, "--out", out, "--batch-tokens", 1024, *TINY, *types, *sizes)
    assert (answer.code, answer.err) == (0, "")
    (said,) = [line for line in answer.out.splitlines() if "vocabulary has" in line]
    assert said.startswith("the target vocabulary has ") and "not 6,000" in said
    translator = Translator.load(out / "translator.keras")
    assert translator.source.size == 16
    (read,) = translator.align([("one two", "eins zwei")])
    assert read.source_tokens == [*"▁one▁two", "</s>"]
    assert read.target_tokens == ["▁eins", "▁zwei", "</s>"]
    assert command("translate", "--model", out, stdin=b"one\n").out.count("\n") == 1


@pytest.mark.slow
def test_a_training_has_the_options_of_a_preset_and_alignments(command, tmp_path):
    from conftest import toy_pairs

    data, links, out = tmp_path / "pairs.tsv", tmp_path / "links", tmp_path / "run"
    data.write_text("".join(f"{source}\t{target}\n" for source, target in toy_pairs()))
    links.write_text("0-0\n" * len(toy_pairs()))
    options = ["--preset", "rnnsearch", "--model-type", "char", "--vocabulary-size", 16]
    guided = ["--alignments", links, "--guided-alignment", 0.5]
    answer = command("train", data, "--out", out, *TINY[2:], *options, *guided)
    assert (answer.code, answer.err) == (0, "")
    card = json.loads((out / "run.json").read_text())
    assert (card["options"]["optimizer"], card["options"]["units"]) == ("adadelta", 8)
    assert "alignments" in card["data"] and "valid_alignments" in card["data"]


def test_held_out_pairs_are_spread_evenly_and_not_empty():
    pairs = [("", ""), *((str(number), "x") for number in range(200_000))]
    assert training_files.held_out(pairs) == set(range(1, 200_001, 200))
    assert len(training_files.held_out(pairs[:102])) == 3


def test_the_answers_to_one_source_are_held_out_together():
    pairs = [*(("a", str(number)) for number in range(7)), ("b", "x"), ("a", "y")]
    assert training_files.held_out(pairs) == {0, 1, 2, 3, 4, 5, 6, 8}
    with pytest.raises(ValueError, match="Received: 1 source with text"):
        training_files.held_out(pairs[:7])


def test_the_alignments_of_held_out_pairs_are_held_out():
    data = training_files.Data([("a", "x"), ("b", "y"), ("c", "z")], [{(0, 0)}, set(), {(0, 1)}])
    kept, valid = data.split({1})
    assert kept == ([("a", "x"), ("c", "z")], [{(0, 0)}, {(0, 1)}], ())
    assert valid == ([("b", "y")], [set()], ())
    assert data._replace(alignments=None).split({1})[1].alignments is None


def test_a_reader_that_leaves_ends_the_program_quietly(
    model, files, monkeypatch, capsys, loaded_once
):
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w") as output, pytest.raises(SystemExit) as ended:
        monkeypatch.setattr(sys, "stdout", output)
        cli.main(["translate", "--model", str(model), "good.en"])
    assert (ended.value.code, capsys.readouterr().err) == (141, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a disk always full")
def test_a_full_disk_gets_one_line(model, files, monkeypatch, capsys, loaded_once):
    with open("/dev/full", "w") as output, pytest.raises(SystemExit) as ended:
        monkeypatch.setattr(sys, "stdout", output)
        cli.main(["translate", "--model", str(model), "good.en"])
    assert ended.value.code == 2
    assert capsys.readouterr().err == "keras-bahdanau: No space left on device\n"


@pytest.mark.slow
def test_control_c_gets_one_line(model, monkeypatch, capsys):
    reader, writer = os.pipe()  # never written to
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs have none
    timer = threading.Timer(2.0, os.kill, [os.getpid(), signal.SIGINT])
    timer.start()
    with open(reader) as standard_input, pytest.raises(SystemExit) as ended:
        monkeypatch.setattr(sys, "stdin", standard_input)
        cli.main(["translate", "--model", str(model)])
    timer.join()
    os.close(writer)
    signal.signal(signal.SIGINT, before)
    assert (ended.value.code, capsys.readouterr().err) == (130, "keras-bahdanau: interrupted.\n")


@pytest.mark.slow
def test_a_calibrated_model_leaves_out_what_it_is_not_sure_of(command, files, short):
    """Half of the references are in another language, which no confidence can predict."""
    from conftest import toy_pairs

    from keras_bahdanau.pipelines.archive import read_card
    from keras_bahdanau.pipelines.confidence import calibration_of

    pairs = [
        (source, "nein" if number % 2 else target)
        for number, (source, target) in enumerate(toy_pairs())
    ]
    (files / "held.tsv").write_text("".join(f"{one}\t{other}\n" for one, other in pairs))
    before = short.read_bytes()
    asked = "calibrate", "--model", short, "held.tsv", "--metric", "exact"
    trial = command(*asked, "--dry-run", "--plot", "curve.png")
    assert trial.code == 0 and trial.out.endswith("the model is unchanged\n")
    assert short.read_bytes() == before and (files / "curve.png").stat().st_size > 1000
    answer = command(*asked)
    texts, words, heading, *rows, written = answer.out.splitlines()
    count, _, share, *_ = texts.split()
    assert int(count) == len(pairs) and texts.endswith("(exact >= 100)")
    # The model is right for nearly all references in its own language, half of the total.
    assert 45 < float(share.rstrip("%")) < 50.5
    assert "words" in words and heading.split() == ["AUC", "ECE", "Brier"]
    assert [row.split()[:2] for row in rows] == [
        [part, kind] for part in ("texts", "words") for kind in ("raw", "calibrated")
    ]
    raw, calibrated = (float(row.split()[3]) for row in rows[:2])
    assert calibrated < 0.25 < raw and written.endswith(str(short))
    assert calibration_of(read_card(short)).metric == "exact"

    reject = "translate", "--model", short, "--reject-below"
    translated = command(*reject, "0.99", stdin=b"one two\n")
    assert (translated.code, translated.out) == (0, "\n")
    assert "1 of 1 outputs are left out because their confidence is below" in translated.err
    options = "--json", "--reject-below", "0.99"
    line = json.loads(command("translate", "--model", short, *options, stdin=b"one two\n").out)
    # Right and wrong texts get the same confidence, and half of them are wrong.
    assert (line["text"], line["rejected"]) == ("", True) and 0.25 < line["confidence"] < 0.75
    assert [word["word"] for word in line["words"]] == ["eins", "zwei"]
    assert len(line["tokens"]) == len(line["token_log_probs"]) == len(line["token_entropies"])
    assert "calibrated" not in translated.err
    other = command(*reject, "0.99", "--beam-width", "2", stdin=b"one two\n")
    assert "were calibrated with other search options and may be inaccurate" in other.err
    shutil.copy(short, "other.keras")
    both = command(*reject, "0.1", "--model", "other.keras", stdin=b"one two\n")
    assert both.code == 0 and "an ensemble is not calibrated" in both.err
    sure = command(*reject, "0", stdin=b"one two\n")
    assert sure.out == "eins zwei\n" and "0 of 1 outputs" in sure.err
