"""Decoding of many sources by a teacher in several processes, which can resume if interrupted."""

import functools
import json
import os
import shutil
from collections.abc import Callable
from typing import NamedTuple

from keras_bahdanau.data.pairs import fingerprint_of
from keras_bahdanau.data.shards.ordered_work import WorkerPool, report_rate
from keras_bahdanau.distillation.hypotheses import (
    CUT,
    UNFINISHED,
    WHOLE,
    Hypothesis,
    line_of,
    read_hypotheses,
)
from keras_bahdanau.distillation.settings import Distillation
from keras_bahdanau.files.whole_file import replacing, write_json
from keras_bahdanau.pipelines.archive import read_search
from keras_bahdanau.settings.cores import usable_cores
from keras_bahdanau.settings.limits import HYPOTHESES as MOST_HYPOTHESES
from keras_bahdanau.training.data import teacher_prints

HYPOTHESES, PLAN, PIECES = "hypotheses.tsv", "plan.json", "pieces"
BATCHES = 8  # maximum batches per piece; a process decodes and writes a piece as a unit


class Teacher(NamedTuple):
    """Description of a teacher, a model or an ensemble, which can be sent to another process.

    `guides` requests the teacher's attention weights, `threads` is the number of cores per process
    (None to inherit it), and `load` is a picklable function that loads TensorFlow in a custom way,
    or None.
    """

    paths: tuple
    settings: Distillation
    seed: int = 0
    guides: bool = False
    threads: int | None = None
    load: Callable | None = None

    @property
    def piece_size(self):
        """Integer, number of sources per piece; a process keeps all their hypotheses in memory."""
        size, n_best = self.settings.batch_size, self.settings.n_best
        return size * max(1, min(BATCHES, MOST_HYPOTHESES // (size * n_best)))

    def plan(self, inputs):
        """Return a dictionary of everything that determines the hypotheses."""
        settings = self.settings
        return {
            "teacher": teacher_prints(self.paths),
            "search": vars(settings.search(read_search(self.paths[0]), self.seed)),
            "n_best": settings.n_best,
            "batch_size": settings.batch_size,
            "attention": self.guides,
            "sources": fingerprint_of((source, "") for source in inputs),
        }


def teacher_hypotheses(teacher, inputs, directory, workers=1, say=print):
    """Iterate over the lists of `Hypothesis` in `hypotheses.tsv`, which is written if missing.

    Each process writes complete pieces of the corpus. If a call is interrupted, the next call
    writes the missing pieces, and the resulting file is the same as after an uninterrupted call.
    """
    _check_plan(directory / PLAN, teacher.plan(inputs))
    path, pieces = directory / HYPOTHESES, directory / PIECES
    if not path.is_file():
        pieces.mkdir(exist_ok=True)
        names = _write_pieces(teacher, inputs, pieces, workers, say)
        with replacing(path, directory / f".unfinished-{HYPOTHESES}") as unfinished:
            with open(unfinished, "wb") as whole:
                for name in names:
                    whole.write(name.read_bytes())
    shutil.rmtree(pieces, ignore_errors=True)
    return read_hypotheses(path, len(inputs))


def _write_pieces(teacher, inputs, pieces, workers, say):
    """Write the missing pieces, and return the paths of all pieces."""
    size = teacher.piece_size
    firsts = range(0, len(inputs), size)
    paths = [pieces / f"{number:06d}.tsv" for number in range(len(firsts))]
    missing = [pair for pair in zip(paths, firsts, strict=True) if not pair[0].is_file()]
    total = sum(len(inputs[first : first + size]) for _, first in missing)
    say(f"{total:,} of {len(inputs):,} sources to translate")
    workers = max(1, min(workers, len(missing)))
    if workers > 1:
        teacher = teacher._replace(threads=max(1, usable_cores() // workers))
    jobs = ((path, first, inputs[first : first + size]) for path, first in missing)
    with WorkerPool(workers) as processes:
        work = processes.results(functools.partial(_write_piece, teacher), jobs)
        for _ in report_rate(work, int, "translated", say, total=total):
            pass
    _pipeline.cache_clear()  # free memory for the student
    return paths


def _write_piece(teacher, job):
    path, first, inputs = job
    pipeline = _pipeline(teacher.paths, teacher.threads, teacher.load)
    settings = teacher.settings
    search = settings.search(pipeline.search, teacher.seed)
    results = pipeline.decode_nbest(inputs, settings.n_best, settings.batch_size, search)
    words = pipeline.words(inputs, pipeline.longest(search)) if teacher.guides else None
    with replacing(path, path.with_name(f".unfinished-{path.name}")) as unfinished:
        with open(unfinished, "w", encoding="utf-8", newline="") as file:
            for row, nbest in enumerate(results):
                for result in nbest:
                    weights = _weights(words[row], result) if teacher.guides else ""
                    hypothesis = Hypothesis(result.text, result.score, _state(result), weights)
                    file.write(line_of(first + row + 1, hypothesis, teacher.guides))
    return len(inputs)


def _state(translation):
    if translation.truncated:
        return CUT
    # an empty source gives an empty text without an end token
    return WHOLE if translation.finished or not translation.target_tokens else UNFINISHED


def _weights(source_words, translation):
    """Format the attention between words; "" if the tokens don't determine the words."""
    from keras_bahdanau.text.alignments import word_spans
    from keras_bahdanau.text.word_weights import format_weights, word_weights

    target_words = word_spans(translation.target_tokens)
    if not len(source_words) or int(target_words[-1][0]) != len(translation.text.split()):
        return ""
    return format_weights(word_weights(source_words, target_words, translation.alignment))


@functools.lru_cache(1)
def _pipeline(paths, threads, load):
    if threads is not None:  # set this before TensorFlow is loaded
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")
        os.environ["OMP_NUM_THREADS"] = str(threads)  # read by `usable_cores`
        for kind in ("INTRAOP", "INTEROP"):
            os.environ.setdefault(f"TF_NUM_{kind}_THREADS", str(threads))
        if load is not None:  # in the main process, it has already been called
            load()
    from keras_bahdanau.pipelines.tasks import ensemble, load_pipeline

    return load_pipeline(paths[0]) if len(paths) == 1 else ensemble(paths)


def _check_plan(path, plan):
    """Compare a plan with the one in the directory, or write it to a new directory."""
    plan = json.loads(json.dumps(plan))  # tuples become lists
    if not path.exists():
        write_json(path, plan)
    try:
        saved = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        saved = {}
    if different := [name for name in plan if saved.get(name) != plan[name]]:
        raise ValueError(
            "A distillation must resume with its original arguments. Received: arguments that "
            f"differ from those in {str(path.parent)!r}: {', '.join(different)}. Use the original "
            "arguments, or another output directory."
        )
