"""Gradient of JAX's loop over time: that of a weight is one product after the loop.

JAX differentiates a scan pass by pass: for each step a product of a few rows for each weight, and a
sum as large as the weight. Here the jaxpr of a step tells which products have a factor that all
steps share. The backward scan writes the gradients of such products, and the gradient of the factor
is one product over all steps. `replayed_loop` does the same for TensorFlow.
"""

import jax
from jax import numpy as jnp
from jax.extend import core


def scan(step, state, inputs, unroll=1):
    """(state, outputs) as of `jax.lax.scan`, with the gradients of weights after the loop."""
    slices = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), inputs)
    jaxpr, (after, outputs) = jax.make_jaxpr(step, return_shape=True)(state, slices)
    traced = StepJaxpr(jaxpr.jaxpr)
    # JAX rejects a state of another structure, or widens the first one
    if jaxpr.effects or not traced.products or _shapes(after) != _shapes(state):
        return jax.lax.scan(step, state, inputs, unroll=unroll)
    leaves, structure = jax.tree.flatten(state)
    results = _loop(traced, unroll)(leaves, jax.tree.leaves(inputs), traced.hoist(jaxpr.consts))
    return tuple(map(jax.tree.unflatten, (structure, jax.tree.structure(outputs)), results))


def _shapes(state):
    return jax.tree.map(lambda x: (jnp.shape(x), jnp.result_type(x)), state)


class StepJaxpr:
    """Jaxpr of a step `(state, slices) -> (state, outputs)`, without what all steps share.

    Attributes:
        shared: Variables that all steps share: captured arrays, and what is hoisted, such as a
            weight in the compute dtype.
        products: Dictionary from the variable of a product to its `DeferredProduct`.
        entering: Variables that are the other factors of the products.
    """

    def __init__(self, jaxpr):
        self.jaxpr, self.hoisted, self.equations = jaxpr, [], []
        shared = dict.fromkeys(jaxpr.constvars)
        for equation in jaxpr.eqns:
            if _is_hoisted(equation, shared):
                self.hoisted.append(equation)
                shared.update(dict.fromkeys(equation.outvars))
            else:
                self.equations.append(equation)
        read = {x for y in self.equations for x in _variables(y.invars)}
        read.update(_variables(jaxpr.outvars))
        self.shared = [variable for variable in shared if variable in read]
        products = [DeferredProduct.of(equation, shared) for equation in self.equations]
        self.products = {x.leaving: x for x in products if x is not None}
        self.entering = [*dict.fromkeys(x.entering for x in self.products.values())]

    def hoist(self, captured):
        """Values of the shared variables, computed once."""
        values = dict(zip(self.jaxpr.constvars, captured, strict=True))
        for equation in self.hoisted:
            values.update(zip(equation.outvars, _bind(equation, values), strict=True))
        return [values[variable] for variable in self.shared]

    def run(self, leaves, shared, factors, deltas):
        """(Leaves of the next state and the outputs, values of `entering`) of one step.

        The gradients of the products are those of `deltas`, not of their shared factors.
        """
        values = dict(zip(self.jaxpr.invars, leaves, strict=True))
        values.update(zip(self.shared, shared, strict=True))
        factors = dict(zip(self.shared, factors, strict=False))
        deltas = dict(zip(self.products, deltas, strict=False))
        for equation in self.equations:
            product = self.products.get(equation.outvars[0])
            if deltas and product is not None:
                leaving = product(values[product.entering], factors[product.factor])
                results = [_with_slope(leaving, deltas[product.leaving])]
            else:
                results = _bind(equation, values)
            values.update(zip(equation.outvars, results, strict=True))
        results = [_value(x, values) for x in self.jaxpr.outvars]
        return results, [values[variable] for variable in self.entering]


