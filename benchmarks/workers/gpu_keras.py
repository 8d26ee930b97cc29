"""keras_bahdanau on a GPU, on the backend given by KERAS_BACKEND."""

import keras
import ours
from fixed_steps import decoded, new_model, preset_model, random_ids
from keras import ops
from products import operations
from protocol import Job, serve

from keras_bahdanau.models.precision import cast_model

BACKEND = keras.backend.backend()
JIT_COMPILE = BACKEND == "jax"  # TensorFlow's XLA doesn't use cuDNN


def device():
    """Report the name of the GPU, or None if there is none."""
    if BACKEND == "jax":
        import jax

        (first, *_) = jax.devices()
        name = first.device_kind if first.platform == "gpu" else None
    else:
        import tensorflow as tf

        found = tf.config.list_physical_devices("GPU")
        name = tf.config.experimental.get_device_details(found[0])["device_name"] if found else None
    return Job(lambda: 1, report={"gpu": name})


def weights(preset, overrides, vocabulary):
    """Report the number of a preset's weights."""
    return Job(lambda: 1, parameters=preset_model(preset, overrides, vocabulary).count_params())


def peak(size, products, precision):
    """Prepare large products of square matrices, one after another; the count is in operations."""
    model = Products(size, products, precision)
    model.compile(jit_compile=JIT_COMPILE)
    one = ops.convert_to_numpy(ops.ones((1, 1)))

    def run():
        model.predict_on_batch(one)
        return 2 * size**3 * products

    run()
    return Job(run)


class Products(keras.Model):
    """Products of a random matrix, for which a GPU uses as much power as for those of a model."""

    def __init__(self, size, products, precision):
        super().__init__()
        self.products = products
        normal = keras.initializers.RandomNormal(stddev=size**-0.5)  # keeps the products small
        self.matrix = self.add_weight(
            shape=(size, size), initializer=normal, dtype=precision, autocast=False, trainable=False
        )

    def call(self, one):
        found = matrix = ops.convert_to_tensor(self.matrix)
        for _ in range(self.products):
            found = ops.matmul(found, matrix)
        return one * ops.cast(ops.max(found), "float32")  # depends on all products


def training(size, precision, **model):
    """Prepare `steps` training batches with `fit`."""
    steps, precise = size["steps"], _model(size, precision, **model)
    compiled = ours.compiled(precise, JIT_COMPILE)
    source = random_ids(compiled, size["batch"] * steps, size["source_time"])
    target = random_ids(compiled, size["batch"] * steps, size["target_time"])

    def run():
        inputs = (source, target)
        compiled.fit(inputs, target, batch_size=size["batch"], shuffle=False, verbose=0)
        return target.size

    run()
    return _job(run, compiled, size)


def decoding(size, precision, beam, **model):
    """Prepare a greedy or beam search for a batch; all translations have `target_time` tokens."""
    precise = cast_model(_model(size, "float32", **model), precision)
    shape = {name: size[name] for name in ("batch", "source_time", "target_time")}
    run = decoded(precise, JIT_COMPILE, **shape, beam=beam)
    run()
    return _job(run, precise, size, beam)


def _model(size, precision, preset=None, overrides=None):
    """Return a preset's model, or row 1's model with these sizes."""
    if preset:
        return preset_model(preset, overrides, size["vocabulary"], precision)
    widths = {name: size[name] for name in ("vocabulary", "embedding", "attention")}
    return new_model(**widths, units=size["decoder"], precision=precision)


def _job(run, model, size, beam=None):
    count = operations(model, size["source_time"], size["target_time"], beam)
    return Job(run, parameters=model.count_params(), report={"operations": count})


CASES = {"device": device, "weights": weights, "peak": peak}
CASES |= {"training": training, "decoding": decoding}

if __name__ == "__main__":
    serve(CASES, ["keras", BACKEND])
