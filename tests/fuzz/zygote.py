"""A process that has imported slow modules and forks a child with limits for each case.

A case can crash, hang or exhaust its memory without affecting the test process.
"""

import contextlib
import importlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

from fuzz.outcomes import Answer

TESTS = Path(__file__).parents[1]


class Zygote:
    """The parent's interface: calls functions in separate child processes.

    Args:
        modules: Strings. Names of the modules to import before the first fork.
    """

    def __init__(self, *modules):
        given = filter(None, [os.environ.get("PYTHONPATH")])
        paths = [TESTS, TESTS / "support", *given, TESTS.parent]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "fuzz.zygote", *modules],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(map(os.fspath, paths)),
                "CUDA_VISIBLE_DEVICES": "-1",
                "TF_CPP_MIN_LOG_LEVEL": "3",
            },
        )

    def call(
        self,
        target,
        *arguments,
        directory,
        stdin=b"",
        seconds=30,
        memory=3 * 2**30,
        patience=None,
    ):
        """Run a function in a child process, and return its `Answer`.

        Args:
            target: String. A "module:function" whose result is the exit code.
            *arguments: Arguments that can be converted to JSON.
            directory: Path of the function's current directory.
            stdin: Bytes. Standard input.
            seconds: Float. The limit of processor time.
            memory: Integer. The limit of memory in bytes, in addition to the zygote's.
            patience: Float. The limit of elapsed time; by default, five times `seconds`.
        """
        before = _state(directory)
        with tempfile.TemporaryDirectory() as scratch:
            paths = [os.path.join(scratch, name) for name in ("in", "out", "err")]
            Path(paths[0]).write_bytes(stdin)
            limits = [seconds, memory, patience or 5 * seconds]
            request = [target, arguments, os.fspath(directory), paths, *limits]
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
            ended = json.loads(self._process.stdout.readline())
            out, err = (Path(path).read_bytes() for path in paths[1:])
        after = _state(directory)
        left = sorted(name for name in after.keys() | before if after.get(name) != before.get(name))
        return Answer(out=out, err=err.decode("utf-8", "replace"), left=left, **ended)

    def close(self):
        """End the process."""
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _state(directory):
    """Return a dictionary from each file under a directory to its size and modification time."""
    state = {}
    for path in Path(directory).rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            found = path.lstat()
            state[os.fspath(path.relative_to(directory))] = (found.st_size, found.st_mtime_ns)
    return state


def _serve(modules):
    for module in modules:
        importlib.import_module(module)
    for line in sys.stdin.buffer:
        print(json.dumps(_ended(*json.loads(line))), flush=True)


def _ended(target, arguments, directory, paths, seconds, memory, patience):
    """Fork, wait for the child, and return the fields of its `Answer`."""
    began, expired = time.monotonic(), []
    child = os.fork()
    if not child:
        _become(target, arguments, directory, paths, seconds, memory)

    def expire(*_):
        expired.append(True)
        os.kill(child, signal.SIGKILL)

    signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, patience)
    _, status, usage = os.wait4(child, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)  # processes that it has left running
    code = os.waitstatus_to_exitcode(status)
    spent = usage.ru_utime + usage.ru_stime
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "code": code,
        "seconds": round(spent, 2) if not expired else round(time.monotonic() - began, 2),
        "memory": max(0, usage.ru_maxrss - before) * 1024,
        "stopped": bool(expired) or code == -signal.SIGXCPU or (code < 0 and spent >= seconds),
    }


def _become(target, arguments, directory, paths, seconds, memory):
    """In the child: redirect the standard streams, set limits, call the function and exit."""
    code = 1
    try:
        os.setsid()
        for descriptor, path in enumerate(paths):
            flags = os.O_RDONLY if descriptor == 0 else os.O_WRONLY | os.O_CREAT
            os.dup2(os.open(path, flags), descriptor)
        sys.stdin, sys.stdout, sys.stderr = (
            open(descriptor, mode, encoding="utf-8", errors=errors)
            for descriptor, mode, errors in ((0, "r", None), (1, "w", None), (2, "w", "replace"))
        )
        os.chdir(directory)
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        room = pages * resource.getpagesize() + memory
        resource.setrlimit(resource.RLIMIT_AS, (room, room))
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 5))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        module, _, function = target.partition(":")
        code = getattr(importlib.import_module(module), function)(*arguments) or 0
    except SystemExit as ended:
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _serve(sys.argv[1:])
