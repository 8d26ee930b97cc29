"""Ownership of an output by one process at a time, by a lock file that names the owner."""

import contextlib
import os
import socket
from pathlib import Path


@contextlib.contextmanager
def owned(path, say=None, wait=False):
    """Own a path during a `with` block.

    The operating system locks the file `.NAME.lock`, and unlocks it when the process ends for any
    reason, so no lock is ever stale. The file contains the name of the owner, for messages to other
    processes. The directory of the path must exist. Yields True, or False on a file system without
    locks.

    `say` gets a message if the previous owner ended without finishing. If `wait` is True, the call
    waits until the current owner is done.

    Raises BlockingIOError if another process or block owns the path and `wait` is False. Raises
    OSError if the lock file can't be written.
    """
    lock = lock_of(path)
    file, locked = _locked(path, lock, wait)
    try:
        file.seek(0)
        before = _owner_in(file)
        if before and locked and say is not None:
            say(f"{path}: taken over from {before}, which ended without finishing")
        file.truncate(0)
        file.seek(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()!r}".encode())
        yield locked
    finally:
        file.truncate(0)
        with contextlib.suppress(OSError):  # Windows can't delete open files: an empty one remains
            lock.unlink()
        file.close()


@contextlib.contextmanager
def existing(directory):
    """Create a directory if it is missing; remove a new one at the end if it is still empty.

    Raises NotADirectoryError if the path is a file, or is inside a file.
    """
    new = not directory.exists()
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise NotADirectoryError(
            f"An output must be in a directory. Received: path={str(directory)!r}, which is a "
            "file or inside a file. Choose another directory."
        ) from None
    try:
        yield directory
    finally:
        if new:
            with contextlib.suppress(OSError):
                directory.rmdir()


def check_unowned(path, say=None):
    """Raise BlockingIOError if a path is owned. Call this before slow work."""
    if lock_of(path).exists():
        with owned(path, say):
            pass


def lock_of(path):
    """Return the path of the lock file for `path`; a link to a file shares that file's lock."""
    path = Path(path)
    path = Path(os.path.realpath(path)) if path.is_file() else path
    return path.with_name(f".{path.name}.lock")


def _locked(path, lock, wait):
    """Open the lock file and lock it. Returns (file, True if the file system locked it)."""
    import portalocker  # slow to import

    flags = portalocker.LockFlags.EXCLUSIVE
    if not wait:
        flags |= portalocker.LockFlags.NON_BLOCKING
    while True:
        # do not follow links: that would empty their target
        access = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        file = open(os.open(lock, access, 0o666), "rb+", buffering=0)
        try:
            portalocker.lock(file, flags)
        except portalocker.AlreadyLocked:
            raise BlockingIOError(_taken(path, file)) from None
        except portalocker.LockException:
            return file, False
        if _stands_at(file, lock):
            return file, True
        file.close()  # the previous owner has removed it in the meantime


def _owner_in(file):
    """Read the name of the owner from a lock file; "" if there is none."""
    return file.read(1000).decode(errors="replace")


def _stands_at(file, lock):
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.lstat(lock))
    except FileNotFoundError:
        return False


def _taken(path, file):
    with file:
        try:
            file.seek(0)
            owner = _owner_in(file) or "another process"
        except OSError:  # Windows does not allow reading locked files
            owner = "another process"
    return (
        "Only one process at a time may write an output. Received: "
        f"path={str(path)!r}, which belongs to {owner}. Wait until it ends, or choose another path."
    )
