"""What the server answers when it refuses, and how it ends."""

import os

_HTTP = {
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "NOT_FOUND": 404,
    "RESOURCE_EXHAUSTED": 429,
    "INTERNAL": 500,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}
ABORTED = 134  # exit code of a shell after SIGABRT


class Refused(Exception):
    """A request that can't be answered.

    Args:
        code: Name of the gRPC status.
        message: The server's own words, as far as clients may look for them.
    """

    def __init__(self, code, message):
        super().__init__(message)
        self.code, self.http_status = code, _HTTP[code]


def end_server():
    """End the process where the server crashes: no request is answered any more."""
    os._exit(ABORTED)
