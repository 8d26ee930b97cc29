"""Behavior of the program on a terminal: startup, errors and exit."""

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
    """Decorator that turns each type of failure into a one-line message and an exit code.

    An error from this package, which contains "Received: ...", or from the operating system means
    bad input. Any other exception is a bug and keeps its traceback. `on_interrupt` is printed
    after an interruption.
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
    """Treat SIGTERM, which stops containers and jobs, like Ctrl-C, so that drafts are removed."""
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(number, frame):
    raise KeyboardInterrupt


def _stopped(message, code):
    """Print a message on standard error, and return the exception that ends the program."""
    warn(message)
    return SystemExit(code)


def warn(message):
    """Print one line on standard error."""
    show_progress("")
    print(f"{PROGRAM}: {' '.join(message.split())}", file=sys.stderr, flush=True)


def report_warnings():
    """Print each Python warning and log message as one line, without a path and a line number.

    A message is printed only once.
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
    # `plotting.fonts` names all letters that have no font in a single warning
    warnings.filterwarnings("ignore", r"(?s)Glyph \d+ .*missing from", UserWarning)
    logging.basicConfig(handlers=[Lines()])


def _abandon_output():
    """Discard buffered output that Python would otherwise try again to write at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _os_message(error):
    """Return a one-line message for an `OSError`, without the error number."""
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
    """Import TensorFlow without the startup messages of its libraries.

    By default, each operation uses half of the cores, so that the many small steps of a recurrent
    model run concurrently: training is then 1.2 times as fast on two cores (`benchmarks/`). The
    default does not apply on a GPU, or if `threads` or the environment sets a number of threads.
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
    """Disable garbage collection while modules load, and exempt their objects from it afterwards.

    Collection would take a third of the startup time, and as long again when Python exits.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


@contextlib.contextmanager
def _without_matplotlib():
    """Hide matplotlib, so that Keras does not load it for its own plots."""
    name = "matplotlib"
    if name in sys.modules:
        yield
        return
    sys.modules[name] = None  # makes the import fail
    try:
        yield
    finally:
        del sys.modules[name]


def say(line):
    """Print one line on standard output, replacing the progress line."""
    show_progress("")
    print(line, flush=True)


def open_closed_streams():
    """Open `os.devnull` for each standard stream that the parent process has closed."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:  # the lowest free descriptor is that of the stream
            mode = "w" if number else "r"
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def show_progress(text, lines=False):
    """Show a progress line on standard error if that is a terminal; "" removes the line.

    With `lines`, nothing is shown if standard output is a terminal, too, because the output lines
    already show the progress.
    """
    if sys.stderr.isatty() and not (lines and sys.stdout.isatty()):
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def keras_verbosity():
    """Return Keras' verbosity: a progress bar on a terminal, otherwise one line per epoch."""
    return 1 if sys.stdout.isatty() else 2
