"""Parts of a layer that it turns out not to need."""


def leave_out(layer, part):
    """Take a part that will not be built from the layers of another, which then is built in full.

    Keras takes a layer with an unbuilt part for one whose weights are not there yet: on JAX it
    traces the model anew at each `fit`, and runs `predict_on_batch` without compiling it. The
    attribute stays.

    Args:
        layer: A Keras layer.
        part: One of the layers that are its attributes.
    """
    layer._tracker.untrack(part)
