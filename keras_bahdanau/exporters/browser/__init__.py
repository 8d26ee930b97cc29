"""A `Translator` as a page that runs in a browser, from a static server."""
