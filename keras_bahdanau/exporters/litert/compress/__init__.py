"""Smaller .tflite models: fewer bits for the weights, equal parts written only once."""
