"""The directory of a training run: its files, and checks before it is used."""

import contextlib
import dataclasses
from pathlib import Path

from keras_bahdanau.files.integrity import (
    Damage,
    check_seal,
    first_not_finite,
    read_sealed_json,
    write_sealed_json,
)
from keras_bahdanau.files.ownership import existing, lock_of, owned
from keras_bahdanau.files.whole_file import open_regular
from keras_bahdanau.settings.checks import counted
from keras_bahdanau.settings.removed import drop_removed
from keras_bahdanau.training.options import changed_options, resolve
from keras_bahdanau.training.progress import Progress

DISTILLED = "distilled"  # directory of a student's pairs, which are written before its training
_INITIAL_KEYS = {"path", "inputs", "search", "metrics", "model"}  # see `fine_tuning.Adaptation`


class Run:
    """The files of a training run.

    The files are `run.json` (options, data, vocabulary), `checkpoint.weights.h5` (to resume from),
    `translator.keras` (the best so far), `history.json`, `epochs` (weights of the last epochs, if
    these are averaged), `distilled` (pairs of a student), and the lock of the training process.

    Args:
        directory: Path.
    """

    def __init__(self, directory):
        self.directory = Path(directory)
        self.card = self.directory / "run.json"
        self.checkpoint = self.directory / "checkpoint.weights.h5"
        self.translator = self.directory / "translator.keras"
        self.history = self.directory / "history.json"
        self.epochs = self.directory / "epochs"
        self.distilled = self.directory / DISTILLED

    def exists(self):
        """Return True if the directory contains a run."""
        return self.card.is_file()

    def is_over(self):
        """Return True if the run has ended, according to the options it began with.

        Raises:
            ValueError: If `run.json` or the checkpoint is damaged.
        """
        if not (self.exists() and self.checkpoint.is_file()):
            return False
        options = self.options()
        return bool(self.progress().end(options.epochs, options.patience, options.minutes))

    @contextlib.contextmanager
    def owned(self, say=print):
        """Context manager that owns the directory, after removing drafts left by a killed process.

        A new directory is created, and removed again if it stays empty.

        Raises:
            BlockingIOError: If another process is training here, or is writing the translator.
            FileExistsError: If the directory contains something else.
        """
        self.check_free()
        with existing(self.directory), owned(self.translator, say):
            for pattern in (".unfinished-*", f".{self.translator.stem}.*.keras"):
                for path in self.directory.glob(pattern):
                    if path.is_file():  # drafts of exports are directories
                        path.unlink()
            yield

    def begin(self, plan, workers=1):
        """Write `run.json` for a plan."""
        card = {
            "options": dataclasses.asdict(plan.options),
            "data": plan.data.fingerprints(),
            **plan.sides_card(),
        }
        if plan.initial is not None:
            card["initial"] = plan.initial
        if plan.data.shards:
            card["workers"] = workers
        self.directory.mkdir(parents=True, exist_ok=True)
        write_sealed_json(self.card, card)

    def options(self):
        """Read the `ResolvedOptions` that the run began with.

        Raises ValueError if `run.json` is damaged.
        """
        card = self.read_card()
        try:
            if not card["options"]:
                raise KeyError("options")
            return resolve(drop_removed(card["options"]))
        except (KeyError, TypeError, ValueError) as error:
            raise self.damaged(self.card, error) from None

    def initial(self):
        """Read the card of the model that the run started from; None for a new model.

        See `Adaptation` for the card.
        """
        card = self.read_card()
        initial = card.get("initial")
        if initial is not None and not (isinstance(initial, dict) and _INITIAL_KEYS <= {*initial}):
            raise self.damaged(self.card, "'initial' is not the card of a model")
        return initial

    def read_card(self):
        """Read the content of `run.json`. Raises ValueError if it is damaged."""
        try:
            return read_sealed_json(self.card)
        except Damage as error:
            raise self.damaged(self.card, error) from None

    def progress(self):
        """Read the `Progress` in the last checkpoint.

        Raises ValueError if the checkpoint is damaged, or its weights are not finite.
        """
        import h5py  # slow

        try:
            with open_regular(self.checkpoint) as content:
                check_seal(content)
            with h5py.File(self.checkpoint) as file:
                progress = Progress.loads(file["progress"][()])
                diverged = first_not_finite(_arrays(file))
        except (OSError, KeyError, RecursionError, TypeError, ValueError) as error:
            raise self.damaged(self.checkpoint, error) from None
        if diverged is not None:
            raise ValueError(
                "A run can resume only if its weights are finite. Received: "
                f"path={str(self.checkpoint)!r}, with NaN or infinity in {diverged!r}. Start over "
                "in another output directory, with a lower learning rate."
            )
        return progress

    def check_free(self):
        """Raise FileExistsError if the directory contains something other than a run."""
        if not self.exists() and self.directory.exists() and not self._is_empty():
            raise FileExistsError(
                "The output directory must be a new one, or that of an unfinished training run. "
                f"Received: out={str(self.directory)!r}, which contains other files. "
                "Choose another name."
            )

    def _is_empty(self):
        ours = {lock_of(self.translator).name, DISTILLED, lock_of(self.distilled).name}
        return self.directory.is_dir() and all(
            path.name.startswith(".unfinished-") or path.name in ours
            for path in self.directory.iterdir()
        )

    def check_resumes(self, plan, requested):
        """Raise an error unless this run can resume with the options and data of a plan.

        `requested` contains the user's `TrainingOptions`.

        Raises:
            FileExistsError: If the run has ended.
            ValueError: If the run began with other options or other data, or is damaged.
        """
        before, explicit = vars(self.options()), requested.explicit()
        names = changed_options(before, vars(plan.options), explicit)
        if names:
            began = ", ".join(f"{name}={before[name]!r}" for name in names)
            received = ", ".join(
                f"{name}={explicit[name]!r}" if name in explicit else f"no {name}" for name in names
            )
            raise ValueError(
                f"A run resumes with the options it began with, {began}. Received: {received}. "
                f"Give the same {'option' if len(names) == 1 else 'options'} again, or choose "
                "another output directory."
            )
        self.check_data(plan.data)
        if self.checkpoint.is_file():
            self._check_unfinished(plan)

    def check_data(self, data):
        """Raise ValueError if the run began with other `TrainingData`."""
        if self.read_card().get("data") != data.fingerprints():
            raise ValueError(
                "A run resumes with the data it began with. Received: training or validation "
                "pairs, weights, tags, alignments or a teacher that differ from those of "
                f"out={str(self.directory)!r}. Give the same data again, or choose another output "
                "directory."
            )

    def check_workers(self, count):
        """Raise ValueError if the run uses shards and began with another number of workers."""
        before = self.read_card().get("workers", count) if self.exists() else count
        if before != count:
            raise ValueError(
                "A run on shards must resume with as many workers as it began with. Received: "
                f"workers={count}, for a run with {before} workers. Start {before} workers, or "
                "choose another output directory."
            )

    def _check_unfinished(self, plan):
        progress = self.progress()
        if progress.end(*plan.limits):
            epochs = counted(progress.epoch, "epochs")
            raise FileExistsError(
                f"This run ended after {epochs}. Received: out={str(self.directory)!r}. Use "
                f"{str(self.translator)!r}, or train it further: --from {self.directory} --out NEW "
                "(`initial` in Python)."
            )

    def damaged(self, path, error):
        """Create the ValueError for a file that was changed after training wrote it."""
        error = " ".join(str(error).split())[:200]
        return ValueError(
            f"The files of a run must be intact. Received: path={str(path)!r} ({error}). "
            "To start over, choose another output directory."
        )


def _arrays(file):
    names = []
    file.visit(names.append)
    for name in names:
        dtype = getattr(file[name], "dtype", None)  # a group has none
        if dtype is not None and dtype.kind == "f":
            yield name, file[name][()]
