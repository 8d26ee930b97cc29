"""An exported LiteRT file at work: text in, text and alignment out, without TensorFlow.

This folder needs `ai-edge-litert`, `sentencepiece` and NumPy only: a copy of it runs without the
rest of this package, so its modules import each other by relative names.
"""

from .on_device_pipeline import OnDevicePipeline, OnDeviceTranslation
from .on_device_translator import OnDeviceTranslator

__all__ = ["OnDevicePipeline", "OnDeviceTranslation", "OnDeviceTranslator"]
