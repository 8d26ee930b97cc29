"""A stream that says it is a terminal, for what commands show on one."""

import io


class Terminal(io.StringIO):
    """Text that was written to it, and the progress in it."""

    def isatty(self):
        return True

    def shown(self):
        """The lines of progress, in their order; "" where it was removed."""
        return self.getvalue().split("\r\033[K")[1:]
