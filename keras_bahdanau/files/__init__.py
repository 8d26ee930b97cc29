"""Files that are written atomically, owned by one process, and checked on reading."""
