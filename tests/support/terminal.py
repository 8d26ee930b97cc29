"""A stream that claims to be a terminal, for testing what commands show on one."""

import io


class Terminal(io.StringIO):
    """A text stream that claims to be a terminal and records progress lines."""

    def isatty(self):
        return True

    def shown(self):
        """Return the progress lines in order; "" where progress was erased."""
        return self.getvalue().split("\r\033[K")[1:]
