"""A scan for JAX in which the gradient of each weight is a single product after the loop.

JAX differentiates a scan step by step. For each weight, every step computes a product of a few rows
and adds a matrix as large as the weight. Here, the jaxpr of a step shows which products have a
factor that is the same in all steps. The backward scan stores the gradients of these products, and
the gradient of the factor is then a single product over all steps. `replayed_loop` does the same
for TensorFlow.
"""

import jax
from jax import numpy as jnp
from jax.extend import core


def scan(step, state, inputs, unroll=1):
    """Run like `jax.lax.scan`, but compute the gradients of weights after the loop."""
    slices = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), inputs)
    jaxpr, (after, outputs) = jax.make_jaxpr(step, return_shape=True)(state, slices)
    traced = StepJaxpr(jaxpr.jaxpr)
    # if the state changes in structure or dtype, JAX rejects it or widens the initial state
    if jaxpr.effects or not traced.products or _shapes(after) != _shapes(state):
        return jax.lax.scan(step, state, inputs, unroll=unroll)
    leaves, structure = jax.tree.flatten(state)
    results = _loop(traced, unroll)(leaves, jax.tree.leaves(inputs), traced.hoist(jaxpr.consts))
    return tuple(map(jax.tree.unflatten, (structure, jax.tree.structure(outputs)), results))


def _shapes(state):
    return jax.tree.map(lambda x: (jnp.shape(x), jnp.result_type(x)), state)


class StepJaxpr:
    """Jaxpr of a step `(state, slices) -> (state, outputs)`, with shared computations hoisted.

    Attributes:
        shared: Variables that are the same in all steps: captured arrays, and hoisted results such
            as a weight cast to the compute dtype.
        products: Dictionary that maps the variable of a product to its `DeferredProduct`.
        entering: Variables of the factors of these products that are not shared.
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
        """Compute the values of the shared variables, once for all steps."""
        values = dict(zip(self.jaxpr.constvars, captured, strict=True))
        for equation in self.hoisted:
            values.update(zip(equation.outvars, _bind(equation, values), strict=True))
        return [values[variable] for variable in self.shared]

    def run(self, leaves, shared, factors, deltas):
        """Run one step; return (leaves of the next state and the outputs, values of `entering`).

        The gradients of the products flow to `deltas`, not to the shared factors.
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
    """A product in a step with a shared factor: a `dot_general` over any axes.

    `entering` is the variable of the other factor, and `leaving` is the variable of the product.
    """

    def __init__(self, equation, index):
        self.equation, self.index = equation, index
        self.factor, self.entering = equation.invars[index], equation.invars[1 - index]
        (self.leaving,) = equation.outvars

    @classmethod
    def of(cls, equation, shared):
        """Return the `DeferredProduct` of an equation, or None if deferring would write more."""
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
        """Return the gradient of the factor, one product over arrays `(time, ...)` of all steps."""
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
    """Return a scan function of the leaves of the state, leaves of the inputs and shared values."""

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

        def with_deltas(*arguments):  # the factors are variables only for second derivatives
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
    """Return the value, and also pass its gradient to `delta`."""
    return value


_with_slope.defvjp(lambda value, delta: (value, None), lambda _, slope: (slope, slope))


def _is_hoisted(equation, shared):
    """Return True if all steps share the result, and it is no larger than its inputs."""
    variables = _variables(equation.invars)
    if not variables or equation.effects or not all(x in shared for x in variables):
        return False
    return sum(x.aval.size for x in equation.outvars) <= sum(x.aval.size for x in variables)


def _bind(equation, values):
    """Return the results of an equation, from the values of its variables."""
    params = equation.primitive.get_bind_params(equation.params)
    functions, params = params if isinstance(params, tuple) else ((), params)  # before JAX 0.10
    operands = [_value(x, values) for x in equation.invars]
    results = equation.primitive.bind(*functions, *operands, **params)
    return results if equation.primitive.multiple_results else [results]


def _value(atom, values):
    return atom.val if isinstance(atom, core.Literal) else values[atom]


def _variables(atoms):
    return [atom for atom in atoms if not isinstance(atom, core.Literal)]
