"""The machine's peak: the fastest large square matrix product of a library, 2 n^3 operations each.

This file runs in our environment (NumPy, TensorFlow) and in PyTorch's.
"""

import time

import protocol

SIZES = (1024, 2048, 4096)
TRIALS = 3


def numpy(size, precision):
    import numpy as np

    if precision != "float32":
        raise ValueError(f"NumPy has no {precision}")
    a, b, out = (np.ones((size, size), np.float32) for _ in range(3))
    return lambda: np.matmul(a, b, out=out)


def tensorflow(size, precision):
    import tensorflow as tf

    a = tf.ones((size, size), precision)
    return lambda: tf.matmul(a, a)[0, 0].numpy()


def torch(size, precision):
    import torch

    a = torch.ones(size, size, dtype=getattr(torch, precision))
    out = torch.empty_like(a)
    return lambda: torch.mm(a, a, out=out)


def gemm(library, precision="float32", sizes=SIZES):
    """Try all sizes, and prepare products of the fastest one."""
    product_of = {"numpy": numpy, "tensorflow": tensorflow, "torch": torch}[library]
    products = {size: product_of(size, precision) for size in sizes}
    rates = {size: size**3 / _fastest(product) for size, product in products.items()}
    size = max(rates, key=rates.get)

    def run():
        products[size]()
        return 2 * size**3

    package = "numpy" if library == "numpy" else library
    PACKAGES.append(package)
    return protocol.Job(run, note=f"{precision}, {size} x {size} x {size}")


def _fastest(product):
    product()
    seconds = []
    for _ in range(TRIALS):
        start = time.perf_counter()
        product()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


PACKAGES = []

if __name__ == "__main__":
    protocol.serve({"gemm": gemm}, PACKAGES)
