"""Graph of one step of a loop and its gradient, of which parts are copied into other graphs."""

import tensorflow as tf
from keras import tree

from keras_bahdanau.layers.step_products import (
    CONSTANT,
    INVARIANT,
    PRODUCTS,
    VARIANT,
    deferred_products,
    is_large_product,
    named_products,
)

DRAWS = ("Random", "StatefulRandom", "Truncated", "Parameterized", "Multinomial", "RngReadAndSkip")
# cheap operations: if only one input is variant, this input is kept instead of the output
CHEAP = ("AddV2", "Cast", "ExpandDims", "Identity", "Mul", "Neg", "Reshape", "Squeeze", "Sub")


class CannotReplayError(Exception):
    """Raised for a step that TensorFlow must differentiate itself."""


class StepGraph:
    """A step `(state, slices) -> (output, state)`, traced once with its gradient.

    The step can read tensors and variables from outside. Values that depend only on these, such as
    a weight cast to the compute dtype, are hoisted, that is, computed once before the loop.

    Attributes:
        leaves: Tensors of the state and the slices.
        outputs: Tensors of the output and the next state.
        kept: Vectors, products and draws that a replay reads instead of recomputing them.
        read: Indices of the leaves of the state that a replay reads.
        slopes: Placeholders for the gradients of the float `outputs`.
        leaf_slopes: Gradients of the float leaves.
        sums: Pairs (hoisted tensor, its gradient from one step).
        products: `Product`s with a factor whose gradient is computed after the loop.
        sources: List of the values of each captured float tensor and each variable.
        targets: Tensors computed from sources.
        target_slopes: Placeholders for the gradients of the targets.
        source_slopes: Gradient of each source, or None.
    """

    def __init__(self, step, state, slices, template):
        self.step, self.structure = step, (state, slices)
        self.dtypes = [leaf.dtype for leaf in tree.flatten((template, state))]
        self.state_size = len(tree.flatten(state))
        self.kinds, self.products = {}, []
        specs = [tf.TensorSpec(leaf.shape, leaf.dtype) for leaf in tree.flatten(self.structure)]
        traced = tf.function(self._trace, autograph=False).get_concrete_function(*specs)
        self.graph = traced.graph
        self._classify()
        self.captures = {inner.name: outer for outer, inner in self.graph.captures}
        definition = self.graph.as_graph_def()
        for node in definition.node:
            for name in ("_gradient_op_type", "_class"):  # these refer to this graph
                node.attr.pop(name, None)
        self.nodes = {node.name: node for node in definition.node}
        self.parts = {"versions": definition.versions, "library": definition.library}
        self._plan()

    def _trace(self, *leaves):
        graph = tf.compat.v1.get_default_graph()
        self.graph, self.leaves = graph, leaves
        self.variant = {leaf.op.name for leaf in leaves}
        state, slices = tree.pack_sequence_as(self.structure, leaves)
        with named_products(graph):
            output, after = self.step(state, slices)
            outputs = map(tf.convert_to_tensor, tree.flatten((output, after)))
            self.outputs = [graph.capture(tensor) for tensor in outputs]
        if [tensor.dtype for tensor in self.outputs] != self.dtypes:
            raise CannotReplayError  # the loop raises a clear error
        self.forward = graph.get_operations()
        self.forward_names = {op.name for op in self.forward}
        self._find_effects()
        self._classify()
        with deferred_products(graph, self.kinds, self.products):
            self._differentiate()

    def _find_effects(self):
        """Find the operations that must run once per step, and the variables they assign."""
        self.effects = [
            op
            for op in self.forward
            if op.op_def.is_stateful and op.type not in ("ReadVariableOp", "Placeholder")
        ]
        for op in self.effects:
            if op.outputs and not op.type.startswith(DRAWS):
                raise CannotReplayError(op.type)
        inputs = [tensor for op in self.effects for tensor in op.inputs]
        self.assigned = {tensor.name for tensor in inputs if tensor.dtype == tf.resource}

    def _classify(self):
        for op in self.graph.get_operations()[len(self.kinds) :]:
            self.kinds[op.name] = self._kind_of_operation(op)

    def _kind_of_operation(self, op):
        if op.type == "Placeholder":
            return VARIANT if op.name in self.variant else INVARIANT
        if op.type == "ReadVariableOp":
            return VARIANT if op.inputs[0].name in self.assigned else INVARIANT
        if op.op_def.is_stateful:
            return VARIANT
        return max((self.kinds[tensor.op.name] for tensor in op.inputs), default=CONSTANT)

    def is_hoisted(self, tensor):
        """Return True for a float tensor computed only from captured tensors."""
        return tensor.dtype.is_floating and self.kinds[tensor.op.name] == INVARIANT

    def _is_kept(self, tensor):
        """Return True for vectors, products of long vectors, draws, and the seeds of draws."""
        op = tensor.op
        if self.kinds[op.name] != VARIANT or op.name not in self.forward_names:
            return False
        if op.type == "ReadVariableOp" or op.type.startswith(DRAWS):
            return True
        if op.type in PRODUCTS:
            return is_large_product(op)
        variant = sum(self.kinds[x.op.name] == VARIANT for x in op.inputs)
        return not (op.type in CHEAP and variant == 1) and _is_vector(tensor)

    def _differentiate(self):
        floats = [tensor for tensor in self.outputs if tensor.dtype.is_floating]
        self.slopes = [self._placeholder(tensor) for tensor in floats]
        self.float_leaves = [leaf for leaf in self.leaves if leaf.dtype.is_floating]
        hoisted = self.cut(self.outputs, self.is_hoisted)
        learned = [tensor for tensor in hoisted if self._has_source(tensor)]
        # tensors whose gradient a replay would lose
        lost = [op.outputs[0] for op in self.forward if self._is_lost(op)]
        xs = [*self.float_leaves, *learned, *lost]
        slopes = tf.gradients(floats, xs, grad_ys=self.slopes, stop_gradients=hoisted)
        count, end = len(self.float_leaves), len(self.float_leaves) + len(learned)
        if not self.products or any(slope is not None for slope in slopes[end:]):
            raise CannotReplayError
        self.leaf_slopes = [
            tf.zeros_like(leaf) if slope is None else tf.convert_to_tensor(slope)
            for leaf, slope in zip(self.float_leaves, slopes[:count], strict=True)
        ]
        pairs = [*zip(learned, slopes[count:end], strict=True)]
        self.sums = [(tensor, tf.convert_to_tensor(s)) for tensor, s in pairs if s is not None]
        self._differentiate_hoisted()

    def _is_lost(self, op):
        if op.type == "Placeholder":
            return op.outputs[0].dtype == tf.resource
        return op.type == "ReadVariableOp" and self.kinds[op.name] == VARIANT

    def _differentiate_hoisted(self):
        """Compute gradients of captured tensors and variables from those of hoisted tensors."""
        sources = {}
        for op in self.forward:
            if self._is_source(op):
                name = op.inputs[0].name if op.inputs else op.name
                sources.setdefault(name, []).append(op.outputs[0])
        self.sources = [*sources.values()]
        learned = [tensor for tensor, _ in self.sums] + [p.factor for p in self.products]
        targets = {widest(tensor).name: widest(tensor) for tensor in learned}
        self.targets = [*targets.values()]
        self.target_slopes = [self._placeholder(tensor) for tensor in self.targets]
        values = [value for source in self.sources for value in source]
        slopes = iter(tf.gradients(self.targets, values, grad_ys=self.target_slopes))
        slopes = [[next(slopes) for _ in source] for source in self.sources]
        self.source_slopes = [
            _sum([tf.convert_to_tensor(slope) for slope in source if slope is not None])
            for source in slopes
        ]

    def _is_source(self, op):
        if op.type not in ("Placeholder", "ReadVariableOp"):
            return False
        return self.kinds[op.name] == INVARIANT and op.outputs[0].dtype.is_floating

    def _has_source(self, tensor):
        operations, cut = self._walk([tensor], lambda x: not x.dtype.is_floating)
        return any(self._is_source(op) for op in [*operations.values(), *(x.op for x in cut)])

    def _placeholder(self, tensor):
        placeholder = tf.compat.v1.placeholder(tensor.dtype, tensor.shape)
        self.variant.add(placeholder.op.name)
        return placeholder

    def _plan(self):
        leaving = [product.leaving for product in self.products]
        self.backward = [*self.leaf_slopes, *(slope for _, slope in self.sums), *leaving]
        entering = [product.entering for product in self.products]
        cut = self.cut(self.backward, lambda x: self._is_kept(x) or self.is_hoisted(x))
        names = {tensor.name for tensor in [*cut, *entering]}
        self.read = [i for i in range(self.state_size) if self.leaves[i].name in names]
        kept = [x for x in cut if self._is_kept(x)] + entering
        leaves = {leaf.name for leaf in self.leaves}
        self.kept = [*{x.name: x for x in kept if x.name not in leaves}.values()]
        hoisted = cut + self.cut(self.outputs + self.kept, self.is_hoisted)
        self.hoisted = {tensor.name: tensor for tensor in hoisted if self.is_hoisted(tensor)}

    def cut(self, tensors, stop):
        """Return the tensors, including placeholders, at which a walk back from `tensors` ends."""
        return self._walk(tensors, stop)[1]

    def _walk(self, tensors, stop, effects=()):
        """Walk back; return ({name: operation on the way}, tensors at which the walk ends)."""
        operations, cut = {}, {}
        tensors, queue = [*tensors], [*effects]
        while tensors or queue:
            if queue:
                op = queue.pop()
                if op.name not in operations:
                    operations[op.name] = op
                    tensors.extend(op.inputs)
                continue
            tensor = tensors.pop()
            if tensor.op.type == "Placeholder" or stop(tensor):
                cut[tensor.name] = tensor
            else:
                queue.append(tensor.op)
        return operations, [*cut.values()]

    def copy(self, tensors, feeds, effects=False):
        """Copy the computation of tensors to the current graph, from `feeds`, {name: tensor}.

        With `effects`, the copy also includes the operations that must run once per step.
        """
        effects = self.effects if effects else ()
        operations, cut = self._walk(tensors, lambda tensor: tensor.name in feeds, effects)
        outer = {**self.captures, **feeds}
        local = tf.compat.v1.get_default_graph().capture
        values = {tensor.name: local(outer[tensor.name]) for tensor in cut}
        inputs = {tensor.name for op in operations.values() for tensor in op.inputs}
        computed = [tensor for tensor in tensors if tensor.name not in values]
        nodes = [self._node(name, operations if effects else ()) for name in operations]
        copies = tf.graph_util.import_graph_def(
            tf.compat.v1.GraphDef(node=nodes, **self.parts),
            input_map={name: value for name, value in values.items() if name in inputs},
            return_elements=[tensor.name for tensor in computed],
            name="step",
        )
        for tensor, value in zip(computed, copies, strict=True):
            value.set_shape(tensor.shape)
            values[tensor.name] = value
        return [values[tensor.name] for tensor in tensors]

    def _node(self, name, controls):
        """Return the definition of an operation, with only `controls` as control inputs."""
        node = tf.compat.v1.NodeDef()
        node.CopyFrom(self.nodes[name])
        inputs = [x for x in node.input if x[0] != "^" or x[1:] in controls]
        del node.input[:]
        node.input.extend(inputs)
        return node


def widest(tensor):
    """Return the wider float tensor from which a tensor was cast, or the tensor itself."""
    source = tensor.op.inputs[0] if tensor.op.type == "Cast" else tensor
    return source if source.dtype.is_floating and source.dtype.size > tensor.dtype.size else tensor


def _is_vector(tensor):
    """Return True for a float or bool tensor `(batch, size)`, ignoring axes of length 1."""
    if not (tensor.dtype.is_floating or tensor.dtype.is_bool) or tensor.shape.rank is None:
        return False
    return sum(size != 1 for size in tensor.shape[1:]) <= 1


def _sum(tensors):
    return tf.add_n(tensors) if tensors else None
