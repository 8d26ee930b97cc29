"""Exports of any built Keras model: each format writes its `ModelSignature`s."""
