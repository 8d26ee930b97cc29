"""A `Translator` as a page that runs in a browser, without a server that computes."""
