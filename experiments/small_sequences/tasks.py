"""Tasks as plain data: files, columns, metrics, training settings, published figures."""

import dataclasses
from typing import NamedTuple

PAIRS = "source,target"


class Kind(NamedTuple):
    """An example: metrics, the first of which ranks systems, and signatures of the .tflite file."""

    metrics: tuple
    signatures: tuple


KINDS = {
    "pronounce": Kind(("ser", "per", "top5"), ("greedy", "nbest")),
    "transliterate": Kind(("exact", "cer", "top2", "top3"), ("greedy", "nbest", "prefix")),
    "inflect": Kind(("exact", "cer"), ("greedy", "nbest")),
}
LONGEST = 64  # target tokens in a .tflite file, and source tokens if the task sets no number


class Figure(NamedTuple):
    """Published figure for the first metric of a task.

    Attributes:
        value: Float. In percent.
        system: String. Name of the system, with any other details a reader needs.
        read: Bool. True if it was read in the source, False if it is recalled from memory.
    """

    value: float
    system: str
    read: bool = True

    def __str__(self):
        return f"{self.value:g} ({self.system}{'' if self.read else '; recalled'})"


@dataclasses.dataclass(frozen=True)
class Task:
    """Task with a training file and a dev file.

    Attributes:
        name: String. A unique name.
        group: String. A group of tasks whose mean is a table row.
        kind: String. A key of `KINDS`.
        train: String. Path of the training file below the data directory.
        dev: String. Path of the dev file below the data directory.
        columns: String. Columns of both files; our commands detect them.
        symbols: Bool. True if spaces separate the tokens of a target, such as "R EH D"; this is
            passed to the peers.
        longest_source: Integer. Number of source tokens in a .tflite file, at least a third more
            than the longest source in both files. The cost of hard attention is quadratic in it.
    """

    name: str
    group: str
    kind: str
    train: str
    dev: str
    columns: str = PAIRS
    symbols: bool = True
    longest_source: int = LONGEST

    @property
    def metrics(self):
        return KINDS[self.kind].metrics


_WORD, _LONG_WORD = {"longest_source": 32}, {"longest_source": 40}
_LONGEST_SOURCES = {  # source tokens for words; Vietnamese words have several syllables
    **{"eng_us": {}, "vie_hanoi": {}},
    **dict.fromkeys(("dut", "kor", "wel_sw"), _LONG_WORD),
}


def _sigmorphon_2021():
    for size, languages in {
        "high": ("eng_us",),
        "medium": (
            *("arm_e", "bul", "dut", "fre", "geo", "hbs_latn", "hun", "jpn_hira", "kor"),
            "vie_hanoi",
        ),
        "low": (*("ady", "gre", "ice", "ita", "khm", "lav", "mlt_latn", "rum", "slv", "wel_sw"),),
    }.items():
        for language in languages:
            path = f"g2p/sigmorphon2021/develop/{size}/{language}"
            files = f"{path}_train.tsv.gz", f"{path}_dev.tsv.gz"
            longest = _LONGEST_SOURCES.get(language, _WORD)
            yield Task(language, f"sigmorphon-2021-{size}", "pronounce", *files, **longest)


def _wikidata():
    for script in ("katakana", "russian", "arabic", "hebrew", "korean"):
        path = f"transliteration/wikidata/develop/wd_{script}"
        files = f"{path}_64.tsv.gz", f"{path}_16.tsv.gz"
        yield Task(f"wd-{script}", "wikidata", "transliterate", *files, "source,target,count")


def _inflection():
    for size in ("high", "medium"):
        for language in (
            *("german", "finnish", "spanish", "turkish", "russian", "arabic", "english"),
            "hungarian",
        ):
            path = f"inflection_sigmorphon2017/develop/{language}"
            yield Task(
                *(f"{language}-{size}", f"inflection-{size}", "inflect"),
                *(f"{path}-train-{size}.tsv.gz", f"{path}-dev.tsv.gz"),
                *("source,target,features", False),
            )


