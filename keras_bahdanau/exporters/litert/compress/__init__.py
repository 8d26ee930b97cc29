"""Smaller .tflite models: fewer bits for the weights, and each equal part written once."""
