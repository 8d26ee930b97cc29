"""One owner per output at a time: a lock file next to it, which names the owner."""

import contextlib
import os
import socket
from pathlib import Path


@contextlib.contextmanager
def owned(path, say=None, wait=False):
    """Own a path during a `with` block.

    The operating system locks the file `.NAME.lock`, and unlocks it when the process ends for any
    reason, so no lock is ever stale. Its content names the owner in messages to other processes.
    The directory of the path must exist. Yields False on a file system without locks, else True.

    `say` gets a message if the previous owner ended without finishing; with `wait` the call waits
    for another owner.

    Raises BlockingIOError if another process or block owns the path, and OSError if the lock file
    can't be written.
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
        with contextlib.suppress(OSError):  # Windows keeps an open file; it stays, empty
            lock.unlink()
        file.close()


@contextlib.contextmanager
def existing(directory):
    """Create a missing directory; remove it at the end if it is empty.

    Raises NotADirectoryError if it is a file, or inside one.
    """
    new = not directory.exists()
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise NotADirectoryError(
            f"An output must be in a directory. Received: path={str(directory)!r}, which is a "
            "file, or inside one. Choose another place."
        ) from None
    try:
        yield directory
    finally:
        if new:
            with contextlib.suppress(OSError):
                directory.rmdir()


def check_unowned(path, say=None):
    """Raise BlockingIOError if a path is owned; for a check before slow work."""
    if lock_of(path).exists():
        with owned(path, say):
            pass


def lock_of(path):
    """Path of the lock file for a path; a link to a file shares the lock of the file."""
    path = Path(path)
    path = Path(os.path.realpath(path)) if path.is_file() else path
    return path.with_name(f".{path.name}.lock")


def _locked(path, lock, wait):
    """(open lock file, bool: whether it is locked)."""
    import portalocker  # slow to import

    flags = portalocker.LockFlags.EXCLUSIVE
    if not wait:
        flags |= portalocker.LockFlags.NON_BLOCKING
    while True:
        # do not follow links: their target would be emptied
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
        file.close()  # removed by the previous owner in the meantime


def _owner_in(file):
    """Name of the owner in a lock file, or ""."""
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
        f"path={str(path)!r}, which belongs to {owner}. Wait for its end, or choose another path."
    )
