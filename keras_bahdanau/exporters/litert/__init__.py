"""Export to LiteRT (TFLite) files for phones and other devices."""
