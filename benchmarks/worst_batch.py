"""Compare the time and memory of the worst requests to a SavedModel with the bounds in its card.

    python benchmarks/worst_batch.py models/en-de/1

Each line of output is from a separate process, which loads the version with the server's C++
loader, answers one short row as a warm-up, and then gets one request. Memory is the peak during
the request minus the level before it. A batch is cheaper if translations end early; to measure the
worst case, export a translator with `min_length` equal to `max_length`. The last line gives the
operations in the card divided by the seconds of the slowest request, which is the machine's speed.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from workers.protocol import resident

CHARACTERS = 10_000
SIGNATURES = ("serving_default", "{}_with_alignment", "{}_nbest", "score_pair")
HEADINGS = ("signature", "rows", "characters", "seconds", "MB", "MB of the card")


def measured(version, signature, rows, text):
    """Send one request with `rows` copies of a text, in this process; return (seconds, bytes)."""
    import time

    import numpy as np

    from keras_bahdanau.exporters.cpp_loader import SavedModelSession

    with SavedModelSession(version) as session:
        names = session.signatures[signature].inputs
        for count, content in ((1, "a"), (rows, text)):
            given = np.array([content.encode()] * count, dtype=object)
            before = resident("VmRSS")
            Path("/proc/self/clear_refs").write_text("5")  # resets the recorded peak
            began = time.perf_counter()
            session.run(signature, **dict.fromkeys(names, given))
            seconds = time.perf_counter() - began
        return seconds, resident("VmHWM", trim=False) - before


def table(version, card, text):
    """Yield (seconds, cells under `HEADINGS`) for each signature and number of rows."""
    bound = card.get("max_batch_bytes")
    for signature in SIGNATURES:
        for rows in (1, card.get("max_rows", 64)):
            asked = [str(version), signature.format(card["verb"]), str(rows), text]
            done = subprocess.run(
                [sys.executable, __file__, "--one", *asked],
                check=True,
                stdout=subprocess.PIPE,
                text=True,
            )
            seconds, size = json.loads(done.stdout)
            said = "none" if bound is None else f"{bound / 1e6:.0f}"
            numbers = (f"{len(text):,}", f"{seconds:.2f}", f"{size / 1e6:.0f}", said)
            yield seconds, (asked[1], str(rows), *numbers)


def main():
    if sys.argv[1:2] == ["--one"]:
        version, signature, rows, text = sys.argv[2:]
        print(json.dumps(measured(version, signature, int(rows), text)))
        return
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("version", type=Path, help="directory of one version of a SavedModel")
    parser.add_argument("--word", default="a", help="tokens of the model, which the rows repeat")
    options = parser.parse_args()
    text = (options.word * CHARACTERS)[:CHARACTERS]
    card = json.loads((options.version / "assets.extra" / "card.json").read_bytes())
    slowest, line = 0, "{:28}{:>5}{:>12}{:>10}{:>8}{:>16}"
    print(line.format(*HEADINGS))
    for seconds, cells in table(options.version, card, text):
        print(line.format(*cells), flush=True)
        slowest = max(slowest, seconds)
    if "max_batch_operations" in card:
        billions = card["max_batch_operations"] / 1e9
        print(
            f"{slowest:.2f} s for at most {billions:,.1f} billion operations: "
            f"{billions / slowest:,.1f} billion per second"
        )


if __name__ == "__main__":
    main()
