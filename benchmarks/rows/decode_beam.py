"""Row 7, beam search with beam 5: see `decoding`."""

from rows.decoding import decoded

NUMBER = 7
NAME = "decode-beam"
GOAL = ">= 3"
ABOUT = "1,000 Multi30K test sentences, beam 5: sentences/s, ours / best peer"


def measure(options):
    return decoded(options, GOAL, beam=5)
