"""Access to the objects in a TensorFlow checkpoint by their names in the program."""

import os

import numpy as np

GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
LISTED = 40  # maximum number of variables listed in a message
# attributes of new and of legacy optimizers
OPTIMIZERS = ({"_iterations", "_variables"}, {"iter", "decay"})


class SavedObjects:
    """Objects in a TensorFlow 2 checkpoint, and their variables.

    A checkpoint stores a graph of objects, in which edges are attributes or list indices. A path
    from the root, such as "decoder/rnn_cell/_cell", identifies an object.

    ```python
    saved = kb.migrate.SavedObjects("training_checkpoints/ckpt-10")
    print(saved.listed())
    kernel = saved.array("decoder/fc", "kernel")
    ```

    `path` is the path of a checkpoint, with or without ".index", or of a directory to use its
    latest checkpoint. Raises FileNotFoundError if the checkpoint is missing, and ValueError if it
    is damaged or does not contain objects.
    """

    def __init__(self, path):
        import tensorflow as tf
        from tensorflow.core.protobuf.trackable_object_graph_pb2 import TrackableObjectGraph

        path = os.fspath(path).removesuffix(".index")
        self.path = tf.train.latest_checkpoint(path) if os.path.isdir(path) else path
        if self.path is None or not os.path.exists(f"{self.path}.index"):
            raise FileNotFoundError(
                "A TensorFlow checkpoint must have a file that ends in .index, and a directory "
                "must contain the file `checkpoint` of tf.train.CheckpointManager. Received: "
                f"checkpoint={path!r}. For other files, such as .h5 or a SavedModel, load the "
                "model with the old program and call "
                "tf.train.Checkpoint(encoder=encoder, decoder=decoder).write(path)."
            )
        try:
            self._reader = tf.train.load_checkpoint(self.path)
            graph = self._reader.get_tensor(GRAPH)
            self._nodes = TrackableObjectGraph.FromString(graph).nodes
            self._edges = [
                {edge.local_name: edge.node_id for edge in node.children} for node in self._nodes
            ]
            self._paths = self._shortest_paths()
        except Exception as error:  # raised by TensorFlow, protobuf, or for a broken graph
            raise self._damaged(error) from error

    def _damaged(self, error):
        return ValueError(
            "A checkpoint must be complete and written by tf.train.Checkpoint, which stores the "
            f"names of objects. Received: checkpoint={str(self.path)!r}, which can't be read "
            f"({type(error).__name__}). Write it again with the old program."
        )

    def _shortest_paths(self):
        """Return a dictionary from object numbers to shortest paths, without optimizer parts."""
        paths, queue = {0: ""}, [0]
        for node in queue:
            if any(parts <= self._edges[node].keys() for parts in OPTIMIZERS):
                continue
            for name, child in self._edges[node].items():
                if child not in paths:
                    paths[child] = f"{paths[node]}/{name}" if paths[node] else name
                    queue.append(child)
        return paths

    def _find(self, path):
        node = 0
        for name in filter(None, path.split("/")):
            node = self._edges[node].get(name)
            if node is None:
                return None
        return node

    def __contains__(self, path):
        return self._find(path) is not None

    def paths_of(self, *names):
        """Return the paths of the objects that have all of these attributes."""
        return [
            path for node, path in self._paths.items() if set(names).issubset(self._edges[node])
        ]

    def variables(self):
        """Return a dictionary from paths of variables to shapes, without optimizer variables."""
        shapes = self._reader.get_variable_to_shape_map()
        keys = {path: self._key(node) for node, path in self._paths.items()}
        return {path: tuple(shapes[key]) for path, key in sorted(keys.items()) if key in shapes}

    def _key(self, node):
        for attribute in self._nodes[node].attributes:
            if attribute.name == "VARIABLE_VALUE":
                return attribute.checkpoint_key
        return None

    def listed(self):
        """Return a line that lists the variables and their shapes."""
        lines = [f"{path} {shape}" for path, shape in self.variables().items()]
        more = f" and {len(lines) - LISTED} more" if len(lines) > LISTED else ""
        return (", ".join(lines[:LISTED]) or "none") + more

    def has(self, path, name):
        """Return True if the object at `path` has a variable with this name."""
        return f"{path}/{name}" in self

    def array(self, path, name):
        """Return the variable `name` of the object at `path` as a float32 NumPy array.

        Raises ValueError if it is missing or can't be read.
        """
        node = self._find(f"{path}/{name}")
        if node is None or not self._key(node):
            raise self.missing(f"{path}/{name}")
        try:
            return np.asarray(self._reader.get_tensor(self._key(node)), "float32")
        except Exception as error:  # raised by TensorFlow's reader, or for strings
            raise self._damaged(error) from error

    def matrix(self, path, name):
        """Return `array(path, name)`; raise ValueError unless it is a nonempty matrix."""
        array = self.array(path, name)
        if array.ndim != 2 or not array.size:
            raise ValueError(
                f"{path}/{name} must be a matrix. Received: shape={array.shape}. Check which part "
                "of the program each path names."
            )
        return array

    def missing(self, path, advice="Use the attribute names of your own program for the parts."):
        """Return a ValueError for a missing part, with the paths that end in its last name."""
        _, _, name = path.rpartition("/")
        paths = ", ".join(sorted(self.paths_of(name))[:LISTED])
        content = f"{name!r} at {paths}" if paths else f"the variables {self.listed()}"
        return ValueError(
            f"The checkpoint must contain {path!r}. Received: checkpoint={str(self.path)!r} with "
            f"{content}. {advice}"
        )
