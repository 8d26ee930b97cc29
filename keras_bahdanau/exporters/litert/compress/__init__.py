"""Make .tflite models smaller: weights with fewer bits, and equal parts stored only once."""
