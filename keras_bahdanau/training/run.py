"""The directory of one training: its files, and the checks before a training may use it."""

import contextlib
import dataclasses
import json
from pathlib import Path

from keras_bahdanau.data.corpora import as_pairs, check_mixed
from keras_bahdanau.data.pairs import fingerprint_of
from keras_bahdanau.files.integrity import first_not_finite
from keras_bahdanau.files.ownership import existing, lock_of, owned
from keras_bahdanau.files.whole_file import write_json
from keras_bahdanau.settings.checks import counted
from keras_bahdanau.training.progress import Progress
from keras_bahdanau.training.teacher_files import check_teacher, teacher_prints

DISTILLED = "distilled"  # what stands in a run's directory before the training of a student
MODEL_TYPES = ("source_model_type", "target_model_type")
_OF_INITIAL = {"path", "inputs", "search", "metrics", "model"}  # see `Adaptation`


class Run:
    """The files of one training run.

    `run.json` (options, data, vocabulary), `checkpoint.weights.h5` (to resume
    from), `translator.keras` (the best so far), `history.json`, and `epochs`, the
    weights of the last few, where they are averaged; and of a student `distilled`, its pairs.
    While a process trains, its lock stands beside them.

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

    def begun(self):
        """True if there is a run here to resume."""
        return self.card.is_file()

    def is_over(self):
        """True if a training has come to its end here, by the options that it began with.

        Raises:
            ValueError: If `run.json` or the checkpoint is damaged.

        Example:
            >>> run = Run("runs/en-de")
            >>> if not run.is_over():
            ...     train(pairs, valid, run.directory)
        """
        if not (self.begun() and self.checkpoint.is_file()):
            return False
        try:
            options = self.read_card()["options"]
            bounds = options["epochs"], options["patience"], options.get("minutes")
            return self.progress().reaches(*bounds)
        except (AttributeError, KeyError, TypeError) as error:
            raise self.damaged(self.card, error) from None

    @contextlib.contextmanager
    def owned(self, say=print):
        """Own the directory for as long as the block lasts, without what a kill left in it.

        It is made if it is new, and removed in the end if nothing is in it.

        Args:
            say: Function of one string, which is told of an owner that was killed.

        Raises:
            BlockingIOError: If another process trains here, or writes the translator.
            FileExistsError: If the directory holds something else.
        """
        self.check_free()
        with existing(self.directory), owned(self.translator, say):
            for pattern in (".unfinished-*", f".{self.translator.stem}.*.keras"):
                for path in self.directory.glob(pattern):
                    if path.is_file():  # the draft of an export is a directory
                        path.unlink()
            yield

    def check(
        self,
        options,
        pairs,
        valid_pairs,
        alignments=None,
        valid_alignments=None,
        teacher=(),
    ):
        """Check, without TensorFlow, that a training can begin or resume here.

        Args:
            options: `TrainingOptions`.
            pairs: List of (source, target) strings, or `Shards`.
            valid_pairs: List of (source, target) strings.
            alignments: List of sets of links, or None.
            valid_alignments: List of sets of links, or None.
            teacher: Tuple of paths: see `word_teacher.teacher_files`.

        Raises:
            FileExistsError: If the directory holds something else, or a finished run.
            ValueError: If the run was begun with other options or other pairs, or is damaged;
                or if options, alignments, teacher and shards do not go together.
        """
        options, pairs = self.kept(options).resolved(), as_pairs(pairs)
        _check_used(options, alignments, valid_alignments)
        check_teacher(options, teacher)
        check_mixed(pairs, options.temperature, alignments)
        for part in pairs.parts():
            _check_shards(options, part, alignments)
        self.check_free()
        if self.begun():
            data = _fingerprints(pairs, valid_pairs, alignments, valid_alignments, teacher)
            self._check_same(options, data)
            if self.checkpoint.is_file():
                self._check_unfinished(options)

    def begin(
        self,
        options,
        pairs,
        valid_pairs,
        vocabularies,
        alignments=None,
        valid_alignments=None,
        teacher=(),
    ):
        """Write `run.json`.

        Args:
            options: `TrainingOptions`.
            pairs: List of (source, target) strings, or `Shards`.
            valid_pairs: List of (source, target) strings.
            vocabularies: Dictionary of the configs of `source` and `target`.
            alignments: List of sets of links, or None.
            valid_alignments: List of sets of links, or None.
            teacher: Tuple of paths: see `word_teacher.teacher_files`.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        links = alignments, valid_alignments
        content = {
            "options": dataclasses.asdict(options.resolved()),
            "data": _fingerprints(as_pairs(pairs), valid_pairs, *links, teacher),
            **vocabularies,
        }
        write_json(self.card, content)

    def kept(self, options):
        """Options with what the run began with where it follows from the pairs.

        Args:
            options: `TrainingOptions`.

        Returns:
            `TrainingOptions`; the same ones if nothing has begun here.

        Raises:
            ValueError: If `run.json` is damaged.
        """
        if not self.begun():
            return options
        begun = self.options(type(options))
        found = {name: getattr(begun, name) for name in options.undecided()}
        if options.model_type is None:  # of vocabularies that were given, where it was left out
            left_out = (name for name in MODEL_TYPES if getattr(options, name) is None)
            found |= {name: getattr(begun, name) for name in left_out}
        # what it had not, such as sentences of a batch where tokens measured it, is found again;
        # an unknown rate of 0 was found, or is of a version that found none
        had = {name: one for name, one in found.items() if one or name == "unknown_rate"}
        return dataclasses.replace(options, **had)

    def options(self, kind):
        """The options that the run began with, resolved.

        Args:
            kind: Class of the options, `TrainingOptions`.

        Raises:
            ValueError: If `run.json` is damaged.
        """
        return self._options_of(self.read_card(), kind)

    def initial(self):
        """The card of the model that the run began with: see `Adaptation`; None for a new model.

        Raises:
            ValueError: If `run.json` is damaged.
        """
        card = self.read_card()
        initial = card.get("initial") if isinstance(card, dict) else {}
        if initial is not None and not (isinstance(initial, dict) and _OF_INITIAL <= {*initial}):
            raise self.damaged(self.card, "'initial' is no card of a model")
        return initial

    def read_card(self):
        """The content of `run.json`, as `begin` wrote it.

        Raises:
            ValueError: If it is damaged.
        """
        try:
            return json.loads(self.card.read_text())
        except (ValueError, RecursionError) as error:
            raise self.damaged(self.card, error) from None

    def progress(self):
        """The `Progress` of the last checkpoint.

        Raises:
            ValueError: If the checkpoint is damaged, or of a training that diverged.
        """
        import h5py  # which takes its time

        try:
            with h5py.File(self.checkpoint) as file:
                progress = Progress.from_json(file["progress"][()])
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
        if not self.begun() and self.directory.exists() and not self._is_empty():
            raise FileExistsError(
                "The output of a training must be a new directory, or one that it left "
                f"unfinished. Received: out={str(self.directory)!r}, which holds other things. "
                "Choose another name."
            )

    def _is_empty(self):
        own = {lock_of(self.translator).name, DISTILLED, lock_of(self.distilled).name}
        return self.directory.is_dir() and all(
            path.name.startswith(".unfinished-") or path.name in own
            for path in self.directory.iterdir()
        )

    def _check_same(self, options, data):
        card = self.read_card()
        begun = self._options_of(card, type(options))
        for name, value in dataclasses.asdict(options).items():
            if getattr(begun, name) != value:
                raise ValueError(
                    f"A run resumes with the options it began with, {name}="
                    f"{getattr(begun, name)!r}. Received: {name}={value!r}. "
                    "Use that, or another output directory."
                )
        if card.get("data") != data:
            raise ValueError(
                "A run resumes with the pairs it began with. Received: other training or "
                "validation pairs, weights, tags, alignments, or another teacher, than those of "
                f"out={str(self.directory)!r}. Use those, or another output directory."
            )

    def _options_of(self, card, kind):
        """The options of a card; an old one lacks those that there were not yet."""
        try:
            return kind.from_config(
                {"buckets": 7, **card["options"]}
            ).resolved()  # 7 before it was an option
        except (KeyError, TypeError, ValueError) as error:
            raise self.damaged(self.card, error) from None

    def _check_unfinished(self, options):
        progress = self.progress()
        if progress.is_over(options):
            epochs = counted(progress.epoch, "epochs")
            raise FileExistsError(
                f"This run has ended after {epochs}. Received: out={str(self.directory)!r}. "
                f"Use {str(self.translator)!r}, or go on from it: --from {self.directory} --out "
                "NEW (`initial` in Python)."
            )

    def damaged(self, path, error):
        """The ValueError of a file that is not as a training wrote it."""
        error = " ".join(str(error).split())[:200]
        return ValueError(
            f"A run's files must be whole. Received: path={str(path)!r} ({error}). "
            "Choose another output directory to begin anew."
        )


