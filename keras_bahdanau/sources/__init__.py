"""Sources: the inputs of a model and their conversion to features. Names load on first use."""

from keras_bahdanau.settings.lazy import lazy_names

MODULE_OF = {
    "AudioSource": "audio_source",
    "FeatureSource": "feature_source",
    "ImageSource": "image_source",
    "InkSource": "ink_source",
    "Picture": "picture",
    "Source": "source",
    "TextSource": "text_source",
}

# Name on the command line -> (class, preset for training); "text" learns its vocabulary.
NAMED = {"image": ("ImageSource", "images"), "speech": ("AudioSource", "speech")}

__all__ = [*MODULE_OF]

__getattr__, __dir__ = lazy_names(__name__, MODULE_OF)
