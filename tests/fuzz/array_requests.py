"""Requests to runners of Keras models: wrong names, shapes and types, huge lengths, no numbers.

An oracle, which computes with Python integers and float64, returns the array to which a request
must be converted, or None if it must be refused. A refused request must not change a stream.
"""

import itertools
import random
from pathlib import Path

import numpy as np

from fuzz.array_files import same
from fuzz.attack import attack
from fuzz.seals import tell, told_by

INTEGERS = [np.dtype(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)]
FLOATS = [np.dtype(name) for name in ("float16", "float32", "float64", "longdouble")]
WILD = (np.nan, np.inf, -np.inf, 1e39, -1e39, 3e38, 1e-320, 0.0)
HUGE = (2**26 + 1, 2**31, 2**40)
LONG = 3_000


@attack(10, "arrays to a Keras model: names, shapes, kinds, NaN, huge lengths", full=2400)
def array_requests(world, count):
    yield from _cases(world, "try_requests", count)


@attack(10, "a stream of a Keras model: hostile steps between good ones", full=600)
def stream_requests(world, count):
    yield from _cases(world, "try_streams", count)


def _cases(world, target, count):
    arguments = (f"fuzz.array_requests:{target}", str(world.arrays), count)
    yield from told_by(world.light, world, *arguments, name=target)


class Odd:
    """An object that can't be converted to an array."""

    def __array__(self, *arguments, **keywords):
        raise ValueError("two\nlines")


def nested():
    """Return a list that contains itself."""
    values = []
    values.append(values)
    return values


def no_arrays():
    """Yield values that aren't arrays of numbers."""
    yield from (None, "text", b"", {}, {1: 2}, {3}, object(), Odd(), nested(), 10**40, 1j, [])
    yield from ([[]], [[10**40]], [[1], [1, 2]], [[None]], [["1"]], [[b"1"]], [[1j]], ["\n" * 2000])
    yield from (np.array([["2026-11-29"]], "datetime64[D]"), np.zeros((1, 3), "i4,f4"), iter([1]))
    yield np.array([[object()]])


def arrays(draw, shape):
    """Return a name and a random array of any dtype and layout, possibly with extreme values."""
    kind = draw.choice([*INTEGERS, *FLOATS, np.dtype(bool)])
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        pool = [limits.min, limits.max, 0, 1, 2, 59, 60, 100]
        numbers = [number for number in pool if limits.min <= number <= limits.max]
    elif kind.kind == "f":
        numbers = [1.0, -0.5, 0.25] if draw.random() < 0.5 else [1.0, draw.choice(WILD)]
    else:
        numbers = [True, False]
    with np.errstate(over="ignore"):
        array = np.array(draw.choices(numbers, k=int(np.prod(shape))), kind).reshape(shape)
    layout = draw.choice(["plain", "swapped", "fortran", "strided", "read-only", "list"])
    if layout == "swapped":
        array = array.astype(array.dtype.newbyteorder())
    elif layout == "fortran":
        array = np.asfortranarray(array)
    elif layout == "strided":
        array = np.repeat(array, 2, axis=-1)[..., ::2] if array.ndim else array
    elif layout == "read-only":
        array.flags.writeable = False
    elif layout == "list" and array.dtype != np.longdouble:
        return f"{kind} {layout} {shape}", array.tolist()
    return f"{kind} {layout} {shape}", array


def shapes(draw, good):
    """Return a random shape, often a correct one; in `good`, None means any length."""
    right = tuple(draw.choice([1, 2, 5, 40]) if size is None else size for size in good)
    wrong = [(), (0,), right[:-1], (*right, 1), (2, *right[1:]), (*right[:-1], 0), (0, *right[1:])]
    if good[-1] is not None:
        wrong.append((*right[:-1], right[-1] + 1))
    return right if draw.random() < 0.6 else draw.choice(wrong)


def canonical(value, dtype, good):
    """Return the array to which a request must be converted, or None if it must be refused."""
    try:
        array = np.asarray(value)
    except Exception:
        return None
    fits = array.ndim == len(good) and all(
        size in (None, actual) for size, actual in zip(good, array.shape, strict=True)
    )
    if not fits or not array.size or array.dtype.kind not in "biuf":
        return None
    if dtype == np.int32:
        if array.dtype.kind == "f":
            return None
        numbers = [min(max(int(number), -(2**31)), 2**31 - 1) for number in array.flat]
        return np.array(numbers, np.int32).reshape(array.shape)
    numbers = [float(number) for number in array.flat]
    if not all(abs(number) <= float(np.finfo(np.float32).max) for number in numbers):
        return None
    return np.array(numbers, np.float32).reshape(array.shape)


