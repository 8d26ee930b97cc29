"""Preparation of shards: several processes filter text and split it into ids, and can resume."""

import contextlib
import dataclasses
import functools
import json
import os
import shutil
import tempfile
from pathlib import Path

from keras_bahdanau.data.filters import FilterReport
from keras_bahdanau.data.readers.lines import Unreadable
from keras_bahdanau.data.shards.block_work import (
    ENTRIES,
    SCANS,
    encode_block,
    find_repeated,
    read_scan,
    repeated_examples,
    sample_block,
    scan_block,
)
from keras_bahdanau.data.shards.ordered_work import WorkerPool, report_rate
from keras_bahdanau.data.shards.preparation import WORKERS, Preparation
from keras_bahdanau.data.shards.shards import Shards, write_card
from keras_bahdanau.files.integrity import read_sealed_json, write_sealed_json
from keras_bahdanau.files.ownership import existing, owned
from keras_bahdanau.files.whole_file import write_json
from keras_bahdanau.settings.checks import counted
from keras_bahdanau.settings.cores import usable_cores
from keras_bahdanau.settings.limits import MOST_SHARDS
from keras_bahdanau.settings.option import check_value
from keras_bahdanau.text.features import FIRST, LAST
from keras_bahdanau.text.folding import report_targets
from keras_bahdanau.text.subwords import Subwords

REPORT = "report.json"
PLAN, VOCABULARIES = "plan.json", "vocabularies.json"


def survey(corpus, settings=None, workers=None, say=print):
    """Return a `FilterReport` of the pairs that `prepare` would drop, without writing any files."""
    check_value("workers", workers, WORKERS)
    corpus.check(settings or Preparation())
    with tempfile.TemporaryDirectory() as draft, WorkerPool(workers or usable_cores()) as processes:
        (Path(draft) / SCANS).mkdir()
        return _Work(corpus, settings or Preparation(), draft, processes, say).report


def prepare(
    corpus, out, settings=None, vocabularies=None, workers=None, say=print, load=lambda: None
):
    """Write a corpus as shards of ids, completely or not at all, and return its `Shards`.

    The text is read three times: to filter it, to learn the vocabulary from a sample (unless a
    vocabulary is given), and to split it. The shards do not depend on the number of processes. If
    the process is killed, the same call resumes, and keeps all shards with correct checksums.

    Args:
        corpus: Corpus from `open_corpus`, or a `ManifestCorpus`.
        out: Path of the directory to create.
        settings: `Preparation`, or None for the defaults.
        vocabularies: (source, target), two `Subwords`, or None to learn them. The first may also be
            a `TextSource`, which keeps the position of its features. It is ignored if the corpus
            has a source.
        workers: Integer, the number of processes; None for one per core. With several processes,
            the calling program must be importable, so put the call under
            `if __name__ == "__main__":`.
        say: Function of one string, which reports progress.
        load: Function that loads TensorFlow, which is needed only for the card.

    Raises:
        BlockingIOError: If another process is preparing this directory.
        FileExistsError: If the directory exists.
        OSError: If the disk is full.
        RuntimeError: If a process was killed.
        ValueError: If a file is damaged, no pair is left, or an unfinished preparation began with
            other files or settings.

    Example:
        >>> corpus = open_corpus("train.en.gz", "train.de.gz")
        >>> shards = prepare(corpus, "corpora/en-de", Preparation(vocabulary_size=16_000))
    """
    check_value("workers", workers, WORKERS)
    settings, out = settings or Preparation(), Path(out)
    corpus.check(settings)
    plan = _plan(corpus, settings, vocabularies)
    with _draft(out, plan, say) as draft, WorkerPool(workers or usable_cores()) as processes:
        work = _Work(corpus, settings, draft, processes, say)
        say(work.report.text())
        work.check()
        source, target = vocabularies or work.vocabularies()
        source = corpus.source or source
        entries = work.shards(getattr(source, "subwords", None) or source, target)
        write_json(draft / REPORT, work.report.record())
        load()
        return _published(draft, out, entries, (source, target), plan)


