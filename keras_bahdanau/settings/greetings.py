"""Startup messages of libraries that mean nothing to users."""

import contextlib
import faulthandler
import os
import sys
import threading

GREETINGS = (
    *(b"I0000 ", b"WARNING: All log messages before absl", b"INFO: Created TensorFlow Lite"),
    b"normalizer.cc(",  # SentencePiece in TensorFlow, whose log level is fixed
)
_SCREEN = threading.RLock()  # one thread at a time may redirect standard error


@contextlib.contextmanager
def without_greetings():
    """Suppress startup messages of TensorFlow and LiteRT, which no setting silences.

    All other output is printed at the end; so is the traceback of a crash.
    TF_CPP_MIN_LOG_LEVEL=1 prints everything.
    """
    with _SCREEN:
        screen = None
        if os.environ.get("TF_CPP_MIN_LOG_LEVEL", "3") >= "2":
            with contextlib.suppress(OSError):  # a daemon may lack it
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
