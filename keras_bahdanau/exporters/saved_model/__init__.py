"""A `Translator` as a SavedModel, for TensorFlow Serving."""
