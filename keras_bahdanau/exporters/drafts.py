"""Places of an export before it is done: directories to write to, and files kept for it."""

import contextlib
import os
import secrets
import shutil

from keras_bahdanau.files.ownership import existing, lock_of, owned

_DRAFT = "draft"  # name that is owned in a directory that is not finished


@contextlib.contextmanager
def unfinished(path):
    """Make a directory beside a path, to write to first and to rename from.

    It is removed in the end with what is left in it, and so is the directory around it if that
    is new and nothing is in it. First those are removed whose process was killed.

    Args:
        path: Path of a file or directory.
    """
    around = path.parent
    # no number and a dot first: a server does not take it for a version
    draft = path.with_name(f".unfinished-{os.getpid()}-{secrets.token_hex(4)}-{path.name}")
    with existing(around), contextlib.ExitStack() as block:
        # one process at a time makes a draft, or looks for those without an owner
        with owned(around / "unfinished", wait=True):
            _remove_abandoned(around)
            draft.mkdir()
            block.callback(shutil.rmtree, draft, ignore_errors=True)
            block.enter_context(owned(draft / _DRAFT))
        yield draft


def _remove_abandoned(directory):
    """Remove what exports that were killed have left in a directory."""
    for draft in directory.glob(".unfinished-*"):
        if not lock_of(draft / _DRAFT).exists():
            continue  # which is no draft of an export
        try:
            with owned(draft / _DRAFT) as locked:
                pass
        except OSError:  # it has an owner, or is no directory of this user
            continue
        if locked:
            shutil.rmtree(draft, ignore_errors=True)


@contextlib.contextmanager
def reserved(places):
    """Own the files among the places for as long as the block lasts.

    Args:
        places: Dictionary from the path of each artefact to its `Exporter`.

    Raises:
        BlockingIOError: If another process writes one of them.
    """
    with contextlib.ExitStack() as block:
        for path, exporter in places.items():
            if exporter.writes_file:
                block.enter_context(existing(path.parent))
                block.enter_context(owned(path))
        yield