_CMUDICT = "g2p/cmudict/develop/train.tsv.gz", "g2p/cmudict/develop/dev.tsv.gz"
_AR2EN = "transliteration/google_ar2en/develop/ar2en"
ALL = (
    Task("cmudict", "cmudict", "pronounce", *_CMUDICT, **_WORD),
    *_sigmorphon_2021(),
    *_wikidata(),
    Task(
        *("ar2en", "google", "transliterate", f"{_AR2EN}-train.txt.gz", f"{_AR2EN}-eval.txt.gz"),
        symbols=False,
    ),
    *_inflection(),
)
TASKS = {task.name: task for task in ALL}

# All are for the official tests unless a note says otherwise; ours and the peers' are for dev.
_BASELINE = "baseline of SIGMORPHON 2021, an ensemble of neural transducers"
_OF_LANGUAGES = {
    **{"eng_us": 41.94},
    **{"arm_e": 7.0, "bul": 18.3, "dut": 14.7, "fre": 8.5, "geo": 0.0, "hbs_latn": 32.1},
    **{"hun": 1.8, "jpn_hira": 5.2, "kor": 16.3, "vie_hanoi": 2.5},
    **{"ady": 22, "gre": 21, "ice": 12, "ita": 19, "khm": 34, "lav": 55, "mlt_latn": 19},
    **{"rum": 10, "slv": 49, "wel_sw": 10},
}
PUBLISHED = {  # for a task or for a group's mean, best first
    "cmudict": (
        Figure(19.88, "Sun et al. 2019, Transformer, also taught by an ensemble on other words"),
        Figure(20.24, "Toshniwal and Livescu 2016, global attention, five models"),
        Figure(20.6, "g2p-seq2seq, Transformer of 3 layers of 256, one model"),
        Figure(21.7, "Toshniwal and Livescu 2016, one model", read=False),
        Figure(22.1, "Yolchuyeva et al. 2019, Transformer", read=False),
        Figure(24.4, "Phonetisaurus, in the table of g2p-seq2seq"),
    ),
    **{name: (Figure(value, _BASELINE),) for name, value in _OF_LANGUAGES.items()},
    "sigmorphon-2021-medium": (Figure(10.64, _BASELINE),),
    "sigmorphon-2021-low": (
        Figure(24.1, "best system of SIGMORPHON 2021"),
        Figure(25.10, _BASELINE),
    ),
    "wd-russian": (
        Figure(60, "Merhav and Ash 2018, tensor2tensor; 71 with two answers, 75 with three"),
    ),
    "inflection-high": (
        Figure(95.6, "Transformer, mean of 52 languages", read=False),
        Figure(95.3, "best soft attention, mean of 52 languages", read=False),
    ),
    "turkish-medium": (
        Figure(89.4, "yoyodyne's tests, pointer-generator rotary Transformer"),
        Figure(86.3, "the same, pointer-generator LSTM"),
        Figure(84.1, "the same, soft attention LSTM"),
    ),
}
SUMMARIZED = {  # groups, and tasks with no group or with their own goal -> description
    "cmudict": "CMUdict, phonemes of 101,347 words",
    "eng_us": "American English, phonemes of 33,344 words",
    "sigmorphon-2021-medium": "phonemes of 8,000 words, ten languages, mean",
    "sigmorphon-2021-low": "phonemes of 800 words, ten languages, mean",
    "wikidata": "names to five scripts, mean",
    "wd-russian": "of these, Russian",
    "ar2en": "Arabic names to Latin letters",
    "inflection-high": "inflection, 10,000 forms, eight languages, mean",
    "inflection-medium": "inflection, 1,000 forms, eight languages, mean",
    "turkish-medium": "of these, Turkish",
}

