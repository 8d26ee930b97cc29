"""Exports of a `Pipeline`, such as a `Translator`, or of a Keras model to files without Keras."""

from keras_bahdanau.settings.lazy import lazy_names

_MODULE_OF = {
    "BrowserExporter": "browser.browser_exporter",
    "Exporter": "exporter",
    "FORMATS": "all_formats",
    "Finding": "exporter",
    "KerasSavedModelExporter": "keras_models.saved_model_model",
    "Learner": "keras_models.learner",
    "LiteRTExporter": "litert.litert_exporter",
    "LiteRTModelExporter": "keras_models.litert_model",
    "LiteRTPipeline": "litert.litert_pipeline",
    "LiteRTTranslator": "litert.litert_pipeline",
    "IdsSavedModelExporter": "saved_model.ids_exporter",
    "OnDevicePipeline": "litert.on_device",
    "OnDeviceTranslator": "litert.on_device",
    "OnnxExporter": "onnx.onnx_exporter",
    "OnnxModelExporter": "keras_models.onnx_model",
    "OnnxPipeline": "onnx.onnx_pipeline",
    "OnnxTranslator": "onnx.onnx_pipeline",
    "SavedModelExporter": "saved_model.saved_model_exporter",
    "check": "all_formats",
    "describe": "all_formats",
    "export": "publishing",
    "export_all": "all_formats",
    "export_litert": "export_functions",
    "export_onnx": "export_functions",
    "export_saved_model": "export_functions",
    "run_in_clean_process": "cpp_loader",
}

__all__ = [*_MODULE_OF]

__getattr__, __dir__ = lazy_names(__name__, _MODULE_OF)
