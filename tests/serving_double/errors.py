"""The server's errors for requests that it refuses, and a simulated crash."""

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
ABORTED = 134  # a shell's exit code after SIGABRT


class Refused(Exception):
    """The error for a request that can't be answered.

    Args:
        code: String. Name of the gRPC status.
        message: String. The part of the server's message that clients may match.
    """

    def __init__(self, code, message):
        super().__init__(message)
        self.code, self.http_status = code, _HTTP[code]


def end_server():
    """Exit the process where the server would crash; pending requests get no answer."""
    os._exit(ABORTED)
