"""Behaviour of the program on a terminal: startup, errors, exit."""

import contextlib
import faulthandler
import functools
import gc
import io
import os
import signal
import sys

from keras_bahdanau.settings.cores import usable_cores
from keras_bahdanau.settings.greetings import without_greetings

PROGRAM = "keras-bahdanau"
BAD_INPUT, INTERRUPTED, BROKEN_PIPE = 2, 130, 141  # exit codes of typer and of shells


def ends_well(on_interrupt=""):
    """Decorator that ends a command with one line and an exit code for each kind of failure.

    An error with "Received: ...", from this package, or from the operating system is bad input.
    Any other exception is a bug and keeps its traceback. An interruption prints `on_interrupt`.
    """

    def decorate(function):
        @functools.wraps(function)
        def command(*args, **kwargs):
            try:
                function(*args, **kwargs)
                sys.stdout.flush()
            except BrokenPipeError:
                _abandon_output()
                raise SystemExit(BROKEN_PIPE) from None
            except OSError as error:
                _abandon_output()
                raise _stopped(_os_message(error), BAD_INPUT) from None
            except (FloatingPointError, ImportError, RuntimeError, TypeError, ValueError) as error:
                if "Received: " not in str(error):
                    raise
                raise _stopped(str(error), BAD_INPUT) from None
            except KeyboardInterrupt:
                raise _stopped(f"interrupted. {on_interrupt}", INTERRUPTED) from None

        return command

    return decorate


@contextlib.contextmanager
def interrupted_by_sigterm():
    """Handle SIGTERM, which stops containers and jobs, like Ctrl-C, which cleans up."""
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(number, frame):
    raise KeyboardInterrupt


def _stopped(message, code):
    """Print a message on standard error; return the exception that ends the program."""
    warn(message)
    return SystemExit(code)


def warn(message):
    """Print one line on standard error."""
    show_progress("")
    print(f"{PROGRAM}: {' '.join(message.split())}", file=sys.stderr, flush=True)


def report_warnings():
    """Print each warning of Python and of its loggers as one line, without path and line number.

    Each text is printed once.
    """
    import logging
    import warnings

    class Lines(logging.Handler):
        """Handler of the root logger, so that no library adds its own."""

        def emit(self, record):
            warn_once(record.getMessage())

    @functools.cache
    def warn_once(message):
        warn(message)

    def showwarning(message, category, filename, lineno, file=None, line=None):
        warn_once(str(message))

    warnings.showwarning = showwarning
    # letters without a font: `plotting.fonts` names them all in one warning
    warnings.filterwarnings("ignore", r"(?s)Glyph \d+ .*missing from", UserWarning)
    logging.basicConfig(handlers=[Lines()])


def _abandon_output():
    """Discard buffered output, which Python would fail to write again at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _os_message(error):
    """A one-line message for an `OSError`, without Python's error number."""
    if error.strerror is None:
        return str(error)
    return error.strerror + (f": {str(error.filename)!r}" if error.filename else "")


def _threads(threads):
    each, at_once = "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"
    if threads is not None:
        return {each: threads, at_once: threads}
    if each in os.environ or at_once in os.environ or os.path.exists("/dev/nvidiactl"):
        return {}
    return {each: max(1, usable_cores() // 2)}


def load_tensorflow(threads=None):
    """Import TensorFlow without the greetings of its libraries.

    Unless `threads` or the environment sets a number, or there is a GPU, an operation uses half of
    the cores: the many small steps of a recurrent model then run concurrently, and training is 1.2
    times as fast on two cores (`benchmarks/`).
    """
    if "tensorflow" in sys.modules:
        return
    for name, number in _threads(threads).items():
        os.environ.setdefault(name, str(number))
    with contextlib.suppress(io.UnsupportedOperation):  # stderr is not a file, as in a notebook
        faulthandler.enable()
    with without_greetings(), _without_matplotlib(), _without_collection():
        import tensorflow  # noqa: F401


@contextlib.contextmanager
def _without_collection():
    """Disable garbage collection while modules load, and never collect their objects.

    Collection takes a third of the startup time, and as long again when Python exits.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


@contextlib.contextmanager
def _without_matplotlib():
    """Hide matplotlib, which Keras would load for its own plots."""
    name = "matplotlib"
    if name in sys.modules:
        yield
        return
    sys.modules[name] = None  # an import then fails, as if it were not installed
    try:
        yield
    finally:
        del sys.modules[name]


def say(line):
    """Print one line on standard output, replacing the progress line."""
    show_progress("")
    print(line, flush=True)


def open_closed_streams():
    """Open `os.devnull` for each standard stream that the parent closed, as some daemons do."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:  # the file gets the lowest free descriptor, the stream's
            mode = "w" if number else "r"
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def show_progress(text, lines=False):
    """Show the progress of a command on a terminal's standard error; "" removes it.

    With `lines`, output lines on a terminal already show the progress.
    """
    if sys.stderr.isatty() and not (lines and sys.stdout.isatty()):
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def keras_verbosity():
    """Verbosity of Keras: a progress bar on a terminal, a line per epoch elsewhere."""
    return 1 if sys.stdout.isatty() else 2
