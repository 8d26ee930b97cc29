"""Exports of any built Keras model: every format writes the model's `ModelSignature` objects."""
