"""keras_bahdanau on a GPU, on whichever backend KERAS_BACKEND names."""

import keras
import ours
from fixed_steps import decoded, new_model, preset_model, random_ids
from keras import ops
from products import operations
from protocol import Job, serve

from keras_bahdanau.models.precision import cast_model

BACKEND = keras.backend.backend()
JIT_COMPILE = BACKEND == "jax"  # TensorFlow's XLA has no cuDNN


def device():
    """Name of the GPU that it runs on, or None."""
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
    """Nothing but the number of a preset's weights."""
    return Job(lambda: 1, parameters=preset_model(preset, overrides, vocabulary).count_params())


def peak(size, products, precision):
    """Large products of square matrices, one after the other; the count is operations."""
    model = Products(size, products, precision)
    model.compile(jit_compile=JIT_COMPILE)
    one = ops.convert_to_numpy(ops.ones((1, 1)))

    def run():
        model.predict_on_batch(one)
        return 2 * size**3 * products

    run()
    return Job(run)


class Products(keras.Model):
    """Random numbers, which take a card as much power as a model's."""

    def __init__(self, size, products, precision):
        super().__init__()
        self.products = products
        normal = keras.initializers.RandomNormal(stddev=size**-0.5)  # so that a product stays small
        self.matrix = self.add_weight(
            shape=(size, size), initializer=normal, dtype=precision, autocast=False, trainable=False
        )

    def call(self, one):
        found = matrix = ops.convert_to_tensor(self.matrix)
        for _ in range(self.products):
            found = ops.matmul(found, matrix)
        return one * ops.cast(ops.max(found), "float32")  # which needs all of the products


def training(size, precision, **model):
    """So many batches through `fit`."""
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
    """A batch, greedily or by beam search; all translations have `target_time` tokens."""
    precise = cast_model(_model(size, "float32", **model), precision)
    shape = {name: size[name] for name in ("batch", "source_time", "target_time")}
    run = decoded(precise, JIT_COMPILE, **shape, beam=beam)
    run()
    return _job(run, precise, size, beam)


def _model(size, precision, preset=None, overrides=None):
    """A preset's model, or that of row 1 in these sizes."""
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
