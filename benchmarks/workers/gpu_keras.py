"""keras_bahdanau on a GPU, on whichever backend KERAS_BACKEND names."""

import keras
from fixed_steps import decoded, new_model, random_ids
from keras import ops
from protocol import Job, serve

from keras_bahdanau.losses import TokenCrossentropy

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


def peak(size, products, precision):
    """Large products of square matrices, one after the other; the count is operations."""
    model = Products(products, precision)
    model.compile(jit_compile=JIT_COMPILE)
    one = ops.convert_to_numpy(ops.ones((1, 1)))

    def run():
        model.predict_on_batch(one)
        return 2 * size**3 * products

    model.size = size
    run()
    return Job(run)


class Products(keras.Model):
    def __init__(self, products, precision):
        super().__init__()
        self.products, self.precision = products, precision

    def call(self, one):
        found = matrix = ops.cast(ops.tile(one, (self.size, self.size)), self.precision)
        for _ in range(self.products):
            found = ops.matmul(found, matrix) / self.size
        return ops.max(found)  # which can't be had without all of the products


def training(size, precision):
    """So many batches through `fit`."""
    steps = size["steps"]
    model = new_model(**_widths(size), precision=precision)
    model.compile(keras.optimizers.Adam(1e-3), loss=TokenCrossentropy(), jit_compile=JIT_COMPILE)
    source = random_ids(model, size["batch"] * steps, size["source_time"])
    target = random_ids(model, size["batch"] * steps, size["target_time"])

    def run():
        inputs = (source, target)
        model.fit(inputs, target, batch_size=size["batch"], shuffle=False, verbose=0)
        return target.size

    run()
    return Job(run, parameters=model.count_params())


def decoding(size, precision, beam):
    """A batch, greedily or by beam search; all translations have `target_time` tokens."""
    model = new_model(**_widths(size), precision=precision)
    shape = {name: size[name] for name in ("batch", "source_time", "target_time")}
    run = decoded(model, JIT_COMPILE, **shape, beam=beam)
    run()
    return Job(run, parameters=model.count_params())


def _widths(size):
    return {name: size[name] for name in ("vocabulary", "embedding", "units", "attention")}


CASES = {"device": device, "peak": peak, "training": training, "decoding": decoding}

if __name__ == "__main__":
    serve(CASES, ["keras", BACKEND])
