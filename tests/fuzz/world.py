"""The models, files and zygotes for the attacks, created when an attack first needs them."""

import contextlib
import functools
import pickle
import random
import tempfile
import threading
from pathlib import Path

from conftest import toy_pairs

from fuzz.zygote import Zygote

TOY = (
    "--vocabulary-size 48 --embedding-units 24 --units 48 --attention-units 24 --batch-tokens 512 "
    "--learning-rate 0.01 --dropout 0 --embedding-dropout 0 --readout-dropout 0 --label-smoothing 0"
)
LIGHT = ("fuzz.warm", "keras_bahdanau.training.run", "numpy", "sacrebleu.metrics")
HEAVY = (*LIGHT, "keras_bahdanau.pipelines.tasks", "keras_bahdanau.exporters.all_formats")
COMMAND, CHECKS = "fuzz.targets:command", "fuzz.targets:command_until_tensorflow"
SEED = 15
MAKING = threading.RLock()  # worlds may share a directory


class World:
    """The targets and tools of the attacks.

    Args:
        directory: Path of the working directory.
        quick: Boolean. Whether to stop each case before TensorFlow would be imported. A case that
            gets this far has survived.
        **made: Paths of existing models, by the names of the properties below.
    """

    def __init__(self, directory, quick=False, **made):
        self.directory, self.quick = Path(directory), quick
        self._stack = contextlib.ExitStack()
        self.__dict__.update(made)
        self.files = self.directory / "files"
        self.files.mkdir(parents=True, exist_ok=True)
        pairs = toy_pairs()
        for side, name in enumerate(("good.en", "good.de")):
            text = "".join(f"{pair[side]}\n" for pair in pairs)
            (self.files / name).write_text(text, encoding="utf-8")

    @functools.cached_property
    def light(self):
        """A zygote without TensorFlow."""
        return self._stack.enter_context(Zygote(*LIGHT))

    @functools.cached_property
    def heavy(self):
        """A zygote with TensorFlow."""
        return self._stack.enter_context(Zygote(*HEAVY))

    def close(self):
        """End the zygotes."""
        self._stack.close()

    def random(self, name):
        """Return the random generator of an attack, with the same seed in every run."""
        return random.Random(f"{SEED} {name}")

    @contextlib.contextmanager
    def scratch(self):
        """Create an empty directory for the duration of the block."""
        with tempfile.TemporaryDirectory(dir=self.directory) as path:
            yield Path(path)

    @functools.cached_property
    def run(self):
        """Directory of a training run whose model has learned a little."""
        return self._trained("run", f"{TOY} --epochs 25")

    @functools.cached_property
    def words(self):
        """Directory of a training run with words as tokens."""
        kinds = "--source-model-type word --target-model-type word"
        return self._trained("words", f"{TOY} {kinds} --epochs 25")

    @functools.cached_property
    def saved_model(self):
        """Path of version 1 of a SavedModel."""
        return self._exported("saved-model", "translator") / "1"

    @functools.cached_property
    def ids_model(self):
        """Path of version 1 of a SavedModel for ids."""
        return self._exported("saved-model-ids", "ids") / "1"

    @functools.cached_property
    def words_model(self):
        """Path of version 1 of a SavedModel with words as tokens."""
        return self._exported("saved-model", "by-words", self.words) / "1"

    @functools.cached_property
    def litert(self):
        """Path of a .tflite file for up to 24 tokens."""
        return self._exported("litert", "toy.tflite", options="--max-source-length 24")

    @functools.cached_property
    def onnx(self):
        """Path of an .onnx file for up to 24 tokens."""
        return self._exported("onnx", "toy.onnx", options="--max-source-length 24")

    @functools.cached_property
    def arrays(self):
        """Directory of exported Keras models; see `fuzz.array_files.write_files`."""
        return self.made("arrays", "fuzz.array_files:write_files")

    @functools.cached_property
    def frames(self):
        """Directory of artefacts for frames: `saved/1` and `frames.tflite`."""
        path = self.directory / "frames"
        with MAKING:
            if not path.exists():
                path.mkdir()
                self._done(self.heavy.call("fuzz.world:write_frames", directory=path, seconds=200))
        return path

    @functools.cached_property
    def image_graph(self):
        """Path of a SavedModel that converts the bytes of images to features."""
        return self.made("image_graph", "fuzz.world:write_image_graph")

    @functools.cached_property
    def images(self):
        """Directory of a SavedModel that reads images, in version `1`."""
        return self.made("images", "fuzz.world:write_images")

    @functools.cached_property
    def image_files(self):
        """List of PNG and JPEG files of several kinds, as bytes."""
        return [content for _, content in self._image_files("files")]

    @functools.cached_property
    def image_bombs(self):
        """List of (name, bytes) of JPEG files with a huge size, declared or after decompression."""
        return self._image_files("bombs")

    def _image_files(self, kind):
        path = self.directory / f"{kind}.pickle"
        with MAKING:
            if not path.exists():
                self._done(
                    self.light.call("fuzz.world:write_image_files", kind, directory=self.directory)
                )
        return pickle.loads(path.read_bytes())

    def made(self, name, writer):
        """Return a path; the function `writer`, given as "module:function", creates it once."""
        path = self.directory / name
        with MAKING:
            if not path.exists():
                self._done(self.heavy.call(writer, name, directory=self.directory, seconds=200))
        return path

    def _trained(self, name, options):
        out = self.directory / name
        with MAKING:
            if not out.exists():
                self._made(f"train good.en good.de --out {out} {options}")
        return out

    def _exported(self, format, name, model=None, options=""):
        out, model = self.directory / name, model or self.run
        with MAKING:
            if not out.exists():
                self._made(
                    f"export --model {model} --format {format} --out {out} "
                    f"--allow-differences {options}"
                )
        return out

    def _made(self, arguments):
        self._done(self.heavy.call(COMMAND, *arguments.split(), directory=self.files, seconds=200))

    @staticmethod
    def _done(answer):
        if answer.code:
            raise RuntimeError(f"The world must be made before the attack: {answer}")


