"""A `Translator` as a LiteRT (TFLite) file, for phones and other devices."""
