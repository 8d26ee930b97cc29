"""Length penalties, by name: functions `(lengths, exponent)` that log p is divided by.

Each is 1 for the exponent 0, so that no penalty is one point of each kind.
"""


def power(lengths, exponent):
    """|Y|^a."""
    return lengths**exponent


def gnmt(lengths, exponent):
    """((5 + |Y|) / 6)^a      (Wu et al. 2016, eq. 14)."""
    return ((5.0 + lengths) / 6.0) ** exponent


LENGTH_PENALTIES = {"power": power, "gnmt": gnmt}