def odd_names(good):
    """Yield dictionaries with wrong names, and other objects, in place of a request."""
    ((name, array),) = good.items()
    yield from ({}, {name.upper(): array}, {**good, "x": array}, {None: array}, {1: array})
    yield from ({f"{name}\n": array}, {"x" * 10**5: array}, {"\x1b[2J": array}, {(1, 2): array})
    yield from ([*good.items()], {name: good}, {**good, None: None}, {"a\nb": 1, "c": 2})


def try_requests(folder, count):
    """Send requests for whole sequences."""
    from keras_bahdanau.runners import ArrayModel

    draw = random.Random(3)
    for name, tensor, dtype, good in (
        ("mood.tflite", "ids", np.dtype("int32"), (1, None)),
        ("hear.tflite", "sample", np.dtype("float32"), (1, None, 4)),
        ("mood.onnx", "ids", np.dtype("int32"), (None, None)),
        ("hear.onnx", "sample", np.dtype("float32"), (None, None, 4)),
    ):
        path = Path(folder, name)
        model, oracle = ArrayModel(path), ArrayModel(path)
        for _ in range(count // 4):
            case, value = arrays(draw, shapes(draw, good))
            _tell(f"{name}, {case}", model, oracle, tensor, value, dtype, good)
        for value in no_arrays():
            _tell(f"{name}, {value!r:.60}", model, oracle, tensor, value, dtype, good)
        for length in HUGE:
            value = np.broadcast_to(np.ones((), dtype), (1, length, *good[2:]))
            _tell(f"{name}, length {length:,}", model, oracle, tensor, value, None, good)
        value = np.ones((1, LONG, *good[2:]), dtype)
        _tell(f"{name}, length {LONG:,}", model, oracle, tensor, value, dtype, good)
        request = {tensor: np.ones([1 if n is None else n for n in good], dtype)}
        for wrong in odd_names(request):
            tell(f"{name}, names {wrong!r:.60}", lambda m=model, w=wrong: m(w), lambda _: False)
        for signature in ("", "steps", 3, [1], b"step", "a\nb", "x" * 10**5, object(), "infer"):
            ask = lambda m=model, s=signature, r=request: m(r, s)  # noqa: E731
            tell(f"{name}, signature {signature!r:.60}", ask, lambda _: False)
    for threads in (0, -1, 10**9, 1.5, "2", None, True):
        tell(f"threads {threads!r}", lambda t=threads: ArrayModel(path, t), lambda _: False)


def _tell(case, model, oracle, tensor, value, dtype, good):
    wanted = None if dtype is None else canonical(value, dtype, good)
    expected = None if wanted is None else oracle({tensor: wanted})

    def right(answer):
        return expected is not None and same(answer, expected)

    tell(case, lambda: model({tensor: value}), right)
    if expected is not None:  # a valid request must not be refused
        tell(f"{case}, answered", lambda: _answered(model, {tensor: value}), lambda ok: ok)


def _answered(model, request):
    try:
        model(request)
    except (TypeError, ValueError):
        return False
    return True


def try_streams(folder, count):
    """Feed a stream valid and hostile steps; hostile ones must not affect the answers."""
    for name in ("hear.tflite", "hears.onnx"):
        _try_stream(name, Path(folder, name), count // 2)


def _try_stream(name, path, count):
    from keras_bahdanau.runners import ArrayModel

    draw, model, good = random.Random(4), ArrayModel(path), (1, 4)
    stream, alone = model.stream(), model.stream()
    states = {f"{name}": np.ones_like(state) for name, state in stream.states.items()}
    refused = [
        *({"sample": value} for value in no_arrays()),
        *odd_names({"sample": np.ones(good, np.float32)}),
        *({"sample": np.ones(good, np.float32), name: array} for name, array in states.items()),
        *({"sample": np.full(good, value)} for value in (np.nan, np.inf, 1e39)),
        *({"sample": np.ones(shape)} for shape in ((4,), (1, 1, 4), (1, 5), (2, 4), (1, 0))),
    ]
    for number, hostile in zip(range(count), itertools.cycle(refused), strict=False):
        tell(f"{name}, {hostile!r:.60}", lambda h=hostile: stream(h), lambda _: False)
        step = np.full(good, draw.uniform(-2, 2), np.float32)
        expected = alone({"sample": step})
        right = lambda answer, e=expected: same(answer, e)  # noqa: E731
        tell(f"{name}, step {number}", lambda s=step: stream({"sample": s}), right)