class _Work:
    """The passes over a corpus. The constructor runs the filters and stores their `report`."""

    def __init__(self, corpus, settings, directory, workers, say):
        self._corpus, self._settings, self._directory = corpus, settings, Path(directory)
        self._workers, self._say = workers, say
        self.report = FilterReport()
        self._passed = []  # number of pairs in each block that passed the filters
        scan = functools.partial(scan_block, corpus, settings, self._directory)
        for block in self._each("filtered", scan, self._blocks(), lambda block: block["pairs"]):
            self.report.add(**block)
            self._passed.append(block["pairs"] - sum(block["dropped"].values()))
        read = functools.partial(read_scan, self._directory)
        self._repeated, self._largest = find_repeated(
            read, len(self._passed), sum(self._passed), settings.sample
        )
        if settings.drop_duplicates:
            examples = repeated_examples(corpus, self._blocks(), self._repeated)
            count = sum(map(len, self._repeated))
            self.report.add(0, {"duplicate": count}, {"duplicate": examples})

    def check(self):
        """Raise ValueError if no pairs are kept, or too many for a single corpus."""
        if not self.report.kept:
            raise ValueError(
                "At least one pair must pass the filters. "
                f"Received: {self.report.pairs:,} pairs, none of which does. Turn off a filter."
            )
        if len(self._passed) > MOST_SHARDS:
            raise ValueError(
                f"A corpus can have at most {MOST_SHARDS:,} shards. Received: shard_pairs="
                f"{self._settings.shard_pairs!r} for {self.report.pairs:,} pairs. Raise "
                "shard_pairs."
            )

    def _blocks(self):
        return self._corpus.blocks(self._settings.shard_pairs)

    def _each(self, done, function, jobs, size):
        return report_rate(self._workers.results(function, jobs), size, done, self._say)

    def vocabularies(self):
        """Return (source, target) `Subwords`, which are learned from a sample, or read."""
        path = self._directory / VOCABULARIES
        with contextlib.suppress(OSError, KeyError, TypeError, ValueError):
            configs = read_sealed_json(path)["sides"]
            sides = [*map(Subwords.from_config, configs)]
            return sides[0], sides[-1]
        sample = functools.partial(sample_block, self._corpus, self._directory, self._largest)
        jobs = zip(self._blocks(), self._repeated, strict=True)
        pairs = [pair for part in self._each("sampled", sample, jobs, len) for pair in part]
        pairs.sort(key=lambda pair: tuple(map(str, pair)))  # the order matters for unigrams
        self._say(f"learning the vocabulary from {counted(len(pairs), 'pairs')}")
        settings = self._settings
        text_settings = {"model_type": settings.model_type, "exact": False}
        text_settings |= settings.text_settings
        sides = self._corpus.learn(pairs, settings, **text_settings)
        for line in report_targets([target for _, target in pairs], sides[-1]):
            self._say(line)
        write_sealed_json(path, {"sides": [side.get_config() for side in sides]})
        return sides[0], sides[-1]

    def shards(self, source, target):
        """Write the shards that are missing, and return the entries of all shards."""
        (self._directory / ENTRIES).mkdir(exist_ok=True)
        encode = functools.partial(encode_block, self._corpus, source, target, self._directory)
        written = self._each("encoded", encode, self._jobs(), lambda entry: entry["pairs"])
        return list(written)

    def _jobs(self):
        """Yield (number of the shard, block, rows to drop) for each block with pairs to keep."""
        number, nothing = 0, self._repeated[0][:0]
        for block, passed, repeated in zip(
            self._blocks(), self._passed, self._repeated, strict=True
        ):
            left_out = repeated if self._settings.drop_duplicates else nothing
            if passed > len(left_out):
                yield number, block, left_out
                number += 1


def _plan(corpus, settings, vocabularies):
    """Return all settings that determine the shards, for `_draft` and the card."""
    return {
        "files": corpus.states(),
        "form": [
            type(corpus).__name__,
            *(getattr(corpus, name, None) for name in ("sides", "columns")),
        ],
        "settings": dataclasses.asdict(settings),
        "vocabularies": vocabularies and [side and side.get_config() for side in vocabularies],
        **({} if corpus.source is None else {"source": corpus.source.get_config()}),
    }


@contextlib.contextmanager
def _draft(out, plan, say):
    """Context manager for the draft directory: a new one, or one left by a killed run."""
    _check_absent(out)
    draft = out.with_name(f".preparing-{out.name}")
    with existing(out.parent), owned(out, say):
        _check_absent(out)  # another process may have created it in the meantime
        path = draft / PLAN
        if path.is_file():
            _check_plan(path, plan)
            say("resuming")
        elif draft.exists():
            shutil.rmtree(draft)
        (draft / SCANS).mkdir(parents=True, exist_ok=True)
        write_json(path, plan)
        try:
            yield draft
        except Unreadable:  # temporarily
            raise
        except ValueError:  # wrong files or settings: there is nothing to resume
            shutil.rmtree(draft, ignore_errors=True)
            raise


def _check_absent(out):
    if out.exists():
        raise FileExistsError(
            f"An output must not exist yet. Received: out={str(out)!r}. "
            "Choose another name, or remove the output."
        )


def _check_plan(path, plan):
    try:
        earlier = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        earlier = {}
    plan = json.loads(json.dumps(plan))  # with the types that JSON has
    different = [name for name in plan if earlier.get(name) != plan[name]]
    if different:
        raise ValueError(
            "A preparation resumes with the files and settings that it began with. Received: "
            f"{' and '.join(different)} that differ from those in {str(path.parent)!r}. Use the "
            "earlier ones again, or remove this directory."
        )


def _published(draft, out, entries, sides, plan):
    from keras_bahdanau.sources.text_source import source_of  # loads TensorFlow

    source, target = sides
    # a corpus has no column of features, so learned symbols are tags, which come first
    tagged = isinstance(source, Subwords) and source.symbols
    source = source_of(source, feature_place=FIRST if tagged else LAST)
    write_card(draft, entries, source, target, plan["settings"])
    # the plan is removed last, because a draft without a plan can't be resumed
    for name in (ENTRIES, SCANS):
        shutil.rmtree(draft / name)
    for name in (VOCABULARIES, PLAN):
        (draft / name).unlink(missing_ok=True)
    os.replace(draft, out)
    return Shards(out)
