"""Row 7, greedy search: see `decoding`."""

from rows.decoding import decoded

NUMBER = 7
NAME = "decode-greedy"
GOAL = ">= 3"
ABOUT = "1,000 Multi30K test sentences, greedy: sentences/s, ours / best peer"


def measure(options):
    return decoded(options, GOAL, beam=1)
