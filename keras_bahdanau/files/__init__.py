"""Files that are written whole, owned by one process and checked when they are read."""
