"""The commands. Each one is a function in a file of the same name."""
