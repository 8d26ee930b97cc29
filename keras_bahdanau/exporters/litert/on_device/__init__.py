"""An exported LiteRT file at work: text in, text and alignment out, without TensorFlow.

A copy of this folder runs without the rest of this package, so its imports are relative.
"""

from .on_device_pipeline import OnDevicePipeline, OnDeviceTranslation
from .on_device_translator import OnDeviceTranslator

__all__ = ["OnDevicePipeline", "OnDeviceTranslation", "OnDeviceTranslator"]
