"""Competitors that several rows have in common."""

import dataclasses

from harness import Lane

JITS = ("auto", True)


def both_ways(lanes):
    """Return the lanes, plus a side-by-side copy of those that run on TensorFlow without XLA."""
    others = [
        dataclasses.replace(lane, name=f"{lane.name}, side by side", side_by_side=True)
        for lane in lanes
        if lane.worker != "pytorch" and lane.settings.get("jit") is not True
    ]
    return [*lanes, *others]


def training_lanes(case, sizes, repeat, precisions=("float32",), **settings):
    """Return our lanes and those of every peer, for a case that all workers support."""
    return [
        *own_lanes(case, sizes, repeat, precisions, **settings),
        *peer_lanes(case, sizes, repeat, **settings),
    ]


def own_lanes(case, sizes, repeat, precisions=("float32",), jits=JITS, **settings):
    """Return our lanes: one for each precision and value of `jit_compile`."""
    return [
        Lane(
            f"ours {precision} jit={jit}",
            "ours",
            case,
            {"sizes": sizes, "precision": precision, "jit": jit, **settings},
            ours=True,
            repeat=repeat,
        )
        for precision in precisions
        for jit in jits
    ]


def bfloat16_lanes(sizes, repeat):
    """Return the lanes of a bfloat16 training step, for the peers that support mixed precision."""
    keras, torch = {"precision": "mixed_bfloat16"}, {"precision": "bfloat16"}
    ways = [
        ("keras_layers bfloat16", "keras_layers", {**keras, "jit": "auto"}),
        ("keras_layers bfloat16 jit=True", "keras_layers", {**keras, "jit": True}),
        ("pytorch bfloat16", "pytorch", torch),
        ("pytorch bfloat16 compiled", "pytorch", {**torch, "compiled": True}),
    ]
    return [
        Lane(name, worker, "training_step", {"sizes": sizes, **way}, repeat=repeat)
        for name, worker, way in ways
    ]


def peer_lanes(case, sizes, repeat, **settings):
    """Return the lanes of every peer in float32, one for each usual way to run it."""
    fixed_shapes = case == "training_step"  # an epoch has too many shapes to compile
    ways = [
        ("keras_layers", "keras_layers", {"jit": "auto"}),
        ("addons", "addons", {"output_in_loop": True}),
        ("addons, output layer after the loop", "addons", {"output_in_loop": False}),
        ("opennmt_tf", "opennmt_tf", {}),
        ("pytorch", "pytorch", {}),
    ]
    if fixed_shapes:
        ways.insert(1, ("keras_layers jit=True", "keras_layers", {"jit": True}))
        ways.append(("pytorch compiled", "pytorch", {"compiled": True}))
    return [
        Lane(name, worker, case, {"sizes": sizes, **settings, **way}, repeat=repeat)
        for name, worker, way in ways
    ]
