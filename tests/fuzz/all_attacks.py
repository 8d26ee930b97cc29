"""All attacks: importing a module adds its attacks to `ATTACKS`."""

from fuzz import (  # noqa: F401
    archives,
    array_files,
    array_requests,
    clients,
    command_line,
    corpora,
    extremes,
    foreign_files,
    images,
    learned_states,
    numeric_sources,
    onnx_files,
    prefixes,
    published_tables,
    recordings,
    seals,
    served,
    shared,
    tables,
    text_files,
    trainings,
    versions,
)
from fuzz.attack import ATTACKS

__all__ = ["ATTACKS"]
