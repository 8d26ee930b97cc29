"""Run exported LiteRT files without TensorFlow and without the rest of this package."""

from .on_device_pipeline import OnDevicePipeline, OnDeviceTranslation
from .on_device_translator import OnDeviceTranslator

__all__ = ["OnDevicePipeline", "OnDeviceTranslation", "OnDeviceTranslator"]
