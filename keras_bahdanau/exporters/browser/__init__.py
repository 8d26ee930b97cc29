"""Export a `Pipeline` as a web page that runs the model in the browser."""