# Options of `train` in addition to `--preset characters`.
_SMALL = ("--units", "152", "--attention-units", "72", "--embedding-units", "72")  # 400 kB
_HARD = ("--hard-alignment", "first-monotonic")  # the preset's default from letters to phonemes
_SOFT = ("--hard-alignment", "none")  # its default for all other tasks
_UNKNOWN = ("--unknown-rate", "0.1")  # for inflection; the preset uses 0.2 for up to 5,000 forms
_KNOWN = ("--unknown-rate", "0")  # the preset's earlier default
_FEATURES_FIRST = ("--columns", "source,target,features-first")  # for inflection
_COPY = ("--copy",)  # if source and target share characters: inflection
_LARGE = (
    *("--units", "352", "--encoder-units", "176", "--depth", "2", "--dropout", "0.3"),
    *("--batch-sentences", "256", "--learning-rate", "2e-3", "--precision", "bfloat16"),
    *("--epochs", "60", "--epoch-steps", "1", "--patience", "60"),
)  # for a hundred thousand pairs, a .keras file of 4 MB
_LARGE_FURTHER = (
    *("--dropout", "0.08", "--batch-sentences", "256", "--learning-rate", "1.2e-3"),
    *("--precision", "bfloat16", "--epochs", "40", "--epoch-steps", "1", "--patience", "60"),
)
_MORE_DROPOUT = ("--dropout", "0.2")  # for a hundred thousand pairs; the preset uses 0.08
_FURTHER = (
    *("--dropout", "0.03", "--batch-sentences", "128", "--learning-rate", "1e-3"),
    *("--precision", "bfloat16", "--epochs", "30", "--epoch-steps", "1", "--patience", "60"),
)
_SMALL_LESS_DROPOUT = (*_SMALL, "--dropout", "0.05")
_SMALL_FURTHER = ("--dropout", "0.02", *_FURTHER[2:])
_LARGE_OTHER = ("--dropout", "0.12", *_LARGE_FURTHER[2:])
_TAUGHT = ("--word-distillation", "0.8", "--dropout", "0.05", *_FURTHER[2:])
_SMALL_TAUGHT = ("--word-distillation", "0.8", *_SMALL_FURTHER)
FURTHER = {  # settings that continue from a run of another setting
    **{"large-further": "large-1", "large-other": "large-1"},
    **{"further": "preset-1", "taught": "further-2"},
    **{"small-further": "small-less-dropout-1", "small-taught": "small-further-1"},
    **{"large-four-bits": "large-further-3", "small-four-bits": "medium-1"},
    **{"other-words": "large-further-3", "narrow": "large-further-3"},
    **{"other-words-four-bits": "other-words-5", "narrow-four-bits": "narrow-6"},
}
_MEDIUM = (
    *("--units", "196", "--attention-units", "104", "--embedding-units", "104"),
    *("--dropout", "0.06", "--batch-sentences", "128", "--learning-rate", "2e-3"),
    *("--precision", "bfloat16", "--epochs", "200", "--epoch-steps", "1", "--patience", "200"),
)  # for a hundred thousand pairs, 400 kB in 4 bits
_AWARE = ("--quantization-aware", "--quantization", "int4")
_FOUR_BITS = (
    *(*_AWARE, "--batch-sentences", "256", "--learning-rate", "6e-4", "--precision", "bfloat16"),
    *("--epochs", "200", "--epoch-steps", "1", "--patience", "200"),
)
_BY_TEACHERS = ("--word-distillation", "0.8", "--batch-sentences", "256", *_LARGE_FURTHER[6:])
_IN_FOUR_BITS = ("--units", "224", "--attention-units", "112", "--embedding-units", "112")  # 400 kB
_LARGE_ONES = ("large-further-3", "large-other-2")
_ON_OTHER_WORDS = ("other-words", "other-words-four-bits", "narrow", "narrow-four-bits")
TEACHERS = {  # runs of other settings, used together
    **dict.fromkeys(("taught", "small-taught"), _LARGE_ONES),
    **dict.fromkeys(_ON_OTHER_WORDS, ("large-further-3", "further-2")),
}
OTHER_WORDS = dict.fromkeys(  # files below the data directory, by setting
    _ON_OTHER_WORDS,
    (
        *("transliteration/*/develop/*", "g2p/sigmorphon2021/develop/high/*"),
        *("inflection_sigmorphon2017/develop/english-train-high.tsv.gz",),
        *("multi30k/*/train.en.gz", "mt_enja/develop/train.en.gz", "tatoeba-en-hi/hin.txt"),
    ),
)
NARROWED = {"narrow": ("--share", "0.53", "--dropout-share", "0.4")}  # options of narrow.py
LINES_WEIGHED = 2000  # training lines that narrow.py uses to choose units
HALLUCINATED, LINES_MADE = "hallucinated", 10_000  # for inflection: half of the batches
SETTINGS = {
    **{"preset": (), "soft": _SOFT, "hard": _HARD, "copy": _COPY},
    **{"small": _SMALL, "small-soft": (*_SMALL, *_SOFT), "small-hard": (*_SMALL, *_HARD)},
    **{"small-copy": (*_SMALL, *_COPY), "large": _LARGE, "large-further": _LARGE_FURTHER},
    **{"large-other": _LARGE_OTHER, "taught": _TAUGHT, "small-taught": _SMALL_TAUGHT},
    **{"more-dropout": _MORE_DROPOUT, "further": _FURTHER},
    **{"small-less-dropout": _SMALL_LESS_DROPOUT, "small-further": _SMALL_FURTHER},
    **{HALLUCINATED: (), "unknown": _UNKNOWN, "known": _KNOWN},
    **{"features-first": _FEATURES_FIRST, "medium": _MEDIUM},
    **{"large-four-bits": _FOUR_BITS, "small-four-bits": _FOUR_BITS},
    "four-bits": _IN_FOUR_BITS,
    "other-words": (*_BY_TEACHERS, "--learning-rate", "1.2e-3"),
    "narrow": (*_BY_TEACHERS, "--learning-rate", "2e-3"),
    "narrow-four-bits": (*_AWARE, *_BY_TEACHERS, "--learning-rate", "1.2e-3"),
    "other-words-four-bits": (*_AWARE, *_BY_TEACHERS, "--learning-rate", "6e-4"),
}
BESIDE = {  # published in addition to the task's main model; the first setting has precedence
    **dict.fromkeys(("other-words", "large-further", "large"), "large"),  # only a .keras file
    **dict.fromkeys(  # for devices with room for more than 1 MB
        ("other-words-four-bits", "large-four-bits"), "large-int4"
    ),
    **dict.fromkeys(("narrow-four-bits", "small-four-bits", "small-taught"), "small"),  # 400 kB
    **dict.fromkeys(("small-further", "small-less-dropout"), "small"),
}


