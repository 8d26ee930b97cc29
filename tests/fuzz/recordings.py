"""Recordings: damaged WAV and FLAC files, huge declared sizes, any bytes."""

import io
import random
import struct
import sys
from pathlib import Path

import numpy as np

from fuzz.attack import attack, judged
from fuzz.served import asked, case_of, equal_rows, strings

ROWS = 16  # per request
LONGEST = 3000  # positions of an `AudioSource`
NUMBERS = (0, 1, 2, 7, 8, 12, 16, 24, 32, 64, 65, 999, 1000, 8000, 16_000, 44_100, 192_000, 192_001)
LARGE = (2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1)


def chunk(name, content, size=None):
    return name + struct.pack("<I", len(content) if size is None else size) + content


def form(tag=1, channels=1, rate=16_000, bits=16):
    return chunk(b"fmt ", struct.pack("<HHIIHH", tag, channels, rate, 0, 0, bits))


def wav(data, size=None, between=(), **settings):
    """Return a WAV file with any settings and content."""
    chunks = b"WAVE" + form(**settings) + b"".join(between) + chunk(b"data", data, size)
    return chunk(b"RIFF", chunks)


def tone():
    """Return the valid recording that each request contains."""
    wave = 9000 * np.sin(np.arange(2000) / 5)
    return wav(wave.astype("<i2").tobytes(), rate=11_025)


def files():
    """Return WAV files of all kinds."""
    noise = np.random.default_rng(0).integers(0, 256, 1200, np.uint8).tobytes()
    kinds = [(1, 8), (1, 16), (1, 24), (1, 32), (3, 32), (3, 64)]
    odd = [chunk(b"LIST", b"ab")]
    return [
        wav(noise, tag=tag, bits=bits, channels=channels, rate=rate, between=odd)
        for tag, bits in kinds
        for channels, rate in ((1, 16_000), (2, 8000), (5, 44_100))
    ]


def damaged(chance, files):
    """Return a damaged recording."""
    content = bytearray(chance.choice(files))
    kind = chance.randrange(6)
    if kind == 0:
        return chance.randbytes(chance.randrange(60))
    if kind == 1:
        return bytes(content[: chance.randrange(len(content))])
    if kind == 2:  # continues with another file
        other = chance.choice(files)
        return bytes(content[: chance.randrange(len(content))] + other[chance.randrange(60) :])
    if kind == 3:  # a random header
        tag = chance.choice([0, 1, 1, 3, 3, 6, 7, 0xFFFE])
        rate, channels, bits = chance.choice(NUMBERS), *chance.choices(NUMBERS[:12], k=2)
        data = chance.randbytes(chance.randrange(900))
        return wav(data, tag=tag, rate=rate, channels=channels, bits=bits)
    if kind == 4:  # chunks in any order with wrong sizes
        chunks = [form(bits=chance.choice([8, 16, 24])), chunk(b"data", chance.randbytes(99))]
        chunks += [chunk(b"more", bytes(4), chance.choice([*NUMBERS, *LARGE]))]
        chunks += [chunk(b"data", chance.randbytes(50), chance.choice([*NUMBERS, *LARGE]))]
        chance.shuffle(chunks)
        return chunk(b"RIFF", b"WAVE" + b"".join(chunks), chance.choice(LARGE))
    for _ in range(chance.choice([1, 1, 2, 30])):
        content[chance.randrange(min(len(content), 120))] = chance.randrange(256)
    return bytes(content)


@attack(12, "recordings: damaged files, in the graph", full=10_000, few=20)
def damaged_recordings(world, count):
    """A row has the same samples in two batches, and a valid one has the same as alone."""
    chance, whole = world.random("recordings"), files()
    contents = [damaged(chance, whole) for _ in range(count)]
    requests = [("serving_default", {"audio_bytes": strings([tone()])})]
    for first in range(0, count, ROWS - 1):
        rows = [*contents[first : first + ROWS - 1], tone()]
        requests += [
            ("serving_default", {"audio_bytes": strings(order)}) for order in (rows, rows[::-1])
        ]
    version = world.made("sound_graph", "fuzz.recordings:write_sound_graph")
    answer, answers = asked(world, version, requests, seconds=400)
    good, *pairs = answers or [None] * len(requests)
    for number, content in enumerate(contents):
        batch, row = divmod(number, ROWS - 1)
        found = answers and [good, *pairs[2 * batch : 2 * batch + 2]]
        yield case_of(repr(content[:40]), answer, found, _right(row))._replace(seconds=0)


def _right(row):
    """Return a check of answers (valid row alone, batch, reversed batch) for a damaged row."""

    def right(answers):
        alone, batch, turned = answers
        samples, length = batch["samples"][row], batch["lengths"][row]
        own = alone["samples"][0]
        as_alone = np.array_equal(batch["samples"][-1, : len(own)], own)
        as_alone &= batch["lengths"][-1] == alone["lengths"][0]
        fits = 0 <= length <= LONGEST and not samples[160 * length :].any()
        fits &= bool((np.abs(samples) <= 1000).all())  # False for NaN
        return as_alone and fits and np.array_equal(samples, turned["samples"][-1 - row])

    return right


