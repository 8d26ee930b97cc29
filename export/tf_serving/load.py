"""How many translations a second a model on TensorFlow Serving gives, and how soon.

    python load.py --clients 32 --seconds 10
    python load.py --file sentences.txt --label canary
    python load.py --file images.txt --bytes image_bytes

So many clients ask over REST, each one sentence after the other, and never rest: this is a load
that can make a server unusable for others. So it asks this machine only; for another server,
which must be yours, give --i-own-this-server. Needs Python 3.10 and `client_rest.py` beside it.

Exit codes: 0 all is translated; 1 a request has failed, or none was answered; 2 the command line
is wrong.
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

MOST_SENTENCES = 100_000  # of a file
MOST_FILES = 1000  # which stay in memory
SENTENCES = [
    "A man in an orange hat starring at something.",
    "Two dogs run.",
    "A woman is reading a book on a bench in the park while her children play.",
    "People wait for the train.",
]


def load(server, rows, clients, seconds, signature="serving_default"):
    """Asks a server from many threads at once.

    Args:
        server: A `RestServer`.
        rows: List of inputs, of which each request takes one.
        clients: Integer, the number of threads.
        seconds: Float, how long no thread stops asking.
        signature: The signature's name.

    Returns:
        `(latencies, failures)`: seconds of each answered request, and a list of strings, the
        message of each one that was not, and of each thread that ended with an error.
    """
    latencies, failures = [], []
    end = time.monotonic() + seconds

    def ask(seed):
        try:
            ask_on(random.Random(seed), server.connect())
        except Exception as error:  # of any kind: a thread that ends with it tells nobody
            failures.append(f"A client ended. Received: {type(error).__name__}: {error}")

    def ask_on(pick, connection):
        while time.monotonic() < end:
            row, start = pick.choice(rows), time.monotonic()
            try:
                server.predict(signature, [row], connection)
                latencies.append(time.monotonic() - start)
            except ServerError as error:
                failures.append(str(error))
                connection.close()  # opens again by itself
                time.sleep(0.1)
        connection.close()

    threads = [threading.Thread(target=ask, args=(seed,), daemon=True) for seed in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return latencies, failures


def percentile(values, percent):
    """The smallest of `values` that so many percent of them do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def report(latencies, failures, seconds):
    """What was measured, as a dictionary."""
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
    """True if a host's every address is this machine's own."""
    try:
        found = socket.getaddrinfo(host, None)
    except (OSError, UnicodeError):
        return False
    return all(ipaddress.ip_address(address[0]).is_loopback for *_, address in found)


def main(arguments=None):
    """The program; returns its exit code."""
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
    parser.add_argument("--label", help="of a version [default: the highest that is loaded]")
    parser.add_argument("--signature", default="serving_default", help="[default: %(default)s]")
    parser.add_argument("--file", help="a sentence in each line [default: a few of English]")
    parser.add_argument(
        "--bytes",
        metavar="INPUT",
        help=f"a line of --file is a file's path, up to {MOST_FILES:,} of them; send its bytes as "
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
        "--i-own-this-server", action="store_true", help="ask another machine than this one"
    )
    options = parser.parse_args(arguments)
    parts = split_url(options.server)  # of a bad one `RestServer` says what is wrong
    if (
        parts
        and parts.hostname
        and not options.i_own_this_server
        and not is_loopback(parts.hostname)
    ):
        parser.error(
            "the server must be on this machine. "
            f"Received: --server {options.server}. If it is yours, give --i-own-this-server."
        )
    options.sentences = SENTENCES
    if options.bytes and options.file is None:
        parser.error(f"--bytes needs --file. Received: --bytes {options.bytes} alone.")
    if options.file is not None:
        try:
            with open(options.file, "rb") as stream:
                most = MOST_FILES if options.bytes else MOST_SENTENCES
                options.sentences = [*itertools.islice(lines_of(stream), most)]
        except (OSError, InputError) as error:
            parser.error(f"--file must be readable text. Received: {options.file}: {error}")
    if not options.sentences:
        parser.error(f"--file must hold a sentence. Received: {options.file}, which is empty.")
    return options


if __name__ == "__main__":
    sys.exit(main())