def _arrays(file):
    """Yield (name, array) of the numbers in an open HDF5 file."""
    names = []
    file.visit(names.append)
    for name in names:
        dtype = getattr(file[name], "dtype", None)  # a group has none
        if dtype is not None and dtype.kind == "f":
            yield name, file[name][()]


def _check_used(options, alignments, valid_alignments):
    """Check that alignments are given where they are needed, and nowhere else."""
    forced = options.attention == "forced"
    needed = forced or options.guided_alignment > 0
    if needed and alignments is None or forced and valid_alignments is None:
        missing = "no alignments" if alignments is None else "none of the validation pairs"
        raise ValueError(
            "Guided alignment needs alignments of the training pairs, and the attention "
            f"'forced' those of the validation pairs too. Received: {missing}, with "
            f"guided_alignment={options.guided_alignment!r}, attention={options.attention!r}. "
            "Give them, or leave both out."
        )
    if valid_alignments is not None and alignments is None:
        raise ValueError(
            "Alignments of the validation pairs go with those of the training pairs. Received: "
            "valid_alignments alone. Give both, or neither."
        )
    if alignments is not None and not needed:
        raise ValueError(
            "Alignments are for guided alignment, or for the attention 'forced'. Received: "
            f"alignments, with guided_alignment={options.guided_alignment!r}, "
            f"attention={options.attention!r}. Give guided_alignment a weight such as 0.1, or "
            "leave the alignments out."
        )