def write_frames():
    """Write the artefacts of an untrained pipeline for frames to the current directory."""
    from frames import new_frames_pipeline

    from keras_bahdanau import export_litert, export_saved_model

    pipeline = new_frames_pipeline()
    export_saved_model(pipeline, Path("saved"))
    export_litert(pipeline, Path("frames.tflite"), max_source_length=40)


def image_source():
    """Return the source for attacks with images."""
    from keras_bahdanau.sources import ImageSource

    return ImageSource(16, 48)


def write_image_graph(name):
    """Write a SavedModel from `image_bytes` to `pixels` and `lengths`."""
    import tensorflow as tf

    source = image_source()
    graph = tf.function(
        lambda image_bytes: source.named(source.features(image_bytes)),
        input_signature=[tf.TensorSpec((None,), tf.string, name="image_bytes")],
        autograph=False,
    )
    tf.saved_model.save(tf.Module(), name, signatures={"serving_default": graph})


def write_images(name):
    """Write a SavedModel of an untrained pipeline for images."""
    import keras
    from options import new_subwords

    import keras_bahdanau as kb

    keras.utils.set_random_seed(0)
    source, target = image_source(), new_subwords()
    model = kb.Seq2Seq(
        kb.Encoder(front_end=source.front_end(4, (4, 4, 4)), units=4, kind="rows"),
        kb.Decoder(target.vocabulary_size, 4, kb.layers.DecoderCell(8)),
    )
    search = kb.SearchOptions(beam_width=2, max_length=5)
    kb.export_saved_model(kb.Pipeline(source, model, target, search), Path(name))


def write_image_files(kind):
    """Write a pickle of (name, bytes) of images, encoded by Pillow instead of TensorFlow."""
    import io
    import struct

    import numpy as np
    import PIL.Image

    def file_of(array, kind, **settings):
        file = io.BytesIO()
        PIL.Image.fromarray(array).save(file, kind, **settings)
        return file.getvalue()

    if kind == "files":
        noise = np.random.default_rng(0).integers(0, 256, (20, 30, 4), np.uint8)
        colours = np.ascontiguousarray(noise[..., :3])
        files = [("alpha", file_of(noise, "PNG")), ("colours", file_of(colours, "PNG"))]
        for settings in ({}, {"progressive": True}, {"subsampling": 0, "quality": 30}):
            files.append((str(settings), file_of(colours, "JPEG", **settings)))
        files.append(("grey", file_of(noise[..., 0], "JPEG")))
        for byte_order, orientation in (("<", 6), (">", 3)):
            exif = PIL.Image.Exif()
            exif.endian, exif[274] = byte_order, orientation
            files.append((f"turned {orientation}", file_of(colours, "JPEG", exif=exif)))
    else:
        content = file_of(np.full((4000, 4000, 3), 200, np.uint8), "JPEG", progressive=True)
        scan, size = content[content.rindex(b"\xff\xda") : -2], content.index(b"\xff\xc2") + 5
        files = [("2,000 scans", content[:-2] + scan * 2000 + content[-2:])]
        for sides in ((60_000, 60_000), (0, 100), (1, 65_535)):
            sized = content[:size] + struct.pack(">HH", *sides) + content[size + 4 :]
            files.append((f"{sides[0]} x {sides[1]}", sized))
    Path(f"{kind}.pickle").write_bytes(pickle.dumps(files))
