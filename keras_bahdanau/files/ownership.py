"""One owner at a time of what is written: a lock file beside it, with the owner's process."""

import contextlib
import os
import socket
from pathlib import Path


@contextlib.contextmanager
def owned(path, say=None, wait=False):
    """Own a path for as long as the block lasts.

    The operating system locks the file `.NAME.lock` and frees it when the process ends, however
    that ends, so no lock is ever stale. Its content is for the message to others. The directory of
    the path must exist. Yields False on a file system without locks, else True.

    `say` gets a message about an owner that ended without finishing; `wait` waits for another
    owner.

    Raises BlockingIOError if another process or block owns the path, OSError if the lock file can't
    be written.
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
        with contextlib.suppress(OSError):  # Windows removes no open file: it stays, empty
            lock.unlink()
        file.close()


@contextlib.contextmanager
def existing(directory):
    """Make a missing directory; remove it in the end if it is empty.

    Raises NotADirectoryError if it is a file, or lies below one.
    """
    new = not directory.exists()
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise NotADirectoryError(
            f"An output must lie in a directory. Received: path={str(directory)!r}, which is a "
            "file, or lies below one. Choose another place."
        ) from None
    try:
        yield directory
    finally:
        if new:
            with contextlib.suppress(OSError):
                directory.rmdir()


def check_unowned(path, say=None):
    """Raise BlockingIOError if a path is owned, before anything slow is done."""
    if lock_of(path).exists():
        with owned(path, say):
            pass


def lock_of(path):
    """Path of the lock file of a path; of a link to a file, that of the file."""
    path = Path(path)
    path = Path(os.path.realpath(path)) if path.is_file() else path
    return path.with_name(f".{path.name}.lock")


def _locked(path, lock, wait):
    """(open lock file, True if it is locked)."""
    import portalocker  # which takes its time

    flags = portalocker.LockFlags.EXCLUSIVE
    if not wait:
        flags |= portalocker.LockFlags.NON_BLOCKING
    while True:
        # a link is not followed: what it leads to would be emptied
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
        file.close()  # the owner before has removed it in the meantime


def _owner_in(file):
    """Name that an owner has written; "" for none."""
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
        except OSError:  # Windows lets nobody read a locked file
            owner = "another process"
    return (
        "One process at a time may write what others read. Received: "
        f"path={str(path)!r}, which belongs to {owner}. Wait for its end, or choose another path."
    )