def _check_shards(options, pairs, alignments):
    """Check that nothing is asked of shards that takes the text of the pairs."""
    asked = {"subword_sampling": options.subword_sampling, "alignments": alignments is not None}
    if options.update_vocabulary == "append":
        asked["update_vocabulary"] = "append"
    for name, value in asked.items():
        if value and not pairs.in_memory:
            raise ValueError(
                "Shards hold ids, split once and for all. Received: "
                f"pairs={str(pairs.directory)!r}, with {name}={value!r}. Leave that out (0 for "
                "subword_sampling), or give the pairs as a list."
            )


def _content(links):
    """Links in one order, or the weights of words as they are."""
    return links if hasattr(links, "tobytes") else sorted(links)


def _fingerprints(pairs, valid_pairs, alignments=None, valid_alignments=None, teacher=()):
    """The "data" of a card, of `Pairs` and of the pairs to validate on."""
    prints = {"valid": fingerprint_of(valid_pairs)}
    trained = [part.fingerprint for part in pairs.parts()]
    if pairs.corpora:
        prints |= {"corpora": pairs.card(), "train": trained}
    else:
        (prints["train"],) = trained
    links = {"alignments": alignments, "valid_alignments": valid_alignments}
    for name, given in links.items():
        if given is not None:
            prints[name] = fingerprint_of((_content(one), "") for one in given)
    if teacher:
        prints["teacher"] = teacher_prints(teacher)
    return prints