def quantization(task, setting):
    """Return the quantization of a .tflite file: "int4" or "int8".

    The rules for splitting and joining Hangul take 173 kB of a file limited to 400 kB.
    """
    return "int4" if task.name == "kor" or setting.endswith("four-bits") else "int8"


def signatures(kind, setting):
    """Return the signatures to try for a .tflite file, and its maximum size.

    Args:
        kind: String. A key of `KINDS`.
        setting: String. A key of `SETTINGS`.

    Returns:
        (list of lists of signatures, number of bytes): all signatures, and those of a file that
        would be too large with all of them. Each takes about 10 to 20 kB.
    """
    names = [*KINDS[kind].signatures]
    small = setting.startswith(("small", "narrow")) or setting == "four-bits"
    most = 400_000 if small and kind == "pronounce" else 1_000_000
    if BESIDE.get(setting) == "large-int4":
        most = 2_000_000  # it exceeds 1 MB even without greedy search
    return [names, [name for name in names if name != "greedy"]], most


def chosen(names):
    """Return the tasks in a comma-separated text of task names, groups or kinds.

    Raises:
        ValueError: If a name is unknown.
    """
    wanted = names.split(",")
    known = {name for task in ALL for name in (task.name, task.group, task.kind)}
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise ValueError(
            "A name must be a task, a group or an example. "
            f"Received: {', '.join(unknown)}. `run.py list` prints them."
        )
    return [task for task in ALL if {task.name, task.group, task.kind} & {*wanted}]
