"""Suppression of startup messages of libraries, which mean nothing to users."""

import contextlib
import faulthandler
import os
import sys
import threading

GREETINGS = (
    *(b"I0000 ", b"WARNING: All log messages before absl", b"INFO: Created TensorFlow Lite"),
    b"normalizer.cc(",  # from SentencePiece in TensorFlow, whose log level can't be set
)
_SCREEN = threading.RLock()  # so that only one thread at a time redirects standard error


@contextlib.contextmanager
def without_greetings():
    """Context manager that suppresses startup messages of TensorFlow and LiteRT.

    No setting of these libraries turns the messages off. All other output on standard error is
    printed at the end of the block, and a crash still prints its traceback. With
    TF_CPP_MIN_LOG_LEVEL=1, everything is printed.
    """
    with _SCREEN:
        screen = None
        if os.environ.get("TF_CPP_MIN_LOG_LEVEL", "3") >= "2":
            with contextlib.suppress(OSError):  # a daemon may have no standard error
                screen = os.dup(2)
        if screen is None:
            yield
            return
        (held, end), traced = os.pipe(), faulthandler.is_enabled()
        if sys.stderr is not None:
            sys.stderr.flush()
        os.set_blocking(held, False)
        os.set_blocking(end, False)
        faulthandler.enable(screen)
        os.dup2(end, 2)
        try:
            yield
        finally:
            os.dup2(screen, 2)
            faulthandler.enable(2) if traced else faulthandler.disable()
            for line in _read_held(held).splitlines(keepends=True):
                if not line.startswith(GREETINGS):
                    os.write(2, line)
            for descriptor in (screen, held, end):
                os.close(descriptor)


def _read_held(descriptor):
    with contextlib.suppress(BlockingIOError):
        return os.read(descriptor, 2**20)
    return b""
