"""The directory of one training: what it holds, and whether a training may use it."""

import dataclasses
import hashlib
import json
import os
from pathlib import Path


class Run:
    """The files of one training run.

    `run.json` (options, data, vocabulary), `checkpoint.weights.h5` (to go on
    from), `translator.keras` (the best so far) and `history.json`.

    Args:
        directory: Path.
    """

    def __init__(self, directory):
        self.directory = Path(directory)
        self.card = self.directory / "run.json"
        self.checkpoint = self.directory / "checkpoint.weights.h5"
        self.translator = self.directory / "translator.keras"
        self.history = self.directory / "history.json"

    def begun(self):
        """Whether there is a run here to go on with."""
        return self.card.is_file()

    def check(self, options, pairs, valid_pairs):
        """Checks, without TensorFlow, that a training can begin or go on here.

        Args:
            options: `TrainingOptions`.
            pairs: List of (source, target) strings.
            valid_pairs: List of (source, target) strings.

        Raises:
            FileExistsError: If the directory holds something else, or a finished run.
            ValueError: If the run was begun with other options or other pairs, or is damaged.
        """
        self._check_free()
        if self.begun():
            self._check_same(options, _fingerprints(pairs, valid_pairs))
            if self.checkpoint.is_file():
                self._check_unfinished(options)

    def begin(self, options, pairs, valid_pairs, tokenizer):
        """Writes `run.json`.

        Args:
            options: `TrainingOptions`.
            pairs: List of (source, target) strings.
            valid_pairs: List of (source, target) strings.
            tokenizer: `Tokenizer`.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        content = {
            "options": dataclasses.asdict(options),
            "data": _fingerprints(pairs, valid_pairs),
            "tokenizer": tokenizer.get_config(),
        }
        write_json(self.card, content)

    def read_card(self):
        """What `begin` wrote.

        Raises:
            ValueError: If it is damaged.
        """
        try:
            return json.loads(self.card.read_text())
        except ValueError as error:
            raise self._damaged(self.card, error) from None

    def progress(self):
        """What `callbacks.Checkpoint` counted until its last checkpoint.

        Raises:
            ValueError: If the checkpoint is damaged.
        """
        import h5py  # which takes its time

        try:
            with h5py.File(self.checkpoint) as file:
                return json.loads(file["progress"][()])
        except (OSError, KeyError, ValueError) as error:
            raise self._damaged(self.checkpoint, error) from None

    def _check_free(self):
        if not self.begun() and self.directory.exists() and not self._is_empty():
            raise FileExistsError(
                "The output of a training must be a new directory, or one that it left "
                f"unfinished. Received: out={str(self.directory)!r}, which holds other things. "
                "Choose another name."
            )

    def _is_empty(self):
        return self.directory.is_dir() and all(
            path.name.startswith(".unfinished-") for path in self.directory.iterdir()
        )

    def _check_same(self, options, data):
        card = self.read_card()
        for name, value in dataclasses.asdict(options).items():
            if card["options"].get(name) != value:
                raise ValueError(
                    f"A run goes on with the options it began with, {name}="
                    f"{card['options'].get(name)!r}. Received: {name}={value!r}. "
                    "Use that, or another output directory."
                )
        if card["data"] != data:
            raise ValueError(
                "A run goes on with the pairs it began with. Received: other training or "
                f"validation pairs than those of out={str(self.directory)!r}. Use those, or "
                "another output directory."
            )

    def _check_unfinished(self, options):
        progress = self.progress()
        if is_over(progress, options):
            raise FileExistsError(
                f"This run has ended after {progress['epoch']} epochs. Received: "
                f"out={str(self.directory)!r}. Use {str(self.translator)!r}, or choose another "
                "output directory."
            )

    def _damaged(self, path, error):
        return ValueError(
            f"A run's files must be whole. Received: path={str(path)!r} ({error}). "
            "Choose another output directory to begin anew."
        )


def is_over(progress, options):
    """Whether a training with this progress has come to its end."""
    return progress["epoch"] >= options.epochs or progress["waited"] >= options.patience


def write_json(path, content):
    """Writes a JSON file as a whole or not at all."""
    unfinished = path.with_name(f".unfinished-{path.name}")
    unfinished.write_text(json.dumps(content, indent=1))
    os.replace(unfinished, path)


def _fingerprints(pairs, valid_pairs):
    return {"train": _fingerprint(pairs), "valid": _fingerprint(valid_pairs)}


def _fingerprint(pairs):
    digest = hashlib.sha256()
    for source, target in pairs:
        digest.update(f"{source}\t{target}\n".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
