"""Frames with non-finite values or wrong shapes, empty or huge, in each runtime."""

import numpy as np

from fuzz.attack import attack, judged, sample
from fuzz.served import asked, case_of, equal_rows

SIZE, LONGEST = 3, 40  # limits of `new_frames_pipeline` and the .tflite file
WILD = (np.nan, np.inf, -np.inf, 3.4e38, -3.4e38, 1e-45, 0.0)


def wild_frames(random):
    """Return arrays `(rows, time, SIZE)` and `(rows,)` of any values and wrong lengths."""
    rows, time = random.randrange(1, 4), random.choice([0, 1, 2, 7])
    values = np.array([random.choice(WILD) for _ in range(rows * time * SIZE)], np.float32)
    lengths = [random.choice([-(2**31), -1, 0, 1, time, 2**31 - 1]) for _ in range(rows)]
    return values.reshape(rows, time, SIZE), np.array(lengths, np.int32)


@attack(12, "frames: any numbers and lengths, in the graph", full=300)
def frames_in_the_graph(world, count):
    """A row gets the same text in a batch as alone, and a finite score."""
    random = world.random("frames")
    batches = [wild_frames(random) for _ in range(count)]
    requests = [("serving_default", {"values": v, "lengths": n}) for v, n in batches]
    requests += [("serving_default", {"values": v[:1], "lengths": n[:1]}) for v, n in batches]
    answer, answers = asked(world, world.frames / "saved" / "1", requests, seconds=200)
    for number, (values, lengths) in enumerate(batches):
        pair = answers and [answers[number], answers[count + number]]
        name = f"values {values.shape}, lengths {lengths.tolist()}"
        yield case_of(name, answer, pair, _first_is_alone)._replace(seconds=0)


def _first_is_alone(answers):
    batch, alone = answers
    return np.isfinite(batch["score"]).all() and equal_rows(batch, [alone])


@attack(12, "frames: other shapes and huge lengths, in the graph", full=10)
def shapes_of_frames(world, count):
    """A malformed request may fail, but only within limits of time and memory."""
    normal = np.ones((1, 2, SIZE), np.float32), np.array([2], np.int32)
    cases = [
        ("no rows", (0, 2, SIZE), []),
        ("fewer lengths than rows", (2, 2, SIZE), [2]),
        ("more lengths than rows", (1, 2, SIZE), [2, 2]),
        ("another width", (1, 2, SIZE + 1), [2]),
        ("no width", (1, 2, 0), [2]),
        ("another rank", (2, SIZE), [2]),
        ("10,000 frames", (1, 10_000, SIZE), [10_000]),
        ("100,000 frames in a batch of 8", (8, 100_000, SIZE), [100_000] + [2] * 7),
    ]
    for name, shape, lengths in cases[:count]:
        values, lengths = np.ones(shape, np.float32), np.array(lengths, np.int32)
        requests = [("serving_default", {"values": v, "lengths": n}) for v, n in (normal,)]
        requests.append(("serving_default", {"values": values, "lengths": lengths}))
        answer, answers = asked(world, world.frames / "saved" / "1", requests)
        if answers and isinstance(answers[-1], str):
            refusal = " ".join(answers[-1].split())
            yield judged(name, answer._replace(code=2, err=refusal), lambda _: False)
            continue
        rows = len(lengths)
        whole = lambda a, n=rows, s=shape: n == s[0] == len(a[-1]["score"])  # noqa: E731
        yield case_of(name, answer, answers, whole)


@attack(12, "frames: on the device", full=60)
def frames_on_the_device(world, count):
    random = world.random("device frames")
    shapes = [(0, SIZE), (1, SIZE), (LONGEST, SIZE), (LONGEST + 1, SIZE), (10**6, SIZE)]
    shapes += [(5, SIZE + 1), (5, 1), (5, 0), (5,), (5, SIZE, 1)]
    cases = [
        (shape, value, length)
        for shape in shapes
        for value in (1.0, *WILD)
        for length in (0, 1, -1, 2**31 - 1)
    ]
    for shape, value, length in sample(random, cases, count):
        good = len(shape) == 2 and shape[1] == SIZE and shape[0] <= LONGEST
        with world.scratch() as directory:
            np.savez(directory / "f.npz", values=np.full(shape, value, np.float32), length=length)
            answer = world.light.call(
                "fuzz.targets:on_device_frames",
                str(world.frames / "frames.tflite"),
                "f.npz",
                directory=directory,
            )
            right = lambda ended, g=good: g and b"NaN" not in ended.out and b"Inf" not in ended.out  # noqa: E731
            yield judged(f"shape {shape}, value {value}, length {length}", answer, right)


@attack(12, "frames: in Python", full=20)
def frames_in_python(world, count):
    random = world.random("python frames")
    shapes = [(0, SIZE), (1, SIZE), (5, SIZE + 1), (5, 0), (5,), (2, 5, SIZE), (), (100_000, SIZE)]
    kinds = ["float32", "float64", "complex64", "object"]
    cases = [(s, k, v) for s in shapes for k in kinds for v in ("1", "nan", "inf", "1e300")]
    for shape, kind, value in sample(random, cases, count):
        good = shape == (0, SIZE) or shape in ((1, SIZE), (100_000, SIZE)) and value == "1"
        answer = world.heavy.call(
            *("fuzz.targets:frames_in_python", list(shape), kind, value),
            directory=world.files,
            seconds=60,
        )
        yield judged(f"{shape} {kind} {value}", answer, lambda _, g=good: g)