def bombs():
    """Yield (name, bytes, number of positions)."""
    noise = np.random.default_rng(0).integers(0, 256, 2**20, np.uint8).tobytes()
    yield "4 GB declared", wav(bytes(320), 2**32 - 1), 1
    yield "4 GB of another chunk", wav(bytes(320), between=[chunk(b"more", b"", 2**32 - 1)]), 0
    yield "192 kHz, 32 channels, 24 MB", wav(noise * 24, rate=192_000, channels=32), 188
    yield "64 channels of 8 bits, 24 MB", wav(noise * 24, channels=64, bits=8), 2250
    yield "24 MB at 1 kHz", wav(noise * 24, rate=1000), LONGEST
    yield "a prime rate, 24 MB", wav(noise * 24, rate=191_999, bits=24), LONGEST
    yield "24 MB of one byte a sample", wav(noise * 24, rate=192_000, bits=8), LONGEST
    yield "a million chunks", wav(bytes(320), between=[chunk(b"none", b"")] * 10**6), 0
    yield "100 MB", wav(noise * 100), LONGEST


@attack(12, "recordings: files that declare or hold much, in the graph", full=9)
def recording_bombs(world, count):
    """A valid row next to a bomb keeps its samples, within 20 seconds and 1.5 GB."""
    version = world.made("sound_graph", "fuzz.recordings:write_sound_graph")
    for name, bomb, length in [*bombs()][:count]:
        requests = [
            ("serving_default", {"audio_bytes": strings(rows)})
            for rows in ([tone()], [bomb, tone()])
        ]
        answer, answers = asked(world, version, requests)

        def right(answers, length=length):
            alone, batch = answers
            own = alone["samples"][0]
            same = np.array_equal(batch["samples"][1, : len(own)], own)
            return same and abs(batch["lengths"][0] - length) <= 1

        yield case_of(name, answer, answers, right)


@attack(12, "recordings: damaged files, in every signature of a model", full=300)
def recordings_of_a_model(world, count):
    """A row gets the same text in a batch as alone, and a finite score."""
    chance, whole = world.random("transcribed"), files()
    version = world.made("recordings", "fuzz.recordings:write_model") / "1"
    signatures = ("serving_default", "decode_with_alignment", "decode_nbest")
    requests = []
    for number in range(count):
        rows = strings([damaged(chance, whole) for _ in range(3)])
        name = signatures[number % 3]
        requests += [(name, {"audio_bytes": rows}), (name, {"audio_bytes": rows[:1]})]
    answer, answers = asked(world, version, requests, seconds=200)

    def right(answers):
        batch, alone = answers
        finite = all(np.isfinite(v).all() for v in batch.values() if v.dtype.kind == "f")
        return finite and equal_rows(batch, [alone])

    for number in range(count):
        pair = answers and answers[2 * number : 2 * number + 2]
        yield case_of(f"request {number}", answer, pair, right)._replace(seconds=0)


@attack(12, "recordings: damaged WAV and FLAC files, in Python", full=2000)
def recordings_in_python(world, count):
    """Python and the graph compute the same samples for a file."""
    step = 200
    for first in range(0, count, step):
        answer = world.heavy.call(
            *("fuzz.recordings:compare_sides", first, min(step, count - first)),
            directory=world.files,
            seconds=100,
        )
        yield judged(f"files from {first}", answer, lambda ended: b"same" in ended.out)


def compare_sides(seed, count):
    """Compare the samples that Python and a graph compute for damaged files."""
    import soundfile
    import tensorflow as tf

    from keras_bahdanau.sources import AudioSource

    chance, whole, source = random.Random(seed), files(), AudioSource()
    for kind, rate in (("PCM_16", 16_000), ("PCM_24", 8000)):
        file = io.BytesIO()
        noise = np.random.default_rng(0).integers(-9999, 9999, (700, 2), np.int16)
        soundfile.write(file, noise, rate, subtype=kind, format="FLAC")
        whole += [file.getvalue()] * 5
    inputs = [damaged(chance, whole) for _ in range(count)]
    source.check("inputs", inputs)
    rows = source.cut(inputs, LONGEST)[1]
    host = rows.padded(np.arange(count), (count, max(1, int(rows.lengths.max()))))
    graph = tf.function(lambda audio_bytes: source.cut_request(LONGEST, audio_bytes=audio_bytes))
    _, found, _ = graph(source.requests(inputs)["audio_bytes"])
    width = found.values.shape[1]
    same = np.array_equal(host.values[:, :width], found.values) and not host.values[:, width:].any()
    print("same" if same and np.array_equal(host.lengths, found.lengths) else "another")
    if not np.isfinite(host.values).all():
        sys.exit("Samples must be finite. Received: another number.")


def write_sound_graph(name):
    """Write a SavedModel from `audio_bytes` to `samples` and `lengths`."""
    import tensorflow as tf

    from keras_bahdanau.sources import AudioSource

    source = AudioSource()

    def features(audio_bytes):
        return source.named(source.cut_request(LONGEST, audio_bytes=audio_bytes)[1])

    spec = tf.TensorSpec((None,), tf.string, name="audio_bytes")
    graph = tf.function(features, input_signature=[spec], autograph=False)
    tf.saved_model.save(tf.Module(), name, signatures={"serving_default": graph})


def write_model(name):
    """Write a SavedModel of an untrained pipeline for sound."""
    import keras
    from options import new_subwords

    import keras_bahdanau as kb

    keras.utils.set_random_seed(0)
    source, target = kb.sources.AudioSource(10), new_subwords()
    model = kb.Seq2Seq(
        kb.Encoder(front_end=source.front_end(4, (4, 4)), units=4, kind="pyramidal", depth=2),
        kb.Decoder(target.vocabulary_size, 4, kb.layers.DecoderCell(8)),
    )
    search = kb.SearchOptions(beam_width=2, max_length=5)
    kb.export_saved_model(kb.Pipeline(source, model, target, search), Path(name))
