"""Export to ONNX files, whose graph contains the search, for servers and browsers."""
