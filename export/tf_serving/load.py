"""Measure the throughput and latency of a translation model on TensorFlow Serving.

    python load.py --clients 32 --seconds 10
    python load.py --file sentences.txt --label canary
    python load.py --file images.txt --bytes image_bytes

The clients send requests over REST, each one sentence after the other without a pause. This load
can make a server unusable for others, so the program only sends requests to this machine. For
another server, which must be yours, use --i-own-this-server. It needs Python 3.10 and
`client_rest.py` in the same directory.

Exit codes: 0 if everything is translated; 1 if a request has failed, or none was answered; 2 if the
command line is wrong.
"""

import argparse
import ipaddress
import itertools
import json
import random
import socket
import sys
import threading
import time

from client_rest import (
    DAY,
    InputError,
    RestServer,
    ServerError,
    lines_of,
    positive,
    printable,
    split_url,
    to_rows,
)

MOST_SENTENCES = 100_000  # maximum number of sentences in a file
MOST_FILES = 1000  # maximum number of files, which stay in memory
SENTENCES = [
    "A man in an orange hat starring at something.",
    "Two dogs run.",
    "A woman is reading a book on a bench in the park while her children play.",
    "People wait for the train.",
]


def load(server, rows, clients, seconds, signature="serving_default"):
    """Send requests to a server from many threads concurrently.

    Args:
        server: A `RestServer`.
        rows: List of inputs, one of which is in each request.
        clients: Integer, the number of threads.
        seconds: Float, how long the threads send requests.
        signature: Name of the signature.

    Returns:
        `(latencies, failures)`: the duration in seconds of each successful request, and the error
        message of each failed request and of each thread that ended with an error.
    """
    latencies, failures = [], []
    end = time.monotonic() + seconds

    def ask(seed):
        try:
            ask_on(random.Random(seed), server.connect())
        except Exception as error:  # otherwise an error that ends a thread would be lost
            failures.append(f"A client ended. Received: {type(error).__name__}: {error}")

    def ask_on(pick, connection):
        while time.monotonic() < end:
            row, start = pick.choice(rows), time.monotonic()
            try:
                server.predict(signature, [row], connection)
                latencies.append(time.monotonic() - start)
            except ServerError as error:
                failures.append(str(error))
                connection.close()  # it reopens automatically
                time.sleep(0.1)
        connection.close()

    threads = [threading.Thread(target=ask, args=(seed,), daemon=True) for seed in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return latencies, failures


def percentile(values, percent):
    """Return the smallest value that at least `percent` percent of `values` do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def report(latencies, failures, seconds):
    """Return the results as a dictionary."""
    return {
        "requests": len(latencies) + len(failures),
        "failures": len(failures),
        "requests_per_second": round(len(latencies) / seconds, 1),
        **{
            f"p{percent}_ms": round(1000 * percentile(latencies, percent), 1)
            for percent in (50, 95, 99)
            if latencies
        },
    }


def is_loopback(host):
    """Return True if all addresses of a host are loopback addresses of this machine."""
    try:
        found = socket.getaddrinfo(host, None)
    except (OSError, UnicodeError):
        return False
    return all(ipaddress.ip_address(address[0]).is_loopback for *_, address in found)


def main(arguments=None):
    """Run the program, and return its exit code."""
    options = _parse(arguments)
    try:
        server = RestServer(
            options.server, options.model, label=options.label, timeout=options.timeout
        )
        rows = to_rows(options.signature, options.sentences, options.bytes)
    except InputError as error:
        print(f"error: {printable(str(error))}", file=sys.stderr)
        return 2
    start = time.monotonic()
    try:
        measured = load(server, rows, options.clients, options.seconds, options.signature)
    except KeyboardInterrupt:
        return 130
    print(json.dumps(report(*measured, time.monotonic() - start), indent=1))
    latencies, failures = measured
    for failure in itertools.islice(dict.fromkeys(failures), 3):
        print(f"error: {printable(failure)}", file=sys.stderr)
    if not latencies:
        print("error: The server must answer. Received: no answer at all.", file=sys.stderr)
    return 1 if failures or not latencies else 0


def _parse(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--server", default="http://localhost:8501", help="[default: %(default)s]")
    parser.add_argument("--model", default="translator", help="[default: %(default)s]")
    parser.add_argument("--label", help="label of a version [default: the highest loaded one]")
    parser.add_argument("--signature", default="serving_default", help="[default: %(default)s]")
    parser.add_argument(
        "--file", help="file with a sentence per line [default: a few English sentences]"
    )
    parser.add_argument(
        "--bytes",
        metavar="INPUT",
        help=f"the lines of --file are paths of up to {MOST_FILES:,} files; send their bytes as "
        "this input",
    )
    parser.add_argument(
        "--clients", type=positive(int, 1000), default=32, help="[default: %(default)s]"
    )
    parser.add_argument(
        "--seconds", type=positive(float, DAY), default=10, help="[default: %(default)s]"
    )
    parser.add_argument(
        "--timeout", type=positive(float, DAY), default=30, help="seconds [default: %(default)s]"
    )
    parser.add_argument(
        "--i-own-this-server", action="store_true", help="send requests to another machine"
    )
    options = parser.parse_args(arguments)
    parts = split_url(options.server)  # `RestServer` reports invalid URLs
    if (
        parts
        and parts.hostname
        and not options.i_own_this_server
        and not is_loopback(parts.hostname)
    ):
        parser.error(
            "the server must be on this machine. "
            f"Received: --server {options.server}. If it is yours, add --i-own-this-server."
        )
    options.sentences = SENTENCES
    if options.bytes and options.file is None:
        parser.error(f"--bytes needs --file. Received: only --bytes {options.bytes}.")
    if options.file is not None:
        try:
            with open(options.file, "rb") as stream:
                most = MOST_FILES if options.bytes else MOST_SENTENCES
                options.sentences = [*itertools.islice(lines_of(stream), most)]
        except (OSError, InputError) as error:
            parser.error(f"--file must be readable text. Received: {options.file}: {error}")
    if not options.sentences:
        parser.error(f"--file must contain a sentence. Received: {options.file}, which is empty.")
    return options


if __name__ == "__main__":
    sys.exit(main())
