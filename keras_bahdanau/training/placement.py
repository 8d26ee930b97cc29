"""Parts of a model on devices of their own, for one that no single device can hold."""

import functools

import keras

PARTS = {
    "encoder": lambda model: model.encoder,
    "decoder": lambda model: model.decoder,
    "attention": lambda model: model.decoder.cell.attention,
}
_METHODS = ("build", "call", "prepare", "attend")


def place(model, devices):
    """Let parts of a model keep their weights and compute on devices, from its build on.

    The loss is computed where the decoder is, with whose output layer it begins. A gradient and
    the optimizer's state of a weight are where the weight is. What is not placed stays where
    TensorFlow puts it.

    Args:
        model: `Seq2Seq` that is not built.
        devices: Dictionary from "encoder", "decoder" and "attention", or some of them, to names
            of devices, such as "GPU:0".

    Raises:
        ValueError: If a part or a device is unknown.

    Example:
        >>> place(model, {"encoder": "GPU:0", "decoder": "GPU:1"})
        >>> model.build()
    """
    for name, device in devices.items():
        _check(name, device)
        part = PARTS[name](model)
        for method in _METHODS:
            if hasattr(part, method):
                setattr(part, method, _on(device, getattr(part, method)))
    if "decoder" in devices:
        model.compute_loss = _on(devices["decoder"], model.compute_loss)


def _on(device, method):
    @functools.wraps(method)
    def placed(*args, **kwargs):
        with keras.device(device):
            return method(*args, **kwargs)

    return placed


def _check(name, device):
    import tensorflow as tf

    if name not in PARTS:
        raise ValueError(
            f"A part that is placed must be one of {', '.join(PARTS)}. "
            f"Received: devices={{{name!r}: {device!r}}}. Name one of these."
        )
    known = [one.name.partition("device:")[2] for one in tf.config.list_logical_devices()]
    if device not in known:
        raise ValueError(
            f"A device must be one of {', '.join(known)}. "
            f"Received: devices={{{name!r}: {device!r}}}. Name one of these."
        )
