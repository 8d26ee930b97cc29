"""Attention RNNs for Keras 3: train them, see what they attend to, ship them.

The names are loaded on first use, so that `keras-bahdanau --help` does not load TensorFlow.
Keras finds the classes in saved models by their registered names.
"""

from keras_bahdanau.settings.lazy import lazy_names, register_lazily

__version__ = "0.1.0"

_MODULE_OF = {
    "AttentionPooling": "layers",
    "AttentionRNN": "layers",
    "BahdanauAttention": "layers",
    "BatchTranslator": "runners",
    "Decoder": "models",
    "Encoder": "models",
    "Ensemble": "models",
    "Forecaster": "models",
    "HardDecoder": "models",
    "ImageToText": "pipelines",
    "Pipeline": "pipelines",
    "SearchOptions": "search",
    "Seq2Seq": "models",
    "SpeechToText": "pipelines",
    "Trace": "pipelines",
    "Translation": "pipelines",
    "Translator": "pipelines",
    "attention_weights": "models",
    "ensemble": "pipelines",
    "export_all": "exporters",
    "export_litert": "exporters",
    "export_onnx": "exporters",
    "export_saved_model": "exporters",
    "highlight_text": "plotting",
    "load_pipeline": "pipelines",
    "plot_alignment": "plotting",
    "plot_history": "plotting",
    "plot_lengths": "plotting",
    "plot_trace": "plotting",
    "plot_weights": "plotting",
    "presets": "training",
    "write_explorer": "plotting",
}
_MODULES = {
    "losses": "models.losses",
    "metrics": "models.metrics",
}
_PARTS = (
    "callbacks",
    "data",
    "demo",
    "distillation",
    "evaluation",
    "exporters",
    "layers",
    "migrate",
    "models",
    "optimizers",
    "pipelines",
    "plotting",
    "runners",
    "search",
    "sources",
    "text",
    "training",
)

__all__ = [*_MODULE_OF, *_MODULES, *_PARTS]

__getattr__, __dir__ = lazy_names(
    __name__, {**_MODULE_OF, **_MODULES, **{part: part for part in _PARTS}}
)


def _registered_classes():
    """Return the modules with classes registered with Keras, and the names of these classes."""
    from keras_bahdanau.layers.names import MODULES
    from keras_bahdanau.sources import MODULE_OF

    return {
        **{f"layers.{module}": classes for module, classes in MODULES.items()},
        "migrate.keras2_layers": ("ActivatedScore", "MaskedModel"),
        "migrate.recurrent_weights": ("RestartedGRUCell", "WholeStateLSTMCell"),
        "models.decoder": ("Decoder",),
        "models.encoder": ("Encoder",),
        "models.ensemble": ("Ensemble",),
        "models.forecast_heads": ("GaussianHead", "PointHead", "QuantileHead"),
        "models.forecaster": ("Forecaster",),
        "models.hard_decoder": ("HardDecoder",),
        "models.losses": ("GuidedAlignment", "SentenceCrossentropy", "TokenCrossentropy"),
        "models.metrics": ("Perplexity",),
        "models.seq2seq": ("Seq2Seq",),
        "optimizers.adam": ("Adam", "AveragingAdam"),
        "optimizers.schedules": ("Cosine", "Halving", "InverseSquareRoot"),
        **{f"sources.{module}": (name,) for name, module in MODULE_OF.items()},
    }


register_lazily(__name__, _registered_classes)
