"""The directory of one training: its files, and checks before a training uses it."""

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

DISTILLED = "distilled"  # folder of a student's pairs, which exists before its training
_INITIAL_KEYS = {"path", "inputs", "search", "metrics", "model"}  # see `fine_tuning.Adaptation`


class Run:
    """The files of one training run.

    `run.json` (options, data, vocabulary), `checkpoint.weights.h5` (to resume from),
    `translator.keras` (the best so far), `history.json`, `epochs` (weights of the last epochs, if
    they are averaged), `distilled` (pairs of a student), and the lock of the training process.

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
        """True if there is a run here to resume."""
        return self.card.is_file()

    def is_over(self):
        """True if a training has ended here, according to its initial options.

        Raises:
            ValueError: If `run.json` or the checkpoint is damaged.
        """
        if not (self.exists() and self.checkpoint.is_file()):
            return False
        options = self.options()
        return bool(self.progress().end(options.epochs, options.patience, options.minutes))

    @contextlib.contextmanager
    def owned(self, say=print):
        """Own the directory within the block, cleared of drafts that a kill left.

        Creates a new directory, and removes it if it stays empty.

        Raises:
            BlockingIOError: If another process trains here, or writes the translator.
            FileExistsError: If the directory holds something else.
        """
        self.check_free()
        with existing(self.directory), owned(self.translator, say):
            for pattern in (".unfinished-*", f".{self.translator.stem}.*.keras"):
                for path in self.directory.glob(pattern):
                    if path.is_file():  # drafts of exports are directories
                        path.unlink()
            yield

    def begin(self, plan, workers=1):
        """Write `run.json` of a plan."""
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
        """The `ResolvedOptions` that the run began with; ValueError if `run.json` is damaged."""
        card = self.read_card()
        try:
            if not card["options"]:
                raise KeyError("options")
            return resolve(drop_removed(card["options"]))
        except (KeyError, TypeError, ValueError) as error:
            raise self.damaged(self.card, error) from None

    def initial(self):
        """Card of the model that the run began with: see `Adaptation`; None for a new model."""
        card = self.read_card()
        initial = card.get("initial")
        if initial is not None and not (isinstance(initial, dict) and _INITIAL_KEYS <= {*initial}):
            raise self.damaged(self.card, "'initial' is no card of a model")
        return initial

    def read_card(self):
        """The content of `run.json`; ValueError if it is damaged."""
        try:
            return read_sealed_json(self.card)
        except Damage as error:
            raise self.damaged(self.card, error) from None

    def progress(self):
        """The `Progress` of the last checkpoint; ValueError if it is damaged, or diverged."""
        import h5py  # which takes its time

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
                "A run resumes with weights that are finite. Received: "
                f"path={str(self.checkpoint)!r}, with NaN or infinity in {diverged!r}. Train anew "
                "in another output directory, with a lower learning rate."
            )
        return progress

    def check_free(self):
        """Raise FileExistsError if the directory holds something else."""
        if not self.exists() and self.directory.exists() and not self._is_empty():
            raise FileExistsError(
                "The output of a training must be a new directory, or one that it left "
                f"unfinished. Received: out={str(self.directory)!r}, which holds other things. "
                "Choose another name."
            )

    def _is_empty(self):
        ours = {lock_of(self.translator).name, DISTILLED, lock_of(self.distilled).name}
        return self.directory.is_dir() and all(
            path.name.startswith(".unfinished-") or path.name in ours
            for path in self.directory.iterdir()
        )

    def check_resumes(self, plan, requested):
        """Raise an error unless this run can continue with the options and data of a plan.

        `requested` are the `TrainingOptions` of the user.

        Raises:
            FileExistsError: If the run has ended.
            ValueError: If it began with other options or other data, or is damaged.
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
                f"Use {'that' if len(names) == 1 else 'those'}, or another output directory."
            )
        self.check_data(plan.data)
        if self.checkpoint.is_file():
            self._check_unfinished(plan)

    def check_data(self, data):
        """Raise ValueError if the run began with other `TrainingData`."""
        if self.read_card().get("data") != data.fingerprints():
            raise ValueError(
                "A run resumes with the pairs it began with. Received: other training or "
                "validation pairs, weights, tags, alignments, or another teacher, than those of "
                f"out={str(self.directory)!r}. Use those, or another output directory."
            )

    def check_workers(self, count):
        """Raise ValueError if a run on shards began with another number of workers."""
        before = self.read_card().get("workers", count) if self.exists() else count
        if before != count:
            raise ValueError(
                "A run on shards resumes with as many workers as it began with. Received: "
                f"workers={count}, for a run of {before} workers. Start {before}, or choose "
                "another output directory."
            )

    def _check_unfinished(self, plan):
        progress = self.progress()
        if progress.end(*plan.limits):
            epochs = counted(progress.epoch, "epochs")
            raise FileExistsError(
                f"This run has ended after {epochs}. Received: out={str(self.directory)!r}. "
                f"Use {str(self.translator)!r}, or go on from it: --from {self.directory} --out "
                "NEW (`initial` in Python)."
            )

    def damaged(self, path, error):
        """The ValueError of a file that was changed since the training wrote it."""
        error = " ".join(str(error).split())[:200]
        return ValueError(
            f"A run's files must be whole. Received: path={str(path)!r} ({error}). "
            "Choose another output directory to begin anew."
        )


def _arrays(file):
    names = []
    file.visit(names.append)
    for name in names:
        dtype = getattr(file[name], "dtype", None)  # a group has none
        if dtype is not None and dtype.kind == "f":
            yield name, file[name][()]
