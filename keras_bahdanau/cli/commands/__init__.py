"""The commands: each is a function in the file of its name."""