class DeferredProduct:
    """A product of a step with a shared factor: `dot_general` of any axes.

    `entering` is the other factor's variable, `leaving` that of the product.
    """

    def __init__(self, equation, index):
        self.equation, self.index = equation, index
        self.factor, self.entering = equation.invars[index], equation.invars[1 - index]
        (self.leaving,) = equation.outvars

    @classmethod
    def of(cls, equation, shared):
        """The `DeferredProduct` of an equation, or None if a sum inside the loop writes less."""
        if equation.primitive is not jax.lax.dot_general_p:
            return None
        is_shared = [x in shared for x in _variables(equation.invars)]
        if sorted(is_shared) != [False, True]:
            return None
        product = cls(equation, is_shared.index(True))
        avals = [x.aval for x in (product.factor, product.entering, product.leaving)]
        factor, entering, leaving = (aval.size for aval in avals)
        is_float = all(jnp.issubdtype(aval.dtype, jnp.floating) for aval in avals)
        return product if is_float and entering + leaving <= factor else None

    def __call__(self, entering, factor):
        factors = (entering, factor) if self.index else (factor, entering)
        return jax.lax.dot_general_p.bind(*factors, **self.equation.params)

    def slope(self, entering, leaving):
        """Gradient of the factor from arrays `(time, ...)`: one product over all steps."""
        contracted, batch = self.equation.params["dimension_numbers"]
        left, right = (range(len(x.aval.shape)) for x in self.equation.invars)
        names = [*left], [len(left) + axis for axis in right]
        for i, j in zip((*contracted[0], *batch[0]), (*contracted[1], *batch[1]), strict=True):
            names[1][j] = i
        summed = {*contracted[0], *batch[0]}
        free = [name for pair in names for name in pair if name not in summed]
        products = [-1, *batch[0], *free]
        factors = [-1, *names[1 - self.index]]
        slope = jnp.einsum(entering, factors, leaving, products, names[self.index])
        return slope.astype(self.factor.aval.dtype)


def _loop(step, unroll):
    """Function of leaves of the state and the inputs, and of shared values: leaves of a scan."""

    def passes(state, inputs, shared, deltas=(), factors=()):
        def body(state, slices):
            slices, deltas = slices
            results, entering = step.run([*state, *slices], shared, factors, deltas)
            size = len(state)
            return results[:size], (results[size:], entering if deltas else ())

        state, (outputs, entering) = jax.lax.scan(body, state, (inputs, deltas), unroll=unroll)
        return (state, outputs), entering

    @jax.custom_vjp
    def loop(state, inputs, shared):
        return passes(state, inputs, shared)[0]

    def forward(state, inputs, shared):
        avals, time = [x.aval for x in step.products], inputs[0].shape[0]
        deltas = [jnp.zeros((time, *aval.shape), aval.dtype) for aval in avals]

        def with_deltas(*arguments):  # only a second derivative has the factors as variables
            return passes(*arguments, factors=shared)

        results, *residuals = jax.vjp(with_deltas, state, inputs, shared, deltas, has_aux=True)
        return results, residuals

    def backward(residuals, slopes):
        pull, entering = residuals
        d_state, d_inputs, d_shared, leaving = pull(slopes)
        entering, d_shared = (
            dict(zip(*pair, strict=True))
            for pair in ((step.entering, entering), (step.shared, d_shared))
        )
        for product, slope in zip(step.products.values(), leaving, strict=True):
            d_shared[product.factor] += product.slope(entering[product.entering], slope)
        return d_state, d_inputs, [*d_shared.values()]

    loop.defvjp(forward, backward)
    return loop


@jax.custom_vjp
def _with_slope(value, delta):
    """The value, with its gradient also passed to `delta`."""
    return value


_with_slope.defvjp(lambda value, delta: (value, None), lambda _, slope: (slope, slope))


def _is_hoisted(equation, shared):
    """True if all steps share a result that is no larger than its inputs."""
    variables = _variables(equation.invars)
    if not variables or equation.effects or not all(x in shared for x in variables):
        return False
    return sum(x.aval.size for x in equation.outvars) <= sum(x.aval.size for x in variables)


def _bind(equation, values):
    """Results of an equation, from the values of variables."""
    params = equation.primitive.get_bind_params(equation.params)
    functions, params = params if isinstance(params, tuple) else ((), params)  # before JAX 0.10
    operands = [_value(x, values) for x in equation.invars]
    results = equation.primitive.bind(*functions, *operands, **params)
    return results if equation.primitive.multiple_results else [results]


def _value(atom, values):
    return atom.val if isinstance(atom, core.Literal) else values[atom]


def _variables(atoms):
    return [atom for atom in atoms if not isinstance(atom, core.Literal)]
