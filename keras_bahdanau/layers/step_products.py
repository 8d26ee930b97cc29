"""Matrix products in a step with a shared factor, whose gradient is computed after the loop."""

import contextlib

import tensorflow as tf

PRODUCTS = {  # names of the factors, and names of the attributes that transpose them
    "MatMul": ("a", "b", "transpose_a", "transpose_b"),
    "BatchMatMulV2": ("x", "y", "adj_x", "adj_y"),
}
# computed from no tensors, only from captured tensors, or also from other tensors
CONSTANT, INVARIANT, VARIANT = range(3)
LEAST = 16  # fewest rows and columns of a weight whose gradient is deferred to after the loop

_DEFERRED = {}  # graph of a step that is being differentiated -> (kinds, list of `Product`s)
GRADIENT = f"KerasBahdanauProductOfStep{id(_DEFERRED)}"  # TensorFlow registers each name only once


def named_products(graph):
    """Return a context in which matrix products in a graph use the gradient defined below."""
    return graph.gradient_override_map(dict.fromkeys(PRODUCTS, GRADIENT))


@contextlib.contextmanager
def deferred_products(graph, kinds, products):
    """Defer gradients of a step that is differentiated inside the block.

    `products` collects the products whose gradient is deferred. `kinds` maps the name of each
    operation to its kind.
    """
    _DEFERRED[graph] = kinds, products
    try:
        yield
    finally:
        del _DEFERRED[graph]


class Product:
    """A matrix product in a step with a hoisted factor, and the gradient of that factor.

    `entering` is the other factor, and `leaving` is the gradient of the product.
    """

    def __init__(self, op, factor, leaving):
        self.op, self.index, self.leaving = op, factor, leaving
        self.factor, self.entering = op.inputs[factor], op.inputs[1 - factor]

    def slope(self, entering, leaving, factor):
        """Return the factor's gradient: one product over tensors `(time, ...)` of all steps."""
        transposed = [self.op.get_attr(name) for name in PRODUCTS[self.op.type][2:]]
        if self.op.type == "MatMul":
            # (time, batch, units) -> (time * batch, units)
            entering, leaving = (tf.reshape(x, (-1, x.shape[-1])) for x in (entering, leaving))
        else:
            row = -1 if transposed[1 - self.index] == bool(self.index) else -2
            entering = _time_as_rows(entering, row)
            leaving = _time_as_rows(leaving, -2 if self.index else -1)
        if entering.dtype == tf.float16:  # a sum over all steps may exceed the range of float16
            entering, leaving = tf.cast(entering, tf.float32), tf.cast(leaving, tf.float32)
        pair = (entering, leaving) if self.index else (leaving, entering)
        slope = tf.matmul(*(pair[::-1] if transposed[self.index] else pair), transpose_a=True)
        return slope if self.op.type == "MatMul" else _sum_to(slope, tf.shape(factor))


@tf.RegisterGradient(GRADIENT)
def _gradient_of_product(op, upstream):
    """Return the usual gradients, but None for a factor whose gradient is deferred."""
    kinds, products = _DEFERRED[op.graph]
    index = _deferred_factor(op, kinds)
    factors = [tf.identity(tensor) for tensor in op.inputs]
    first, second, *transposed = PRODUCTS[op.type]
    settings = {name: op.get_attr(name) for name in transposed}
    if index is not None:
        products.append(Product(op, index, upstream))
    if index == 1 and op.type == "MatMul" and not settings["transpose_b"]:
        # the transpose is hoisted out of the loop, and a product with rows is faster
        return tf.matmul(upstream, tf.transpose(factors[1])), None
    with tf.GradientTape() as tape:
        tape.watch([factor for i, factor in enumerate(factors) if i != index])
        product = getattr(tf.raw_ops, op.type)(
            **{first: factors[0], second: factors[1]}, **settings
        )
    return tape.gradient(product, factors, upstream)


def _deferred_factor(op, kinds):
    """Return the index of the factor whose gradient is deferred to after the loop, or None."""
    kinds = [kinds[tensor.op.name] for tensor in op.inputs]
    if sorted(kinds) != [INVARIANT, VARIANT]:
        return None
    factor = kinds.index(INVARIANT)
    transposed = op.get_attr(PRODUCTS[op.type][2])
    if op.type == "MatMul":
        sizes = op.inputs[1].shape if op.inputs[1].shape.rank else (0,)
        is_large = min(size or 0 for size in sizes) >= LEAST
        rows = factor == 1 and not transposed and not _merges_rows(op.inputs[0])
        return factor if rows and is_large else None
    if factor:  # a single row in each batch times a captured matrix
        return factor if op.inputs[0].shape[-1 if transposed else -2] == 1 else None
    return factor if op.outputs[0].shape[-1] == 1 else None


def is_large_product(op):
    """Return True if the vectors of a product are long enough for the product to be kept."""
    length = op.inputs[0].shape[-2 if op.get_attr(PRODUCTS[op.type][2]) else -1]
    return length is None or length >= LEAST


def _merges_rows(tensor):
    """Return True if merging axes into rows may give more rows than the batch size."""
    while tensor.op.type in ("Cast", "Identity"):
        tensor = tensor.op.inputs[0]
    return tensor.op.type == "Reshape" and tensor.op.inputs[0].shape.rank != 2


def _time_as_rows(tensor, axis):
    """Turn `(time, ..., 1, units)`, where the 1 is at `axis`, into `(..., time, units)`."""
    tensor = tf.squeeze(tensor, axis)
    rank = tensor.shape.rank
    return tf.transpose(tensor, (*range(1, rank - 1), 0, rank - 1))


def _sum_to(tensor, shape):
    """Sum a tensor over the axes along which a tensor of this shape was repeated."""
    _, axes = tf.raw_ops.BroadcastGradientArgs(s0=tf.shape(tensor), s1=shape)
    return tf.reshape(tf.reduce_sum(tensor, axes), shape)
