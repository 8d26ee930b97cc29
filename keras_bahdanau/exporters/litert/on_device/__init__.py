"""An exported LiteRT file at work: text in, text and alignment out, without TensorFlow.

This folder needs `ai-edge-litert`, `sentencepiece` and NumPy only, and nothing else of this
package: copied beside a .tflite file, it runs as it is. Its modules import each other by relative
names, which hold in a copy, too.
"""

from .on_device_pipeline import OnDevicePipeline, OnDeviceTranslation
from .on_device_translator import OnDeviceTranslator

__all__ = ["OnDevicePipeline", "OnDeviceTranslation", "OnDeviceTranslator"]
