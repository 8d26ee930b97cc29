"""ONNX files: one graph with the whole search, for ONNX Runtime, OpenVINO, Triton and browsers."""
