"""A `Translator` as an artefact that runs without Keras.

The names are loaded on first use: `cpp_loader` and `litert.on_device` must work
in a process without TensorFlow.
"""

import importlib

_MODULE_OF = {
    "Exporter": "exporter",
    "FORMATS": "all_formats",
    "Finding": "exporter",
    "LiteRTExporter": "litert.litert_exporter",
    "OnDeviceTranslator": "litert.on_device",
    "SavedModelExporter": "saved_model.saved_model_exporter",
    "check": "all_formats",
    "describe": "all_formats",
    "export": "publishing",
    "export_all": "all_formats",
    "export_litert": "litert.litert_exporter",
    "export_saved_model": "saved_model.saved_model_exporter",
    "run_in_clean_process": "cpp_loader",
}

__all__ = [
    "Exporter",
    "FORMATS",
    "Finding",
    "LiteRTExporter",
    "OnDeviceTranslator",
    "SavedModelExporter",
    "check",
    "describe",
    "export",
    "export_all",
    "export_litert",
    "export_saved_model",
    "run_in_clean_process",
]


def __getattr__(name):
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value
